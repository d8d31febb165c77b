//! Clocks that tests set, and ids by them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antiphon::domain::id::Moment;
use antiphon::domain::source::{Clock, Ids};
use antiphon::ops::source::SystemClock;
use uuid::Uuid;

/// A clock that is set by hand, in milliseconds since 1970.
pub(crate) struct Set(pub(crate) AtomicU64);

impl Clock for Set {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

/// The real clock, put forward by hand.
#[derive(Default)]
pub(crate) struct Forward(AtomicU64);

impl Forward {
    pub(crate) fn by(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Forward {
    fn now(&self) -> Moment {
        Moment(SystemClock.now().0 + self.0.load(Ordering::SeqCst))
    }
}

/// Ids with the time of a clock, in the order in which they were made.
pub(crate) struct Stamped {
    clock: Arc<dyn Clock>,
    count: AtomicU64,
}

impl Stamped {
    pub(crate) fn by(clock: Arc<dyn Clock>) -> Self {
        Self { clock, count: AtomicU64::new(0) }
    }
}

impl Ids for Stamped {
    fn uuid(&self) -> Uuid {
        let mut rest = [0; 10];
        rest[2..].copy_from_slice(&self.count.fetch_add(1, Ordering::SeqCst).to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(self.clock.now().0, &rest).into_uuid()
    }
}
