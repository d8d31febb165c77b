//! Keeps imports apart from whatever removes content: what an import stored and did not name yet looks like garbage. Each namespace by itself, so
//! that nobody holds up another one. It must not know what either does.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::domain::id::Namespace;

/// Who is at work in which namespace.
#[derive(Clone, Default)]
pub(in crate::app) struct Apart(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Somebody is done.
    left: Notify,
}

#[derive(Default)]
struct State {
    /// How many imports there are into each namespace; without a name, into all.
    importing: HashMap<Option<Namespace>, usize>,
    /// Where something removes content.
    alone: HashSet<Namespace>,
}

impl Apart {
    /// A place for an import into a namespace, or into all, as soon as nothing removes content there.
    pub(in crate::app) async fn import(&self, into: Option<&Namespace>) -> Importing {
        loop {
            let left = self.0.left.notified();
            if let Some(place) = self.try_import(into) {
                return place;
            }
            left.await;
        }
    }

    fn try_import(&self, into: Option<&Namespace>) -> Option<Importing> {
        let mut state = self.lock();
        let is_free = match into {
            Some(namespace) => !state.alone.contains(namespace),
            None => state.alone.is_empty(),
        };
        is_free.then(|| {
            *state.importing.entry(into.cloned()).or_default() += 1;
            Importing { apart: self.clone(), into: into.cloned() }
        })
    }

    /// A namespace for somebody who removes content; none while an import or somebody else is at work there.
    pub(in crate::app) fn try_alone(&self, namespace: &Namespace) -> Option<Alone> {
        let mut state = self.lock();
        let of = [None, Some(namespace.clone())];
        let is_free = !of.iter().any(|into| state.importing.contains_key(into));
        (is_free && state.alone.insert(namespace.clone()))
            .then(|| Alone { apart: self.clone(), namespace: namespace.clone() })
    }

    /// The same, as soon as nobody is.
    pub(in crate::app) async fn alone(&self, namespace: &Namespace) -> Alone {
        loop {
            let left = self.0.left.notified();
            if let Some(place) = self.try_alone(namespace) {
                return place;
            }
            left.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way through a change.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An import is at work until it is dropped.
pub(in crate::app) struct Importing {
    apart: Apart,
    into: Option<Namespace>,
}

impl Drop for Importing {
    fn drop(&mut self) {
        let mut state = self.apart.lock();
        if let Some(count) = state.importing.get_mut(&self.into) {
            *count -= 1;
            if *count == 0 {
                state.importing.remove(&self.into);
            }
        }
        drop(state);
        self.apart.0.left.notify_waiters();
    }
}

/// Somebody removes content until it is dropped.
pub(in crate::app) struct Alone {
    apart: Apart,
    namespace: Namespace,
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.apart.lock().alone.remove(&self.namespace);
        self.apart.0.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_namespace_is_by_itself() {
        let apart = Apart::default();
        let (a, b) = (Namespace::new("a"), Namespace::new("b"));
        let importing = apart.import(Some(&a)).await;
        let second = apart.import(Some(&a)).await;
        assert!(apart.try_alone(&a).is_none());
        let alone = apart.try_alone(&b).unwrap();
        assert!(apart.try_alone(&b).is_none(), "one at a time");
        assert!(apart.try_import(Some(&b)).is_none() && apart.try_import(None).is_none());
        let waiting = tokio::spawn({
            let (apart, a) = (apart.clone(), a.clone());
            async move { drop(apart.alone(&a).await) }
        });
        drop(importing);
        assert!(apart.try_alone(&a).is_none(), "the other one is at work");
        drop(second);
        waiting.await.unwrap();
        drop(alone);
        let all = apart.import(None).await;
        assert!(apart.try_alone(&a).is_none() && apart.try_alone(&b).is_none());
        drop(all);
        assert!(apart.try_alone(&a).is_some());
    }
}
