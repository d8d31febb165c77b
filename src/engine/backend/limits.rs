//! What bounds the calls to a backend: how many at once, how many wait, how long, how often one is made again, and when none is made for a
//! while. It must not know any dialect.

use std::time::Duration;

use serde::Deserialize;

/// Most calls at once.
const MAX_CAPACITY: u32 = 100_000;
/// Most tries of one call.
const MAX_ATTEMPTS: u32 = 100;
/// Most requests in a minute, and at once.
const MAX_RATE: u32 = 1_000_000;

/// Bounds of one backend, as configured.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many calls are at work at once.
    pub capacity: u32,
    /// How many may wait for their turn; the next is refused.
    pub queue_limit: u32,
    /// For a whole call with its retries and the waits between them, in milliseconds.
    pub total_timeout_ms: u64,
    /// When a failed call is made again.
    pub retry: Retry,
    /// When the backend is left alone.
    pub circuit: Circuit,
    /// How many requests go out in a minute; any number when absent.
    pub rate: Option<Rate>,
}

/// How many requests go out in a minute, retries and repairs included.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// So many, evenly spaced.
    pub requests_per_minute: u32,
    /// So many may go out at once after a pause; a tenth of a minute's when absent. In no minute more than both together go out.
    pub burst: Option<u32>,
}

impl Rate {
    /// How many may go out at once after a pause.
    pub fn burst(&self) -> u32 {
        self.burst.unwrap_or((self.requests_per_minute / 10).max(1))
    }
}

/// When a failed call is made again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// How often a call is made at most, the first time included.
    pub attempts: u32,
    /// The wait after the first failure, in milliseconds; it doubles with each further one.
    pub base_ms: u64,
    /// The longest of these waits, in milliseconds.
    pub max_ms: u64,
    /// The longest delay asked for by a provider that is waited for, in milliseconds; with a longer one the call fails at once.
    pub max_retry_after_ms: u64,
}

/// When a backend that fails again and again is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Circuit {
    /// After so many failures in a row; 0 for never.
    pub failures: u32,
    /// For so long, in milliseconds; then one call tries.
    pub open_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let (retry, circuit) = (Retry::default(), Circuit::default());
        Self { capacity: 16, queue_limit: 256, total_timeout_ms: 600_000, retry, circuit, rate: None }
    }
}

impl Default for Circuit {
    fn default() -> Self {
        Self { failures: 0, open_ms: 10_000 }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 3, base_ms: 500, max_ms: 8_000, max_retry_after_ms: 30_000 }
    }
}

impl Limits {
    /// The keys of the configuration that belong here.
    pub const KEYS: [&'static str; 6] = ["capacity", "queue_limit", "total_timeout_ms", "retry", "circuit", "rate"];

    /// What is wrong with the figures: the key, what it is and what it must be.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut within = |key, figure: u32, max: u32, more: &str| {
            if !(1..=max).contains(&figure) {
                problems.push((key, format!("is {figure}: it must be 1 to {max}{more}")));
            }
        };
        within("capacity", self.capacity, MAX_CAPACITY, "");
        within("retry.attempts", self.retry.attempts, MAX_ATTEMPTS, "; 1 makes no call again");
        if let Some(rate) = &self.rate {
            let more = "; leave `rate` out for any number";
            within("rate.requests_per_minute", rate.requests_per_minute, MAX_RATE, more);
            within("rate.burst", rate.burst(), MAX_RATE, "");
        }
        if self.total_timeout_ms == 0 {
            problems.push(("total_timeout_ms", "must be 1 or more".to_owned()));
        }
        if self.retry.max_ms < self.retry.base_ms {
            problems.push(("retry.max_ms", "must not be less than retry.base_ms".to_owned()));
        }
        if self.circuit.open_ms == 0 {
            let what = "must be 1 or more; `failures = 0` turns the circuit off";
            problems.push(("circuit.open_ms", what.to_owned()));
        }
        problems
    }

    /// For a whole call.
    pub fn total_timeout(&self) -> Duration {
        Duration::from_millis(self.total_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_sound_and_nonsense_is_named() {
        assert_eq!(Limits::default().problems(), []);
        let wrong = Limits {
            capacity: 0,
            total_timeout_ms: 0,
            retry: Retry { attempts: 0, max_ms: 1, ..Retry::default() },
            circuit: Circuit { failures: 1, open_ms: 0 },
            rate: Some(Rate { requests_per_minute: 0, burst: Some(0) }),
            ..Limits::default()
        };
        let keys: Vec<_> = wrong.problems().into_iter().map(|(key, _)| key).collect();
        let figures = ["capacity", "retry.attempts", "rate.requests_per_minute", "rate.burst"];
        assert_eq!(keys, [&figures[..], &["total_timeout_ms", "retry.max_ms", "circuit.open_ms"]].concat());
    }

    #[test]
    fn the_most_is_taken_and_one_more_is_not() {
        let with = |more: u32| {
            let retry = Retry { attempts: 100 + more, ..Retry::default() };
            let rate = Some(Rate { requests_per_minute: 1_000_000 + more, burst: Some(1_000_000 + more) });
            let limits = Limits { capacity: 100_000 + more, retry, rate, ..Limits::default() };
            limits.problems().into_iter().map(|(key, what)| format!("{key} {what}")).collect::<Vec<_>>()
        };
        assert_eq!(with(0), [""; 0]);
        let expected = [
            "capacity is 100001: it must be 1 to 100000",
            "retry.attempts is 101: it must be 1 to 100; 1 makes no call again",
            "rate.requests_per_minute is 1000001: it must be 1 to 1000000; leave `rate` out for any number",
            "rate.burst is 1000001: it must be 1 to 1000000",
        ];
        assert_eq!(with(1), expected);
    }
}
