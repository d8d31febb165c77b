//! Somebody with a conversation, who makes histories of each shape and then calls again and again. It must not know how calls are timed.

use super::work::Load;
use crate::grpc::pb;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::remote::Link;

/// Turns after which a caller of Continue begins anew: the whole history is sent each time, so a longer one costs more.
pub(super) const TURNS_OF_A_CONTINUE: u32 = 10;

/// Turns of one Record while a history is made.
const TURNS_OF_A_RECORD: u32 = 100;

/// Somebody with a conversation.
pub(super) struct Caller {
    client: ExchangeServiceClient<Link>,
    first: String,
    last: String,
    turns: u32,
    turn: pb::RecordRequest,
}

impl Caller {
    /// With a history of one turn.
    pub(super) async fn begin(
        mut client: ExchangeServiceClient<Link>,
        load: &Load,
        seed: u64,
    ) -> Result<Self, Failure> {
        let turn = load.turn(seed);
        let last = client.record(turn.clone()).await?.into_inner().exchange_id;
        Ok(Self { client, first: last.clone(), last, turns: 1, turn })
    }

    /// With so many turns.
    pub(super) async fn lengthened(mut self, turns: u32) -> Result<Self, Failure> {
        while self.turns < turns {
            let count = (turns - self.turns).min(TURNS_OF_A_RECORD);
            let messages = (0..count).flat_map(|_| self.turn.messages.clone()).collect();
            self.last = self.record_after(&self.last.clone(), messages).await?;
            self.turns += count;
        }
        Ok(self)
    }

    /// With so many turns, each of them the second one after the turn before it.
    pub(super) async fn turning(mut self, turns: u32) -> Result<Self, Failure> {
        while self.turns < turns {
            let before = self.last.clone();
            for nth in 0..2 {
                self.last = self.record_after(&before, self.numbered(nth)).await?;
            }
            self.turns += 1;
        }
        Ok(self)
    }

    /// With so many turns after the first.
    pub(super) async fn surrounded(mut self, width: u32) -> Result<Self, Failure> {
        for nth in 0..width {
            self.record_after(&self.first.clone(), self.numbered(nth)).await?;
        }
        self.turns = width;
        Ok(self)
    }

    /// The turn, told apart from others after the same exchange, which would be recognised.
    fn numbered(&self, nth: u32) -> Vec<pb::Message> {
        let mut messages = self.turn.messages.clone();
        let parts = messages.iter_mut().flat_map(|message| &mut message.parts);
        for part in parts {
            if let Some(pb::part::Kind::Text(text)) = &mut part.kind {
                text.text = format!("{nth} {}", text.text);
            }
        }
        messages
    }

    async fn record_after(&mut self, exchange: &str, messages: Vec<pb::Message>) -> Result<String, Failure> {
        let start = Some(pb::record_request::Start::AfterExchange(at(exchange)));
        let request = pb::RecordRequest { start, messages, ..pb::RecordRequest::default() };
        Ok(self.client.record(request).await?.into_inner().exchange_id)
    }

    /// A turn after the last.
    pub(super) async fn record(mut self) -> Result<Self, Failure> {
        self.last = self.record_after(&self.last.clone(), self.turn.messages.clone()).await?;
        Ok(self)
    }

    /// Another turn after the first.
    pub(super) async fn record_beside(mut self) -> Result<Self, Failure> {
        self.record_after(&self.first.clone(), self.numbered(self.turns)).await?;
        self.turns += 1;
        Ok(self)
    }

    /// A turn of the default profile after the last.
    pub(super) async fn go_on(mut self) -> Result<Self, Failure> {
        if self.turns == TURNS_OF_A_CONTINUE {
            self.last.clone_from(&self.first);
            self.turns = 1;
        }
        self.last = self.continued().await?;
        self.turns += 1;
        Ok(self)
    }

    /// A turn of the default profile after the same exchange each time.
    pub(super) async fn go_on_beside(mut self) -> Result<Self, Failure> {
        self.continued().await?;
        Ok(self)
    }

    async fn continued(&mut self) -> Result<String, Failure> {
        let messages = self.turn.messages.iter().take(1).cloned().collect();
        let request = pb::ExecutionRequest { messages, ..pb::ExecutionRequest::default() };
        let turn = pb::ContinueRequest {
            from: Some(pb::continue_request::From::Exchange(at(&self.last))),
            input: Some(pb::continue_request::Input::Request(request)),
        };
        let exchange = self.client.r#continue(turn).await?.into_inner().exchange;
        Ok(exchange.ok_or_else(|| Failure::incomplete("exchange"))?.exchange_id)
    }

    /// A thread at the last turn, with nothing on it.
    pub(super) async fn fork(mut self) -> Result<Self, Failure> {
        let source = Some(pb::fork_request::Source::Exchange(at(&self.last)));
        self.client.fork(pb::ForkRequest { source, ..pb::ForkRequest::default() }).await?;
        Ok(self)
    }

    /// The history, read whole.
    pub(super) async fn inspect(mut self) -> Result<Self, Failure> {
        let request =
            pb::StreamInspectRequest { exchange_id: self.last.clone(), ..pb::StreamInspectRequest::default() };
        let mut pages = self.client.stream_inspect(request).await?.into_inner();
        while pages.message().await?.is_some() {}
        Ok(self)
    }
}

/// A point to go on from.
pub(super) fn at(exchange: &str) -> pb::ExchangePoint {
    pb::ExchangePoint { exchange_id: exchange.to_owned() }
}
