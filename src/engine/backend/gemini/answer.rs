//! An answer as it grows, from one response or from the chunks that bring it: one reading for both. It must not know how the JSON was
//! transported.

use super::quirks::Quirks;
use super::usage;
use crate::domain::message::{Issuer, Kind, Part, Reasoning};
use crate::domain::run::StopReason;
use crate::domain::usage::Usage;
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{
    self, Grown, Object, Progress, Read, Said, Value, Warnings, Wrong, data, first_word, tool_call,
};

/// Fields of a candidate that are no part of its message and worth keeping.
const KEPT: [&str; 3] = ["citationMetadata", "groundingMetadata", "urlContextMetadata"];

/// Words for an answer that the provider's filters kept back, in part or whole.
const FILTERED: [&str; 9] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "MODEL_ARMOR",
];

/// Words for an answer that the model or the provider spoilt: it may come out well when it is asked for again.
const SPOILT: [&str; 5] = [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
];

/// An answer whose end has not come yet.
#[derive(Debug, Default)]
pub struct Answer {
    pieces: Vec<Piece>,
    kept: Grown,
    calls: u32,
    finish: String,
    finish_message: String,
    /// Why the prompt was not answered at all.
    blocked: String,
    usage: Usage,
    model: String,
    id: String,
    has_candidate: bool,
    has_other_candidates: bool,
    replaced: bool,
}

/// A part of the answer: what it says, and the fields beside that.
#[derive(Debug)]
struct Piece {
    said: What,
    beside: Grown,
}

#[derive(Debug)]
enum What {
    Text(String),
    Thought(String),
    Call { id: String, name: String, arguments: String },
    Other { word: String, json: String },
}

impl wire::Answer for Answer {
    type Quirks = Quirks;

    fn is_one(object: &Object<'_>) -> bool {
        let known = ["candidates", "promptFeedback", "usageMetadata", "error", "modelVersion", "responseId"];
        known.iter().any(|field| object.get(field).is_some())
    }

    fn take(&mut self, object: &Object<'_>, _quirks: &Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong> {
        if let Some(error) = object.get("error") {
            return Err(Wrong::Said(Said::read(error)));
        }
        first_word(&mut self.id, object.text("responseId"));
        first_word(&mut self.model, object.text("modelVersion"));
        if let Some(value) = object.get("usageMetadata")
            && let Some(figures) = value.object()
        {
            usage::read(&figures, value.raw(), &mut self.usage);
        }
        let feedback = object.object("promptFeedback");
        first_word(&mut self.blocked, feedback.and_then(|feedback| feedback.text("blockReason")));
        for candidate in object.array("candidates").unwrap_or_default() {
            let candidate = candidate.object().ok_or(Wrong::Malformed("a candidate is not an object"))?;
            self.candidate(&candidate, emit);
        }
        Ok(())
    }

    fn note_replaced(&mut self, replaced: bool) {
        self.replaced |= replaced;
    }

    fn progress(&self, _quirks: &Quirks) -> Progress {
        if self.finish.is_empty() && self.blocked.is_empty() { Progress::Open } else { Progress::Finished }
    }

    fn bytes(&self) -> usize {
        self.pieces.iter().map(Piece::bytes).sum::<usize>() + self.kept.bytes()
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn tell_rest(&mut self, _emit: &mut dyn FnMut(Delta)) {}

    fn finish(self, quirks: &Quirks, issuer: &Issuer) -> Result<Read, Wrong> {
        if SPOILT.contains(&self.finish.as_str()) {
            let what = if self.finish_message.is_empty() { "the answer is not usable" } else { &self.finish_message };
            return Err(Wrong::Spoilt(Said::coded(format!("{what} ({})", self.finish), self.finish)));
        }
        let mut warnings = Warnings::default();
        let mut replaced = self.replaced;
        let parts: Option<Vec<Part>> =
            self.pieces.into_iter().map(|piece| piece.finish(issuer, &mut replaced)).collect();
        let mut parts = parts.ok_or(Wrong::Malformed("a tool call has no name"))?;
        let has_calls = parts.iter().any(|part| matches!(part.kind, Kind::ToolCall(_)));
        let (stop_reason, word) = if self.blocked.is_empty() {
            (stop_reason(&self.finish, has_calls), self.finish)
        } else {
            warnings.add("prompt_blocked", "the provider's filter kept the prompt from the model");
            (StopReason::ContentFilter, self.blocked)
        };
        let says_nothing = !parts.iter().any(|part| !matches!(&part.kind, Kind::Text(text) if text.is_empty()));
        if says_nothing {
            let is_cut = matches!(stop_reason, StopReason::MaxTokens | StopReason::ContentFilter);
            let accepted = self.has_candidate && quirks.accept_empty_answer;
            if !is_cut && !accepted {
                return Err(Wrong::Malformed("the provider gave an empty answer"));
            }
        }
        for word in KEPT {
            parts.extend(self.kept.get(word).map(|json| Part::new(Kind::Unknown(word.to_owned(), json))));
        }
        if word.is_empty() {
            warnings.add("finish_reason_missing", "the provider did not say why the model stopped");
        }
        if self.has_other_candidates {
            warnings.add("other_choices_dropped", "the provider sent several answers; the first one was kept");
        }
        warnings.replaced(replaced);
        Ok(Read {
            parts,
            stop_reason,
            stop_reason_raw: word,
            usage: self.usage,
            response_model: self.model,
            response_id: self.id,
            warnings: warnings.0,
        })
    }
}

impl Answer {
    fn candidate(&mut self, candidate: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        if candidate.count("index").unwrap_or(0) != 0 {
            self.has_other_candidates = true;
            return;
        }
        self.has_candidate = true;
        let content = candidate.object("content");
        for part in content.and_then(|content| content.array("parts")).unwrap_or_default() {
            self.part(part, emit);
        }
        for word in KEPT {
            if let Some(value) = candidate.get(word) {
                self.kept.set(word, value);
            }
        }
        if let Some(word) = candidate.text("finishReason").filter(|word| word != "FINISH_REASON_UNSPECIFIED") {
            self.finish = word;
        }
        first_word(&mut self.finish_message, candidate.text("finishMessage"));
    }

