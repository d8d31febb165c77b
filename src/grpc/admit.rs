//! The door of every call: whose it is and whether the credential allows it, before anything of it is read. It must not know any RPC.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use secrecy::SecretString;
use tokio::sync::Semaphore;
use tonic::codegen::http::header::{AUTHORIZATION, CONTENT_TYPE, ORIGIN};
use tonic::codegen::http::{Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode};

use super::convert::bounds;
use super::metered::Calling;
use super::scope::{self, Needs};
use super::status::{RequestId, status};
use crate::app::Caller;
use crate::app::access::{AUDIT, CallKind, Door, Pass, Peer, Principal};
use crate::app::meters::Rpcs;
use crate::domain::bounds::Bounds;
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
    /// What a request may have.
    pub(super) bounds: Arc<Bounds>,
    /// Places for calls of nobody: those of the health service.
    pub(super) unasked: Arc<Semaphore>,
    /// How many refusals are written down; the others are counted only, so that nobody fills a disk by being refused.
    pub(super) written: Arc<DefaultDirectRateLimiter>,
}

/// Calls of nobody at once: what looks whether a server is there is one or two.
const UNASKED: usize = 256;
/// Refusals that are written down in a second.
const WRITTEN: NonZeroU32 = NonZeroU32::new(20).unwrap();

impl Admission {
    /// At a door.
    pub(super) fn new(door: Arc<dyn Door>, rpcs: Rpcs, bounds: Arc<Bounds>) -> Self {
        let written = Arc::new(RateLimiter::direct(Quota::per_second(WRITTEN)));
        Self { door, rpcs, bounds, unasked: Arc::new(Semaphore::new(UNASKED)), written }
    }

    /// Counts calls of nobody: the limit, and what tells how many there are.
    pub(super) fn calls_of_nobody(&self) -> (usize, impl Fn() -> usize + Send + Sync + 'static) {
        let places = Arc::clone(&self.unasked);
        (UNASKED, move || UNASKED - places.available_permits())
    }

    /// Lets a call in of which nothing is asked.
    fn unasked(&self) -> Result<Pass, Fault> {
        let place = Arc::clone(&self.unasked).try_acquire_owned().map_err(|_| {
            let message = format!(
                "{UNASKED} calls of the health service are at work, which is the limit: come again in a moment"
            );
            Fault::new(Reason::LimitExceeded, message)
                .with("limit", "health_calls")
                .with("max", UNASKED)
                .with("value", UNASKED + 1)
                .retry_after(1_000)
        })?;
        Ok(Pass::holding(place))
    }

    /// Writes a refusal down. Of the path only what is a name of the API: anybody may send any other.
    fn refused(&self, extensions: &Extensions, method: &str, who: &str, fault: &Fault) {
        if self.written.check().is_err() {
            return;
        }
        let (request_id, reason) = (RequestId::of(extensions).map_or("", RequestId::as_str), fault.reason.word());
        let peer = address(extensions);
        // What is over a limit is no attempt at what is not allowed.
        match fault.reason {
            Reason::LimitExceeded => tracing::info!(request_id, caller = who, peer, method, reason, "call.refused"),
            _ => tracing::info!(target: AUDIT, request_id, caller = who, peer, method, reason, "audit.refused"),
        }
    }
}

/// Lets a call in with its [`Caller`], or answers it.
pub(super) async fn admit(State(at): State<Admission>, mut request: Request<Body>, next: Next) -> Response<Body> {
    if !is_grpc(request.headers()) {
        return not_grpc();
    }
    let (needs, kind) = (scope::of(request.uri().path()), scope::kind(request.uri().path()));
    let method = scope::name(request.uri().path()).to_owned();
    let shown = request.headers_mut().remove(AUTHORIZATION);
    let let_in = match needs {
        Needs::Nothing => at.unasked().map(|pass| (None, pass)),
        needs => caller(&*at.door, needs, kind, shown.as_ref(), request.headers_mut())
            .map(|(caller, pass)| (Some(caller), pass)),
    };
    // A connection with a call at work is not idle.
    let busy = request.extensions().get::<Peer>().map(Peer::call);
    match let_in {
        Ok((None, pass)) => Calling::new(at.rpcs, method, pass, busy).answer(next.run(request).await),
        Ok((Some(caller), pass)) => {
            if scope::is_audited(request.uri().path()) {
                let request_id = RequestId::of(request.extensions()).map_or("", RequestId::as_str);
                let namespace = caller.namespace.as_str();
                let peer = address(request.extensions());
                tracing::info!(target: AUDIT, caller = caller.name(), namespace, method, request_id, peer, "audit.called");
            }
            request.extensions_mut().insert(caller);
            let calling = Calling::new(at.rpcs, method, pass, busy);
            calling.answer(bounds::answering(at.bounds, next.run(request)).await)
        }
        Err(fault) => {
            let who = shown.as_ref().and_then(|shown| bearer(shown).ok()).map(|shown| at.door.named(shown));
            at.refused(request.extensions(), &method, &who.unwrap_or_default(), &fault);
            let calling = Calling::new(at.rpcs, method, Pass::default(), busy);
            calling.answer(status(&fault, RequestId::of(request.extensions())).into_http())
        }
    }
}

/// The address of who calls; empty where it is not known.
fn address(extensions: &Extensions) -> String {
    extensions.get::<Peer>().map(Peer::address).unwrap_or_default()
}

/// Who calls. What they brought is taken from the headers, so that nothing behind this door sees it.
fn caller(
    door: &dyn Door,
    needs: Needs,
    kind: CallKind,
    shown: Option<&HeaderValue>,
    headers: &mut HeaderMap,
) -> Result<(Caller, Pass), Fault> {
    let principal = door.admit(shown.map(bearer).transpose()?)?;
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
    let pass = door.enter(&caller.principal, kind)?;
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
    let is_kind = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/grpc");
    // A browser says where a POST comes from; a page of a name that was made to lead here is told by that as well.
    headers.get(CONTENT_TYPE).is_some_and(is_kind) && !headers.contains_key(ORIGIN)
}

fn not_grpc() -> Response<Body> {
    let told = "gRPC is spoken here, and not with browsers: the content-type must be application/grpc, and no origin\n";
    let mut response = Response::new(Body::from(told));
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response
}
