//! The requests of Run and Capture. It must not know what comes of them.

use super::execution::{self, Request};
use super::problem::{self, whole};
use super::thread::{self, Point, Target};
use super::{Path, Problems, id};
use crate::domain::fault::Fault;
use crate::domain::id::{PreparedId, RunId};
use crate::domain::thread::OnBusy;
use crate::grpc::pb;

/// What to execute.
#[expect(clippy::large_enum_variant, reason = "made once a call, and taken apart at once")]
#[derive(Clone, Debug)]
pub enum Execution {
    /// A request.
    Request(Request),
    /// What was prepared, with the caller's id for the run.
    Prepared(PreparedId, Option<RunId>),
}

/// A Run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What to execute.
    pub execution: Execution,
    /// Keep the exchange.
    pub capture: bool,
    /// Return the messages that were sent.
    pub include_rendered_messages: bool,
}

/// A Capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// What to execute.
    pub execution: Execution,
    /// A thread to put it on.
    pub thread: Option<Target>,
}

/// A Run.
///
/// # Errors
/// What is wrong with the request.
pub fn run_from_pb(request: pb::RunRequest) -> Result<Run, Fault> {
    use pb::run_request::Execution as PbExecution;
    whole(|at, problems| {
        let choices = "`request` or `prepared`";
        let execution = match problem::required(request.execution, choices, &at.field("request"), problems)? {
            PbExecution::Request(request) => {
                execution::from_pb(request, &at.field("request"), problems).map(Execution::Request)
            }
            PbExecution::Prepared(prepared) => {
                if request.capture.is_some() {
                    let message = "must be absent with `prepared`: the choice that was made when it was prepared holds";
                    problems.add(&at.field("capture"), message);
                }
                prepared_from_pb(&prepared, &at.field("prepared"), problems)
            }
        };
        Some(Run {
            execution: execution?,
            capture: request.capture.unwrap_or_default(),
            include_rendered_messages: request.include_rendered_messages,
        })
    })
}

/// A Capture.
///
/// # Errors
/// What is wrong with the request.
pub fn capture_from_pb(request: pb::CaptureRequest) -> Result<Capture, Fault> {
    whole(|at, problems| from_pb(request, at, problems))
}

/// A Capture as a stream.
///
/// # Errors
/// What is wrong with the request.
pub fn stream_capture_from_pb(request: pb::StreamCaptureRequest) -> Result<Capture, Fault> {
    whole(|at, problems| {
        let at = &at.field("capture");
        from_pb(problem::required(request.capture, "the request of a Capture", at, problems)?, at, problems)
    })
}

