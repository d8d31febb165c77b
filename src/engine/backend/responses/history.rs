//! Messages as input items. What is written for a message depends on it and on those before it alone, so that the items of a longer history
//! begin with those of a shorter one. Nothing refers to what the provider keeps: the whole history goes out, every time. It must not know
//! settings of the call.

use std::collections::HashSet;

use super::content::content;
use super::quirks::{InvalidArguments, Quirks, SendReasoning, SystemRole, ToolResultMedia};
use super::said::{self, Group};
use crate::domain::message::{Kind, Message, Part, ProviderData, Role, ToolCall, ToolResult};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::tools::{self, CallIds, IdForm};
use crate::engine::backend::wire::{Adaptations, Object, Recipient, Value, Writer, reader, unsupported};

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
                Role::System => {
                    let role = match self.quirks.system_role {
                        SystemRole::System => "system",
                        SystemRole::Developer => "developer",
                    };
                    self.spoken(role, index, message, out, adapted)?;
                }
                Role::User => self.spoken("user", index, message, out, adapted)?,
                Role::Assistant => self.assistant(message, out, adapted)?,
                Role::Tool => self.tool(message, out, adapted)?,
            }
        }
        self.flush_media(out, adapted)
    }

    fn spoken(
        &self,
        role: &str,
        index: usize,
        message: &'a Message,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        let mut sent = Vec::new();
        for part in &message.parts {
            match &part.kind {
                Kind::Text(text) if text.is_empty() && message.parts.len() > 1 => adapted.add("empty_text_dropped"),
                Kind::Text(_) | Kind::Image(..) | Kind::File(..) => sent.push(part),
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
        self.input(role, &sent, out, adapted)
    }

    fn input(&self, role: &str, parts: &[&Part], out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        out.open(b'{');
        out.key("type").text("message");
        out.key("role").text(role);
        out.key("content");
        content(self.quirks, parts, out, adapted)?;
        out.close(b'}');
        Ok(())
    }

    fn assistant(&mut self, message: &'a Message, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let has_calls = message.tool_calls().next().is_some();
        // The API refuses reasoning that nothing follows, such as that of an answer which was cut short.
        let last = message.parts.iter().rposition(|part| self.is_item(part)).unwrap_or(0);
        let replayed = |at: usize, part: &'a Part| {
            self.own(part).filter(|_| at < last && self.wants_reasoning(has_calls)).and_then(said::reasoning)
        };
        let reasoning: Vec<Option<Object<'_>>> =
            message.parts.iter().enumerate().map(|(at, part)| replayed(at, part)).collect();
        // Ids tie items to the reasoning beside them; without it the API refuses them.
        let ids = self.quirks.item_ids && reasoning.iter().any(Option::is_some);
        let mut here = HashSet::new();
        let mut group = Group::default();
        let mut wrote = false;
        for (part, reasoning) in message.parts.iter().zip(reasoning) {
            let own = self.own(part);
            match &part.kind {
                Kind::Text(text) | Kind::Refusal(text) if text.is_empty() => continue,
                Kind::Text(_) | Kind::Refusal(_) => {
                    if own.is_none() && part.provider_data.is_some() {
                        adapted.add("foreign_data_dropped");
                    }
                    if part.cache_marker.is_some() {
                        adapted.add("cache_markers_dropped");
                    }
                    group.add(part, own, ids, out);
                    wrote = true;
                    continue;
                }
                _ => group.flush(ids, out),
            }
            match &part.kind {
                Kind::Reasoning(_) => match reasoning {
                    Some(item) => {
                        said::item(&item, self.quirks.item_ids, out);
                        wrote = true;
                    }
                    None => {
                        let foreign = own.is_none() && self.wants_reasoning(has_calls);
                        adapted.add(if foreign { "foreign_reasoning_dropped" } else { "reasoning_dropped" });
                    }
                },
                Kind::ToolCall(call) => {
                    self.call(call, part, ids, &mut here, out, adapted)?;
                    wrote = true;
                }
                Kind::Unknown(_, json) => match own.and(object(json)) {
                    Some(item) => {
                        said::item(&item, self.quirks.item_ids, out);
                        wrote = true;
                    }
                    None => adapted.add("unknown_parts_dropped"),
                },
                Kind::Image(..) | Kind::File(..) => adapted.add("assistant_media_dropped"),
                Kind::ToolResult(_) => {
                    return Err(unsupported("messages.parts", "an assistant message has a tool result"));
                }
                Kind::Text(_) | Kind::Refusal(_) => {}
            }
        }
        group.flush(ids, out);
        if !wrote {
            adapted.add("empty_message_dropped");
        }
        Ok(())
    }

    /// A part that is sent as an item, or a piece of one, and is no reasoning.
    fn is_item(&self, part: &Part) -> bool {
        match &part.kind {
            Kind::Text(text) | Kind::Refusal(text) => !text.is_empty(),
            Kind::ToolCall(_) => true,
            Kind::Unknown(_, json) => self.own(part).is_some() && object(json).is_some(),
            Kind::Reasoning(_) | Kind::Image(..) | Kind::File(..) | Kind::ToolResult(_) => false,
        }
    }

    fn wants_reasoning(&self, has_calls: bool) -> bool {
        match self.quirks.send_reasoning {
            SendReasoning::Always => true,
            SendReasoning::WithCalls => has_calls,
            SendReasoning::Never => false,
        }
    }

    fn call(
        &mut self,
        call: &'a ToolCall,
        part: &'a Part,
        ids: bool,
        here: &mut HashSet<&'a str>,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        if !self.quirks.tools {
            return Err(unsupported("tools", "the history has tool calls, which this backend does not know"));
        }
        let form = IdForm::AtMost(self.quirks.max_call_id_length.into());
        let id = self.ids.give(call, here, (self.quirks.unique_call_ids, form), adapted);
        out.open(b'{');
        out.key("type").text("function_call");
        out.key("call_id").text(&id);
        out.key("name").text(&call.name);
        let verbatim = self.quirks.invalid_arguments == InvalidArguments::Verbatim;
        tools::arguments_text(&call.arguments_json, verbatim, out.key("arguments"), adapted);
        match self.own(part).and_then(|data| object(&data.data_json)) {
            Some(fields) => said::fields(&fields, ids, out),
            None if part.provider_data.is_some() => adapted.add("foreign_data_dropped"),
            None => {}
        }
        out.close(b'}');
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
        out.key("type").text("function_call_output");
        out.key("call_id").text(self.ids.of(&result.call_id));
        out.key("output");
        content(self.quirks, &sent, out, adapted)?;
        out.close(b'}');
        Ok(())
    }

    fn flush_media(&mut self, out: &mut Writer, adapted: &mut Adaptations) -> Result<(), Failure> {
        let media = std::mem::take(&mut self.media);
        if media.is_empty() { Ok(()) } else { self.input("user", &media, out, adapted) }
    }

    /// What is attached to a part and may go to the recipient.
    fn own<'p>(&self, part: &'p Part) -> Option<&'p ProviderData> {
        part.provider_data.as_ref().filter(|data| self.recipient.takes(data))
    }
}

/// JSON that may go out as an object.
pub(super) fn object(json: &str) -> Option<Object<'_>> {
    Value::parse(json).filter(|_| reader::is_json(json)).and_then(Value::object)
}
