//! One call: who makes it, under which request id, until when. It must not know what is asked.

use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tonic::{Request, Status};

use super::convert::bounds;
use super::explained::Longest;
use super::status::{RequestId, guarded, status};
use crate::app::Caller;
use crate::domain::bounds::Bounds;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id;

/// One call.
#[derive(Clone)]
pub(super) struct Call {
    /// Who makes it.
    pub caller: Caller,
    /// Names it in answers, errors and logs.
    pub request_id: Option<RequestId>,
    /// The longest message that it takes.
    pub longest: Option<Longest>,
    /// What its messages may have.
    bounds: Arc<Bounds>,
}

/// How much earlier than the transport's timer ours goes off, for deadlines that are not short themselves.
const TRANSPORT_HEADSTART: Duration = Duration::from_millis(50);

impl Call {
    /// From a request that went through [`super::observe`].
    ///
    /// # Errors
    /// When nobody is known to make it, which is a fault of the server's assembly.
    pub(super) fn of<T>(request: &Request<T>) -> Result<Self, Status> {
        let request_id = RequestId::of(request.extensions()).cloned();
        let longest = request.extensions().get::<Longest>().copied();
        let Some(caller) = request.extensions().get::<Caller>().cloned() else {
            let fault = Fault::new(Reason::Internal, "the call came in without a principal");
            return Err(status(&fault, request_id.as_ref()));
        };
        let deadline = request.metadata().get("grpc-timeout").and_then(|value| timeout(value.to_str().ok()?));
        let caller = Caller { deadline: deadline.map(|left| Instant::now() + ours(left)), ..caller };
        Ok(Self { caller, request_id, longest, bounds: bounds::in_force() })
    }

    /// Reads a message of the caller's stream.
    pub(super) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        bounds::reading(&self.bounds, read)
    }

    /// Why the next message of the caller's stream could not be read; absent where the stream is gone.
    pub(super) fn unreadable(&self, broken: &Status) -> Option<Fault> {
        self.longest.and_then(|longest| longest.unreadable(broken))
    }

    /// A fault as the caller is told it.
    pub(super) fn status(&self, fault: &Fault) -> Status {
        let request_id = self.request_id.as_ref().map_or("", RequestId::as_str);
        let reason = fault.reason.word();
        match fault.reason {
            Reason::Internal | Reason::StoreCorrupt => {
                tracing::error!(request_id, reason, error = %fault.message, "call.failed");
            }
            _ => {
                let run_id = fault.metadata.get("run_id").map_or("", String::as_str);
                tracing::info!(request_id, run_id, reason, "call.refused");
            }
        }
        status(fault, self.request_id.as_ref())
    }

    /// Waits, at most until the caller's deadline. A panic on the way ends this call only.
    ///
    /// # Errors
    /// What the future gives, DEADLINE, or INTERNAL.
    pub(super) async fn until_deadline<T>(&self, waiting: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let waiting = guarded(waiting);
        match self.caller.deadline {
            None => waiting.await,
            Some(deadline) => match tokio::time::timeout_at(deadline, waiting).await {
                Ok(done) => done,
                Err(_) => Err(passed()),
            },
        }
    }

    /// Waits as long as it takes. A panic on the way ends this call only.
    ///
    /// # Errors
    /// INTERNAL after a panic.
    pub(super) async fn guarded<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Fault> {
        guarded(async { Ok(waiting.await) }).await
    }

    /// Runs one verb and answers.
    ///
    /// # Errors
    /// Its fault, as a status.
    pub(super) async fn answer<T>(
        &self,
        verb: impl Future<Output = Result<T, Fault>>,
    ) -> Result<tonic::Response<T>, Status> {
        match self.until_deadline(verb).await {
            Ok(message) => Ok(super::status::response(message, self.request_id.as_ref(), None)),
            Err(fault) => Err(self.status(&fault)),
        }
    }
}

/// An id that is all there is to read of a request.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read_id<T: FromStr<Err = id::Error>>(text: &str, field: &str) -> Result<T, Fault> {
    text.parse().map_err(|error: id::Error| Fault::field(field, error.to_string()))
}

/// How much of the time that the caller allows is ours: the transport has a timer of its own, which would answer CANCELLED without a reason.
fn ours(left: Duration) -> Duration {
    left - (left / 10).min(TRANSPORT_HEADSTART)
}

/// The caller's deadline passed.
pub(super) fn passed() -> Fault {
    Fault::new(
        Reason::Deadline,
        "the call's deadline passed first: allow more time, and repeat it with the same run id",
    )
}

/// A duration as gRPC writes it: up to eight digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count.saturating_mul(3_600))),
        "M" => Some(Duration::from_secs(count.saturating_mul(60))),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_grpc_writes_them() {
        assert_eq!(timeout("250m"), Some(Duration::from_millis(250)));
        assert_eq!(timeout("2S"), Some(Duration::from_secs(2)));
        assert_eq!((timeout(""), timeout("S"), timeout("123456789S"), timeout("5x")), (None, None, None, None));
    }
}
