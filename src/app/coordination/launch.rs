//! Starting a turn of a coordination and minding it to its end: admission, the claim that takes the answer with it, the deadline. It must
//! not know what was answered.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::domain::coordination::{Outcome as Ended, State};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Moment, RunId};
use crate::domain::run::State as RunState;

use super::super::execution::{Before, cancelled};
use super::super::flight::{Event, Probing, Watcher};
use super::super::turn::{OnDisconnect, Outcome, Turn};
use super::super::{App, Caller};
use super::answer::accepted;
use super::companion::{Claim, Driven};
use super::live::Live;
use super::told::Accepted;

/// A turn that is to be started.
struct Launch {
    app: Arc<App>,
    caller: Caller,
    live: Arc<Live>,
    asked: Turn,
    claim: Claim,
    /// Keeps other answers waiting until the claim.
    turnstile: OwnedMutexGuard<()>,
    /// The server's stop waits for it.
    _counted: Probing,
}

impl App {
    /// Starts a turn in a task of its own, and waits until it is claimed or refused. The task goes on when the caller is gone.
    pub(super) async fn launch(
        self: &Arc<Self>,
        caller: &Caller,
        live: &Arc<Live>,
        asked: Turn,
        claim: Claim,
        turnstile: OwnedMutexGuard<()>,
    ) -> Result<Accepted, Fault> {
        let launch = Launch {
            app: Arc::clone(self),
            caller: caller.clone(),
            live: Arc::clone(live),
            asked,
            claim,
            turnstile,
            _counted: self.flights.probing(),
        };
        let (tell, told) = oneshot::channel();
        // Joined by `Flights::landed`, which the drain waits for.
        tokio::spawn(launch.run(tell).in_current_span());
        told.await.unwrap_or_else(|_| {
            Err(Fault::new(Reason::Internal, "the turn ended by a fault of this server; the log has more"))
        })
    }

    /// How long until a moment; none when it has come.
    pub(super) fn until(&self, at: Moment) -> Duration {
        Duration::from_millis(at.0.saturating_sub(self.clock.now().0))
    }
}

impl Launch {
    async fn run(self, tell: oneshot::Sender<Result<Accepted, Fault>>) {
        let Self { app, caller, live, asked, claim, turnstile, _counted } = self;
        let answered = match &claim {
            Claim::Initial(_) => None,
            Claim::Turn(answered) | Claim::Results { answered, .. } | Claim::Generated(answered) => {
                Some(answered.clone())
            }
        };
        let (run_id, refused) = (asked.run_id.clone(), asked.clone());
        let driven = Arc::new(Driven { app: Arc::clone(&app), live: Arc::clone(&live), claim });
        let asked = Turn { companion: Some(driven), on_disconnect: OnDisconnect::Finish, ..asked };
        let (starting, step) = live.starts(refused.on_disconnect);
        let claimed = claim_it(&app, &caller, &live, asked, &starting).await;
        let watcher = match claimed {
            Ok(watcher) => watcher,
            Err(fault) => {
                let result = match answered {
                    Some(answered) if consumes(&fault) => {
                        app.unprepared(&live, &refused, answered, run_id, fault).await
                    }
                    _ => Err(fault),
                };
                live.started();
                drop(turnstile);
                // Nobody may wait for it any more; what was decided is on record.
                drop(tell.send(result));
                return;
            }
        };
        live.flies(Arc::clone(watcher.flight()));
        live.started();
        drop(turnstile);
        let run_id = watcher.run_id().clone();
        let result = app.there(&live).map(|now| {
            let id = answered.as_ref().map_or("", |answered| answered.id.as_str());
            accepted(id, &now, Some(run_id.clone()))
        });
        drop(tell.send(result));
        mind(&app, &caller, &live, watcher, step).await;
    }
}

