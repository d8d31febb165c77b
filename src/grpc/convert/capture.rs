//! The requests of Run and Capture. It must not know what comes of them.

use super::execution::{self, Request};
use super::problem::{self, whole};
use super::thread::{self, Point, Target};
use super::{Path, Problems};
use crate::domain::fault::Fault;
use crate::domain::thread::OnBusy;
use crate::grpc::{pb, unimplemented};

/// A Run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What to execute.
    pub request: Request,
    /// Keep the exchange.
    pub capture: bool,
    /// Return the messages that were sent.
    pub include_rendered_messages: bool,
}

/// A Capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// What to execute.
    pub request: Request,
    /// A thread to put it on.
    pub thread: Option<Target>,
}

/// A Run.
///
/// # Errors
/// What is wrong with the request.
pub fn run_from_pb(request: pb::RunRequest) -> Result<Run, Fault> {
    use pb::run_request::Execution;
    whole(|at, problems| {
        let execution = problem::required(request.execution, "`request`", &at.field("request"), problems)?;
        let execution = match execution {
            Execution::Request(request) => execution::from_pb(request, &at.field("request"), problems),
            Execution::Prepared(_) => prepared(&at.field("prepared"), problems),
        };
        Some(Run {
            request: execution?,
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

fn from_pb(request: pb::CaptureRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Capture> {
    use pb::capture_request::{Execution, Thread};
    let execution = match problem::required(request.execution, "it", &at.field("request"), problems) {
        None => None,
        Some(Execution::Request(request)) => execution::from_pb(request, &at.field("request"), problems),
        Some(Execution::Prepared(_)) => prepared(&at.field("prepared"), problems),
    };
    let thread = match request.thread {
        None => Some(None),
        Some(Thread::ExistingThread(point)) => empty_thread_from_pb(point, &at.field("existing_thread"), problems)
            .map(|point| Some(Target::Existing(point))),
        Some(Thread::NewThread(new)) => {
            thread::new_from_pb(new, &at.field("new_thread"), problems).map(|new| Some(Target::New(new)))
        }
    };
    Some(Capture { request: execution?, thread: thread? })
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

fn prepared(at: &Path<'_>, problems: &mut Problems) -> Option<Request> {
    problems.not_implemented(at, unimplemented::PREPARED);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::Reason;

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
    fn a_prepared_execution_is_not_there_yet() {
        let prepared = pb::PreparedExecution::default();
        let request = pb::CaptureRequest {
            execution: Some(pb::capture_request::Execution::Prepared(prepared.clone())),
            thread: None,
        };
        let fault = capture_from_pb(request).unwrap_err();
        assert_eq!((fault.reason, fault.metadata["feature"].as_str()), (Reason::NotImplemented, "prepared"));
        let execution = Some(pb::run_request::Execution::Prepared(prepared));
        let fault = run_from_pb(pb::RunRequest { execution, ..pb::RunRequest::default() }).unwrap_err();
        assert_eq!(fault.reason, Reason::NotImplemented);
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
