//! Messages and their parts. It must not know how calls and results pair up over several messages.

use super::problem::{self, filled};
use super::{Path, Problems, json, limit};
use crate::domain::bounds::Most;
use crate::domain::id::CallId;
use crate::domain::message::{
    CacheMarker, Issuer, Kind, Media, Message, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult,
};
use crate::grpc::pb;

#[cfg(test)]
pub(crate) mod tests;

/// Where a part stands; decides which kinds may stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    In(Role),
    Result,
    /// In a message whose role is not known; everything is let through, as the role is a problem already.
    Unknown,
}

/// Messages of a request.
pub fn list_from_pb(
    messages: Vec<pb::Message>,
    most: Most,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Vec<Message>> {
    let remedy = "record the earlier ones, and go on from there";
    if !limit::count(messages.len(), most, "messages", remedy, at, problems) {
        return None;
    }
    all(messages, at, problems, from_pb)
}

/// Reads each item of a list; every one is looked at, even after a problem.
pub(super) fn all<P, D>(
    items: Vec<P>,
    at: &Path<'_>,
    problems: &mut Problems,
    read: impl Fn(P, &Path<'_>, &mut Problems) -> Option<D>,
) -> Option<Vec<D>> {
    let count = items.len();
    let read: Vec<D> =
        items.into_iter().enumerate().filter_map(|(index, item)| read(item, &at.index(index), problems)).collect();
    (read.len() == count).then_some(read)
}

/// A message of a request.
pub fn from_pb(message: pb::Message, at: &Path<'_>, problems: &mut Problems) -> Option<Message> {
    let words = "ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT or ROLE_TOOL";
    let role = match problem::chosen(message.role, words, &at.field("role"), problems) {
        Some(pb::Role::System) => Some(Role::System),
        Some(pb::Role::User) => Some(Role::User),
        Some(pb::Role::Assistant) => Some(Role::Assistant),
        Some(pb::Role::Tool) => Some(Role::Tool),
        Some(pb::Role::Unspecified) | None => None,
    };
    let may_be_empty = role == Some(Role::Assistant);
    let parts = parts_from_pb(
        message.parts,
        role.map_or(Place::Unknown, Place::In),
        may_be_empty,
        &at.field("parts"),
        problems,
    )?;
    let message = Message { role: role?, parts };
    calls_are_distinct(&message, at, problems).then_some(message)
}

fn calls_are_distinct(message: &Message, at: &Path<'_>, problems: &mut Problems) -> bool {
    let mut good = true;
    let mut seen = std::collections::BTreeSet::new();
    for (index, part) in message.parts.iter().enumerate() {
        if let Kind::ToolCall(call) = &part.kind
            && !seen.insert(&call.call_id)
        {
            let parts = at.field("parts");
            let call = parts.index(index);
            problems.add(&call.field("tool_call").field("call_id"), "is the id of another call of this message");
            good = false;
        }
    }
    good
}

fn parts_from_pb(
    parts: Vec<pb::Part>,
    place: Place,
    may_be_empty: bool,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Vec<Part>> {
    if parts.is_empty() && !may_be_empty {
        problems.add(at, "must have at least one part");
        return None;
    }
    let most = problems.bounds().parts;
    if !limit::count(parts.len(), most, "parts", "join some, or send several messages", at, problems) {
        return None;
    }
    all(parts, at, problems, |part, at, problems| part_from_pb(part, place, at, problems))
}

fn part_from_pb(part: pb::Part, place: Place, at: &Path<'_>, problems: &mut Problems) -> Option<Part> {
    let choices = "`text`, `image`, `file`, `tool_call`, `tool_result`, `reasoning`, `refusal` or `unknown`";
    let kind =
        problem::required(part.kind, choices, at, problems).and_then(|kind| kind_from_pb(kind, place, at, problems));
    let provider_data = match part.provider_data {
        None => Some(None),
        Some(data) => provider_data_from_pb(data, &at.field("provider_data"), problems).map(Some),
    };
    Some(Part {
        kind: kind?,
        cache_marker: part.cache_marker.map(|marker| CacheMarker { ttl: marker.ttl }),
        provider_data: provider_data?,
    })
}

fn kind_from_pb(kind: pb::part::Kind, place: Place, at: &Path<'_>, problems: &mut Problems) -> Option<Kind> {
    let (name, fits, where_it_stands) = match &kind {
        pb::part::Kind::Text(_) => ("text", place != Place::In(Role::Tool), "everywhere but in tool messages"),
        pb::part::Kind::Image(_) => ("image", takes_media(place), "in user messages and tool results only"),
        pb::part::Kind::File(_) => ("file", takes_media(place), "in user messages and tool results only"),
        pb::part::Kind::ToolCall(_) => ("tool_call", is_assistant(place), "in assistant messages only"),
        pb::part::Kind::ToolResult(_) => {
            ("tool_result", matches!(place, Place::In(Role::Tool) | Place::Unknown), "in tool messages only")
        }
        pb::part::Kind::Reasoning(_) => ("reasoning", is_assistant(place), "in assistant messages only"),
        pb::part::Kind::Refusal(_) => ("refusal", is_assistant(place), "in assistant messages only"),
        pb::part::Kind::Unknown(_) => ("unknown", is_assistant(place), "in assistant messages only"),
    };
    let at = &at.field(name);
    if !fits {
        problems.add(at, format!("may stand {where_it_stands}"));
        return None;
    }
    match kind {
        pb::part::Kind::Text(text) => {
            // A model and a tool may say nothing; a turn may not (B075).
            if text.text.is_empty() && matches!(place, Place::In(Role::System | Role::User)) {
                problems.add(&at.field("text"), "must not be empty: leave the part out");
                return None;
            }
            Some(Kind::Text(text.text))
        }
        pb::part::Kind::Image(image) => {
            Some(Kind::Image(media_from_pb(image.source, &at.field("source"), problems)?, image.detail))
        }
        pb::part::Kind::File(file) => {
            Some(Kind::File(media_from_pb(file.source, &at.field("source"), problems)?, file.name))
        }
        pb::part::Kind::ToolCall(call) => call_from_pb(call, at, problems).map(Kind::ToolCall),
        pb::part::Kind::ToolResult(result) => result_from_pb(result, at, problems).map(Kind::ToolResult),
        pb::part::Kind::Reasoning(reasoning) => {
            Some(Kind::Reasoning(Reasoning { text: reasoning.text, is_summary: reasoning.is_summary }))
        }
        pb::part::Kind::Refusal(refusal) => Some(Kind::Refusal(refusal.text)),
        pb::part::Kind::Unknown(unknown) => {
            let word = filled(unknown.r#type, &at.field("type"), problems);
            let json = json::any(unknown.part_json, &at.field("part_json"), problems);
            Some(Kind::Unknown(word?, json?))
        }
    }
}

fn takes_media(place: Place) -> bool {
    matches!(place, Place::In(Role::User) | Place::Result | Place::Unknown)
}

fn is_assistant(place: Place) -> bool {
    matches!(place, Place::In(Role::Assistant) | Place::Unknown)
}

fn media_from_pb(source: Option<pb::MediaSource>, at: &Path<'_>, problems: &mut Problems) -> Option<Media> {
    match problem::required(source.and_then(|source| source.source), "`inline` or `link`", at, problems)? {
        pb::media_source::Source::Inline(inline) => {
            let at = &at.field("inline");
            let media_type = media_type(inline.media_type, &at.field("media_type"), problems);
            if inline.data.is_empty() {
                problems.add(&at.field("data"), "must not be empty");
                return None;
            }
            Some(Media::Inline(media_type?, inline.data))
        }
        pb::media_source::Source::Link(link) => {
            let at = &at.field("link");
            let scheme = link.url.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
            let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
            let is_clean = !link.url.chars().any(|c| c.is_whitespace() || c.is_control());
            let media_type = match link.media_type.is_empty() {
                true => Some(String::new()),
                false => media_type(link.media_type, &at.field("media_type"), problems),
            };
            if !is_scheme || !is_clean {
                problems.add(&at.field("url"), "must be a whole address without spaces, such as https://...");
                return None;
            }
            Some(Media::Link(link.url, media_type?))
        }
    }
}

fn media_type(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    let is_type = text.split_once('/').is_some_and(|(kind, sort)| !kind.is_empty() && !sort.is_empty())
        && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    if !is_type {
        problems.add(at, "must be a media type, such as image/png");
        return None;
    }
    Some(text)
}

fn call_from_pb(call: pb::ToolCall, at: &Path<'_>, problems: &mut Problems) -> Option<ToolCall> {
    let call_id = filled(call.call_id, &at.field("call_id"), problems);
    let name = filled(call.name, &at.field("name"), problems);
    if call.arguments_json.is_empty() {
        problems.add(&at.field("arguments_json"), "must not be empty: `{}` when there are no arguments");
        return None;
    }
    // What the model wrote is kept even where it is no JSON object; whether it is one is not for the caller to say.
    let arguments_invalid = !json::is_object(&call.arguments_json);
    Some(ToolCall {
        call_id: CallId::new(call_id?),
        provider_call_id: call.provider_call_id,
        name: name?,
        arguments_json: call.arguments_json,
        arguments_invalid,
    })
}

/// A result for a tool call.
pub fn result_from_pb(result: pb::ToolResult, at: &Path<'_>, problems: &mut Problems) -> Option<ToolResult> {
    let call_id = filled(result.call_id, &at.field("call_id"), problems);
    let parts = parts_from_pb(result.parts, Place::Result, false, &at.field("parts"), problems);
    Some(ToolResult {
        call_id: CallId::new(call_id?),
        parts: parts?,
        is_error: result.is_error,
        interrupted: result.interrupted,
    })
}

fn provider_data_from_pb(data: pb::ProviderData, at: &Path<'_>, problems: &mut Problems) -> Option<ProviderData> {
    let json = json::any(data.data_json, &at.field("data_json"), problems);
    let at = &at.field("issuer");
    let issuer = problem::required(data.issuer, "`provider`, `api` and `model`", at, problems)?;
    let provider = filled(issuer.provider, &at.field("provider"), problems);
    let api = filled(issuer.api, &at.field("api"), problems);
    let model = filled(issuer.model, &at.field("model"), problems);
    Some(ProviderData { issuer: Issuer { provider: provider?, api: api?, model: model? }, data_json: json? })
}

/// A message of an answer.
pub fn to_pb(message: Message) -> pb::Message {
    pb::Message { role: role_to_pb(message.role).into(), parts: message.parts.into_iter().map(part_to_pb).collect() }
}

/// The same of a message that others have as well.
pub fn shared_to_pb(message: &Message) -> pb::Message {
    let parts = message.parts.iter().cloned().map(part_to_pb).collect();
    pb::Message { role: role_to_pb(message.role).into(), parts }
}

fn role_to_pb(role: Role) -> pb::Role {
    match role {
        Role::System => pb::Role::System,
        Role::User => pb::Role::User,
        Role::Assistant => pb::Role::Assistant,
        Role::Tool => pb::Role::Tool,
    }
}

/// Messages of an answer.
pub fn list_to_pb(messages: Vec<Message>) -> Vec<pb::Message> {
    messages.into_iter().map(to_pb).collect()
}

fn part_to_pb(part: Part) -> pb::Part {
    let kind = match part.kind {
        Kind::Text(text) => pb::part::Kind::Text(pb::TextPart { text }),
        Kind::Image(media, detail) => pb::part::Kind::Image(pb::ImagePart { source: Some(media_to_pb(media)), detail }),
        Kind::File(media, name) => pb::part::Kind::File(pb::FilePart { source: Some(media_to_pb(media)), name }),
        Kind::ToolCall(call) => pb::part::Kind::ToolCall(call_to_pb(call)),
        Kind::ToolResult(result) => pb::part::Kind::ToolResult(result_to_pb(result)),
        Kind::Reasoning(Reasoning { text, is_summary }) => {
            pb::part::Kind::Reasoning(pb::ReasoningPart { text, is_summary })
        }
        Kind::Refusal(text) => pb::part::Kind::Refusal(pb::RefusalPart { text }),
        Kind::Unknown(word, part_json) => pb::part::Kind::Unknown(pb::UnknownPart { r#type: word, part_json }),
    };
    pb::Part {
        kind: Some(kind),
        cache_marker: part.cache_marker.map(|marker| pb::CacheMarker { ttl: marker.ttl }),
        provider_data: part.provider_data.map(|data| pb::ProviderData {
            issuer: Some(pb::Issuer { provider: data.issuer.provider, api: data.issuer.api, model: data.issuer.model }),
            data_json: data.data_json,
        }),
    }
}

fn media_to_pb(media: Media) -> pb::MediaSource {
    let source = match media {
        Media::Inline(media_type, data) => pb::media_source::Source::Inline(pb::InlineMedia { media_type, data }),
        Media::Link(url, media_type) => pb::media_source::Source::Link(pb::MediaLink { url, media_type }),
    };
    pb::MediaSource { source: Some(source) }
}

/// A call in an answer.
pub fn call_to_pb(call: ToolCall) -> pb::ToolCall {
    pb::ToolCall {
        call_id: call.call_id.to_string(),
        provider_call_id: call.provider_call_id,
        name: call.name,
        arguments_json: call.arguments_json,
        arguments_invalid: call.arguments_invalid,
    }
}

/// Calls in an answer.
pub fn calls_to_pb(calls: impl IntoIterator<Item = ToolCall>) -> Vec<pb::ToolCall> {
    calls.into_iter().map(call_to_pb).collect()
}

/// A result in an answer.
pub fn result_to_pb(result: ToolResult) -> pb::ToolResult {
    pb::ToolResult {
        call_id: result.call_id.to_string(),
        parts: result.parts.into_iter().map(part_to_pb).collect(),
        is_error: result.is_error,
        interrupted: result.interrupted,
    }
}
