//! Lines of threads: who is next, and who no longer waits.

use futures::FutureExt;

use super::*;

fn at(name: &str) -> (Namespace, ThreadId) {
    (Namespace::new("n"), ThreadId::new(name))
}

fn join(threads: &Arc<Threads>, run: &str, interrupts: bool) -> (Vec<String>, InLine) {
    let (namespace, thread) = at("t");
    match threads.join(&namespace, &thread, &RunId::new(run), interrupts, 2) {
        Joined::Behind { before, place } => (before.iter().map(ToString::to_string).collect(), place),
        Joined::At(_) => panic!("it was free"),
        Joined::Full(busy) => panic!("full: {busy:?}"),
    }
}

fn busy_with(threads: &Threads) -> Option<String> {
    let (namespace, thread) = at("t");
    threads.busy_with(&namespace, &thread).map(|run| run.to_string())
}

fn occupied(threads: &Arc<Threads>, run: &str) -> Result<Occupied, Busy> {
    let (namespace, thread) = at("t");
    threads.occupy(&namespace, &thread, &RunId::new(run))
}

#[test]
fn a_thread_is_busy_with_one_run_at_a_time() {
    let threads: Arc<Threads> = Arc::default();
    let first = occupied(&threads, "a").ok().unwrap();
    assert_eq!(occupied(&threads, "b").err(), Some(Busy { run: RunId::new("a"), queued: 0 }));
    let (namespace, other) = at("other");
    assert!(threads.occupy(&namespace, &other, &RunId::new("b")).is_ok(), "another thread is free");
    drop(first);
    assert_eq!(busy_with(&threads), None);
    assert!(occupied(&threads, "b").is_ok());
}

/// Whoever was told of the end of a run finds its thread, whether the run let go of it by then or not.
#[tokio::test]
async fn a_run_that_ends_is_waited_for() {
    let threads: Arc<Threads> = Arc::default();
    let (namespace, thread) = at("t");
    let next = |run: &str| threads.occupy_next(&namespace, &thread, &RunId::new(run));
    let Ok(Joined::At(first)) = next("a") else { panic!("it was free") };
    threads.ending(&namespace, &thread, &RunId::new("z"));
    assert_eq!(next("b").err(), Some(Busy { run: RunId::new("a"), queued: 0 }), "another run ends, of another time");
    threads.ending(&namespace, &thread, &RunId::new("a"));
    let Ok(Joined::Behind { mut place, .. }) = next("b") else { panic!("it is waited for") };
    assert_eq!(next("c").err().map(|busy| busy.queued), Some(1), "that would be waiting for b");
    assert!(place.turn().now_or_never().is_none());
    drop(first);
    let second = place.turn().await.unwrap();
    assert_eq!(next("c").err(), Some(Busy { run: RunId::new("b"), queued: 0 }), "b does not end");
    drop(second);
    assert!(matches!(next("c"), Ok(Joined::At(_))));
}

#[tokio::test]
async fn first_come_first_served_up_to_a_limit() {
    let threads: Arc<Threads> = Arc::default();
    let first = occupied(&threads, "a").ok().unwrap();
    let (before, mut second) = join(&threads, "b", false);
    assert_eq!(before, ["a"]);
    let (_, mut third) = join(&threads, "c", false);
    let (namespace, thread) = at("t");
    let full = threads.join(&namespace, &thread, &RunId::new("d"), false, 2);
    assert!(matches!(full, Joined::Full(Busy { queued: 2, .. })));
    assert!(second.turn().now_or_never().is_none());
    drop(first);
    assert_eq!(busy_with(&threads).as_deref(), Some("b"));
    let second = second.turn().await.unwrap();
    assert!(third.turn().now_or_never().is_none());
    drop(second);
    drop(third.turn().await.unwrap());
    assert_eq!(busy_with(&threads), None);
}

#[tokio::test]
async fn whoever_no_longer_waits_is_passed_over() {
    let threads: Arc<Threads> = Arc::default();
    let first = occupied(&threads, "a").ok().unwrap();
    let ((_, second), (_, third)) = (join(&threads, "b", false), join(&threads, "c", false));
    drop(second);
    assert_eq!(occupied(&threads, "x").err().map(|busy| busy.queued), Some(1));
    drop(first);
    assert_eq!(busy_with(&threads).as_deref(), Some("c"));
    // It was handed the thread and never took it.
    drop(third);
    assert_eq!(busy_with(&threads), None);
}

#[tokio::test]
async fn the_last_to_interrupt_goes_first_and_replaces_those_that_came_to_do_the_same() {
    let threads: Arc<Threads> = Arc::default();
    let first = occupied(&threads, "a").ok().unwrap();
    let (_, mut waits) = join(&threads, "b", false);
    let (before, replaced) = join(&threads, "c", true);
    assert_eq!(before, ["a"], "what only waits is not cancelled");
    let (before, mut last) = join(&threads, "d", true);
    assert_eq!(before, ["a", "c"]);
    drop(first);
    let last = last.turn().await.unwrap();
    drop(replaced);
    assert!(waits.turn().now_or_never().is_none());
    drop(last);
    drop(waits.turn().await.unwrap());
}
