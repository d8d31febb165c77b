//! The coordinations of this process, and how many streams they have. It must not know what happens on one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::live::{Live, lock};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CoordinationId, Namespace};

type Key = (Namespace, CoordinationId);

/// The coordinations of this process. One that nobody holds is not here: it is on record.
#[derive(Default)]
pub(in crate::app) struct Lives {
    lives: Mutex<HashMap<Key, Weak<Live>>>,
    streams: Arc<AtomicUsize>,
}

/// Counts one attached stream until it is dropped.
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Lives {
    /// The one of an id, which may have to be read first.
    pub(super) fn get(&self, namespace: &Namespace, id: &CoordinationId) -> Arc<Live> {
        let mut lives = lock(&self.lives);
        let key = (namespace.clone(), id.clone());
        if let Some(live) = lives.get(&key).and_then(Weak::upgrade) {
            return live;
        }
        // So that those which ended leave nothing behind.
        if lives.len() >= 2 * lives.values().filter(|live| live.strong_count() > 0).count() + 64 {
            lives.retain(|_, live| live.strong_count() > 0);
        }
        let live = Live::new(namespace.clone(), id.clone(), false);
        lives.insert(key, Arc::downgrade(&live));
        live
    }

    /// Room for one more stream.
    pub(super) fn stream(&self, max: usize) -> Result<Place, Fault> {
        let place = Place(Arc::clone(&self.streams));
        let before = self.streams.fetch_add(1, Ordering::AcqRel);
        if before < max {
            return Ok(place);
        }
        let message = format!("{max} streams of coordinations are attached, which is the limit: wait a moment");
        Err(Fault::new(Reason::LimitExceeded, message)
            .with("limit", "max_coordination_streams")
            .with("max", max)
            .with("value", before.saturating_add(1))
            .retry_after(1_000))
    }

    /// How many streams there are.
    pub(in crate::app) fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    /// How many of a namespace have a stream.
    pub(in crate::app) fn attached_in(&self, namespace: &Namespace) -> usize {
        let lives = lock(&self.lives);
        let of = lives.iter().filter(|((of, _), _)| of == namespace);
        of.filter_map(|(_, live)| live.upgrade()).filter(|live| live.is_attached()).count()
    }

    /// The one of an id, if it is at work or a stream is attached.
    pub(super) fn find(&self, namespace: &Namespace, id: &CoordinationId) -> Option<Arc<Live>> {
        lock(&self.lives).get(&(namespace.clone(), id.clone())).and_then(Weak::upgrade)
    }
}
