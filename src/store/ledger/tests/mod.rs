//! What the ledger promises, on a store in memory.

mod commit;
pub(crate) mod coordinations;
mod graph;
mod names;
mod pages;
mod tools;
mod workspace;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::content::Hasher;
use crate::domain::drift::Lineage;
use crate::domain::exchange::{Exchange, Origin, Responder};
use crate::domain::graph::{Place, Segment};
use crate::domain::id::{ExchangeId, Hash, Moment, Namespace, RunId, ThreadId};
use crate::domain::message::{Message, Role};
use crate::domain::run::{Run, State, StopReason};
use crate::domain::settings::{ThreadDefaults, Validation};
use crate::domain::thread::{Head, Thread};
use crate::domain::tool::Tool;
use crate::domain::usage::Usage;
use crate::store::memory::Memory;
use crate::store::{Changes, Ledger};

/// A ledger in memory, and ids for it.
pub(crate) struct World {
    pub(crate) store: Arc<Memory>,
    pub(crate) ledger: Ledger,
    pub(crate) ns: Namespace,
    next: AtomicU64,
}

impl World {
    pub(crate) fn new() -> Self {
        let store = Arc::new(Memory::default());
        let ledger = Ledger::new(store.clone());
        Self { store, ledger, ns: Namespace::new("a"), next: AtomicU64::new(1) }
    }

    /// An exchange after another, or at a root. Ids ascend, as those of the server do.
    pub(crate) fn exchange(&self, parent: Option<&Exchange>, words: &str) -> Exchange {
        let mut id = [0; 16];
        id[8..].copy_from_slice(&self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        let messages = vec![Message::text(Role::User, words)];
        self.saying(ExchangeId::from_bytes(id), parent, messages)
    }

    pub(crate) fn saying(&self, id: ExchangeId, parent: Option<&Exchange>, messages: Vec<Message>) -> Exchange {
        let assistant = Message::text(Role::Assistant, "yes");
        let open: Vec<_> = parent.iter().flat_map(|parent| parent.calls()).map(|call| call.call_id.clone()).collect();
        let content_hash =
            Hasher::new(&self.ns).exchange(parent.map(|parent| &parent.content_hash), &open, &messages, &assistant);
        Exchange {
            id,
            parent: parent.map(|parent| parent.id),
            continues: parent.map(|parent| parent.id),
            continues_run: None,
            run_id: None,
            depth: parent.map_or(1, |parent| parent.depth + 1),
            turn: parent.map_or(1, Exchange::next_turn),
            thread_id: None,
            origin: Origin::Executed,
            messages,
            assistant,
            stop_reason: StopReason::Stop,
            stop_reason_raw: String::new(),
            offered: None,
            standing: None,
            workspace: Default::default(),
            head_before: Default::default(),
            lineage: Lineage::Nothing,
            settings: Vec::new(),
            validation: Validation::default(),
            usage: Usage::default(),
            observations: Vec::new(),
            warnings: Vec::new(),
            responder: Responder::default(),
            content_hash,
            labels: Default::default(),
            created_at: Moment(0),
            erased: None,
        }
    }

    /// Stores exchanges and nothing else.
    pub(crate) async fn append(&self, exchanges: &[Exchange], after: Option<Place>) {
        let mut changes = Changes::new();
        changes.append(exchanges.to_vec(), after);
        self.ledger.commit(&self.ns, &changes).await.unwrap().unwrap();
    }

    pub(crate) async fn place(&self, exchange: &Exchange) -> Place {
        self.ledger.place(&self.ns, exchange.id).await.unwrap().unwrap()
    }

    /// Stores one exchange after another, or at a root.
    pub(crate) async fn say(&self, parent: Option<&Exchange>, words: &str) -> Exchange {
        let exchange = self.exchange(parent, words);
        let after = match parent {
            Some(parent) => Some(self.place(parent).await),
            None => None,
        };
        self.append(std::slice::from_ref(&exchange), after).await;
        exchange
    }

    pub(crate) async fn history(&self, exchange: &Exchange) -> Vec<Exchange> {
        let path = self.ledger.path(&self.ns, self.place(exchange).await).await.unwrap();
        self.page(&path, 1, usize::MAX, usize::MAX).await
    }

    /// Exchanges of a path from a depth on.
    async fn page(&self, path: &[Segment], from: u64, limit: usize, max_bytes: usize) -> Vec<Exchange> {
        let page = self.ledger.exchanges(&self.ns, path, from, limit, max_bytes).await.unwrap();
        page.into_iter().map(Arc::unwrap_or_clone).collect()
    }
}

pub(crate) fn run(id: &str) -> Run {
    Run {
        id: RunId::new(id),
        state: State::Running,
        captured: true,
        exchange: None,
        exchange_count: 0,
        from: None,
        thread_id: None,
        attempt: 1,
        fingerprint: Hash([1; 32]),
        steps: Vec::new(),
        owner: "server".to_owned(),
        observations: Vec::new(),
        failure: None,
        stop_reason: None,
        labels: Default::default(),
        created_at: Moment(1),
        updated_at: Moment(1),
        past: Vec::new(),
        workspace: None,
    }
}

pub(crate) fn thread(id: &str) -> Thread {
    Thread {
        id: ThreadId::new(id),
        name: String::new(),
        labels: Default::default(),
        metadata_json: String::new(),
        defaults: ThreadDefaults::default(),
        parent: None,
        created_at: Moment(1),
        updated_at: Moment(1),
    }
}

pub(crate) fn head(exchange: Option<&Exchange>) -> Head {
    Head {
        exchange: exchange.map(|exchange| exchange.id),
        run_id: exchange.and_then(|exchange| exchange.run_id.clone()),
        turn_count: exchange.map_or(0, |exchange| exchange.turn),
        ..Head::default()
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        description: "Does it. ".repeat(20),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
        side_effects: false,
        requires_human: false,
    }
}
