//! `antiphon run`: says something, or executes what was prepared, and keeps the exchange only when told to. It must not know how an answer is
//! shown.

use super::Context;
use super::answer::{Answer, Turn};
use super::failure::Failure;
use super::request::{self, RequestOptions, RunOptions};
use crate::grpc::pb;

/// What can be typed after `run`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// What to say; - reads standard input, and so does nothing at all in a pipe
    text: Option<String>,
    /// Execute what was prepared under this id, as it was shown
    #[arg(long, value_name = "ID", conflicts_with_all = ["text", "capture"])]
    prepared: Option<String>,
    /// Keep the exchange
    #[arg(long)]
    capture: bool,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    request: RequestOptions,
}

/// Runs.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::run_request::Execution;
    let execution = match &arguments.prepared {
        Some(prepared_id) => {
            let asked = arguments.request.build(None, &RunOptions::default(), context.terminal)?;
            if asked != pb::ExecutionRequest::default() || arguments.run.retry {
                return Err(Failure::usage("what was prepared is executed as it was shown; give it alone"));
            }
            let run_id = arguments.run.run_id.clone().unwrap_or_default();
            Execution::Prepared(pb::PreparedExecution { prepared_id: prepared_id.clone(), run_id })
        }
        None => {
            let text = request::text(arguments.text, !arguments.request.speaks(), "--prepared", context.terminal)?;
            Execution::Request(arguments.request.build(text, &arguments.run, context.terminal)?)
        }
    };
    let capture = arguments.capture.then_some(true);
    let request = pb::RunRequest { execution: Some(execution), capture, include_rendered_messages: false };
    let remote = context.remote().await?;
    let mut answer = Answer::begin();
    let call = async { Ok(remote.exchanges().run(remote.request(request)).await?.into_inner()) };
    let response = remote.within(call).await?;
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&response)?);
    }
    let (run, replayed) = (response.run.as_ref(), response.replayed);
    match &response.exchange {
        Some(exchange) => answer.turn(&Turn { exchange, run, thread: None, replayed }, context.terminal),
        None => {
            let exchange = &uncaptured(&response);
            answer.result(&Turn { exchange, run, thread: None, replayed }, None, context.terminal)
        }
    }
}

/// What is shown of an answer that nothing keeps.
fn uncaptured(response: &pb::RunResponse) -> pb::Exchange {
    pb::Exchange {
        run_id: response.run.as_ref().map(|run| run.run_id.clone()).unwrap_or_default(),
        assistant: response.assistant.clone(),
        text: response.text.clone(),
        stop_reason: response.stop_reason,
        stop_reason_raw: response.stop_reason_raw.clone(),
        validation: response.validation.clone(),
        warnings: response.warnings.clone(),
        usage: response.run.as_ref().and_then(|run| run.usage.clone()),
        ..pb::Exchange::default()
    }
}
