//! Moments and durations, which are milliseconds within. It must not know any clock.

use prost_types::{Duration, Timestamp};

use super::{Path, Problems};
use crate::domain::id::Moment;

/// Nanoseconds of a second.
const NANOS: u32 = 1_000_000_000;
/// Nanoseconds of a millisecond.
const NANOS_OF_MILLI: u32 = 1_000_000;

/// A moment of a request.
pub fn from_pb(time: Timestamp, at: &Path<'_>, problems: &mut Problems) -> Option<Moment> {
    let milliseconds = whole_milliseconds(time.seconds, time.nanos);
    if milliseconds.is_none() {
        problems.add(at, "must be a time since 1970, with `nanos` of 0 to 999,999,999");
    }
    milliseconds.map(Moment)
}

/// A moment of a request that may be absent.
pub fn optional_from_pb(time: Option<Timestamp>, at: &Path<'_>, problems: &mut Problems) -> Option<Option<Moment>> {
    match time {
        None => Some(None),
        Some(time) => from_pb(time, at, problems).map(Some),
    }
}

/// A length of time of a request, in milliseconds; what is left of one counts as one.
pub fn duration_from_pb(length: Duration, at: &Path<'_>, problems: &mut Problems) -> Option<u64> {
    let part = u64::from(!length.nanos.unsigned_abs().is_multiple_of(NANOS_OF_MILLI));
    let milliseconds = whole_milliseconds(length.seconds, length.nanos);
    if milliseconds.is_none() {
        problems.add(at, "must not be negative, and have `nanos` of 0 to 999,999,999");
    }
    milliseconds.map(|milliseconds| milliseconds.saturating_add(part))
}

fn whole_milliseconds(seconds: i64, nanos: i32) -> Option<u64> {
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < NANOS)?;
    Some(u64::try_from(seconds).ok()?.saturating_mul(1_000).saturating_add(u64::from(nanos / NANOS_OF_MILLI)))
}

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
    use crate::grpc::convert::problem::whole;

    #[test]
    fn moments_come_back_as_they_went_out() {
        let read = |time| whole(|at, problems| from_pb(time, &at.field("deadline"), problems));
        assert_eq!(read(to_pb(Moment(1_500))), Ok(Moment(1_500)));
        for (seconds, nanos) in [(-1, 0), (0, -1), (0, 1_000_000_000)] {
            assert_eq!(read(Timestamp { seconds, nanos }).unwrap_err().fields[0].path, "deadline");
        }
        let none = whole(|at, problems| optional_from_pb(None, at, problems));
        assert_eq!(none, Ok(None));
    }

    #[test]
    fn the_rest_of_a_millisecond_counts_as_one() {
        let read = |seconds, nanos| {
            whole(|at, problems| duration_from_pb(Duration { seconds, nanos }, &at.field("length"), problems))
        };
        assert_eq!((read(0, 1), read(2, 0), read(1, 999_000_000)), (Ok(1), Ok(2_000), Ok(1_999)));
        assert_eq!(read(i64::MAX, 1), Ok(u64::MAX));
        assert_eq!(read(-1, 0).unwrap_err().fields[0].path, "length");
        assert!(read(0, -5).is_err());
    }

    #[test]
    fn milliseconds_become_seconds_and_nanos() {
        assert_eq!(to_pb(Moment(1_500)), Timestamp { seconds: 1, nanos: 500_000_000 });
        assert_eq!(duration_to_pb(999), Duration { seconds: 0, nanos: 999_000_000 });
        assert_eq!(to_pb(Moment(u64::MAX)).seconds, i64::try_from(u64::MAX / 1_000).unwrap());
    }
}
