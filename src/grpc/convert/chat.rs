//! Messages and tools in the form that chats have them, as messages of the API. It must not know commands, or where the text came from.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::grpc::pb;

/// Why text cannot be used.
pub(crate) type Problem = String;

/// Reads a message of the chat form: `role` and `content`.
pub(crate) fn message(text: &str) -> Result<pb::Message, Problem> {
    serde_json::from_str::<Chat>(text).map_err(|error| error.to_string())?.into_message()
}

/// Puts a message after others. The chat form has a message for each result; here all results of an answer are one.
pub(crate) fn push(messages: &mut Vec<pb::Message>, message: pb::Message) {
    match messages.last_mut() {
        Some(last) if message.role() == pb::Role::Tool && last.role() == pb::Role::Tool => {
            last.parts.extend(message.parts);
        }
        _ => messages.push(message),
    }
}

/// Reads tools: a list of them. Each is `{name, description, input_schema}` with the schema as an object, or the function form of chats.
pub(crate) fn tools(text: &str) -> Result<pb::ToolList, Problem> {
    let documents: Vec<ToolDocument> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let read =
        |(index, document): (usize, ToolDocument)| document.into_tool().map_err(|why| format!("tool {index}: {why}"));
    Ok(pb::ToolList { tools: documents.into_iter().enumerate().map(read).collect::<Result<_, _>>()? })
}

/// A message of the chat form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chat {
    role: ChatRole,
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ChatCall>>,
    tool_call_id: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChatRole {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Piece>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Piece {
    Text { text: String },
    Refusal { refusal: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImageUrl {
    url: String,
    #[serde(default)]
    detail: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatCall {
    id: String,
    #[serde(rename = "type")]
    _kind: Option<FunctionKind>,
    function: ChatFunction,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum FunctionKind {
    Function,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatFunction {
    name: String,
    arguments: String,
}

impl Chat {
    fn into_message(self) -> Result<pb::Message, Problem> {
        let mut parts = self.content.map(Content::into_parts).transpose()?.unwrap_or_default();
        parts.extend(self.refusal.map(|text| part(pb::part::Kind::Refusal(pb::RefusalPart { text }))));
        let role = match self.role {
            ChatRole::System => pb::Role::System,
            ChatRole::User => pb::Role::User,
            ChatRole::Assistant => pb::Role::Assistant,
            ChatRole::Tool => {
                let call_id = self.tool_call_id.ok_or("a tool message needs `tool_call_id`")?;
                let result = pb::ToolResult { call_id, parts, is_error: false, interrupted: false };
                let parts = vec![part(pb::part::Kind::ToolResult(result))];
                return Ok(pb::Message { role: pb::Role::Tool.into(), parts });
            }
        };
        if self.tool_call_id.is_some() {
            return Err("only a tool message has `tool_call_id`".to_owned());
        }
        if self.tool_calls.is_some() && role != pb::Role::Assistant {
            return Err("only an assistant message has `tool_calls`".to_owned());
        }
        parts.extend(self.tool_calls.unwrap_or_default().into_iter().map(|call| {
            part(pb::part::Kind::ToolCall(pb::ToolCall {
                call_id: call.id,
                name: call.function.name,
                arguments_json: call.function.arguments,
                ..Default::default()
            }))
        }));
        Ok(pb::Message { role: role.into(), parts })
    }
}

impl Content {
    fn into_parts(self) -> Result<Vec<pb::Part>, Problem> {
        match self {
            Self::Text(text) => Ok(vec![text_part(text)]),
            Self::Parts(pieces) => pieces.into_iter().map(Piece::into_part).collect(),
        }
    }
}

impl Piece {
    fn into_part(self) -> Result<pb::Part, Problem> {
        match self {
            Self::Text { text } => Ok(text_part(text)),
            Self::Refusal { refusal } => Ok(part(pb::part::Kind::Refusal(pb::RefusalPart { text: refusal }))),
            Self::ImageUrl { image_url } => {
                let source = Some(pb::MediaSource { source: Some(media(image_url.url)?) });
                Ok(part(pb::part::Kind::Image(pb::ImagePart { source, detail: image_url.detail })))
            }
        }
    }
}

/// A picture by its address; the bytes themselves where the address holds them.
fn media(url: String) -> Result<pb::media_source::Source, Problem> {
    let Some(rest) = url.strip_prefix("data:") else {
        return Ok(pb::media_source::Source::Link(pb::MediaLink { url, media_type: String::new() }));
    };
    let (media_type, data) = rest.split_once(";base64,").ok_or("a `data:` address must be `data:TYPE;base64,DATA`")?;
    let data = STANDARD.decode(data).map_err(|_| "the `data:` address is not base64")?;
    Ok(pb::media_source::Source::Inline(pb::InlineMedia { media_type: media_type.to_owned(), data: data.into() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolDocument {
    #[serde(rename = "type")]
    _kind: Option<FunctionKind>,
    function: Option<Box<Self>>,
    name: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(alias = "parameters", alias = "inputSchema")]
    input_schema: Option<Box<RawValue>>,
    #[serde(alias = "inputSchemaJson")]
    input_schema_json: Option<String>,
    #[serde(default, alias = "sideEffects")]
    side_effects: bool,
    #[serde(default, alias = "requiresHuman")]
    requires_human: bool,
}

impl ToolDocument {
    fn into_tool(self) -> Result<pb::Tool, Problem> {
        let (side_effects, requires_human) = (self.side_effects, self.requires_human);
        let inner = match self.function {
            Some(inner) if self.name.is_none() && self.input_schema.is_none() && inner.function.is_none() => *inner,
            Some(_) => return Err("has `function` and also what belongs inside it".to_owned()),
            None => self,
        };
        let schema = match (inner.input_schema, inner.input_schema_json) {
            (Some(_), Some(_)) => return Err("has two schemas".to_owned()),
            (Some(raw), None) => raw.get().to_owned(),
            (None, Some(text)) => text,
            (None, None) => r#"{"type":"object"}"#.to_owned(),
        };
        Ok(pb::Tool {
            name: inner.name.ok_or("has no `name`")?,
            description: inner.description,
            input_schema_json: schema,
            side_effects: side_effects || inner.side_effects,
            requires_human: requires_human || inner.requires_human,
            schema_hash: String::new(),
        })
    }
}

fn part(kind: pb::part::Kind) -> pb::Part {
    pb::Part { kind: Some(kind), ..Default::default() }
}

fn text_part(text: String) -> pb::Part {
    part(pb::part::Kind::Text(pb::TextPart { text }))
}
