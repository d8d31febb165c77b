//! When a provider wants to be asked again, from the headers of its refusal. It must not know dialects: the headers of several families
//! are read here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::domain::id::Moment;

/// A longer delay is not a hint but a mistake; thirty days is the longest window that providers sell by.
const MAX_DELAY_MS: u64 = 30 * 24 * 3_600 * 1_000;

/// The delay in milliseconds; absent when the headers name none that makes sense. `limited`: the refusal is for a rate limit, so that the
/// resets of limits, which come with every answer, say something about it. `now` is our clock, used where the provider does not send its own.
pub(crate) fn delay_ms(headers: &HeaderMap, limited: bool, now: Moment) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|value| from_number(value, 1.0));
    let clock = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok()).and_then(since_1970);
    let now = clock.unwrap_or(now.0);
    milliseconds
        .or_else(|| text(RETRY_AFTER.as_str()).and_then(|value| retry_after(value, now)))
        .or_else(|| if limited { resets(headers, now) } else { None })
        .filter(|delay| *delay <= MAX_DELAY_MS)
}

/// Seconds or a date (RFC 9110, 10.2.3).
fn retry_after(value: &str, now: u64) -> Option<u64> {
    let date = || httpdate::parse_http_date(value).ok().and_then(since_1970).map(|moment| moment.saturating_sub(now));
    from_number(value, 1_000.0).or_else(date)
}

/// The longest wait of a limit that is used up; when none says so, the shortest of all.
fn resets(headers: &HeaderMap, now: u64) -> Option<u64> {
    let mut used_up = None;
    let mut any = None;
    for (name, value) in headers {
        let name = name.as_str();
        if !name.contains("ratelimit") || !name.contains("reset") {
            continue;
        }
        let Some(delay) = value.to_str().ok().and_then(|value| reset(value.trim(), now)) else { continue };
        let remaining = headers.get(name.replace("reset", "remaining")).and_then(|value| value.to_str().ok());
        if remaining.is_some_and(|left| left.trim().parse() == Ok(0.0)) {
            used_up = used_up.max(Some(delay));
        }
        any = Some(any.map_or(delay, |least: u64| least.min(delay)));
    }
    used_up.or(any)
}

/// A moment (RFC 3339, seconds or milliseconds since 1970), a span such as `1m30.5s`, or seconds.
fn reset(value: &str, now: u64) -> Option<u64> {
    // Numbers above these are no spans: thirty years of seconds, thirty years of milliseconds.
    const MOMENT_S: u64 = 1_000_000_000_000;
    const MOMENT_MS: u64 = 1_000_000_000_000_000;
    if let Some(span) = from_number(value, 1_000.0) {
        return Some(match span {
            MOMENT_MS.. => (span / 1_000).saturating_sub(now),
            MOMENT_S.. => span.saturating_sub(now),
            _ => span,
        });
    }
    if let Ok(moment) = humantime::parse_rfc3339_weak(value) {
        return since_1970(moment).map(|moment| moment.saturating_sub(now));
    }
    span(value)
}

/// A span as Go prints it: `6m0s`, `1.5s`, `20ms`; in milliseconds.
pub(crate) fn span(value: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut rest = value;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let scale = match unit {
            "d" => 86_400_000.0,
            "h" => 3_600_000.0,
            "m" => 60_000.0,
            "s" => 1_000.0,
            "ms" => 1.0,
            "us" | "µs" | "ns" => 0.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * scale;
        rest = after;
    }
    if value.is_empty() { None } else { whole(total) }
}

fn from_number(value: &str, scale: f64) -> Option<u64> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { whole(value.parse::<f64>().ok()? * scale) } else { None }
}

fn whole(milliseconds: f64) -> Option<u64> {
    let delay = Duration::try_from_secs_f64(milliseconds / 1_000.0).ok()?;
    u64::try_from(delay.as_nanos().div_ceil(1_000_000)).ok()
}

fn since_1970(moment: SystemTime) -> Option<u64> {
    u64::try_from(moment.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment(1_700_000_000_000);

    fn delay(headers: &[(&'static str, &'static str)]) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        delay_ms(&map, true, NOW)
    }

    #[test]
    fn retry_after_in_every_form() {
        assert_eq!(delay(&[("retry-after", "2")]), Some(2_000));
        assert_eq!(delay(&[("retry-after", "1.5")]), Some(1_500));
        assert_eq!(delay(&[("retry-after", "0")]), Some(0));
        assert_eq!(delay(&[("retry-after", "86400")]), Some(86_400_000));
        assert_eq!(delay(&[("retry-after", "Tue, 14 Nov 2023 22:13:23 GMT")]), Some(3_000));
        assert_eq!(delay(&[("retry-after", "Tue, 14 Nov 2023 22:13:00 GMT")]), Some(0), "past");
        assert_eq!(delay(&[("retry-after", "9"), ("retry-after-ms", "250")]), Some(250));
    }

    #[test]
    fn the_providers_clock_goes_before_ours() {
        let headers = [("date", "Tue, 14 Nov 2023 23:00:00 GMT"), ("retry-after", "Tue, 14 Nov 2023 23:00:05 GMT")];
        assert_eq!(delay(&headers), Some(5_000));
    }

    #[test]
    fn nonsense_is_as_good_as_absent() {
        for value in ["soon", "", "-5", "99999999999999999999999999", "1e9", "NaN", "inf"] {
            let mut map = HeaderMap::new();
            map.insert(RETRY_AFTER, value.parse().unwrap());
            assert_eq!(delay_ms(&map, true, NOW), None, "{value}");
        }
    }

    #[test]
    fn resets_of_used_up_limits() {
        assert_eq!(
            delay(&[
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "2023-11-14T22:13:24Z"),
                ("anthropic-ratelimit-tokens-remaining", "500"),
                ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:14:24Z"),
            ]),
            Some(4_000)
        );
        assert_eq!(
            delay(&[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "1m30.5s"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "20ms"),
            ]),
            Some(90_500)
        );
        assert_eq!(delay(&[("x-ratelimit-reset", "1700000004000")]), Some(4_000));
        assert_eq!(delay(&[("x-ratelimit-reset", "1700000004")]), Some(4_000));
        assert_eq!(delay(&[("ratelimit-reset", "7")]), Some(7_000));
        assert_eq!(delay(&[("x-ratelimit-reset", "later")]), None);
        let mut map = HeaderMap::new();
        map.insert("x-ratelimit-reset-requests", "60s".parse().unwrap());
        assert_eq!(delay_ms(&map, false, NOW), None, "no limit was hit");
    }
}
