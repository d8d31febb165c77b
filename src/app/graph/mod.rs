//! The graph: exchanges without their content, what lies before and after one, what paths have in common. It must not write, but for the
//! indexes of a store that an earlier version wrote.

mod descent;
mod diff;
mod part;
mod search;
mod sum;
mod walk;

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{self, Place, Segment};
use crate::domain::id::{ExchangeId, Namespace, ThreadId};
use crate::domain::run::State;
use crate::domain::thread::Thread;

pub(in crate::app) use self::descent::{Descent, Step};
pub use self::diff::{Aspects, Compared, DiffPage, DiffPosition, Difference, Kind as DiffKind};
pub(in crate::app) use self::part::{Part, SMALL};
pub use self::search::{Found, Hit, SearchPosition, Wanted};
pub use self::sum::{ModelSum, Summed, UsageScope};
pub use self::walk::{Detail, Position, Scope, Shown, Walked};
use super::{App, Caller, store_fault};

/// Characters of a preview.
const PREVIEW: usize = 200;
/// Threads whose heads one exchange is, at most.
const HEADS: usize = 1_000;
/// How many of them are looked up at a time.
const BATCH: usize = 256;

/// An exchange in the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// What is known of it, without messages, settings and attempts.
    pub exchange: Exchange,
    /// It is the last exchange of a completed run.
    pub ends_turn: bool,
    /// The state of its run; absent for an imported one without.
    pub run_state: Option<State>,
    /// The beginning of its last user message.
    pub user_preview: String,
    /// The beginning of its answer.
    pub assistant_preview: String,
    /// How many exchanges have it as their parent.
    pub children: u64,
}

/// What exchanges have in common.
#[derive(Clone, Debug)]
pub struct Common {
    /// The last exchange on all paths.
    pub node: Option<Node>,
    /// One for each exchange, in order.
    pub distances: Vec<Distance>,
}

/// How an exchange lies to a common ancestor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The exchange.
    pub exchange: ExchangeId,
    /// The first one on the way to it; absent when it is the ancestor itself.
    pub first: Option<ExchangeId>,
    /// How many exchanges it is away.
    pub exchanges: u64,
    /// How many turns it is away.
    pub turns: u64,
}

impl App {
    /// Exchanges that follow from one, oldest first, after one of them; with the one to go on after, when there may be more.
    ///
    /// # Errors
    /// When there is no such exchange.
    pub async fn list_children(
        &self,
        caller: &Caller,
        id: ExchangeId,
        after: Option<ExchangeId>,
        limit: usize,
    ) -> Result<(Vec<Node>, Option<ExchangeId>), Fault> {
        let namespace = &caller.namespace;
        self.index(namespace).await?;
        let place = self.place_of(namespace, id).await?;
        let children = self.ledger.children(namespace, place, after, limit).await.map_err(store_fault)?;
        let next = children.last().map(|(id, _)| *id).filter(|_| children.len() == limit);
        let mut nodes = Vec::with_capacity(children.len());
        for (_, place) in children {
            nodes.push(self.node_at(namespace, place).await?);
        }
        Ok((nodes, next))
    }

    /// Exchanges before one, nearest first, from a depth up; with the depth to go on from, when there are more.
    ///
    /// # Errors
    /// When there is no such exchange.
    pub async fn list_ancestors(
        &self,
        caller: &Caller,
        id: ExchangeId,
        from: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<Node>, Option<u64>), Fault> {
        let namespace = &caller.namespace;
        self.index(namespace).await?;
        let place = self.place_of(namespace, id).await?;
        let path = self.path_down_to(namespace, place).await?;
        let mut depth = from.unwrap_or(u64::MAX).min(place.depth.saturating_sub(1));
        let mut nodes = Vec::new();
        while depth > 0 && nodes.len() < limit {
            nodes.push(self.node_on(namespace, &path, depth).await?);
            depth -= 1;
        }
        Ok((nodes, Some(depth).filter(|depth| *depth > 0)))
    }

    /// The last exchange on the paths of all.
    ///
    /// # Errors
    /// When one of them is not there.
    pub async fn common_ancestor(&self, caller: &Caller, ids: &[ExchangeId]) -> Result<Common, Fault> {
        let namespace = &caller.namespace;
        self.index(namespace).await?;
        let mut ends: Vec<(Exchange, Vec<Segment>)> = Vec::with_capacity(ids.len());
        for id in ids {
            let (exchange, place) = self.stored_exchange(namespace, *id).await?;
            ends.push((exchange, self.path_down_to(namespace, place).await?));
        }
        let mut shared: Option<Vec<Segment>> = None;
        for (_, path) in &ends {
            shared = Some(match shared {
                None => path.clone(),
                Some(shared) => up_to(&shared, graph::common(&shared, path)),
            });
        }
        let depth = shared.and_then(|path| path.last().map(|segment| segment.last)).unwrap_or(0);
        let node = match ends.first() {
            Some((_, path)) if depth > 0 => Some(self.node_on(namespace, path, depth).await?),
            _ => None,
        };
        let turn = node.as_ref().map_or(0, |node| node.exchange.turn);
        let mut distances = Vec::with_capacity(ends.len());
        for (exchange, path) in ends {
            let first = match exchange.depth.saturating_sub(depth) {
                0 => None,
                1 => Some(exchange.id),
                _ => Some(self.exchange_on(namespace, &path, depth + 1).await?.0.id),
            };
            distances.push(Distance {
                exchange: exchange.id,
                first,
                exchanges: exchange.depth.saturating_sub(depth),
                turns: exchange.turn.saturating_sub(turn),
            });
        }
        Ok(Common { node, distances })
    }

