//! What is wrong in a store is found, wherever it is; what is right is not blamed.

use std::collections::BTreeSet;

use super::*;
use crate::domain::coordination::{
    Answered, Batch, BatchProgress, Coordination, End, Frame, Outcome, PendingId, State, Turn,
};
use crate::domain::drift::Seen;
use crate::domain::id::{CallId, ExchangeId, Moment, PreparedId, RequestId, RunId, ThreadId};
use crate::domain::message::{Kind as PartKind, Media, Message, Part, Role};
use crate::domain::prepared::{From, Prepared};
use crate::domain::retention::{Erasing, Expiry, Gone, Mode, Pin, Receipt, Target};
use crate::domain::run::OnDisconnect;
use crate::domain::settings::ThreadDefaults;
use crate::domain::spend::Spending;
use crate::domain::thread::{Head, Thread};
use crate::domain::tool::ToolSet;
use crate::domain::workspace::{Around, Document, Live, Move, Node};
use crate::store::ledger::Edited;
use crate::store::ledger::tests::coordinations::{coordination, plan, result};
use crate::store::ledger::tests::{World, head, run, thread, tool};
use crate::store::record::envelope::Packed;
use crate::store::record::exchange::draft;
use crate::store::record::{Stored, encode};
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
    let root = world.saying(world.exchange(None, "").id, None, vec![Message { role: Role::User, parts: vec![image] }]);
    let seen = Seen::default().after(&set, root.id);
    let mut changes = Changes::new();
    let documents = documents(&world, &mut changes).await;
    let live = Live { root: documents.root, sequence: 1, updated_at: Moment(1) };
    changes.begin_workspace(&ThreadId::new("t"), &live);
    let moved = Move { from: None, to: root.id, workspace: Around { before: None, after: live.root }, at: Moment(1) };
    changes.add_move(&ThreadId::new("t"), 1, &moved);
    changes.keep_nodes(documents.nodes);
    let root = crate::domain::exchange::Exchange {
        offered: set.hash(),
        workspace: Around { before: None, after: documents.root },
        lineage: seen.lineage(),
        run_id: Some(RunId::new("r")),
        ..root
    };
    changes.append(vec![root.clone()], None);
    changes.tool_set(&set);
    changes.seen(&seen);
    let defaults = ThreadDefaults { standing_tools: Some(set), ..ThreadDefaults::default() };
    changes.create_thread(&Thread { defaults, ..thread("t") }, &head(Some(&root)));
    changes.create_run(&crate::domain::run::Run { exchange: Some(root.id), exchange_count: 1, ..run("r") });
    let done =
        Remembered { kind: "fork".to_owned(), fingerprint: Hash([1; 32]), result: Bytes::new(), done_at: Moment(1) };
    changes.remember(&RequestId::new("q"), &done);
    let (waiting, first, second) = waiting(&mut changes, &world.ns, root.id);
    changes.create_coordination(&waiting);
    changes.journal(&waiting.id, 1, &first);
    changes.journal(&waiting.id, 7, &second);
    changes.create_prepared(&prepared(&root));
    retained(&mut changes, root.id);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let mut kept = root;
    for n in 0..70 {
        world.say(Some(&kept), &format!("first {n}")).await;
        kept = world.say(Some(&kept), &format!("second {n}")).await;
    }
    world.ledger.complete_indexes(&world.ns).await.unwrap();
    world
}

/// A pin, an expiry, what somebody spent, the receipt of an erasure that nothing is left of, and an erasure under way.
fn retained(changes: &mut Changes, exchange: ExchangeId) {
    let target = Target::Exchange(exchange);
    let (id, note) = ("p".to_owned(), "n".to_owned());
    changes.put_pin(&Pin { id, target: target.clone(), note: note.clone(), created_at: Moment(1) });
    changes.put_expiry(&Expiry { target, at: Moment(9) }, None);
    changes.put_spending("somebody", &Spending::default());
    let receipt = Receipt {
        id: "e".to_owned(),
        target: Target::Thread(ThreadId::new("gone")),
        mode: Mode::Refuse,
        note,
        tombstones: 0,
        gone: vec![Gone { letter: b't', count: 1, bytes: 0 }],
        shared: 0,
        exchanges: Vec::new(),
        at: Moment(1),
        by: String::new(),
        made_at: None,
    };
    changes.put_receipt(&receipt);
    let receipt = Receipt { id: "f".to_owned(), ..receipt };
    changes.put_erasing(&Erasing { receipt, takes_drafts: true, end: None });
}

