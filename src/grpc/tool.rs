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
use crate::app::tool::{DriftsFrom, Kind, Wanted};
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
        let at = query.position(&list.page_token)?;
        let (occurrences, next_page_token) = match &list.scope {
            None => {
                let before = at.map(|bytes| position::exchange(&bytes)).transpose()?;
                let (found, next) =
                    self.app.list_occurrences(&call.caller, &list.wanted, before, list.page_size).await?;
                (found, next.map_or_else(String::new, |id| query.token(id.as_bytes())))
            }
            Some(scope) => {
                let (end, depth) = match at {
                    None => (self.app.scope_begin(&call.caller, scope).await?, None),
                    Some(bytes) => {
                        let (end, depth) = position::on_path(&bytes)?;
                        (Some(end), Some(depth))
                    }
                };
                let Some(end) = end else { return Ok(pb::ListToolOccurrencesResponse::default()) };
                let (found, next) =
                    self.app.list_occurrences_on(&call.caller, end, &list.wanted, depth, list.page_size).await?;
                let token = |depth: u64| query.token(&[&end.as_bytes()[..], &depth.to_be_bytes()].concat());
                (found, next.map_or_else(String::new, token))
            }
        };
        Ok(pb::ListToolOccurrencesResponse {
            occurrences: occurrences.into_iter().map(tool_service::occurrence_to_pb).collect(),
            next_page_token,
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
        let (end, from) = match query.position(&list.page_token)? {
            None => (self.app.scope_begin(&call.caller, &list.scope).await?, DriftsFrom { depth: 1, skip: 0 }),
            Some(bytes) => {
                let (end, from) = position::drifts(&bytes)?;
                (Some(end), from)
            }
        };
        let Some(end) = end else { return Ok(pb::ListToolDriftsResponse::default()) };
        let name = list.name.as_deref();
        let (drifts, next) = self.app.list_drifts(&call.caller, end, name, from, list.page_size).await?;
        let token = |from: DriftsFrom| {
            query.token(&[&end.as_bytes()[..], &from.depth.to_be_bytes(), &from.skip.to_be_bytes()].concat())
        };
        Ok(pb::ListToolDriftsResponse {
            drifts: tool_service::drifts_to_pb(drifts),
            next_page_token: next.map_or_else(String::new, token),
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
