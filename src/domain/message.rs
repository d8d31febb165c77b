//! Messages: roles and ordered parts, with what providers attach to them. It must not know how any provider spells them.

use super::id::CallId;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions of the application.
    System,
    /// Who asks.
    User,
    /// The model.
    Assistant,
    /// Results of tool calls.
    Tool,
}

/// One message of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of one text part.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::text(text)] }
    }

    /// Its text parts joined.
    pub fn joined_text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let Kind::Text(text) = &part.kind { Some(text.as_str()) } else { None })
            .collect()
    }

    /// How many bytes of content it has.
    pub fn content_bytes(&self) -> usize {
        self.parts.iter().map(Part::content_bytes).sum()
    }

    /// Its tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| if let Kind::ToolCall(call) = &part.kind { Some(call) } else { None })
    }

    /// Its tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| if let Kind::ToolResult(result) = &part.kind { Some(result) } else { None })
    }
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What the piece is.
    pub kind: Kind,
    /// The provider may cache its work up to here.
    pub cache_marker: Option<CacheMarker>,
    /// What a provider attached for its own use, verbatim.
    pub provider_data: Option<ProviderData>,
}

impl Part {
    /// A part with nothing attached.
    pub fn new(kind: Kind) -> Self {
        Self { kind, cache_marker: None, provider_data: None }
    }

    /// How many bytes of content it has.
    pub fn content_bytes(&self) -> usize {
        let media = |media: &Media| match media {
            Media::Inline(_, bytes) => bytes.len(),
            Media::Link(url, _) => url.len(),
        };
        let own = match &self.kind {
            Kind::Text(text) | Kind::Refusal(text) => text.len(),
            Kind::Image(source, name) | Kind::File(source, name) => media(source) + name.len(),
            Kind::ToolCall(call) => call.name.len() + call.arguments_json.len(),
            Kind::ToolResult(result) => result.parts.iter().map(Self::content_bytes).sum(),
            Kind::Reasoning(reasoning) => reasoning.text.len(),
            Kind::Unknown(word, json) => word.len() + json.len(),
        };
        own + self.provider_data.as_ref().map_or(0, |data| data.data_json.len())
    }

    /// A text part with nothing attached.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Kind::Text(text.into()))
    }
}

/// What a part is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Plain text.
    Text(String),
    /// A picture, with the level of detail in the provider's words.
    Image(Media, String),
    /// A document, with its file name.
    File(Media, String),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// The answer to a call.
    ToolResult(ToolResult),
    /// What the model thought aloud.
    Reasoning(Reasoning),
    /// The model declined, and said this.
    Refusal(String),
    /// Something a provider sent that has no word here: its word for it, and the JSON verbatim.
    Unknown(String, String),
}

/// Where the bytes of an image or file are.
#[derive(Clone, Debug, PartialEq)]
pub enum Media {
    /// Here: the media type and the bytes.
    Inline(String, bytes::Bytes),
    /// At a link that the provider fetches: the address and, when known, the media type.
    Link(String, String),
}

/// The model asks for a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Our id, unique.
    pub call_id: CallId,
    /// The provider's id, used on the wire; empty when it gave none. Not always unique.
    pub provider_call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them; `{}` for none.
    pub arguments_json: String,
    /// The arguments are not a JSON object.
    pub arguments_invalid: bool,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call that this answers.
    pub call_id: CallId,
    /// Text, images and files.
    pub parts: Vec<Part>,
    /// The tool failed.
    pub is_error: bool,
    /// We wrote this because the call was given up.
    pub interrupted: bool,
}

/// What the model thought aloud.
#[derive(Clone, Debug, PartialEq)]
pub struct Reasoning {
    /// The text; empty when only an opaque form came.
    pub text: String,
    /// A summary by the provider.
    pub is_summary: bool,
}

/// A hint that the prefix up to here will be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMarker {
    /// How long to keep it, in the provider's words; empty for its default.
    pub ttl: String,
}

/// What a provider attached, for its own use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderData {
    /// Who issued it.
    pub issuer: Issuer,
    /// The data as JSON text, verbatim.
    pub data_json: String,
}

/// Who issued opaque data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// The provider.
    pub provider: String,
    /// The dialect.
    pub api: String,
    /// The model.
    pub model: String,
}
