//! An answer as it grows, from one message or from the events that bring it: one reading for both. It must not know how the JSON was
//! transported.

use super::blocks::Blocks;
use super::quirks::Quirks;
use super::usage::Figures;
use crate::domain::message::{Issuer, Kind};
use crate::domain::run::StopReason;
use crate::domain::usage::Usage;
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{self, Object, Progress, Read, Said, Warnings, Wrong, first_word};

/// An answer whose end has not come yet.
#[derive(Debug, Default)]
pub struct Answer {
    blocks: Blocks,
    figures: Figures,
    model: String,
    id: String,
    stop: String,
    is_done: bool,
    replaced: bool,
}

impl wire::Answer for Answer {
    type Quirks = Quirks;

    fn is_one(object: &Object<'_>) -> bool {
        object.get("type").is_some() || object.get("error").is_some()
    }

    fn take(&mut self, object: &Object<'_>, _quirks: &Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        if let Some(error) = object.get("error") {
            return Err(Wrong::Said(Said::read(error)));
        }
        let index = object.count("index").unwrap_or(0);
        match object.text("type").unwrap_or_default().as_str() {
            "error" => return Err(Wrong::Said(Said::of(object))),
            "message" => {
                self.message(object, emit);
                self.is_done = true;
            }
            "message_start" => {
                if let Some(message) = object.object("message") {
                    self.message(&message, emit);
                }
            }
            "content_block_start" => {
                let block = object.object("content_block").ok_or(Wrong::Malformed("a block is not an object"))?;
                self.blocks.begin(index, &block, emit);
            }
            "content_block_delta" => {
                if let Some(delta) = object.object("delta") {
                    self.blocks.grow(index, &delta, emit);
                }
            }
            "message_delta" => {
                if let Some(delta) = object.object("delta") {
                    self.stopped(&delta);
                }
                if let Some(usage) = object.object("usage") {
                    self.figures.take(&usage);
                }
            }
            "message_stop" => self.is_done = true,
            // Pings, ends of blocks, and events to come.
            _ => {}
        }
        Ok(())
    }

    fn note_replaced(&mut self, replaced: bool) {
        self.replaced |= replaced;
    }

    fn progress(&self, _quirks: &Quirks) -> Progress {
        match (self.is_done, self.stop.is_empty()) {
            (true, _) => Progress::Done,
            (false, false) => Progress::Finished,
            (false, true) => Progress::Open,
        }
    }

    fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    fn usage(&self) -> &Usage {
        self.figures.usage()
    }

    fn tell_rest(&mut self, emit: &mut dyn FnMut(Delta)) {
        self.blocks.tell_rest(emit);
    }

    fn finish(self, quirks: &Quirks, issuer: &Issuer) -> Result<Read, Wrong> {
        let mut warnings = Warnings::default();
        let named = self.blocks.finish(issuer);
        let (parts, in_arguments) = named.ok_or(Wrong::Malformed("a tool call has no name"))?;
        let has_calls = parts.iter().any(|part| matches!(part.kind, Kind::ToolCall(_)));
        let stop_reason = stop_reason(&self.stop, has_calls);
        if parts.is_empty() {
            let is_cut = matches!(stop_reason, StopReason::MaxTokens | StopReason::Refusal);
            let accepted = quirks.accept_empty_answer && !self.stop.is_empty();
            if !is_cut && !accepted {
                return Err(Wrong::Malformed("the provider gave an empty answer"));
            }
        }
        match self.stop.as_str() {
            "" => warnings.add("finish_reason_missing", "the provider did not say why the model stopped"),
            "tool_use" if !has_calls => {
                warnings.add("tool_calls_missing", "the provider says that the model called tools, and sent no call");
            }
            "pause_turn" => {
                let message = "the provider paused a long turn; it goes on when the conversation is continued";
                warnings.add("turn_paused", message);
            }
            _ => {}
        }
        warnings.replaced(self.replaced || in_arguments);
        Ok(Read {
            parts,
            stop_reason,
            stop_reason_raw: self.stop,
            usage: self.figures.usage().clone(),
            response_model: self.model,
            response_id: self.id,
            warnings: warnings.0,
        })
    }
}

impl Answer {
    /// The message itself: whole, or as it is at its start. A start that is told twice adds nothing.
    fn message(&mut self, message: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        first_word(&mut self.id, message.text("id"));
        first_word(&mut self.model, message.text("model"));
        if self.blocks.is_empty() {
            let blocks = message.array("content").unwrap_or_default();
            for (index, block) in (0_u64..).zip(blocks.into_iter().filter_map(wire::Value::object)) {
                self.blocks.begin(index, &block, emit);
            }
        }
        self.stopped(message);
        if let Some(usage) = message.object("usage") {
            self.figures.take(&usage);
        }
    }

    fn stopped(&mut self, said: &Object<'_>) {
        if let Some(word) = said.text("stop_reason") {
            self.stop = word;
        }
    }
}

/// What a provider's word means. An answer that was paused is not whole, and neither our words nor `stop` say so: its own word does.
fn stop_reason(word: &str, has_calls: bool) -> StopReason {
    match word {
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        _ if has_calls => StopReason::ToolCalls,
        "end_turn" => StopReason::Stop,
        "stop_sequence" => StopReason::StopSequence,
        _ => StopReason::Other,
    }
}

#[cfg(test)]
mod tests;
