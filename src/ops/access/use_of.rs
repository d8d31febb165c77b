//! How much each credential uses now, and how fast: against its limits, before anything of a call is read. It must not know who has it.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde::{Deserialize, Serialize};

use crate::app::access::{Pass, Principal};
use crate::domain::fault::{Fault, Reason};

/// Limits of a credential; none where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Calls at once, streams among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_at_once: Option<u32>,
    /// Calls that begin in a second; after a pause as many may begin at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_second: Option<u32>,
}

impl Limits {
    /// The limits themselves, and where they say nothing those of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            calls_at_once: self.calls_at_once.or(other.calls_at_once),
            calls_per_second: self.calls_per_second.or(other.calls_per_second),
        }
    }

    /// What is wrong with them: the key and the mistake.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let all = [("calls_at_once", self.calls_at_once), ("calls_per_second", self.calls_per_second)];
        let wrong = all.into_iter().filter(|(_, limit)| *limit == Some(0));
        wrong
            .map(|(key, _)| (key, "must be at least 1: a key that may do nothing is better revoked".to_owned()))
            .collect()
    }
}

/// Most credentials whose use is remembered. Tokens come and go; beyond so many, what is not at work is forgotten.
const MAX_REMEMBERED: usize = 10_000;
/// How soon one whose calls are all at work may come again, in milliseconds.
const AGAIN_MS: u64 = 200;

/// What every credential uses.
#[derive(Default)]
pub(super) struct Uses(Mutex<HashMap<String, Arc<Use>>>);

/// What one credential uses.
struct Use {
    limits: Limits,
    at_work: AtomicU32,
    pace: Option<DefaultDirectRateLimiter>,
}

impl Use {
    fn new(limits: Limits) -> Self {
        let pace = limits
            .calls_per_second
            .and_then(NonZeroU32::new)
            .map(|calls| RateLimiter::direct(Quota::per_second(calls)));
        Self { limits, at_work: AtomicU32::new(0), pace }
    }
}

/// Gives its place back when the call has ended.
struct Place(Arc<Use>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Uses {
    /// Lets a call begin that this credential makes.
    ///
    /// # Errors
    /// LIMIT_EXCEEDED with when to come again.
    pub(super) fn enter(&self, principal: &Principal, limits: Limits) -> Result<Pass, Fault> {
        if limits == Limits::default() {
            return Ok(Pass::default());
        }
        let used = self.of(&principal.name, limits);
        if let Some(max) = limits.calls_at_once {
            // Counted first and given back, so that two at once cannot both have the last place.
            let before = used.at_work.fetch_add(1, Ordering::AcqRel);
            if before >= max {
                used.at_work.fetch_sub(1, Ordering::AcqRel);
                let message = format!(
                    "{max} calls with this credential are at work, and it may have no more: wait for one to end"
                );
                return Err(over("calls_at_once", max, AGAIN_MS, message));
            }
        } else {
            used.at_work.fetch_add(1, Ordering::AcqRel);
        }
        let place = Place(Arc::clone(&used));
        if let (Some(pace), Some(max)) = (&used.pace, limits.calls_per_second)
            && let Err(not_until) = pace.check()
        {
            let wait = not_until.wait_time_from(DefaultClock::default().now());
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
            let message = format!("this credential may begin {max} calls in a second: come again in {wait} ms");
            return Err(over("calls_per_second", max, wait, message));
        }
        Ok(Pass::holding(place))
    }

    fn of(&self, name: &str, limits: Limits) -> Arc<Use> {
        // Whoever held it only looked something up.
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = uses.get(name).filter(|used| used.limits == limits) {
            return Arc::clone(used);
        }
        if uses.len() >= MAX_REMEMBERED {
            uses.retain(|_, used| used.at_work.load(Ordering::Acquire) > 0);
        }
        let used = Arc::new(Use::new(limits));
        uses.insert(name.to_owned(), Arc::clone(&used));
        used
    }
}

fn over(limit: &str, max: u32, again: u64, message: String) -> Fault {
    Fault::new(Reason::LimitExceeded, message).with("limit", limit).with("max", max).retry_after(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Namespace;

    fn somebody(name: &str) -> Principal {
        Principal { name: name.to_owned(), ..Principal::of(Namespace::new("a")) }
    }

    #[test]
    fn places_come_free_when_calls_end() {
        let uses = Uses::default();
        let limits = Limits { calls_at_once: Some(2), calls_per_second: None };
        let (first, _second) =
            (uses.enter(&somebody("k"), limits).unwrap(), uses.enter(&somebody("k"), limits).unwrap());
        let fault = uses.enter(&somebody("k"), limits).map(|_| ()).unwrap_err();
        assert_eq!((fault.reason, fault.metadata["limit"].as_str()), (Reason::LimitExceeded, "calls_at_once"));
        assert!(fault.retry_after_ms.is_some());
        assert!(uses.enter(&somebody("other"), limits).is_ok());
        drop(first);
        assert!(uses.enter(&somebody("k"), limits).is_ok());
    }

    #[test]
    fn a_call_too_soon_is_told_when_to_come() {
        let uses = Uses::default();
        let limits = Limits { calls_at_once: Some(1), calls_per_second: Some(3) };
        for _ in 0..3 {
            uses.enter(&somebody("k"), limits).unwrap();
        }
        let fault = uses.enter(&somebody("k"), limits).map(|_| ()).unwrap_err();
        assert_eq!(fault.metadata["limit"], "calls_per_second");
        assert!(fault.retry_after_ms.unwrap() <= 1_001);
    }

    #[test]
    fn own_limits_go_before_those_for_all() {
        let all = Limits { calls_at_once: Some(5), calls_per_second: Some(9) };
        let own = Limits { calls_at_once: Some(1), calls_per_second: None };
        assert_eq!(own.or(all), Limits { calls_at_once: Some(1), calls_per_second: Some(9) });
        assert_eq!(Limits { calls_at_once: Some(0), calls_per_second: None }.problems().len(), 1);
    }
}
