//! Messages in this dialect. What is written for a message depends on it and on those before it alone, so that the messages of a longer
//! history begin with those of a shorter one. It must not know settings of the call.

use std::collections::{HashMap, HashSet};

use super::content::content;
use super::quirks::{
    CallContent, InvalidArguments, Quirks, ReasoningField, SendReasoning, SystemPosition, SystemRole, ToolResultMedia,
};
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Message, Part, Role, ToolCall, ToolResult};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Recipient, Writer, put_back, reader, unsupported};

/// What is known of the messages written so far.
pub(super) struct History<'a> {
    quirks: &'a Quirks,
    recipient: Recipient<'a>,
    wire_ids: HashMap<&'a CallId, String>,
    used_ids: HashSet<String>,
    /// Images and files of results, for the user message that follows the last result of a batch.
    media: Vec<&'a Part>,
}

impl<'a> History<'a> {
    pub(super) fn new(quirks: &'a Quirks, recipient: Recipient<'a>) -> Self {
        Self { quirks, recipient, wire_ids: HashMap::new(), used_ids: HashSet::new(), media: Vec::new() }
    }

    pub(super) fn write(
        mut self,
        messages: &'a [Message],
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        for (index, message) in messages.iter().enumerate() {
            if message.role != Role::Tool {
                self.flush_media(out, adapted)?;
            }
            match message.role {
                Role::System => self.system(index, message, out, adapted)?,
                Role::User => self.user(index, message, out, adapted)?,
                Role::Assistant => self.assistant(message, out, adapted)?,
                Role::Tool => self.tool(message, out, adapted)?,
            }
        }
        self.flush_media(out, adapted)
    }

