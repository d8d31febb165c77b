//! Stored form of journals: pages of the frames that one write tells. It must not know who is told.

use super::coordination::{call_ids, calls};
use super::{Malformed, Twin, Word, exchange_id, hash, hash_bytes, id_bytes, required, stored, twin, twins, values};
use crate::domain::coordination::{Answered, BatchProgress, Frame, PendingId};
use crate::domain::id::{CallId, Hash, Moment, RunId, ThreadId};
use crate::domain::run::AttemptKind;

stored!(JournalPage, twin::JournalPage);

/// The frames of one write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JournalPage {
    /// The number of the first; the others follow without a gap.
    pub(crate) first: u64,
    /// The frames; at least one.
    pub(crate) frames: Vec<Frame>,
}

impl JournalPage {
    /// The number of its last frame.
    pub(crate) fn last(&self) -> u64 {
        let count = u64::try_from(self.frames.len()).unwrap_or(u64::MAX);
        self.first.saturating_add(count.saturating_sub(1))
    }

    /// The frames with their numbers.
    pub(crate) fn numbered(self) -> impl Iterator<Item = (u64, Frame)> {
        // The numbers come second, so that none beyond the last is asked for.
        self.frames.into_iter().zip(self.first..).map(|(frame, number)| (number, frame))
    }
}

impl Twin<JournalPage> for twin::JournalPage {
    fn of(page: &JournalPage) -> Self {
        Self { first_sequence: page.first, frames: twins(&page.frames) }
    }

    fn value(self) -> Result<JournalPage, Malformed> {
        if self.frames.is_empty() {
            return Err(Malformed::missing("frames"));
        }
        let count = u64::try_from(self.frames.len()).unwrap_or(u64::MAX);
        if self.first_sequence.checked_add(count).is_none() {
            return Err(Malformed::new("first_sequence", "is too large for a number"));
        }
        Ok(JournalPage { first: self.first_sequence, frames: values(self.frames)? })
    }
}

impl Twin<Frame> for twin::Frame {
    fn of(frame: &Frame) -> Self {
        Self { what: Some(twin::frame::What::of(frame)) }
    }

    fn value(self) -> Result<Frame, Malformed> {
        required(self.what, "frames.what")
    }
}

impl Twin<Frame> for twin::frame::What {
    fn of(frame: &Frame) -> Self {
        match frame {
            Frame::Started => Self::Started(twin::Nothing {}),
            Frame::DecisionNeeded { id, exchange, starting, turns_started, thread, interrupted, expires_at } => {
                Self::DecisionNeeded(twin::DecisionNeeded {
                    id: id.as_str().to_owned(),
                    exchange: id_bytes(exchange),
                    starting: *starting,
                    turns_started: *turns_started,
                    thread_id: thread.as_ref().map(|id| id.as_str().to_owned()),
                    interrupted: interrupted.as_ref().map(|id| id.as_str().to_owned()),
                    expires_at_ms: expires_at.map(|at| at.0),
                })
            }
            Frame::ToolsNeeded { id, run_id, exchange, round } => Self::ToolsNeeded(twin::ToolsNeeded {
                id: id.as_str().to_owned(),
                run_id: run_id.as_str().to_owned(),
                exchange: id_bytes(exchange),
                round: *round,
            }),
            Frame::GenerationNeeded { id, run_id, number, kind, plan, asked_at } => {
                Self::GenerationNeeded(twin::GenerationNeeded {
                    id: id.as_str().to_owned(),
                    run_id: run_id.as_str().to_owned(),
                    number: *number,
                    kind: kind.number(),
                    plan: hash_bytes(plan),
                    asked_at_ms: asked_at.0,
                })
            }
            Frame::Accepted { answered, run_id, turns_started, batch } => Self::Accepted(twin::Accepted {
                answered: Some(twin::Answered::of(answered)),
                run_id: run_id.as_ref().map(|id| id.as_str().to_owned()),
                turns_started: *turns_started,
                batch: batch.as_ref().map(twin::BatchProgress::of),
            }),
            Frame::RunStarted { run_id } => Self::RunStarted(twin::RunStarted { run_id: run_id.as_str().to_owned() }),
            Frame::Attempt { number, kind, backend_id, model } => Self::Attempt(twin::Attempt {
                number: *number,
                kind: kind.number(),
                backend_id: backend_id.clone(),
                model: model.clone(),
            }),
            Frame::Warning(warning) => Self::Warning(twin::Warning::of(warning)),
            Frame::Ended(end) => Self::Ended(twin::End::of(end)),
        }
    }

