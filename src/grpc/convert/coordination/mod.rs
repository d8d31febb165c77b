//! Coordinations: what a client says, in a stream or in one call, and what it is told. It must not know which of it fits the state that a
//! coordination is in.

pub mod answer;
pub mod generated;
pub mod service;
pub mod start;
pub mod told;
pub mod view;

#[cfg(test)]
mod tests;

use super::problem::{self, absent_if_empty, whole};
use super::{Path, Problems, id, limit};
use crate::app::coordination::ask::{Attach, Said, Start};
use crate::domain::coordination::PendingId;
use crate::domain::fault::Fault;
use crate::grpc::pb;

use answer::Naming;

/// Longest message of a cancel, in characters.
const MAX_CANCEL: usize = 1_024;
/// Longest id of what is answered that is looked at, in characters; ours are shorter.
const MAX_PENDING_ID: usize = 128;

/// One frame of a stream.
#[derive(Clone)]
pub enum Frame {
    /// Begins a coordination.
    Start(Box<Start>),
    /// Goes on with one that is there.
    Attach(Attach),
    /// Anything after the first.
    Said(Said),
}

/// One frame of a stream. Which ones may come first, and when, is not looked at.
///
/// # Errors
/// What is wrong with it, each field by its path from the frame on.
pub fn frame_from_pb(request: pb::CoordinateRequest) -> Result<Frame, Fault> {
    use pb::coordinate_request::Frame as Pb;
    whole(|at, problems| {
        let choices = "`start`, `attach`, `next_action`, `tool_results`, `generated`, `suspend` or `cancel`";
        let answer = |answer| Frame::Said(Said::Answer(Box::new(answer)));
        match problem::required(request.frame, choices, &at.field("frame"), problems)? {
            Pb::Start(start) => {
                start::from_pb(start, &at.field("start"), problems).map(|start| Frame::Start(Box::new(start)))
            }
            Pb::Attach(attach) => attach_from_pb(&attach, &at.field("attach"), problems).map(Frame::Attach),
            Pb::NextAction(action) => {
                answer::next_action_from_pb(action, Naming::Optional, &at.field("next_action"), problems).map(answer)
            }
            Pb::ToolResults(results) => {
                answer::results_from_pb(results, Naming::Optional, &at.field("tool_results"), problems).map(answer)
            }
            Pb::Generated(generated) => {
                generated::from_pb(generated, Naming::Optional, &at.field("generated"), problems).map(answer)
            }
            Pb::Suspend(pb::CoordinationSuspend {}) => Some(Frame::Said(Said::Suspend)),
            Pb::Cancel(cancel) => cancel_from_pb(cancel.message, &at.field("cancel").field("message"), problems)
                .map(|message| Frame::Said(Said::Cancel(message))),
        }
    })
}

/// What a frame means to answer, as sent and before it is read, for its rejection; empty when it does not say.
pub fn named(request: &pb::CoordinateRequest) -> String {
    use pb::coordinate_request::Frame as Pb;
    let id = match &request.frame {
        Some(Pb::NextAction(action)) => &action.decision_id,
        Some(Pb::ToolResults(results)) => &results.batch_id,
        Some(Pb::Generated(generated)) => &generated.generation_id,
        Some(Pb::Start(_) | Pb::Attach(_) | Pb::Suspend(_) | Pb::Cancel(_)) | None => return String::new(),
    };
    id.chars().take(MAX_PENDING_ID).collect()
}

fn attach_from_pb(attach: &pb::CoordinationAttach, at: &Path<'_>, problems: &mut Problems) -> Option<Attach> {
    let id = id::required(&attach.coordination_id, &at.field("coordination_id"), problems)?;
    Some(Attach { id, after_sequence: attach.after_sequence, deltas: attach.deltas })
}

fn cancel_from_pb(message: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    limit::characters(&message, MAX_CANCEL, at, problems).then_some(message)
}

/// A gRPC code of a failure.
fn code_from_pb(code: i32, at: &Path<'_>, problems: &mut Problems) -> Option<i32> {
    if !(1..=16).contains(&code) {
        problems.add(at, format!("is {code}: it must be the gRPC code of a failure, 1 to 16"));
        return None;
    }
    Some(code)
}

/// The id of what is answered.
fn pending_id_from_pb(
    text: String,
    naming: Naming,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Option<PendingId>> {
    if text.is_empty() && naming == Naming::Required {
        problems.add(at, "must not be empty: it names what is answered, so that the call is safe to repeat");
        return None;
    }
    limit::characters(&text, MAX_PENDING_ID, at, problems).then(|| absent_if_empty(text).map(PendingId::given))
}
