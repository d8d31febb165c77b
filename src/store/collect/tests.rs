//! What is named at whatever moment of a collection is whole after it, and what could not be named any more was refused.

use std::collections::{BTreeMap, HashSet};

use super::{Among, Collected, collect};
use crate::domain::id::{Hash, Moment, ThreadId};
use crate::domain::workspace::{Content, Document, Live, Root};
use crate::store::layout::{Entry, Kind};
use crate::store::ledger::tests::{World, head, thread};
use crate::store::{Changes, Error, Lost};

const DOCUMENTS: usize = 3_000;

/// A version that nothing names, of many documents that share a few pieces.
async fn version(world: &World) -> Root {
    let mut changes = Changes::new();
    let mut edits = BTreeMap::new();
    for number in 0..DOCUMENTS {
        let name = format!("document/{number:04}");
        let piece = changes.keep_part(&world.ns, format!("piece {}", number % 9).into());
        let document = Document {
            name: name.clone(),
            media_type: "text/plain".to_owned(),
            size_bytes: 7,
            blake3: Hash([1; 32]),
            metadata_json: String::new(),
            updated_at: Moment(1),
            content: Content::Pieces(vec![piece]),
        };
        edits.insert(name, Some(document));
    }
    let edited = world.ledger.edited(&world.ns, None, edits).await.unwrap();
    changes.keep_nodes(edited.nodes);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    edited.root
}

async fn all(world: &World, goes_on: &mut (dyn FnMut(&Collected) -> bool + Send)) -> Result<Collected, Error> {
    let among = Among { candidates: None, without: &HashSet::new(), takes_drafts: true };
    collect(&world.ledger, &world.ns, &among, false, goes_on).await
}

/// A new thread that takes a version as its documents.
fn taking(root: Root) -> Changes {
    let mut changes = Changes::new();
    let taken = thread("t");
    changes.create_thread(&taken, &head(None));
    changes.begin_workspace(&taken.id, &Live { root, sequence: 1, updated_at: Moment(1) });
    changes
}

/// Commits on a thread of its own, as another caller does, while a collection stands still.
fn committed(world: &World, changes: &Changes) -> Result<(), Lost> {
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(world.ledger.commit(&world.ns, changes)).unwrap()
        });
        commit.join().unwrap()
    })
}

async fn count(world: &World, root: Root) -> usize {
    let mut found = HashSet::new();
    world.ledger.add_version(&world.ns, root, &mut found).await.unwrap();
    for part in found.iter().filter(|entry| matches!(entry, Entry::Part(_))) {
        assert!(world.ledger.raw(&world.ns, part).await.unwrap().is_some(), "{part}");
    }
    world.ledger.documents(&world.ns, root, "", usize::MAX, usize::MAX).await.unwrap().len()
}

/// Somebody takes a version that nothing named, at each step of the collection in turn: it has all of it, or is refused.
#[tokio::test]
async fn a_version_that_is_taken_meanwhile_is_whole_or_refused() {
    let mut outcomes = Vec::new();
    for at in 1.. {
        let world = World::new();
        let root = version(&world).await;
        let (mut step, mut outcome) = (0, None);
        all(&world, &mut |_| {
            step += 1;
            if step == at {
                outcome = Some(committed(&world, &taking(root)));
            }
            true
        })
        .await
        .unwrap();
        match outcome {
            None => break,
            Some(Ok(())) => {
                outcomes.push(true);
                assert_eq!(count(&world, root).await, DOCUMENTS, "at step {at}");
                let again = all(&world, &mut |_| true).await.unwrap();
                assert!(again.removed.is_empty(), "{:?}", again.removed);
            }
            Some(Err(lost)) => {
                outcomes.push(false);
                assert_eq!(lost, Lost::VersionGone(root.unwrap()), "at step {at}");
                assert!(world.store.dump(&world.ns).is_empty(), "nothing of it is left");
            }
        }
    }
    assert!(outcomes[0] && outcomes.len() > 4, "{outcomes:?}");
    assert!(outcomes[1..].iter().all(|taken| !taken), "from the first removal on it cannot be taken: {outcomes:?}");
}

