//! Retries: which failures are worth another call, and after how long. It must not know how a call is made or who waits for it.
//!
//! | failure | again? |
//! | --- | --- |
//! | provider failed or unreachable, rate limit, no connection in time, answer not whole | yes |
//! | no first byte in time, silence in mid-answer, total time | no: the provider may be at work on it, and would be paid twice |
//! | anything else: credential, refused request, overflow, unsupported | no |
//! | any, after a piece of the answer was delivered to the caller | no: pieces cannot be taken back |
//! | any, where the provider asks for a longer wait than is configured or left | no: the caller is told the delay |

use std::time::Duration;

use super::backend::{Failure, FailureKind, Retry, Timeout};

/// How a call stands when it failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// How often it was made.
    pub(crate) made: u32,
    /// A piece of the answer reached the caller.
    pub(crate) delivered: bool,
    /// How much of the total time is left.
    pub(crate) left: Duration,
}

/// How long to wait before the call is made again; absent when it is not.
pub(crate) fn wait(policy: &Retry, failure: &Failure, standing: Standing, jitter: &mut Jitter) -> Option<Duration> {
    if standing.delivered || standing.made >= policy.attempts || !transient(&failure.kind) {
        return None;
    }
    let wait = match failure.retry_after_ms {
        Some(asked) if asked > policy.max_retry_after_ms => return None,
        Some(asked) if asked > 0 => Duration::from_millis(asked),
        // Asked to come back at once, or not asked: the usual wait, so that nothing turns in a hot loop.
        Some(_) | None => backoff(policy, standing.made, jitter),
    };
    (wait < standing.left).then_some(wait)
}

fn transient(kind: &FailureKind) -> bool {
    match kind {
        FailureKind::Unavailable
        | FailureKind::RateLimited
        | FailureKind::BadAnswer
        | FailureKind::Timeout(Timeout::Connect) => true,
        FailureKind::CredentialMissing
        | FailureKind::CredentialRefused(_)
        | FailureKind::Refused
        | FailureKind::ContextOverflow
        | FailureKind::Timeout(Timeout::FirstByte | Timeout::Idle | Timeout::Total)
        | FailureKind::Unsupported(_) => false,
    }
}

/// Doubles with each failure up to the limit; half of it is left to chance, so that callers who failed together do not come back together.
fn backoff(policy: &Retry, made: u32, jitter: &mut Jitter) -> Duration {
    let doubled = policy.base_ms.saturating_mul(1_u64.checked_shl(made.saturating_sub(1)).unwrap_or(u64::MAX));
    let full = doubled.min(policy.max_ms);
    let half = full / 2;
    Duration::from_millis(half + jitter.below(full - half + 1))
}

/// Chance from a seed, so that tests repeat (splitmix64, by Sebastiano Vigna, public domain).
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `limit` - 1; 0 for a limit of 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(limit).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::CredentialSource;

    fn fresh(made: u32) -> Standing {
        Standing { made, delivered: false, left: Duration::from_secs(600) }
    }

    fn failure(kind: FailureKind, retry_after_ms: Option<u64>) -> Failure {
        Failure { retry_after_ms, ..Failure::new(kind, "") }
    }

    fn waits(kind: FailureKind, retry_after_ms: Option<u64>, standing: Standing) -> Option<Duration> {
        wait(&Retry::default(), &failure(kind, retry_after_ms), standing, &mut Jitter::new(1))
    }

    #[test]
    fn only_passing_failures_are_worth_another_call() {
        for kind in [
            FailureKind::Unavailable,
            FailureKind::RateLimited,
            FailureKind::BadAnswer,
            FailureKind::Timeout(Timeout::Connect),
        ] {
            assert!(waits(kind, None, fresh(1)).is_some());
        }
        for kind in [
            FailureKind::CredentialMissing,
            FailureKind::CredentialRefused(CredentialSource::Server),
            FailureKind::Refused,
            FailureKind::ContextOverflow,
            FailureKind::Timeout(Timeout::FirstByte),
            FailureKind::Timeout(Timeout::Idle),
            FailureKind::Timeout(Timeout::Total),
            FailureKind::Unsupported("x".to_owned()),
        ] {
            assert_eq!(waits(kind, None, fresh(1)), None);
        }
    }

    #[test]
    fn attempts_are_bounded_and_nothing_is_repeated_after_a_delivery() {
        assert_eq!(waits(FailureKind::Unavailable, None, fresh(3)), None);
        assert_eq!(waits(FailureKind::Unavailable, None, Standing { delivered: true, ..fresh(1) }), None);
    }

    #[test]
    fn b043_the_providers_delay_is_kept_to_or_the_call_fails_at_once() {
        assert_eq!(waits(FailureKind::RateLimited, Some(2_000), fresh(1)), Some(Duration::from_secs(2)));
        assert_eq!(waits(FailureKind::RateLimited, Some(86_400_000), fresh(1)), None);
        let short = Standing { left: Duration::from_secs(1), ..fresh(1) };
        assert_eq!(waits(FailureKind::RateLimited, Some(2_000), short), None);
        let soon = waits(FailureKind::RateLimited, Some(0), fresh(1)).unwrap();
        assert!(soon >= Duration::from_millis(250) && soon <= Duration::from_millis(500));
    }

    #[test]
    fn waits_double_up_to_the_limit_and_repeat_for_a_seed() {
        let policy = Retry { attempts: 100, ..Retry::default() };
        let draw = |seed| {
            let mut jitter = Jitter::new(seed);
            let one = |made| {
                let failure = failure(FailureKind::Unavailable, None);
                wait(&policy, &failure, fresh(made), &mut jitter).unwrap().as_millis()
            };
            [1, 2, 3, 4, 5, 6, 99].map(one)
        };
        let drawn = draw(7);
        for (wait, full) in drawn.iter().zip([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]) {
            assert!(*wait >= full / 2 && *wait <= full, "{drawn:?}");
        }
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
    }
}
