//! The side door: what is served over plain HTTP beside gRPC, on the same port. It must not know the API's messages.

mod metrics;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::app::App;
use crate::app::access::{AUDIT, CallKind, Door, Opens, Peer, Scope};
use crate::domain::fault::Reason;

/// What is served.
pub fn routes(app: &Arc<App>, door: &Arc<dyn Door>) -> Router {
    let app = Arc::clone(app);
    Router::new()
        .route("/metrics", get(move || std::future::ready(metrics::answer(&app))))
        .layer(middleware::from_fn_with_state(Arc::clone(door), guard))
}

/// Lets in who may look at the server as a whole: what is served here is about all namespaces.
async fn guard(State(door): State<Arc<dyn Door>>, mut request: Request, next: Next) -> Response {
    let shown = request.headers_mut().remove(AUTHORIZATION).and_then(|value| credential(&value));
    let principal = match door.admit(shown.as_deref()) {
        Ok(principal) => principal,
        Err(fault) => {
            refused(&request, &door.named(shown.as_deref().unwrap_or_default()), fault.reason.word());
            let asks = [(WWW_AUTHENTICATE, r#"Basic realm="antiphon", charset="UTF-8""#)];
            return (StatusCode::UNAUTHORIZED, asks, format!("{}\n", fault.message)).into_response();
        }
    };
    if principal.opens != Opens::All || principal.allows(Scope::Read).is_err() {
        refused(&request, &principal.name, Reason::ScopeMissing.word());
        let told = "this needs a key of all namespaces with the scope `read`: `antiphon keys create --all-namespaces --scope read`\n";
        return (StatusCode::FORBIDDEN, told).into_response();
    }
    // Kept until the answer is made.
    let _pass = match door.enter(&principal, CallKind::Unary) {
        Ok(pass) => pass,
        Err(fault) => {
            let seconds = fault.retry_after_ms.unwrap_or(0).div_ceil(1_000).to_string();
            return (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds)], format!("{}\n", fault.message))
                .into_response();
        }
    };
    next.run(request).await
}

/// Writes a refusal down; whoever was let in is not told of.
fn refused(request: &Request, caller: &str, reason: &str) {
    let peer = request.extensions().get::<Peer>().map(Peer::address).unwrap_or_default();
    tracing::info!(target: AUDIT, caller, peer, method = "metrics", reason, "audit.refused");
}

/// A key as a program shows it, or as a browser does: as the password of any user.
fn credential(value: &HeaderValue) -> Option<String> {
    let (kind, shown) = value.to_str().ok()?.split_once(' ')?;
    if kind.eq_ignore_ascii_case("bearer") {
        return Some(shown.trim().to_owned());
    }
    let pair = STANDARD.decode(shown.trim()).ok().filter(|_| kind.eq_ignore_ascii_case("basic"))?;
    let pair = String::from_utf8(pair).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_as_programs_and_browsers_do() {
        let of = |value: &str| credential(&HeaderValue::from_str(value).unwrap());
        assert_eq!(of("Bearer k"), Some("k".to_owned()));
        assert_eq!(of(&format!("basic {}", STANDARD.encode("me:k:1"))), Some("k:1".to_owned()));
        for nothing in ["k", "Basic ***", "Digest x", &format!("Basic {}", STANDARD.encode("k"))] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }
}