/// Enough documents for nodes of two levels, one of them in so many pieces that they are listed.
async fn documents(world: &World, changes: &mut Changes) -> Edited {
    let pieces = (0..6_u8).map(|n| changes.keep_part(&world.ns, vec![n].into())).collect();
    let content = changes.keep_pieces(&world.ns, pieces);
    let document = |number: u32| Document {
        name: format!("{number:03}"),
        media_type: "text/plain".to_owned(),
        size_bytes: 6,
        blake3: Hash([7; 32]),
        metadata_json: String::new(),
        updated_at: Moment(1),
        content: content.clone(),
    };
    let all = (0..120).map(document).map(|document| (document.name.clone(), Some(document))).collect();
    let edited = world.ledger.edited(&world.ns, None, all).await.unwrap();
    assert!(edited.nodes.len() > 2);
    edited
}

/// A version, a piece and a node that nothing has any more are found where they are named.
#[tokio::test]
async fn a_node_that_does_not_have_its_hash_or_fit_the_one_above_is_found() {
    let world = furnished().await;
    let (top, _) = world.ledger.workspace(&world.ns, &ThreadId::new("t")).await.unwrap();
    let Node::Inner { children, .. } = world.ledger.node(&world.ns, top.root.unwrap()).await.unwrap() else {
        panic!("it has levels")
    };
    let (one, other) = (Entry::Node(children[0].hash), world.ledger.node(&world.ns, children[1].hash).await.unwrap());
    world.store.tamper(&world.ns, &one.key(), Some(encode(&one, &other)));
    let (_, findings) = findings(&world).await;
    let problems: Vec<&str> = findings.iter().map(|finding| finding.problem.as_str()).collect();
    assert!(problems.contains(&"it does not have its hash"), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("is not as it says")), "{problems:?}");
}

/// What was prepared after an exchange, and executed.
fn prepared(after: &crate::domain::exchange::Exchange) -> Prepared {
    Prepared {
        id: PreparedId::ending(Moment(9), uuid::Uuid::from_u128(1)),
        run_id: None,
        from: From::Exchange(after.id),
        parent: Some(after.id),
        capture: true,
        labels: Default::default(),
        on_disconnect: OnDisconnect::Cancel,
        plan: plan(),
        backend: Hash([1; 32]),
        body: Hash([2; 32]),
        used_by: Some(RunId::new("r")),
        created_at: Moment(1),
        expires_at: Moment(9),
    }
}

#[tokio::test]
async fn what_a_prepared_execution_names_must_be_there() {
    let world = World::new();
    let ghost = world.exchange(None, "never stored");
    let mut changes = Changes::new();
    changes.create_prepared(&prepared(&ghost));
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let (_, found) = findings(&world).await;
    let problems: Vec<_> = found.iter().map(|finding| finding.problem.as_str()).collect();
    assert!(problems.iter().any(|problem| problem.contains("the exchange that it goes on from")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("the run that executed it")), "{problems:?}");
    assert_eq!(found.len(), 2);
}

