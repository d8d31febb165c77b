//! Guards, and what is stored once.

use std::sync::Arc;

use super::{World, head, run, thread, tool};
use crate::domain::id::{Hash, Moment, RequestId, ThreadId};
use crate::domain::message::{Kind, Media, Message, Part, Role};
use crate::domain::settings::ThreadDefaults;
use crate::domain::tool::ToolSet;
use crate::store::layout::{Entry, Kind as Record};
use crate::store::{Changes, Error, Lost, Remembered};

async fn commit(world: &World, build: impl FnOnce(&mut Changes)) -> Result<(), Lost> {
    let mut changes = Changes::new();
    build(&mut changes);
    world.ledger.commit(&world.ns, &changes).await.unwrap()
}

#[tokio::test]
async fn a_run_id_is_claimed_once_and_replaced_only_as_it_was_seen() {
    let world = World::new();
    let mut token = None;
    commit(&world, |changes| token = Some(changes.create_run(&run("r")))).await.unwrap();
    let (read, read_token) = world.ledger.run(&world.ns, &run("r").id).await.unwrap().unwrap();
    assert_eq!((read, Some(&read_token)), (run("r"), token.as_ref()), "the token is known before the commit");

    let lost = commit(&world, |changes| drop(changes.create_run(&run("r")))).await;
    assert_eq!(lost, Err(Lost::RunExists(run("r").id)));

    let mut later = run("r");
    later.attempt = 2;
    commit(&world, |changes| drop(changes.replace_run(&later, &read_token))).await.unwrap();
    let lost = commit(&world, |changes| drop(changes.replace_run(&run("r"), &read_token))).await;
    assert_eq!(lost, Err(Lost::RunChanged(run("r").id)));
    assert_eq!(world.ledger.run(&world.ns, &later.id).await.unwrap().unwrap().0, later);
}

#[tokio::test]
async fn nothing_of_a_lost_set_is_applied() {
    let world = World::new();
    let id = ThreadId::new("t");
    let mut seen = None;
    commit(&world, |changes| seen = Some(changes.create_thread(&thread("t"), &head(None)).1)).await.unwrap();
    let seen = seen.unwrap();
    let (first, second) = (world.exchange(None, "first"), world.exchange(None, "second"));
    commit(&world, |changes| {
        changes.append(vec![first.clone()], None);
        changes.replace_head(&id, &head(Some(&first)), &seen);
    })
    .await
    .unwrap();

    let before = world.store.dump(&world.ns);
    let lost = commit(&world, |changes| {
        changes.create_run(&run("r"));
        changes.append(vec![second.clone()], None);
        changes.tool_set(&ToolSet { tools: vec![tool("a")] });
        changes.replace_head(&id, &head(Some(&second)), &seen);
    })
    .await;
    assert_eq!(lost, Err(Lost::HeadMoved(id.clone())));
    let lost = commit(&world, |changes| {
        changes.create_run(&run("r"));
        changes.hold_head(&id, &seen);
    })
    .await;
    assert_eq!(lost, Err(Lost::HeadMoved(id)));
    assert_eq!(world.store.dump(&world.ns), before);
}

#[tokio::test]
async fn the_first_lost_guard_in_the_order_of_building_is_told() {
    let world = World::new();
    commit(&world, |changes| {
        changes.create_run(&run("r"));
        changes.create_thread(&thread("t"), &head(None));
    })
    .await
    .unwrap();
    let lost = commit(&world, |changes| {
        changes.create_thread(&thread("t"), &head(None));
        changes.create_run(&run("r"));
    })
    .await;
    assert_eq!(lost, Err(Lost::ThreadExists(ThreadId::new("t"))));
}

