//! How a careful caller calls: the same call under the same id until it is known what came of it, whatever happens to the server and the
//! connection meanwhile. It must not know which call.

use std::future::Future;
use std::time::{Duration, Instant};

use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::world::World;
use crate::harness::Dice;

/// In this time everything is known, also where the server is killed a few times on the way.
const PATIENCE: Duration = Duration::from_secs(120);
/// So long a caller waits for one answer before it hangs up and asks again.
const HANG_UP: Duration = Duration::from_secs(20);
/// So often a run that failed is tried again.
const TRIES: u32 = 12;

/// What an error means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Nothing is known: ask again.
    Again,
    /// The run has ended without an answer: ask for it to be tried again.
    Retry,
    /// It is so.
    Final,
}

/// The reason of an error of the server; empty for one of the connection.
pub(super) fn reason(status: &Status) -> String {
    status.get_details_error_info().map(|info| info.reason).unwrap_or_default()
}

pub(super) fn means(status: &Status) -> Means {
    match reason(status).as_str() {
        // Not said by the server: the connection is gone, or the caller has left.
        "" => match status.code() {
            Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal => Means::Again,
            _ => Means::Final,
        },
        "SHUTTING_DOWN" | "BACKEND_QUEUE_FULL" | "THREAD_BUSY" | "LIMIT_EXCEEDED" => Means::Again,
        "RUN_INTERRUPTED" | "RUN_CANCELLED" | "DEADLINE" => Means::Retry,
        reason if reason.starts_with("PROVIDER_") => Means::Retry,
        _ => Means::Final,
    }
}

/// The time that a caller takes before it asks again: it is no wait for anything that could be asked for.
pub(super) async fn pause(dice: &mut Dice) {
    tokio::time::sleep(Duration::from_millis(5 + dice.roll(60))).await;
}

/// Calls until it is known what came of it. The call is told whether it is to try again what failed.
pub(super) async fn settled<T, F>(
    world: &World,
    dice: &mut Dice,
    what: &str,
    mut call: impl FnMut(Channel, bool) -> F,
) -> Result<T, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    let (begun, mut retry, mut tries) = (Instant::now(), false, 0);
    let mut last = None;
    loop {
        assert!(begun.elapsed() < PATIENCE, "{what}: nothing is known after {PATIENCE:?}: {last:?}");
        let server = world.server().await;
        match tokio::time::timeout(HANG_UP, call(server, retry)).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(status)) => {
                match means(&status) {
                    Means::Again => {}
                    Means::Retry if tries < TRIES => {
                        retry = true;
                        tries += 1;
                    }
                    Means::Retry | Means::Final => return Err(status),
                }
                last = Some(status);
            }
            Err(_) => last = Some(Status::cancelled("the caller hung up")),
        }
        pause(dice).await;
    }
}
