//! Messages in this dialect. What is written for a message depends on it, on those before it and on who speaks next alone, so that the
//! messages of a longer history begin with those of a shorter one. It must not know settings of the call.

use super::content::{Markers, loses_marker, open_block};
use super::names::{Ids, tool_name};
use super::quirks::Quirks;
use crate::domain::message::{Kind, Message, Part, ProviderData, Role, ToolCall, ToolResult};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Recipient, Value, Writer, put_back, tools, unsupported};

/// What is known of the messages written so far.
pub(super) struct History<'a> {
    quirks: &'a Quirks,
    to: Recipient<'a>,
    ids: Ids<'a>,
    markers: Markers,
    /// A message of the user is under way, to which whoever speaks next on that side adds.
    is_open: bool,
    is_empty: bool,
}

impl<'a> History<'a> {
    pub(super) fn new(quirks: &'a Quirks, to: Recipient<'a>, messages: &[Message]) -> Self {
        let markers = Markers::new(quirks, messages);
        Self { quirks, to, ids: Ids::default(), markers, is_open: false, is_empty: true }
    }

    /// The messages before all others that are the system's, as the value of a field of their own.
    pub(super) fn system(
        &mut self,
        messages: &'a [Message],
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        messages.iter().for_each(|message| markers_lost(message, adapted));
        let said: Vec<(usize, &Part)> = messages
            .iter()
            .enumerate()
            .flat_map(|(index, message)| message.parts.iter().map(move |part| (index, part)))
            .filter(|(_, part)| self.is_said(part, adapted))
            .collect();
        if let Some((index, _)) = said.iter().find(|(_, part)| !matches!(part.kind, Kind::Text(_))) {
            let message = format!("message {index} is the system's and has a part that is no text");
            return Err(unsupported("messages.parts", message));
        }
        if said.is_empty() {
            return Ok(());
        }
        out.key("system").open(b'[');
        for (index, part) in said {
            self.block(Role::System, part, index, out, adapted)?;
        }
        out.close(b']');
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
        out.key("messages").open(b'[');
        for (at, message) in messages.iter().enumerate() {
            let next = messages.get(at + 1).map(|message| message.role);
            let index = first + at;
            match message.role {
                Role::Assistant => self.assistant(message, index, next, out, adapted)?,
                Role::Tool => self.results(message, index, out, adapted)?,
                Role::System | Role::User => self.spoken(message, index, next.is_none(), out, adapted)?,
            }
        }
        self.close(out);
        out.close(b']');
        if self.is_empty {
            return Err(unsupported("messages", "the history has no message that this dialect can answer"));
        }
        Ok(())
    }

