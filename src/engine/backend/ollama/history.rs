//! Messages in this dialect. What is written for a message depends on it and on those before it alone, so that the messages of a longer
//! history begin with those of a shorter one. It must not know settings of the call.

use std::collections::HashMap;

use super::quirks::{Quirks, SendReasoning};
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Media, Message, Part, Role, ToolCall, ToolResult};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Recipient, Writer, tools, unsupported};

/// What is known of the messages written so far.
pub(super) struct History<'a> {
    quirks: &'a Quirks,
    recipient: Recipient<'a>,
    /// The calls of the last message that had some: the name of each, and its id on the wire.
    calls: HashMap<&'a CallId, (&'a str, String)>,
    /// Images of results, for the user message that follows the last result of a batch.
    images: Vec<&'a Part>,
}

/// What a message says, apart as the dialect has it.
#[derive(Default)]
struct Content<'a> {
    texts: Vec<&'a str>,
    images: Vec<&'a [u8]>,
}

impl<'a> History<'a> {
    pub(super) fn new(quirks: &'a Quirks, recipient: Recipient<'a>) -> Self {
        Self { quirks, recipient, calls: HashMap::new(), images: Vec::new() }
    }

    pub(super) fn write(
        mut self,
        messages: &'a [Message],
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        for (index, message) in messages.iter().enumerate() {
            if message.role != Role::Tool {
                self.flush_images(out, adapted)?;
            }
            match message.role {
                Role::System => self.spoken("system", index, message, out, adapted)?,
                Role::User => self.spoken("user", index, message, out, adapted)?,
                Role::Assistant => self.assistant(message, out, adapted)?,
                Role::Tool => self.tool(message, out, adapted)?,
            }
        }
        self.flush_images(out, adapted)
    }

    fn spoken(
        &self,
        role: &str,
        index: usize,
        message: &'a Message,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        let mut content = Content::default();
        let mut sent = 0;
        for part in &message.parts {
            match &part.kind {
                Kind::Text(text) if text.is_empty() && message.parts.len() > 1 => adapted.add("empty_text_dropped"),
                Kind::Text(_) | Kind::Image(..) | Kind::File(..) => {
                    self.take(part, &mut content, adapted)?;
                    sent += 1;
                }
                Kind::Unknown(..) => adapted.add("unknown_parts_dropped"),
                Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Reasoning(_) | Kind::Refusal(_) => {
                    let message = format!("message {index} has a part that its role cannot have in this dialect");
                    return Err(unsupported("messages.parts", message));
                }
            }
        }
        if sent == 0 {
            let message = format!("message {index} has nothing that this dialect can say");
            return Err(unsupported("messages.parts", message));
        }
        out.open(b'{');
        out.key("role").text(role);
        content.write(out, adapted);
        out.close(b'}');
        Ok(())
    }

    /// Takes a text, or an image with its bytes.
    fn take(&self, part: &'a Part, content: &mut Content<'a>, adapted: &mut Adaptations) -> Result<(), Failure> {
        if part.cache_marker.is_some() {
            adapted.add("cache_markers_dropped");
        }
        match &part.kind {
            Kind::Text(text) | Kind::Refusal(text) => content.texts.push(text),
            Kind::Image(..) if !self.quirks.images => {
                return Err(unsupported("images", "this backend takes no images"));
            }
            Kind::Image(Media::Link(..), _) => {
                return Err(unsupported("image_links", "this dialect takes images with their bytes, not as links"));
            }
            Kind::Image(Media::Inline(_, bytes), detail) => {
                if !detail.is_empty() {
                    adapted.add("image_detail_dropped");
                }
                if !content.texts.is_empty() {
                    // The dialect shows the images of a message before its text.
                    adapted.add("images_moved");
                }
                content.images.push(bytes);
            }
            Kind::File(..) => return Err(unsupported("files", "this dialect takes no files")),
            Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Reasoning(_) | Kind::Unknown(..) => {}
        }
        Ok(())
    }

