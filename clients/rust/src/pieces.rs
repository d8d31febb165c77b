//! Which pieces of an answer are new, over connections that break and calls to the model that take the place of others. Knows nothing of calls.

use crate::exchange::{Delta, anew};
use crate::pb;

/// How much came of each kind of piece, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Amounts {
    text: usize,
    reasoning: usize,
    tool_call: usize,
    refusal: usize,
}

/// What was told of one answer. A connection that is made again tells it from the beginning, every call to the model included.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    begun: bool,
    /// The number of the call to the model that was told of last.
    attempt: u32,
    told: Amounts,
    /// The call that this connection tells of, 0 before it told of any.
    at: u32,
    /// What this connection told of that call.
    seen: Amounts,
}

impl Pieces {
    /// Whether a piece was told.
    pub(crate) fn begun(&self) -> bool {
        self.begun
    }

    /// A connection tells from the beginning what comes.
    pub(crate) fn connected(&mut self) {
        (self.at, self.seen) = (0, Amounts::default());
        if !self.begun {
            // It may be another attempt of the run, whose calls are counted from 1 again.
            self.attempt = 0;
        }
    }

    /// What of it was not told yet.
    pub(crate) fn untold(&mut self, progress: pb::Progress) -> Option<Delta> {
        match progress.event? {
            pb::progress::Event::AttemptStarted(started) => self.started(&started),
            pb::progress::Event::Delta(delta) => self.more(Delta::from_raw(Some(delta))?),
            _ => None,
        }
    }

    /// What of the answer's text no piece told, as with the stored result of an earlier call.
    pub(crate) fn rest(&mut self, whole: &str) -> Option<Delta> {
        let rest = whole.get(self.told.text..).unwrap_or_default();
        self.told.text = whole.len();
        (!rest.is_empty()).then(|| Delta::Text(rest.to_owned()))
    }

    fn started(&mut self, started: &pb::AttemptStarted) -> Option<Delta> {
        self.at = started.number;
        let again = anew(started);
        if again {
            self.seen = Amounts::default();
        }
        if started.number <= self.attempt {
            return None;
        }
        self.attempt = started.number;
        if !again || self.told == Amounts::default() {
            return None;
        }
        self.told = Amounts::default();
        Some(Delta::Attempt)
    }

    fn more(&mut self, delta: Delta) -> Option<Delta> {
        if 0 < self.at && self.at < self.attempt {
            // It was given up before the connection broke.
            return None;
        }
        let (told, seen) = (&mut self.told, &mut self.seen);
        let (mut text, told, seen, kind): (_, _, _, fn(String) -> Delta) = match delta {
            Delta::Text(text) => (text, &mut told.text, &mut seen.text, Delta::Text),
            Delta::Reasoning(text) => (text, &mut told.reasoning, &mut seen.reasoning, Delta::Reasoning),
            Delta::ToolCall(text) => (text, &mut told.tool_call, &mut seen.tool_call, Delta::ToolCall),
            Delta::Refusal(text) => (text, &mut told.refusal, &mut seen.refusal, Delta::Refusal),
            Delta::Attempt => return Some(Delta::Attempt),
        };
        let known = told.saturating_sub(*seen).min(text.len());
        *seen += text.len();
        *told = (*told).max(*seen);
        self.begun = true;
        let rest = text.split_off(if text.is_char_boundary(known) { known } else { 0 });
        (!rest.is_empty()).then(|| kind(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::AttemptKind;

    fn attempt(number: u32, kind: AttemptKind) -> pb::Progress {
        let started = pb::AttemptStarted { number, kind: kind.to_raw(), ..pb::AttemptStarted::default() };
        pb::Progress { event: Some(pb::progress::Event::AttemptStarted(started)) }
    }

    fn text(text: &str) -> pb::Progress {
        let delta = pb::Delta { delta: Some(pb::delta::Delta::Text(pb::TextDelta { text: text.to_owned() })) };
        pb::Progress { event: Some(pb::progress::Event::Delta(delta)) }
    }

    fn said(text: &str) -> Delta {
        Delta::Text(text.to_owned())
    }

    /// The calls to the model that were given up are told again, too, and are not taken for the last.
    #[test]
    fn a_connection_that_is_made_again_tells_nothing_twice() {
        let heard = || {
            let (first, again) = (attempt(1, AttemptKind::First), attempt(2, AttemptKind::Repair));
            vec![first, text("a long answer"), again, text("sho")]
        };
        let mut pieces = Pieces::default();
        pieces.connected();
        let told: Vec<_> = heard().into_iter().filter_map(|piece| pieces.untold(piece)).collect();
        assert_eq!(told, [said("a long answer"), Delta::Attempt, said("sho")]);
        pieces.connected();
        let again = heard().into_iter().chain([text("rt")]);
        assert_eq!(again.filter_map(|piece| pieces.untold(piece)).collect::<Vec<_>>(), [said("rt")]);
        assert_eq!((pieces.rest("short"), pieces.rest("short.")), (None, Some(said("."))));
    }

    #[test]
    fn another_attempt_of_a_run_counts_from_one_again() {
        let mut pieces = Pieces::default();
        pieces.connected();
        for number in 1..=3 {
            assert_eq!(pieces.untold(attempt(number, AttemptKind::Retry)), None);
        }
        pieces.connected();
        assert_eq!(pieces.untold(attempt(1, AttemptKind::First)), None);
        assert_eq!((pieces.untold(text("here")), pieces.begun()), (Some(said("here")), true));
    }

    #[test]
    fn pieces_of_a_kind_that_is_not_known_are_passed_over() {
        let odd = pb::progress::Event::Delta(pb::Delta::default());
        assert_eq!(Pieces::default().untold(pb::Progress { event: Some(odd) }), None);
    }
}
