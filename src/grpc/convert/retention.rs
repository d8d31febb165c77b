//! Pins, expiries, erasures and collections: what is asked and what came of it. It must not know who does it.

use super::exchange::tombstone_to_pb;
use super::{Path, Problems, id, limit, moment, problem};
use crate::app::retention::{Asked, Collecting, Due, Erasure, Garbage};
use crate::domain::fault::Fault;
use crate::domain::id::{Moment, RequestId};
use crate::domain::retention::{Gone, Mode, Pin, Target};
use crate::grpc::convert::admin::amounts_to_pb;
use crate::grpc::convert::problem::whole;
use crate::grpc::pb;
use crate::store::layout::Kind;

/// Longest note, in characters.
const MAX_NOTE: usize = 1_024;

fn target_from_pb(target: Option<pb::RetentionTarget>, problems: &mut Problems) -> Option<Target> {
    use pb::retention_target::Target as Given;
    let at = Path::ROOT.field("target");
    let choices = "`exchange`, `thread`, `run` or `subtree`";
    match problem::required(target.and_then(|target| target.target), choices, &at, problems)? {
        Given::Exchange(point) => {
            id::required(&point.exchange_id, &at.field("exchange").field("exchange_id"), problems).map(Target::Exchange)
        }
        Given::Thread(thread) => {
            id::required(&thread.thread_id, &at.field("thread").field("thread_id"), problems).map(Target::Thread)
        }
        Given::Run(run) => id::required(&run.run_id, &at.field("run").field("run_id"), problems).map(Target::Run),
        Given::Subtree(subtree) => {
            let id = id::required(&subtree.exchange_id, &at.field("subtree").field("exchange_id"), problems);
            id.map(|id| Target::Subtree(id, subtree.max_steps))
        }
    }
}

fn target_to_pb(target: Target) -> pb::RetentionTarget {
    use pb::retention_target::Target as Told;
    let told = match target {
        Target::Exchange(id) => Told::Exchange(pb::ExchangePoint { exchange_id: id.to_string() }),
        Target::Thread(id) => Told::Thread(pb::RetainedThread { thread_id: id.to_string() }),
        Target::Run(id) => Told::Run(pb::RetainedRun { run_id: id.to_string() }),
        Target::Subtree(id, max_steps) => Told::Subtree(pb::SubtreeScope { exchange_id: id.to_string(), max_steps }),
    };
    pb::RetentionTarget { target: Some(told) }
}

fn note(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    limit::characters(&text, MAX_NOTE, &at.field("note"), problems).then_some(text)
}

