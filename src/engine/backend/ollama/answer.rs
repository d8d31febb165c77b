//! An answer as it grows, from one body or from many lines: one reading for both, so that streaming changes nothing about what is kept. It
//! must not know how the JSON was transported.

use super::quirks::{EmptyAnswer, Quirks};
use crate::domain::message::{Issuer, Kind, Part, Reasoning, ToolCall};
use crate::domain::run::StopReason;
use crate::domain::usage::Usage;
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{
    self, Object, Progress, Read, Said, Value, Warnings, Wrong, first_word, quoted, settle, tool_call,
};

/// Fields of a message that have words of ours.
const KNOWN: [&str; 5] = ["role", "content", "thinking", "tool_calls", "tool_name"];

/// Figures of the last line, which stand beside each other and not in an object of their own.
const FIGURES: [&str; 6] =
    ["total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration"];

/// An answer whose end has not come yet.
#[derive(Debug, Default)]
pub struct Answer {
    text: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    unknown: Vec<(String, String)>,
    is_done: bool,
    reason: String,
    usage: Usage,
    model: String,
    replaced: bool,
}

impl Answer {
    fn message(&mut self, message: &Object<'_>, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        let text = |name: &str| message.text(name).filter(|text| !text.is_empty());
        if let Some(more) = text("thinking") {
            self.reasoning.push_str(&more);
            emit(Delta::Reasoning(more));
        }
        if let Some(more) = text("content") {
            self.text.push_str(&more);
            emit(Delta::Text(more));
        }
        for call in message.array("tool_calls").unwrap_or_default() {
            self.call(call, emit)?;
        }
        for (word, value) in message.fields().filter(|(word, value)| !KNOWN.contains(word) && value.raw() != "null") {
            self.unknown.push((word.to_owned(), value.raw().to_owned()));
        }
        Ok(())
    }

    /// A call, which comes whole.
    fn call(&mut self, call: Value<'_>, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        let nameless = Wrong::Malformed("a tool call has no name");
        let Some(call) = call.object() else { return Err(nameless) };
        let function = call.object("function");
        let function = function.as_ref().unwrap_or(&call);
        let Some(name) = function.text("name").filter(|name| !name.is_empty()) else { return Err(nameless) };
        // The object as it was written; a text, as some servers send it, as what it says.
        let arguments = function.get("arguments").map(Value::text_or_raw).unwrap_or_default();
        let (call, replaced) = tool_call(call.text("id").unwrap_or_default(), name.clone(), arguments);
        self.replaced |= replaced;
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        emit(Delta::ToolCall { index, name: Some(name), arguments_json: call.arguments_json.clone() });
        self.calls.push(call);
        Ok(())
    }

    fn end(&mut self, object: &Object<'_>) {
        self.is_done = true;
        self.reason = object.text("done_reason").unwrap_or_default();
        // A figure that is left out is unknown: the server leaves out those of work that it did not have to do, too.
        self.usage.input_tokens = object.count("prompt_eval_count");
        self.usage.output_tokens = object.count("eval_count");
        let figures = object.fields().filter(|(key, value)| FIGURES.contains(key) && value.raw() != "null");
        let figures: Vec<_> = figures.map(|(key, value)| format!("{}:{}", quoted(key), value.raw())).collect();
        settle(&mut self.usage, &format!("{{{}}}", figures.join(",")));
    }
}

impl wire::Answer for Answer {
    type Quirks = Quirks;

    const LINES: bool = true;

    fn is_one(object: &Object<'_>) -> bool {
        ["message", "done", "error"].iter().any(|field| object.get(field).is_some())
    }

    fn take(&mut self, object: &Object<'_>, _quirks: &Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        if let Some(error) = object.get("error") {
            return Err(Wrong::Said(Said::read(error)));
        }
        first_word(&mut self.model, object.text("model"));
        if let Some(message) = object.object("message") {
            self.message(&message, emit)?;
        }
        if object.get("done").is_some_and(|done| done.raw() == "true") {
            self.end(object);
        }
        Ok(())
    }

    fn note_replaced(&mut self, replaced: bool) {
        self.replaced |= replaced;
    }

    fn progress(&self, _quirks: &Quirks) -> Progress {
        if self.is_done { Progress::Done } else { Progress::Open }
    }

    fn bytes(&self) -> usize {
        let calls: usize = self.calls.iter().map(|call| call.name.len() + call.arguments_json.len()).sum();
        let unknown: usize = self.unknown.iter().map(|(word, json)| word.len() + json.len()).sum();
        self.text.len() + self.reasoning.len() + calls + unknown
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn tell_rest(&mut self, _emit: &mut dyn FnMut(Delta)) {}

    fn finish(self, quirks: &Quirks, _issuer: &Issuer) -> Result<Read, Wrong> {
        if !self.is_done {
            return Err(Wrong::Malformed("the provider's answer ended before it was whole"));
        }
        let mut warnings = Warnings::default();
        let mut parts = Vec::new();
        let (has_text, has_calls) = (!self.text.is_empty(), !self.calls.is_empty());
        if !self.reasoning.is_empty() {
            parts.push(Part::new(Kind::Reasoning(Reasoning { text: self.reasoning, is_summary: false })));
        }
        if has_text {
            parts.push(Part::text(self.text));
        }
        parts.extend(self.unknown.into_iter().map(|(word, json)| Part::new(Kind::Unknown(word, json))));
        parts.extend(self.calls.into_iter().map(|call| Part::new(Kind::ToolCall(call))));
        let stop_reason = match self.reason.as_str() {
            "length" => StopReason::MaxTokens,
            _ if has_calls => StopReason::ToolCalls,
            "stop" => StopReason::Stop,
            _ => StopReason::Other,
        };
        if !has_text && !has_calls && stop_reason != StopReason::MaxTokens && quirks.empty_answer == EmptyAnswer::Refuse
        {
            let what = if self.reason == "load" {
                "the provider only loaded the model"
            } else {
                "the provider gave an empty answer"
            };
            return Err(Wrong::Malformed(what));
        }
        if self.reason.is_empty() {
            warnings.add("finish_reason_missing", "the provider did not say why the model stopped");
        }
        warnings.replaced(self.replaced);
        Ok(Read {
            parts,
            stop_reason,
            stop_reason_raw: self.reason,
            usage: self.usage,
            response_model: self.model,
            response_id: String::new(),
            warnings: warnings.0,
        })
    }
}

#[cfg(test)]
mod tests;
