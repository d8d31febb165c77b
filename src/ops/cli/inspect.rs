//! `antiphon inspect`: one exchange with everything known of it, and its history. It must not know how other verbs show less of it.

use super::Context;
use super::failure::Failure;
use super::lineage::Lineage;
use super::table::{Cell, Table};
use super::terminal::{Style, Terminal};
use super::words;
use crate::grpc::pb;

/// What can be typed after `inspect`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// The exchange
    exchange: String,
    /// How much history to show
    #[arg(long, value_name = "HOW MUCH", value_enum, default_value = "full")]
    history: History,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum History {
    /// Only what this exchange added
    None,
    /// Everything from the root on
    Full,
}

/// Inspects.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let response = match arguments.history {
        History::Full => {
            let Lineage { exchange, messages, path } = Lineage::read(&remote, &arguments.exchange).await?;
            pb::InspectResponse { exchange: Some(exchange), messages, path, next_page_token: String::new() }
        }
        History::None => {
            let history = pb::HistoryScope::None.into();
            let request = pb::InspectRequest { exchange_id: arguments.exchange, history, ..Default::default() };
            remote.within(async { Ok(remote.exchanges().inspect(remote.request(request)).await?.into_inner()) }).await?
        }
    };
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&response)?);
    }
    let exchange = response.exchange.as_ref().ok_or_else(|| Failure::incomplete("exchange"))?;
    let lines = facts(exchange).lines(terminal);
    terminal.lines(lines)?;
    let own: Vec<&pb::Message> = exchange.messages.iter().chain(&exchange.assistant).collect();
    let told = if arguments.history == History::Full { response.messages.iter().collect() } else { own };
    for message in told {
        show(message, terminal)?;
    }
    Ok(())
}

/// What is known, a line each.
fn facts(exchange: &pb::Exchange) -> Table {
    let mut table = Table::facts();
    table.row(vec![Cell::new("exchange", Style::Dim), Cell::new(&exchange.exchange_id, Style::Name)]);
    table.fact("run", &exchange.run_id);
    table.fact("place", format!("turn {}, depth {}", exchange.turn, exchange.depth));
    table.fact("thread", &exchange.thread_id);
    table.fact("parent", &exchange.parent_exchange_id);
    if exchange.continues_exchange_id != exchange.parent_exchange_id {
        table.fact("continues", &exchange.continues_exchange_id);
    }
    table.fact("origin", words::origin(exchange.origin));
    if let Some(responder) = &exchange.responder {
        table.fact("answered by", by(responder));
    }
    let stopped = words::stop_reason(exchange.stop_reason);
    let raw = Some(&exchange.stop_reason_raw).filter(|raw| !raw.is_empty() && **raw != stopped);
    table.fact("stopped", raw.map(|raw| format!("{stopped} ({raw})")).unwrap_or(stopped));
    table.fact("usage", words::usage(exchange.usage.as_ref()));
    table.fact("time", words::time(exchange.create_time.as_ref()));
    for setting in &exchange.effective_settings {
        let source = words::setting_source(setting.source);
        table.fact("setting", format!("{} = {} ({source})", setting.name, setting.value_json));
    }
    if let Some(tools) = &exchange.tools {
        table.fact("tools offered", names(tools.offered.as_ref()));
        table.fact("tools standing", names(tools.standing.as_ref()));
    }
    if let Some(validation) = &exchange.validation {
        table.fact("form", words::validation(validation.status));
        for violation in &validation.violations {
            table.fact("", format!("{} {}", violation.instance_path, violation.message));
        }
    }
    for observation in &exchange.observations {
        table.fact("attempt", attempt(observation));
    }
    for warning in &exchange.warnings {
        table.fact("warning", format!("{} ({})", warning.message, warning.code));
    }
    for call in &exchange.pending_tool_calls {
        table.fact("pending call", format!("{}({})  {}", call.name, call.arguments_json, call.call_id));
    }
    for (key, value) in &exchange.labels {
        table.fact("label", format!("{key}={value}"));
    }
    table.fact("content hash", &exchange.content_hash);
    table
}

fn by(responder: &pb::Responder) -> String {
    let model = if responder.response_model.is_empty() { &responder.model } else { &responder.response_model };
    let words = [&responder.backend_id, &responder.provider, &responder.api, model];
    let mut told: Vec<&str> = words.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    told.dedup();
    told.join(" / ")
}

