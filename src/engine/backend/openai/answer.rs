//! An answer as it grows, from one body or from many chunks: one reading for both, so that streaming changes nothing about what is kept.
//! It must not know how the JSON was transported.

use super::details::Details;
use super::quirks::{DoneMarker, EmptyAnswer, Quirks};
use crate::domain::message::{Issuer, Kind, Part, Reasoning};
use crate::domain::run::StopReason;
use crate::domain::usage::Usage;
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{
    self, Calls, Done, Object, Progress, Read, Said, Value, Warnings, Wrong, data, first_word, quoted, usage,
};

/// Fields of a message that have no word of ours and are worth keeping.
const KEPT: [&str; 3] = ["annotations", "images", "audio"];

/// An answer whose end has not come yet.
#[derive(Debug, Default)]
pub struct Answer {
    text: String,
    reasoning: String,
    details: Details,
    refusal: String,
    unknown: Vec<(String, String)>,
    calls: Calls,
    finish: String,
    usage: Usage,
    model: String,
    id: String,
    choice: Option<u64>,
    has_choice: bool,
    is_done: bool,
    has_other_choices: bool,
    replaced: bool,
}

impl wire::Answer for Answer {
    type Quirks = Quirks;

    fn is_one(object: &Object<'_>) -> bool {
        ["choices", "error", "usage", "id"].iter().any(|field| object.get(field).is_some())
    }

    fn take(&mut self, object: &Object<'_>, quirks: &Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        if let Some(error) = object.get("error").filter(|error| !is_nothing(*error)) {
            return Err(Wrong::Said(Said::read(error)));
        }
        if object.text("object").as_deref() == Some("error") {
            return Err(Wrong::Said(Said::of(object)));
        }
        first_word(&mut self.id, object.text("id"));
        first_word(&mut self.model, object.text("model"));
        let elsewhere = object.object("x_groq").and_then(|more| more.get("usage"));
        self.take_usage(elsewhere);
        self.take_usage(object.get("usage"));
        for choice in object.array("choices").unwrap_or_default() {
            let choice = choice.object().ok_or(Wrong::Malformed("a choice is not an object"))?;
            self.take_choice(&choice, quirks, emit)?;
        }
        Ok(())
    }

    fn note_done(&mut self) {
        self.is_done = true;
    }

    fn note_replaced(&mut self, replaced: bool) {
        self.replaced |= replaced;
    }

    fn progress(&self, quirks: &Quirks) -> Progress {
        if self.is_done {
            Progress::Done
        } else if !self.finish.is_empty() && quirks.done_marker == DoneMarker::Optional {
            Progress::Finished
        } else {
            Progress::Open
        }
    }

    fn bytes(&self) -> usize {
        let unknown: usize = self.unknown.iter().map(|(word, json)| word.len() + json.len()).sum();
        self.text.len()
            + self.reasoning.len()
            + self.refusal.len()
            + self.calls.bytes()
            + unknown
            + self.details.bytes()
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn tell_rest(&mut self, emit: &mut dyn FnMut(Delta)) {
        self.calls.tell_names(emit);
    }

    fn finish(self, quirks: &Quirks, issuer: &Issuer) -> Result<Read, Wrong> {
        let mut warnings = Warnings::default();
        let mut replaced = self.replaced;
        let mut parts = Vec::new();
        let details = self.details.json();
        if !self.reasoning.is_empty() || details.is_some() {
            let mut part = Part::new(Kind::Reasoning(Reasoning { text: self.reasoning, is_summary: false }));
            part.provider_data = details.map(|details| data(issuer, format!("{{\"reasoning_details\":{details}}}")));
            parts.push(part);
        }
        if !self.text.is_empty() {
            parts.push(Part::text(self.text));
        }
        let has_refused = !self.refusal.is_empty();
        if has_refused {
            parts.push(Part::new(Kind::Refusal(self.refusal)));
        }
        parts.extend(self.unknown.into_iter().map(|(word, json)| Part::new(Kind::Unknown(word, json))));
        let calls = self.calls.finish().ok_or(Wrong::Malformed("a tool call has no name"))?;
        let has_calls = !calls.is_empty();
        for Done { call, extra, replaced: in_arguments } in calls {
            replaced |= in_arguments;
            let mut part = Part::new(Kind::ToolCall(call));
            if !extra.is_empty() {
                let fields: Vec<_> = extra.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
                part.provider_data = Some(data(issuer, format!("{{{}}}", fields.join(","))));
            }
            parts.push(part);
        }
        let stop_reason = stop_reason(&self.finish, has_calls, has_refused);
        if parts.is_empty() {
            let is_cut = matches!(stop_reason, StopReason::MaxTokens | StopReason::ContentFilter);
            let accepted = self.has_choice && quirks.empty_answer == EmptyAnswer::Accept;
            if !is_cut && !accepted {
                return Err(Wrong::Malformed("the provider gave an empty answer"));
            }
        }
        if self.finish.is_empty() {
            warnings.add("finish_reason_missing", "the provider did not say why the model stopped");
        }
        if !has_calls && matches!(self.finish.as_str(), "tool_calls" | "function_call") {
            warnings.add("tool_calls_missing", "the provider says that the model called tools, and sent no call");
        }
        if self.has_other_choices {
            warnings.add("other_choices_dropped", "the provider sent several answers; the first one was kept");
        }
        warnings.replaced(replaced);
        Ok(Read {
            parts,
            stop_reason,
            stop_reason_raw: self.finish,
            usage: self.usage,
            response_model: self.model,
            response_id: self.id,
            warnings: warnings.0,
        })
    }
}

