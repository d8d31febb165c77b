//! Stored forms of runs and their observations. It must not know who runs them.

use super::{
    Malformed, Twin, Word, exchange_id, hash, hash_bytes, id_bytes, required, stored, twin, twins, values, words,
};
use crate::domain::id::{Moment, RunId, ThreadId};
use crate::domain::run::{AttemptKind, Observation, Past, Run, State, Step, StopReason};

stored!(Run, twin::Run);

words!(State, twin::RunState, [Queued, Running, PendingTools, Completed, Failed, Cancelled, Interrupted]);
words!(AttemptKind, twin::AttemptKind, [First, Retry, Repair]);
words!(
    StopReason,
    twin::StopReason,
    [Stop, MaxTokens, ToolCalls, StopSequence, Refusal, ContentFilter, ToolRoundLimit, Other]
);

impl Twin<Run> for twin::Run {
    fn of(run: &Run) -> Self {
        Self {
            id: run.id.as_str().to_owned(),
            state: run.state.number(),
            captured: run.captured,
            exchange: run.exchange.as_ref().map(id_bytes),
            exchange_count: run.exchange_count,
            from: run.from.as_ref().map(id_bytes),
            thread_id: run.thread_id.as_ref().map(|id| id.as_str().to_owned()),
            attempt: run.attempt,
            fingerprint: hash_bytes(&run.fingerprint),
            steps: twins(&run.steps),
            owner: run.owner.clone(),
            observations: twins(&run.observations),
            failure: run.failure.as_ref().map(twin::Fault::of),
            stop_reason: run.stop_reason.map_or(0, Word::number),
            labels: run.labels.clone(),
            created_at_ms: run.created_at.0,
            updated_at_ms: run.updated_at.0,
            past: twins(&run.past),
            workspace: run.workspace.as_ref().map(hash_bytes),
        }
    }

    fn value(self) -> Result<Run, Malformed> {
        let stop_reason = stop_reason(self.stop_reason, "stop_reason")?;
        Ok(Run {
            id: RunId::new(self.id),
            state: State::of_number(self.state, "state")?,
            captured: self.captured,
            exchange: self.exchange.map(|id| exchange_id(&id, "exchange")).transpose()?,
            exchange_count: self.exchange_count,
            from: self.from.map(|id| exchange_id(&id, "from")).transpose()?,
            thread_id: self.thread_id.map(ThreadId::new),
            attempt: self.attempt,
            fingerprint: hash(&self.fingerprint, "fingerprint")?,
            steps: values(self.steps)?,
            owner: self.owner,
            observations: values(self.observations)?,
            failure: self.failure.map(Twin::value).transpose()?,
            stop_reason,
            labels: self.labels,
            created_at: Moment(self.created_at_ms),
            updated_at: Moment(self.updated_at_ms),
            past: values(self.past)?,
            workspace: self.workspace.map(|bytes| hash(&bytes, "workspace")).transpose()?,
        })
    }
}

fn stop_reason(number: i32, field: &'static str) -> Result<Option<StopReason>, Malformed> {
    match number {
        0 => Ok(None),
        number => StopReason::of_number(number, field).map(Some),
    }
}

impl Twin<Past> for twin::PastState {
    fn of(past: &Past) -> Self {
        Self {
            state: past.state.number(),
            updated_at_ms: past.updated_at.0,
            attempt: past.attempt,
            exchange: past.exchange.as_ref().map(id_bytes),
            exchange_count: past.exchange_count,
            observations: past.observations,
            failure: past.failure.as_ref().map(twin::Fault::of),
            stop_reason: past.stop_reason.map_or(0, Word::number),
        }
    }

    fn value(self) -> Result<Past, Malformed> {
        Ok(Past {
            state: State::of_number(self.state, "past.state")?,
            updated_at: Moment(self.updated_at_ms),
            attempt: self.attempt,
            exchange: self.exchange.map(|id| exchange_id(&id, "past.exchange")).transpose()?,
            exchange_count: self.exchange_count,
            observations: self.observations,
            failure: self.failure.map(Twin::value).transpose()?,
            stop_reason: stop_reason(self.stop_reason, "past.stop_reason")?,
        })
    }
}

impl Twin<Step> for twin::Step {
    fn of(step: &Step) -> Self {
        Self {
            calling: id_bytes(&step.calling),
            fingerprint: hash_bytes(&step.fingerprint),
            exchange: step.exchange.as_ref().map(id_bytes),
        }
    }

    fn value(self) -> Result<Step, Malformed> {
        Ok(Step {
            calling: exchange_id(&self.calling, "steps.calling")?,
            fingerprint: hash(&self.fingerprint, "steps.fingerprint")?,
            exchange: self.exchange.map(|id| exchange_id(&id, "steps.exchange")).transpose()?,
        })
    }
}

impl Twin<Observation> for twin::Observation {
    fn of(observation: &Observation) -> Self {
        Self {
            number: observation.number,
            kind: observation.kind.number(),
            backend_id: observation.backend_id.clone(),
            model: observation.model.clone(),
            succeeded: observation.succeeded,
            error_reason: observation.error_reason.clone(),
            http_status: observation.http_status.map(u32::from),
            provider_code: observation.provider_code.clone(),
            provider_request_id: observation.provider_request_id.clone(),
            request_hash: observation.request_hash.as_ref().map(hash_bytes),
            request_bytes: observation.request_bytes,
            adaptations: observation.adaptations.clone(),
            usage: Some(twin::Usage::of(&observation.usage)),
            retry_after_ms: observation.retry_after_ms,
            started_at_ms: observation.started_at.0,
            first_byte_ms: observation.first_byte_ms,
            duration_ms: observation.duration_ms,
        }
    }

    fn value(self) -> Result<Observation, Malformed> {
        let http_status = self.http_status.map(u16::try_from).transpose();
        Ok(Observation {
            number: self.number,
            kind: AttemptKind::of_number(self.kind, "observations.kind")?,
            backend_id: self.backend_id,
            model: self.model,
            succeeded: self.succeeded,
            error_reason: self.error_reason,
            http_status: http_status.map_err(|_| Malformed::new("observations.http_status", "is no HTTP status"))?,
            provider_code: self.provider_code,
            provider_request_id: self.provider_request_id,
            request_hash: self.request_hash.map(|bytes| hash(&bytes, "observations.request_hash")).transpose()?,
            request_bytes: self.request_bytes,
            adaptations: self.adaptations,
            usage: required(self.usage, "observations.usage")?,
            retry_after_ms: self.retry_after_ms,
            started_at: Moment(self.started_at_ms),
            first_byte_ms: self.first_byte_ms,
            duration_ms: self.duration_ms,
        })
    }
}
