//! `antiphon continue`: goes on from an exchange or a thread, with a text or with results of tool calls. It must not know how an answer is
//! shown.

use super::Context;
use super::answer::{Answer, Turn};
use super::failure::Failure;
use super::request::{self, RequestOptions, ResultOptions, RunOptions};
use crate::grpc::pb;

/// What can be typed after `continue`.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "antiphon continue [OPTIONS] EXCHANGE [TEXT]\n       antiphon continue [OPTIONS] --thread ID [TEXT]"
)]
pub(super) struct Arguments {
    /// The exchange to go on from (none with --thread), and what to say; - reads standard input, and so does nothing at all in a pipe
    #[arg(value_name = "EXCHANGE TEXT", num_args = 0..=2, hide_possible_values = true)]
    words: Vec<String>,
    /// Go on from this thread's head and move it
    #[arg(long, short = 't', value_name = "ID")]
    thread: Option<String>,
    /// Only if this exchange is the thread's head; `empty` for a thread without any
    #[arg(long, value_name = "EXCHANGE", requires = "thread")]
    expected_head: Option<String>,
    /// What to do when another run is at work on the thread
    #[arg(long, value_name = "WHAT", value_enum, requires = "thread")]
    on_busy: Option<OnBusy>,
    /// What to do with a text while tool calls are unanswered
    #[arg(long, value_name = "WHAT", value_enum, requires = "thread")]
    unanswered: Option<Unanswered>,
    /// Wait for the whole answer
    #[arg(long)]
    no_stream: bool,
    #[command(flatten)]
    results: ResultOptions,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    request: RequestOptions,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OnBusy {
    /// Refuse
    Reject,
    /// Wait for it, after those that wait already
    Enqueue,
    /// Cancel it, and go on before those that wait
    Interrupt,
    /// Fork the thread at its head and run there
    Fork,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Unanswered {
    /// Refuse
    Reject,
    /// Answer each with a marked result and cancel the run that called
    Interrupt,
    /// Leave the calls behind and go on from the head
    Abandon,
}

/// Continues.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let (exchange, text) = request::exchange_and_text(arguments.words.clone(), arguments.thread.is_some())?;
    let results = arguments.results.build(&arguments.request, &arguments.run, context.terminal)?;
    let input = match results {
        Some(_) if text.is_some() => return Err(Failure::usage("give a TEXT or results, not both")),
        Some(results) => pb::continue_request::Input::ToolResults(results),
        None => {
            let text = request::text(text, !arguments.request.speaks(), "antiphon continue", context.terminal)?;
            let request = arguments.request.build(text, &arguments.run, context.terminal)?;
            pb::continue_request::Input::Request(request)
        }
    };
    let turn = pb::ContinueRequest { from: Some(from(&arguments, exchange)), input: Some(input) };
    let remote = context.remote().await?;
    let mut answer = Answer::begin();
    let wants_a_form = arguments.request.wants_a_form();
    let whole = arguments.no_stream || wants_a_form || context.terminal.is_json();
    let response = remote
        .within(async {
            if whole {
                return Ok(remote.exchanges().r#continue(remote.request(turn)).await?.into_inner());
            }
            let request = pb::StreamContinueRequest { turn: Some(turn) };
            let mut stream = remote.exchanges().stream_continue(remote.request(request)).await?.into_inner();
            while let Some(part) = stream.message().await? {
                match part.event {
                    Some(pb::stream_continue_response::Event::Progress(progress)) => {
                        answer.progress(progress, context.terminal)?;
                    }
                    Some(pb::stream_continue_response::Event::Completed(response)) => return Ok(response),
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

fn from(arguments: &Arguments, exchange: Option<String>) -> pb::continue_request::From {
    use pb::continue_request::From;
    let Some(thread_id) = arguments.thread.clone() else {
        return From::Exchange(pb::ExchangePoint { exchange_id: exchange.unwrap_or_default() });
    };
    let on_busy = match arguments.on_busy {
        None => pb::OnBusy::Unspecified,
        Some(OnBusy::Reject) => pb::OnBusy::Reject,
        Some(OnBusy::Enqueue) => pb::OnBusy::Enqueue,
        Some(OnBusy::Interrupt) => pb::OnBusy::Interrupt,
        Some(OnBusy::Fork) => pb::OnBusy::Fork,
    };
    let unanswered = match arguments.unanswered {
        None => pb::UnansweredTools::Unspecified,
        Some(Unanswered::Reject) => pb::UnansweredTools::Reject,
        Some(Unanswered::Interrupt) => pb::UnansweredTools::Interrupt,
        Some(Unanswered::Abandon) => pb::UnansweredTools::Abandon,
    };
    let expected = arguments.expected_head.clone().map(|head| match head.as_str() {
        "empty" => pb::expected_head::Head::Empty(pb::EmptyHead {}),
        _ => pb::expected_head::Head::Exchange(pb::ExchangePoint { exchange_id: head }),
    });
    From::Thread(pb::ThreadPoint {
        thread_id,
        expected_head: expected.map(|head| pb::ExpectedHead { head: Some(head) }),
        on_busy: on_busy.into(),
        unanswered_tools: unanswered.into(),
    })
}