    fn assistant(&mut self, message: &'a Message, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let mut content = Content::default();
        let mut calls = Vec::new();
        for part in &message.parts {
            match &part.kind {
                Kind::Text(text) | Kind::Refusal(text) if text.is_empty() => {}
                Kind::Text(_) | Kind::Refusal(_) => {
                    if matches!(part.kind, Kind::Refusal(_)) {
                        adapted.add("refusal_sent_as_text");
                    }
                    self.take(part, &mut content, adapted)?;
                }
                Kind::Image(..) | Kind::File(..) => adapted.add("assistant_media_dropped"),
                Kind::Unknown(..) => adapted.add("unknown_parts_dropped"),
                Kind::ToolCall(call) => calls.push(call),
                Kind::Reasoning(_) => {}
                Kind::ToolResult(_) => {
                    return Err(unsupported("messages.parts", "an assistant message has a tool result"));
                }
            }
            let is_foreign = part.provider_data.is_some() && !matches!(part.kind, Kind::Reasoning(_));
            if is_foreign {
                // The dialect itself attaches nothing.
                adapted.add("foreign_data_dropped");
            }
        }
        out.open(b'{');
        out.key("role").text("assistant");
        content.write(out, adapted);
        self.reasoning(message, !calls.is_empty(), out, adapted);
        if !calls.is_empty() {
            self.calls(&calls, out, adapted)?;
        }
        out.close(b'}');
        Ok(())
    }

    fn reasoning(&self, message: &Message, has_calls: bool, out: &mut Writer, adapted: &mut Adaptations) {
        let wanted = match self.quirks.send_reasoning {
            SendReasoning::WithCalls => has_calls,
            SendReasoning::Always => true,
            SendReasoning::Never => false,
        };
        let mut texts = Vec::new();
        for part in &message.parts {
            let Kind::Reasoning(reasoning) = &part.kind else { continue };
            let own = part.provider_data.as_ref().is_none_or(|data| self.recipient.takes(data));
            match (wanted, own) {
                (true, true) => texts.push(reasoning.text.as_str()),
                (true, false) => adapted.add("foreign_reasoning_dropped"),
                (false, _) => adapted.add("reasoning_dropped"),
            }
        }
        if texts.iter().any(|text| !text.is_empty()) {
            out.key("thinking").joined(texts);
        }
    }

    fn calls(&mut self, calls: &[&'a ToolCall], out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        if !self.quirks.tools {
            return Err(unsupported("tools", "the history has tool calls, which this backend does not know"));
        }
        self.calls.clear();
        out.key("tool_calls").open(b'[');
        for call in calls {
            let given = call.provider_call_id.as_str();
            let is_used = self.calls.values().any(|(_, id)| id == given);
            let id = if given.is_empty() || is_used { call.call_id.as_str() } else { given };
            if is_used && self.quirks.call_ids && !given.is_empty() {
                adapted.add("call_id_replaced");
            }
            out.object(|out| {
                if self.quirks.call_ids {
                    out.key("id").text(id);
                }
                out.key("function").object(|out| {
                    out.key("name").text(&call.name);
                    tools::arguments(&call.arguments_json, out.key("arguments"), adapted);
                });
            });
            self.calls.insert(&call.call_id, (&call.name, id.to_owned()));
        }
        out.close(b']');
        Ok(())
    }

    fn tool(&mut self, message: &'a Message, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        for part in &message.parts {
            let result = tools::result_in(part)?;
            self.result(result, out, adapted)?;
        }
        Ok(())
    }

    fn result(&mut self, result: &'a ToolResult, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let mut content = Content::default();
        for part in &result.parts {
            match &part.kind {
                Kind::Image(..) => {
                    adapted.add("tool_result_media_moved");
                    self.images.push(part);
                }
                Kind::Text(_) | Kind::File(..) => self.take(part, &mut content, adapted)?,
                Kind::Unknown(..) => adapted.add("unknown_parts_dropped"),
                Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Reasoning(_) | Kind::Refusal(_) => {
                    return Err(unsupported("messages.parts", "a tool result has a part that results cannot have"));
                }
            }
        }
        if result.is_error {
            // The dialect has no flag for it; the text is the tool's own.
            adapted.add("tool_error_flag_dropped");
        }
        out.open(b'{');
        out.key("role").text("tool");
        if let Some((name, id)) = self.calls.get(&result.call_id) {
            out.key("tool_name").text(name);
            if self.quirks.call_ids {
                out.key("tool_call_id").text(id);
            }
        }
        content.write(out, adapted);
        out.close(b'}');
        Ok(())
    }

    fn flush_images(&mut self, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let images = std::mem::take(&mut self.images);
        if images.is_empty() {
            return Ok(());
        }
        let mut content = Content::default();
        for image in images {
            self.take(image, &mut content, adapted)?;
        }
        out.open(b'{');
        out.key("role").text("user");
        content.write(out, adapted);
        out.close(b'}');
        Ok(())
    }
}

impl Content<'_> {
    fn write(&self, out: &mut Writer, adapted: &mut Adaptations) {
        if self.texts.len() > 1 {
            adapted.add("texts_joined");
        }
        out.key("content").joined(self.texts.iter().copied());
        if !self.images.is_empty() {
            out.key("images").array(|out| self.images.iter().for_each(|bytes| out.base64_text(bytes)));
        }
    }
}
