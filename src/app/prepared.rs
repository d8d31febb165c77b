//! Prepared executions: a turn is resolved and shown, kept, and executed later exactly as it was shown, once (S4-16, S4-17, S4-29). It must
//! not call anybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, Moment, Namespace, PreparedId, RunId};
use crate::domain::message::Message;
use crate::domain::prepared::{From, Prepared, ThreadThen};
use crate::domain::run::OnDisconnect;
use crate::domain::thread::Expected;
use crate::engine::Plan;
use crate::engine::backend::Outbound;
use crate::store::ledger::{Changes, Token};

use super::base::Start;
use super::busy::Asks;
use super::execution::Decided;
use super::explain::Explained;
use super::flight::Watcher;
use super::turn::{Base, Input, PreparedInput, ThreadRef, Turn};
use super::{App, Caller, run_id_required, store_fault, view};

/// How many expired ones are removed by each that is made.
const REMOVED_AT_ONCE: usize = 16;

/// A call that executes what was prepared.
pub struct PreparedCall {
    /// What.
    pub id: PreparedId,
    /// The caller's id for the run.
    pub run_id: Option<RunId>,
    /// Hash of the request as received.
    pub fingerprint: Hash,
    /// It must be one whose execution is captured.
    pub captures: bool,
    /// Ask the provider for the answer in pieces.
    pub stream: bool,
}

impl App {
    /// Resolves a turn and keeps the outcome for one execution, until a moment or for as long as is configured. Removes some of those that
    /// have expired, in the same write.
    ///
    /// # Errors
    /// As for the turn itself, but for its run, its place in a line, and its credential; and when the moment is past or too far away.
    pub async fn prepare_turn(
        &self,
        caller: &Caller,
        turn: Turn,
        until: Option<Moment>,
    ) -> Result<(Prepared, Explained), Fault> {
        self.accept_work()?;
        let namespace = &caller.namespace;
        let now = self.clock.now();
        let expires_at = self.prepared_until(until, now)?;
        let looked = self.looked_ahead(caller, &turn).await?;
        let prepared = Prepared {
            id: PreparedId::ending(expires_at, self.ids.uuid()),
            run_id: turn.run_id.clone(),
            from: from(&turn.base, &looked.start),
            parent: looked.start.parent.as_ref().map(|parent| parent.exchange.id),
            capture: turn.capture,
            labels: turn.labels.clone(),
            on_disconnect: turn.on_disconnect,
            plan: looked.plan.planned(),
            backend: looked.plan.configuration().unwrap_or(Hash::of(b"")),
            body: Hash::of(&looked.outbound.body),
            used_by: None,
            created_at: now,
            expires_at,
        };
        let mut changes = Changes::new();
        for id in self.ledger.expired_prepared(namespace, now, REMOVED_AT_ONCE).await.map_err(store_fault)? {
            changes.delete_prepared(&id);
        }
        changes.create_prepared(&prepared);
        let _footing = match looked.start.stored_parent() {
            Some(parent) => Some(self.stand_on(namespace, parent, None).await?),
            None => None,
        };
        if self.commit(namespace, &changes).await.map_err(store_fault)?.is_err() {
            return Err(Fault::new(Reason::Internal, "an id that was to be new is taken"));
        }
        Ok((prepared, Explained::of(looked.plan, looked.history, looked.outbound)))
    }

    /// Executes what was prepared, or joins the run that does, and gives a watcher of it. A repeated run id is looked up first, so it gets its
    /// answer also when what was prepared is gone.
    ///
    /// # Errors
    /// As for a turn. What was prepared itself is looked at once nothing is on record under the run id.
    pub async fn start_prepared(self: &Arc<Self>, caller: Caller, call: PreparedCall) -> Result<Watcher, Fault> {
        let found = self.ledger.prepared(&caller.namespace, &call.id).await.map_err(store_fault)?;
        let turn = match found {
            Some((prepared, _)) => turn(call, prepared),
            None => nothing(call),
        };
        self.start_turn(caller, turn).await
    }

