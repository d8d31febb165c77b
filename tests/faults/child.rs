//! The child side: opens a store, does what its orders say, and tells each step on a line of its own.

use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use antiphon::store::Store;
use antiphon::store::sled::{Config, Sled};
use futures::future::join_all;

use crate::harness::setting;
use crate::load::Load;

/// One line, at once, whatever else is written.
fn say(word: &str, what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    // A parent that does not listen any more has killed us, or is about to.
    writeln!(out, "{word}: {what}").and_then(|()| out.flush()).ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child side of the other tests, which start it"]
async fn child() {
    let Some(role) = setting("CHILD") else { return };
    let dir = PathBuf::from(setting("DIR").unwrap());
    // Tests fill small disks and open beside full ones: no reserve.
    let store = match Sled::open(&Config { min_free_bytes: 0, ..Config::directory(dir) }) {
        Ok(store) => Arc::new(store),
        Err(error) => return say("refused", error),
    };
    say("opened", std::process::id());
    match role.as_str() {
        "hold" => drop(std::io::stdin().read_to_end(&mut Vec::new())),
        "write" => write(&store, false).await,
        "fill" => write(&store, true).await,
        "read" => read(&*store).await,
        role => panic!("no such role: {role}"),
    }
    store.close().await.map_or_else(|error| say("closed", error), |()| say("closed", "whole"));
}

/// Writes until something fails; then looks at what is left.
async fn write(store: &Arc<Sled>, look: bool) {
    let load = Load::of_settings();
    let acked = Arc::new(Mutex::new(vec![0; load.callers.into()]));
    let callers = (0..load.callers).map(|caller| {
        let (store, acked) = (Arc::clone(store), Arc::clone(&acked));
        tokio::spawn(async move {
            let error = load.run(&*store, caller, |n| {
                acked.lock().unwrap()[usize::from(caller)] = n;
                say("ack", format_args!("{caller} {n}"));
            });
            error.await
        })
    });
    for error in join_all(callers).await {
        say("failed", error.unwrap());
    }
    if look {
        say("health", format_args!("{:?}", store.health()));
        let acked = acked.lock().unwrap().clone();
        for (caller, acked) in (0..).zip(&acked) {
            let seen = load.check(&**store, caller, *acked).await;
            say("reads", seen.map_or_else(|what| what, |_| "whole".into()));
        }
        let mut last = acked[0];
        let error = load.run(&**store, 0, |n| last = n).await;
        say("again", format_args!("{last} {error}"));
    }
}

/// Reads everything there is.
async fn read(store: &dyn Store) {
    let read = async {
        let mut entries = 0;
        for space in store.namespaces().await? {
            let range = antiphon::store::Range::prefix(b"", usize::MAX);
            entries += store.scan(&space, range).await?.len();
        }
        Ok::<_, antiphon::store::Error>(entries)
    };
    match read.await {
        Ok(entries) => say("read", entries),
        Err(error) => say("unreadable", error),
    }
}
