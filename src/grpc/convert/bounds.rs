//! The bounds of the server that a request came to, for as long as it is read. It must not know where they are configured.
//!
//! Requests are read in many places, each of which asks for them where it checks; they are those of the call that is being answered, so nobody
//! hands them from one reader to the next. What is read outside of a call has the bounds that hold everywhere.

use std::future::Future;
use std::sync::{Arc, LazyLock};

use crate::domain::bounds::Bounds;

tokio::task_local! {
    static IN_FORCE: Arc<Bounds>;
}

/// Those of no server.
static CEILINGS: LazyLock<Arc<Bounds>> = LazyLock::new(Arc::default);

/// Answers a call with the bounds of a server.
pub fn answering<F: Future>(bounds: Arc<Bounds>, answer: F) -> impl Future<Output = F::Output> {
    IN_FORCE.scope(bounds, answer)
}

/// Reads something with the bounds of a server: a message of a stream, which comes when its call was answered already.
pub fn reading<T>(bounds: &Arc<Bounds>, read: impl FnOnce() -> T) -> T {
    IN_FORCE.sync_scope(Arc::clone(bounds), read)
}

/// The bounds in force.
pub fn in_force() -> Arc<Bounds> {
    IN_FORCE.try_with(Arc::clone).unwrap_or_else(|_| Arc::clone(&CEILINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: usize) -> Arc<Bounds> {
        let mut bounds = Bounds::default();
        bounds.parts.max = parts;
        Arc::new(bounds)
    }

    #[tokio::test]
    async fn each_call_has_its_own() {
        let parts = || in_force().parts.max;
        assert_eq!(parts(), 256);
        let one = answering(of(1), async {
            tokio::task::yield_now().await;
            (parts(), reading(&of(3), parts), parts())
        });
        let two = answering(of(2), async { parts() });
        assert_eq!((tokio::join!(one, two), parts()), (((1, 3, 1), 2), 256));
    }
}
