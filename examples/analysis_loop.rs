//! An analysis that is refined until its caller is content: the caller keeps a list of what an answer must have, looks at each result that it is
//! presented with, and asks for what is missing. The server knows nothing of all this; it runs one turn after the other and keeps each.
//!
//!     antiphon serve --ephemeral --config examples/scripted.toml
//!     cargo run --example analysis_loop -- http://127.0.0.1:7373

use std::error::Error;
use std::io::{self, Write};

use antiphon::grpc::pb::coordinate_request::Frame as Say;
use antiphon::grpc::pb::coordinate_response::Frame as Told;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::grpc::pb::{self, coordination_ended::Outcome, coordination_start, next_action, next_turn};
use tokio_stream::wrappers::UnboundedReceiverStream;

/// How many times it may be asked for more.
const REFINEMENTS: u32 = 4;

/// What the analysis must have: its name, how to see it, how to ask for it.
type Wanted = (&'static str, fn(&str) -> bool, &'static str);

const WANTED: [Wanted; 2] = [
    ("a figure", |text| text.contains(|c: char| c.is_ascii_digit()), "Say how large it is, with a figure."),
    ("a source", |text| text.contains("according to"), "Say according to whom."),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:7373".to_owned());
    run(&server, &mut io::stdout()).await
}

/// Analyses at a server and tells what happens.
pub(crate) async fn run(server: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut exchanges = ExchangeServiceClient::connect(server.to_owned()).await?;
    let (say, said) = tokio::sync::mpsc::unbounded_channel();
    let say = |frame| say.send(pb::CoordinateRequest { frame: Some(frame) }).map_err(|_| "the stream is closed");

    // The first request is outside the budget; its result is presented like every later one.
    let request = asks("Describe the harbour of Lisbon.");
    let initial = pb::InitialRequest { request: Some(request), thread: None };
    say(Say::Start(pb::CoordinationStart {
        from: Some(coordination_start::From::InitialRequest(initial)),
        additional_turns: REFINEMENTS,
        ..Default::default()
    }))?;
    let mut frames = exchanges.coordinate(UnboundedReceiverStream::new(said)).await?.into_inner();

    // The caller's own assessment, over all results so far.
    let mut found = [false; WANTED.len()];
    while let Some(frame) = frames.message().await? {
        match frame.frame {
            Some(Told::DecisionNeeded(needed)) => {
                let text = needed.exchange.unwrap_or_default().text;
                writeln!(out, "presented: {text}")?;
                for (has, (_, is_there, _)) in found.iter_mut().zip(WANTED) {
                    *has |= is_there(&text);
                }
                let missing = found.iter().zip(WANTED).find(|(has, _)| !**has).map(|(_, wanted)| wanted);
                let action = match missing {
                    Some((name, _, ask)) => {
                        writeln!(out, "  it lacks {name}")?;
                        let input = Some(next_turn::Input::Request(asks(ask)));
                        next_action::Action::Turn(pb::NextTurn { input, ..Default::default() })
                    }
                    None => next_action::Action::Stop(pb::StopAction {}),
                };
                // Named by its decision, an answer is safe to repeat.
                say(Say::NextAction(pb::NextAction { decision_id: needed.decision_id, action: Some(action) }))?;
            }
            Some(Told::Rejected(rejected)) => return Err(rejected.error.unwrap_or_default().message.into()),
            Some(Told::Ended(ended)) => match ended.outcome {
                Some(Outcome::Stopped(_)) => writeln!(out, "it has all that was wanted")?,
                Some(Outcome::Exhausted(_)) => {
                    writeln!(out, "it still lacks something, after {REFINEMENTS} more turns")?
                }
                // The status of the stream says why, and ends the loop as an error.
                Some(Outcome::Failed(_) | Outcome::Cancelled(_)) | None => {}
            },
            _ => {}
        }
    }
    Ok(())
}

fn asks(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: text.to_owned(), ..Default::default() }
}
