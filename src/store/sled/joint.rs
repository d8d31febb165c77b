//! Syncs that are had for the price of one. The engine writes the short announcement of a batch apart from the batch, and syncs both at the
//! same time on two threads; here the announcement waits for the batch, and one sync does for both. It must not know how a file is synced.
//!
//! Whoever waits is told the outcome of a sync that began after it came, so its bytes are as safe as if it had synced itself. Who waits in
//! vain, because the longer write came first or does not come, syncs for itself.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An announcement has 24 bytes, and 20 more where a segment of the log begins.
const SHORT: i64 = 64;

/// How long an announcement waits for its batch, which is written by then and only on its way to the disk.
const WITHIN: Duration = Duration::from_millis(2);

/// The number of a file that this process has open.
type Descriptor = std::ffi::c_int;

/// Zero, or the system's number of the error.
type Outcome = i32;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// For a sync to begin.
    Open,
    /// For one to end.
    Taken,
    /// It has ended.
    Over(Outcome),
}

struct Waiter {
    ticket: u64,
    file: Descriptor,
    wait: Wait,
}

struct Desk {
    /// Groups that are being written in this process.
    groups: usize,
    /// A longer write of the group has come to be synced.
    passed: bool,
    tickets: u64,
    waiters: Vec<Waiter>,
}

impl Desk {
    fn waits(&self, ticket: u64) -> Option<Wait> {
        self.waiters.iter().find(|waiter| waiter.ticket == ticket).map(|waiter| waiter.wait)
    }
}

static DESK: Mutex<Desk> = Mutex::new(Desk { groups: 0, passed: false, tickets: 0, waiters: Vec::new() });
static CHANGED: Condvar = Condvar::new();

fn desk() -> MutexGuard<'static, Desk> {
    DESK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A group while it is written: an announcement is sure to have its batch behind it.
pub(super) struct Group(());

impl Group {
    pub(super) fn begin() -> Self {
        let mut desk = desk();
        desk.groups += 1;
        desk.passed = false;
        Self(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        desk().groups -= 1;
        CHANGED.notify_all();
    }
}

/// Makes what was written to a file durable, with `sync` or with somebody else's.
pub(super) fn sync(file: Descriptor, bytes: i64, sync: impl FnOnce() -> Outcome) -> Outcome {
    if bytes <= SHORT {
        return wait(file).unwrap_or_else(sync);
    }
    let taken = take(file);
    let outcome = sync();
    if taken {
        tell(file, outcome);
    }
    outcome
}

/// The outcome of the next sync of the file; absent when there is none to be expected.
fn wait(file: Descriptor) -> Option<Outcome> {
    let mut desk = desk();
    if desk.groups == 0 || desk.passed {
        return None;
    }
    let ticket = desk.tickets;
    desk.tickets += 1;
    desk.waiters.push(Waiter { ticket, file, wait: Wait::Open });
    let open = |desk: &mut Desk| desk.groups > 0 && desk.waits(ticket) == Some(Wait::Open);
    let (desk, _) = CHANGED.wait_timeout_while(desk, WITHIN, open).unwrap_or_else(PoisonError::into_inner);
    let taken = |desk: &mut Desk| desk.waits(ticket) == Some(Wait::Taken);
    let mut desk = CHANGED.wait_while(desk, taken).unwrap_or_else(PoisonError::into_inner);
    let wait = desk.waits(ticket);
    desk.waiters.retain(|waiter| waiter.ticket != ticket);
    match wait {
        Some(Wait::Over(outcome)) => Some(outcome),
        _ => None,
    }
}

/// Answers for all that wait for this file; whether there are any.
fn take(file: Descriptor) -> bool {
    let mut desk = desk();
    desk.passed = true;
    let mut taken = false;
    for waiter in desk.waiters.iter_mut().filter(|waiter| waiter.file == file && waiter.wait == Wait::Open) {
        waiter.wait = Wait::Taken;
        taken = true;
    }
    taken
}

fn tell(file: Descriptor, outcome: Outcome) {
    let mut desk = desk();
    for waiter in desk.waiters.iter_mut().filter(|waiter| waiter.file == file && waiter.wait == Wait::Taken) {
        waiter.wait = Wait::Over(outcome);
    }
    drop(desk);
    CHANGED.notify_all();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// These share the process's desk: one after the other.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the thread waits for a sync of the file, or has ended.
    fn until_it_waits(thread: &std::thread::ScopedJoinHandle<'_, Outcome>, file: Descriptor) {
        while !thread.is_finished() && !desk().waiters.iter().any(|waiter| waiter.file == file) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_announcement_is_synced_with_its_batch_and_told_the_same() {
        let _alone = alone();
        for outcome in [0, libc::EIO] {
            // Waiting may take too long on a busy machine; then the announcement syncs for itself, and it is tried again.
            let joined = (0..50).any(|_| {
                let group = Group::begin();
                let joined = std::thread::scope(|scope| {
                    let announcement = scope.spawn(|| sync(-7, 24, || -1));
                    until_it_waits(&announcement, -7);
                    assert_eq!(sync(-7, 4096, || outcome), outcome);
                    announcement.join().unwrap() == outcome
                });
                drop(group);
                joined
            });
            assert!(joined);
        }
    }

    #[test]
    fn a_sync_that_has_begun_answers_only_for_those_that_were_there() {
        let _alone = alone();
        let _group = Group::begin();
        let (begun, has_begun) = mpsc::channel();
        let (end, ends) = mpsc::channel();
        std::thread::scope(|scope| {
            let batch = scope.spawn(move || {
                sync(-8, 4096, || {
                    begun.send(()).unwrap();
                    ends.recv().unwrap();
                    5
                })
            });
            has_begun.recv().unwrap();
            assert_eq!(sync(-8, 24, || 1), 1, "it came too late to be covered");
            end.send(()).unwrap();
            assert_eq!(batch.join().unwrap(), 5);
        });
    }

    #[test]
    fn one_without_a_group_or_with_the_batch_of_another_file_syncs_for_itself() {
        let _alone = alone();
        assert_eq!(sync(-9, 24, || 1), 1);
        let _group = Group::begin();
        std::thread::scope(|scope| {
            let announcement = scope.spawn(|| sync(-9, 24, || 2));
            until_it_waits(&announcement, -9);
            assert_eq!(sync(-10, 4096, || 3), 3);
            assert_eq!(announcement.join().unwrap(), 2);
        });
    }
}