impl Answer {
    fn take_choice(&mut self, choice: &Object<'_>, quirks: &Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        let index = choice.count("index").unwrap_or(0);
        if *self.choice.get_or_insert(index) != index {
            self.has_other_choices = true;
            return Ok(());
        }
        self.has_choice = true;
        self.take_usage(choice.get("usage"));
        let finish = choice.get("finish_reason").map(Value::text_or_raw).unwrap_or_default();
        if let Some(error) = choice.get("error").filter(|error| !is_nothing(*error)) {
            return Err(Wrong::Said(Said::read(error)));
        }
        if finish == "error" {
            return Err(Wrong::Said(Said::plain("the provider says that it failed in the middle of the answer")));
        }
        if !finish.is_empty() {
            self.finish = finish;
        }
        // Servers that only pretend to stream send whole messages; others repeat the whole one after its pieces.
        let is_new = wire::Answer::bytes(self) == 0;
        let delta = choice.object("delta").filter(|delta| !delta.is_empty());
        let message = delta.or_else(|| choice.object("message").filter(|_| is_new));
        if let Some(message) = message {
            self.take_message(&message, quirks, emit);
        }
        Ok(())
    }

    fn take_message(&mut self, message: &Object<'_>, quirks: &Quirks, emit: &mut dyn FnMut(Delta)) {
        // Where both names are sent they say the same.
        let reasoning = ["reasoning_content", "reasoning"]
            .into_iter()
            .find_map(|name| message.text(name).filter(|text| !text.is_empty()));
        self.reason(reasoning.unwrap_or_default(), emit);
        for detail in message.array("reasoning_details").unwrap_or_default() {
            self.details.take(detail);
        }
        match message.get("content") {
            None => {}
            Some(content) => match (content.text(), content.array()) {
                (Some(text), _) => self.say(text, emit),
                (None, Some(parts)) => parts.into_iter().for_each(|part| self.take_part(part, emit)),
                (None, None) => self.take_part(content, emit),
            },
        }
        self.refuse(message.text("refusal").unwrap_or_default(), emit);
        for word in KEPT {
            match message.get(word) {
                None => {}
                Some(value) => match value.array() {
                    Some(items) => items.into_iter().for_each(|item| self.keep(word, item)),
                    None => self.keep(word, value),
                },
            }
        }
        self.take_calls(message, quirks, emit);
    }

