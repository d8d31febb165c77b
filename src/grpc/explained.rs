//! Errors that the transport makes before a handler is reached, told as every other error is: with a reason, the facts and the call's id. It
//! must not know any RPC.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::{Code, Status};

use super::status::{RequestId, panicked, status};
use crate::domain::fault::{Fault, Reason};

/// Where a status has its details. An error without them is none of ours.
const DETAILS: &str = "grpc-status-details-bin";

/// The longest message that a call takes, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Longest(usize);

impl Longest {
    /// Why the next message of a stream could not be read; absent where the stream is gone.
    pub(super) fn unreadable(self, broken: &Status) -> Option<Fault> {
        explain(broken, "", self.0)
    }
}

/// A service whose every error says why.
#[derive(Clone)]
pub(super) struct Explained<S> {
    service: S,
    max_request_bytes: usize,
}

impl<S> Explained<S> {
    /// A service that takes requests up to this length.
    pub(super) fn new(service: S, max_request_bytes: usize) -> Self {
        Self { service, max_request_bytes }
    }
}

impl<S: NamedService> NamedService for Explained<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Explained<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let request_id = request.extensions().get::<RequestId>().cloned();
        let rpc = request.uri().path().trim_start_matches('/').to_owned();
        let max = self.max_request_bytes;
        request.extensions_mut().insert(Longest(max));
        let service = &mut self.service;
        let answering = std::panic::catch_unwind(AssertUnwindSafe(|| service.call(request)));
        async move {
            let answered = match answering {
                Ok(answering) => AssertUnwindSafe(answering).catch_unwind().await,
                Err(panic) => Err(panic),
            };
            let response = match answered {
                Ok(response) => response?,
                Err(_) => {
                    tracing::error!(rpc, event = "call.panicked");
                    return Ok(status(&panicked(), request_id.as_ref()).into_http());
                }
            };
            Ok(match bare(&response).and_then(|bare| explain(&bare, &rpc, max)) {
                Some(fault) => status(&fault, request_id.as_ref()).into_http(),
                None => response,
            })
        }
        .boxed()
    }
}

/// The error of an answer that is only that, and says nothing but its code and message.
fn bare(response: &http::Response<Body>) -> Option<Status> {
    if response.headers().contains_key(DETAILS) {
        return None;
    }
    Status::from_header_map(response.headers())
}

fn explain(bare: &Status, rpc: &str, max_request_bytes: usize) -> Option<Fault> {
    match bare.code() {
        Code::OutOfRange | Code::ResourceExhausted => {
            let message = format!(
                "the request has more than {max_request_bytes} bytes, which is the limit: send less, or raise `max_message_bytes`"
            );
            Some(
                Fault::new(Reason::LimitExceeded, message)
                    .with("limit", "max_message_bytes")
                    .with("max", max_request_bytes),
            )
        }
        Code::Unimplemented if bare.message().is_empty() => Some(Fault::not_implemented(rpc)),
        Code::Internal => {
            let message = "the bytes are no request of this RPC: take the client and the server of one version";
            Some(Fault::new(Reason::InvalidFields, message))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_transport_says_is_told_anew() {
        let of = |status: Status| explain(&status, "antiphon.v1.X/Y", 10).map(|fault| fault.reason);
        assert_eq!(of(Status::out_of_range("too large")), Some(Reason::LimitExceeded));
        assert_eq!(of(Status::unimplemented("")), Some(Reason::NotImplemented));
        assert_eq!(of(Status::unimplemented("compressed with something")), None);
        assert_eq!(of(Status::internal("failed to decode")), Some(Reason::InvalidFields));
        assert_eq!(of(Status::cancelled("x")), None);
    }
}
