//! The workshop: the verbs that change or tell what is true, each bringing the domain's rules, the engine and the ledger together. It must
//! not know gRPC, configuration files or which store and backends there are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, ExchangeId, Moment, Namespace, RunId, ThreadId};
use crate::domain::source::{Clock, Ids};
use crate::engine::{Engine, Plan};
use crate::store::ledger::Ledger;
use crate::store::{self, Health};

pub mod access;
mod accounts;
pub mod base;
mod busy;
pub mod coordination;
pub mod drift;
pub mod execution;
pub mod explain;
pub mod flight;
mod followed;
mod footing;
pub mod fork;
pub mod graph;
pub mod inspect;
pub mod limits;
pub mod meters;
pub mod prepared;
pub mod probe;
pub mod record;
pub mod reload;
pub mod replay;
pub mod restore;
pub mod retention;
pub mod run;
pub mod stats;
pub mod thread;
pub mod tool;
pub mod transfer;
pub mod turn;
pub mod verify;
mod view;
pub mod workspace;

use access::{Opens, Principal};
use flight::Flights;
pub use limits::Limits;
use reload::Configuration;

/// Who calls. Every verb takes one, so that nothing is done in nobody's name.
#[derive(Clone)]
pub struct Caller {
    /// The namespace of the call.
    pub namespace: Namespace,
    /// Who it is, and what the credential opens.
    pub principal: Arc<Principal>,
    /// The caller's own provider credential, for this call only.
    pub credential: Option<SecretString>,
    /// When the caller stops waiting for this call.
    pub deadline: Option<Instant>,
}

impl Caller {
    /// Somebody in a namespace, without a provider credential and with all the time in the world.
    pub fn new(principal: Arc<Principal>, namespace: Namespace) -> Self {
        Self { namespace, principal, credential: None, deadline: None }
    }

    /// The server itself, in a namespace.
    fn of(namespace: Namespace) -> Self {
        Self::new(Arc::new(Principal::of(namespace.clone())), namespace)
    }

    /// The only namespace that the caller may read and write; none for one who speaks for the server as a whole. Where there are no
    /// credentials, that is everybody who reaches it.
    pub fn only_namespace(&self) -> Option<&Namespace> {
        match &self.principal.opens {
            Opens::One(namespace) => Some(namespace),
            Opens::All => None,
        }
    }

    /// Whether the caller speaks for the server as a whole.
    ///
    /// # Errors
    /// SCOPE_MISSING.
    pub fn speaks_for_the_server(&self) -> Result<(), Fault> {
        if self.only_namespace().is_none() {
            return Ok(());
        }
        let message = "this is about the server as a whole, for which the credential must open all namespaces: `antiphon keys create --all-namespaces` makes such a key";
        Err(Fault::new(Reason::ScopeMissing, message).with("namespace", access::ALL_NAMESPACES))
    }

    /// Who is told to have done something: the name of the credential; empty without one.
    pub fn name(&self) -> &str {
        &self.principal.name
    }
}

/// What the verbs work with. One for each server; cheap to share.
pub struct App {
    /// Itself, for what goes on when whoever asked for it is gone.
    me: Weak<App>,
    ledger: Ledger,
    engine: Arc<Engine>,
    configuration: Arc<dyn Configuration>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    limits: Limits,
    /// Names this process in the runs that it has claimed: a run that is RUNNING under another name was interrupted.
    owner: String,
    flights: Arc<Flights>,
    threads: Arc<busy::Threads>,
    footings: footing::Footings,
    followed: Arc<followed::Followed>,
    remembered: replay::Cache,
    coordinations: coordination::Lives,
    meters: meters::Meters,
    accounts: accounts::Accounts,
    counted: stats::Counted,
    gauges: stats::Gauges,
    transfers: transfer::Transfers,
    draining: AtomicBool,
    /// Tells streams that the server is shutting down.
    drains: CancellationToken,
    /// Until when runs at work can finish then, in milliseconds since 1970.
    drained_by: AtomicU64,
}

