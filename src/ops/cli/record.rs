//! `antiphon record`: stores messages of calls that were made elsewhere. It must not know what is on record already: the server finds that
//! out.

use std::path::PathBuf;

use super::Context;
use super::chat;
use super::failure::Failure;
use super::request::{document, pair, pairs};
use super::table::Table;
use super::terminal::Style;
use crate::grpc::pb;

/// What can be typed after `record`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Messages are a JSON list, each {\"role\": ..., \"content\": ...} as in chats or {\"role\", \"parts\"} as in the API.\n\
                        What is on record already is recognised and not stored twice."
)]
pub(super) struct Arguments {
    /// A file of messages; - or nothing reads standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    file: PathBuf,
    /// The messages continue this exchange
    #[arg(long, value_name = "EXCHANGE", conflicts_with = "after_head")]
    after: Option<String>,
    /// The messages continue the thread's head
    #[arg(long, requires = "thread")]
    after_head: bool,
    /// Move this thread's head to the end
    #[arg(long, short = 't', value_name = "ID", conflicts_with = "new_thread")]
    thread: Option<String>,
    /// Make a thread of this id with its head at the end
    #[arg(long, value_name = "ID")]
    new_thread: Option<String>,
    /// The provider that answered
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model that answered
    #[arg(long, short = 'm', value_name = "NAME")]
    model: Option<String>,
    /// Label the runs and exchanges that are new
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
    /// Make the command safe to repeat
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// Records.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    if arguments.file.as_os_str() == "-" && !context.terminal.input_is_piped() {
        return Err(Failure::usage("there is nothing to record: name a FILE, or pipe the messages in"));
    }
    let messages = document(&arguments.file, context.terminal, chat::messages)?;
    let request = build(arguments, messages)?;
    let remote = context.remote().await?;
    let response =
        remote.within(async { Ok(remote.exchanges().record(remote.request(request)).await?.into_inner()) }).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&response)?);
    }
    let mut table = Table::new(&["EXCHANGE", "RUN", "MESSAGE", ""]);
    for exchange in &response.exchanges {
        let found = if exchange.matched { "on record already" } else { "stored" };
        let index = exchange.message_index.to_string();
        table.row(vec![(&exchange.exchange_id).into(), (&exchange.run_id).into(), index.into(), found.into()]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    for ignored in &response.ignored_facts {
        let text = format!(
            "warning: {} of message {} is not used: the exchange was there with its own",
            ignored.fields.join(", "),
            ignored.message_index
        );
        let text = terminal.paint_err(Style::Odd, &text);
        terminal.note(&text)?;
    }
    let from = response.thread.as_ref().map_or(response.exchange_id.clone(), |t| format!("--thread {}", t.thread_id));
    let (stored, matched) = (response.stored_count, response.matched_count);
    let next = terminal.typed(&format!("antiphon continue {from} \"…\""));
    let text = terminal.paint_err(Style::Dim, &format!("{stored} stored, {matched} on record already\nnext: {next}"));
    Ok(terminal.note(&text)?)
}

fn build(arguments: Arguments, messages: Vec<pb::Message>) -> Result<pb::RecordRequest, Failure> {
    use pb::record_request::{Start, Thread};
    let after = arguments.after.map(|exchange_id| Start::AfterExchange(pb::ExchangePoint { exchange_id }));
    let start = after.or(arguments.after_head.then_some(Start::AfterHead(pb::AfterHead {})));
    let existing =
        arguments.thread.map(|thread_id| Thread::ExistingThread(pb::ThreadPoint { thread_id, ..Default::default() }));
    let new =
        arguments.new_thread.map(|thread_id| Thread::NewThread(pb::NewThread { thread_id, ..Default::default() }));
    let (provider, model) = (arguments.provider.unwrap_or_default(), arguments.model.unwrap_or_default());
    let known = !provider.is_empty() || !model.is_empty();
    let answers = messages.iter().zip(0_u32..).filter(|(message, _)| known && message.role() == pb::Role::Assistant);
    let facts = answers.map(|(_, message_index)| pb::RecordedFacts {
        message_index,
        provider: provider.clone(),
        model: model.clone(),
        ..Default::default()
    });
    Ok(pb::RecordRequest {
        request_id: arguments.request_id.unwrap_or_default(),
        facts: facts.collect(),
        start,
        thread: existing.or(new),
        labels: pairs(&arguments.labels, "--label")?.into_iter().collect(),
        messages,
    })
}
