//! Prepared executions: exactly what was shown, for one run, until it expires. It must not know how one is made or executed.

use std::collections::BTreeMap;

use super::coordination::Planned;
use super::id::{ExchangeId, Hash, Moment, PreparedId, RunId, ThreadId};
use super::run::OnDisconnect;
use super::thread::{OnBusy, Unanswered};

/// One prepared execution. It has no credential: the call that executes it brings that.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Its id.
    pub id: PreparedId,
    /// The id of the run that executes it, unless that call names another.
    pub run_id: Option<RunId>,
    /// Where its turn starts.
    pub from: From,
    /// The exchange whose answer is before its messages.
    pub parent: Option<ExchangeId>,
    /// Its execution is captured.
    pub capture: bool,
    /// Labels of its run.
    pub labels: BTreeMap<String, String>,
    /// What happens when the last caller that waits goes away.
    pub on_disconnect: OnDisconnect,
    /// What it was resolved to.
    pub plan: Planned,
    /// Hash of its backend's configuration.
    pub backend: Hash,
    /// Hash of the body that was shown.
    pub body: Hash,
    /// The run that executed it.
    pub used_by: Option<RunId>,
    /// When it was made.
    pub created_at: Moment,
    /// Until when it can be executed.
    pub expires_at: Moment,
}

/// Where a prepared turn starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// At a root.
    Root,
    /// After an exchange; no head moves.
    Exchange(ExchangeId),
    /// At the head of a thread, which moves.
    Thread(ThreadThen),
}

/// A thread as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadThen {
    /// Its id.
    pub id: ThreadId,
    /// Its head.
    pub head: Option<ExchangeId>,
    /// What to do when another run is at work.
    pub on_busy: OnBusy,
    /// What to do with calls that have no results.
    pub unanswered: Unanswered,
}

impl Prepared {
    /// It can no longer be executed.
    pub fn is_expired(&self, now: Moment) -> bool {
        self.expires_at <= now
    }
}
