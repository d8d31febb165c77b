//! What is wrong in a store is found, wherever it is; what is right is not blamed.

use std::collections::BTreeSet;

use super::*;
use crate::domain::id::{Moment, RequestId, RunId, ThreadId};
use crate::domain::message::{Kind as PartKind, Media, Message, Part, Role};
use crate::domain::settings::ThreadDefaults;
use crate::domain::thread::{Head, Thread};
use crate::domain::tool::ToolSet;
use crate::store::ledger::tests::{World, head, run, thread, tool};
use crate::store::record::Stored;
use crate::store::record::envelope::Packed;
use crate::store::record::exchange::draft;
use crate::store::{Changes, Remembered};

async fn findings(world: &World) -> (Report, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut tell = |event: Event<'_>| {
        if let Event::Finding(finding) = event {
            findings.push(finding);
        }
    };
    let report = verify(&world.ledger, &mut tell).await.unwrap();
    assert_eq!(report.findings, findings.len() as u64);
    (report, findings)
}

/// Few keys of each kind, the first and the last among them: a verification for each of all would take its time.
fn some_of_each(world: &World) -> Vec<(Key, Bytes)> {
    let dump = world.store.dump(&world.ns);
    let mut some = Vec::new();
    for kind in Kind::ALL {
        let all: Vec<_> = dump.iter().filter(|(key, _)| key.first() == Some(&kind.letter())).collect();
        let step = all.len().div_ceil(4).max(1);
        some.extend(all.iter().step_by(step).chain(all.last()).map(|(key, value)| ((*key).clone(), (*value).clone())));
    }
    some
}

/// A store with every kind of record in it, each named by another one where that can be.
async fn furnished() -> World {
    let world = World::new();
    let media = Media::Inline("image/png".to_owned(), vec![7; 5000].into());
    let image = Part::new(PartKind::Image(media, String::new()));
    let set = ToolSet { tools: vec![tool("a"), tool("b")] };
    let root = crate::domain::exchange::Exchange {
        offered: set.hash(),
        run_id: Some(RunId::new("r")),
        ..world.saying(world.exchange(None, "").id, None, vec![Message { role: Role::User, parts: vec![image] }])
    };
    let mut changes = Changes::new();
    changes.append(vec![root.clone()], None);
    changes.tool_set(&set);
    let defaults = ThreadDefaults { standing_tools: Some(set), ..ThreadDefaults::default() };
    changes.create_thread(&Thread { defaults, ..thread("t") }, &head(Some(&root)));
    changes.create_run(&crate::domain::run::Run { exchange: Some(root.id), exchange_count: 1, ..run("r") });
    let done =
        Remembered { kind: "fork".to_owned(), fingerprint: Hash([1; 32]), result: Bytes::new(), done_at: Moment(1) };
    changes.remember(&RequestId::new("q"), &done);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let mut kept = root;
    for n in 0..70 {
        world.say(Some(&kept), &format!("first {n}")).await;
        kept = world.say(Some(&kept), &format!("second {n}")).await;
    }
    world
}

#[tokio::test]
async fn a_store_that_is_right_has_no_findings_and_every_record_is_counted() {
    let world = furnished().await;
    let (report, findings) = findings(&world).await;
    assert_eq!(findings, []);
    let dump = world.store.dump(&world.ns);
    assert_eq!(report.records.values().sum::<u64>(), dump.len() as u64);
    assert_eq!(report.bytes, dump.values().map(|value| value.len() as u64).sum::<u64>());
    assert_eq!(report.records.keys().copied().collect::<BTreeSet<_>>(), Kind::ALL.into_iter().collect());
    assert_eq!(report.records[&Kind::Exchange], 141);
    assert_eq!(report.records[&Kind::Block], 1);
}

#[tokio::test]
async fn a_flipped_bit_is_found_wherever_it_is_and_blamed_on_its_record() {
    let world = furnished().await;
    for (key, value) in some_of_each(&world) {
        let mut damaged = value.to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        world.store.tamper(&world.ns, &key, Some(damaged.into()));
        let entry = Entry::of_key(&key).unwrap();
        let (_, findings) = findings(&world).await;
        assert!(findings.iter().any(|finding| finding.record == entry.to_string()), "{entry}: {findings:?}");
        // A broken part or tool is one finding there; those that name it are not wrong, but an exchange cannot be put together.
        let others = findings.iter().filter(|finding| finding.record != entry.to_string());
        assert!(others.clone().all(|finding| finding.problem.contains("put together")), "{entry}: {findings:?}");
        world.store.tamper(&world.ns, &key, Some(value));
    }
}

#[tokio::test]
async fn a_missing_record_is_found_unless_nothing_names_it() {
    let world = furnished().await;
    for (key, value) in some_of_each(&world) {
        let entry = Entry::of_key(&key).unwrap();
        world.store.tamper(&world.ns, &key, None);
        let (_, findings) = findings(&world).await;
        assert_eq!(findings.is_empty(), entry.kind() == Kind::Request, "{entry}");
        world.store.tamper(&world.ns, &key, Some(value));
    }
}