impl App {
    /// Brings the parts together.
    pub fn new(
        ledger: Ledger,
        engine: Arc<Engine>,
        configuration: Arc<dyn Configuration>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        limits: Limits,
    ) -> Arc<Self> {
        let owner = ids.uuid().simple().to_string();
        let remembered = replay::Cache::new(limits.max_remembered_results, limits.max_remembered_bytes);
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            ledger,
            engine,
            configuration,
            clock,
            ids,
            limits,
            owner,
            flights: Arc::default(),
            threads: Arc::default(),
            footings: footing::Footings::default(),
            followed: Arc::default(),
            remembered,
            coordinations: coordination::Lives::default(),
            meters: meters::Meters::default(),
            accounts: accounts::Accounts::default(),
            counted: stats::Counted::default(),
            gauges: stats::Gauges::default(),
            transfers: transfer::Transfers::default(),
            draining: AtomicBool::new(false),
            drains: CancellationToken::new(),
            drained_by: AtomicU64::new(0),
        })
    }

    /// What is configured.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What is stored.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What has happened, counted.
    pub fn meters(&self) -> &meters::Meters {
        &self.meters
    }

    /// How many runs are at work or queued.
    pub fn runs_at_work(&self) -> usize {
        self.flights.count()
    }

    /// How many streams of coordinations are attached.
    pub fn coordination_streams(&self) -> usize {
        self.coordinations.streams()
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether new work is taken, and if not, why.
    pub fn health(&self) -> Health {
        self.ledger.store().health()
    }

    /// Whether the server is shutting down.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Takes no new work, lets what is at work finish within `grace`, and ends the rest as INTERRUPTED.
    pub async fn drain(&self, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.drained_by.store(self.clock.now().0.saturating_add(grace_ms), Ordering::Release);
        self.draining.store(true, Ordering::Release);
        self.drains.cancel();
        if tokio::time::timeout(grace, self.flights.landed()).await.is_err() {
            tracing::warn!(runs = self.flights.count(), "drain.interrupting");
            self.flights.interrupt_all();
            self.flights.landed().await;
        }
    }

    /// Waits until the server begins to shut down. Gives what is told then to whoever takes no turn and was waited for.
    pub async fn shutdown(&self) -> Fault {
        self.drains.cancelled().await;
        shutting_down()
    }

    /// Is cancelled when the server begins to shut down.
    fn drains(&self) -> CancellationToken {
        self.drains.clone()
    }

    /// Until when runs at work can finish, once the server is shutting down.
    fn drained_by(&self) -> Moment {
        Moment(self.drained_by.load(Ordering::Acquire))
    }

    /// Does something to its end, also when whoever asked for it goes away meanwhile.
    async fn to_its_end<T, F>(&self, what: impl FnOnce(Arc<Self>) -> F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let broke = || Fault::new(Reason::Internal, "a step ended by a fault of this server; the log has more");
        let Some(app) = self.me.upgrade() else { return Err(broke()) };
        tokio::spawn(what(app).in_current_span()).await.unwrap_or_else(|_| Err(broke()))
    }

    fn accept_work(&self) -> Result<(), Fault> {
        if self.is_draining() {
            return Err(shutting_down());
        }
        if let Health::ReadOnly(why) = self.health() {
            return Err(store_fault(store::Error::ReadOnly(why)));
        }
        Ok(())
    }

    fn new_exchange_id(&self) -> ExchangeId {
        ExchangeId::new(self.ids.uuid())
    }

    fn new_run_id(&self) -> RunId {
        RunId::new(self.ids.uuid().to_string())
    }

    fn new_thread_id(&self) -> ThreadId {
        ThreadId::new(self.ids.uuid().to_string())
    }

    fn new_call_id(&self) -> CallId {
        CallId::new(format!("call_{}", self.ids.uuid().simple()))
    }
}

/// The server takes no work any more.
fn shutting_down() -> Fault {
    let message = "the server is shutting down: call again in a moment, with the same run id where there is one";
    Fault::new(Reason::ShuttingDown, message).retry_after(1_000)
}

/// A store's error as the caller is told it.
pub fn store_fault(error: store::Error) -> Fault {
    let reason = match &error {
        store::Error::ReadOnly(_) => Reason::StoreReadOnly,
        store::Error::Unavailable(_) => Reason::StoreUnavailable,
        store::Error::Corrupt(_) => Reason::StoreCorrupt,
        store::Error::Closed => Reason::ShuttingDown,
    };
    let fault = Fault::new(reason, error.to_string());
    if reason == Reason::ShuttingDown { fault.retry_after(1_000) } else { fault }
}

/// An exchange could not be put where it belongs, which no caller can bring about.
fn misplaced(id: ExchangeId) -> Fault {
    Fault::new(Reason::Internal, format!("exchange {id} has no place to go: run `antiphon verify`"))
}

/// A person's answer comes late, to a run that its caller must be able to name (S3-28).
fn run_id_required(plan: &Plan) -> Result<(), Fault> {
    let Some(tool) = plan.offer.offered.tools.iter().find(|tool| tool.requires_human) else {
        return Ok(());
    };
    let message = format!("tool `{}` needs a person: give a `run_id`, so that the answer finds its run", tool.name);
    Err(Fault::new(Reason::RunIdRequired, message).with("tool", &tool.name))
}

/// Names ids in an error's metadata.
fn join<T: ToString>(ids: impl IntoIterator<Item = T>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_tell_why() {
        let reason = |error: store::Error| store_fault(error).reason;
        assert_eq!(reason(store::Error::ReadOnly("disk full".to_owned())), Reason::StoreReadOnly);
        assert_eq!(reason(store::Error::Unavailable("locked".to_owned())), Reason::StoreUnavailable);
        assert_eq!(reason(store::Error::Corrupt("checksum".to_owned())), Reason::StoreCorrupt);
        let closed = store_fault(store::Error::Closed);
        assert_eq!((closed.reason, closed.retry_after_ms.is_some()), (Reason::ShuttingDown, true));
    }
}
