//! How much each credential uses now, and how fast: against its limits, before anything of a call is read. It must not know who has it.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::{DefaultDirectRateLimiter, NotUntil, Quota, RateLimiter};

use crate::app::access::{AtWork, CallKind, Limits, Opens, Pass, Principal};
use crate::domain::fault::{Fault, Reason};

/// Most credentials whose use is remembered. Tokens come and go; beyond so many, what is not at work is forgotten.
const MAX_REMEMBERED: usize = 10_000;
/// How soon one whose calls are all at work may come again, in milliseconds.
const AGAIN_MS: u64 = 200;

/// What every credential uses.
#[derive(Default)]
pub(super) struct Uses(Mutex<HashMap<(String, Opens), Arc<Use>>>);

/// What one credential uses.
struct Use {
    principal: Principal,
    calls: AtomicU32,
    streams: AtomicU32,
    coordinations: AtomicU32,
    pace: Option<Pace>,
}

type Instant = <DefaultClock as Clock>::Instant;

/// How fast calls begin.
struct Pace {
    max: NonZeroU32,
    limiter: DefaultDirectRateLimiter<StateInformationMiddleware>,
    /// When a call was last let in, and how many counted then. The limiter tells it only to who takes a place.
    held: Mutex<Option<(Instant, u32)>>,
}

impl Pace {
    fn new(max: NonZeroU32) -> Self {
        let limiter = RateLimiter::direct(Quota::per_second(max)).with_middleware();
        Self { max, limiter, held: Mutex::default() }
    }

    /// Lets a call begin, or says when it may.
    fn check(&self) -> Result<(), NotUntil<Instant>> {
        // Whoever held it only put a figure there.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.limiter.check()?;
        let counted = self.max.get().saturating_sub(snapshot.remaining_burst_capacity());
        *held = Some((DefaultClock::default().now(), counted));
        Ok(())
    }

    /// How many calls count now.
    fn held(&self) -> u32 {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((at, counted)) = *held else { return 0 };
        counted_after(counted, self.max, DefaultClock::default().now().duration_since(at))
    }
}

/// How many of the calls that counted still do after a time: they give their places back one after the other, all of them within a second.
fn counted_after(counted: u32, max: NonZeroU32, since: Duration) -> u32 {
    let back = since.as_micros().saturating_mul(max.get().into()) / 1_000_000;
    counted.saturating_sub(u32::try_from(back).unwrap_or(u32::MAX))
}

impl Use {
    fn new(principal: Principal) -> Self {
        let pace = principal.limits.calls_per_second.and_then(NonZeroU32::new).map(Pace::new);
        let (calls, streams, coordinations) = <(AtomicU32, AtomicU32, AtomicU32)>::default();
        Self { principal, calls, streams, coordinations, pace }
    }

    /// What counts calls of a kind, each with its limit.
    fn counters(&self, kind: CallKind) -> impl Iterator<Item = (&AtomicU32, &'static str, Option<u32>)> {
        let limits = &self.principal.limits;
        let all = [
            (true, &self.calls, "calls_at_once", limits.calls_at_once),
            (kind != CallKind::Unary, &self.streams, "streams_at_once", limits.streams_at_once),
            (
                kind == CallKind::Coordination,
                &self.coordinations,
                "coordinations_at_once",
                limits.coordinations_at_once,
            ),
        ];
        all.into_iter().filter(|(counts, ..)| *counts).map(|(_, counter, name, max)| (counter, name, max))
    }

    fn at_work(&self) -> AtWork {
        let count = |of: &AtomicU32| of.load(Ordering::Acquire);
        let (calls, streams, coordinations) = (count(&self.calls), count(&self.streams), count(&self.coordinations));
        let lately = self.pace.as_ref().map_or(0, Pace::held);
        AtWork { principal: self.principal.clone(), calls, lately, streams, coordinations }
    }
}

/// Gives its place back when the call has ended.
struct Place(Arc<Use>, CallKind);

