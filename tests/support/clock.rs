//! Clocks that tests set.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antiphon::domain::id::Moment;
use antiphon::domain::source::Clock;
use antiphon::ops::source::SystemClock;

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
