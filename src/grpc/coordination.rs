//! CoordinationService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::call::Call;
use super::convert::coordination::{service, told, view};
use super::page::{Query, Sizes};
use super::pb;
use super::pb::coordination_service_server::CoordinationService;
use crate::app::App;
use crate::domain::fault::Fault;
use crate::domain::id::CoordinationId;

/// CoordinationService.
pub(super) struct Coordinations {
    app: Arc<App>,
}

impl Coordinations {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn list(
        &self,
        call: &Call,
        request: pb::CoordinationServiceListRequest,
    ) -> Result<pb::CoordinationServiceListResponse, Fault> {
        let (size, page_token) = (Sizes::LIST.of(request.page_size)?, request.page_token.clone());
        let filter = service::filter_from_pb(request)?;
        let time = |at: Option<crate::domain::id::Moment>| at.map_or_else(String::new, |at| at.0.to_string());
        let labels = filter.labels.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
        let query = Query::new("CoordinationService.List", &call.caller.namespace)
            .with(filter.thread.as_ref().map_or("", |id| id.as_str()))
            .with(filter.attached.map_or("", |attached| if attached { "attached" } else { "detached" }))
            .with(&time(filter.state_before))
            .with(&time(filter.created_from))
            .with(&time(filter.created_before))
            .with_all(filter.states.iter().copied())
            .with_all(labels);
        let after = query.position(&page_token)?.map(|bytes| CoordinationId::new(String::from_utf8_lossy(&bytes)));
        let (found, next) = self.app.list_coordinations(&call.caller, after, size, &filter).await?;
        Ok(pb::CoordinationServiceListResponse {
            coordinations: found.into_iter().map(view::to_pb).collect(),
            next_page_token: next.map_or_else(String::new, |id| query.token(id.as_str().as_bytes())),
        })
    }
}

#[tonic::async_trait]
impl CoordinationService for Coordinations {
    async fn get(
        &self,
        request: Request<pb::CoordinationServiceGetRequest>,
    ) -> Result<Response<pb::CoordinationServiceGetResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = service::get_from_pb(request.get_ref())?;
            let whole = self.app.get_coordination(&call.caller, &id).await?;
            Ok(pb::CoordinationServiceGetResponse { coordination: Some(view::whole_to_pb(whole)) })
        })
        .await
    }

    async fn list(
        &self,
        request: Request<pb::CoordinationServiceListRequest>,
    ) -> Result<Response<pb::CoordinationServiceListResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(Self::list(self, &call, request.into_inner())).await
    }

    async fn cancel(
        &self,
        request: Request<pb::CoordinationServiceCancelRequest>,
    ) -> Result<Response<pb::CoordinationServiceCancelResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let (id, message) = service::cancel_request_from_pb(request.into_inner())?;
            let whole = self.app.cancel_coordination(&call.caller, &id, &message).await?;
            Ok(pb::CoordinationServiceCancelResponse { coordination: Some(view::whole_to_pb(whole)) })
        })
        .await
    }

    async fn answer(&self, request: Request<pb::AnswerRequest>) -> Result<Response<pb::AnswerResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let (id, answer) = service::answer_from_pb(request.into_inner())?;
            let (accepted, whole) = self.app.answer_coordination(&call.caller, &id, answer).await?;
            Ok(pb::AnswerResponse {
                accepted: Some(told::accepted_to_pb(accepted)),
                coordination: Some(view::whole_to_pb(whole)),
            })
        })
        .await
    }
}