    fn system(
        &self,
        index: usize,
        message: &'a Message,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        let role = match self.quirks.system_role {
            _ if index > 0 && self.quirks.system_position == SystemPosition::First => {
                adapted.add("system_sent_as_user");
                "user"
            }
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
            SystemRole::User => {
                adapted.add("system_sent_as_user");
                "user"
            }
        };
        let parts: Vec<&Part> = message.parts.iter().collect();
        self.spoken(role, index, &parts, out, adapted)
    }

    fn user(
        &self,
        index: usize,
        message: &'a Message,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        let parts: Vec<&Part> = message.parts.iter().collect();
        self.spoken("user", index, &parts, out, adapted)
    }

    fn spoken(
        &self,
        role: &str,
        index: usize,
        parts: &[&'a Part],
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        let mut sent = Vec::new();
        for part in parts {
            match &part.kind {
                Kind::Text(text) if text.is_empty() && parts.len() > 1 => adapted.add("empty_text_dropped"),
                Kind::Text(_) | Kind::Image(..) | Kind::File(..) => sent.push(*part),
                Kind::Unknown(..) => adapted.add("unknown_parts_dropped"),
                Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Reasoning(_) | Kind::Refusal(_) => {
                    let message = format!("message {index} has a part that its role cannot have in this dialect");
                    return Err(unsupported("messages.parts", message));
                }
            }
        }
        if sent.is_empty() {
            let message = format!("message {index} has nothing that this dialect can say");
            return Err(unsupported("messages.parts", message));
        }
        out.open(b'{');
        out.key("role").text(role);
        out.key("content");
        content(self.quirks, &sent, out, adapted)?;
        out.close(b'}');
        Ok(())
    }

    fn assistant(&mut self, message: &'a Message, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let mut texts: Vec<&Part> = Vec::new();
        let mut refusals = Vec::new();
        let calls: Vec<&Part> = message.parts.iter().filter(|part| matches!(part.kind, Kind::ToolCall(_))).collect();
        for part in &message.parts {
            match &part.kind {
                Kind::Text(text) | Kind::Refusal(text) if text.is_empty() => {
                    if part.provider_data.is_some() {
                        adapted.add("foreign_data_dropped");
                    }
                }
                Kind::Text(_) => texts.push(part),
                Kind::Refusal(text) if self.quirks.refusal_field => refusals.push(text.as_str()),
                Kind::Refusal(_) => {
                    adapted.add("refusal_sent_as_text");
                    texts.push(part);
                }
                Kind::Image(..) | Kind::File(..) => adapted.add("assistant_media_dropped"),
                Kind::Unknown(..) => adapted.add("unknown_parts_dropped"),
                Kind::ToolCall(_) | Kind::Reasoning(_) => {}
                Kind::ToolResult(_) => {
                    return Err(unsupported("messages.parts", "an assistant message has a tool result"));
                }
            }
        }
        // Some models behind this dialect refuse a text of white space beside calls as an empty block.
        if !calls.is_empty() && !texts.is_empty() && texts.iter().all(|part| is_blank(part)) {
            adapted.add("blank_text_dropped");
            texts.clear();
        }
        out.open(b'{');
        out.key("role").text("assistant");
        self.assistant_content(&texts, calls.is_empty() && refusals.is_empty(), out, adapted)?;
        if !refusals.is_empty() {
            out.key("refusal").joined(refusals);
        }
        self.reasoning(message, !calls.is_empty(), out, adapted);
        if !calls.is_empty() {
            self.calls(&calls, out, adapted)?;
        }
        out.close(b'}');
        Ok(())
    }

    fn assistant_content(
        &self,
        texts: &[&Part],
        is_all: bool,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        if !texts.is_empty() {
            out.key("content");
            return content(self.quirks, texts, out, adapted);
        }
        match self.quirks.call_content {
            // Where nothing else is said, servers want a text, if an empty one.
            _ if is_all => out.key("content").text(""),
            CallContent::Null => out.key("content").null(),
            CallContent::Empty => out.key("content").text(""),
            CallContent::Omit => {}
        }
        Ok(())
    }

    fn reasoning(&self, message: &Message, has_calls: bool, out: &mut Writer, adapted: &mut Adaptations) {
        let mut texts = Vec::new();
        let mut details = None;
        for part in &message.parts {
            let Kind::Reasoning(reasoning) = &part.kind else { continue };
            let wanted = match self.quirks.send_reasoning {
                SendReasoning::Never => false,
                SendReasoning::WithCalls => has_calls,
                SendReasoning::Always => true,
            };
            let own = part.provider_data.as_ref().is_none_or(|data| self.recipient.takes(data));
            if !wanted || !own {
                adapted.add(if wanted { "foreign_reasoning_dropped" } else { "reasoning_dropped" });
                continue;
            }
            texts.push(reasoning.text.as_str());
            details = details.or(part.provider_data.as_ref());
        }
        let field = match self.quirks.reasoning_field {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::ReasoningDetails => {
                if let Some(data) = details {
                    put_back(data, &[], out, adapted);
                } else if !texts.is_empty() {
                    adapted.add("reasoning_dropped");
                }
                return;
            }
        };
        if texts.iter().any(|text| !text.is_empty()) {
            out.key(field).joined(texts);
        }
    }

    fn calls(&mut self, parts: &[&'a Part], out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        if !self.quirks.tools {
            return Err(unsupported("tools", "the history has tool calls, which this backend does not know"));
        }
        let mut here = HashSet::new();
        out.key("tool_calls").open(b'[');
        for part in parts {
            let Kind::ToolCall(call) = &part.kind else { continue };
            let id = self.wire_id(call, &mut here, adapted);
            out.open(b'{');
            out.key("id").text(&id);
            out.key("type").text("function");
            out.key("function").object(|out| {
                out.key("name").text(&call.name);
                self.arguments(call, out.key("arguments"), adapted);
            });
            match &part.provider_data {
                Some(data) if self.recipient.takes(data) => put_back(data, &[], out, adapted),
                Some(_) => adapted.add("foreign_data_dropped"),
                None => {}
            }
            out.close(b'}');
            self.wire_ids.insert(&call.call_id, id);
        }
        out.close(b']');
        Ok(())
    }

    fn arguments(&self, call: &ToolCall, out: &mut Writer, adapted: &mut Adaptations) {
        let arguments = call.arguments_json.as_str();
        if self.quirks.invalid_arguments == InvalidArguments::Verbatim || reader::is_object(arguments) {
            out.text(arguments);
            return;
        }
        adapted.add("invalid_arguments_wrapped");
        let mut wrapped = Writer::new();
        wrapped.object(|wrapped| wrapped.key("invalid_arguments").text(arguments));
        out.text(&String::from_utf8_lossy(&wrapped.into_bytes()));
    }

    /// The id of a call on the wire: the provider's, unless there is none, or it cannot tell this call from another of the same message.
    fn wire_id(&mut self, call: &'a ToolCall, here: &mut HashSet<&'a str>, adapted: &mut Adaptations) -> String {
        let given = call.provider_call_id.as_str();
        let repeats = !here.insert(given) || self.quirks.unique_call_ids && self.used_ids.contains(given);
        let mut id = if given.is_empty() {
            call.call_id.as_str().to_owned()
        } else if repeats {
            adapted.add("call_id_replaced");
            call.call_id.as_str().to_owned()
        } else {
            given.to_owned()
        };
        if let Some(length) = self.quirks.call_id_length.map(usize::from) {
            let fits = id.len() == length && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if !fits {
                adapted.add("call_id_replaced");
                id = blake3::hash(id.as_bytes()).to_hex().chars().take(length).collect();
            }
        }
        self.used_ids.insert(given.to_owned());
        id
    }

    fn tool(&mut self, message: &'a Message, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        for part in &message.parts {
            let Kind::ToolResult(result) = &part.kind else {
                return Err(unsupported("messages.parts", "a tool message has a part that is no result"));
            };
            self.result(result, out, adapted)?;
        }
        Ok(())
    }

    fn result(&mut self, result: &'a ToolResult, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let mut sent = Vec::new();
        for part in &result.parts {
            match &part.kind {
                Kind::Image(..) | Kind::File(..) if self.quirks.tool_result_media == ToolResultMedia::UserMessage => {
                    adapted.add("tool_result_media_moved");
                    self.media.push(part);
                }
                Kind::Text(text) if text.is_empty() && result.parts.len() > 1 => adapted.add("empty_text_dropped"),
                Kind::Text(_) | Kind::Image(..) | Kind::File(..) => sent.push(part),
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
        let id = self.wire_ids.get(&result.call_id).map_or(result.call_id.as_str(), String::as_str);
        out.open(b'{');
        out.key("role").text("tool");
        out.key("tool_call_id").text(id);
        out.key("content");
        content(self.quirks, &sent, out, adapted)?;
        out.close(b'}');
        Ok(())
    }

    fn flush_media(&mut self, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let media = std::mem::take(&mut self.media);
        if media.is_empty() {
            return Ok(());
        }
        out.open(b'{');
        out.key("role").text("user");
        out.key("content");
        content(self.quirks, &media, out, adapted)?;
        out.close(b'}');
        Ok(())
    }
}

fn is_blank(part: &Part) -> bool {
    matches!(&part.kind, Kind::Text(text) if text.trim().is_empty())
}