fn names(set: Option<&pb::ToolSet>) -> String {
    let tools = set.map(|set| set.tools.as_slice()).unwrap_or_default();
    tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// One attempt on one line.
pub(super) fn attempt(observation: &pb::Observation) -> String {
    let kind = words::attempt_kind(observation.kind);
    let outcome = if observation.succeeded { "ok".to_owned() } else { observation.error_reason.clone() };
    let status = observation.http_status.map(|status| format!("HTTP {status}")).unwrap_or_default();
    let named = |name: &str, text: String| if text.is_empty() { text } else { format!("{name} {text}") };
    let took = named("took", words::api_duration(observation.duration.as_ref()));
    let first = named("first byte", words::api_duration(observation.first_byte.as_ref()));
    let sent = format!("sent {}", words::bytes(observation.request_bytes));
    let adapted = named("adapted:", observation.adaptations.join(", "));
    let place = format!("{} ({kind}) {} {}", observation.number, observation.backend_id, observation.model);
    let all = [place, outcome, status, sent, first, took, adapted];
    all.into_iter().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// A message: who speaks, and what, set in.
pub(super) fn show(message: &pb::Message, terminal: &mut Terminal) -> Result<(), Failure> {
    let style = if message.role() == pb::Role::Assistant { Style::Good } else { Style::Bold };
    let who = terminal.paint(style, &words::role(message.role));
    terminal.line(&format!("\n{who}"))?;
    for part in &message.parts {
        for line in content(part, terminal).lines() {
            terminal.line(format!("  {line}").trim_end())?;
        }
    }
    Ok(())
}

fn content(part: &pb::Part, terminal: &Terminal) -> String {
    use pb::part::Kind;
    let dim = |text: String| terminal.paint(Style::Dim, &text);
    match &part.kind {
        Some(Kind::Text(text)) => terminal.foreign(&text.text),
        Some(Kind::Refusal(refusal)) => format!("{} {}", dim("refusal".into()), terminal.foreign(&refusal.text)),
        Some(Kind::Reasoning(reasoning)) => dim(terminal.foreign(&reasoning.text)),
        Some(Kind::ToolCall(call)) => {
            let call_id = dim(call.call_id.clone());
            format!("→ {}({})  {call_id}", terminal.foreign(&call.name), terminal.foreign(&call.arguments_json))
        }
        Some(Kind::ToolResult(result)) => {
            let inside: Vec<String> = result.parts.iter().map(|part| content(part, terminal)).collect();
            let failed = if result.is_error { " failed" } else { "" };
            let given_up = if result.interrupted { " given up" } else { "" };
            format!("← {}{failed}{given_up}\n{}", dim(result.call_id.clone()), inside.join("\n"))
        }
        Some(Kind::Image(image)) => dim(format!("[image {}]", source(image.source.as_ref(), terminal))),
        Some(Kind::File(file)) => {
            dim(format!("[file {} {}]", terminal.foreign(&file.name), source(file.source.as_ref(), terminal)))
        }
        Some(Kind::Unknown(unknown)) => {
            dim(format!("[{}] {}", terminal.foreign(&unknown.r#type), terminal.foreign(&unknown.part_json)))
        }
        None => String::new(),
    }
}

fn source(source: Option<&pb::MediaSource>, terminal: &Terminal) -> String {
    use pb::media_source::Source;
    match source.and_then(|source| source.source.as_ref()) {
        Some(Source::Inline(inline)) => {
            let size = u64::try_from(inline.data.len()).unwrap_or(u64::MAX);
            format!("{}, {}", terminal.foreign(&inline.media_type), words::bytes(size))
        }
        Some(Source::Link(link)) => terminal.foreign(&link.url),
        None => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::chat::said;
    use super::*;

    #[test]
    fn an_exchange_is_told_without_what_it_has_not() {
        let exchange = pb::Exchange {
            exchange_id: "e2".into(),
            run_id: "r2".into(),
            parent_exchange_id: "e1".into(),
            continues_exchange_id: "e1".into(),
            turn: 2,
            depth: 2,
            stop_reason: pb::StopReason::Stop.into(),
            stop_reason_raw: "stop".into(),
            effective_settings: vec![pb::EffectiveSetting {
                name: "model".into(),
                value_json: "\"m\"".into(),
                source: pb::SettingSource::Profile.into(),
            }],
            ..Default::default()
        };
        let expected = [
            "exchange  e2",
            "run       r2",
            "place     turn 2, depth 2",
            "parent    e1",
            "stopped   stop",
            "setting   model = \"m\" (profile)",
        ];
        assert_eq!(facts(&exchange).lines(&Terminal::for_test()), expected);
    }

    #[test]
    fn messages_are_set_in_under_who_speaks() {
        let (mut terminal, out, _) = Terminal::captured();
        show(&said(pb::Role::User, "a\n\nb"), &mut terminal).unwrap();
        assert_eq!(out.text(), "\nuser\n  a\n\n  b\n");
    }
}