    fn open(&mut self, out: &mut Writer) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.is_empty = false;
            out.open(b'{');
            out.key("role").text("user");
            out.key("content").open(b'[');
        }
    }

    fn close(&mut self, out: &mut Writer) {
        if std::mem::take(&mut self.is_open) {
            out.close(b']');
            out.close(b'}');
        }
    }

    fn spoken(
        &mut self,
        message: &'a Message,
        index: usize,
        is_last: bool,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        markers_lost(message, adapted);
        let parts: Vec<&Part> = message.parts.iter().filter(|part| self.is_said(part, adapted)).collect();
        if parts.is_empty() && is_last {
            let message = format!("message {index} has nothing that this dialect can say");
            return Err(unsupported("messages.parts", message));
        }
        if message.role == Role::System {
            adapted.add("system_sent_as_user");
        }
        for part in parts {
            self.open(out);
            self.block(message.role, part, index, out, adapted)?;
        }
        Ok(())
    }

    /// Something of it goes out. The API refuses texts of nothing but white space.
    fn is_said(&self, part: &Part, adapted: &mut Adaptations) -> bool {
        match &part.kind {
            Kind::Text(text) | Kind::Refusal(text) if text.trim().is_empty() => {
                adapted.add("blank_text_dropped");
                false
            }
            Kind::Unknown(..) if !self.is_own(part) => {
                adapted.add("unknown_parts_dropped");
                false
            }
            _ => true,
        }
    }

    fn block(
        &mut self,
        role: Role,
        part: &Part,
        index: usize,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        if let Kind::Unknown(_, json) = &part.kind {
            out.json(json);
            return Ok(());
        }
        open_block(self.quirks, part, index, out, adapted)?;
        self.own_fields(part, out, adapted);
        self.markers.write(role, part, out, adapted);
        out.close(b'}');
        Ok(())
    }

    fn assistant(
        &mut self,
        message: &'a Message,
        index: usize,
        next: Option<Role>,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        self.close(out);
        markers_lost(message, adapted);
        let mut parts: Vec<&Part> = message.parts.iter().filter(|part| self.is_answered(part, adapted)).collect();
        // The API takes no message that ends with thinking, which is one that was cut.
        while parts.last().is_some_and(|part| matches!(part.kind, Kind::Reasoning(_))) {
            adapted.add("reasoning_dropped");
            parts.pop();
        }
        let Some(last) = parts.len().checked_sub(1) else {
            adapted.add("empty_message_dropped");
            return Ok(());
        };
        self.is_empty = false;
        out.open(b'{');
        out.key("role").text("assistant");
        out.key("content").open(b'[');
        // What the model is to go on with must not end with white space.
        let is_continued = matches!(next, None | Some(Role::Assistant));
        for (at, part) in parts.into_iter().enumerate() {
            match &part.kind {
                Kind::ToolCall(call) => self.call(part, call, out, adapted)?,
                Kind::Reasoning(reasoning) => self.thinking(part, &reasoning.text, out, adapted),
                Kind::Text(text) | Kind::Refusal(text) if is_continued && at == last && text.trim_end() != text => {
                    adapted.add("trailing_space_trimmed");
                    let trimmed = Part { kind: Kind::Text(text.trim_end().to_owned()), ..part.clone() };
                    self.block(Role::Assistant, &trimmed, index, out, adapted)?;
                }
                _ => self.block(Role::Assistant, part, index, out, adapted)?,
            }
        }
        out.close(b']');
        out.close(b'}');
        Ok(())
    }

    fn is_answered(&self, part: &Part, adapted: &mut Adaptations) -> bool {
        match &part.kind {
            Kind::Image(..) | Kind::File(..) => {
                adapted.add("assistant_media_dropped");
                false
            }
            Kind::Reasoning(_) if !self.quirks.send_thinking => {
                adapted.add("reasoning_dropped");
                false
            }
            // Without its signature, thinking is nobody's.
            Kind::Reasoning(_) if !self.is_own(part) => {
                adapted.add("foreign_reasoning_dropped");
                false
            }
            Kind::Refusal(text) if !text.trim().is_empty() => {
                adapted.add("refusal_sent_as_text");
                true
            }
            _ => self.is_said(part, adapted),
        }
    }

    fn thinking(&mut self, part: &Part, text: &str, out: &mut Writer, adapted: &mut Adaptations) {
        let Some(data) = &part.provider_data else { return };
        out.open(b'{');
        if !names_its_type(data) {
            out.key("type").text("thinking");
            out.key("thinking").text(text);
        }
        put_back(data, out, adapted);
        out.close(b'}');
    }

    fn call(
        &mut self,
        part: &'a Part,
        call: &'a ToolCall,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        if !self.quirks.tools {
            return Err(unsupported("tools", "the history has tool calls, which this backend does not know"));
        }
        out.open(b'{');
        out.key("type").text("tool_use");
        out.key("id").text(&self.ids.give(call, adapted));
        out.key("name").text(&tool_name(&call.name, adapted));
        tools::arguments(&call.arguments_json, out.key("input"), adapted);
        self.own_fields(part, out, adapted);
        self.markers.write(Role::Assistant, part, out, adapted);
        out.close(b'}');
        Ok(())
    }

    fn results(
        &mut self,
        message: &'a Message,
        index: usize,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        markers_lost(message, adapted);
        for part in &message.parts {
            let result = tools::result_in(part)?;
            self.open(out);
            self.result(part, result, index, out, adapted)?;
        }
        Ok(())
    }

    fn result(
        &mut self,
        part: &Part,
        result: &ToolResult,
        index: usize,
        out: &mut Writer,
        adapted: &mut Adaptations,
    ) -> Result<(), Failure> {
        out.open(b'{');
        out.key("type").text("tool_result");
        out.key("tool_use_id").text(&self.ids.of(&result.call_id));
        let parts: Vec<&Part> = result.parts.iter().filter(|part| self.is_said(part, adapted)).collect();
        match parts.as_slice() {
            // A tool may return nothing.
            [] => {}
            [Part { kind: Kind::Text(text), .. }] => out.key("content").text(text),
            parts => {
                out.key("content").open(b'[');
                for part in parts {
                    if let Kind::Unknown(_, json) = &part.kind {
                        out.json(json);
                        continue;
                    }
                    open_block(self.quirks, part, index, out, adapted)?;
                    out.close(b'}');
                }
                out.close(b']');
            }
        }
        if result.is_error {
            out.key("is_error").bool(true);
        }
        self.markers.write(Role::Tool, part, out, adapted);
        out.close(b'}');
        Ok(())
    }

    /// The fields that the provider put beside those of the dialect.
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

/// The data is a whole block, such as thinking that was encrypted.
fn names_its_type(data: &ProviderData) -> bool {
    Value::parse(&data.data_json).and_then(Value::object).is_some_and(|object| object.get("type").is_some())
}

fn markers_lost(message: &Message, adapted: &mut Adaptations) {
    if message.parts.iter().any(|part| loses_marker(message.role, part)) {
        adapted.add("cache_markers_dropped");
    }
}
