//! Admission: so many calls at a backend at once, and a fair queue of bounded length before it (rules 15, S4-43..47). It must not know what
//! a call is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::domain::fault::{Fault, Reason};

/// The door of one backend.
pub(crate) struct Gate {
    backend_id: String,
    capacity: AtomicU32,
    queue_limit: AtomicU32,
    /// Hands permits out in the order in which they were asked for.
    places: Arc<Semaphore>,
    /// Places that are taken and there no more: they are not given back.
    surplus: AtomicU32,
    queued: AtomicU32,
    /// How long a place is held, in milliseconds, as a moving mean; 0 until one was given back.
    held_ms: AtomicU64,
}

/// A place at a backend, given back when dropped. One call with its retries and repairs holds it.
pub struct Permit {
    gate: Arc<Gate>,
    since: Instant,
    place: Option<OwnedSemaphorePermit>,
}

/// The queue's length counts those who wait and nobody else, however they stop waiting.
struct Waiting<'a>(&'a Gate);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Permit {
    /// The backend that it is for.
    pub fn backend_id(&self) -> &str {
        &self.gate.backend_id
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit").field("backend_id", &self.gate.backend_id).finish_non_exhaustive()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let held = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        // A lost update between two givers only makes the estimate a little older.
        let mean = self.gate.held_ms.load(Ordering::Relaxed);
        let next = if mean == 0 { held } else { mean.saturating_mul(7).saturating_add(held) / 8 };
        self.gate.held_ms.store(next.max(1), Ordering::Relaxed);
        if let Some(place) = self.place.take().filter(|_| self.gate.repay(1) == 1) {
            place.forget();
        }
    }
}

impl Gate {
    pub(crate) fn new(backend_id: &str, capacity: u32, queue_limit: u32) -> Arc<Self> {
        Arc::new(Self {
            backend_id: backend_id.to_owned(),
            capacity: capacity.into(),
            queue_limit: queue_limit.into(),
            places: Arc::new(Semaphore::new(places(capacity))),
            surplus: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            held_ms: AtomicU64::new(0),
        })
    }

    /// How many places are taken.
    pub(crate) fn in_use(&self) -> u32 {
        let free = u32::try_from(self.places.available_permits()).unwrap_or(u32::MAX);
        let all = self.capacity.load(Ordering::Acquire).saturating_add(self.surplus.load(Ordering::Acquire));
        all.saturating_sub(free)
    }

    /// Other figures from now on. Who has a place keeps it, and who waits waits on: with fewer places, the next ones come free later. Only one
    /// may do this at a time.
    pub(crate) fn resize(&self, capacity: u32, queue_limit: u32) {
        self.queue_limit.store(queue_limit, Ordering::Release);
        let before = self.capacity.swap(capacity, Ordering::AcqRel);
        match capacity.checked_sub(before) {
            Some(more) => self.places.add_permits(places(more - self.repay(more))),
            None => {
                let fewer = before - capacity;
                let gone = self.places.forget_permits(places(fewer));
                self.surplus.fetch_add(fewer.saturating_sub(u32::try_from(gone).unwrap_or(u32::MAX)), Ordering::AcqRel);
            }
        }
    }

    /// Takes as many as these off the surplus, and says how many.
    fn repay(&self, most: u32) -> u32 {
        let less = |surplus: u32| Some(surplus.saturating_sub(most));
        self.surplus.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).map_or(0, |surplus| surplus.min(most))
    }

    /// How many wait.
    pub(crate) fn queued(&self) -> u32 {
        self.queued.load(Ordering::Acquire)
    }

    /// A place, at once or after those who asked before. Dropping the future leaves the queue.
    pub(crate) async fn admit(self: &Arc<Self>) -> Result<Permit, Fault> {
        // The semaphore gives a place that comes free to whoever waits longest, so this never overtakes the queue.
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(self.permit(place));
        }
        let limit = self.queue_limit.load(Ordering::Acquire);
        let joined = self
            .queued
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |length| (length < limit).then(|| length + 1));
        if joined.is_err() {
            return Err(self.full());
        }
        let waiting = Waiting(self);
        let place = Arc::clone(&self.places).acquire_owned().await;
        drop(waiting);
        match place {
            Ok(place) => Ok(self.permit(place)),
            Err(_closed) => Err(Fault::new(
                Reason::ShuttingDown,
                format!("backend `{}` takes no more calls; call another server, or this one later", self.backend_id),
            )),
        }
    }

    fn permit(self: &Arc<Self>, place: OwnedSemaphorePermit) -> Permit {
        Permit { gate: Arc::clone(self), since: Instant::now(), place: Some(place) }
    }

    fn full(&self) -> Fault {
        let (capacity, queue_limit) = (self.capacity.load(Ordering::Acquire), self.queue_limit.load(Ordering::Acquire));
        let message = format!(
            "backend `{}` has {} calls at work and {} waiting, which is its limit; try again later, or raise `capacity` or \
             `queue_limit`",
            self.backend_id, capacity, queue_limit
        );
        Fault::new(Reason::BackendQueueFull, message)
            .with("backend_id", &self.backend_id)
            .with("capacity", capacity)
            .with("queue", queue_limit)
            .retry_after(self.estimate_ms(capacity))
    }

    /// When a place in the queue may be free: the time in which one call ends, on the mean.
    fn estimate_ms(&self, capacity: u32) -> u64 {
        let held = match self.held_ms.load(Ordering::Relaxed) {
            0 => 1_000,
            known => known,
        };
        (held / u64::from(capacity.max(1))).clamp(100, 60_000)
    }
}

