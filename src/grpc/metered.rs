//! How often each RPC was called, how it ended and how long it took; and what a call holds until it ends. It must not know any RPC.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tonic::Code;
use tonic::codegen::http::{HeaderMap, Response};

use super::status::status;
use crate::app::access::{Busy, Pass};
use crate::app::meters::Rpcs;
use crate::domain::fault::{Fault, Reason};

/// The answer of a call, which ends with its body.
pub(super) struct Metered {
    body: Body,
    call: Option<Calling>,
}

/// A call at work.
pub(super) struct Calling {
    rpcs: Rpcs,
    method: String,
    begun: Instant,
    code: Option<Code>,
    pass: Pass,
    _busy: Option<Busy>,
}

impl Calling {
    /// A call begins.
    pub(super) fn new(rpcs: Rpcs, method: String, pass: Pass, busy: Option<Busy>) -> Self {
        rpcs.began(&method);
        Self { rpcs, method, begun: Instant::now(), code: None, pass, _busy: busy }
    }

    /// Goes with the answer until that has ended.
    pub(super) fn answer(mut self, response: Response<Body>) -> Response<Body> {
        self.see(response.headers());
        response.map(|body| Body::new(Metered { body, call: Some(self) }))
    }

    fn see(&mut self, headers: &HeaderMap) {
        if let Some(code) = headers.get("grpc-status") {
            self.code = Some(Code::from_bytes(code.as_bytes()));
        }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        // Who goes before the end has cancelled.
        let code = self.code.unwrap_or(Code::Cancelled);
        self.rpcs.ended(&self.method, word(code), self.begun.elapsed());
    }
}

impl Metered {
    /// The credential is taken no longer: whoever answers is told by that nobody listens, and whoever called by the status.
    fn end(&mut self) -> Option<HeaderMap> {
        let message = "the credential was taken back or has expired while the call was at work: get a new one, and go on with that";
        let mut trailers = HeaderMap::new();
        let told = status(&Fault::new(Reason::Unauthenticated, message), None).add_header(&mut trailers);
        self.body = Body::empty();
        if let Some(mut call) = self.call.take() {
            call.see(&trailers);
        }
        told.ok().map(|()| trailers)
    }
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let ends = self.call.as_mut().and_then(|call| call.pass.ends());
        if ends.is_some_and(|ends| ends.as_mut().poll(context).is_ready()) {
            return Poll::Ready(self.end().map(|trailers| Ok(Frame::trailers(trailers))));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let (Poll::Ready(Some(Ok(frame))), Some(call)) = (&polled, &mut self.call)
            && let Some(trailers) = frame.trailers_ref()
        {
            call.see(trailers);
        }
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.call = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The word of a code, as gRPC writes it.
fn word(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
