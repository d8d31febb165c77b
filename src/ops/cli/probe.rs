//! `antiphon probe`: asks from a point of history and keeps nothing. It must not know how an answer is shown.

use super::Context;
use super::answer::Answer;
use super::failure::Failure;
use super::request::{self, PointOptions, RequestOptions, RunOptions};
use crate::grpc::pb;

/// What can be typed after `probe`.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "antiphon probe [OPTIONS] EXCHANGE [TEXT]\n       antiphon probe [OPTIONS] --thread ID [--after-run RUN | --after-turn N] [TEXT]"
)]
pub(super) struct Arguments {
    /// The exchange to ask from (none with --thread), and what to ask; - reads standard input, and so does nothing at all in a pipe
    #[arg(value_name = "EXCHANGE TEXT", num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    point: PointOptions,
    /// Offer tools that change something outside; the server cannot undo what they do
    #[arg(long)]
    allow_side_effects: bool,
    /// Wait for the whole answer
    #[arg(long)]
    no_stream: bool,
    #[command(flatten)]
    request: RequestOptions,
}

/// Probes.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let (exchange, text) = request::exchange_and_text(arguments.words, arguments.point.thread.is_some())?;
    let from = match arguments.point.build() {
        Some(point) => pb::probe_request::From::Thread(point),
        None => pb::probe_request::From::Exchange(pb::ExchangePoint { exchange_id: exchange.unwrap_or_default() }),
    };
    let text = request::text(text, !arguments.request.speaks(), "antiphon probe", context.terminal)?;
    let request = arguments.request.build(text, &RunOptions::default(), context.terminal)?;
    let allow_side_effects = arguments.allow_side_effects;
    let probe = pb::ProbeRequest { from: Some(from), request: Some(request), allow_side_effects };
    let remote = context.remote().await?;
    let mut answer = Answer::begin();
    let whole = arguments.no_stream || arguments.request.wants_a_form() || context.terminal.is_json();
    let response = remote
        .within(async {
            if whole {
                return Ok(remote.exchanges().probe(remote.request(probe)).await?.into_inner());
            }
            let request = pb::StreamProbeRequest { probe: Some(probe) };
            let mut stream = remote.exchanges().stream_probe(remote.request(request)).await?.into_inner();
            while let Some(part) = stream.message().await? {
                match part.event {
                    Some(pb::stream_probe_response::Event::Progress(progress)) => {
                        answer.progress(progress, context.terminal)?;
                    }
                    Some(pb::stream_probe_response::Event::Completed(response)) => return Ok(response),
                    None => {}
                }
            }
            Err(Failure::incomplete("end"))
        })
        .await?;
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&response)?);
    }
    answer.probe(&response, context.terminal)
}