    fn part(&mut self, value: Value<'_>, emit: &mut dyn FnMut(Delta)) {
        let Some(object) = value.object() else { return };
        let mut beside = Grown::of(&object).without_nulls();
        let is_thought = object.get("thought").is_some_and(|thought| thought.raw() == "true");
        if let Some(text) = object.text("text") {
            beside.remove("text");
            if !is_thought && object.get("thought").is_some() {
                beside.remove("thought");
            }
            if !text.is_empty() {
                emit(if is_thought { Delta::Reasoning(text.clone()) } else { Delta::Text(text.clone()) });
            }
            return self.say(text, is_thought, beside);
        }
        if let Some(call) = object.object("functionCall") {
            beside.remove("functionCall");
            let name = call.text("name").unwrap_or_default();
            let arguments = call.get("args").map_or_else(|| "{}".to_owned(), Value::text_or_raw);
            let index = self.calls;
            self.calls = self.calls.saturating_add(1);
            emit(Delta::ToolCall { index, name: Some(name.clone()), arguments_json: arguments.clone() });
            let said = What::Call { id: call.text("id").unwrap_or_default(), name, arguments };
            self.pieces.push(Piece { said, beside });
            return;
        }
        let about = ["thought", "thoughtSignature"];
        let word = object.fields().map(|(name, _)| name).find(|name| !about.contains(name)).unwrap_or("part");
        let said = What::Other { word: word.to_owned(), json: value.raw().to_owned() };
        self.pieces.push(Piece { said, beside: Grown::default() });
    }

    /// Text goes on with the text before it, unless one of the two has a signature, which belongs to its part alone.
    fn say(&mut self, more: String, is_thought: bool, beside: Grown) {
        let has_signature = |beside: &Grown| beside.get("thoughtSignature").is_some();
        if let Some(last) = self.pieces.last_mut().filter(|last| !has_signature(&last.beside))
            && !has_signature(&beside)
        {
            match &mut last.said {
                What::Text(text) if !is_thought => return text.push_str(&more),
                What::Thought(text) if is_thought => return text.push_str(&more),
                _ => {}
            }
        }
        let said = if is_thought { What::Thought(more) } else { What::Text(more) };
        self.pieces.push(Piece { said, beside });
    }
}

impl Piece {
    fn bytes(&self) -> usize {
        let said = match &self.said {
            What::Text(text) | What::Thought(text) => text.len(),
            What::Call { id, name, arguments } => id.len() + name.len() + arguments.len(),
            What::Other { word, json } => word.len() + json.len(),
        };
        said + self.beside.bytes()
    }

    /// As a part; absent for a call without a name.
    fn finish(self, issuer: &Issuer, replaced: &mut bool) -> Option<Part> {
        let kind = match self.said {
            What::Text(text) => Kind::Text(text),
            What::Thought(text) => Kind::Reasoning(Reasoning { text, is_summary: true }),
            What::Call { name, .. } if name.is_empty() => return None,
            What::Call { id, name, arguments } => {
                let (call, mended) = tool_call(id, name, arguments);
                *replaced |= mended;
                Kind::ToolCall(call)
            }
            What::Other { word, json } => {
                let mut part = Part::new(Kind::Unknown(word, json));
                // It goes back as it is, and only to whom it came from.
                part.provider_data = Some(data(issuer, "{}".to_owned()));
                return Some(part);
            }
        };
        let mut part = Part::new(kind);
        part.provider_data = (!self.beside.is_empty()).then(|| data(issuer, self.beside.json()));
        Some(part)
    }
}

/// What a provider's word means. There is none for calls: `STOP` is said with them.
fn stop_reason(word: &str, has_calls: bool) -> StopReason {
    match word {
        "MAX_TOKENS" => StopReason::MaxTokens,
        word if FILTERED.contains(&word) => StopReason::ContentFilter,
        _ if has_calls => StopReason::ToolCalls,
        "STOP" => StopReason::Stop,
        _ => StopReason::Other,
    }
}

#[cfg(test)]
mod tests;
