//! What a server is asked to do while it is measured. It must not know how it is timed.

use std::time::Duration;

use tonic::transport::Channel;

use super::measure::{self, Figures};
use crate::grpc::pb;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A turn stored after the one before.
    Record,
    /// A turn of the default profile after the one before.
    Continue,
    /// A bare fork at the second turn.
    ForkEarly,
    /// A bare fork at the end of the long history.
    ForkLate,
    /// The long history, read whole.
    Inspect,
}

impl Work {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [Self::Record, Self::Continue, Self::ForkEarly, Self::ForkLate, Self::Inspect];

    /// How many call at once, in each of its measurements.
    pub(super) fn callers(self, many: usize) -> Vec<usize> {
        match self {
            Self::Record | Self::Continue if many > 1 => vec![1, many],
            _ => vec![1],
        }
    }

    /// For people.
    pub(super) fn words(self, load: &Load) -> String {
        match self {
            Self::Record => "Record of a turn after the last".to_owned(),
            Self::Continue => format!("Continue with the default profile, {TURNS_OF_A_CONTINUE} turns each"),
            Self::ForkEarly => "bare Fork at turn 2".to_owned(),
            Self::ForkLate => format!("bare Fork at turn {}", load.turns),
            Self::Inspect => format!("StreamInspect of {} turns", load.turns),
        }
    }

    /// Does it until the time is over.
    pub(super) async fn measure(self, remote: &Remote, callers: usize, load: &Load) -> Result<Figures, Failure> {
        let client = remote.exchanges();
        match self {
            Self::Record => {
                let mut starts = Vec::new();
                for caller in 0..callers {
                    starts.push(Caller::begin(client.clone(), load, caller as u64).await?);
                }
                measure::calls(starts, load.time, Caller::record).await
            }
            Self::Continue => {
                let mut starts = Vec::new();
                for caller in 0..callers {
                    starts.push(Caller::begin(client.clone(), load, caller as u64).await?);
                }
                measure::calls(starts, load.time, Caller::go_on).await
            }
            Self::ForkEarly | Self::ForkLate | Self::Inspect => {
                let turns = if self == Self::ForkEarly { 2 } else { load.turns };
                let mut caller = Caller::begin(client, load, 7).await?;
                for _ in 1..turns {
                    caller = caller.record().await?;
                }
                match self {
                    Self::Inspect => measure::calls(vec![caller], load.time, Caller::inspect).await,
                    _ => measure::calls(vec![caller], load.time, Caller::fork).await,
                }
            }
        }
    }
}

/// Turns after which a caller of Continue begins anew: the whole history is sent each time, so a longer one costs more.
const TURNS_OF_A_CONTINUE: u32 = 10;

/// Somebody with a conversation.
struct Caller {
    client: ExchangeServiceClient<Channel>,
    first: String,
    last: String,
    turns: u32,
    turn: pb::RecordRequest,
}

impl Caller {
    async fn begin(mut client: ExchangeServiceClient<Channel>, load: &Load, seed: u64) -> Result<Self, Failure> {
        let turn = load.turn(seed);
        let last = client.record(turn.clone()).await?.into_inner().exchange_id;
        Ok(Self { client, first: last.clone(), last, turns: 1, turn })
    }

    async fn record(mut self) -> Result<Self, Failure> {
        let point = pb::ExchangePoint { exchange_id: self.last };
        let request =
            pb::RecordRequest { start: Some(pb::record_request::Start::AfterExchange(point)), ..self.turn.clone() };
        self.last = self.client.record(request).await?.into_inner().exchange_id;
        Ok(self)
    }

    async fn go_on(mut self) -> Result<Self, Failure> {
        if self.turns == TURNS_OF_A_CONTINUE {
            self.last.clone_from(&self.first);
            self.turns = 1;
        }
        let point = pb::ExchangePoint { exchange_id: self.last };
        let messages = self.turn.messages.iter().take(1).cloned().collect();
        let request = pb::ExecutionRequest { messages, ..pb::ExecutionRequest::default() };
        let turn = pb::ContinueRequest {
            from: Some(pb::continue_request::From::Exchange(point)),
            input: Some(pb::continue_request::Input::Request(request)),
        };
        let exchange = self.client.r#continue(turn).await?.into_inner().exchange;
        self.last = exchange.ok_or_else(|| Failure::incomplete("exchange"))?.exchange_id;
        self.turns += 1;
        Ok(self)
    }

    async fn fork(mut self) -> Result<Self, Failure> {
        let point = pb::ExchangePoint { exchange_id: self.last.clone() };
        let source = Some(pb::fork_request::Source::Exchange(point));
        self.client.fork(pb::ForkRequest { source, ..pb::ForkRequest::default() }).await?;
        Ok(self)
    }

    async fn inspect(mut self) -> Result<Self, Failure> {
        let request =
            pb::StreamInspectRequest { exchange_id: self.last.clone(), ..pb::StreamInspectRequest::default() };
        let mut pages = self.client.stream_inspect(request).await?.into_inner();
        while pages.message().await?.is_some() {}
        Ok(self)
    }
}
