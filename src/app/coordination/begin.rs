//! Beginning a coordination, finding one again, and the verbs that need no stream. It must not know what streams are told.

use std::sync::Arc;

use crate::domain::coordination::machine::{Beginning, Opening};
use crate::domain::coordination::{Answered, Coordination, State, Terms};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CoordinationId, ExchangeId, Hash};
use crate::store::ledger::Changes;

use super::super::base::{empty_thread, head_moved};
use super::super::turn::Turn;
use super::super::{App, Caller, store_fault};
use super::ask::{Attach, From, Start};
use super::companion::Claim;
use super::live::Live;
use super::stream::{Stream, Voice};
use super::told::View;
use super::transition::conflict;
use super::{Filter, Whole};

/// How many scans one page of a filtered list may cost.
const SCANS_FOR_A_PAGE: usize = 64;

impl App {
    /// Begins a coordination and attaches to it; attaches to the one of the same id and start.
    ///
    /// # Errors
    /// When it cannot begin; nothing is kept then.
    pub async fn start_coordination(self: &Arc<Self>, caller: &Caller, start: Start) -> Result<(Stream, Voice), Fault> {
        self.accept_work()?;
        let fresh = || CoordinationId::new(self.ids.uuid().to_string());
        let named = start.id.is_some();
        let id = start.id.clone().unwrap_or_else(fresh);
        let live = if start.ephemeral {
            Live::new(caller.namespace.clone(), id, true)
        } else {
            self.coordinations.get(&caller.namespace, &id)
        };
        // A start of the same id waits here until this one has begun or was refused.
        let turnstile = Arc::clone(&live.turnstile).lock_owned().await;
        if named && self.load(&live).await? {
            drop(turnstile);
            self.expire(&live).await?;
            let now = self.there(&live)?;
            if now.fingerprint != start.fingerprint {
                return Err(conflict(&live.id)
                    .with("fingerprint", start.fingerprint)
                    .with("stored_fingerprint", now.fingerprint));
            }
            return self.open(caller, live, 0, start.terms.deltas, true);
        }
        if start.terms.deadline.is_some_and(|at| at <= self.clock.now()) {
            return Err(Fault::field("start.deadline", "has passed: give a later one, or none"));
        }
        let deltas = start.terms.deltas;
        let Start { fingerprint, from, terms, labels, .. } = start;
        let terms = Terms { expiry_ms: self.limits.coordination_expiry_ms(), ..terms };
        let mut opening = Opening { id: live.id.clone(), fingerprint, terms, labels, thread: None };
        let at = match from {
            From::Exchange(id) => self.parent(&caller.namespace, id).await?.exchange.id,
            From::Thread(at) => {
                let (thread, head, _) = self.read_thread(&caller.namespace, &at.id).await?;
                if !at.expected.holds(head.exchange) {
                    return Err(head_moved(&at.id, at.expected, &head));
                }
                let exchange = head.exchange.ok_or_else(|| empty_thread(&at.id))?;
                opening.thread = Some(thread.id).filter(|_| !live.ephemeral);
                opening.terms.on_busy = at.on_busy;
                opening.terms.unanswered = at.unanswered;
                exchange
            }
            From::Initial(turn) if turn.retry => {
                let message = "must be absent: a coordination begins with a run of its own";
                return Err(Fault::field("start.initial_request.request.retry", message));
            }
            From::Initial(turn) => {
                let turn = Turn { stream: deltas, ..*turn };
                live.expects(deltas);
                self.launch(caller, &live, turn, Claim::Initial(opening), turnstile).await?;
                return self.open(caller, live, 0, deltas, false);
            }
        };
        self.begin_at(&live, &opening, at).await?;
        drop(turnstile);
        self.open(caller, live, 0, deltas, false)
    }

    async fn begin_at(&self, live: &Live, opening: &Opening, exchange: ExchangeId) -> Result<(), Fault> {
        let _footing = self.stand_on(&live.namespace, exchange, None).await?;
        let begun = self.begin(live, opening, &Beginning::At(exchange), Changes::new()).await?;
        begun.map_err(|lost| Fault::new(Reason::Internal, lost.to_string()))
    }

    /// Attaches to a coordination at what is pending. A stream that was attached before lets go.
    ///
    /// # Errors
    /// When there is none.
    pub async fn attach_coordination(
        self: &Arc<Self>,
        caller: &Caller,
        attach: Attach,
    ) -> Result<(Stream, Voice), Fault> {
        let live = self.live(caller, &attach.id).await?;
        let now = self.there(&live)?;
        // Nothing that comes is heard already: whoever knows more was told of what is not on record any more, as before a backup was restored.
        let after = attach.after_sequence.min(now.last_sequence);
        let deltas = attach.deltas.unwrap_or(now.terms.deltas);
        self.open(caller, live, after, deltas, true)
    }