    /// What a prepared execution would send.
    ///
    /// # Errors
    /// When it can no longer be executed.
    pub async fn explain_prepared(&self, caller: &Caller, id: &PreparedId) -> Result<Explained, Fault> {
        let (prepared, _) = self.usable(&caller.namespace, id, None).await?;
        let (plan, history, outbound) = self.as_prepared(&caller.namespace, &prepared).await?;
        Ok(Explained::of(plan, history, outbound))
    }

    /// A prepared turn with all that is to be decided before its claim, which uses it up.
    pub(super) async fn decide_prepared(
        &self,
        caller: &Caller,
        turn: &Turn,
        input: &PreparedInput,
        asks: &mut Asks<'_>,
    ) -> Result<Decided, Fault> {
        let namespace = &caller.namespace;
        let (prepared, token) = self.usable(namespace, &input.id, Some(&asks.flight.run_id)).await?;
        if input.captures && !prepared.capture {
            let message =
                "was prepared to be executed without capture: execute it with Run, or prepare it with `capture`";
            return Err(Fault::field("prepared.prepared_id", message));
        }
        let start = self.resolve_base(namespace, turn, asks).await?;
        if start.parent.as_ref().map(|parent| parent.exchange.id) != prepared.parent {
            return Err(stale(&input.id, "what it goes on from has changed since"));
        }
        let (plan, history, outbound) = self.as_prepared(namespace, &prepared).await?;
        if prepared.capture && turn.run_id.is_none() {
            run_id_required(&plan)?;
        }
        self.engine.ready(&plan, caller.credential.as_ref())?;
        let prior = history.len();
        let outbound = if turn.stream { self.engine.outbound(&plan, history.clone(), true)? } else { outbound };
        let is_needed = !turn.capture || plan.repair_attempts > 0;
        let history = if is_needed { history } else { Vec::new() };
        let used = Prepared { used_by: Some(asks.flight.run_id.clone()), ..prepared };
        Ok(Decided {
            start,
            plan,
            drifts: Vec::new(),
            outbound,
            history,
            prior,
            opens: None,
            calling: None,
            uses: Some((used, token)),
        })
    }

    /// A prepared execution that a run may use. The answer is the same for one that never was, one that expired, and one of others.
    async fn usable(
        &self,
        namespace: &Namespace,
        id: &PreparedId,
        run_id: Option<&RunId>,
    ) -> Result<(Prepared, Token), Fault> {
        let found = self.ledger.prepared(namespace, id).await.map_err(store_fault)?;
        let now = self.clock.now();
        let Some((prepared, token)) = found.filter(|(prepared, _)| !prepared.is_expired(now)) else {
            let mut fault = Fault::not_found(Reason::PreparedNotFound, "prepared", id.as_str());
            fault.message = format!("there is no prepared execution `{id}` here, or it expired: prepare it again");
            return Err(fault);
        };
        match &prepared.used_by {
            Some(user) if run_id != Some(user) => {
                let message = format!(
                    "`{id}` was executed by run `{user}`, and can be only once: look at that run, or prepare it again"
                );
                Err(Fault::new(Reason::PreparedUsed, message).with("prepared_id", id).with("run_id", user))
            }
            _ => Ok((prepared, token)),
        }
    }

