//! Lengths of time as they are typed. It must not know what they are for.

use std::time::Duration;

/// The longest that makes sense.
const MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A length of time, such as `90d` or `1h 30m`; at most a hundred years.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time > MAX { Err("is longer than a hundred years".to_owned()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_an_end() {
        assert_eq!(parse("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert!(parse("soon").is_err());
        for long in ["101y", "99999999d", "999999999999d"] {
            assert!(parse(long).unwrap_err().contains("hundred"), "{long}");
        }
    }
}
