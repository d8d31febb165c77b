//! Somebody on the client's side of Coordinate, who decides again and again, or only attaches. It must not know how calls are timed.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use super::caller::{TURNS_OF_A_CONTINUE, at};
use super::work::Load;
use crate::grpc::pb;
use crate::grpc::pb::coordinate_request::Frame as Says;
use crate::grpc::pb::coordinate_response::Frame;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::remote::Link;
use crate::ops::cli::remote::{Remote, pages};

/// A stream that waits for a decision.
pub(super) struct Attached {
    says: mpsc::UnboundedSender<pb::CoordinateRequest>,
    told: Streaming<pb::CoordinateResponse>,
    id: String,
    /// Turns that may still be asked for.
    left: u32,
}

impl Attached {
    /// A new coordination after an exchange.
    pub(super) async fn start(
        client: &mut ExchangeServiceClient<Link>,
        exchange: &str,
        turns: u32,
    ) -> Result<Self, Failure> {
        let from = Some(pb::coordination_start::From::Exchange(at(exchange)));
        let start = pb::CoordinationStart { from, additional_turns: turns, ..pb::CoordinationStart::default() };
        Self::open(client, Says::Start(start)).await
    }

    /// One that is there.
    pub(super) async fn attach(client: &mut ExchangeServiceClient<Link>, id: &str) -> Result<Self, Failure> {
        let attach = pb::CoordinationAttach { coordination_id: id.to_owned(), ..pb::CoordinationAttach::default() };
        Self::open(client, Says::Attach(attach)).await
    }

    async fn open(client: &mut ExchangeServiceClient<Link>, first: Says) -> Result<Self, Failure> {
        let (says, frames) = mpsc::unbounded_channel();
        says.send(frame(first)).map_err(|error| Failure::broken(&error))?;
        let told = client.coordinate(UnboundedReceiverStream::new(frames)).await?.into_inner();
        let mut attached = Self { says, told, id: String::new(), left: 0 };
        attached.left = attached.asked().await?;
        Ok(attached)
    }

    /// Until a decision is asked for; how many turns are left.
    async fn asked(&mut self) -> Result<u32, Failure> {
        while let Some(told) = self.told.message().await? {
            match told.frame {
                Some(Frame::Started(started)) => self.id = started.coordination_id,
                Some(Frame::DecisionNeeded(needed)) => return Ok(needed.turns_remaining),
                Some(Frame::Rejected(rejected)) => {
                    let message = rejected.error.map(|error| error.message).unwrap_or_default();
                    return Err(Failure::broken(&format!("the server rejected an answer: {message}")));
                }
                Some(Frame::Ended(_) | Frame::Detached(_)) => break,
                _ => {}
            }
        }
        Err(Failure::incomplete("decision_needed"))
    }

    /// Lets go of it in good order; its id.
    async fn suspend(mut self) -> Result<String, Failure> {
        self.say(Says::Suspend(pb::CoordinationSuspend {}))?;
        while self.told.message().await?.is_some() {}
        Ok(self.id)
    }

    fn say(&self, says: Says) -> Result<(), Failure> {
        self.says.send(frame(says)).map_err(|error| Failure::broken(&error))
    }

    async fn decide(&mut self, messages: Vec<pb::Message>) -> Result<(), Failure> {
        let request = pb::ExecutionRequest { messages, ..pb::ExecutionRequest::default() };
        let turn = pb::NextTurn { input: Some(pb::next_turn::Input::Request(request)), ..pb::NextTurn::default() };
        let action = pb::NextAction { action: Some(pb::next_action::Action::Turn(turn)), ..pb::NextAction::default() };
        self.say(Says::NextAction(action))?;
        self.left = self.asked().await?;
        Ok(())
    }
}

fn frame(says: Says) -> pb::CoordinateRequest {
    pb::CoordinateRequest { frame: Some(says) }
}

/// Who decides again and again.
pub(super) struct Decider {
    client: ExchangeServiceClient<Link>,
    first: String,
    question: Vec<pb::Message>,
    stream: Attached,
}

impl Decider {
    /// In a coordination after a history of one turn.
    pub(super) async fn begin(
        mut client: ExchangeServiceClient<Link>,
        load: &Load,
        seed: u64,
    ) -> Result<Self, Failure> {
        let turn = load.turn(seed);
        let question = turn.messages.iter().take(1).cloned().collect();
        let first = client.record(turn).await?.into_inner().exchange_id;
        let stream = Attached::start(&mut client, &first, TURNS_OF_A_CONTINUE).await?;
        Ok(Self { client, first, question, stream })
    }

    /// From an answer to the next question. A coordination whose turns are used up is left for a new one, which is not timed.
    pub(super) async fn decide(mut self) -> Result<(Self, Duration), Failure> {
        if self.stream.left == 0 {
            self.stream = Attached::start(&mut self.client, &self.first, TURNS_OF_A_CONTINUE).await?;
        }
        let started = Instant::now();
        self.stream.decide(self.question.clone()).await?;
        Ok((self, started.elapsed()))
    }
}

/// Who attaches to one coordination after the other.
pub(super) struct Attacher {
    client: ExchangeServiceClient<Link>,
    ids: Vec<String>,
    next: usize,
}

impl Attacher {
    /// To so many that wait for a decision with nobody attached. Those that are there already are taken, so that it can be measured after the
    /// server was started again.
    pub(super) async fn begin(remote: &Remote, load: &Load) -> Result<Self, Failure> {
        let mut client = remote.exchanges();
        let mut ids = waiting(remote, load.deep).await?;
        let first = client.record(load.turn(0)).await?.into_inner().exchange_id;
        while ids.len() < load.deep as usize {
            ids.push(Attached::start(&mut client, &first, 1).await?.suspend().await?);
        }
        Ok(Self { client, ids, next: 0 })
    }

    /// From the attach to the decision that was pending. Letting go again is not timed.
    pub(super) async fn attach(mut self) -> Result<(Self, Duration), Failure> {
        let id = self.ids.get(self.next % self.ids.len().max(1)).ok_or_else(|| Failure::incomplete("coordination"))?;
        let started = Instant::now();
        let stream = Attached::attach(&mut self.client, id).await?;
        let took = started.elapsed();
        stream.suspend().await?;
        self.next += 1;
        Ok((self, took))
    }
}

/// Coordinations that wait for a decision with nobody attached, up to a limit.
async fn waiting(remote: &Remote, limit: u32) -> Result<Vec<String>, Failure> {
    let list = remote.coordinations();
    let (ids, _) = pages(limit, async |page_size, page_token| {
        let request = pb::CoordinationServiceListRequest {
            page_size,
            page_token,
            states: vec![pb::CoordinationState::AwaitingDecision.into()],
            attached: Some(false),
            ..pb::CoordinationServiceListRequest::default()
        };
        let page = list.clone().list(request).await?.into_inner();
        let ids = page.coordinations.into_iter().map(|coordination| coordination.coordination_id).collect();
        Ok((ids, page.next_page_token))
    })
    .await?;
    Ok(ids)
}