    /// What was shown, derived again: plan, history and body, which must be the same.
    async fn as_prepared(
        &self,
        namespace: &Namespace,
        prepared: &Prepared,
    ) -> Result<(Plan, Vec<Message>, Outbound), Fault> {
        let backend_id = &prepared.plan.backend_id;
        let changed = || {
            let why = format!("the configuration of its backend `{backend_id}` has changed since, or is gone");
            stale(&prepared.id, &why)
        };
        let plan = self.engine.plan_of(prepared.plan.clone());
        let is_gone = |fault: &Fault| fault.reason == Reason::ResourceNotFound;
        let mut plan = plan.map_err(|fault| if is_gone(&fault) { changed() } else { fault })?;
        if plan.configuration() != Some(prepared.backend) {
            return Err(changed());
        }
        let path = match prepared.parent {
            Some(id) => self.path_of(namespace, &self.parent(namespace, id).await?).await?,
            None => Vec::new(),
        };
        let history = view::apply(&mut plan, &path)?;
        // What the view left out was told when it was prepared.
        plan.warnings.clone_from(&prepared.plan.warnings);
        let outbound = self.engine.outbound(&plan, history.clone(), false)?;
        if Hash::of(&outbound.body) != prepared.body {
            let why = view::erased_since(&path, prepared.created_at);
            let otherwise = || "this server says the request otherwise than the one that prepared it".to_owned();
            return Err(stale(&prepared.id, &why.unwrap_or_else(otherwise)));
        }
        Ok((plan, history, outbound))
    }

    fn prepared_until(&self, until: Option<Moment>, now: Moment) -> Result<Moment, Fault> {
        let default = self.limits.prepared_expiry_minutes.saturating_mul(60_000);
        let expires_at = until.unwrap_or(Moment(now.0.saturating_add(default)));
        let max_hours = self.limits.max_prepared_hours;
        if expires_at <= now {
            return Err(Fault::field("expire_time", "is past: give a time to come, or none"));
        }
        let away_ms = expires_at.0.saturating_sub(now.0);
        if away_ms > max_hours.saturating_mul(3_600_000) {
            let away = away_ms.div_ceil(3_600_000);
            let text = format!("is {away} hours away: at most {max_hours} are taken; give an earlier time");
            let fault = Fault::new(Reason::LimitExceeded, format!("expire_time {text}")).at("expire_time", text);
            return Err(fault.with("limit", "max_prepared_hours").with("max", max_hours).with("value", away));
        }
        Ok(expires_at)
    }
}

fn stale(id: &PreparedId, why: &str) -> Fault {
    let message = format!("`{id}` can no longer be executed as it was shown, since {why}: prepare it again");
    Fault::new(Reason::PreparedStale, message).with("prepared_id", id)
}

/// Where a turn starts, as it was seen.
fn from(base: &Base, start: &Start) -> From {
    match (base, &start.thread) {
        (Base::Thread(at), Some(thread)) => From::Thread(ThreadThen {
            id: at.id.clone(),
            head: thread.head().exchange,
            on_busy: at.on_busy,
            unanswered: at.unanswered,
        }),
        (Base::Exchange(id), _) => From::Exchange(*id),
        _ => From::Root,
    }
}

fn turn(call: PreparedCall, prepared: Prepared) -> Turn {
    let base = match prepared.from {
        From::Root => Base::Root,
        From::Exchange(id) => Base::Exchange(id),
        From::Thread(then) => Base::Thread(ThreadRef {
            id: then.id,
            expected: then.head.map_or(Expected::Empty, Expected::Exchange),
            on_busy: then.on_busy,
            unanswered: then.unanswered,
        }),
    };
    let run_id = call.run_id.clone().or(prepared.run_id);
    Turn {
        run_id,
        base,
        capture: prepared.capture,
        labels: prepared.labels,
        on_disconnect: prepared.on_disconnect,
        ..nothing(call)
    }
}

/// A turn of what is not there: its run may be all the same.
fn nothing(call: PreparedCall) -> Turn {
    Turn {
        run_id: call.run_id,
        assigned: None,
        fingerprint: call.fingerprint,
        step: call.fingerprint,
        base: Base::Root,
        input: Input::Prepared(PreparedInput { id: call.id, captures: call.captures }),
        capture: call.captures,
        labels: BTreeMap::new(),
        on_disconnect: OnDisconnect::default(),
        retry: false,
        stream: call.stream,
        companion: None,
    }
}
