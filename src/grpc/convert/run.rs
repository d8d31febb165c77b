//! Runs, attempts, and why models stop. It must not know where a run really is: its state is told.

use super::problem::{self, whole};
use super::{Path, Problems, fault, id, label, message, moment, usage};
use crate::app::run::Filter;
use crate::domain::fault::Fault;
use crate::domain::id::Hash;
use crate::domain::message::ToolCall;
use crate::domain::run::{AttemptKind, Observation, Run, State, StopReason};
use crate::grpc::pb;

/// Which runs to list; page size and token are read by the caller.
///
/// # Errors
/// What is wrong with the request.
pub fn filter_from_pb(request: pb::RunServiceListRequest) -> Result<Filter, Fault> {
    whole(|at, problems| {
        let states = message::all(request.states, &at.field("states"), problems, state_from_pb);
        let thread_id = id::optional(&request.thread_id, &at.field("thread_id"), problems);
        let labels = label::from_pb(request.labels, &at.field("labels"), problems);
        Some(Filter { states: states?, thread_id: thread_id?, labels: labels? })
    })
}

/// A state that is asked for.
pub(super) fn state_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<State> {
    let words = "a state of a run, such as RUN_STATE_RUNNING";
    match problem::chosen(number, words, at, problems)? {
        pb::RunState::Queued => Some(State::Queued),
        pb::RunState::Running => Some(State::Running),
        pb::RunState::PendingTools => Some(State::PendingTools),
        pb::RunState::Completed => Some(State::Completed),
        pb::RunState::Failed => Some(State::Failed),
        pb::RunState::Cancelled => Some(State::Cancelled),
        pb::RunState::Interrupted => Some(State::Interrupted),
        // Zero was refused already.
        pb::RunState::Unspecified => None,
    }
}

/// A state in an answer.
pub fn state_to_pb(state: State) -> pb::RunState {
    match state {
        State::Queued => pb::RunState::Queued,
        State::Running => pb::RunState::Running,
        State::PendingTools => pb::RunState::PendingTools,
        State::Completed => pb::RunState::Completed,
        State::Failed => pb::RunState::Failed,
        State::Cancelled => pb::RunState::Cancelled,
        State::Interrupted => pb::RunState::Interrupted,
    }
}

/// Why a model stopped, as a caller says it; absent when it does not.
pub fn stop_reason_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Option<StopReason>> {
    match pb::StopReason::try_from(number) {
        Ok(pb::StopReason::Unspecified) => Some(None),
        Ok(pb::StopReason::Stop) => Some(Some(StopReason::Stop)),
        Ok(pb::StopReason::MaxTokens) => Some(Some(StopReason::MaxTokens)),
        Ok(pb::StopReason::ToolCalls) => Some(Some(StopReason::ToolCalls)),
        Ok(pb::StopReason::StopSequence) => Some(Some(StopReason::StopSequence)),
        Ok(pb::StopReason::Refusal) => Some(Some(StopReason::Refusal)),
        Ok(pb::StopReason::ContentFilter) => Some(Some(StopReason::ContentFilter)),
        Ok(pb::StopReason::ToolRoundLimit) => Some(Some(StopReason::ToolRoundLimit)),
        Ok(pb::StopReason::Other) => Some(Some(StopReason::Other)),
        Err(_) => {
            problems
                .add(at, format!("has the unknown value {number}: use STOP_REASON_OTHER for what has no word here"));
            None
        }
    }
}

/// Why a model stopped, in an answer.
pub fn stop_reason_to_pb(reason: StopReason) -> pb::StopReason {
    match reason {
        StopReason::Stop => pb::StopReason::Stop,
        StopReason::MaxTokens => pb::StopReason::MaxTokens,
        StopReason::ToolCalls => pb::StopReason::ToolCalls,
        StopReason::StopSequence => pb::StopReason::StopSequence,
        StopReason::Refusal => pb::StopReason::Refusal,
        StopReason::ContentFilter => pb::StopReason::ContentFilter,
        StopReason::ToolRoundLimit => pb::StopReason::ToolRoundLimit,
        StopReason::Other => pb::StopReason::Other,
    }
}

/// A run in an answer. `state` is where it is now, which its record may not know; `pending` are the calls that it waits for.
pub fn to_pb(run: Run, state: State, pending: Vec<ToolCall>) -> pb::Run {
    let consumed = run.usage();
    pb::Run {
        run_id: run.id.to_string(),
        state: state_to_pb(state).into(),
        captured: run.captured,
        exchange_id: id::text(run.exchange),
        exchange_count: run.exchange_count,
        from_exchange_id: id::text(run.from),
        thread_id: id::text(run.thread_id),
        attempt: run.attempt,
        fingerprint: run.fingerprint.to_string(),
        observations: run.observations.into_iter().map(observation_to_pb).collect(),
        usage: Some(usage::to_pb(consumed)),
        error: run.failure.as_ref().map(fault::to_pb),
        stop_reason: run.stop_reason.map_or(pb::StopReason::Unspecified, stop_reason_to_pb).into(),
        labels: run.labels,
        pending_tool_calls: message::calls_to_pb(pending),
        create_time: Some(moment::to_pb(run.created_at)),
        update_time: Some(moment::to_pb(run.updated_at)),
    }
}

/// What an attempt is for, in an answer.
pub fn attempt_kind_to_pb(kind: AttemptKind) -> pb::AttemptKind {
    match kind {
        AttemptKind::First => pb::AttemptKind::First,
        AttemptKind::Retry => pb::AttemptKind::Retry,
        AttemptKind::Repair => pb::AttemptKind::Repair,
    }
}

