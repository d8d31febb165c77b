//! ToolService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::call::{Call, read_id};
use super::convert::tool::set_to_pb;
use super::convert::tool_service;
use super::page::Query;
use super::pb;
use super::pb::tool_service_server::ToolService;
use super::position;
use crate::app::App;
use crate::app::graph::Scope;
use crate::app::tool::{Kind, Wanted};
use crate::domain::fault::Fault;
use crate::domain::id::{Hash, Moment};

/// ToolService.
pub(super) struct Tools {
    app: Arc<App>,
}

impl Tools {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn occurrences(
        &self,
        call: &Call,
        request: pb::ListToolOccurrencesRequest,
    ) -> Result<pb::ListToolOccurrencesResponse, Fault> {
        let list = tool_service::occurrences_from_pb(request)?;
        let query = Query::new("ToolService.ListToolOccurrences", &call.caller.namespace)
            .with_all(list.scope.as_ref().map(Scope::texts).unwrap_or_default().iter().map(String::as_str))
            .with_all(wanted_texts(&list.wanted).iter().map(String::as_str));
        let from = query.position(&list.page_token)?.map(|bytes| position::occurrences(&bytes)).transpose()?;
        let (scope, wanted) = (list.scope.as_ref(), &list.wanted);
        let (occurrences, next) = self.app.list_occurrences(&call.caller, scope, wanted, from, list.page_size).await?;
        Ok(pb::ListToolOccurrencesResponse {
            occurrences: occurrences.into_iter().map(tool_service::occurrence_to_pb).collect(),
            next_page_token: next.map_or_else(String::new, |at| query.token(&position::of_occurrences(&at))),
        })
    }

    async fn drifts(
        &self,
        call: &Call,
        request: pb::ListToolDriftsRequest,
    ) -> Result<pb::ListToolDriftsResponse, Fault> {
        let list = tool_service::drifts_from_pb(request)?;
        let query = Query::new("ToolService.ListToolDrifts", &call.caller.namespace)
            .with_all(list.scope.texts().iter().map(String::as_str))
            .with_all(list.name.as_deref());
        let from = query.position(&list.page_token)?.map(|bytes| position::drifts(&bytes)).transpose()?;
        let name = list.name.as_deref();
        let (drifts, next) = self.app.list_drifts(&call.caller, &list.scope, name, from, list.page_size).await?;
        Ok(pb::ListToolDriftsResponse {
            drifts: tool_service::drifts_to_pb(drifts),
            next_page_token: next.map_or_else(String::new, |at| query.token(&position::of_drifts(&at))),
        })
    }
}

fn wanted_texts(wanted: &Wanted) -> Vec<String> {
    let kind = match wanted.kind {
        None => "",
        Some(Kind::Offered) => "offered",
        Some(Kind::Called) => "called",
    };
    let time = |moment: Option<Moment>| moment.map(|moment| moment.0.to_string()).unwrap_or_default();
    let schema = wanted.schema.as_ref().map(Hash::to_string).unwrap_or_default();
    vec![wanted.name.clone(), schema, kind.to_owned(), time(wanted.from), time(wanted.before)]
}

#[tonic::async_trait]
impl ToolService for Tools {
    async fn get_call_tools(
        &self,
        request: Request<pb::GetCallToolsRequest>,
    ) -> Result<Response<pb::GetCallToolsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = read_id(&request.into_inner().exchange_id, "exchange_id")?;
            Ok(tool_service::call_tools_to_pb(self.app.call_tools(&call.caller, id).await?))
        })
        .await
    }

    async fn get_tool_set(
        &self,
        request: Request<pb::GetToolSetRequest>,
    ) -> Result<Response<pb::GetToolSetResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = read_id(&request.into_inner().tool_set_id, "tool_set_id")?;
            let set = self.app.tool_set(&call.caller, id).await?;
            Ok(pb::GetToolSetResponse { tool_set: Some(set_to_pb(set)) })
        })
        .await
    }

    async fn list_tool_occurrences(
        &self,
        request: Request<pb::ListToolOccurrencesRequest>,
    ) -> Result<Response<pb::ListToolOccurrencesResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.occurrences(&call, request.into_inner())).await
    }

    async fn list_tool_drifts(
        &self,
        request: Request<pb::ListToolDriftsRequest>,
    ) -> Result<Response<pb::ListToolDriftsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.drifts(&call, request.into_inner())).await
    }
}
