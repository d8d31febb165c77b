//! `antiphon coordinate`: what can be typed, and the coordination that comes of it. It must not know streams.

mod batch;
mod callback;
mod drive;
mod frames;
mod shell;
mod tools;

use std::time::Duration;

use super::Context;
use super::failure::Failure;
use super::request::{self, RequestOptions, RunOptions, pairs};
use crate::domain::source::Ids;
use crate::grpc::pb;
use crate::grpc::pb::coordinate_request::Frame as Say;
use crate::ops::source::RandomIds;

pub(super) use self::callback::{Callback, answer, failure, say};
pub(super) use self::drive::{Drive, End, Plan};
pub(super) use self::tools::ToolOptions;

/// What takes an exchange, where one was typed as the text.
const INSTEAD: &str = "--from";
/// What a callback is told and can say.
const SHAPES: &str = r#"The callback:
  Without --callback each result is shown and one line is read: the next message, /stop, /fail REASON MESSAGE,
  /suspend or /cancel. The end of the input suspends, so that nothing is decided by it.

  --callback COMMAND is run with `sh -c` once for each decision. On its input is one line of JSON, the API's
  DecisionNeeded: {"decisionId": …, "exchange": {"exchangeId": …, "text": …, …}, "starting": true,
  "turnsStarted": 1, "turnsRemaining": 2, …}. On its output it says what comes next, one of
    {"continue": {"text": "…"}}          another turn, with the options of this command line
    {"continue": {"request": {…}}}       another turn, with a request of the API as it stands
    {"continue": {"toolResults": {…}}}   results of tool calls that were left unanswered
    {"stop": {}}                         it is good
    {"fail": {"reason": "TOO_THIN", "message": "…", "code": 10}}
    {"suspend": {}}                      to be answered later, from anywhere
  With another exit code than 0 it fails: the coordination ends with the reason CALLBACK_FAILED and the last line
  of the command's errors. ANTIPHON_SERVER and ANTIPHON_COORDINATION are set for it, and for tools.

The exit code is 0 where it was stopped, suspended, or no turn was left. With --json every frame of the stream is one line."#;

/// What can be typed after `coordinate`.
#[derive(clap::Args, Debug)]
#[command(after_help = SHAPES)]
#[command(
    override_usage = "antiphon coordinate [OPTIONS] TEXT\n       antiphon coordinate [OPTIONS] --from EXCHANGE\n       antiphon coordinate [OPTIONS] --thread ID\n       antiphon coordinate [OPTIONS] --attach ID"
)]
pub(super) struct Arguments {
    /// What to say first, outside the budget; its answer is the first result. - reads standard input
    text: Option<String>,
    /// Start from this exchange; no head moves
    #[arg(long, value_name = "EXCHANGE", conflicts_with_all = ["text", "thread", "new_thread", "attach"])]
    from: Option<String>,
    /// Start from this thread's head and move it with every turn; with a TEXT, a thread that has no exchanges yet
    #[arg(long, short = 't', value_name = "ID", conflicts_with_all = ["new_thread", "attach"])]
    thread: Option<String>,
    /// Put the TEXT on a new thread of this id
    #[arg(long, value_name = "ID", conflicts_with = "attach")]
    new_thread: Option<String>,
    /// Go on with a coordination that is there
    #[arg(long, value_name = "ID", conflicts_with_all = ["text", "turns", "tool_rounds", "decision_timeout", "id", "ephemeral"])]
    attach: Option<String>,
    /// At most so many more turns
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = super::number::between(0, u32::MAX))]
    turns: u32,
    /// At most so many rounds of tools in one turn; 16 unless told otherwise
    #[arg(long, value_name = "N", value_parser = super::number::between(0, u32::MAX))]
    tool_rounds: Option<u32>,
    /// Cancel it when a decision takes longer
    #[arg(long, value_name = "TIME", value_parser = super::span::parse)]
    decision_timeout: Option<Duration>,
    /// Name it, so that the command can be repeated safely
    #[arg(long, value_name = "ID", conflicts_with = "ephemeral")]
    id: Option<String>,
    /// Keep nothing; it ends with this command
    #[arg(long)]
    ephemeral: bool,
    /// Ask this command, rather than whoever types, what comes next; see below
    #[arg(long, value_name = "COMMAND")]
    callback: Option<String>,
    /// Wait for whole answers
    #[arg(long)]
    no_stream: bool,
    #[command(flatten)]
    tools: ToolOptions,
    /// The options of the request hold for every turn; what is said before the text, for the first one
    #[command(flatten)]
    request: RequestOptions,
}

/// Coordinates.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let plan = arguments.plan(context)?;
    let remote = context.remote().await?;
    Drive::new(plan, &remote, context.terminal)?.go().await.map(|_: End| ())
}

