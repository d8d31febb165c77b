//! An answer as it grows, from one body or from many events: what is kept is read from whole items in either case, so that streaming changes
//! nothing about it. It must not know how the JSON was transported.

use super::items;
use super::quirks::{EmptyAnswer, Quirks};
use super::slots::Slots;
use crate::domain::message::{Issuer, Kind};
use crate::domain::run::StopReason;
use crate::domain::usage::Usage;
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{self, Object, Progress, Read, Said, Warnings, Wrong, first_word, usage};

/// An answer whose end has not come yet.
#[derive(Debug, Default)]
pub struct Answer {
    slots: Slots,
    /// The items of the whole response, where it came with all of them.
    output: Vec<String>,
    has_ended: bool,
    status: String,
    /// Why it is incomplete.
    reason: String,
    usage: Usage,
    model: String,
    id: String,
    replaced: bool,
}

impl Answer {
    /// A whole response, or the last event's.
    fn response(&mut self, response: &Object<'_>) -> Result<(), Wrong> {
        self.about(response);
        if let Some(said) = response.get("usage") {
            usage::read(said, &mut self.usage);
        }
        let reason = response.object("incomplete_details").and_then(|details| details.text("reason"));
        self.reason = reason.unwrap_or_default();
        if let Some(error) = response.get("error") {
            return Err(Wrong::Said(Said::read(error)));
        }
        match response.text("status").unwrap_or_default().as_str() {
            "failed" => return Err(Wrong::Said(Said::plain("the provider says that it failed"))),
            "cancelled" => return Err(Wrong::Said(Said::plain("the provider says that the call was cancelled there"))),
            "queued" | "in_progress" => return Err(Wrong::Malformed("the provider has not finished the answer")),
            status => status.clone_into(&mut self.status),
        }
        let items = response.array("output").unwrap_or_default();
        // Some servers leave items out here that came before.
        if items.len() >= self.slots.len() {
            self.output = items.into_iter().map(|item| item.raw().to_owned()).collect();
            self.slots.let_go();
        }
        self.has_ended = true;
        Ok(())
    }

    fn about(&mut self, response: &Object<'_>) {
        first_word(&mut self.id, response.text("id"));
        first_word(&mut self.model, response.text("model"));
    }

    fn event(&mut self, word: &str, event: &Object<'_>, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        match word {
            "error" => {
                let error = event.get("error").map_or_else(|| Said::of(event), Said::read);
                return Err(Wrong::Said(error));
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                return self.end(word, event);
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                if let Some(response) = event.object("response") {
                    self.about(&response);
                }
            }
            "response.output_item.added" => self.slots.added(event),
            "response.output_item.done" => self.slots.done(event),
            "response.output_text.delta" => self.slots.text(event, emit),
            "response.refusal.delta" => self.slots.refusal(event, emit),
            "response.function_call_arguments.delta" => self.slots.arguments(event, emit),
            "response.reasoning_summary_text.delta" => self.slots.reasoning(event, "summary_index", emit),
            "response.reasoning_text.delta" => self.slots.reasoning(event, "content_index", emit),
            // What else there is repeats what came, or comes again in an item that is whole.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, word: &str, event: &Object<'_>) -> Result<(), Wrong> {
        let response = event.object("response").ok_or(Wrong::Malformed("the last event has no response"))?;
        self.response(&response)?;
        if word == "response.failed" || word == "response.cancelled" {
            return Err(Wrong::Said(Said::plain("the provider says that it failed in the middle of the answer")));
        }
        if self.status.is_empty() {
            word.trim_start_matches("response.").clone_into(&mut self.status);
        }
        Ok(())
    }

    /// The items, each as it was written: those of the whole response, unless the server left some out there. It holds them once.
    fn items(&self) -> Vec<String> {
        if self.output.len() >= self.slots.len() { self.output.clone() } else { self.slots.items() }
    }
}

impl wire::Answer for Answer {
    type Quirks = Quirks;

    fn is_one(object: &Object<'_>) -> bool {
        ["type", "output", "status", "error"].iter().any(|field| object.get(field).is_some())
    }

    fn take(&mut self, object: &Object<'_>, _quirks: &Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        match object.text("type") {
            Some(word) => self.event(&word, object, emit),
            None => self.response(object),
        }
    }

    fn note_replaced(&mut self, replaced: bool) {
        self.replaced |= replaced;
    }

    fn progress(&self, _quirks: &Quirks) -> Progress {
        if self.has_ended { Progress::Done } else { Progress::Open }
    }

    fn bytes(&self) -> usize {
        self.slots.bytes() + self.output.iter().map(String::len).sum::<usize>()
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn tell_rest(&mut self, emit: &mut dyn FnMut(Delta)) {
        if self.has_ended {
            let items = self.items();
            self.slots.tell_rest(&items, emit);
        }
    }

    fn finish(self, quirks: &Quirks, issuer: &Issuer) -> Result<Read, Wrong> {
        let mut warnings = Warnings::default();
        let said = items::read(&self.items(), issuer)?;
        let stop_reason = stop_reason(&self.status, &self.reason, said.has_calls, said.has_refused);
        let is_cut = matches!(stop_reason, StopReason::MaxTokens | StopReason::ContentFilter);
        let is_empty = !said.parts.iter().any(|part| !matches!(part.kind, Kind::Reasoning(_)));
        if is_empty && !is_cut && quirks.empty_answer == EmptyAnswer::Refuse {
            return Err(Wrong::Malformed("the provider gave an empty answer"));
        }
        if self.status.is_empty() {
            warnings.add("finish_reason_missing", "the provider did not say why the model stopped");
        }
        warnings.replaced(self.replaced || said.replaced);
        Ok(Read {
            parts: said.parts,
            stop_reason,
            stop_reason_raw: if self.reason.is_empty() { self.status } else { self.reason },
            usage: self.usage,
            response_model: self.model,
            response_id: self.id,
            warnings: warnings.0,
        })
    }
}

/// What the provider's words mean. A call in an answer that was cut short may be cut short itself.
fn stop_reason(status: &str, reason: &str, has_calls: bool, has_refused: bool) -> StopReason {
    match (status, reason) {
        ("incomplete", "max_output_tokens" | "max_tokens" | "length") => StopReason::MaxTokens,
        ("incomplete", "content_filter") => StopReason::ContentFilter,
        ("incomplete", _) => StopReason::Other,
        _ if has_calls => StopReason::ToolCalls,
        _ if has_refused => StopReason::Refusal,
        ("completed", _) => StopReason::Stop,
        _ => StopReason::Other,
    }
}

#[cfg(test)]
mod tests;
