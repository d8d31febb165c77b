//! What the test binaries share. It must not know any one of them.
#![allow(dead_code, reason = "each binary uses the part that it needs")]

pub(crate) mod ask;
pub(crate) mod clock;
pub(crate) mod coordinate;
pub(crate) mod documents;
pub(crate) mod http2;
pub(crate) mod look;
pub(crate) mod program;
pub(crate) mod provider;
pub(crate) mod raw;
pub(crate) mod refused;
pub(crate) mod server;
pub(crate) mod stub;
pub(crate) mod transfer;

use std::future::Future;
use std::time::Duration;

/// Whatever a test waits for comes within this, or never.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must happen.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited {PATIENCE:?} in vain for {what}"),
    }
}
