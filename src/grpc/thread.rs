//! ThreadService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::call::{Call, read_id};
use super::convert::thread_service;
use super::page::Query;
use super::pb::thread_service_server::ThreadService;
use super::{ask, fingerprint, outcome, pb, position};
use crate::app::App;
use crate::app::thread::Repeatable;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::ThreadId;

/// ThreadService.
pub(super) struct Threads {
    app: Arc<App>,
}

impl Threads {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn list(
        &self,
        call: &Call,
        request: pb::ThreadServiceListRequest,
    ) -> Result<pb::ThreadServiceListResponse, Fault> {
        let list = thread_service::list_from_pb(request)?;
        let labels = list.filter.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
        let query = Query::new("ThreadService.List", &call.caller.namespace).with_all(labels);
        let after = query.position(&list.page_token)?.map(|bytes| ThreadId::new(String::from_utf8_lossy(&bytes)));
        let (threads, next) = self.app.list_threads(&call.caller, after, list.page_size, &list.filter).await?;
        Ok(pb::ThreadServiceListResponse {
            threads: threads.into_iter().map(outcome::thread).collect(),
            next_page_token: next.map_or_else(String::new, |id| query.token(id.as_str().as_bytes())),
        })
    }

    async fn moves(&self, call: &Call, request: pb::ListMovesRequest) -> Result<pb::ListMovesResponse, Fault> {
        let list = thread_service::moves_from_pb(request)?;
        let query = Query::new("ThreadService.ListMoves", &call.caller.namespace).with(list.filter.as_str());
        let from = query.position(&list.page_token)?.map(|bytes| position::moves(&bytes)).transpose()?;
        let (moves, next) = self.app.list_moves(&call.caller, &list.filter, from, list.page_size).await?;
        Ok(pb::ListMovesResponse {
            moves: moves.into_iter().map(thread_service::move_to_pb).collect(),
            next_page_token: next.map_or_else(String::new, |next| query.token(&position::of_moves(next))),
        })
    }

    async fn turns(&self, call: &Call, request: pb::ListTurnsRequest) -> Result<pb::ListTurnsResponse, Fault> {
        let list = thread_service::turns_from_pb(request)?;
        let query = Query::new("ThreadService.ListTurns", &call.caller.namespace).with(list.filter.as_str());
        let depth = match query.position(&list.page_token)?.map(|bytes| <[u8; 8]>::try_from(bytes.as_slice())) {
            None => 1,
            Some(Ok(bytes)) => u64::from_be_bytes(bytes),
            Some(Err(_)) => {
                return Err(Fault::new(Reason::PageTokenInvalid, "the page token is damaged: begin again without one"));
            }
        };
        let (turns, next) = self.app.list_turns(&call.caller, &list.filter, depth, list.page_size).await?;
        Ok(pb::ListTurnsResponse {
            turns: turns.into_iter().map(outcome::turn).collect(),
            next_page_token: next.map_or_else(String::new, |depth| query.token(&depth.to_be_bytes())),
        })
    }
}

#[tonic::async_trait]
impl ThreadService for Threads {
    async fn create(
        &self,
        request: Request<pb::ThreadServiceCreateRequest>,
    ) -> Result<Response<pb::ThreadServiceCreateResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let request = request.into_inner();
            let fingerprint = fingerprint::create_thread(&request);
            let create = thread_service::create_from_pb(request)?;
            let repeat = Repeatable { request_id: create.request_id, fingerprint };
            let state = self.app.create_thread(&call.caller, &create.thread, create.head, &repeat).await?;
            Ok(pb::ThreadServiceCreateResponse { thread: Some(outcome::thread(state)) })
        })
        .await
    }

    async fn get(
        &self,
        request: Request<pb::ThreadServiceGetRequest>,
    ) -> Result<Response<pb::ThreadServiceGetResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let id = read_id(&request.into_inner().thread_id, "thread_id")?;
            let state = self.app.get_thread(&call.caller, &id).await?;
            Ok(pb::ThreadServiceGetResponse { thread: Some(outcome::thread(state)) })
        })
        .await
    }

    async fn list(
        &self,
        request: Request<pb::ThreadServiceListRequest>,
    ) -> Result<Response<pb::ThreadServiceListResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(Self::list(self, &call, request.into_inner())).await
    }

    async fn update(
        &self,
        request: Request<pb::ThreadServiceUpdateRequest>,
    ) -> Result<Response<pb::ThreadServiceUpdateResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let request = request.into_inner();
            let fingerprint = fingerprint::update_thread(&request);
            let update = thread_service::update_from_pb(request)?;
            let repeat = Repeatable { request_id: update.request_id, fingerprint };
            let (etag, change) = (update.etag.as_deref(), ask::change(update.changes));
            let state = self.app.update_thread(&call.caller, &update.thread_id, change, etag, &repeat).await?;
            Ok(pb::ThreadServiceUpdateResponse { thread: Some(outcome::thread(state)) })
        })
        .await
    }

    async fn delete(
        &self,
        request: Request<pb::ThreadServiceDeleteRequest>,
    ) -> Result<Response<pb::ThreadServiceDeleteResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let request = request.into_inner();
            let fingerprint = fingerprint::delete_thread(&request);
            let delete = thread_service::delete_from_pb(request)?;
            let repeat = Repeatable { request_id: delete.request_id, fingerprint };
            self.app.delete_thread(&call.caller, &delete.thread_id, delete.etag.as_deref(), &repeat).await?;
            Ok(pb::ThreadServiceDeleteResponse {})
        })
        .await
    }

    async fn list_turns(
        &self,
        request: Request<pb::ListTurnsRequest>,
    ) -> Result<Response<pb::ListTurnsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.turns(&call, request.into_inner())).await
    }

    async fn restore(&self, request: Request<pb::RestoreRequest>) -> Result<Response<pb::RestoreResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let request = request.into_inner();
            let fingerprint = fingerprint::restore(&request);
            let restore = thread_service::restore_from_pb(request)?;
            let repeat = Repeatable { request_id: restore.request_id, fingerprint };
            let (id, to, expected) = (&restore.thread_id, restore.to, restore.expected);
            let state = self.app.restore_thread(&call.caller, id, to, expected, &repeat).await?;
            Ok(pb::RestoreResponse { thread: Some(outcome::thread(state)) })
        })
        .await
    }

    async fn list_moves(
        &self,
        request: Request<pb::ListMovesRequest>,
    ) -> Result<Response<pb::ListMovesResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.moves(&call, request.into_inner())).await
    }
}
