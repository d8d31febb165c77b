//! Repairs: whether another call can mend the form of an answer, and what is said for it. It must not know how a call is made, nor judge
//! what an answer is worth.
//!
//! What is said here goes to the provider once and is kept nowhere: the history holds the answer alone (rule 3, S4-8).

use serde::Deserialize;

use super::answer::Answer;
use crate::domain::message::{Kind, Message, Part, Role};
use crate::domain::run::StopReason;
use crate::domain::settings::{Validation, ValidationStatus, Violation};

/// How many repairs may be asked for at most, unless the configuration says otherwise.
pub const MAX_ATTEMPTS: u32 = 5;

/// Repairs as they are configured, for contracts, profiles and prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairConfig {
    /// How often an answer may be asked for again; 0 for never.
    pub attempts: u32,
}

/// Whether asking again can help. An answer that was cut would be cut again at the same place, and one that was refused is an answer.
pub(crate) fn helps(answer: &Answer) -> bool {
    let withheld =
        matches!(answer.stop_reason, StopReason::MaxTokens | StopReason::Refusal | StopReason::ContentFilter);
    let refused = answer.assistant.parts.iter().any(|part| matches!(part.kind, Kind::Refusal(_)));
    answer.validation.status == ValidationStatus::Invalid && !withheld && !refused
}

/// What is sent after the call's own messages: the answer that fails, as far as it was said, and what is wrong with it.
pub(crate) fn correction(answer: &Message, validation: &Validation) -> Vec<Message> {
    let text = answer.joined_text();
    let said = (!text.trim().is_empty()).then(|| Message { role: Role::Assistant, parts: vec![Part::text(text)] });
    let wrong = Message::text(Role::User, instruction(&validation.violations));
    said.into_iter().chain([wrong]).collect()
}

fn instruction(violations: &[Violation]) -> String {
    let mut text = "Your last answer does not have the form that was asked for:\n".to_owned();
    for violation in violations {
        let place = match violation.instance_path.as_str() {
            "" => "the whole answer",
            path => path,
        };
        text.push_str(&format!("- at {place}: {}\n", violation.message));
    }
    text.push_str("Give the whole answer once more in that form, corrected, with nothing before or after it.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::exchange::Responder;
    use crate::domain::usage::Usage;

    fn answer(status: ValidationStatus, stop_reason: StopReason, parts: Vec<Part>) -> Answer {
        Answer {
            assistant: Message { role: Role::Assistant, parts },
            stop_reason,
            stop_reason_raw: String::new(),
            validation: Validation { status, violations: Vec::new() },
            usage: Usage::default(),
            responder: Responder::default(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn b109_b117_only_a_whole_answer_that_was_not_withheld_is_asked_for_again() {
        let text = || vec![Part::text("{}")];
        assert!(helps(&answer(ValidationStatus::Invalid, StopReason::Stop, text())));
        assert!(helps(&answer(ValidationStatus::Invalid, StopReason::Stop, Vec::new())));
        assert!(!helps(&answer(ValidationStatus::Valid, StopReason::Stop, text())));
        assert!(!helps(&answer(ValidationStatus::NotApplicable, StopReason::ToolCalls, text())));
        for stop in [StopReason::MaxTokens, StopReason::Refusal, StopReason::ContentFilter] {
            assert!(!helps(&answer(ValidationStatus::Invalid, stop, text())), "{stop:?}");
        }
        let refusal = vec![Part::new(Kind::Refusal("no".to_owned()))];
        assert!(!helps(&answer(ValidationStatus::Invalid, StopReason::Stop, refusal)));
    }

    #[test]
    fn the_correction_has_the_answers_text_and_names_each_place() {
        let violation = |path: &str, message: &str| Violation {
            instance_path: path.to_owned(),
            schema_path: "/type".to_owned(),
            message: message.to_owned(),
        };
        let validation = Validation {
            status: ValidationStatus::Invalid,
            violations: vec![violation("/answer", "is not an integer"), violation("", "is not an object")],
        };
        let correction = |text: &str| correction(&Message::text(Role::Assistant, text), &validation);
        let [said, wrong] = &correction("{\"answer\":\"seven\"}")[..] else { panic!("two messages") };
        assert_eq!((said.role, said.joined_text().as_str()), (Role::Assistant, "{\"answer\":\"seven\"}"));
        let wrong = (wrong.role, wrong.joined_text());
        assert!(wrong.0 == Role::User && wrong.1.contains("- at /answer: is not an integer\n"), "{wrong:?}");
        assert!(wrong.1.contains("- at the whole answer: is not an object\n"), "{wrong:?}");
        // Providers refuse a message that says nothing.
        assert_eq!(correction(" \n").len(), 1);
    }
}
