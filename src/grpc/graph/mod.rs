//! GraphService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

mod drawing;

use std::collections::BTreeMap;
use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::call::Call;
use super::convert::graph::{self as convert, Form};
use super::page::Query;
use super::pb;
use super::pb::graph_service_server::GraphService;
use super::position;
use crate::app::App;
use crate::app::graph::Walked;
use crate::domain::fault::Fault;
use crate::domain::id::ThreadId;
use crate::domain::thread::Thread;

/// GraphService.
pub(super) struct Graphs {
    app: Arc<App>,
}

impl Graphs {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn children(&self, call: &Call, request: pb::ListChildrenRequest) -> Result<pb::ListChildrenResponse, Fault> {
        let list = convert::neighbours_from_pb(&request.exchange_id, request.page_size, request.page_token)?;
        let query = Query::new("GraphService.ListChildren", &call.caller.namespace).with(&list.exchange.to_string());
        let after = query.position(&list.page_token)?.map(|bytes| position::exchange(&bytes)).transpose()?;
        let (nodes, next) = self.app.list_children(&call.caller, list.exchange, after, list.page_size).await?;
        Ok(pb::ListChildrenResponse {
            exchanges: nodes.into_iter().map(convert::node_to_pb).collect(),
            next_page_token: next.map_or_else(String::new, |id| query.token(id.as_bytes())),
        })
    }

    async fn ancestors(
        &self,
        call: &Call,
        request: pb::ListAncestorsRequest,
    ) -> Result<pb::ListAncestorsResponse, Fault> {
        let list = convert::neighbours_from_pb(&request.exchange_id, request.page_size, request.page_token)?;
        let query = Query::new("GraphService.ListAncestors", &call.caller.namespace).with(&list.exchange.to_string());
        let from = query.position(&list.page_token)?.map(|bytes| position::number(&bytes)).transpose()?;
        let (nodes, next) = self.app.list_ancestors(&call.caller, list.exchange, from, list.page_size).await?;
        Ok(pb::ListAncestorsResponse {
            exchanges: nodes.into_iter().map(convert::node_to_pb).collect(),
            next_page_token: next.map_or_else(String::new, |depth| query.token(&depth.to_be_bytes())),
        })
    }

    async fn compare(&self, call: &Call, request: pb::DiffRequest) -> Result<pb::DiffResponse, Fault> {
        let compare = convert::diff_from_pb(request)?;
        let aspects = format!("{:?}", compare.aspects);
        let query = Query::new("GraphService.Diff", &call.caller.namespace)
            .with(&compare.left.to_string())
            .with(&compare.right.to_string())
            .with(&aspects);
        let from = query.position(&compare.page_token)?.map(|bytes| position::diff(&bytes)).transpose()?;
        let sides = (compare.left, compare.right);
        let mut page = self.app.diff(&call.caller, sides, compare.aspects, from, compare.page_size).await?;
        let next = page.next.take().map_or_else(String::new, |next| query.token(&position::of_diff(&next)));
        Ok(convert::diff_to_pb(page, next))
    }

    async fn graph(&self, call: &Call, request: pb::GetGraphRequest) -> Result<pb::GetGraphResponse, Fault> {
        let draw = convert::graph_from_pb(request)?;
        let how = format!("{:?} {:?} {}", draw.form, draw.detail, draw.previews);
        let query = Query::new("GraphService.GetGraph", &call.caller.namespace)
            .with_all(draw.scope.texts().iter().map(String::as_str))
            .with(&how);
        let from = query.position(&draw.page_token)?.map(|bytes| position::walk(&bytes)).transpose()?;
        let is_first = from.is_none();
        let mut page = self.app.walk(&call.caller, &draw.scope, draw.detail, from, draw.page_size).await?;
        let next_page_token = page.next.take().map_or_else(String::new, |next| query.token(&position::of_walk(&next)));
        let is_last = next_page_token.is_empty();
        let text = match draw.form {
            Form::Data => {
                let threads = threads(&page);
                let nodes = page.shown.into_iter().map(|shown| convert::shown_to_pb(shown, draw.previews)).collect();
                return Ok(pb::GetGraphResponse { nodes, threads, text: String::new(), next_page_token });
            }
            Form::Text => drawing::text(&page.shown, draw.previews),
            Form::Dot => drawing::dot(&page.shown, draw.previews, is_first, is_last),
            Form::Mermaid => drawing::mermaid(&page.shown, draw.previews, is_first),
        };
        Ok(pb::GetGraphResponse { text, next_page_token, ..Default::default() })
    }

    async fn find(&self, call: &Call, request: pb::SearchRequest) -> Result<pb::SearchResponse, Fault> {
        let search = convert::search_from_pb(request)?;
        let what = format!("{:?}", search.wanted);
        let query = Query::new("GraphService.Search", &call.caller.namespace).with(&what);
        let from = query.position(&search.page_token)?.map(|bytes| position::search(&bytes)).transpose()?;
        let found = self.app.search(&call.caller, &search.wanted, from, search.page_size).await?;
        Ok(pb::SearchResponse {
            hits: found.hits.into_iter().map(convert::hit_to_pb).collect(),
            read_count: found.read,
            read_limit_reached: found.is_cut,
            next_page_token: found.next.map_or_else(String::new, |next| query.token(&position::of_search(&next))),
        })
    }
}

/// The threads whose heads are on a page, each once.
fn threads(page: &Walked) -> Vec<pb::ThreadNode> {
    let heads = page.shown.iter().flat_map(|shown| shown.heads.iter().map(move |thread| (thread, shown)));
    let by_id: BTreeMap<&ThreadId, (&Thread, String)> =
        heads.map(|(thread, shown)| (&thread.id, (thread, shown.node.exchange.id.to_string()))).collect();
    by_id.into_values().map(|(thread, head)| convert::thread_to_pb(thread.clone(), head)).collect()
}

#[tonic::async_trait]
impl GraphService for Graphs {
    async fn list_children(
        &self,
        request: Request<pb::ListChildrenRequest>,
    ) -> Result<Response<pb::ListChildrenResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.children(&call, request.into_inner())).await
    }

    async fn list_ancestors(
        &self,
        request: Request<pb::ListAncestorsRequest>,
    ) -> Result<Response<pb::ListAncestorsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.ancestors(&call, request.into_inner())).await
    }

    async fn get_common_ancestor(
        &self,
        request: Request<pb::GetCommonAncestorRequest>,
    ) -> Result<Response<pb::GetCommonAncestorResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let ids = convert::related_from_pb(request.into_inner())?;
            Ok(convert::ancestor_to_pb(self.app.common_ancestor(&call.caller, &ids).await?))
        })
        .await
    }

    async fn diff(&self, request: Request<pb::DiffRequest>) -> Result<Response<pb::DiffResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.compare(&call, request.into_inner())).await
    }

    async fn get_graph(&self, request: Request<pb::GetGraphRequest>) -> Result<Response<pb::GetGraphResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.graph(&call, request.into_inner())).await
    }

    async fn search(&self, request: Request<pb::SearchRequest>) -> Result<Response<pb::SearchResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.find(&call, request.into_inner())).await
    }

    async fn sum_usage(&self, request: Request<pb::SumUsageRequest>) -> Result<Response<pb::SumUsageResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let scopes = convert::scopes_from_pb(request.into_inner())?;
            Ok(convert::sum_to_pb(self.app.sum_usage(&call.caller, &scopes).await?))
        })
        .await
    }
}
