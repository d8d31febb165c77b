//! Stored form of requests that were done. It must not know what their results mean.

use bytes::Bytes;

use super::{Malformed, Twin, hash, hash_bytes, stored, twin};
use crate::domain::id::{Hash, Moment};

stored!(Remembered, twin::Request);

/// A request that was done, so that its repetition gets the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// What was asked for, such as `fork`: the same id may not ask for another thing.
    pub kind: String,
    /// Hash of the request as received.
    pub fingerprint: Hash,
    /// What was answered, in an encoding of the caller's own.
    pub result: Bytes,
    /// When it was done.
    pub done_at: Moment,
}

impl Twin<Remembered> for twin::Request {
    fn of(remembered: &Remembered) -> Self {
        Self {
            kind: remembered.kind.clone(),
            fingerprint: hash_bytes(&remembered.fingerprint),
            result: remembered.result.clone(),
            done_at_ms: remembered.done_at.0,
        }
    }

    fn value(self) -> Result<Remembered, Malformed> {
        Ok(Remembered {
            kind: self.kind,
            fingerprint: hash(&self.fingerprint, "fingerprint")?,
            result: self.result,
            done_at: Moment(self.done_at_ms),
        })
    }
}