    /// The index of what follows must be complete before anything is looked up in it.
    pub(super) async fn index(&self, namespace: &Namespace) -> Result<(), Fault> {
        self.ledger.complete_indexes(namespace).await.map_err(store_fault)
    }

    pub(super) async fn place_of(&self, namespace: &Namespace, id: ExchangeId) -> Result<Place, Fault> {
        self.ledger.place(namespace, id).await.map_err(store_fault)?.ok_or_else(|| none_such(id))
    }

    pub(super) async fn stored_exchange(
        &self,
        namespace: &Namespace,
        id: ExchangeId,
    ) -> Result<(Exchange, Place), Fault> {
        self.ledger.exchange(namespace, id).await.map_err(store_fault)?.ok_or_else(|| none_such(id))
    }

    pub(super) async fn path_down_to(&self, namespace: &Namespace, place: Place) -> Result<Vec<Segment>, Fault> {
        self.ledger.path(namespace, place).await.map_err(store_fault)
    }

    async fn exchange_at(&self, namespace: &Namespace, place: Place) -> Result<Exchange, Fault> {
        let found = self.ledger.exchange_at(namespace, place).await.map_err(store_fault)?;
        found.ok_or_else(missing)
    }

    async fn exchange_on(
        &self,
        namespace: &Namespace,
        path: &[Segment],
        depth: u64,
    ) -> Result<(Exchange, Place), Fault> {
        let place = graph::at_depth(path, depth)
            .ok_or_else(|| Fault::new(Reason::StoreCorrupt, "a path has no such depth: run `antiphon verify`"))?;
        Ok((self.exchange_at(namespace, place).await?, place))
    }

    async fn node_on(&self, namespace: &Namespace, path: &[Segment], depth: u64) -> Result<Node, Fault> {
        let (exchange, place) = self.exchange_on(namespace, path, depth).await?;
        let children = self.children_of(namespace, place).await?;
        self.node(namespace, exchange, children).await
    }

    async fn node_at(&self, namespace: &Namespace, place: Place) -> Result<Node, Fault> {
        let exchange = self.exchange_at(namespace, place).await?;
        let children = self.children_of(namespace, place).await?;
        self.node(namespace, exchange, children).await
    }

    async fn children_of(&self, namespace: &Namespace, place: Place) -> Result<u64, Fault> {
        self.ledger.count_children(namespace, place).await.map_err(store_fault)
    }

    async fn node(&self, namespace: &Namespace, mut exchange: Exchange, children: u64) -> Result<Node, Fault> {
        let run = match &exchange.run_id {
            Some(id) => self.ledger.run(namespace, id).await.map_err(store_fault)?,
            None => None,
        };
        let run = match run {
            Some((run, _)) => Some(self.current(namespace, run).await?),
            None => None,
        };
        let ends_turn = match &run {
            Some(run) => run.state == State::Completed && run.exchange == Some(exchange.id),
            None => !exchange.is_pending(),
        };
        let user_preview = preview(&exchange.asked());
        let assistant_preview = preview(&exchange.assistant.joined_text());
        // A page of nodes must not hold what a page of histories does.
        exchange.messages = Vec::new();
        exchange.assistant.parts = Vec::new();
        exchange.settings = Vec::new();
        exchange.observations = Vec::new();
        Ok(Node { ends_turn, run_state: run.map(|run| run.state), user_preview, assistant_preview, children, exchange })
    }

    /// The threads whose head an exchange is: the one that it was made on, and those whose heads were put on it.
    pub(super) async fn heads_at(&self, namespace: &Namespace, exchange: &Exchange) -> Result<Vec<Thread>, Fault> {
        let mut threads = Vec::new();
        if let Some(made_on) = &exchange.thread_id {
            threads.extend(self.headed(namespace, made_on, exchange.id).await?);
        }
        let mut after = None;
        while threads.len() < HEADS {
            let put = self.ledger.pointers(namespace, exchange.id, after.as_ref(), BATCH).await.map_err(store_fault)?;
            let is_last = put.len() < BATCH;
            for id in &put {
                if exchange.thread_id.as_ref() != Some(id) {
                    threads.extend(self.headed(namespace, id, exchange.id).await?);
                }
            }
            after = put.into_iter().next_back();
            if is_last {
                break;
            }
        }
        threads.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        threads.truncate(HEADS);
        Ok(threads)
    }

    /// A thread, if its head is an exchange.
    async fn headed(
        &self,
        namespace: &Namespace,
        id: &ThreadId,
        exchange: ExchangeId,
    ) -> Result<Option<Thread>, Fault> {
        let head = self.ledger.head(namespace, id).await.map_err(store_fault)?;
        if head.is_none_or(|(head, _)| head.exchange != Some(exchange)) {
            return Ok(None);
        }
        Ok(self.ledger.thread(namespace, id).await.map_err(store_fault)?.map(|(thread, _)| thread))
    }
}

/// A path up to a place on it.
fn up_to(path: &[Segment], place: Option<Place>) -> Vec<Segment> {
    let Some(place) = place else { return Vec::new() };
    let before = path.iter().take_while(|segment| segment.last < place.depth).copied();
    before.chain([Segment { branch: place.branch, last: place.depth }]).collect()
}

fn preview(text: &str) -> String {
    text.chars().take(PREVIEW).collect()
}

pub(super) fn missing() -> Fault {
    Fault::new(Reason::StoreCorrupt, "an exchange on a path is missing: run `antiphon verify`")
}

fn none_such(id: ExchangeId) -> Fault {
    Fault::not_found(Reason::ExchangeNotFound, "exchange", id.to_string())
}