/// A stop at any step leaves nothing that names what is missing, and the next collection takes the rest.
#[tokio::test]
async fn a_collection_that_stops_early_leaves_nothing_broken() {
    for at in 1..8 {
        let world = World::new();
        let root = version(&world).await;
        let mut step = 0;
        let mut goes_on = |_: &Collected| {
            step += 1;
            step < at
        };
        let stopped = all(&world, &mut goes_on).await.unwrap();
        let findings = crate::store::verify::verify_namespace(&world.ledger, &world.ns, &mut |_| {}).await.unwrap();
        assert_eq!(findings.findings, 0, "after step {at}");
        if stopped.removed.is_empty() {
            assert_eq!(count(&world, root).await, DOCUMENTS);
        }
        all(&world, &mut |_| true).await.unwrap();
        assert!(world.store.dump(&world.ns).is_empty());
    }
}

/// Pieces that are stored before anything names them stay as long as somebody holds them.
#[tokio::test]
async fn what_is_held_is_not_collected() {
    let world = World::new();
    let mut changes = Changes::new();
    let piece = changes.keep_part(&world.ns, "a piece".into());
    let other = changes.keep_part(&world.ns, "another".into());
    let mut hold = world.ledger.hold();
    hold.add(piece);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let collected = all(&world, &mut |_| true).await.unwrap();
    assert_eq!(collected.removed[&Kind::Part].count, 1);
    let left = |hash| world.ledger.part(&world.ns, hash);
    assert!(left(piece).await.unwrap().is_some() && left(other).await.unwrap().is_none());
    drop(hold);
    all(&world, &mut |_| true).await.unwrap();
    assert!(left(piece).await.unwrap().is_none());
}

/// A node that something names and that cannot be read ends a collection before anything is removed; one that nothing names goes.
#[tokio::test]
async fn damage_that_is_named_ends_a_collection_before_it_begins() {
    let world = World::new();
    let root = version(&world).await;
    let key = Entry::Node(root.unwrap()).key();
    assert_eq!(committed(&world, &taking(root)), Ok(()));
    world.store.tamper(&world.ns, &key, Some("damaged".into()));
    let before = world.store.dump(&world.ns);
    assert!(matches!(all(&world, &mut |_| true).await, Err(Error::Corrupt(_))));
    assert_eq!(world.store.dump(&world.ns), before);
    world.store.tamper(&world.ns, &Entry::Workspace(ThreadId::new("t")).key(), None);
    let collected = all(&world, &mut |_| true).await.unwrap();
    assert!(collected.removed[&Kind::Node].count > 1 && collected.removed[&Kind::Part].count == 9);
}

/// What is erased takes all versions along that nothing names, and only those: they are what was written on the way to it.
#[tokio::test]
async fn candidates_take_unnamed_versions_along() {
    let world = World::new();
    let root = version(&world).await;
    let kept = version_of(&world, "kept").await;
    let lost = version_of(&world, "lost").await;
    assert_eq!(committed(&world, &taking(kept)), Ok(()));
    let mut candidates = HashSet::new();
    world.ledger.add_version(&world.ns, lost, &mut candidates).await.unwrap();
    let none = HashSet::new();
    let only = HashSet::from([Entry::Seen(Hash([3; 32]))]);
    let run = |candidates, takes_drafts, dry_run| {
        let (world, among) = (&world, Among { candidates: Some(candidates), without: &none, takes_drafts });
        async move { collect(&world.ledger, &world.ns, &among, dry_run, &mut |_| true).await.unwrap() }
    };
    assert!(run(&only, true, false).await.removed.is_empty(), "what has nothing to do with documents takes none");
    let alone = run(&candidates, false, true).await;
    assert_eq!((alone.removed[&Kind::Node].count, alone.removed[&Kind::Part].count), (1, 1), "without drafts");
    let would = run(&candidates, true, true).await;
    assert_eq!(count(&world, root).await, DOCUMENTS, "a dry run removes nothing");
    let done = run(&candidates, true, false).await;
    assert_eq!((&done.removed, done.shared), (&would.removed, would.shared));
    assert_eq!(done.removed[&Kind::Part].count, 9 + 1, "those of both versions");
    assert_eq!(count(&world, kept).await, 1);
    assert!(all(&world, &mut |_| true).await.unwrap().removed.is_empty());
}

async fn version_of(world: &World, text: &str) -> Root {
    let mut changes = Changes::new();
    let piece = changes.keep_part(&world.ns, text.to_owned().into());
    let document = Document {
        name: text.to_owned(),
        media_type: String::new(),
        size_bytes: 4,
        blake3: Hash([2; 32]),
        metadata_json: String::new(),
        updated_at: Moment(2),
        content: Content::Pieces(vec![piece]),
    };
    let edited = world.ledger.edited(&world.ns, None, [(text.to_owned(), Some(document))].into()).await.unwrap();
    changes.keep_nodes(edited.nodes);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    edited.root
}
