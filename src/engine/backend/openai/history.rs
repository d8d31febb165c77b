//! Messages in this dialect. What is written for a message depends on it and on those before it alone, so that the messages of a longer
//! history begin with those of a shorter one. It must not know settings of the call.

use std::collections::HashSet;

use super::content::content;
use super::quirks::{
    CallContent, InvalidArguments, Quirks, ReasoningField, SendReasoning, SystemPosition, SystemRole, ToolResultMedia,
};
use crate::domain::message::{Kind, Message, Part, Role, ToolResult};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::tools::{self, CallIds, IdForm};
use crate::engine::backend::wire::{Adaptations, Recipient, Writer, put_back, unsupported};

/// What is known of the messages written so far.
pub(super) struct History<'a> {
    quirks: &'a Quirks,
    recipient: Recipient<'a>,
    ids: CallIds<'a>,
    /// Images and files of results, for the user message that follows the last result of a batch.
    media: Vec<&'a Part>,
}

impl<'a> History<'a> {
    pub(super) fn new(quirks: &'a Quirks, recipient: Recipient<'a>) -> Self {
        Self { quirks, recipient, ids: CallIds::default(), media: Vec::new() }
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
                    put_back(data, out, adapted);
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
        let form = self.quirks.call_id_length.map_or(IdForm::Any, |length| IdForm::Exactly(length.into()));
        let mut here = HashSet::new();
        out.key("tool_calls").open(b'[');
        for part in parts {
            let Kind::ToolCall(call) = &part.kind else { continue };
            let id = self.ids.give(call, &mut here, (self.quirks.unique_call_ids, form), adapted);
            out.open(b'{');
            out.key("id").text(&id);
            out.key("type").text("function");
            out.key("function").object(|out| {
                out.key("name").text(&call.name);
                let verbatim = self.quirks.invalid_arguments == InvalidArguments::Verbatim;
                tools::arguments_text(&call.arguments_json, verbatim, out.key("arguments"), adapted);
            });
            match &part.provider_data {
                Some(data) if self.recipient.takes(data) => put_back(data, out, adapted),
                Some(_) => adapted.add("foreign_data_dropped"),
                None => {}
            }
            out.close(b'}');
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
        let moves = self.quirks.tool_result_media == ToolResultMedia::UserMessage;
        let sent = tools::parts_of(result, moves.then_some(&mut self.media), adapted)?;
        out.open(b'{');
        out.key("role").text("tool");
        out.key("tool_call_id").text(self.ids.of(&result.call_id));
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
