//! Lists of what has a name.

use super::{World, head, run, thread};
use crate::domain::id::{RunId, ThreadId};
use crate::store::Changes;

#[tokio::test]
async fn runs_and_threads_are_listed_page_by_page_in_the_order_of_their_ids() {
    let world = World::new();
    let mut changes = Changes::new();
    // One id begins another: the shorter comes first and neither hides the other.
    for id in ["b", "a", "a.b", "c"] {
        changes.create_run(&run(id));
        changes.create_thread(&thread(id), &head(None));
    }
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();

    let (mut runs, mut threads) = (Vec::new(), Vec::new());
    loop {
        let after = runs.last().map(|id: &String| RunId::new(id.clone()));
        let page = world.ledger.runs(&world.ns, after.as_ref(), 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        runs.extend(page.into_iter().map(|run| run.id.to_string()));
    }
    loop {
        let after = threads.last().map(|id: &String| ThreadId::new(id.clone()));
        let page = world.ledger.threads(&world.ns, after.as_ref(), 1).await.unwrap();
        if page.is_empty() {
            break;
        }
        threads.extend(page.into_iter().map(|thread| thread.id.to_string()));
    }
    assert_eq!(runs, ["a", "a.b", "b", "c"]);
    assert_eq!(threads, runs);
}

#[tokio::test]
async fn what_nobody_made_is_absent() {
    let world = World::new();
    assert_eq!(world.ledger.run(&world.ns, &RunId::new("r")).await.unwrap(), None);
    assert_eq!(world.ledger.thread(&world.ns, &ThreadId::new("t")).await.unwrap(), None);
    assert_eq!(world.ledger.head(&world.ns, &ThreadId::new("t")).await.unwrap(), None);
    assert_eq!(world.ledger.exchange(&world.ns, world.exchange(None, "").id).await.unwrap(), None);
}
