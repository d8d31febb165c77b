//! Repeated ids: what a run that is on record answers to the call that made it (rule 7). It must not execute anything.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Hash, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::run::{Run, State};
use crate::store::ledger::Token;

use super::turn::{Detailed, Outcome, Turn, Uncaptured};
use super::{App, store_fault};

/// What is on record under the id of a turn.
pub(super) enum Stored {
    /// Nothing: the id is free.
    Nothing,
    /// What the same call brought before.
    Outcome(Box<Outcome>),
    /// The run waits for exactly these results, or may be opened again.
    Open(Box<Run>, Token),
}

impl App {
    /// Looks up what is on record under the id of a turn. `calling` is the exchange whose calls it answers, when it goes on with a run.
    pub(super) async fn look_up(
        &self,
        namespace: &Namespace,
        run_id: &RunId,
        turn: &Turn,
        calling: Option<ExchangeId>,
    ) -> Result<Stored, Fault> {
        let Some((run, token)) = self.ledger.run(namespace, run_id).await.map_err(store_fault)? else {
            return Ok(Stored::Nothing);
        };
        // This call leads the run, so nobody in this process is at work on it.
        let run = self.settled(run);
        match calling {
            None => self.look_up_run(namespace, run, token, turn).await,
            Some(calling) => self.look_up_step(namespace, run, token, turn, calling).await,
        }
    }

    async fn look_up_run(&self, namespace: &Namespace, run: Run, token: Token, turn: &Turn) -> Result<Stored, Fault> {
        if run.fingerprint != turn.fingerprint {
            return Err(conflict(&run.id, turn.fingerprint, run.fingerprint));
        }
        match run.state {
            State::PendingTools | State::Completed => {
                Ok(Stored::Outcome(Box::new(self.stored(namespace, run, None).await?)))
            }
            State::Failed | State::Cancelled | State::Interrupted if turn.retry => {
                Ok(Stored::Open(Box::new(run), token))
            }
            State::Failed | State::Cancelled | State::Interrupted => Err(recorded(&run)),
            State::Running if run.is_clients() => Err(conflict(&run.id, turn.fingerprint, run.fingerprint)),
            State::Queued | State::Running => Err(Fault::new(Reason::Internal, "a run at work is not in flight")),
        }
    }

    pub(super) async fn look_up_step(
        &self,
        namespace: &Namespace,
        run: Run,
        token: Token,
        turn: &Turn,
        calling: ExchangeId,
    ) -> Result<Stored, Fault> {
        match run.steps.iter().find(|step| step.calling == calling) {
            Some(step) if step.fingerprint != turn.fingerprint => {
                Err(conflict(&run.id, turn.fingerprint, step.fingerprint))
            }
            Some(step) => match step.exchange {
                Some(exchange) => Ok(Stored::Outcome(Box::new(self.stored(namespace, run, Some(exchange)).await?))),
                None if turn.retry => Ok(Stored::Open(Box::new(run), token)),
                None => Err(recorded(&run)),
            },
            None if run.state == State::PendingTools && run.exchange == Some(calling) => {
                Ok(Stored::Open(Box::new(run), token))
            }
            None => {
                let message = format!("run `{}` no longer waits for the results of exchange {calling}", run.id);
                Err(Fault::new(Reason::NoPendingToolCalls, message).with("exchange_id", calling))
            }
        }
    }

    /// A run as it is, when it is not in flight: one that was at work was interrupted.
    pub(super) fn settled(&self, run: Run) -> Run {
        if run.state != State::Running || run.is_clients() {
            return run;
        }
        let failure = interrupted(&run.id);
        let left_at = run.updated_at;
        Run { failure: Some(failure), ..run.moved_to(State::Interrupted, left_at) }
    }

