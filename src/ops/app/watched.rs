//! A store whose health is told as soon as a caller meets it: whoever is refused a write finds the health service saying so. It must not know
//! why a store takes no writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::store::{Commit, Error, Health, Key, Namespace, Range, Stats, Store, Write};

/// A wish that the health is looked at now; it is answered when that is done.
pub(super) type Look = oneshot::Sender<()>;

/// Asks for a look, and knows what was said last.
#[derive(Clone)]
pub(super) struct Asker {
    looks: mpsc::UnboundedSender<Look>,
    /// What was said last: no writes are taken.
    pub(super) is_down: Arc<AtomicBool>,
}

impl Asker {
    /// With the end where wishes arrive.
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Look>) {
        let (looks, wishes) = mpsc::unbounded_channel();
        (Self { looks, is_down: Arc::default() }, wishes)
    }

    /// Asks when something else is true than was said; what comes back ends when that is put right.
    fn saw(&self, is_read_only: bool) -> Option<oneshot::Receiver<()>> {
        if is_read_only == self.is_down.load(Ordering::Acquire) {
            return None;
        }
        let (look, looked) = oneshot::channel();
        // Nobody looks while the server starts and when it stops; then there is nothing to wait for.
        self.looks.send(look).ok().map(|()| looked)
    }
}

/// A store that is watched.
pub(super) struct Watched<S> {
    store: S,
    asker: Asker,
}

impl<S: Store> Watched<S> {
    pub(super) fn new(store: S, asker: Asker) -> Self {
        Self { store, asker }
    }
}

impl<S: Store> Store for Watched<S> {
    fn get<'a>(&'a self, ns: &'a Namespace, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, Error>> {
        self.store.get(ns, key)
    }

    fn scan<'a>(&'a self, ns: &'a Namespace, range: Range) -> BoxFuture<'a, Result<Vec<(Key, Bytes)>, Error>> {
        self.store.scan(ns, range)
    }

    fn commit<'a>(&'a self, ns: &'a Namespace, write: Write) -> BoxFuture<'a, Result<Commit, Error>> {
        Box::pin(async move {
            let outcome = self.store.commit(ns, write).await;
            if let Some(looked) = self.asker.saw(matches!(outcome, Err(Error::ReadOnly(_)))) {
                // It ends early only when nobody looks any more.
                looked.await.ok();
            }
            outcome
        })
    }

    fn health(&self) -> Health {
        let health = self.store.health();
        // Nothing can be awaited here; the look comes right after.
        drop(self.asker.saw(matches!(health, Health::ReadOnly(_))));
        health
    }

    fn stats(&self) -> Stats {
        self.store.stats()
    }

    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, Error>> {
        self.store.namespaces()
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, Error>> {
        self.store.snapshot()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.store.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store whose disk can be full.
    struct Disk(Arc<AtomicBool>);

    impl Store for Disk {
        fn get<'a>(&'a self, _: &'a Namespace, _: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, Error>> {
            Box::pin(async { Ok(None) })
        }

        fn scan<'a>(&'a self, _: &'a Namespace, _: Range) -> BoxFuture<'a, Result<Vec<(Key, Bytes)>, Error>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn commit<'a>(&'a self, _: &'a Namespace, _: Write) -> BoxFuture<'a, Result<Commit, Error>> {
            let full = self.0.load(Ordering::Relaxed);
            Box::pin(async move { if full { Err(Error::ReadOnly("full".to_owned())) } else { Ok(Commit::Done) } })
        }

        fn health(&self) -> Health {
            if self.0.load(Ordering::Relaxed) { Health::ReadOnly("full".to_owned()) } else { Health::Writable }
        }

        fn stats(&self) -> Stats {
            Stats::default()
        }

        fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, Error>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, Error>> {
            Box::pin(async { Err(Error::Closed) })
        }

        fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
            Box::pin(async { Ok(()) })
        }
    }

    // Health turned a second or two after the first refusal, and a balancer sent more callers there meanwhile.
    #[tokio::test]
    async fn whoever_is_refused_a_write_finds_it_said_already() {
        let full = Arc::new(AtomicBool::new(false));
        let (asker, mut looks) = Asker::new();
        let said = Arc::clone(&asker.is_down);
        let store = Watched::new(Disk(Arc::clone(&full)), asker.clone());
        let namespace = Namespace::new("a");
        let commit = async || store.commit(&namespace, Write::default()).await;
        assert!(commit().await.is_ok() && looks.try_recv().is_err(), "nothing to tell");
        full.store(true, Ordering::Relaxed);
        let watch = async {
            let look = looks.recv().await.unwrap();
            said.store(true, Ordering::Release);
            look.send(()).unwrap();
        };
        let (refused, ()) = tokio::join!(
            async {
                let refused = commit().await;
                assert!(said.load(Ordering::Acquire), "said before the caller hears of it");
                refused
            },
            watch
        );
        assert!(matches!(refused, Err(Error::ReadOnly(_))));
        assert!(commit().await.is_err() && looks.try_recv().is_err(), "said once");
        full.store(false, Ordering::Relaxed);
        assert_eq!(store.health(), Health::Writable);
        assert!(looks.try_recv().is_ok(), "and it is told when it is over");
        drop(looks);
        assert!(commit().await.is_ok(), "a server that stops is not waited for");
    }
}
