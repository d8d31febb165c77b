//! The circuit of a backend: one that fails again and again is left alone for a while, then tried once. It must not know how calls are made.
//!
//! | state | what happens | then |
//! | --- | --- | --- |
//! | closed | the provider answers, be it with a refusal | closed, nothing counted |
//! | closed | it fails, and had failed less often before | closed, one more counted |
//! | closed | it fails for the last time that is allowed | open |
//! | open | a call asks before the time is over | refused |
//! | open | a call asks after it | trial: the call goes out |
//! | trial | another call asks | refused |
//! | trial | the provider answers | closed, nothing counted |
//! | trial | it fails | open |
//! | trial | the call ends without saying anything of the provider | open, its time over |

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::backend::{self, FailureKind};

/// The circuit of one backend.
#[derive(Debug)]
pub(crate) struct Circuit {
    backend_id: String,
    config: backend::Circuit,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Calls go out; so many attempts in a row have failed.
    Closed(u32),
    /// None goes out before this moment.
    Open(Instant),
    /// One is out, and decides.
    Trial,
}

/// What an attempt says of its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// It answered.
    Answered,
    /// It failed.
    Failed,
    /// Nothing.
    Nothing,
}

/// One attempt that may go out. Dropped without a word, it says nothing of the provider.
#[must_use]
pub(crate) struct Pass<'a> {
    circuit: &'a Circuit,
    is_trial: bool,
    sign: Sign,
}

impl Circuit {
    pub(crate) fn new(backend_id: &str, config: backend::Circuit) -> Self {
        Self { backend_id: backend_id.to_owned(), config, state: Mutex::new(State::Closed(0)) }
    }

    /// How long the backend is left alone yet; absent when a call may go out.
    pub(crate) fn left(&self) -> Option<Duration> {
        match *self.state() {
            State::Closed(_) => None,
            State::Open(until) => Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero()),
            // When it ends nobody knows; that it soon opens again is as likely as not.
            State::Trial => Some(Duration::from_millis(self.config.open_ms.min(1_000))),
        }
    }

    /// Leave for an attempt; absent while the backend is left alone.
    pub(crate) fn pass(&self) -> Option<Pass<'_>> {
        let mut state = self.state();
        let is_trial = match *state {
            State::Closed(_) => false,
            State::Open(until) if until <= Instant::now() => {
                *state = State::Trial;
                true
            }
            State::Open(_) | State::Trial => return None,
        };
        Some(Pass { circuit: self, is_trial, sign: Sign::Nothing })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, is_trial: bool, sign: Sign) {
        if self.config.failures == 0 {
            return;
        }
        let mut state = self.state();
        let before = *state;
        // An attempt that began before the circuit opened has no say any more.
        let counted = match (before, is_trial) {
            (State::Closed(counted), false) => counted,
            (State::Trial, true) => self.config.failures,
            _ => return,
        };
        let now = Instant::now();
        *state = match sign {
            Sign::Answered => State::Closed(0),
            Sign::Failed if counted.saturating_add(1) >= self.config.failures => {
                State::Open(now + Duration::from_millis(self.config.open_ms))
            }
            Sign::Failed => State::Closed(counted.saturating_add(1)),
            Sign::Nothing if is_trial => State::Open(now),
            Sign::Nothing => before,
        };
        match (before, *state) {
            (State::Closed(_), State::Open(_)) => tracing::warn!(backend_id = %self.backend_id, "circuit.opened"),
            (State::Trial, State::Closed(_)) => tracing::info!(backend_id = %self.backend_id, "circuit.closed"),
            _ => {}
        }
    }
}

impl Pass<'_> {
    /// The provider answered.
    pub(crate) fn answered(mut self) {
        self.sign = Sign::Answered;
    }

    /// The attempt failed in this way.
    pub(crate) fn failed(mut self, kind: &FailureKind) {
        self.sign = match kind {
            FailureKind::Unavailable | FailureKind::BadAnswer | FailureKind::Timeout(_) => Sign::Failed,
            FailureKind::CredentialRefused(_)
            | FailureKind::Refused
            | FailureKind::ContextOverflow
            | FailureKind::RateLimited => Sign::Answered,
            FailureKind::CredentialMissing | FailureKind::Unsupported(_) => Sign::Nothing,
        };
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.circuit.settle(self.is_trial, self.sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::Timeout;

    fn circuit(failures: u32) -> Circuit {
        Circuit::new("b", backend::Circuit { failures, open_ms: 1_000 })
    }

    fn fail(circuit: &Circuit) {
        circuit.pass().unwrap().failed(&FailureKind::Unavailable);
    }

    async fn wait(ms: u64) {
        tokio::time::advance(Duration::from_millis(ms)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_so_many_failures_in_a_row_and_no_others() {
        let circuit = circuit(3);
        fail(&circuit);
        fail(&circuit);
        circuit.pass().unwrap().failed(&FailureKind::RateLimited);
        fail(&circuit);
        circuit.pass().unwrap().failed(&FailureKind::Timeout(Timeout::FirstByte));
        drop(circuit.pass());
        assert_eq!(circuit.left(), None, "a refusal is an answer, and a call that was given up says nothing");
        fail(&circuit);
        assert!(circuit.pass().is_none());
        assert_eq!(circuit.left(), Some(Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_trial_decides() {
        let circuit = circuit(1);
        fail(&circuit);
        wait(1_000).await;
        let trial = circuit.pass().unwrap();
        assert!(circuit.pass().is_none() && circuit.left().is_some(), "one at a time");
        trial.failed(&FailureKind::BadAnswer);
        assert_eq!(circuit.left(), Some(Duration::from_secs(1)));
        wait(1_000).await;
        circuit.pass().unwrap().answered();
        assert_eq!(circuit.left(), None);
        assert!(circuit.pass().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_is_given_up_makes_room_for_another() {
        let circuit = circuit(1);
        fail(&circuit);
        wait(1_000).await;
        drop(circuit.pass());
        assert_eq!(circuit.left(), None);
        circuit.pass().unwrap().answered();
        assert_eq!(*circuit.state(), State::Closed(0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_went_out_before_it_opened_has_no_say() {
        let circuit = circuit(1);
        let (late, later) = (circuit.pass().unwrap(), circuit.pass().unwrap());
        fail(&circuit);
        wait(500).await;
        late.answered();
        later.failed(&FailureKind::Unavailable);
        assert_eq!(circuit.left(), Some(Duration::from_millis(500)));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_number_it_never_opens() {
        let circuit = circuit(0);
        (0..100).for_each(|_| fail(&circuit));
        assert_eq!(circuit.left(), None);
    }
}