impl Arguments {
    fn plan(self, context: &mut Context<'_>) -> Result<Plan, Failure> {
        request::no_id(self.text.as_deref(), INSTEAD)?;
        if self.text.as_deref() == Some("-") && self.callback.is_none() {
            return Err(Failure::usage("standard input cannot be the text and also the prompt; give a --callback"));
        }
        let tools = self.tools.build()?;
        let mut base = later(&self.request).build(None, &RunOptions::default(), context.terminal)?;
        tools.offer(&mut base);
        let has_input = self.text.is_some() || self.request.speaks();
        let coordination_id = match (&self.attach, &self.id) {
            _ if self.ephemeral => String::new(),
            (Some(id), _) | (None, Some(id)) => id.clone(),
            // Made here, so that the start can be repeated when the stream breaks before it is answered.
            (None, None) => RandomIds.uuid().to_string(),
        };
        let deltas = !self.no_stream;
        let first = if self.attach.is_some() {
            if self.request.speaks() || self.request.system.is_some() {
                return Err(Failure::usage("with --attach nothing is said before the next decision"));
            }
            Say::Attach(pb::CoordinationAttach {
                coordination_id: coordination_id.clone(),
                after_sequence: 0,
                deltas: Some(deltas),
            })
        } else {
            let initial = if has_input {
                let text = self.text.clone().map(|text| request::text(Some(text), true, INSTEAD, context.terminal));
                let mut request =
                    self.request.build(text.transpose()?.flatten(), &RunOptions::default(), context.terminal)?;
                request.tools.clone_from(&base.tools);
                if !self.ephemeral {
                    request.run_id = first_run_id(self.id.as_deref());
                }
                Some(request)
            } else {
                None
            };
            Say::Start(pb::CoordinationStart {
                from: Some(self.from(initial)?),
                additional_turns: self.turns,
                coordination_id: coordination_id.clone(),
                tool_round_limit: self.tool_rounds,
                deltas,
                decision_timeout: self.decision_timeout.map(length).transpose()?,
                labels: pairs(&self.request.labels, "--label")?.into_iter().collect(),
                ephemeral: self.ephemeral,
                ..pb::CoordinationStart::default()
            })
        };
        let callback = match self.callback {
            Some(command) => Callback::Command(command),
            None => Callback::Prompt(callback::Lines::of(context.terminal.take_input())),
        };
        let variables = variables(context, &coordination_id);
        Ok(Plan { first, coordination_id, callback, tools, base, final_only: false, variables })
    }

    fn from(&self, initial: Option<pb::ExecutionRequest>) -> Result<pb::coordination_start::From, Failure> {
        use pb::coordination_start::From;
        let thread_id = self.thread.clone();
        let Some(request) = initial else {
            if self.new_thread.is_some() {
                return Err(Failure::usage("a new thread begins with a TEXT"));
            }
            if self.request.system.is_some() {
                return Err(Failure::usage("--system stands before a TEXT, which there is none of"));
            }
            return match (self.from.clone(), thread_id) {
                (Some(exchange_id), _) => Ok(From::Exchange(pb::ExchangePoint { exchange_id })),
                (None, Some(thread_id)) => Ok(From::Thread(pb::ThreadPoint { thread_id, ..Default::default() })),
                (None, None) => Err(Failure::usage(
                    "say where it starts: a TEXT, --from EXCHANGE, --thread ID, or --attach to one that is there",
                )),
            };
        };
        if self.from.is_some() {
            return Err(Failure::usage("it starts from an exchange or with a request, not both"));
        }
        Ok(From::InitialRequest(initial_request(request, thread_id, self.new_thread.clone())))
    }
}

/// A request that is executed first, on a thread where one is named.
pub(super) fn initial_request(
    request: pb::ExecutionRequest,
    thread: Option<String>,
    new_thread: Option<String>,
) -> pb::InitialRequest {
    use pb::initial_request::Thread;
    let existing = thread.map(|thread_id| Thread::ExistingThread(pb::ThreadPoint { thread_id, ..Default::default() }));
    let new = new_thread.map(|thread_id| Thread::NewThread(pb::NewThread { thread_id, ..Default::default() }));
    pb::InitialRequest { request: Some(request), thread: existing.or(new) }
}

/// The run of the first request: named, so that a tool that needs a person finds it again, and after the coordination, so that the same
/// command is the same start.
fn first_run_id(coordination_id: Option<&str>) -> String {
    coordination_id.map_or_else(|| RandomIds.uuid().to_string(), |id| format!("{id}:start"))
}

/// The options of a turn that is not the first: without what stands before the first text.
fn later(options: &RequestOptions) -> RequestOptions {
    RequestOptions { prompt: None, vars: Vec::new(), system: None, messages: None, ..options.clone() }
}

/// What commands are told of their surroundings.
pub(super) fn variables(context: &Context<'_>, coordination_id: &str) -> Vec<(&'static str, String)> {
    vec![("ANTIPHON_SERVER", context.server()), ("ANTIPHON_COORDINATION", coordination_id.to_owned())]
}

fn length(duration: Duration) -> Result<prost_types::Duration, Failure> {
    duration.try_into().map_err(|_| Failure::usage("--decision-timeout: is too long"))
}
