//! Messages in this dialect. What is written for a message depends on it and on those before it alone, so that the contents of a longer
//! history begin with those of a shorter one. It must not know settings of the call.

use std::collections::{HashMap, HashSet};

use super::quirks::Quirks;
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Media, Message, Part, Role, ToolCall, ToolResult};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Recipient, Value, Writer, put_back, reader, tools, unsupported};

/// What is known of the messages written so far.
pub(super) struct History<'a> {
    quirks: &'a Quirks,
    to: Recipient<'a>,
    /// The name and the id on the wire of each call.
    calls: HashMap<&'a CallId, (&'a str, Option<String>)>,
    used_ids: HashSet<&'a str>,
    /// Results are being written.
    is_open: bool,
    /// Images and files of results, for the content that follows them.
    media: Vec<&'a Part>,
    is_empty: bool,
}

impl<'a> History<'a> {
    pub(super) fn new(quirks: &'a Quirks, to: Recipient<'a>) -> Self {
        let (calls, used_ids) = (HashMap::new(), HashSet::new());
        Self { quirks, to, calls, used_ids, is_open: false, media: Vec::new(), is_empty: true }
    }

    /// The messages before all others that are the system's, as the value of a field of their own.
    pub(super) fn system(
        &self,
        messages: &[Message],
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        if messages.is_empty() {
            return Ok(());
        }
        out.key("systemInstruction").open(b'{');
        out.key("parts").open(b'[');
        for (index, message) in messages.iter().enumerate() {
            for part in &message.parts {
                if !matches!(part.kind, Kind::Text(_)) {
                    let message = format!("message {index} is the system's and has a part that is no text");
                    return Err(unsupported("messages.parts", message));
                }
                self.part(part, index, out, adapted)?;
            }
        }
        out.close(b']');
        out.close(b'}');
        Ok(())
    }

    /// All other messages. `first` is the index of the first of them.
    pub(super) fn write(
        mut self,
        messages: &'a [Message],
        first: usize,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        out.key("contents").open(b'[');
        for (at, message) in messages.iter().enumerate() {
            let index = first + at;
            if message.role != Role::Tool {
                self.close(index, out, adapted)?;
            }
            match message.role {
                Role::System => {
                    adapted.add("system_sent_as_user");
                    self.spoken("user", message, index, out, adapted)?;
                }
                Role::User => self.spoken("user", message, index, out, adapted)?,
                Role::Assistant => self.spoken("model", message, index, out, adapted)?,
                Role::Tool => self.results(message, out, adapted)?,
            }
        }
        self.close(first + messages.len(), out, adapted)?;
        out.close(b']');
        if self.is_empty {
            return Err(unsupported("messages", "the history has no message that this dialect can answer"));
        }
        Ok(())
    }

    fn spoken(
        &mut self,
        role: &str,
        message: &'a Message,
        index: usize,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        let is_model = role == "model";
        let parts: Vec<&Part> = message.parts.iter().filter(|part| self.is_said(part, is_model, adapted)).collect();
        if parts.is_empty() && !is_model {
            return Err(unsupported(
                "messages.parts",
                format!("message {index} has nothing that this dialect can say"),
            ));
        }
        if parts.is_empty() {
            adapted.add("empty_message_dropped");
            return Ok(());
        }
        begin(role, out);
        self.is_empty = false;
        let mut has_call = false;
        for part in parts {
            match &part.kind {
                Kind::ToolCall(call) if is_model => {
                    let is_first = !std::mem::replace(&mut has_call, true);
                    self.call(part, call, is_first, out, adapted)?;
                }
                _ => self.part(part, index, out, adapted)?,
            }
        }
        end(out);
        Ok(())
    }

    /// Something of it goes out.
    fn is_said(&self, part: &Part, is_model: bool, adapted: &mut Adaptations) -> bool {
        match &part.kind {
            Kind::Text(text) if text.is_empty() && !self.is_own(part) => adapted.add("empty_text_dropped"),
            Kind::Refusal(text) if text.is_empty() => adapted.add("empty_text_dropped"),
            Kind::Unknown(..) if !self.is_own(part) => adapted.add("unknown_parts_dropped"),
            Kind::Reasoning(_) if is_model && !self.is_own(part) => adapted.add("foreign_reasoning_dropped"),
            Kind::Image(..) | Kind::File(..) if is_model => adapted.add("assistant_media_dropped"),
            _ => return true,
        }
        false
    }

    fn part(&self, part: &Part, index: usize, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        if part.cache_marker.is_some() {
            adapted.add("cache_markers_dropped");
        }
        if let Kind::Unknown(_, json) = &part.kind {
            out.json(json);
            return Ok(());
        }
        out.open(b'{');
        match &part.kind {
            Kind::Text(text) => out.key("text").text(text),
            Kind::Refusal(text) => {
                adapted.add("refusal_sent_as_text");
                out.key("text").text(text);
            }
            Kind::Reasoning(reasoning) => out.key("text").text(&reasoning.text),
            Kind::Image(media, detail) => {
                if !detail.is_empty() {
                    adapted.add("image_detail_dropped");
                }
                self.media(media, index, out)?;
            }
            Kind::File(media, name) => {
                if !name.is_empty() {
                    adapted.add("file_name_dropped");
                }
                self.media(media, index, out)?;
            }
            Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Unknown(..) => {
                let message = format!("message {index} has a part that its role cannot have in this dialect");
                return Err(unsupported("messages.parts", message));
            }
        }
        self.own_fields(part, out, adapted);
        out.close(b'}');
        Ok(())
    }

