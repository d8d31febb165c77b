//! RunService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::sync::Arc;

use futures::stream::BoxStream;
use tonic::{Request, Response, Status};

use super::call::{Call, read_id};
use super::convert::run;
use super::page::{Query, Sizes};
use super::pb::run_service_server::RunService;
use super::status::response;
use super::{outcome, pb, watch};
use crate::app::App;
use crate::domain::fault::Fault;
use crate::domain::id::RunId;

/// RunService.
pub(super) struct Runs {
    app: Arc<App>,
}

impl Runs {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn list(&self, call: &Call, request: pb::RunServiceListRequest) -> Result<pb::RunServiceListResponse, Fault> {
        let (page_size, page_token) = (request.page_size, request.page_token.clone());
        let filter = run::filter_from_pb(request)?;
        let size = Sizes::LIST.of(page_size)?;
        let states: Vec<&str> = filter.states.iter().map(|state| state.word()).collect();
        let labels = filter.labels.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
        let query = Query::new("RunService.List", &call.caller.namespace)
            .with(filter.thread_id.as_ref().map_or("", |id| id.as_str()))
            .with_all(states)
            .with_all(labels);
        let after = query.position(&page_token)?.map(|bytes| RunId::new(String::from_utf8_lossy(&bytes)));
        let (runs, next) = self.app.list_runs(&call.caller, after, size, &filter).await?;
        Ok(pb::RunServiceListResponse {
            runs: runs.into_iter().map(outcome::run).collect(),
            next_page_token: next.map_or_else(String::new, |id| query.token(id.as_str().as_bytes())),
        })
    }
}

#[tonic::async_trait]
impl RunService for Runs {
    type WatchStream = BoxStream<'static, Result<pb::WatchResponse, Status>>;

    async fn get(
        &self,
        request: Request<pb::RunServiceGetRequest>,
    ) -> Result<Response<pb::RunServiceGetResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = read_id(&request.into_inner().run_id, "run_id")?;
            let state = self.app.get_run(&call.caller, &id).await?;
            Ok(pb::RunServiceGetResponse { run: Some(outcome::run(state)) })
        })
        .await
    }

    async fn list(
        &self,
        request: Request<pb::RunServiceListRequest>,
    ) -> Result<Response<pb::RunServiceListResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(Self::list(self, &call, request.into_inner())).await
    }

    async fn cancel(
        &self,
        request: Request<pb::RunServiceCancelRequest>,
    ) -> Result<Response<pb::RunServiceCancelResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = read_id(&request.into_inner().run_id, "run_id")?;
            let state = self.app.cancel_run(&call.caller, &id).await?;
            Ok(pb::RunServiceCancelResponse { run: Some(outcome::run(state)) })
        })
        .await
    }

    async fn watch(&self, request: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        // Looked for before the answer begins, so that an unknown run is an error of the call.
        let opened = call.until_deadline(async {
            let id = read_id(&request.run_id, "run_id")?;
            self.app.watch_run(&call.caller, &id, request.after_sequence).await
        });
        let observer = opened.await.map_err(|fault| call.status(&fault))?;
        let (request_id, run_id) = (call.request_id.clone(), observer.run_id().clone());
        Ok(response(watch::observed(observer, call), request_id.as_ref(), Some(&run_id)))
    }
}