    /// What a run on record brought, at one of its exchanges or its last.
    pub(super) async fn stored(
        &self,
        namespace: &Namespace,
        run: Run,
        exchange: Option<ExchangeId>,
    ) -> Result<Outcome, Fault> {
        let thread = match &run.thread_id {
            Some(id) => self.thread_state(namespace, id).await?,
            None => None,
        };
        if !run.captured {
            let Some(answer) = self.remembered.get(namespace, &run.id) else {
                let message = format!(
                    "the result of run `{}` was not captured and is no longer kept: ask again under another id",
                    run.id
                );
                return Err(Fault::new(Reason::ResultNotKept, message)
                    .with("run_id", &run.id)
                    .with("run_state", run.state.word()));
            };
            return Ok(Outcome { run, exchange: None, thread, answer: Some(answer), replayed: true });
        }
        let exchange = match exchange.or(run.exchange) {
            Some(id) => Some(self.detailed(namespace, self.parent(namespace, id).await?.exchange).await?),
            None => None,
        };
        Ok(Outcome { run, exchange, thread, answer: None, replayed: true })
    }

    /// An exchange with its tools.
    pub(super) async fn detailed(&self, namespace: &Namespace, exchange: Exchange) -> Result<Detailed, Fault> {
        let offered = self.ledger.tool_set(namespace, exchange.offered).await.map_err(store_fault)?;
        let standing = if exchange.standing == exchange.offered {
            offered.clone()
        } else {
            self.ledger.tool_set(namespace, exchange.standing).await.map_err(store_fault)?
        };
        Ok(Detailed { exchange, offered, standing })
    }
}

/// The id was used with another request.
pub(super) fn conflict(run_id: &RunId, asked: Hash, stored: Hash) -> Fault {
    let message =
        format!("run id `{run_id}` was used with another request: repeat that one unchanged, or take a new id");
    Fault::new(Reason::RunIdConflict, message)
        .with("run_id", run_id)
        .with("fingerprint", asked)
        .with("stored_fingerprint", stored)
}

/// Why a run that did not complete did not, once more.
fn recorded(run: &Run) -> Fault {
    let fault = run.failure.clone().unwrap_or_else(|| Fault::new(Reason::Internal, "the run has no recorded reason"));
    // What helped then need not help now: only `retry` runs it again.
    Fault { retry_after_ms: None, ..fault }
        .with("run_id", &run.id)
        .with("run_state", run.state.word())
        .with("replayed", "true")
}

/// The server stopped while a run was at work.
pub(super) fn interrupted(run_id: &RunId) -> Fault {
    let message = format!(
        "the server stopped while run `{run_id}` was at work, and it is not run again unasked: repeat the call with `retry`"
    );
    Fault::new(Reason::RunInterrupted, message).with("run_id", run_id)
}

/// Results of uncaptured runs, for repeated calls; the oldest go first.
pub(super) struct Cache {
    max_results: usize,
    max_bytes: usize,
    state: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    results: HashMap<(Namespace, RunId), Uncaptured>,
    order: VecDeque<((Namespace, RunId), usize)>,
    bytes: usize,
}

impl Cache {
    /// For at most so many results, and so many bytes of their messages.
    pub(super) fn new(max_results: usize, max_bytes: usize) -> Self {
        Self { max_results, max_bytes, state: Mutex::default() }
    }

    /// Keeps a result.
    pub(super) fn put(&self, namespace: &Namespace, run_id: &RunId, result: Uncaptured) {
        let bytes = result.rendered.iter().chain([&result.assistant]).map(Message::content_bytes).sum();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (namespace.clone(), run_id.clone());
        // A run that was opened again under its id brings a newer result.
        if state.results.insert(key.clone(), result).is_none() {
            state.order.push_back((key, bytes));
            state.bytes += bytes;
        }
        while state.order.len() > self.max_results || state.bytes > self.max_bytes {
            let Some((oldest, bytes)) = state.order.pop_front() else { break };
            state.results.remove(&oldest);
            state.bytes -= bytes;
        }
    }

    /// Forgets a result.
    pub(super) fn forget(&self, namespace: &Namespace, run_id: &RunId) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (namespace.clone(), run_id.clone());
        state.results.remove(&key);
        if let Some(at) = state.order.iter().position(|(kept, _)| *kept == key)
            && let Some((_, bytes)) = state.order.remove(at)
        {
            state.bytes -= bytes;
        }
    }

    /// How many results are kept, and the bytes of their messages.
    pub(super) fn kept(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.order.len(), state.bytes)
    }

    /// A result that is kept.
    pub(super) fn get(&self, namespace: &Namespace, run_id: &RunId) -> Option<Uncaptured> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.results.get(&(namespace.clone(), run_id.clone())).cloned()
    }
}
