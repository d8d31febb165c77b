//! What is kept and until when: pins, expiries, and which exchanges a target has. It must not know how anything is removed.

mod collect;
mod erase;
mod finish;
mod taking;

use std::collections::BTreeMap;

pub use self::collect::{Collecting, Garbage};
pub use self::erase::{Asked, Erasure};
pub use self::finish::Unfinished;

use super::thread::Repeatable;
use super::{App, Caller, store_fault};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{self, Place};
use crate::domain::id::{ExchangeId, Hash, Moment, Namespace, RunId, ThreadId};
use crate::domain::retention::{Expiry, Pin, Target};
use crate::domain::run::{Run, State};
use crate::domain::thread::Head;
use crate::store::ledger::{Changes, Lost};

/// How many records are read at a time.
const BATCH: usize = 256;

/// An expiry as it is told: whether a pin keeps it all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// What and when; never, when there is no time.
    pub target: Target,
    /// When.
    pub at: Option<Moment>,
    /// A pin keeps it.
    pub pinned: bool,
}

/// What a target has.
#[derive(Default)]
struct Resolved {
    exchanges: BTreeMap<ExchangeId, Place>,
    thread: Option<ThreadId>,
    /// The last exchange of a thread or run.
    end: Option<ExchangeId>,
    /// A run that was not captured.
    bare_run: Option<Run>,
    /// When the thread or that run was made.
    made_at: Option<Moment>,
}

impl App {
    /// Keeps something from expiry and collection; says whether it was done by an earlier call.
    ///
    /// # Errors
    /// When there is no such thing, or the id is taken by another pin.
    pub async fn create_pin(&self, caller: &Caller, mut pin: Pin, repeat: &Repeatable) -> Result<(Pin, bool), Fault> {
        let namespace = &caller.namespace;
        if let Some(id) = self.repeated(namespace, repeat).await?
            && let Some(pin) = self.ledger.pin(namespace, &id).await.map_err(store_fault)?
        {
            return Ok((pin, true));
        }
        self.retained(namespace, &pin.target).await?;
        self.accept_work()?;
        if pin.id.is_empty() {
            pin.id = self.ids.uuid().to_string();
        }
        pin.created_at = self.clock.now();
        if let Some(there) = self.ledger.pin(namespace, &pin.id).await.map_err(store_fault)? {
            if there.target == pin.target && there.note == pin.note {
                return Ok((there, true));
            }
            return Err(Fault::field(
                "pin_id",
                format!("`{}` is another pin: take another id, or delete it first", pin.id),
            ));
        }
        let mut changes = Changes::new();
        changes.put_pin(&pin);
        self.remember(&mut changes, repeat, "pin", &pin.id);
        self.apply(namespace, &changes).await?;
        Ok((pin, false))
    }

