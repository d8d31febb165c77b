//! The pace of a backend: so many requests go out in a minute, retries and repairs included, each in its turn. It must not know what they are.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::backend::Rate;

/// Counts from the moment it was made on the clock that sleeps are measured by, so that both agree.
#[derive(Clone, Debug)]
struct Watch(Instant);

impl Clock for Watch {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

/// The pace of one backend.
pub(crate) struct Pace(Option<Paced>);

struct Paced {
    limiter: RateLimiter<NotKeyed, InMemoryState, Watch, NoOpMiddleware<Nanos>>,
    /// One waits for its moment and the others behind it, in the order in which they came.
    next: Semaphore,
}

impl Pace {
    /// As configured; without a rate nobody waits.
    pub(crate) fn new(rate: Option<&Rate>) -> Self {
        let quota = rate.and_then(|rate| {
            Some(
                Quota::per_minute(NonZeroU32::new(rate.requests_per_minute)?)
                    .allow_burst(NonZeroU32::new(rate.burst())?),
            )
        });
        Self(quota.map(|quota| Paced {
            limiter: RateLimiter::direct_with_clock(quota, Watch(Instant::now())),
            next: Semaphore::new(1),
        }))
    }

    /// Waits for the moment at which a request may go out, which is then taken. Dropping the future gives the turn to the next one.
    ///
    /// # Errors
    /// How long it would take, when that is longer than `left`; known only to the one whose turn is next.
    pub(crate) async fn turn(&self, left: Duration) -> Result<(), Duration> {
        let Some(paced) = &self.0 else { return Ok(()) };
        // It is never closed; were it, nobody would have to wait for it.
        let _next = paced.next.acquire().await;
        while let Err(not_until) = paced.limiter.check() {
            let wait = not_until.wait_time_from(paced.limiter.clock().now());
            if wait > left {
                return Err(wait);
            }
            sleep(wait).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(requests_per_minute: u32, burst: Option<u32>) -> Pace {
        Pace::new(Some(&Rate { requests_per_minute, burst }))
    }

    #[tokio::test(start_paused = true)]
    async fn requests_go_out_at_their_pace_after_the_first_few() {
        let (pace, begun) = (pace(60, Some(2)), Instant::now());
        for seconds in [0, 0, 1, 2] {
            pace.turn(Duration::MAX).await.unwrap();
            assert_eq!(begun.elapsed().as_secs(), seconds);
        }
        assert_eq!(pace.turn(Duration::from_millis(10)).await, Err(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        pace.turn(Duration::ZERO).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn they_go_in_the_order_in_which_they_came_and_who_gives_up_takes_no_turn() {
        let (pace, begun) = (std::sync::Arc::new(pace(60, Some(1))), Instant::now());
        pace.turn(Duration::MAX).await.unwrap();
        let turns: Vec<_> = (0..4)
            .map(|_| {
                let pace = std::sync::Arc::clone(&pace);
                tokio::spawn(async move { pace.turn(Duration::MAX).await.map(|()| begun.elapsed().as_secs()) })
            })
            .collect();
        tokio::task::yield_now().await;
        turns[1].abort();
        let mut went = Vec::new();
        for turn in turns {
            went.push(turn.await.ok().map(Result::unwrap));
        }
        assert_eq!(went, [Some(1), None, Some(2), Some(3)]);
    }

    #[test]
    fn a_burst_is_a_tenth_of_a_minute_unless_it_is_said() {
        let burst = |requests_per_minute, burst| Rate { requests_per_minute, burst }.burst();
        assert_eq!((burst(5, None), burst(600, None), burst(600, Some(7))), (1, 60, 7));
    }
}
