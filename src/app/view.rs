//! The history before a turn as it is read and as it is sent: bounded, and cut down where the request has a view. It must not know what the
//! turn brings, nor change what is stored.

use std::sync::Arc;

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::{Moment, Namespace};
use crate::domain::message::Message;
use crate::domain::settings::Warning;
use crate::domain::view::{Cut, Error, View, Viewed, view};
use crate::engine::Plan;

use super::base::Parent;
use super::{App, store_fault};

impl App {
    /// The whole path that ends with an exchange.
    pub(super) async fn path_of(&self, namespace: &Namespace, parent: &Parent) -> Result<Vec<Arc<Exchange>>, Fault> {
        let max = self.limits.max_history_exchanges;
        if parent.exchange.depth >= max {
            let message = format!(
                "the history has {} exchanges, the limit is {max}: start a new one with a summary",
                parent.exchange.depth
            );
            return Err(Fault::new(Reason::LimitExceeded, message)
                .with("limit", "max_history_exchanges")
                .with("max", max)
                .with("value", parent.exchange.depth));
        }
        match parent.place {
            Some(place) => self.bounded_path(namespace, place).await,
            None => self.bounded_prefix(&parent.exchange),
        }
    }

    async fn bounded_path(&self, namespace: &Namespace, place: Place) -> Result<Vec<Arc<Exchange>>, Fault> {
        let path = self.ledger.path(namespace, place).await.map_err(store_fault)?;
        let max = self.limits.max_history_bytes;
        let read = self.ledger.history_within(namespace, &path, max).await.map_err(store_fault)?;
        read.map_err(|bytes| too_long(max, bytes))
    }

    /// What is not stored yet is measured by what it says.
    fn bounded_prefix(&self, exchange: &Exchange) -> Result<Vec<Arc<Exchange>>, Fault> {
        let max = self.limits.max_history_bytes;
        let bytes = exchange.messages.iter().chain([&exchange.assistant]).map(Message::content_bytes).sum();
        if bytes > max { Err(too_long(max, bytes)) } else { Ok(vec![Arc::new(exchange.clone())]) }
    }
}

/// A history of so many bytes or more: what comes after them was not looked at.
fn too_long(max: usize, bytes: usize) -> Fault {
    let message =
        format!("the history has {bytes} bytes or more: at most {max} are read; start a new one with a summary");
    Fault::new(Reason::LimitExceeded, message).with("limit", "max_history_bytes").with("max", max).with("value", bytes)
}

/// The messages before a plan's own, as its view shows them. What is left out is told in the plan.
///
/// # Errors
/// When the view names an exchange that no turn of the path begins with.
pub(super) fn apply(plan: &mut Plan, path: &[Arc<Exchange>]) -> Result<Vec<Message>, Fault> {
    let Viewed { messages, cut, erased } = viewed(path, plan.history_view)?;
    if let Some(cut) = cut {
        plan.narrowed = true;
        plan.warnings.push(narrowed(cut));
    }
    if erased > 0 {
        plan.warnings.push(erased_from(erased, path.len()));
    }
    Ok(messages)
}

/// The part of a path that a view shows.
///
/// # Errors
/// When the view names an exchange that no turn of the path begins with.
pub(super) fn viewed(path: &[Arc<Exchange>], asked: Option<View>) -> Result<Viewed, Fault> {
    view(path, asked).map_err(|error| {
        let what = match error {
            Error::NotOnPath => {
                "is not in the history that this turn goes on from: name one of its exchanges".to_owned()
            }
            Error::InsideTurn(first) => {
                format!("is in the middle of a turn: name {first}, with which that turn begins")
            }
        };
        Fault::field("request.history_view.from_exchange.exchange_id", what)
    })
}

/// Why what was sent after a path, or prepared to be, at a moment comes out otherwise, where it has a gap since then.
pub(super) fn erased_since(path: &[Arc<Exchange>], moment: Moment) -> Option<String> {
    let since = |exchange: &&Arc<Exchange>| exchange.erased.as_ref().is_some_and(|erased| erased.at >= moment);
    let count = path.iter().filter(since).count();
    (count > 0).then(|| format!("{count} of the {} exchanges of the history before it were erased since", path.len()))
}

fn narrowed(cut: Cut) -> Warning {
    let message = format!(
        "as `history_view` asks, {} of {} turns were not sent, {} of {} messages; what is stored is the whole history",
        cut.turns, cut.of_turns, cut.messages, cut.of_messages
    );
    Warning { code: "history_narrowed".to_owned(), message }
}

fn erased_from(erased: usize, of: usize) -> Warning {
    let message = format!("{erased} of the {of} exchanges of the history were erased: nothing of them was sent");
    Warning { code: "history_erased".to_owned(), message }
}