    /// Takes a pin away.
    ///
    /// # Errors
    /// When there is none.
    pub async fn delete_pin(&self, caller: &Caller, id: &str, repeat: &Repeatable) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        if self.repeated(namespace, repeat).await?.is_some() {
            return Ok(());
        }
        if self.ledger.pin(namespace, id).await.map_err(store_fault)?.is_none() {
            return Err(Fault::not_found(Reason::ResourceNotFound, "pin", id));
        }
        self.accept_work()?;
        let mut changes = Changes::new();
        changes.delete_pin(id);
        self.remember(&mut changes, repeat, "unpin", id);
        self.apply(namespace, &changes).await
    }

    /// Pins by id, after one of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_pins(&self, caller: &Caller, after: Option<&str>, limit: usize) -> Result<Vec<Pin>, Fault> {
        self.ledger.pins(&caller.namespace, after, limit).await.map_err(store_fault)
    }

    /// Sets when something expires, or that it never does.
    ///
    /// # Errors
    /// When there is no such thing.
    pub async fn set_expiry(
        &self,
        caller: &Caller,
        target: Target,
        at: Option<Moment>,
        repeat: &Repeatable,
    ) -> Result<Due, Fault> {
        let namespace = &caller.namespace;
        let pinned = self.is_pinned(namespace, &target).await?;
        if self.repeated(namespace, repeat).await?.is_some() {
            let at = self.ledger.expiry(namespace, &target).await.map_err(store_fault)?.map(|expiry| expiry.at);
            return Ok(Due { target, at, pinned });
        }
        self.retained(namespace, &target).await?;
        self.accept_work()?;
        let before = self.ledger.expiry(namespace, &target).await.map_err(store_fault)?.map(|expiry| expiry.at);
        let mut changes = Changes::new();
        match at {
            Some(at) => changes.put_expiry(&Expiry { target: target.clone(), at }, before),
            None => changes.delete_expiry(&target, before),
        }
        self.remember(&mut changes, repeat, "expiry", "");
        self.apply(namespace, &changes).await?;
        Ok(Due { target, at, pinned })
    }

    /// What expires before a moment, soonest first, after one of them; with what names each in this order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_expiries(
        &self,
        caller: &Caller,
        after: Option<(Moment, Hash)>,
        before: Option<Moment>,
        limit: usize,
    ) -> Result<Vec<((Moment, Hash), Due)>, Fault> {
        let namespace = &caller.namespace;
        let found = self.ledger.expiries(namespace, after, before, limit).await.map_err(store_fault)?;
        let mut due = Vec::with_capacity(found.len());
        for (key, expiry) in found {
            let pinned = self.is_pinned(namespace, &expiry.target).await?;
            due.push((key, Due { target: expiry.target, at: Some(expiry.at), pinned }));
        }
        Ok(due)
    }

    async fn apply(&self, namespace: &Namespace, changes: &Changes) -> Result<(), Fault> {
        match self.ledger.commit(namespace, changes).await.map_err(store_fault)? {
            Ok(()) => Ok(()),
            Err(Lost::RequestExists(id)) => {
                let message = format!("request id `{id}` is used by another call at this moment: repeat this one");
                Err(Fault::new(Reason::RequestIdConflict, message).with("request_id", id))
            }
            Err(lost) => Err(Fault::new(Reason::HeadMoved, format!("{lost}: repeat the call")).retry_after(100)),
        }
    }

    /// The exchanges of a target, with the thread or run that it is.
    async fn retained(&self, namespace: &Namespace, target: &Target) -> Result<Resolved, Fault> {
        let mut resolved = Resolved::default();
        match target {
            Target::Exchange(id) => {
                resolved.exchanges.insert(*id, self.place_of(namespace, *id).await?);
            }
            Target::Subtree(id, steps) => {
                let place = self.place_of(namespace, *id).await?;
                resolved.exchanges.insert(*id, place);
                self.below(namespace, place, steps.unwrap_or(u64::MAX), &mut resolved.exchanges).await?;
            }
            Target::Thread(id) => {
                let (thread, head, _) = self.read_thread(namespace, id).await?;
                if let Some(end) = self.tip_of(namespace, &head).await? {
                    resolved = self.path_to(namespace, end).await?;
                }
                (resolved.thread, resolved.made_at) = (Some(id.clone()), Some(thread.created_at));
            }
            Target::Run(id) => {
                let found = self.ledger.run(namespace, id).await.map_err(store_fault)?;
                let Some((run, _)) = found else {
                    return Err(Fault::not_found(Reason::RunNotFound, "run", id.as_str()));
                };
                if let Some(end) = run.exchange {
                    resolved = self.stretch_of(namespace, id, end).await?;
                }
                if resolved.exchanges.is_empty() {
                    (resolved.made_at, resolved.bare_run) = (Some(run.created_at), Some(run));
                }
            }
        }
        Ok(resolved)
    }

    /// The last exchange of a thread: that of a run which waits for the results of its tool calls, or the head.
    async fn tip_of(&self, namespace: &Namespace, head: &Head) -> Result<Option<ExchangeId>, Fault> {
        if let Some(active) = &head.active_run
            && let Some((run, _)) = self.ledger.run(namespace, active).await.map_err(store_fault)?
            && let Some(last) = run.exchange.filter(|_| run.state == State::PendingTools)
        {
            return Ok(Some(last));
        }
        Ok(head.exchange)
    }

    /// An exchange with all before it.
    async fn path_to(&self, namespace: &Namespace, end: ExchangeId) -> Result<Resolved, Fault> {
        let mut resolved = Resolved { end: Some(end), ..Resolved::default() };
        let place = self.place_of(namespace, end).await?;
        let path = self.path_down_to(namespace, place).await?;
        for depth in 1..=place.depth {
            let Some(place) = graph::at_depth(&path, depth) else { break };
            if let Some(id) = self.ledger.id_at(namespace, place).await.map_err(store_fault)? {
                resolved.exchanges.insert(id, place);
            }
        }
        Ok(resolved)
    }

    /// An exchange with those right before it that the same run made; nothing when it is of another run.
    async fn stretch_of(&self, namespace: &Namespace, run: &RunId, end: ExchangeId) -> Result<Resolved, Fault> {
        let mut resolved = Resolved::default();
        let mut next = Some(end);
        while let Some(each) = next {
            let place = self.place_of(namespace, each).await?;
            let Some(exchange) = self.ledger.exchange_at(namespace, place).await.map_err(store_fault)? else { break };
            if exchange.run_id.as_ref() != Some(run) {
                break;
            }
            next = exchange.parent;
            resolved.exchanges.insert(each, place);
            resolved.end = Some(end);
        }
        Ok(resolved)
    }

    /// Adds what follows from the exchange at a place, so many steps down.
    async fn below(
        &self,
        namespace: &Namespace,
        top: Place,
        steps: u64,
        found: &mut BTreeMap<ExchangeId, Place>,
    ) -> Result<(), Fault> {
        self.ledger.complete_indexes(namespace).await.map_err(store_fault)?;
        let deepest = top.depth.saturating_add(steps);
        let mut ahead = vec![top];
        while let Some(place) = ahead.pop().filter(|place| place.depth < deepest) {
            for (id, place) in self.children_at(namespace, place).await? {
                if found.insert(id, place).is_none() {
                    ahead.push(place);
                }
            }
        }
        Ok(())
    }

    async fn children_at(&self, namespace: &Namespace, place: Place) -> Result<Vec<(ExchangeId, Place)>, Fault> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.ledger.children(namespace, place, after, BATCH).await.map_err(store_fault)?;
            after = page.last().map(|(id, _)| *id).filter(|_| page.len() >= BATCH);
            all.extend(page);
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Whether a pin keeps a target: it is of the same thing, or of one that needs an exchange of it.
    async fn is_pinned(&self, namespace: &Namespace, target: &Target) -> Result<bool, Fault> {
        let Ok(wanted) = self.retained(namespace, target).await else { return Ok(false) };
        let mut after: Option<String> = None;
        loop {
            let pins = self.ledger.pins(namespace, after.as_deref(), BATCH).await.map_err(store_fault)?;
            for pin in &pins {
                if pin.target == *target || self.needs(namespace, &pin.target, &wanted).await? {
                    return Ok(true);
                }
            }
            after = pins.last().map(|pin| pin.id.clone()).filter(|_| pins.len() >= BATCH);
            if after.is_none() {
                return Ok(false);
            }
        }
    }

    /// Whether a pinned target needs an exchange: has it, or has one that it is before.
    async fn needs(&self, namespace: &Namespace, pinned: &Target, wanted: &Resolved) -> Result<bool, Fault> {
        // What was pinned may be gone since.
        let Ok(pinned) = self.retained(namespace, pinned).await else { return Ok(false) };
        if pinned.exchanges.keys().any(|id| wanted.exchanges.contains_key(id)) {
            return Ok(true);
        }
        for place in pinned.exchanges.values() {
            let path = self.path_down_to(namespace, *place).await?;
            if wanted.exchanges.values().any(|wanted| graph::contains(&path, *wanted)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