/// A coordination that waits for tools, with the frames of two writes that a jump of the numbers lies between, and a result that is kept.
fn waiting(changes: &mut Changes, ns: &Namespace, exchange: ExchangeId) -> (Coordination, Vec<Frame>, Vec<Frame>) {
    let run_id = RunId::new("r");
    let (call, hash) = (CallId::new("call-1"), changes.keep_message(ns, &result("kept", 0)));
    let id = PendingId::new('t', 7, uuid::Uuid::from_u128(1));
    let answered = Answered { id: id.to_string(), fingerprint: Hash([1; 32]) };
    let progress = BatchProgress { results: vec![(call.clone(), hash)], open: vec![CallId::new("call-2")] };
    let first = vec![Frame::Started, Frame::RunStarted { run_id: run_id.clone() }];
    let second = vec![
        Frame::ToolsNeeded { id: id.clone(), run_id: run_id.clone(), exchange, round: 1 },
        Frame::Accepted { answered, run_id: Some(run_id.clone()), turns_started: 0, batch: Some(progress) },
    ];
    let turn = Turn { run_id, initial: true, rounds: 1, cancelled: None };
    let calls = vec![call.clone(), CallId::new("call-2")];
    let batch = Batch { id, turn, exchange, calls, results: [(call, hash)].into() };
    let state = State::AwaitingTools(batch);
    // The thread may have been deleted.
    let thread = Some(ThreadId::new("gone"));
    (Coordination { state, thread, last_sequence: 9, ..coordination("o", 7) }, first, second)
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
        let unnamed = [
            Kind::Request,
            Kind::Prepared,
            Kind::Indexes,
            Kind::Workspace,
            Kind::Move,
            Kind::Pin,
            Kind::Receipt,
            Kind::Erasing,
            Kind::Spending,
        ];
        assert_eq!(findings.is_empty(), unnamed.contains(&entry.kind()), "{entry}");
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
    assert_eq!(kinds, [Some(Kind::Head), Some(Kind::Pointer), Some(Kind::Run)]);
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
async fn a_coordination_that_names_what_is_not_there_is_found_and_so_is_a_journal_that_does_not_fit() {
    let world = World::new();
    let ghost = world.exchange(None, "never stored").id;
    let mut changes = Changes::new();
    let (waiting, first, second) = waiting(&mut changes, &world.ns, ghost);
    // The result is not kept.
    let mut changes = Changes::new();
    changes.create_coordination(&Coordination { last_sequence: 8, ..waiting.clone() });
    changes.journal(&waiting.id, 7, &second);
    changes.journal(&waiting.id, 8, &first);
    changes.journal(&CoordinationId::new("p"), 1, &first[..1]);
    let end = End { outcome: Outcome::Stopped, undelivered: None };
    changes.create_coordination(&Coordination { state: State::Ended(end), ..coordination("q", 4) });
    changes.journal(&CoordinationId::new("q"), 1, &first[..1]);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();

    let (_, found) = findings(&world).await;
    let problems = |record: Entry| {
        let of_record = found.iter().filter(|finding| finding.record == record.to_string());
        of_record.map(|finding| finding.problem.as_str()).collect::<Vec<_>>()
    };
    let fits = |record: Entry, expected: &[&str]| {
        let problems = problems(record.clone());
        let all = problems.iter().zip(expected).all(|(problem, expected)| problem.contains(expected));
        assert!(all && problems.len() == expected.len(), "{record}: {problems:?}");
    };
    let id = waiting.id;
    let named = ["an exchange that it names", "a run that it names, `r`", "a tool result that it names"];
    fits(Entry::Journal(id.clone(), 7), &named);
    fits(
        Entry::Journal(id.clone(), 8),
        &["begins before frame 8", "ends with frame 9, and its coordination says that the last one is 8", named[1]],
    );
    fits(Entry::Coordination(id), &[named[0], named[1], named[2], "the beginning of its journal"]);
    fits(Entry::Journal(CoordinationId::new("p"), 1), &["its coordination is missing"]);
    fits(Entry::Coordination(CoordinationId::new("q")), &["the end of its journal is missing"]);
    assert_eq!(found.len(), 12, "{found:?}");
}

#[tokio::test]
async fn progress_is_told_while_it_goes_on() {
    let world = furnished().await;
    let mut pages = 0;
    verify(&world.ledger, &mut |event| pages += u32::from(matches!(event, Event::Progress(_)))).await.unwrap();
    assert!(pages > 12, "{pages}");
}

/// What an exchange offered is in what it says that its path has seen.
#[tokio::test]
async fn an_exchange_that_has_not_seen_its_own_tools_is_found() {
    let (set, other) = (ToolSet { tools: vec![tool("a")] }, ToolSet { tools: vec![tool("b")] });
    for seen in [Seen::default(), Seen::default().after(&other, World::new().exchange(None, "").id)] {
        let world = World::new();
        let exchange = world.exchange(None, "1");
        let exchange = crate::domain::exchange::Exchange { offered: set.hash(), lineage: seen.lineage(), ..exchange };
        let mut changes = Changes::new();
        changes.tool_set(&set);
        changes.seen(&seen);
        changes.append(vec![exchange], None);
        world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
        let (_, findings) = findings(&world).await;
        assert!(findings.iter().any(|finding| finding.problem.contains("offered")), "{findings:?}");
    }
}
