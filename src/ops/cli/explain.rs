//! `antiphon explain`: the exact request that a turn would send, or that an exchange did send. It must not know how it is derived.

use super::Context;
use super::failure::Failure;
use super::request::{self, RequestOptions, RunOptions};
use super::table::Table;
use super::terminal::Terminal;
use super::words;
use crate::grpc::pb;

/// What can be typed after `explain`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// The exchange whose request is shown; with a place to go on from, the text to say there
    #[arg(value_name = "EXCHANGE|TEXT")]
    what: Option<String>,
    #[command(flatten)]
    place: Place,
    /// What was prepared under this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["what", "from", "thread", "root"])]
    prepared: Option<String>,
    /// Print the body alone, as it goes out
    #[arg(long)]
    body: bool,
    #[command(flatten)]
    request: RequestOptions,
}

/// Where a turn would begin.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Place {
    /// Go on from this exchange
    #[arg(long, value_name = "EXCHANGE", conflicts_with = "thread")]
    pub(super) from: Option<String>,
    /// Go on from this thread
    #[arg(long, short = 't', value_name = "ID")]
    pub(super) thread: Option<String>,
    /// Begin anew
    #[arg(long, conflicts_with_all = ["from", "thread"])]
    pub(super) root: bool,
}

impl Place {
    fn is_named(&self) -> bool {
        self.root || self.from.is_some() || self.thread.is_some()
    }
}

/// Explains.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let subject = subject(&arguments, context.terminal)?;
    let remote = context.remote().await?;
    let request = pb::ExplainRequest { subject: Some(subject) };
    let call = async { Ok(remote.exchanges().explain(remote.request(request)).await?.into_inner()) };
    let response = remote.within(call).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&response)?);
    }
    let explanation = response.explanation.as_ref().ok_or_else(|| Failure::incomplete("explanation"))?;
    if arguments.body {
        return Ok(terminal.write(&format!("{}\n", explanation.body_json))?);
    }
    show(explanation, response.sent.as_ref(), Table::facts(), terminal)
}

fn subject(arguments: &Arguments, terminal: &mut Terminal) -> Result<pb::explain_request::Subject, Failure> {
    use pb::capture_request::Execution;
    use pb::explain_request::Subject;
    if let Some(prepared_id) = arguments.prepared.clone() {
        let prepared = pb::PreparedExecution { prepared_id, run_id: String::new() };
        let execution = Some(Execution::Prepared(prepared));
        return Ok(Subject::Capture(pb::CaptureRequest { execution, thread: None }));
    }
    if !arguments.place.is_named() {
        let exchange_id = arguments.what.clone().ok_or_else(|| {
            Failure::usage("name an EXCHANGE, or a place for a TEXT with --from EXCHANGE, --thread ID or --root")
        })?;
        return Ok(Subject::Exchange(pb::ExchangePoint { exchange_id }));
    }
    let text = request::text(arguments.what.clone(), !arguments.request.speaks(), "antiphon explain", terminal)?;
    let request = arguments.request.build(text, &RunOptions::default(), terminal)?;
    let from = match (&arguments.place.from, &arguments.place.thread) {
        (Some(exchange_id), _) => {
            pb::continue_request::From::Exchange(pb::ExchangePoint { exchange_id: exchange_id.clone() })
        }
        (None, Some(thread_id)) => {
            pb::continue_request::From::Thread(pb::ThreadPoint { thread_id: thread_id.clone(), ..Default::default() })
        }
        (None, None) => {
            let execution = Some(Execution::Request(request));
            return Ok(Subject::Capture(pb::CaptureRequest { execution, thread: None }));
        }
    };
    let input = Some(pb::continue_request::Input::Request(request));
    Ok(Subject::Turn(pb::ContinueRequest { from: Some(from), input }))
}

/// Shows a request as a provider gets it, after other facts.
pub(super) fn show(
    explanation: &pb::Explanation,
    sent: Option<&pb::SentBody>,
    mut table: Table,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    for setting in &explanation.effective_settings {
        let source = words::setting_source(setting.source);
        table.fact("setting", format!("{} = {} ({source})", setting.name, setting.value_json));
    }
    for adaptation in &explanation.adaptations {
        table.fact("adapted", format!("{} ({})", adaptation.message, adaptation.code));
    }
    for warning in &explanation.warnings {
        table.fact("warning", format!("{} ({})", warning.message, warning.code));
    }
    table.fact("messages", explanation.messages.len().to_string());
    if !explanation.body_json.is_empty() {
        table.fact("body", format!("{} B, BLAKE3 {}", explanation.body_json.len(), explanation.body_blake3));
    }
    match sent {
        Some(sent) if sent.matches => table.fact("sent", "the same"),
        Some(sent) if sent.body_blake3.is_empty() => table.fact("sent", &sent.difference),
        Some(sent) => {
            table.fact("sent", format!("{} B, BLAKE3 {}: another one", sent.body_bytes, sent.body_blake3));
            table.fact("", &sent.difference);
        }
        None => {}
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if !explanation.body_json.is_empty() {
        let body = terminal.foreign(&explanation.body_json);
        terminal.line(&format!("\n{body}"))?;
    }
    Ok(())
}