    fn open(
        self: &Arc<Self>,
        caller: &Caller,
        live: Arc<Live>,
        after: u64,
        deltas: bool,
        attached: bool,
    ) -> Result<(Stream, Voice), Fault> {
        Stream::open(Arc::clone(self), caller.clone(), live, after, deltas, attached)
    }

    /// Reads a coordination with what it waits for.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get_coordination(&self, caller: &Caller, id: &CoordinationId) -> Result<Whole, Fault> {
        let live = self.live(caller, id).await?;
        self.whole(&live).await
    }

    /// Coordinations by id, after one; with the id to go on after, when there may be more.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_coordinations(
        &self,
        caller: &Caller,
        after: Option<CoordinationId>,
        limit: usize,
        filter: &Filter,
    ) -> Result<(Vec<View>, Option<CoordinationId>), Fault> {
        let (mut found, mut after) = (Vec::new(), after);
        for _ in 0..SCANS_FOR_A_PAGE {
            let page =
                self.ledger.coordinations(&caller.namespace, after.as_ref(), limit).await.map_err(store_fault)?;
            let full = page.len() == limit;
            for coordination in page {
                after = Some(coordination.id.clone());
                let view = self.seen(caller, coordination).await?;
                if filter.takes(&view) {
                    found.push(view);
                }
                if found.len() == limit {
                    return Ok((found, after));
                }
            }
            if !full {
                return Ok((found, None));
            }
        }
        Ok((found, after))
    }

    /// A coordination of a list as it is now: one that was left at work, or whose time is over, is brought to where it is.
    async fn seen(&self, caller: &Caller, coordination: Coordination) -> Result<View, Fault> {
        let here = self.coordinations.find(&caller.namespace, &coordination.id);
        let over = coordination.expiry(false).is_some_and(|(at, _)| at <= self.clock.now());
        let left = here.is_none() && matches!(coordination.state, State::TurnRunning(_));
        match here {
            Some(live) if live.now().is_some() => self.view(&live),
            _ if over || left => match self.live(caller, &coordination.id).await {
                Ok(live) => self.view(&live),
                // A store that takes no writes still tells what it has.
                Err(_) => Ok(View { coordination, attached: false, ephemeral: false }),
            },
            _ => Ok(View { coordination, attached: false, ephemeral: false }),
        }
    }

    /// Ends a coordination. One that has ended stays as it is.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn cancel_coordination(
        &self,
        caller: &Caller,
        id: &CoordinationId,
        message: &str,
    ) -> Result<Whole, Fault> {
        let live = self.live(caller, id).await?;
        if self.there(&live)?.state.end().is_none() {
            self.accept_cancel(&live, message).await?;
            // A turn at work ends in a moment, and the coordination with it.
            let mut changes = live.changes();
            while self.there(&live)?.state.end().is_none() && live.broken().is_none() {
                if changes.changed().await.is_err() {
                    break;
                }
            }
        }
        self.whole(&live).await
    }

    /// Takes a caller's cancel, which is on record when this returns.
    pub(super) async fn accept_cancel(&self, live: &Live, message: &str) -> Result<(), Fault> {
        let text = match message {
            "" => format!("coordination `{}` was cancelled", live.id),
            message => format!("coordination `{}` was cancelled: {message}", live.id),
        };
        let fault = Fault::new(Reason::RunCancelled, text).with("coordination_id", &live.id);
        let answered = Answered { id: live.id.to_string(), fingerprint: Hash::of(message.as_bytes()) };
        match self.cancel_with(live, Some(answered), fault).await {
            Err(fault) if fault.reason == Reason::OutOfOrder => Ok(()),
            other => other,
        }
    }

    /// The stream broke. The coordination goes on without it; a turn at work is finished, or cancelled where that was agreed.
    pub(super) async fn let_go(&self, live: &Live, broke: bool) -> Result<(), Fault> {
        let left = self.leave(live, broke).await;
        live.has_left();
        left
    }

    async fn leave(&self, live: &Live, broke: bool) -> Result<(), Fault> {
        let now = self.there(live)?;
        if now.state.end().is_some() {
            return Ok(());
        }
        if live.ephemeral || broke && live.breaks_with_stream() {
            let message = format!("coordination `{}` was cancelled: its stream broke", live.id);
            let fault = Fault::new(Reason::RunCancelled, message).with("coordination_id", &live.id);
            return match self.cancel_with(live, None, fault).await {
                Err(fault) if fault.reason == Reason::OutOfOrder => Ok(()),
                other => other,
            };
        }
        let event = crate::domain::coordination::machine::Event::Detached;
        match self.transit(live, &event, Changes::new(), None).await {
            Err(fault) if fault.reason == Reason::OutOfOrder => Ok(()),
            other => other.map(|_| ()),
        }
    }
}
