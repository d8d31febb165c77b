//! What is looked up in a store with very many exchanges: a page of the graph, a page of a search, a history. It must not know how the store was
//! filled.

use super::fill::{Filled, TOPICS};
use super::work::Load;
use crate::grpc::pb;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::grpc::pb::graph_service_client::GraphServiceClient;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::remote::{Link, Remote};
use pb::graph_scope::Scope;

/// The most that Inspect of a history of [`WANTED_TURNS`] turns may take, in milliseconds.
const INSPECT_MS: f64 = 10.0;
/// Turns of that history.
const WANTED_TURNS: u32 = 1_000;

/// One thing to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The first page of what follows from the root of a conversation.
    Subtree,
    /// All pages of that where paths part, as a drawing has them.
    Forks,
    /// The first page of a long path.
    Path,
    /// A page of what follows the exchange that very many follow.
    Children,
    /// A page of what came before the end of the long history.
    Ancestors,
    /// The newest with a label that one in ten has.
    Label,
    /// The newest of all that say something.
    NewestText,
    /// A page of a search for what nobody says, which reads as much as a page may.
    NoText,
    /// What the oldest conversation says, through all pages from the newest on.
    OldestText,
    /// The same, in its own part of the graph.
    TextInSubtree,
    /// The long history, read whole.
    Inspect,
    /// One exchange with the last page of its history.
    InspectOldest,
}

impl Look {
    /// All of them.
    pub(super) const ALL: [Self; 12] = [
        Self::Subtree,
        Self::Forks,
        Self::Path,
        Self::Children,
        Self::Ancestors,
        Self::Label,
        Self::NewestText,
        Self::NoText,
        Self::OldestText,
        Self::TextInSubtree,
        Self::Inspect,
        Self::InspectOldest,
    ];

    /// For people.
    pub(super) fn words(self, load: &Load, filled: &Filled) -> String {
        match self {
            Self::Subtree => "GetGraph, a page of a conversation".to_owned(),
            Self::Forks => "GetGraph, where a conversation forks, whole".to_owned(),
            Self::Path => format!("GetGraph, a page of a path of {} turns", load.turns),
            Self::Children => "ListChildren, a page where very many follow".to_owned(),
            Self::Ancestors => format!("ListAncestors, a page of {} turns", load.turns),
            Self::Label => format!("Search by a label of one in {TOPICS}, a page"),
            Self::NewestText => "Search for a text of the newest, a page".to_owned(),
            Self::NoText => "Search for a text of nobody, a page".to_owned(),
            Self::OldestText => format!("Search for a text of the oldest, through {} exchanges", filled.exchanges),
            Self::TextInSubtree => "Search for it in its conversation".to_owned(),
            Self::Inspect => format!("StreamInspect of {} turns", load.turns),
            Self::InspectOldest => "Inspect of the oldest, a page".to_owned(),
        }
    }

    /// The most that it may take at p50, in milliseconds, where that was decided.
    pub(super) fn most(self, load: &Load) -> Option<f64> {
        (self == Self::Inspect && load.turns == WANTED_TURNS).then_some(INSPECT_MS)
    }

    /// Somebody who looks.
    pub(super) fn begin(self, remote: &Remote, filled: &Filled) -> Looker {
        Looker { exchanges: remote.exchanges(), graphs: remote.graphs(), filled: filled.clone() }
    }

    /// Looks once.
    pub(super) async fn at(self, mut looker: Looker) -> Result<Looker, Failure> {
        let filled = &looker.filled;
        let (first, last) = &filled.oldest;
        match self {
            Self::Subtree => looker.graph(subtree(first), pb::GraphDetail::Exchanges, false).await?,
            Self::Forks => looker.graph(subtree(first), pb::GraphDetail::Forks, true).await?,
            Self::Path => {
                let path = Scope::Path(pb::PathScope { exchange_id: filled.long.clone() });
                looker.graph(path, pb::GraphDetail::Exchanges, false).await?;
            }
            Self::Children => {
                let request = pb::ListChildrenRequest { exchange_id: filled.star.clone(), ..Default::default() };
                looker.graphs.list_children(request).await?;
            }
            Self::Ancestors => {
                let request = pb::ListAncestorsRequest { exchange_id: filled.long.clone(), ..Default::default() };
                looker.graphs.list_ancestors(request).await?;
            }
            Self::Label => {
                let labels = [("topic".to_owned(), "3".to_owned())].into();
                looker.search(pb::SearchRequest { labels, ..Default::default() }, Until::Page).await?;
            }
            Self::NewestText => {
                let text = filled.newest_text.clone();
                let request = pb::SearchRequest { text, page_size: 1, ..Default::default() };
                looker.search(request, Until::Found).await?;
            }
            Self::NoText => {
                let request = pb::SearchRequest { text: "nobody says this".to_owned(), ..Default::default() };
                looker.search(request, Until::Page).await?;
            }
            Self::OldestText => {
                let text = filled.oldest_text.clone();
                let request = pb::SearchRequest { text, page_size: 1, ..Default::default() };
                looker.search(request, Until::Found).await?;
            }
            Self::TextInSubtree => {
                let scope = Some(pb::GraphScope { scope: Some(subtree(first)) });
                let text = filled.oldest_text.clone();
                looker
                    .search(pb::SearchRequest { scope, text, page_size: 1, ..Default::default() }, Until::Found)
                    .await?;
            }
            Self::Inspect => {
                let request = pb::StreamInspectRequest { exchange_id: filled.long.clone(), ..Default::default() };
                let mut pages = looker.exchanges.stream_inspect(request).await?.into_inner();
                while pages.message().await?.is_some() {}
            }
            Self::InspectOldest => {
                let request = pb::InspectRequest { exchange_id: last.clone(), ..Default::default() };
                looker.exchanges.inspect(request).await?;
            }
        }
        Ok(looker)
    }
}

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// One page.
    Page,
    /// The first page that has something; that none has is a fault.
    Found,
}

/// Somebody who looks.
pub(super) struct Looker {
    exchanges: ExchangeServiceClient<Link>,
    graphs: GraphServiceClient<Link>,
    filled: Filled,
}

impl Looker {
    async fn graph(&mut self, scope: Scope, detail: pb::GraphDetail, is_whole: bool) -> Result<(), Failure> {
        let scope = Some(pb::GraphScope { scope: Some(scope) });
        let mut request = pb::GetGraphRequest { scope, detail: detail.into(), ..Default::default() };
        loop {
            let page = self.graphs.get_graph(request.clone()).await?.into_inner();
            if page.next_page_token.is_empty() || !is_whole {
                return Ok(());
            }
            request.page_token = page.next_page_token;
        }
    }

    async fn search(&mut self, request: pb::SearchRequest, until: Until) -> Result<(), Failure> {
        let mut request = request;
        loop {
            let page = self.graphs.search(request.clone()).await?.into_inner();
            if until == Until::Page || !page.hits.is_empty() {
                return Ok(());
            }
            if page.next_page_token.is_empty() {
                return Err(Failure::broken(&"a search did not find what was stored"));
            }
            request.page_token = page.next_page_token;
        }
    }
}

fn subtree(top: &str) -> Scope {
    Scope::Subtree(pb::SubtreeScope { exchange_id: top.to_owned(), max_steps: None })
}