    fn media(&self, media: &Media, index: usize, out: &mut Writer) -> Result<(), Failure> {
        if !self.quirks.media {
            let message = format!("message {index} has an image or a file, and this backend takes none");
            return Err(unsupported("images", message));
        }
        match media {
            Media::Inline(media_type, bytes) => out.key("inlineData").object(|out| {
                out.key("mimeType").text(media_type);
                out.key("data").base64_text(bytes);
            }),
            Media::Link(url, media_type) => out.key("fileData").object(|out| {
                if !media_type.is_empty() {
                    out.key("mimeType").text(media_type);
                }
                out.key("fileUri").text(url);
            }),
        }
        Ok(())
    }

    fn call(
        &mut self,
        part: &'a Part,
        call: &'a ToolCall,
        is_first: bool,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        if !self.quirks.tools {
            return Err(unsupported("tools", "the history has tool calls, which this backend does not know"));
        }
        if part.cache_marker.is_some() {
            adapted.add("cache_markers_dropped");
        }
        let id = self.wire_id(call, adapted);
        out.open(b'{');
        out.key("functionCall").object(|out| {
            if let Some(id) = &id {
                out.key("id").text(id);
            }
            out.key("name").text(&call.name);
            tools::arguments(&call.arguments_json, out.key("args"), adapted);
        });
        self.own_fields(part, out, adapted);
        if let Some(word) = self.quirks.signature_stand_in.as_deref().filter(|_| is_first && !self.has_signature(part))
        {
            adapted.add("signature_stand_in_sent");
            out.key("thoughtSignature").text(word);
        }
        out.close(b'}');
        self.calls.insert(&call.call_id, (&call.name, id));
        Ok(())
    }

    /// The id of a call: the provider's; ours where it cannot tell this call from another one. Calls without one are told apart by their
    /// order.
    fn wire_id(&mut self, call: &'a ToolCall, adapted: &mut Adaptations) -> Option<String> {
        let given = call.provider_call_id.as_str();
        if given.is_empty() || !self.quirks.call_ids {
            return None;
        }
        if self.used_ids.insert(given) {
            return Some(given.to_owned());
        }
        adapted.add("call_id_replaced");
        Some(call.call_id.as_str().to_owned())
    }

    fn has_signature(&self, part: &Part) -> bool {
        let data = part.provider_data.as_ref().filter(|data| self.to.takes(data));
        let object = data.and_then(|data| Value::parse(&data.data_json)).and_then(Value::object);
        object.is_some_and(|object| object.get("thoughtSignature").is_some())
    }

    fn results(&mut self, message: &'a Message, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        for part in &message.parts {
            let result = tools::result_in(part)?;
            if part.cache_marker.is_some() {
                adapted.add("cache_markers_dropped");
            }
            if !std::mem::replace(&mut self.is_open, true) {
                self.is_empty = false;
                begin("user", out);
            }
            self.result(result, out, adapted);
        }
        Ok(())
    }

    fn result(&mut self, result: &'a ToolResult, out: &mut Writer, adapted: &mut Adaptations) {
        let mut texts = Vec::new();
        for part in &result.parts {
            match &part.kind {
                Kind::Text(text) => texts.push(text.as_str()),
                Kind::Image(..) | Kind::File(..) => {
                    adapted.add("tool_result_media_moved");
                    self.media.push(part);
                }
                _ => adapted.add("unknown_parts_dropped"),
            }
        }
        if texts.len() > 1 {
            adapted.add("texts_joined");
        }
        let text = texts.concat();
        let (name, id) = self.calls.get(&result.call_id).cloned().unwrap_or_default();
        out.open(b'{');
        out.key("functionResponse").object(|out| {
            if let Some(id) = &id {
                out.key("id").text(id);
            }
            out.key("name").text(name);
            out.key("response");
            let is_object = reader::is_object(&text);
            match (is_object, result.is_error) {
                (true, false) => out.json(&text),
                (true, true) => out.object(|out| out.key("error").json(&text)),
                (false, is_error) => {
                    // The API takes objects alone, and names these two fields for what is none.
                    adapted.add("tool_result_wrapped");
                    out.object(|out| out.key(if is_error { "error" } else { "output" }).text(&text));
                }
            }
        });
        out.close(b'}');
    }

    /// The end of results, and what they had besides text.
    fn close(&mut self, index: usize, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_open) {
            end(out);
        }
        let media = std::mem::take(&mut self.media);
        if media.is_empty() {
            return Ok(());
        }
        begin("user", out);
        for part in media {
            self.part(part, index.saturating_sub(1), out, adapted)?;
        }
        end(out);
        Ok(())
    }

    /// The fields that the provider put beside what the part says.
    fn own_fields(&self, part: &Part, out: &mut Writer, adapted: &mut Adaptations) {
        match &part.provider_data {
            Some(data) if self.to.takes(data) => put_back(data, out, adapted),
            Some(_) => adapted.add("foreign_data_dropped"),
            None => {}
        }
    }

    fn is_own(&self, part: &Part) -> bool {
        part.provider_data.as_ref().is_some_and(|data| self.to.takes(data))
    }
}

fn begin(role: &str, out: &mut Writer) {
    out.open(b'{');
    out.key("role").text(role);
    out.key("parts").open(b'[');
}

fn end(out: &mut Writer) {
    out.close(b']');
    out.close(b'}');
}
