//! What happens on the way of an execution, in streams. It must not know who watches.

use super::{execution, run};
use crate::domain::id::RunId;
use crate::domain::run::AttemptKind;
use crate::domain::settings::Warning;
use crate::engine::backend::Delta;
use crate::grpc::pb;
use crate::grpc::pb::progress::Event;

/// A run is claimed, or was found at work.
pub fn run_started(run_id: &RunId, attached: bool) -> pb::Progress {
    event(Event::RunStarted(pb::RunStarted { run_id: run_id.to_string(), attached }))
}

/// A provider is called.
pub fn attempt_started(number: u32, kind: AttemptKind, backend_id: String, model: String) -> pb::Progress {
    let kind = run::attempt_kind_to_pb(kind).into();
    event(Event::AttemptStarted(pb::AttemptStarted { number, kind, backend_id, model }))
}

/// More of the answer.
pub fn delta(delta: Delta) -> pb::Progress {
    event(Event::Delta(delta_to_pb(delta)))
}

/// What the caller should know.
pub fn warning(warning: Warning) -> pb::Progress {
    event(Event::Warning(execution::warning_to_pb(warning)))
}

fn event(event: Event) -> pb::Progress {
    pb::Progress { event: Some(event) }
}

/// More of the answer, bare.
pub(super) fn delta_to_pb(delta: Delta) -> pb::Delta {
    let delta = match delta {
        Delta::Text(text) => pb::delta::Delta::Text(pb::TextDelta { text }),
        Delta::Reasoning(text) => pb::delta::Delta::Reasoning(pb::ReasoningDelta { text }),
        Delta::ToolCall { index, name, arguments_json } => {
            let name = name.unwrap_or_default();
            pb::delta::Delta::ToolCall(pb::ToolCallDelta { index, name, arguments_json })
        }
        Delta::Refusal(text) => pb::delta::Delta::Refusal(pb::RefusalDelta { text }),
    };
    pb::Delta { delta: Some(delta) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_keeps_its_kind() {
        let text = |piece| match delta_to_pb(piece).delta.unwrap() {
            pb::delta::Delta::Text(piece) => format!("text {}", piece.text),
            pb::delta::Delta::Reasoning(piece) => format!("reasoning {}", piece.text),
            pb::delta::Delta::Refusal(piece) => format!("refusal {}", piece.text),
            pb::delta::Delta::ToolCall(piece) => {
                format!("call {} {} {}", piece.index, piece.name, piece.arguments_json)
            }
        };
        assert_eq!(text(Delta::Text("a".to_owned())), "text a");
        assert_eq!(text(Delta::Reasoning("b".to_owned())), "reasoning b");
        assert_eq!(text(Delta::Refusal("c".to_owned())), "refusal c");
        let call = Delta::ToolCall { index: 1, name: Some("look".to_owned()), arguments_json: "{".to_owned() };
        assert_eq!(text(call), "call 1 look {");
    }

    #[test]
    fn events_say_what_happened() {
        let Some(Event::RunStarted(started)) = run_started(&RunId::new("r"), true).event else { panic!() };
        assert_eq!((started.run_id.as_str(), started.attached), ("r", true));
        let attempt = attempt_started(2, AttemptKind::Retry, "b".to_owned(), "m".to_owned());
        let Some(Event::AttemptStarted(attempt)) = attempt.event else { panic!() };
        assert_eq!((attempt.number, attempt.kind()), (2, pb::AttemptKind::Retry));
        let told = warning(Warning { code: "w".to_owned(), message: "m".to_owned() });
        assert!(matches!(told.event, Some(Event::Warning(warning)) if warning.code == "w"));
        assert!(matches!(delta(Delta::Text(String::new())).event, Some(Event::Delta(_))));
    }
}