/// As a count of the semaphore.
fn places(count: u32) -> usize {
    usize::try_from(count).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::time::Duration;

    use futures::FutureExt;

    #[tokio::test(start_paused = true)]
    async fn places_are_given_in_the_order_of_asking() {
        let gate = Gate::new("b", 1, 10);
        let first = gate.admit().await.unwrap();
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..5 {
            let (gate, order) = (Arc::clone(&gate), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let _permit = gate.admit().await.unwrap();
                order.lock().unwrap().push(number);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!((gate.in_use(), gate.queued()), (1, 5));
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!((gate.in_use(), gate.queued()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_does_not_overtake_who_waits() {
        let gate = Gate::new("b", 1, 10);
        let first = gate.admit().await.unwrap();
        let mut waiting = Box::pin(gate.admit());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        let mut newcomer = Box::pin(gate.admit());
        assert!(newcomer.as_mut().now_or_never().is_none());
        assert!(waiting.as_mut().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_refuses_and_says_when() {
        let gate = Gate::new("b", 1, 1);
        let held = gate.admit().await.unwrap();
        tokio::time::advance(Duration::from_secs(4)).await;
        drop(held);
        let _held = gate.admit().await.unwrap();
        let mut waiting = Box::pin(gate.admit());
        assert!(waiting.as_mut().now_or_never().is_none());
        let refused = gate.admit().await.unwrap_err();
        assert_eq!(refused.reason, Reason::BackendQueueFull);
        assert_eq!(refused.retry_after_ms, Some(4_000));
        assert_eq!(gate.queued(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_leaves_the_queue() {
        let gate = Gate::new("b", 1, 1);
        let held = gate.admit().await.unwrap();
        let mut gone = Box::pin(gate.admit());
        assert!(gone.as_mut().now_or_never().is_none());
        drop(gone);
        assert_eq!(gate.queued(), 0);
        let mut waiting = Box::pin(gate.admit());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(held);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_of_length_zero_only_admits_at_once() {
        let gate = Gate::new("b", 1, 0);
        let held = gate.admit().await.unwrap();
        assert_eq!(gate.admit().await.unwrap_err().reason, Reason::BackendQueueFull);
        drop(held);
        assert!(gate.admit().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn another_size_takes_nobodys_place_and_lets_as_many_in_as_it_says() {
        let gate = Gate::new("b", 2, 10);
        let (first, second) = (gate.admit().await.unwrap(), gate.admit().await.unwrap());
        let mut third = Box::pin(gate.admit());
        assert!(third.as_mut().now_or_never().is_none());
        gate.resize(1, 10);
        assert_eq!((gate.in_use(), gate.queued()), (2, 1));
        drop(first);
        assert!(third.as_mut().now_or_never().is_none(), "one is at work, which is what fits now");
        drop(second);
        let third = third.now_or_never().unwrap().unwrap();
        assert_eq!((gate.in_use(), gate.queued()), (1, 0));
        gate.resize(3, 0);
        let more = [gate.admit().await.unwrap(), gate.admit().await.unwrap()];
        assert_eq!(gate.in_use(), 3);
        let refused = gate.admit().await.unwrap_err();
        assert_eq!((refused.metadata["capacity"].as_str(), refused.metadata["queue"].as_str()), ("3", "0"));
        gate.resize(1, 0);
        gate.resize(2, 0);
        drop((third, more));
        assert_eq!(gate.in_use(), 0);
        let _two = [gate.admit().await.unwrap(), gate.admit().await.unwrap()];
        assert!(gate.admit().await.is_err());
    }
}
