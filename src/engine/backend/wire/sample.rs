//! Calls and histories for the tests of dialects. It must not know any of them.

use proptest::prelude::*;

use super::{Answer, ForeignData, Read, Recipient, Value, Wrong};
use crate::domain::id::CallId;
use crate::domain::message::{Issuer, Kind, Media, Message, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult};
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::{Call, Delta, Failure, FailureKind};

pub(crate) fn call(messages: Vec<Message>) -> Call {
    Call {
        model: "m".to_owned(),
        messages,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        parameters: Parameters::default(),
        contract: Contract::Text,
        session_id: None,
        stream: false,
    }
}

/// Where calls of samples go: the provider `p`, the model `m`.
pub(crate) fn recipient(api: &'static str) -> Recipient<'static> {
    Recipient { provider: "p", api, model: "m", foreign: ForeignData::Drop }
}

pub(crate) fn issuer(api: &str, model: &str) -> Issuer {
    Issuer { provider: "p".to_owned(), api: api.to_owned(), model: model.to_owned() }
}

pub(crate) fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub(crate) fn said(role: Role, parts: Vec<Part>) -> Message {
    Message { role, parts }
}

/// A part that a model issued data with.
pub(crate) fn with_data(kind: Kind, api: &str, model: &str, json: &str) -> Part {
    let data = ProviderData { issuer: issuer(api, model), data_json: json.to_owned() };
    Part { provider_data: Some(data), ..Part::new(kind) }
}

pub(crate) fn thought(text: &str) -> Kind {
    Kind::Reasoning(Reasoning { text: text.to_owned(), is_summary: false })
}

pub(crate) fn tool_call(ours: &str, theirs: &str, name: &str, arguments: &str) -> Kind {
    Kind::ToolCall(ToolCall {
        call_id: CallId::new(ours),
        provider_call_id: theirs.to_owned(),
        name: name.to_owned(),
        arguments_json: arguments.to_owned(),
        arguments_invalid: false,
    })
}

pub(crate) fn result(ours: &str, parts: Vec<Part>) -> Message {
    let result = ToolResult { call_id: CallId::new(ours), parts, is_error: false, interrupted: false };
    said(Role::Tool, vec![Part::new(Kind::ToolResult(result))])
}

pub(crate) fn png() -> Part {
    Part::new(Kind::Image(Media::Inline("image/png".to_owned(), bytes::Bytes::from_static(b"\x01\x02")), String::new()))
}

pub(crate) fn tool(name: &str, schema: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        description: "Does it".to_owned(),
        input_schema_json: schema.to_owned(),
        side_effects: false,
        requires_human: false,
    }
}

/// What a refusal is about.
pub(crate) fn feature(failure: &Failure) -> &str {
    match &failure.kind {
        FailureKind::Unsupported(feature) => feature,
        other => panic!("{other:?}"),
    }
}

/// What comes of some chunks, and what was told on the way.
pub(crate) fn read<A: Answer>(quirks: &A::Quirks, api: &str, chunks: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    let mut answer = A::default();
    let mut deltas = Vec::new();
    for chunk in chunks {
        let object = Value::parse(chunk).unwrap().object().unwrap();
        assert!(A::is_one(&object), "{chunk}");
        if let Err(wrong) = answer.take(&object, quirks, &mut |delta| deltas.push(delta)) {
            return (Err(wrong), deltas);
        }
    }
    answer.tell_rest(&mut |delta| deltas.push(delta));
    (answer.finish(quirks, &issuer(api, "m")), deltas)
}

/// One turn of a history that grows.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    user: String,
    calls: Vec<(String, String, bool)>,
    thought: Option<bool>,
    blank: bool,
    answer: String,
    is_instructed: bool,
}

pub(crate) fn turn() -> impl Strategy<Value = Turn> {
    let calls = proptest::collection::vec(("[ab.]?", "(\\{\\}|\\{|x)", any::<bool>()), 0..3);
    (".{0,3}", calls, any::<Option<bool>>(), any::<bool>(), ".{0,3}", any::<bool>()).prop_map(
        |(user, calls, thought, blank, answer, is_instructed)| Turn {
            user: format!("u{user}"),
            calls,
            thought,
            blank,
            answer,
            is_instructed,
        },
    )
}

/// The history of some turns, and the length of each part of it that was sent: ids repeat, answers may be empty, thoughts are this model's
/// (`data`) or another's.
pub(crate) fn history(turns: &[Turn], api: &str, data: &str) -> (Vec<Message>, Vec<usize>) {
    let mut messages = Vec::new();
    let mut ends = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        if turn.is_instructed {
            messages.push(Message::text(Role::System, "s"));
        }
        messages.push(user(&turn.user));
        ends.push(messages.len());
        let thought = turn.thought.map(|is_own| with_data(thought("r"), api, if is_own { "m" } else { "n" }, data));
        if !turn.calls.is_empty() {
            let id = |at: usize| format!("c-{number}-{at}");
            let calls = turn.calls.iter().enumerate();
            let calls = calls.map(|(at, call)| Part::new(tool_call(&id(at), &call.0, "w", &call.1)));
            let blank = turn.blank.then(|| Part::text(" "));
            messages.push(said(Role::Assistant, thought.iter().cloned().chain(blank).chain(calls).collect()));
            for (at, (_, _, image)) in turn.calls.iter().enumerate() {
                messages.push(result(&id(at), [Part::text("r")].into_iter().chain(image.then(png)).collect()));
            }
            ends.push(messages.len());
        }
        messages.push(said(Role::Assistant, thought.into_iter().chain([Part::text(turn.answer.as_str())]).collect()));
    }
    (messages, ends)
}

/// Each body but the last is, up to the end of its messages, the beginning of the next.
pub(crate) fn assert_each_begins_the_next(bodies: &[String]) -> Result<(), TestCaseError> {
    for body in bodies {
        prop_assert!(serde_json::from_str::<serde_json::Value>(body).is_ok(), "{body}");
    }
    for pair in bodies.windows(2) {
        let (Some(shorter), Some(longer)) = (pair.first(), pair.get(1)) else { continue };
        let shorter = shorter.strip_suffix("]}").unwrap();
        prop_assert!(longer.starts_with(shorter), "{shorter} / {longer}");
    }
    Ok(())
}