#[tokio::test]
async fn a_thread_is_replaced_and_deleted_only_as_it_was_seen() {
    let world = World::new();
    let id = ThreadId::new("t");
    let (mut thread_token, mut head_token) = (None, None);
    commit(&world, |changes| {
        let (one, other) = changes.create_thread(&thread("t"), &head(None));
        (thread_token, head_token) = (Some(one), Some(other));
    })
    .await
    .unwrap();
    let (old, head_token) = (thread_token.unwrap(), head_token.unwrap());
    let renamed = crate::domain::thread::Thread { name: "other".to_owned(), ..thread("t") };
    commit(&world, |changes| drop(changes.replace_thread(&renamed, &old))).await.unwrap();
    let (read, new) = world.ledger.thread(&world.ns, &id).await.unwrap().unwrap();
    assert_eq!(read, renamed);
    assert_ne!(old.etag(), new.etag());
    assert_ne!(old, new);

    let lost = commit(&world, |changes| changes.delete_thread(&id, &old, &head_token)).await;
    assert_eq!(lost, Err(Lost::ThreadChanged(id.clone())));
    let lost = commit(&world, |changes| changes.delete_thread(&id, &new, &old)).await;
    assert_eq!(lost, Err(Lost::HeadMoved(id.clone())));
    commit(&world, |changes| changes.delete_thread(&id, &new, &head_token)).await.unwrap();
    assert_eq!(world.ledger.thread(&world.ns, &id).await.unwrap(), None);
    assert_eq!(world.ledger.head(&world.ns, &id).await.unwrap(), None);
    assert!(world.store.dump(&world.ns).is_empty());
    let lost = commit(&world, |changes| changes.hold_head(&id, &head_token)).await;
    assert_eq!(lost, Err(Lost::HeadMoved(id)));
}

#[tokio::test]
async fn a_request_is_remembered_once() {
    let world = World::new();
    let id = RequestId::new("q");
    let done = Remembered {
        kind: "fork".to_owned(),
        fingerprint: Hash([3; 32]),
        result: vec![1, 2].into(),
        done_at: Moment(5),
    };
    assert_eq!(world.ledger.request(&world.ns, &id).await.unwrap(), None);
    commit(&world, |changes| changes.remember(&id, &done)).await.unwrap();
    assert_eq!(world.ledger.request(&world.ns, &id).await.unwrap(), Some(done.clone()));
    assert_eq!(commit(&world, |changes| changes.remember(&id, &done)).await, Err(Lost::RequestExists(id)));
}

#[tokio::test]
async fn a_set_that_was_committed_already_stores_nothing_twice() {
    let world = World::new();
    let exchange = world.exchange(None, "once");
    let mut changes = Changes::new();
    changes.append(vec![exchange.clone()], None);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let before = world.store.dump(&world.ns);
    let again = world.ledger.commit(&world.ns, &changes).await.unwrap();
    assert_eq!(again, Err(Lost::ExchangeExists(exchange.id)));
    assert_eq!(world.store.dump(&world.ns), before);
}

#[tokio::test]
async fn nothing_is_stored_after_what_is_not_there_or_out_of_order() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let place = world.place(&root).await;
    let elsewhere = crate::domain::graph::Place { depth: 7, ..place };
    let mut orphan = world.exchange(Some(&root), "orphan");
    orphan.depth = 8;
    let lost = commit(&world, |changes| changes.append(vec![orphan.clone()], Some(elsewhere))).await;
    assert_eq!(lost, Err(Lost::ParentMissing(orphan.id)));

    let (one, other) = (world.exchange(Some(&root), "one"), world.exchange(Some(&root), "other"));
    for (exchanges, after) in [
        (vec![orphan], Some(place)),
        (vec![one.clone(), other], Some(place)),
        (vec![one], None),
        (vec![world.exchange(None, "root")], Some(place)),
    ] {
        let mut changes = Changes::new();
        changes.append(exchanges, after);
        let refused = world.ledger.commit(&world.ns, &changes).await;
        assert!(matches!(&refused, Err(Error::Corrupt(why)) if why.contains("does not follow")), "{refused:?}");
    }
}

#[tokio::test]
async fn tools_are_stored_once() {
    let world = World::new();
    let set = ToolSet { tools: vec![tool("a"), tool("b")] };
    commit(&world, |changes| changes.tool_set(&set)).await.unwrap();
    assert_eq!(world.store.take_writes(), (1, 3));
    commit(&world, |changes| changes.tool_set(&set)).await.unwrap();
    assert_eq!(world.store.take_writes(), (1, 0));
    assert_eq!(world.ledger.tool_set(&world.ns, set.hash()).await.unwrap(), set);
    assert_eq!(world.ledger.tool_set(&world.ns, None).await.unwrap(), ToolSet::default());
    let missing = world.ledger.tool_set(&world.ns, Some(Hash([0; 32]))).await;
    assert!(matches!(&missing, Err(Error::Corrupt(why)) if why.contains("missing")), "{missing:?}");
}

#[tokio::test]
async fn what_stands_on_a_thread_comes_back_with_it_whether_unset_or_empty_or_some() {
    let world = World::new();
    for (id, standing_tools) in
        [("unset", None), ("empty", Some(ToolSet::default())), ("some", Some(ToolSet { tools: vec![tool("a")] }))]
    {
        let defaults = ThreadDefaults { standing_tools, ..ThreadDefaults::default() };
        let thread = crate::domain::thread::Thread { defaults, ..thread(id) };
        commit(&world, |changes| drop(changes.create_thread(&thread, &head(None)))).await.unwrap();
        assert_eq!(world.ledger.thread(&world.ns, &thread.id).await.unwrap().unwrap().0, thread);
    }
}

