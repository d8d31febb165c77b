//! Times as they are typed, lengths and moments. It must not know what they are for.

use std::time::{Duration, SystemTime};

/// The longest that makes sense.
const MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A length of time, such as `90d` or `1h 30m`; at most a hundred years.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text)
        .map_err(|_| "must be a number with a unit, such as `500ms`, `30s`, `2m`, `1h 30m` or `90d`".to_owned())?;
    if time > MAX { Err("is longer than a hundred years".to_owned()) } else { Ok(time) }
}

/// A moment by RFC 3339, in UTC.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn moment(text: &str) -> Result<SystemTime, String> {
    humantime::parse_rfc3339_weak(text)
        .map_err(|_| "must be a time in UTC such as `2026-01-31T12:00:00Z` or `2026-01-31 12:00:00`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_an_end() {
        assert_eq!(parse("90d"), Ok(Duration::from_secs(90 * 86_400)));
        for wrong in ["abc", "30", "s", "1h30", "-5s", ""] {
            let told = parse(wrong).unwrap_err();
            assert!(told.contains("`30s`") && told.contains("`2m`"), "{wrong}: {told}");
        }
        for long in ["101y", "99999999d", "999999999999d"] {
            assert!(parse(long).unwrap_err().contains("hundred"), "{long}");
        }
    }

    #[test]
    fn a_moment_has_a_date() {
        for right in ["2026-01-31T12:00:00Z", "2026-01-31 12:00:00", "2026-01-31T12:00:00.5Z"] {
            assert!(moment(right).is_ok(), "{right}");
        }
        for wrong in ["yesterday", "30s", "12:00", "2026-02-31T12:00:00Z"] {
            assert!(moment(wrong).unwrap_err().contains("`2026-01-31T12:00:00Z`"), "{wrong}");
        }
    }
}
