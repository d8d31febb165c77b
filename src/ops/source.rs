//! The real clock and the real ids. It must not know who asks.

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