/// Starts the turn, and waits until its run is claimed.
async fn claim_it(
    app: &Arc<App>,
    caller: &Caller,
    live: &Arc<Live>,
    asked: Turn,
    starting: &CancellationToken,
) -> Result<Watcher, Fault> {
    let named = asked.run_id.clone();
    let starts = async {
        if live.ephemeral {
            let root = live.now().and_then(|now| now.start).filter(|id| live.made_one(*id).is_none());
            let made = live.made().into_iter().map(|bodies| (bodies.exchange, bodies.run)).collect();
            app.start_fleeting(caller.clone(), Before { root, made }, asked).await
        } else {
            app.start_turn(caller.clone(), asked).await
        }
    };
    let mut watcher = tokio::select! {
        watcher = starts => watcher?,
        () = starting.cancelled() => return Err(cancelled(&named.unwrap_or_else(|| RunId::new("")))),
    };
    live.takes_off(watcher.flight());
    let mut told = false;
    loop {
        tokio::select! {
            event = watcher.next() => match event {
                Some(Event::Claimed) => return Ok(watcher),
                Some(_) => {}
                None => {
                    let unclaimed = || Fault::new(Reason::Internal, "the turn ended before its run was claimed");
                    return Err(watcher.outcome().await.err().unwrap_or_else(unclaimed));
                }
            },
            // It may be claimed at the same moment; then it is cancelled like any turn at work.
            () = starting.cancelled(), if !told => {
                told = true;
                watcher.flight().cancel.cancel();
            }
        }
    }
}

/// Waits for the end of the step of this number, which its deadline may bring.
async fn mind(app: &Arc<App>, caller: &Caller, live: &Arc<Live>, mut watcher: Watcher, step: u64) {
    let mut deadline = app.there(live).ok().and_then(|now| now.terms.deadline);
    let outcome: Result<Arc<Outcome>, Fault> = loop {
        let passes = async {
            match deadline {
                Some(at) => tokio::time::sleep(app.until(at)).await,
                None => pending().await,
            }
        };
        tokio::select! {
            outcome = watcher.outcome() => break outcome,
            () = passes => {
                deadline = None;
                let message = format!("coordination `{}` was cancelled: its deadline passed", live.id);
                let fault = Fault::new(Reason::Deadline, message).with("coordination_id", &live.id);
                if let Err(fault) = app.cancel_with(live, None, fault).await {
                    tracing::warn!(coordination_id = %live.id, reason = fault.reason.word(), "coordination.deadline_failed");
                }
            }
        }
    };
    live.landed(watcher.flight());
    let Ok(now) = app.there(live) else { return };
    let run_id = watcher.run_id();
    match (&now.state, outcome) {
        // What came of it could not be kept. Where it was, the next step of the same run may be at work already.
        (State::TurnRunning(turn), outcome) if turn.run_id == *run_id && live.is_last(step) => {
            let unkept = || Fault::new(Reason::Internal, "the turn ended and its end was not kept; the log has more");
            live.breaks(outcome.err().unwrap_or_else(unkept));
        }
        (State::Ended(end), Ok(outcome))
            if matches!(end.outcome, Ended::Cancelled(_)) && outcome.run.state == RunState::PendingTools =>
        {
            // Its answer was complete before it could be cancelled, and waits for results that nobody will send.
            if let Err(fault) = app.cancel_run(caller, run_id).await {
                tracing::warn!(%run_id, reason = fault.reason.word(), "coordination.run_not_cancelled");
            }
        }
        _ => {}
    }
}

/// Whether a failure before the claim consumes the turn and ends the coordination (S4-64, S4-66): what was asked cannot be resolved or
/// rendered. Everything else is rejected, since another answer, or the same one later, may be taken.
fn consumes(fault: &Fault) -> bool {
    matches!(
        fault.reason,
        Reason::ProfileMissing
            | Reason::ProfileUnknown
            | Reason::PromptUnknown
            | Reason::PromptVariables
            | Reason::ContractUnknown
            | Reason::SchemaInvalid
            | Reason::BackendUnsupported
            | Reason::ResourceNotFound
    )
}
