//! Moments and durations, which are milliseconds within. It must not know any clock.

use prost_types::{Duration, Timestamp};

use crate::domain::id::Moment;

/// A moment.
pub fn to_pb(moment: Moment) -> Timestamp {
    let (seconds, nanos) = split(moment.0);
    Timestamp { seconds, nanos }
}

/// A length of time, from milliseconds.
pub fn duration_to_pb(milliseconds: u64) -> Duration {
    let (seconds, nanos) = split(milliseconds);
    Duration { seconds, nanos }
}

fn split(milliseconds: u64) -> (i64, i32) {
    let seconds = i64::try_from(milliseconds / 1_000).unwrap_or(i64::MAX);
    let nanos = i32::try_from(milliseconds % 1_000 * 1_000_000).unwrap_or_default();
    (seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_become_seconds_and_nanos() {
        assert_eq!(to_pb(Moment(1_500)), Timestamp { seconds: 1, nanos: 500_000_000 });
        assert_eq!(duration_to_pb(999), Duration { seconds: 0, nanos: 999_000_000 });
        assert_eq!(to_pb(Moment(u64::MAX)).seconds, i64::try_from(u64::MAX / 1_000).unwrap());
    }
}