    fn take_calls(&mut self, message: &Object<'_>, quirks: &Quirks, emit: &mut dyn FnMut(Delta)) {
        let mut entries = Vec::new();
        for entry in message.array("tool_calls").unwrap_or_default() {
            match entry.object() {
                Some(object) if object.text("type").is_none_or(|kind| kind == "function" || kind.is_empty()) => {
                    entries.push(object);
                }
                _ => self.keep("tool_call", entry),
            }
        }
        // The form of 2023, of which there is at most one.
        entries.extend(message.object("function_call"));
        self.calls.take(&entries, &quirks.call_extra_fields, emit);
    }

    fn take_part(&mut self, part: Value<'_>, emit: &mut dyn FnMut(Delta)) {
        let Some(object) = part.object() else {
            return match part.text() {
                Some(text) => self.say(text, emit),
                None => self.keep("content", part),
            };
        };
        let word = object.text("type").unwrap_or_default();
        match word.as_str() {
            "text" | "output_text" | "" if object.text("text").is_some() => {
                self.say(object.text("text").unwrap_or_default(), emit);
            }
            "thinking" | "reasoning" => self.think(&word, &object, part, emit),
            "refusal" if object.text("refusal").is_some() => {
                self.refuse(object.text("refusal").unwrap_or_default(), emit);
            }
            _ => self.keep(if word.is_empty() { "content" } else { &word }, part),
        }
    }

    fn think(&mut self, word: &str, object: &Object<'_>, part: Value<'_>, emit: &mut dyn FnMut(Delta)) {
        let inner = object.get(word).or_else(|| object.get("text")).or_else(|| object.get("content"));
        let text = inner.and_then(|inner| match inner.array() {
            None => inner.text(),
            Some(parts) => parts.into_iter().map(|part| part.object()?.text("text")).collect::<Option<String>>(),
        });
        match text {
            Some(text) => self.reason(text, emit),
            None => self.keep(word, part),
        }
    }

    fn say(&mut self, text: String, emit: &mut dyn FnMut(Delta)) {
        if !text.is_empty() {
            self.text.push_str(&text);
            emit(Delta::Text(text));
        }
    }

    fn reason(&mut self, text: String, emit: &mut dyn FnMut(Delta)) {
        if !text.is_empty() {
            self.reasoning.push_str(&text);
            emit(Delta::Reasoning(text));
        }
    }

    fn refuse(&mut self, text: String, emit: &mut dyn FnMut(Delta)) {
        if !text.is_empty() {
            self.refusal.push_str(&text);
            emit(Delta::Refusal(text));
        }
    }

    fn keep(&mut self, word: &str, value: Value<'_>) {
        self.unknown.push((word.to_owned(), value.raw().to_owned()));
    }

    fn take_usage(&mut self, value: Option<Value<'_>>) {
        if let Some(value) = value {
            usage::read(value, &mut self.usage);
        }
    }
}

/// What a provider's word means. That there are calls says more than the word does: even OpenAI says `stop` after a named tool.
fn stop_reason(word: &str, has_calls: bool, has_refused: bool) -> StopReason {
    match word {
        "length" | "max_tokens" | "model_length" => StopReason::MaxTokens,
        "content_filter" => StopReason::ContentFilter,
        _ if has_calls => StopReason::ToolCalls,
        "refusal" => StopReason::Refusal,
        _ if has_refused => StopReason::Refusal,
        "stop" => StopReason::Stop,
        "stop_sequence" => StopReason::StopSequence,
        _ => StopReason::Other,
    }
}

/// What some servers send to say that there is no error.
fn is_nothing(error: Value<'_>) -> bool {
    matches!(error.raw(), "\"\"" | "{}" | "[]" | "false")
}

#[cfg(test)]
mod tests;
