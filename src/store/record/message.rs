//! Stored forms of messages. It must not know which parts are too large to lie in an exchange; see [`super::exchange`].

use super::{Malformed, Twin, Word, required, twin, twins, values, words};
use crate::domain::id::CallId;
use crate::domain::message::{
    CacheMarker, Issuer, Kind, Media, Message, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult,
};

words!(Role, twin::Role, [System, User, Assistant, Tool]);

impl Twin<Message> for twin::Message {
    fn of(message: &Message) -> Self {
        Self { role: message.role.number(), parts: twins(&message.parts) }
    }

    fn value(self) -> Result<Message, Malformed> {
        Ok(Message { role: Role::of_number(self.role, "role")?, parts: values(self.parts)? })
    }
}

impl Twin<Part> for twin::Part {
    fn of(part: &Part) -> Self {
        Self {
            kind: Some(twin::part::Kind::of(&part.kind)),
            cache_marker: part.cache_marker.as_ref().map(|marker| twin::CacheMarker { ttl: marker.ttl.clone() }),
            provider_data: part.provider_data.as_ref().map(|data| twin::ProviderData {
                provider: data.issuer.provider.clone(),
                api: data.issuer.api.clone(),
                model: data.issuer.model.clone(),
                data_json: data.data_json.clone(),
            }),
        }
    }

    fn value(self) -> Result<Part, Malformed> {
        Ok(Part {
            kind: required(self.kind, "parts.kind")?,
            cache_marker: self.cache_marker.map(|marker| CacheMarker { ttl: marker.ttl }),
            provider_data: self.provider_data.map(|data| ProviderData {
                issuer: Issuer { provider: data.provider, api: data.api, model: data.model },
                data_json: data.data_json,
            }),
        })
    }
}

impl Twin<Kind> for twin::part::Kind {
    fn of(kind: &Kind) -> Self {
        match kind {
            Kind::Text(text) => Self::Text(text.clone()),
            Kind::Image(media, detail) => {
                Self::Image(twin::Image { media: Some(twin::Media::of(media)), detail: detail.clone() })
            }
            Kind::File(media, name) => {
                Self::File(twin::File { media: Some(twin::Media::of(media)), name: name.clone() })
            }
            Kind::ToolCall(call) => Self::ToolCall(twin::ToolCall {
                call_id: call.call_id.as_str().to_owned(),
                provider_call_id: call.provider_call_id.clone(),
                name: call.name.clone(),
                arguments_json: call.arguments_json.clone(),
                arguments_invalid: call.arguments_invalid,
            }),
            Kind::ToolResult(result) => Self::ToolResult(twin::ToolResult {
                call_id: result.call_id.as_str().to_owned(),
                parts: twins(&result.parts),
                is_error: result.is_error,
                interrupted: result.interrupted,
            }),
            Kind::Reasoning(reasoning) => {
                Self::Reasoning(twin::Reasoning { text: reasoning.text.clone(), is_summary: reasoning.is_summary })
            }
            Kind::Refusal(text) => Self::Refusal(text.clone()),
            Kind::Unknown(word, json) => Self::Unknown(twin::Unknown { word: word.clone(), json: json.clone() }),
        }
    }

    fn value(self) -> Result<Kind, Malformed> {
        Ok(match self {
            Self::Text(text) => Kind::Text(text),
            Self::Image(image) => Kind::Image(required(image.media, "parts.image.media")?, image.detail),
            Self::File(file) => Kind::File(required(file.media, "parts.file.media")?, file.name),
            Self::ToolCall(call) => Kind::ToolCall(ToolCall {
                call_id: CallId::new(call.call_id),
                provider_call_id: call.provider_call_id,
                name: call.name,
                arguments_json: call.arguments_json,
                arguments_invalid: call.arguments_invalid,
            }),
            Self::ToolResult(result) => Kind::ToolResult(ToolResult {
                call_id: CallId::new(result.call_id),
                parts: values(result.parts)?,
                is_error: result.is_error,
                interrupted: result.interrupted,
            }),
            Self::Reasoning(reasoning) => {
                Kind::Reasoning(Reasoning { text: reasoning.text, is_summary: reasoning.is_summary })
            }
            Self::Refusal(text) => Kind::Refusal(text),
            Self::Unknown(unknown) => Kind::Unknown(unknown.word, unknown.json),
        })
    }
}

impl Twin<Media> for twin::Media {
    fn of(media: &Media) -> Self {
        use twin::media::Source;
        let source = match media {
            Media::Inline(media_type, data) => {
                Source::Inline(twin::InlineMedia { media_type: media_type.clone(), data: data.clone() })
            }
            Media::Link(url, media_type) => {
                Source::Linked(twin::LinkedMedia { url: url.clone(), media_type: media_type.clone() })
            }
        };
        Self { source: Some(source) }
    }

    fn value(self) -> Result<Media, Malformed> {
        use twin::media::Source;
        match self.source {
            Some(Source::Inline(inline)) => Ok(Media::Inline(inline.media_type, inline.data)),
            Some(Source::Linked(linked)) => Ok(Media::Link(linked.url, linked.media_type)),
            Some(Source::Kept(_)) => Err(Malformed::new("media.kept", "was not brought in")),
            None => Err(Malformed::missing("media.source")),
        }
    }
}
