//! What a server is asked to do while it is measured. It must not know how it is timed.

use std::time::Duration;

use super::caller::Caller;
use super::decider::{Attacher, Decider};
use super::measure::{self, Figures};
use crate::grpc::pb;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::remote::Remote;

/// How much of it.
pub(super) struct Load {
    /// How long.
    pub(super) time: Duration,
    /// Length of each message.
    pub(super) bytes: usize,
    /// Turns of the long history.
    pub(super) turns: u32,
    /// Turns of the very long one, and how many exchanges follow one where very many do.
    pub(super) deep: u32,
}

impl Load {
    /// Text that hardly compresses, another one for each seed.
    fn text(&self, seed: u64) -> String {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let alphabet: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['-', '_']).collect();
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let index = usize::try_from(state >> 58).unwrap_or_default();
            alphabet.get(index).copied().unwrap_or('x')
        };
        (0..self.bytes).map(|_| next()).collect()
    }

    /// One turn of two messages.
    pub(super) fn turn(&self, seed: u64) -> pb::RecordRequest {
        let said = |role: pb::Role, seed: u64| pb::Message {
            role: role.into(),
            parts: vec![pb::Part {
                kind: Some(pb::part::Kind::Text(pb::TextPart { text: self.text(seed) })),
                ..pb::Part::default()
            }],
        };
        let messages = vec![said(pb::Role::User, seed * 2), said(pb::Role::Assistant, seed * 2 + 1)];
        pb::RecordRequest { messages, ..pb::RecordRequest::default() }
    }
}

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Work {
    /// A turn stored after the one before.
    Record,
    /// The same at the end of the very long history.
    RecordLate,
    /// A turn stored after an exchange that very many follow.
    RecordStar,
    /// A turn of the default profile after the one before.
    Continue,
    /// A turn of the default profile after the long history.
    ContinueLate,
    /// The same where the long history forks at every turn.
    ContinueZigZag,
    /// A bare fork at the tenth turn.
    ForkEarly,
    /// A bare fork at the end of the long history.
    ForkLate,
    /// A bare fork at the end of the very long one.
    ForkDeep,
    /// The long history, read whole.
    Inspect,
    /// The same where it forks at every turn.
    InspectZigZag,
    /// From a decision in a coordination to the next one, a turn of the default profile between them.
    Decide,
    /// Attaching to one of very many coordinations that wait with nobody attached.
    Attach,
}

impl Work {
    /// All of them.
    pub(super) const ALL: [Self; 13] = [
        Self::Record,
        Self::RecordLate,
        Self::RecordStar,
        Self::Continue,
        Self::ContinueLate,
        Self::ContinueZigZag,
        Self::ForkEarly,
        Self::ForkLate,
        Self::ForkDeep,
        Self::Inspect,
        Self::InspectZigZag,
        Self::Decide,
        Self::Attach,
    ];

    /// How many call at once, in each of its measurements.
    pub(super) fn callers(self, many: usize) -> Vec<usize> {
        match self {
            Self::Record | Self::Continue | Self::Decide if many > 1 => vec![1, many],
            _ => vec![1],
        }
    }

    /// For people.
    pub(super) fn words(self, load: &Load) -> String {
        let Load { turns, deep, .. } = load;
        match self {
            Self::Record => "Record of a turn after the last".to_owned(),
            Self::RecordLate => format!("Record of a turn after {deep} turns"),
            Self::RecordStar => format!("Record of a turn beside {deep} others"),
            Self::Continue => {
                format!("Continue with the default profile, {} turns each", super::caller::TURNS_OF_A_CONTINUE)
            }
            Self::ContinueLate => format!("Continue at turn {turns}"),
            Self::ContinueZigZag => format!("Continue at turn {turns}, a fork at every turn"),
            Self::ForkEarly => "bare Fork at turn 10".to_owned(),
            Self::ForkLate => format!("bare Fork at turn {turns}"),
            Self::ForkDeep => format!("bare Fork at turn {deep}"),
            Self::Inspect => format!("StreamInspect of {turns} turns"),
            Self::InspectZigZag => format!("StreamInspect of {turns} turns, a fork at every turn"),
            Self::Decide => "Coordinate: from a decision to the next".to_owned(),
            Self::Attach => format!("Coordinate: attach to one of {deep} that wait"),
        }
    }

    /// Whether it leaves something on the disk.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Inspect | Self::InspectZigZag)
    }

    /// Makes what it starts from.
    pub(super) async fn begin(self, remote: &Remote, callers: usize, load: &Load) -> Result<Ready, Failure> {
        if self == Self::Attach {
            return Ok(Ready::Attacher(Box::new(Attacher::begin(remote, load).await?)));
        }
        let (mut calling, mut deciding) = (Vec::new(), Vec::new());
        for seed in 0..callers as u64 {
            let client = remote.exchanges();
            if self == Self::Decide {
                deciding.push(Decider::begin(client, load, seed).await?);
                continue;
            }
            let start = Caller::begin(client, load, seed).await?;
            calling.push(match self {
                Self::ForkEarly => start.lengthened(10).await?,
                Self::RecordLate | Self::ForkDeep => start.lengthened(load.deep).await?,
                Self::RecordStar => start.surrounded(load.deep).await?,
                Self::ContinueLate | Self::ForkLate | Self::Inspect => start.lengthened(load.turns).await?,
                Self::ContinueZigZag | Self::InspectZigZag => start.turning(load.turns).await?,
                Self::Record | Self::Continue | Self::Decide | Self::Attach => start,
            });
        }
        Ok(if self == Self::Decide { Ready::Deciders(deciding) } else { Ready::Callers(calling) })
    }

    /// Does it until the time is over.
    pub(super) async fn measure(self, ready: Ready, time: Duration) -> Result<Figures, Failure> {
        let callers = match ready {
            Ready::Deciders(deciders) => return measure::timed(deciders, time, Decider::decide).await,
            Ready::Attacher(attacher) => return measure::timed(vec![*attacher], time, Attacher::attach).await,
            Ready::Callers(callers) => callers,
        };
        match self {
            Self::RecordStar => measure::calls(callers, time, Caller::record_beside).await,
            Self::Continue => measure::calls(callers, time, Caller::go_on).await,
            Self::ContinueLate | Self::ContinueZigZag => measure::calls(callers, time, Caller::go_on_beside).await,
            Self::ForkEarly | Self::ForkLate | Self::ForkDeep => measure::calls(callers, time, Caller::fork).await,
            Self::Inspect | Self::InspectZigZag => measure::calls(callers, time, Caller::inspect).await,
            Self::Record | Self::RecordLate | Self::Decide | Self::Attach => {
                measure::calls(callers, time, Caller::record).await
            }
        }
    }
}

/// Who does the work, with what it starts from made.
pub(super) enum Ready {
    /// Unary calls and streams of answers.
    Callers(Vec<Caller>),
    /// Decisions.
    Deciders(Vec<Decider>),
    /// Attaching.
    Attacher(Box<Attacher>),
}