impl Place {
    /// Counted first and given back, so that two at once cannot both have the last place.
    fn take(of: &Arc<Use>, kind: CallKind) -> Result<Self, Fault> {
        let mut over_limit = None;
        for (counter, name, max) in of.counters(kind) {
            let before = counter.fetch_add(1, Ordering::AcqRel);
            if let Some(max) = max.filter(|max| before >= *max) {
                over_limit = over_limit.or(Some((name, max, before.saturating_add(1))));
            }
        }
        let place = Self(Arc::clone(of), kind);
        let Some((name, max, value)) = over_limit else { return Ok(place) };
        let what = match name {
            "calls_at_once" => "calls",
            "streams_at_once" => "streams",
            _ => "streams of coordinations",
        };
        let message = format!(
            "{what} with this credential are at work, {max} of them, and it may have no more: wait for one to end"
        );
        Err(over(name, max, value, AGAIN_MS, message))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for (counter, ..) in self.0.counters(self.1) {
            counter.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Uses {
    /// Lets a call begin that this credential makes.
    ///
    /// # Errors
    /// LIMIT_EXCEEDED with when to come again.
    pub(super) fn enter(&self, principal: &Principal, kind: CallKind) -> Result<Pass, Fault> {
        if principal.limits == Limits::default() {
            return Ok(Pass::default());
        }
        let used = self.of(principal);
        let place = Place::take(&used, kind)?;
        if let (Some(pace), Some(max)) = (&used.pace, principal.limits.calls_per_second)
            && let Err(not_until) = pace.check()
        {
            let wait = not_until.wait_time_from(DefaultClock::default().now());
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
            let message = format!("this credential may begin {max} calls in a second: come again in {wait} ms");
            return Err(over("calls_per_second", max, max.saturating_add(1), wait, message));
        }
        Ok(Pass::holding(place))
    }

    /// What those have at work that are remembered.
    pub(super) fn at_work(&self) -> Vec<AtWork> {
        // Whoever held it only looked something up.
        let uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.values().map(|used| used.at_work()).collect()
    }

    fn of(&self, principal: &Principal) -> Arc<Use> {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody who signs tokens may name the same in several namespaces.
        let who = (principal.name.clone(), principal.opens.clone());
        if let Some(used) = uses.get(&who).filter(|used| used.principal.limits == principal.limits) {
            return Arc::clone(used);
        }
        if uses.len() >= MAX_REMEMBERED {
            uses.retain(|_, used| used.calls.load(Ordering::Acquire) > 0);
        }
        let used = Arc::new(Use::new(principal.clone()));
        uses.insert(who, Arc::clone(&used));
        used
    }
}

/// Beyond a limit; `value` is what it would have been with this call.
fn over(limit: &str, max: u32, value: u32, again: u64, message: String) -> Fault {
    let fault = Fault::new(Reason::LimitExceeded, message).with("limit", limit).with("max", max);
    fault.with("value", value).retry_after(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Namespace;

    fn somebody(name: &str, limits: &Limits) -> Principal {
        Principal { name: name.to_owned(), limits: limits.clone(), ..Principal::of(Namespace::new("a")) }
    }

    fn refused(uses: &Uses, limits: &Limits, kind: CallKind) -> Fault {
        uses.enter(&somebody("k", limits), kind).map(|_| ()).unwrap_err()
    }

    #[test]
    fn places_come_free_when_calls_end() {
        let uses = Uses::default();
        let limits = Limits { calls_at_once: Some(2), ..Limits::default() };
        let enter = |name| uses.enter(&somebody(name, &limits), CallKind::Unary);
        let (first, _second) = (enter("k").unwrap(), enter("k").unwrap());
        let fault = refused(&uses, &limits, CallKind::Unary);
        assert_eq!((fault.reason, fault.metadata["limit"].as_str()), (Reason::LimitExceeded, "calls_at_once"));
        assert_eq!(["max", "value"].map(|fact| fault.metadata[fact].as_str()), ["2", "3"]);
        assert!(fault.retry_after_ms.is_some());
        assert!(enter("other").is_ok());
        drop(first);
        assert!(enter("k").is_ok());
    }

    #[test]
    fn a_call_counts_as_what_it_is() {
        let uses = Uses::default();
        let limits = Limits {
            calls_at_once: Some(4),
            streams_at_once: Some(2),
            coordinations_at_once: Some(1),
            ..Limits::default()
        };
        let enter = |kind| uses.enter(&somebody("k", &limits), kind);
        let coordination = enter(CallKind::Coordination).unwrap();
        assert_eq!(refused(&uses, &limits, CallKind::Coordination).metadata["limit"], "coordinations_at_once");
        let _stream = enter(CallKind::Stream).unwrap();
        assert_eq!(refused(&uses, &limits, CallKind::Stream).metadata["limit"], "streams_at_once");
        let _unary = (enter(CallKind::Unary).unwrap(), enter(CallKind::Unary).unwrap());
        assert_eq!(refused(&uses, &limits, CallKind::Unary).metadata["limit"], "calls_at_once");
        let at_work = uses.at_work();
        let used: Vec<_> = at_work[0].uses().into_iter().map(|used| (used.name, used.used, used.max)).collect();
        let expected = [("calls_at_once", 4, 4), ("streams_at_once", 2, 2), ("coordinations_at_once", 1, 1)];
        assert_eq!(used, expected.map(|(name, used, max)| (name.into(), used, max)));
        drop(coordination);
        assert!(enter(CallKind::Coordination).is_ok());
    }

    #[test]
    fn a_call_too_soon_is_told_when_to_come() {
        let uses = Uses::default();
        let limits = Limits { calls_at_once: Some(1), calls_per_second: Some(3), ..Limits::default() };
        for _ in 0..3 {
            uses.enter(&somebody("k", &limits), CallKind::Unary).unwrap();
        }
        let fault = refused(&uses, &limits, CallKind::Unary);
        assert_eq!(["limit", "max", "value"].map(|fact| fault.metadata[fact].as_str()), ["calls_per_second", "3", "4"]);
        assert!(fault.retry_after_ms.unwrap() <= 1_001);
    }
    #[test]
    fn what_counts_of_a_second_comes_back_with_it() {
        let four = NonZeroU32::new(4).unwrap();
        assert_eq!(Pace::new(four).held(), 0);
        for (ms, counted, left) in [(0, 3, 3), (249, 3, 3), (250, 3, 2), (749, 3, 1), (750, 3, 0), (60_000, 4, 0)] {
            assert_eq!(counted_after(counted, four, Duration::from_millis(ms)), left, "{ms}");
        }
        assert_eq!(counted_after(7, NonZeroU32::MAX, Duration::MAX), 0);
    }
}