    fn value(self) -> Result<Frame, Malformed> {
        Ok(match self {
            Self::Started(_) => Frame::Started,
            Self::DecisionNeeded(needed) => Frame::DecisionNeeded {
                id: PendingId::given(needed.id),
                exchange: exchange_id(&needed.exchange, "decision_needed.exchange")?,
                starting: needed.starting,
                turns_started: needed.turns_started,
                thread: needed.thread_id.map(ThreadId::new),
                interrupted: needed.interrupted.map(RunId::new),
                expires_at: needed.expires_at_ms.map(Moment),
            },
            Self::ToolsNeeded(needed) => Frame::ToolsNeeded {
                id: PendingId::given(needed.id),
                run_id: RunId::new(needed.run_id),
                exchange: exchange_id(&needed.exchange, "tools_needed.exchange")?,
                round: needed.round,
            },
            Self::GenerationNeeded(needed) => Frame::GenerationNeeded {
                id: PendingId::given(needed.id),
                run_id: RunId::new(needed.run_id),
                number: needed.number,
                kind: AttemptKind::of_number(needed.kind, "generation_needed.kind")?,
                plan: hash(&needed.plan, "generation_needed.plan")?,
                asked_at: Moment(needed.asked_at_ms),
            },
            Self::Accepted(accepted) => Frame::Accepted {
                answered: required(accepted.answered, "accepted.answered")?,
                run_id: accepted.run_id.map(RunId::new),
                turns_started: accepted.turns_started,
                batch: accepted.batch.map(Twin::value).transpose()?,
            },
            Self::RunStarted(started) => Frame::RunStarted { run_id: RunId::new(started.run_id) },
            Self::Attempt(attempt) => Frame::Attempt {
                number: attempt.number,
                kind: AttemptKind::of_number(attempt.kind, "attempt.kind")?,
                backend_id: attempt.backend_id,
                model: attempt.model,
            },
            Self::Warning(warning) => Frame::Warning(warning.value()?),
            Self::Ended(end) => Frame::Ended(end.value()?),
        })
    }
}

impl Twin<Answered> for twin::Answered {
    fn of(answered: &Answered) -> Self {
        Self { id: answered.id.clone(), fingerprint: hash_bytes(&answered.fingerprint) }
    }

    fn value(self) -> Result<Answered, Malformed> {
        Ok(Answered { id: self.id, fingerprint: hash(&self.fingerprint, "accepted.answered.fingerprint")? })
    }
}

impl Twin<BatchProgress> for twin::BatchProgress {
    fn of(progress: &BatchProgress) -> Self {
        Self { results: twins(&progress.results), open: calls(&progress.open) }
    }

    fn value(self) -> Result<BatchProgress, Malformed> {
        Ok(BatchProgress { results: values(self.results)?, open: call_ids(self.open) })
    }
}

impl Twin<(CallId, Hash)> for twin::KeptResult {
    fn of((call, hash): &(CallId, Hash)) -> Self {
        Self { call_id: call.as_str().to_owned(), hash: hash_bytes(hash) }
    }

    fn value(self) -> Result<(CallId, Hash), Malformed> {
        Ok((CallId::new(self.call_id), hash(&self.hash, "accepted.batch.results.hash")?))
    }
}