#[tokio::test]
async fn a_record_under_the_key_of_another_is_found() {
    let world = furnished().await;
    let dump = world.store.dump(&world.ns);
    let runs: Vec<_> = dump.iter().filter(|(key, _)| key[0] == b'u').collect();
    world.store.tamper(&world.ns, runs[0].0, Some(runs[1].1.clone()));
    let (_, findings) = findings(&world).await;
    assert!(findings.iter().any(|finding| finding.problem.contains("checksum")), "{findings:?}");
}

#[tokio::test]
async fn a_key_that_names_nothing_is_found() {
    let world = furnished().await;
    world.store.tamper(&world.ns, b"zebra", Some(Bytes::from_static(b"1")));
    world.store.tamper(&world.ns, b"b1", Some(Bytes::from_static(b"1")));
    let (report, findings) = findings(&world).await;
    assert_eq!(findings.len(), 2);
    assert_eq!((findings[0].kind, report.records[&Kind::Branch]), (None, 71));
    assert!(findings[1].to_string().contains("7a65627261"));
}

#[tokio::test]
async fn words_that_were_changed_with_a_right_checksum_are_found_by_their_content_hash() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let child = world.say(Some(&root), "child").await;
    let place = world.place(&child).await;
    let put = |exchange: &crate::domain::exchange::Exchange| {
        let key = Entry::Exchange(place).key();
        let value = draft(exchange, &Hasher::new(&world.ns)).packed.seal(&key);
        world.store.tamper(&world.ns, &key, Some(value));
    };
    let mut forged = child.clone();
    forged.messages = vec![Message::text(Role::User, "forged")];
    put(&forged);
    let (_, found) = findings(&world).await;
    assert!(matches!(found.as_slice(), [finding] if finding.problem.contains("content hash")), "{found:?}");
    assert!(!found[0].to_string().contains("forged"));

    let mut stray = child.clone();
    stray.parent = Some(child.id);
    stray.turn = 0;
    put(&stray);
    let (_, found) = findings(&world).await;
    let problems: Vec<_> = found.iter().map(|finding| finding.problem.as_str()).collect();
    assert!(problems.iter().any(|problem| problem.contains("its parent is")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("turn")), "{problems:?}");
}

#[tokio::test]
async fn heads_and_runs_that_point_nowhere_are_found() {
    let world = World::new();
    let ghost = world.exchange(None, "never stored");
    let mut changes = Changes::new();
    changes.create_thread(&thread("t"), &head(Some(&ghost)));
    changes.create_run(&crate::domain::run::Run { exchange: Some(ghost.id), ..run("r") });
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let (_, findings) = findings(&world).await;
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Some(Kind::Head), Some(Kind::Run)]);
    assert_eq!(findings[0].record, Entry::Head(ThreadId::new("t")).to_string());
}

// A store that went back to an older value of a record agreed with itself, record by record.
#[tokio::test]
async fn an_older_value_of_a_record_is_found_where_others_know_better() {
    let world = furnished().await;
    let put = async |entry: Entry, value: Bytes| {
        let key = entry.key();
        let before = world.store.dump(&world.ns)[&key].clone();
        world.store.tamper(&world.ns, &key, Some(value));
        let (_, found) = findings(&world).await;
        world.store.tamper(&world.ns, &key, Some(before));
        let problems: Vec<_> = found.into_iter().map(|finding| finding.problem).collect();
        problems.join("; ")
    };
    let run_entry = || Entry::Run(RunId::new("r"));
    let sealed = |run: &crate::domain::run::Run| Packed::new(run.payload()).seal(&run_entry().key());
    let claimed = put(run_entry(), sealed(&run("r"))).await;
    assert!(claimed.contains("its run r does not have it"), "{claimed}");
    let (now, _) = world.ledger.run(&world.ns, &RunId::new("r")).await.unwrap().unwrap();
    let counted = put(run_entry(), sealed(&crate::domain::run::Run { exchange_count: 2, ..now })).await;
    assert!(counted.contains("says that it has 2 exchanges, and it is number 1"), "{counted}");
    let head_entry = || Entry::Head(ThreadId::new("t"));
    let (head, _) = world.ledger.head(&world.ns, &ThreadId::new("t")).await.unwrap().unwrap();
    let moved = Head { turn_count: 7, run_id: None, active_run: Some(RunId::new("gone")), ..head };
    let said = put(head_entry(), Packed::new(moved.payload()).seal(&head_entry().key())).await;
    for problem in ["active run gone is not stored", "it counts 7 turns", "it names another run"] {
        assert!(said.contains(problem), "{said}");
    }
}

#[tokio::test]
async fn progress_is_told_while_it_goes_on() {
    let world = furnished().await;
    let mut pages = 0;
    verify(&world.ledger, &mut |event| pages += u32::from(matches!(event, Event::Progress(_)))).await.unwrap();
    assert!(pages > 12, "{pages}");
}
