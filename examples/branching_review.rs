//! A review of branches: from one exchange several coordinations go their own way at the same time, a reviewer compares where each has come to,
//! keeps the one it likes under a name, and lets the others go. No history is put together here and no turn is minded: each branch is a stream.
//!
//!     antiphon serve --ephemeral --config examples/scripted.toml
//!     cargo run --example branching_review -- http://127.0.0.1:7373

use std::error::Error;
use std::io::{self, Write};

use antiphon::grpc::pb::coordinate_request::Frame as Say;
use antiphon::grpc::pb::coordinate_response::Frame as Told;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::grpc::pb::thread_service_client::ThreadServiceClient;
use antiphon::grpc::pb::{self, capture_request, coordination_start, next_action, next_turn};
use futures::future::try_join_all;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

/// What is tried, each on a branch of its own.
const DIRECTIONS: [&str; 3] = ["Make it warmer.", "Make it shorter.", "Make it funnier."];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:7373".to_owned());
    run(&server, &mut io::stdout()).await
}

/// Reviews at a server and tells what happens.
pub(crate) async fn run(server: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let channel = Channel::from_shared(server.to_owned())?.connect().await?;
    let mut exchanges = ExchangeServiceClient::new(channel.clone());
    let draft = pb::CaptureRequest {
        execution: Some(capture_request::Execution::Request(asks("Draft a postcard from Lisbon."))),
        thread: None,
    };
    let draft = exchanges.capture(draft).await?.into_inner().exchange.unwrap_or_default();
    writeln!(out, "draft: {}", draft.text)?;

    let open = DIRECTIONS.iter().map(|direction| Branch::open(exchanges.clone(), &draft.exchange_id, direction));
    let mut branches = try_join_all(open).await?;
    for branch in &branches {
        writeln!(out, "{} {}", branch.direction, branch.text)?;
    }

    // This reviewer likes it short. All branches wait for it as long as it takes.
    let liked = branches.iter().enumerate().min_by_key(|(_, branch)| branch.text.len()).map(|(index, _)| index);
    let liked = branches.swap_remove(liked.ok_or("there are no branches")?);
    try_join_all(branches.into_iter().map(|branch| branch.end(Say::Cancel(pb::CoordinationCancel::default())))).await?;
    let (direction, exchange_id) = (liked.direction, liked.exchange_id.clone());
    let stop = next_action::Action::Stop(pb::StopAction {});
    liked.end(Say::NextAction(pb::NextAction { decision_id: String::new(), action: Some(stop) })).await?;

    // What is kept gets a name; the other branches stay on record without one.
    let named = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { name: "postcard".to_owned(), ..Default::default() }),
        head: Some(pb::ExchangePoint { exchange_id }),
        ..Default::default()
    };
    let thread = ThreadServiceClient::new(channel).create(named).await?.into_inner().thread.unwrap_or_default();
    writeln!(out, "kept: {direction} It is the head of the thread {}, at turn {}", thread.name, thread.turn_count)?;
    Ok(())
}

/// A coordination that waits for a decision.
struct Branch {
    direction: &'static str,
    say: UnboundedSender<pb::CoordinateRequest>,
    frames: Streaming<pb::CoordinateResponse>,
    /// Where it has come to.
    exchange_id: String,
    text: String,
}

impl Branch {
    /// Starts from the exchange, takes the direction, and takes it once more from there.
    async fn open(
        mut exchanges: ExchangeServiceClient<Channel>,
        exchange_id: &str,
        direction: &'static str,
    ) -> Result<Self, Box<dyn Error>> {
        let (say, said) = mpsc::unbounded_channel();
        let from = pb::ExchangePoint { exchange_id: exchange_id.to_owned() };
        let start = Say::Start(pb::CoordinationStart {
            from: Some(coordination_start::From::Exchange(from)),
            additional_turns: 2,
            ..Default::default()
        });
        say.send(pb::CoordinateRequest { frame: Some(start) })?;
        let frames = exchanges.coordinate(UnboundedReceiverStream::new(said)).await?.into_inner();
        let mut branch = Self { direction, say, frames, exchange_id: String::new(), text: String::new() };
        for text in [direction.to_owned(), format!("Once more: {direction}")] {
            let needed = branch.decision().await?;
            let input = Some(next_turn::Input::Request(asks(&text)));
            let turn = next_action::Action::Turn(pb::NextTurn { input, ..Default::default() });
            branch.say(Say::NextAction(pb::NextAction { decision_id: needed.decision_id, action: Some(turn) }))?;
        }
        let presented = branch.decision().await?.exchange.unwrap_or_default();
        (branch.exchange_id, branch.text) = (presented.exchange_id, presented.text);
        Ok(branch)
    }

    fn say(&self, frame: Say) -> Result<(), Box<dyn Error>> {
        Ok(self.say.send(pb::CoordinateRequest { frame: Some(frame) })?)
    }

    /// The next result that is presented.
    async fn decision(&mut self) -> Result<pb::DecisionNeeded, Box<dyn Error>> {
        while let Some(frame) = self.frames.message().await? {
            match frame.frame {
                Some(Told::DecisionNeeded(needed)) => return Ok(needed),
                Some(Told::Rejected(rejected)) => return Err(rejected.error.unwrap_or_default().message.into()),
                _ => {}
            }
        }
        Err("the stream ended without a decision".into())
    }

    /// Says the last word and waits until it is taken.
    async fn end(mut self, last: Say) -> Result<(), Box<dyn Error>> {
        self.say(last)?;
        loop {
            match self.frames.message().await? {
                Some(pb::CoordinateResponse { frame: Some(Told::Ended(_)), .. }) => return Ok(()),
                Some(_) => {}
                None => return Err("the stream broke".into()),
            }
        }
    }
}

fn asks(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: text.to_owned(), ..Default::default() }
}