/// A Capture inside another request.
pub(super) fn from_pb(request: pb::CaptureRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Capture> {
    use pb::capture_request::{Execution as PbExecution, Thread};
    let choices = "`request` or `prepared`";
    let execution = match problem::required(request.execution, choices, &at.field("request"), problems) {
        None => None,
        Some(PbExecution::Request(request)) => {
            execution::from_pb(request, &at.field("request"), problems).map(Execution::Request)
        }
        Some(PbExecution::Prepared(prepared)) => {
            let thread = request.thread.as_ref().map(|thread| match thread {
                Thread::ExistingThread(_) => "existing_thread",
                Thread::NewThread(_) => "new_thread",
            });
            if let Some(field) = thread {
                problems.add(
                    &at.field(field),
                    "must be absent with `prepared`, which has its place: prepare it on the thread",
                );
            }
            prepared_from_pb(&prepared, &at.field("prepared"), problems)
        }
    };
    let thread = match request.thread {
        None => Some(None),
        Some(Thread::ExistingThread(point)) => empty_thread_from_pb(point, &at.field("existing_thread"), problems)
            .map(|point| Some(Target::Existing(point))),
        Some(Thread::NewThread(new)) => {
            thread::new_from_pb(new, &at.field("new_thread"), problems).map(|new| Some(Target::New(new)))
        }
    };
    Some(Capture { execution: execution?, thread: thread? })
}

/// A thread that has no exchanges.
pub(super) fn empty_thread_from_pb(point: pb::ThreadPoint, at: &Path<'_>, problems: &mut Problems) -> Option<Point> {
    let point = thread::point_from_pb(point, at, problems)?;
    if point.on_busy == OnBusy::Fork {
        problems.add(&at.field("on_busy"), "cannot be to fork: a thread without exchanges has no point to fork at");
        return None;
    }
    Some(point)
}

fn prepared_from_pb(prepared: &pb::PreparedExecution, at: &Path<'_>, problems: &mut Problems) -> Option<Execution> {
    let id = id::required(&prepared.prepared_id, &at.field("prepared_id"), problems);
    let run_id = id::chosen(&prepared.run_id, &at.field("run_id"), problems);
    Some(Execution::Prepared(id?, run_id?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> pb::ExecutionRequest {
        pb::ExecutionRequest { text: "hello".to_owned(), ..pb::ExecutionRequest::default() }
    }

    #[test]
    fn run_captures_only_when_told() {
        let request = pb::RunRequest {
            execution: Some(pb::run_request::Execution::Request(asked())),
            ..pb::RunRequest::default()
        };
        assert!(!run_from_pb(request.clone()).unwrap().capture);
        assert!(run_from_pb(pb::RunRequest { capture: Some(true), ..request }).unwrap().capture);
    }

    #[test]
    fn an_unset_execution_is_refused() {
        assert_eq!(run_from_pb(pb::RunRequest::default()).unwrap_err().fields[0].path, "request");
        assert_eq!(capture_from_pb(pb::CaptureRequest::default()).unwrap_err().fields[0].path, "request");
        let streamed = stream_capture_from_pb(pb::StreamCaptureRequest { capture: None }).unwrap_err();
        assert_eq!(streamed.fields[0].path, "capture");
        let empty = pb::StreamCaptureRequest { capture: Some(pb::CaptureRequest::default()) };
        assert_eq!(stream_capture_from_pb(empty).unwrap_err().fields[0].path, "capture.request");
    }

    #[test]
    fn a_prepared_execution_comes_alone() {
        let prepared =
            |prepared_id: &str| pb::PreparedExecution { prepared_id: prepared_id.to_owned(), run_id: "r".to_owned() };
        let execution = |id| Some(pb::capture_request::Execution::Prepared(prepared(id)));
        let read = capture_from_pb(pb::CaptureRequest { execution: execution("p"), thread: None }).unwrap();
        let Execution::Prepared(id, run_id) = read.execution else { panic!("it was prepared") };
        assert_eq!((id.as_str(), run_id), ("p", Some(RunId::new("r"))));
        let thread = Some(pb::capture_request::Thread::NewThread(pb::NewThread::default()));
        let wrong = capture_from_pb(pb::CaptureRequest { execution: execution(""), thread }).unwrap_err();
        let paths: Vec<_> = wrong.fields.into_iter().map(|field| field.path).collect();
        assert_eq!(paths, ["new_thread", "prepared.prepared_id"]);
        let execution = Some(pb::run_request::Execution::Prepared(prepared("p")));
        let run = pb::RunRequest { execution, capture: Some(false), ..pb::RunRequest::default() };
        assert_eq!(run_from_pb(run).unwrap_err().fields[0].path, "capture");
    }

    #[test]
    fn request_and_thread_are_both_looked_at() {
        let request = pb::CaptureRequest {
            execution: Some(pb::capture_request::Execution::Request(pb::ExecutionRequest::default())),
            thread: Some(pb::capture_request::Thread::ExistingThread(pb::ThreadPoint::default())),
        };
        let paths: Vec<_> = capture_from_pb(request).unwrap_err().fields.into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["request", "existing_thread.thread_id"]);
    }
}
