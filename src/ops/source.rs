//! The real clock, the real ids and real chance. It must not know who asks.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::domain::id::Moment;
use crate::domain::source::{Clock, Ids};

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
        let now = SystemTime::now();
        // A clock before 1970 is wrong by more than it matters here.
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Bytes that nobody can guess.
///
/// # Errors
/// When the system has none to give.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Ids by time and chance, in order within the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn uuid(&self) -> Uuid {
        #[expect(clippy::disallowed_methods, reason = "the one place where ids are made")]
        let uuid = Uuid::now_v7();
        uuid
    }
}
