//! `antiphon fork`: a new thread from an exchange or a point of a thread, with a first turn or without. It must not know how an answer is
//! shown.

use super::Context;
use super::answer::{Answer, Turn};
use super::failure::Failure;
use super::request::{self, PointOptions, RequestOptions, ResultOptions, RunOptions};
use super::terminal::Style;
use crate::grpc::pb;

/// What can be typed after `fork`.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "antiphon fork [OPTIONS] EXCHANGE [TEXT]\n       antiphon fork [OPTIONS] --thread ID [--after-run RUN | --after-turn N] [TEXT]"
)]
#[command(
    after_help = "Without a TEXT the new thread is bare: --profile and --model are then its defaults, and --label labels it alone."
)]
pub(super) struct Arguments {
    /// The exchange to branch off from (none with --thread), and what to say there; - reads standard input
    #[arg(value_name = "EXCHANGE TEXT", num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    point: PointOptions,
    /// The new thread's id
    #[arg(long, value_name = "NEW")]
    id: Option<String>,
    /// The new thread's name, for people
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Make the command safe to repeat
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    #[command(flatten)]
    results: ResultOptions,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    request: RequestOptions,
}

/// Forks.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let (exchange, text) = request::exchange_and_text(arguments.words.clone(), arguments.point.thread.is_some())?;
    let source = match arguments.point.build() {
        Some(point) => pb::fork_request::Source::Thread(point),
        None => pb::fork_request::Source::Exchange(pb::ExchangePoint { exchange_id: exchange.unwrap_or_default() }),
    };
    let branch = branch(&arguments, text, context)?;
    let request_id = arguments.request_id.unwrap_or_default();
    let fork = pb::ForkRequest { source: Some(source), request_id, branches: vec![branch] };
    let remote = context.remote().await?;
    let mut answer = Answer::begin();
    let response =
        remote.within(async { Ok(remote.exchanges().fork(remote.request(fork)).await?.into_inner()) }).await?;
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&response)?);
    }
    let result = response.results.first().ok_or_else(|| Failure::incomplete("result"))?;
    if let Some(error) = &result.error {
        let remedy = format!("antiphon continue --thread {} TEXT", id_of(result));
        return Err(Failure::here(format!("the thread is made, its first turn failed: {}", error.message), remedy));
    }
    let thread = result.thread.as_ref().ok_or_else(|| Failure::incomplete("thread"))?;
    let Some(exchange) = &result.exchange else { return bare(thread, context) };
    let turn = Turn { exchange, run: result.run.as_ref(), thread: Some(thread), replayed: response.replayed };
    answer.turn(&turn, context.terminal)
}

/// The new thread and its first turn.
fn branch(arguments: &Arguments, text: Option<String>, context: &mut Context<'_>) -> Result<pb::ForkBranch, Failure> {
    let mut request_options = arguments.request.clone();
    let labels = request::pairs(&std::mem::take(&mut request_options.labels), "--label")?;
    let mut thread = pb::NewThread {
        thread_id: arguments.id.clone().unwrap_or_default(),
        name: arguments.name.clone().unwrap_or_default(),
        labels: labels.into_iter().collect(),
        ..Default::default()
    };
    let results = arguments.results.build(&request_options, &arguments.run, context.terminal)?;
    let input = match results {
        Some(_) if text.is_some() => return Err(Failure::usage("give a TEXT or results, not both")),
        Some(results) => Some(pb::fork_branch::Input::ToolResults(results)),
        None => {
            let text = request::text(text, false, "antiphon fork", context.terminal)?;
            let is_bare = text.is_none() && !request_options.speaks();
            let mut request = request_options.build(text, &arguments.run, context.terminal)?;
            if is_bare {
                thread.defaults = defaults(&mut request);
                if request != pb::ExecutionRequest::default() {
                    return Err(Failure::usage(
                        "there is nothing to say, so these options would be ignored: give a TEXT",
                    ));
                }
            }
            (!is_bare).then_some(pb::fork_branch::Input::Request(request))
        }
    };
    Ok(pb::ForkBranch { thread: Some(thread), input })
}

/// What a bare thread's turns use.
fn defaults(request: &mut pb::ExecutionRequest) -> Option<pb::ThreadDefaults> {
    let (profile_id, model) = (std::mem::take(&mut request.profile_id), std::mem::take(&mut request.model));
    let given = !profile_id.is_empty() || !model.is_empty();
    given.then_some(pb::ThreadDefaults { profile_id, model, standing_tools: None })
}

/// The id on the output, so that a script can take it, and the rest on the errors.
fn bare(thread: &pb::Thread, context: &mut Context<'_>) -> Result<(), Failure> {
    let terminal = &mut *context.terminal;
    let id = terminal.foreign(&thread.thread_id);
    terminal.line(&id)?;
    let at = format!("at turn {}, exchange {}", thread.turn_count, thread.head_exchange_id);
    let next = terminal.typed(&format!("antiphon continue --thread {} \"…\"", thread.thread_id));
    let text = terminal.paint_err(Style::Dim, &format!("{at}\nnext: {next}"));
    Ok(terminal.note(&text)?)
}

fn id_of(result: &pb::ForkResult) -> &str {
    result.thread.as_ref().map_or("ID", |thread| &thread.thread_id)
}