/// An attempt in an answer.
pub fn observation_to_pb(observation: Observation) -> pb::Observation {
    pb::Observation {
        number: observation.number,
        kind: attempt_kind_to_pb(observation.kind).into(),
        backend_id: observation.backend_id,
        model: observation.model,
        succeeded: observation.succeeded,
        error_reason: observation.error_reason,
        http_status: observation.http_status.map(u32::from),
        provider_code: observation.provider_code,
        provider_request_id: observation.provider_request_id,
        request_blake3: observation.request_hash.as_ref().map(Hash::to_string).unwrap_or_default(),
        request_bytes: observation.request_bytes,
        adaptations: observation.adaptations,
        usage: Some(usage::to_pb(observation.usage)),
        retry_after: observation.retry_after_ms.map(moment::duration_to_pb),
        start_time: Some(moment::to_pb(observation.started_at)),
        first_byte: observation.first_byte_ms.map(moment::duration_to_pb),
        duration: Some(moment::duration_to_pb(observation.duration_ms)),
    }
}

/// Attempts in an answer.
pub fn observations_to_pb(observations: Vec<Observation>) -> Vec<pb::Observation> {
    observations.into_iter().map(observation_to_pb).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::domain::fault::Reason;
    use crate::domain::id::ThreadId;
    use crate::domain::id::{Moment, RunId};
    use crate::domain::usage::{Completeness, Usage};

    pub(crate) fn observation() -> Observation {
        Observation {
            number: 2,
            kind: AttemptKind::Repair,
            backend_id: "b".to_owned(),
            model: "m".to_owned(),
            succeeded: false,
            error_reason: "PROVIDER_TIMEOUT".to_owned(),
            http_status: Some(504),
            provider_code: "slow".to_owned(),
            provider_request_id: "req".to_owned(),
            request_hash: Some(Hash([1; 32])),
            request_bytes: 10,
            adaptations: vec!["system_first".to_owned()],
            usage: Usage {
                input_tokens: Some(3),
                output_tokens: Some(0),
                completeness: Completeness::Complete,
                ..Usage::default()
            },
            retry_after_ms: Some(1_500),
            started_at: Moment(5),
            first_byte_ms: None,
            duration_ms: 70,
        }
    }

    /// One that was interrupted, as its record does not know yet.
    pub(crate) fn running() -> Run {
        Run {
            id: RunId::new("r"),
            state: State::Running,
            captured: true,
            exchange: None,
            exchange_count: 0,
            from: None,
            thread_id: Some(ThreadId::new("t")),
            attempt: 1,
            fingerprint: Hash([2; 32]),
            steps: Vec::new(),
            owner: "server".to_owned(),
            observations: vec![observation()],
            failure: Some(Fault::new(Reason::RunInterrupted, "m").with("run_id", "r")),
            stop_reason: None,
            labels: BTreeMap::new(),
            created_at: Moment(1_000),
            updated_at: Moment(2_000),
            past: Vec::new(),
            workspace: None,
        }
    }

    #[test]
    fn a_run_goes_out_with_the_state_that_it_has_now() {
        let run = running();
        let out = to_pb(run, State::Interrupted, Vec::new());
        assert_eq!((out.state(), out.thread_id.as_str()), (pb::RunState::Interrupted, "t"));
        assert_eq!(out.error.map(|error| (error.code, error.reason)), Some((10, "RUN_INTERRUPTED".to_owned())));
        assert_eq!(out.usage.and_then(|usage| usage.input_tokens), Some(3));
        assert_eq!(out.stop_reason, 0);
        assert_eq!(out.fingerprint, "02".repeat(32));
        let observation = &out.observations[0];
        assert_eq!((observation.kind(), observation.http_status), (pb::AttemptKind::Repair, Some(504)));
        assert_eq!(observation.retry_after.map(|delay| (delay.seconds, delay.nanos)), Some((1, 500_000_000)));
        assert_eq!((observation.first_byte, observation.request_blake3.len()), (None, 64));
    }

    #[test]
    fn each_state_and_stop_reason_has_its_own_word() {
        let states = [
            State::Queued,
            State::Running,
            State::PendingTools,
            State::Completed,
            State::Failed,
            State::Cancelled,
            State::Interrupted,
        ];
        for state in states {
            let out = state_to_pb(state);
            assert_eq!(out.as_str_name(), format!("RUN_STATE_{}", state.word()));
            let read = whole(|at, problems| state_from_pb(out.into(), at, problems));
            assert_eq!(read, Ok(state));
        }
        for number in 1..9 {
            let read = whole(|at, problems| stop_reason_from_pb(number, at, problems)).unwrap();
            assert_eq!(i32::from(stop_reason_to_pb(read.unwrap())), number);
        }
        assert_eq!(whole(|at, problems| stop_reason_from_pb(0, at, problems)), Ok(None));
        assert!(whole(|at, problems| stop_reason_from_pb(9, at, problems)).is_err());
    }

    #[test]
    fn a_filter_names_what_is_wrong() {
        let request = pb::RunServiceListRequest {
            states: vec![2, 0, 99],
            thread_id: "a b".to_owned(),
            ..pb::RunServiceListRequest::default()
        };
        let paths: Vec<_> = filter_from_pb(request).unwrap_err().fields.into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["states[1]", "states[2]", "thread_id"]);
        assert_eq!(filter_from_pb(pb::RunServiceListRequest::default()), Ok(Filter::default()));
    }
}
