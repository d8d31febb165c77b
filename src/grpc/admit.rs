//! The door of every call: whose it is and whether the credential allows it, before anything of it is read. It must not know any RPC.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use secrecy::SecretString;
use tonic::codegen::http::header::{AUTHORIZATION, CONTENT_TYPE};
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};

use super::metered::Calling;
use super::scope::{self, Needs};
use super::status::{RequestId, status};
use crate::app::Caller;
use crate::app::access::{AUDIT, Door, Pass, Principal};
use crate::app::meters::Rpcs;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Namespace;

/// The metadata in which a caller brings its own credential for the provider, for this call only.
const PROVIDER_CREDENTIAL: &str = "antiphon-provider-credential";
/// The metadata in which a caller whose credential opens all namespaces names one.
const NAMESPACE: &str = "antiphon-namespace";

/// What is needed at the door.
#[derive(Clone)]
pub(super) struct Admission {
    /// Where credentials are looked at.
    pub(super) door: Arc<dyn Door>,
    /// Where calls are counted.
    pub(super) rpcs: Rpcs,
}

/// Lets a call in with its [`Caller`], or answers it.
pub(super) async fn admit(State(at): State<Admission>, mut request: Request<Body>, next: Next) -> Response<Body> {
    if !is_grpc(request.headers()) {
        return not_grpc();
    }
    let needs = scope::of(request.uri().path());
    if needs == Needs::Nothing {
        return next.run(request).await;
    }
    let method = scope::name(request.uri().path()).to_owned();
    match caller(&*at.door, needs, request.headers_mut()) {
        Ok((caller, pass)) => {
            if scope::is_audited(request.uri().path()) {
                let request_id = RequestId::of(request.extensions()).map_or("", RequestId::as_str);
                let (namespace, method) = (caller.namespace.as_str(), request.uri().path());
                tracing::info!(target: AUDIT, caller = caller.name(), namespace, method, request_id, "audit.called");
            }
            request.extensions_mut().insert(caller);
            let calling = Calling::new(at.rpcs, method, pass);
            calling.answer(next.run(request).await)
        }
        Err(fault) => {
            let request_id = RequestId::of(request.extensions());
            let path = request.uri().path();
            let (request, reason) = (request_id.map_or("", RequestId::as_str), fault.reason.word());
            // What is over a limit is no attempt at what is not allowed.
            match fault.reason {
                Reason::LimitExceeded => tracing::info!(request_id = request, method = path, reason, "call.refused"),
                _ => tracing::info!(target: AUDIT, request_id = request, method = path, reason, "audit.refused"),
            }
            let calling = Calling::new(at.rpcs, method, Pass::default());
            calling.answer(status(&fault, request_id).into_http())
        }
    }
}

/// Who calls. What they brought is taken from the headers, so that nothing behind this door sees it.
fn caller(door: &dyn Door, needs: Needs, headers: &mut HeaderMap) -> Result<(Caller, Pass), Fault> {
    let shown = headers.remove(AUTHORIZATION);
    let principal = door.admit(shown.as_ref().map(bearer).transpose()?)?;
    let namespace = namespace(&principal, headers)?;
    let credential = headers.remove(PROVIDER_CREDENTIAL).and_then(|value| value.to_str().ok().map(SecretString::from));
    let caller = Caller { credential, ..Caller::new(principal, namespace) };
    match needs {
        Needs::Nothing | Needs::Somebody => {}
        Needs::Scope(scope) => caller.principal.allows(scope)?,
        Needs::Server(scope) => {
            caller.principal.allows(scope)?;
            caller.speaks_for_the_server()?;
        }
    }
    let pass = door.enter(&caller.principal)?;
    Ok((caller, pass))
}

/// The credential in a header.
fn bearer(value: &HeaderValue) -> Result<&str, Fault> {
    let found = value.to_str().ok().and_then(|value| value.split_once(' '));
    found.filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer")).map(|(_, credential)| credential.trim()).ok_or_else(
        || Fault::new(Reason::Unauthenticated, "the metadata `authorization` must be `Bearer`, a space, and the key"),
    )
}

fn namespace(principal: &Principal, headers: &HeaderMap) -> Result<Namespace, Fault> {
    // What is no text is no name either.
    principal.namespace(headers.get(NAMESPACE).map(|value| value.to_str().unwrap_or("?")))
}

/// What a web page can send without asking is never a call: a site must not reach a server that listens on the machine of who looks at it.
fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn not_grpc() -> Response<Body> {
    let mut response = Response::new(Body::from("gRPC is spoken here: the content-type must be application/grpc\n"));
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response
}