/// What is to be erased, and the id under which that may be repeated.
///
/// # Errors
/// What is wrong with it.
pub fn erase_from_pb(request: pb::EraseRequest) -> Result<(Asked, Option<RequestId>), Fault> {
    whole(|at, problems| {
        let target = target_from_pb(request.target, problems);
        let mode = match pb::EraseMode::try_from(request.mode) {
            Ok(pb::EraseMode::Unspecified | pb::EraseMode::Refuse) => Some(Mode::Refuse),
            Ok(pb::EraseMode::Cascade) => Some(Mode::Cascade),
            Ok(pb::EraseMode::Tombstone) => Some(Mode::Tombstone),
            Err(_) => {
                let words = "ERASE_MODE_REFUSE, ERASE_MODE_CASCADE or ERASE_MODE_TOMBSTONE";
                problems.add(&at.field("mode"), format!("has the unknown value {}: use {words}", request.mode));
                None
            }
        };
        let note = note(request.note, at, problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        let (target, mode, note) = (target?, mode?, note?);
        Some((Asked { target, mode, dry_run: request.dry_run, takes_drafts: true, note }, request_id?))
    })
}

/// What was erased.
pub fn erased_to_pb(erasure: Erasure) -> pb::EraseReceipt {
    let receipt = erasure.receipt;
    let record = |gone: &Gone| pb::RecordCount {
        kind: Kind::of_letter(gone.letter).map_or_else(String::new, |kind| kind.word().to_owned()),
        count: gone.count,
        size_bytes: gone.bytes,
    };
    let mode = match receipt.mode {
        Mode::Refuse => pb::EraseMode::Refuse,
        Mode::Cascade => pb::EraseMode::Cascade,
        Mode::Tombstone => pb::EraseMode::Tombstone,
    };
    pb::EraseReceipt {
        erase_time: (!receipt.id.is_empty()).then(|| moment::to_pb(receipt.at)),
        receipt_id: receipt.id,
        target: Some(target_to_pb(receipt.target)),
        mode: mode.into(),
        note: receipt.note,
        tombstone_count: receipt.tombstones,
        erased: receipt.gone.iter().map(record).collect(),
        shared_content_count: receipt.shared,
        tombstones: erasure.tombstones.iter().filter_map(tombstone_to_pb).collect(),
        erased_by: receipt.by,
        at_work: erasure.at_work,
    }
}

/// A pin to set, and the id under which that may be repeated.
///
/// # Errors
/// What is wrong with it.
pub fn pin_from_pb(request: pb::CreatePinRequest) -> Result<(Pin, Option<RequestId>), Fault> {
    whole(|at, problems| {
        let target = target_from_pb(request.target, problems);
        let pin_id: Option<Option<RequestId>> = id::chosen(&request.pin_id, &at.field("pin_id"), problems);
        let note = note(request.note, at, problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        let id = pin_id?.map(|id| id.to_string()).unwrap_or_default();
        Some((Pin { id, target: target?, note: note?, created_at: Moment(0) }, request_id?))
    })
}

/// Which pin to take away.
///
/// # Errors
/// What is wrong with it.
pub fn unpin_from_pb(request: pb::DeletePinRequest) -> Result<(String, Option<RequestId>), Fault> {
    whole(|at, problems| {
        let pin: Option<RequestId> = id::required(&request.pin_id, &at.field("pin_id"), problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        Some((pin?.to_string(), request_id?))
    })
}

/// A pin.
pub fn pin_to_pb(pin: Pin) -> pb::Pin {
    pb::Pin {
        pin_id: pin.id,
        target: Some(target_to_pb(pin.target)),
        note: pin.note,
        create_time: Some(moment::to_pb(pin.created_at)),
    }
}

/// What expires when, or never, and the id under which that may be repeated.
///
/// # Errors
/// What is wrong with it.
pub fn expiry_from_pb(request: pb::SetExpiryRequest) -> Result<(Target, Option<Moment>, Option<RequestId>), Fault> {
    use pb::set_expiry_request::When;
    whole(|at, problems| {
        let target = target_from_pb(request.target, problems);
        let when = match problem::required(request.when, "`at` or `never`", at, problems) {
            Some(When::At(expire)) => {
                let at = at.field("at");
                let at = at.field("expire_time");
                match expire.expire_time {
                    Some(time) => moment::from_pb(time, &at, problems).map(Some),
                    None => {
                        problems.add(&at, "is not set");
                        None
                    }
                }
            }
            Some(When::Never(_)) => Some(None),
            None => None,
        };
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        Some((target?, when?, request_id?))
    })
}

/// An expiry.
pub fn due_to_pb(due: Due) -> pb::Expiry {
    pb::Expiry { target: Some(target_to_pb(due.target)), expire_time: due.at.map(moment::to_pb), pinned: due.pinned }
}

/// How to collect. No grace is shorter than a run may take.
///
/// # Errors
/// What is wrong with it.
pub fn collect_from_pb(request: pb::CollectGarbageRequest) -> Result<Collecting, Fault> {
    whole(|at, problems| {
        let mut read = |given: Option<prost_types::Duration>, name| match given {
            None => Some(None),
            Some(given) => moment::duration_from_pb(given, &at.field(name), problems).map(Some),
        };
        let (grace, max) = (read(request.grace, "grace"), read(request.max_duration, "max_duration"));
        Some(Collecting { dry_run: request.dry_run, grace_ms: grace?, max_duration_ms: max? })
    })
}

/// One event of a collection.
pub fn garbage_to_pb(garbage: Garbage, dry_run: bool) -> pb::CollectGarbageResponse {
    use pb::collect_garbage_response::Event;
    let removed_bytes = garbage.removed.values().map(|amount| amount.bytes).sum();
    let event = if garbage.is_done {
        Event::Completed(pb::GarbageSummary {
            removed: amounts_to_pb(&garbage.removed.into_iter().filter(|(_, amount)| amount.count > 0).collect()),
            removed_bytes,
            pinned_count: garbage.pinned,
            stopped_early: garbage.stopped_early,
            dry_run,
        })
    } else {
        Event::Progress(pb::GarbageProgress {
            checked_count: garbage.checked,
            removed_count: garbage.removed.values().map(|amount| amount.count).sum(),
            removed_bytes,
        })
    };
    pb::CollectGarbageResponse { event: Some(event) }
}

/// A time up to which is asked.
///
/// # Errors
/// When it is none.
pub fn before_from_pb(time: Option<prost_types::Timestamp>) -> Result<Option<Moment>, Fault> {
    whole(|at, problems| moment::optional_from_pb(time, &at.field("before_time"), problems))
}