#[tokio::test]
async fn tools_that_go_between_the_look_and_the_commit_are_stored_again() {
    let world = World::new();
    let set = ToolSet { tools: vec![tool("a")] };
    commit(&world, |changes| changes.tool_set(&set)).await.unwrap();
    let ns = world.ns.clone();
    let keys: Vec<_> = world.store.dump(&ns).into_keys().collect();
    *world.store.interfere.lock().unwrap() =
        Some(Box::new(move |store| keys.iter().for_each(|key| store.tamper(&ns, key, None))));
    world.store.take_writes();
    commit(&world, |changes| changes.tool_set(&set)).await.unwrap();
    assert_eq!(world.store.take_writes(), (2, 2));
    assert_eq!(world.ledger.tool_set(&world.ns, set.hash()).await.unwrap(), set);
}

fn image(length: usize) -> Message {
    let media = Media::Inline("image/png".to_owned(), vec![7; length].into());
    Message { role: Role::User, parts: vec![Part::new(Kind::Image(media, String::new()))] }
}

fn parts(world: &World) -> Vec<Vec<u8>> {
    world.store.dump(&world.ns).into_keys().filter(|key| key[0] == Record::Part.letter()).collect()
}

#[tokio::test]
async fn a_large_part_is_stored_once_and_mended_when_it_is_said_again() {
    let world = World::new();
    let one = world.saying(world.exchange(None, "").id, None, vec![image(10_000)]);
    let other = world.saying(world.exchange(None, "").id, None, vec![image(10_000), image(10_000)]);
    world.append(std::slice::from_ref(&one), None).await;
    let keys = parts(&world);
    world.store.take_writes();
    world.append(std::slice::from_ref(&other), None).await;
    assert_eq!(world.store.take_writes(), (1, 4), "branch, exchange and two indexes");
    assert_eq!((parts(&world), keys.len()), (keys.clone(), 1));
    assert_eq!(world.history(&other).await, [other]);

    world.store.tamper(&world.ns, &keys[0], Some(vec![1; 40].into()));
    let damaged = world.ledger.exchange(&world.ns, one.id).await;
    assert!(matches!(&damaged, Err(Error::Corrupt(why)) if why.contains("part")), "{damaged:?}");
    let again = world.saying(world.exchange(None, "").id, None, vec![image(10_000)]);
    world.append(&[again], None).await;
    assert_eq!(world.history(&one).await, [one]);
}

#[tokio::test]
async fn equal_bytes_in_two_namespaces_have_nothing_in_common() {
    let world = World::new();
    let there = World { ns: crate::store::Namespace::new("b"), ..World::new() };
    for world in [&world, &there] {
        let exchange = world.saying(world.exchange(None, "").id, None, vec![image(10_000)]);
        world.append(&[exchange], None).await;
    }
    assert_ne!(parts(&world), parts(&there));
}

#[tokio::test]
async fn damage_is_told_with_the_record_and_not_taken_for_absence() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let place = world.place(&root).await;
    world.store.tamper(&world.ns, &Entry::Exchange(place).key(), None);
    let said = world.ledger.exchange(&world.ns, root.id).await;
    assert!(matches!(&said, Err(Error::Corrupt(why)) if why.contains(&root.id.to_string())), "{said:?}");
    let path = world.ledger.path(&world.ns, place).await.unwrap();
    let said = world.ledger.exchanges(&world.ns, &path, 1, usize::MAX, usize::MAX).await;
    assert!(matches!(&said, Err(Error::Corrupt(why)) if why.contains("depth 1")), "{said:?}");
}

/// Services are called from tasks that move between threads.
#[tokio::test]
async fn calls_may_move_between_threads() {
    let world = Arc::new(World::new());
    let shared = Arc::clone(&world);
    let task = tokio::spawn(async move {
        let exchange = shared.say(None, "root").await;
        let path = shared.ledger.path(&shared.ns, shared.place(&exchange).await).await.unwrap();
        shared.ledger.turn_end(&shared.ns, &path, 1).await.unwrap();
        crate::store::verify::verify(&shared.ledger, &mut |_| {}).await.unwrap();
        exchange
    });
    let exchange = task.await.unwrap();
    assert_eq!(world.history(&exchange).await, [exchange]);
}
