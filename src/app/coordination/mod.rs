//! Coordinations: the verbs that drive one branch turn by turn as the caller decides. The rules are the machine's in the domain; here each
//! transition is kept before it is told, together with what it is about. It must not know streams of gRPC or which store there is.

mod answer;
pub mod ask;
mod begin;
mod companion;
mod frame;
mod generation;
mod launch;
mod live;
mod lives;
mod stream;
pub mod told;
mod transition;

use std::collections::BTreeMap;

use crate::domain::coordination::Coordination;
use crate::domain::id::{Moment, ThreadId};

pub(super) use lives::Lives;
pub use stream::{Stream, Voice};
use told::{Ended, Pending, View};

/// A coordination with what it waits for, and how it ended.
#[derive(Clone)]
pub struct Whole {
    /// As callers see it.
    pub view: View,
    /// What it waits for.
    pub pending: Option<Pending>,
    /// How it ended.
    pub ended: Option<Ended>,
}

/// Which coordinations to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// In one of these states, each by its word in the API; any when there are none.
    pub states: Vec<&'static str>,
    /// With a stream, or without one.
    pub attached: Option<bool>,
    /// Whose state has not changed since.
    pub state_before: Option<Moment>,
    /// Started then or later.
    pub created_from: Option<Moment>,
    /// Started before.
    pub created_before: Option<Moment>,
    /// That follow this thread.
    pub thread: Option<ThreadId>,
    /// With all these labels.
    pub labels: BTreeMap<String, String>,
}

impl Filter {
    /// Whether a coordination is one of them.
    pub fn takes(&self, view: &View) -> bool {
        let Coordination { state, state_at, created_at, thread, labels, .. } = &view.coordination;
        (self.states.is_empty() || self.states.contains(&state.word()))
            && self.attached.is_none_or(|attached| attached == view.attached)
            && self.state_before.is_none_or(|before| *state_at < before)
            && self.created_from.is_none_or(|from| *created_at >= from)
            && self.created_before.is_none_or(|before| *created_at < before)
            && self.thread.as_ref().is_none_or(|asked| thread.as_ref() == Some(asked))
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}
