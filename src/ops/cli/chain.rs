//! `antiphon chain`: a request whose tools are local commands, until there is an answer without calls. It must not know streams.

use super::Context;
use super::coordinate::{Callback, Drive, End, Plan, ToolOptions, initial_request, variables};
use super::failure::Failure;
use super::request::{self, RequestOptions, RunOptions, pairs};
use crate::domain::source::Ids;
use crate::grpc::pb;
use crate::grpc::pb::coordinate_request::Frame as Say;
use crate::ops::source::RandomIds;

/// What can be typed after `chain`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Each call and its result are told on standard error; only the final answer goes into a pipe. A \
    command that fails is an error result, which the model is told. The exit code is 1 where the limit was reached first."
)]
pub(super) struct Arguments {
    /// What to say; - reads standard input, and so does nothing at all in a pipe
    text: Option<String>,
    /// Put it on this thread, which has no exchanges yet
    #[arg(long, short = 't', value_name = "ID", conflicts_with = "new_thread")]
    thread: Option<String>,
    /// Put it on a new thread of this id
    #[arg(long, value_name = "ID")]
    new_thread: Option<String>,
    /// At most so many rounds of tools
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = super::number::between(0, u32::MAX))]
    limit: u32,
    #[command(flatten)]
    tools: ToolOptions,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    request: RequestOptions,
}

/// Chains.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    if arguments.run.retry {
        return Err(Failure::usage(
            "--retry: a chain begins anew; go on from its last exchange with `antiphon continue`",
        ));
    }
    let tools = arguments.tools.build()?;
    let text = request::text(arguments.text, !arguments.request.speaks(), "antiphon continue", context.terminal)?;
    let mut request = arguments.request.build(text, &arguments.run, context.terminal)?;
    tools.offer(&mut request);
    if request.run_id.is_empty() {
        // A tool that needs a person finds its run by the name.
        request.run_id = RandomIds.uuid().to_string();
    }
    let final_only = !context.terminal.out_is_terminal();
    let coordination_id = RandomIds.uuid().to_string();
    let first = Say::Start(pb::CoordinationStart {
        from: Some(pb::coordination_start::From::InitialRequest(initial_request(
            request,
            arguments.thread,
            arguments.new_thread,
        ))),
        coordination_id: coordination_id.clone(),
        tool_round_limit: Some(arguments.limit),
        deltas: !final_only,
        labels: pairs(&arguments.request.labels, "--label")?.into_iter().collect(),
        ..pb::CoordinationStart::default()
    });
    let (callback, base) = (Callback::Stop, pb::ExecutionRequest::default());
    let variables = variables(context, &coordination_id);
    let plan = Plan { first, coordination_id, callback, tools, base, final_only, variables };
    let remote = context.remote().await?;
    let mut drive = Drive::new(plan, &remote, context.terminal)?;
    if drive.go().await? == End::Suspended {
        // It waits for a person, as was told; there is no answer.
        return Err(Failure::Said);
    }
    let result = drive.into_result().unwrap_or_default();
    if result.pending_tool_calls.is_empty() {
        return Ok(());
    }
    let results = result.pending_tool_calls.iter().map(|call| format!(" --result {}=\"…\"", call.call_id));
    let next = format!("antiphon continue {}{}", result.exchange_id, results.collect::<String>());
    let next = format!("give it more with --limit, or {}", context.terminal.typed(&next));
    Err(Failure::here(format!("the model still calls tools after {} rounds", arguments.limit), next))
}
