//! RunService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::call::Call;
use super::convert::{id, label, problem, run};
use super::page::{Query, Sizes};
use super::pb;
use super::pb::run_service_server::RunService;
use super::unimplemented::{NoStream, refuse};
use crate::app::App;
use crate::app::run::{Filter, RunState};
use crate::domain::fault::Fault;
use crate::domain::id::RunId;

/// RunService.
pub struct Runs {
    app: Arc<App>,
}

impl Runs {
    /// On the verbs.
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn list(&self, call: &Call, request: pb::RunServiceListRequest) -> Result<pb::RunServiceListResponse, Fault> {
        let size = Sizes::LIST.of(request.page_size)?;
        let states = request.states.iter().map(ToString::to_string).collect::<Vec<_>>();
        let labels = request.labels.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
        let query = Query::new("RunService.List", &call.caller.namespace)
            .with(&request.thread_id)
            .with_all(states.iter().map(String::as_str))
            .with_all(labels);
        let after = query.position(&request.page_token)?.map(|bytes| RunId::new(String::from_utf8_lossy(&bytes)));
        let filter = problem::whole(|at, problems| {
            let states = run::states_from_pb(&request.states, &at.field("states"), problems);
            let thread_id = id::optional(&request.thread_id, &at.field("thread_id"), problems);
            let labels = label::from_pb(request.labels, &at.field("labels"), problems);
            Some(Filter { states: states?, thread_id: thread_id?, labels: labels? })
        })?;
        let (runs, next) = self.app.list_runs(&call.caller, after, size, &filter).await?;
        Ok(pb::RunServiceListResponse {
            runs: runs.into_iter().map(write).collect(),
            next_page_token: next.map_or_else(String::new, |id| query.token(id.as_str().as_bytes())),
        })
    }
}

fn write(state: RunState) -> pb::Run {
    let pending = state.pending.iter().flat_map(|exchange| exchange.assistant.tool_calls()).cloned().collect();
    run::to_pb(state.run, pending)
}

fn run_id(text: &str) -> Result<RunId, Fault> {
    text.parse().map_err(|error| Fault::field("run_id", format!("{error}")))
}

#[tonic::async_trait]
impl RunService for Runs {
    type WatchStream = NoStream<pb::WatchResponse>;

    async fn get(&self, request: Request<pb::RunServiceGetRequest>) -> Result<Response<pb::RunServiceGetResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = run_id(&request.into_inner().run_id)?;
            let state = self.app.get_run(&call.caller, &id).await?;
            Ok(pb::RunServiceGetResponse { run: Some(write(state)) })
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
            let id = run_id(&request.into_inner().run_id)?;
            let state = self.app.cancel_run(&call.caller, &id).await?;
            Ok(pb::RunServiceCancelResponse { run: Some(write(state)) })
        })
        .await
    }

    async fn watch(&self, request: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(refuse("RunService.Watch", request.extensions()))
    }
}
