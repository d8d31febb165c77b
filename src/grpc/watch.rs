//! Watching runs and probes from a stream: what happens on the way, then exactly one end. It must not know which execution it is for.

use std::sync::Arc;

use futures::stream::BoxStream;
use tonic::Status;

use super::call::Call;
use super::convert::progress;
use super::{outcome, pb};
use crate::app::flight::{Event, Watcher};
use crate::app::run::{Observer, Seen};
use crate::domain::fault::Fault;
use crate::domain::id::RunId;

/// Where a stream is.
enum At<T> {
    Begin(Watcher<T>),
    OnTheWay(Watcher<T>),
    Ended,
}

/// The events of a run as a stream that ends with its outcome or its error. Dropping the stream is leaving the run.
pub(super) fn stream<T: Send + Sync + 'static, R: Send + 'static>(
    watcher: Watcher<T>,
    call: Call,
    write: fn(pb::Progress) -> R,
    completed: impl Fn(&RunId, &T) -> R + Send + 'static,
) -> BoxStream<'static, Result<R, Status>> {
    let state = (At::Begin(watcher), call, completed);
    Box::pin(futures::stream::unfold(state, move |(at, call, completed)| async move {
        let mut watcher = match at {
            // One that joins a run at work is told at once, since its claim is past.
            At::Begin(watcher) if watcher.attached => {
                let started = write(progress::run_started(watcher.run_id(), true));
                return Some((Ok(started), (At::OnTheWay(watcher), call, completed)));
            }
            At::Begin(watcher) | At::OnTheWay(watcher) => watcher,
            At::Ended => return None,
        };
        let next = loop {
            match call.until_deadline(async { Ok(watcher.next().await) }).await {
                Ok(Some(Event::Claimed)) if watcher.attached => {}
                Ok(next) => break Ok(next),
                Err(fault) => break Err(fault),
            }
        };
        match next {
            Ok(Some(event)) => {
                let event = write(progress_of(event, watcher.run_id()));
                Some((Ok(event), (At::OnTheWay(watcher), call, completed)))
            }
            Ok(None) => {
                let outcome: Result<Arc<T>, Fault> = watcher.outcome().await;
                let end = match outcome {
                    Ok(outcome) => Ok(completed(watcher.run_id(), &outcome)),
                    Err(fault) => Err(call.status(&of_run(fault, watcher.run_id()))),
                };
                Some((end, (At::Ended, call, completed)))
            }
            Err(fault) => {
                let end = Err(call.status(&of_run(fault, watcher.run_id())));
                Some((end, (At::Ended, call, completed)))
            }
        }
    }))
}

/// What an observer of a run is told, as a stream that ends when the run is over. Dropping it does nothing to the run.
pub(super) fn observed(observer: Observer, call: Call) -> BoxStream<'static, Result<pb::WatchResponse, Status>> {
    Box::pin(futures::stream::unfold(Some((observer, call)), |state| async move {
        let (mut observer, call) = state?;
        match call.until_deadline(async { observer.next().await.transpose() }).await {
            Ok(seen) => Some((Ok(seen_to_pb(seen?, observer.run_id())), Some((observer, call)))),
            Err(fault) => Some((Err(call.status(&of_run(fault, observer.run_id()))), None)),
        }
    }))
}

fn seen_to_pb(seen: Seen, run_id: &RunId) -> pb::WatchResponse {
    use pb::watch_response::Event as Told;
    let (sequence, event) = match seen {
        Seen::State(sequence, state) => (sequence, Told::Run(outcome::run(*state))),
        Seen::TextSoFar(text) => (0, Told::TextSoFar(pb::TextSoFar { text })),
        Seen::Progress(event) => (0, Told::Progress(progress_of(event, run_id))),
    };
    pb::WatchResponse { sequence, event: Some(event) }
}

fn progress_of(event: Event, run_id: &RunId) -> pb::Progress {
    match event {
        Event::Claimed => progress::run_started(run_id, false),
        Event::Attempt { number, kind, backend_id, model } => {
            progress::attempt_started(number, kind, backend_id, model)
        }
        Event::Delta(delta) => progress::delta(delta),
        Event::Warning(warning) => progress::warning(warning),
    }
}

/// A fault that names its run.
pub(super) fn of_run(fault: Fault, run_id: &RunId) -> Fault {
    if fault.metadata.contains_key("run_id") { fault } else { fault.with("run_id", run_id) }
}
