//! `antiphon capture`: says something and keeps the exchange. It must not know how an answer is shown.

use super::Context;
use super::answer::{Answer, Turn};
use super::failure::Failure;
use super::request::{self, RequestOptions, RunOptions};
use crate::grpc::pb;

/// What can be typed after `capture`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// What to say; - reads standard input, and so does nothing at all in a pipe
    text: Option<String>,
    /// Put it on this thread, which has no exchanges yet
    #[arg(long, short = 't', value_name = "ID", conflicts_with = "new_thread")]
    thread: Option<String>,
    /// Put it on a new thread of this id
    #[arg(long, value_name = "ID")]
    new_thread: Option<String>,
    /// Wait for the whole answer
    #[arg(long)]
    no_stream: bool,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    request: RequestOptions,
}

/// Captures.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let text = request::text(arguments.text, !arguments.request.speaks(), "antiphon continue", context.terminal)?;
    let request = arguments.request.build(text, &arguments.run, context.terminal)?;
    let wants_a_form = arguments.request.wants_a_form();
    let thread = match (arguments.thread, arguments.new_thread) {
        (Some(thread_id), _) => {
            let point = pb::ThreadPoint { thread_id, ..Default::default() };
            Some(pb::capture_request::Thread::ExistingThread(point))
        }
        (None, Some(thread_id)) => {
            let thread = pb::NewThread { thread_id, ..Default::default() };
            Some(pb::capture_request::Thread::NewThread(thread))
        }
        (None, None) => None,
    };
    let capture = pb::CaptureRequest { execution: Some(pb::capture_request::Execution::Request(request)), thread };
    let remote = context.remote().await?;
    let mut answer = Answer::begin();
    let whole = arguments.no_stream || wants_a_form || context.terminal.is_json();
    let response = remote
        .within(async {
            if whole {
                return Ok(remote.exchanges().capture(remote.request(capture)).await?.into_inner());
            }
            let request = pb::StreamCaptureRequest { capture: Some(capture) };
            let mut stream = remote.exchanges().stream_capture(remote.request(request)).await?.into_inner();
            while let Some(part) = stream.message().await? {
                match part.event {
                    Some(pb::stream_capture_response::Event::Progress(progress)) => {
                        answer.progress(progress, context.terminal)?;
                    }
                    Some(pb::stream_capture_response::Event::Completed(response)) => return Ok(response),
                    None => {}
                }
            }
            Err(Failure::incomplete("end"))
        })
        .await?;
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&response)?);
    }
    let exchange = response.exchange.as_ref().ok_or_else(|| Failure::incomplete("exchange"))?;
    let (run, thread, replayed) = (response.run.as_ref(), response.thread.as_ref(), response.replayed);
    answer.turn(&Turn { exchange, run, thread, replayed }, context.terminal)
}
