//! Values of the API in words for people: states, reasons, times, tokens, messages on one line. It must not know how they are laid out.

use std::time::{Duration, SystemTime};

use super::width;
use crate::grpc::pb;

/// What stands for what was said in an exchange that was erased.
pub(crate) const ERASED: &str = "(erased)";

/// A state or reason without its prefix, in small letters; `?` for one that this version does not know.
macro_rules! word {
    ($($(#[$doc:meta])* $name:ident: $kind:ident, $prefix:literal;)*) => {
        $($(#[$doc])*
        pub(crate) fn $name(value: i32) -> String {
            let known = pb::$kind::try_from(value).ok().map(|value| value.as_str_name());
            let word = known.map_or("?", |word| word.strip_prefix($prefix).unwrap_or(word));
            if word == "UNSPECIFIED" { String::new() } else { word.to_lowercase().replace('_', " ") }
        })*
    };
}

word! {
    /// Where a run is.
    run_state: RunState, "RUN_STATE_";
    /// Where a coordination is.
    coordination_state: CoordinationState, "COORDINATION_STATE_";
    /// Why a model stopped.
    stop_reason: StopReason, "STOP_REASON_";
    /// Who speaks.
    role: Role, "ROLE_";
    /// What validation found.
    validation: ValidationStatus, "VALIDATION_STATUS_";
    /// Where a setting came from.
    setting_source: SettingSource, "SETTING_SOURCE_";
    /// How an exchange came to be.
    origin: ExchangeOrigin, "EXCHANGE_ORIGIN_";
    /// What an attempt was for.
    attempt_kind: AttemptKind, "ATTEMPT_KIND_";
    /// Whether a store takes writes.
    store_health: StoreHealth, "STORE_HEALTH_";
}

/// How many characters of an exchange id are random, and so tell exchanges apart.
const SHORT: usize = 8;

/// An id short enough for a line: its end, since exchange ids begin with the time. Other ids are shown whole.
pub(crate) fn short_id(id: &str) -> &str {
    let looks_like_uuid = id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if looks_like_uuid { id.get(id.len() - SHORT..).unwrap_or(id) } else { id }
}

/// A moment, in UTC to the second.
pub(crate) fn time(at: Option<&prost_types::Timestamp>) -> String {
    let moment = at.copied().and_then(|at| SystemTime::try_from(at).ok());
    moment.map(|at| humantime::format_rfc3339_seconds(at).to_string().replace('T', " ")).unwrap_or_default()
}

/// A length of time with as many digits as matter.
pub(crate) fn duration(duration: Duration) -> String {
    match duration.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ => humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string(),
    }
}

/// A length of time of the API.
pub(crate) fn api_duration(given: Option<&prost_types::Duration>) -> String {
    given.copied().and_then(|given| Duration::try_from(given).ok()).map(duration).unwrap_or_default()
}

/// Tokens read and written; empty when nothing is known.
pub(crate) fn usage(usage: Option<&pb::Usage>) -> String {
    let Some(usage) = usage else { return String::new() };
    let count = |figure: Option<u64>| figure.map_or("?".to_owned(), |figure| figure.to_string());
    if usage.input_tokens.is_none() && usage.output_tokens.is_none() {
        return String::new();
    }
    let cached = usage.cached_input_tokens.filter(|cached| *cached > 0).map(|cached| format!(" ({cached} cached)"));
    let reasoning = usage.reasoning_tokens.filter(|part| *part > 0).map(|part| format!(" ({part} reasoning)"));
    let partial = usage.completeness() == pb::UsageCompleteness::Partial;
    format!(
        "{}{}{} in, {}{} out",
        if partial { "at least " } else { "" },
        count(usage.input_tokens),
        cached.unwrap_or_default(),
        count(usage.output_tokens),
        reasoning.unwrap_or_default()
    )
}

/// So many things, in the plural unless it is one.
pub(crate) fn count(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let tenths = |unit: u64| (count.saturating_mul(10) + unit / 2) / unit;
    let unit = UNITS.iter().find(|(size, _)| count >= *size);
    unit.map_or_else(
        || format!("{count} B"),
        |(size, name)| format!("{}.{} {name}", tenths(*size) / 10, tenths(*size) % 10),
    )
}

/// The start of what a message says, on one line; calls and results where there is no text.
pub(crate) fn preview(message: &pb::Message, columns: usize) -> String {
    let text: Vec<String> = message.parts.iter().filter_map(part_preview).collect();
    width::one_line(&text.join(" "), columns)
}

fn part_preview(part: &pb::Part) -> Option<String> {
    use pb::part::Kind;
    Some(match part.kind.as_ref()? {
        Kind::Text(text) => text.text.clone(),
        Kind::Refusal(refusal) => refusal.text.clone(),
        Kind::ToolCall(call) => format!("→ {}({})", call.name, call.arguments_json),
        Kind::ToolResult(result) => {
            let inside: Vec<String> = result.parts.iter().filter_map(part_preview).collect();
            format!("← {}", inside.join(" "))
        }
        Kind::Image(_) => "[image]".to_owned(),
        Kind::File(_) => "[file]".to_owned(),
        Kind::Reasoning(_) | Kind::Unknown(_) => return None,
    })
}

/// The start of the last thing that a user, or a tool, said.
pub(crate) fn asked(messages: &[pb::Message], columns: usize) -> String {
    let by = |role: pb::Role| messages.iter().rev().find(move |message| message.role() == role);
    by(pb::Role::User).or_else(|| by(pb::Role::Tool)).map(|message| preview(message, columns)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::chat;
    use super::*;

    #[test]
    fn words_have_no_prefix_and_nothing_is_said_of_what_is_not_set() {
        assert_eq!(run_state(pb::RunState::PendingTools.into()), "pending tools");
        assert_eq!(stop_reason(pb::StopReason::Unspecified.into()), "");
        assert_eq!(stop_reason(999), "?");
    }

    #[test]
    fn exchange_ids_are_cut_to_what_tells_them_apart() {
        assert_eq!(short_id("0193c2a1-5b1e-7c3d-9a2f-0123456789ab"), "456789ab");
        assert_eq!(short_id("my-run-with-a-name"), "my-run-with-a-name");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(duration(Duration::from_millis(12)), "12 ms");
        assert_eq!(duration(Duration::from_millis(1_234)), "1.2 s");
        assert_eq!(duration(Duration::from_secs(61)), "1m 1s");
        assert_eq!((count(1, "prompt"), count(0, "prompt")), ("1 prompt".to_owned(), "0 prompts".to_owned()));
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 30), "5.0 GiB");
        let used = pb::Usage { input_tokens: Some(12), cached_input_tokens: Some(8), ..Default::default() };
        assert_eq!(usage(Some(&used)), "12 (8 cached) in, ? out");
        assert_eq!(usage(Some(&pb::Usage::default())), "");
        assert_eq!(time(Some(&prost_types::Timestamp { seconds: 0, nanos: 5 })), "1970-01-01 00:00:00Z");
    }

    #[test]
    fn previews_show_what_was_asked() {
        let messages = [chat::said(pb::Role::User, "What\nis it?"), chat::said(pb::Role::System, "be brief")];
        assert_eq!(asked(&messages, 40), "What is it?");
        assert_eq!(asked(&[], 40), "");
    }
}
