//! The side door: what is served over plain HTTP beside gRPC, on the same port. It must not know the API's messages.

mod metrics;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::app::App;

/// What is served.
pub fn routes(app: &Arc<App>) -> Router {
    let app = Arc::clone(app);
    Router::new().route("/metrics", get(move || std::future::ready(metrics::answer(&app))))
}
