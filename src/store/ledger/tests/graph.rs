//! Where exchanges come to lie, and that each is found with exactly its own path (rule 5).

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use proptest::prelude::*;

use super::{World, head, thread};
use crate::domain::exchange::Exchange;
use crate::domain::id::{ExchangeId, ThreadId};
use crate::store::layout::Entry;
use crate::store::verify::{Event, verify};
use crate::store::{Changes, Lost, Store, Write};

#[tokio::test]
async fn a_conversation_is_one_branch_and_one_scan_for_each_batch() {
    let world = World::new();
    let mut last: Option<Exchange> = None;
    for _ in 0..200 {
        last = Some(world.say(last.as_ref(), "go on").await);
    }
    let place = world.place(&last.unwrap()).await;
    world.store.take_reads();
    let path = world.ledger.path(&world.ns, place).await.unwrap();
    assert_eq!(world.page(&path, 1, usize::MAX, usize::MAX).await.len(), 200);
    assert_eq!(world.store.take_reads(), (1, 2), "a get for the branch, a short scan and a long one");
}

#[tokio::test]
async fn a_turn_reads_once_and_writes_three_keys_and_a_fork_five() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let place = world.place(&root).await;
    let (one, other) = (world.exchange(Some(&root), "one"), world.exchange(Some(&root), "other"));
    world.store.take_reads();
    world.store.take_writes();
    world.append(&[one], Some(place)).await;
    assert_eq!((world.store.take_reads(), world.store.take_writes()), ((1, 0), (1, 3)));
    world.append(&[other], Some(place)).await;
    assert_eq!((world.store.take_reads(), world.store.take_writes()), ((2, 0), (1, 5)));
}

/// A review loop that keeps the second candidate turns at every step.
#[tokio::test]
async fn a_path_that_turns_a_thousand_times_is_resolved_in_few_reads() {
    let world = World::new();
    let mut kept = world.say(None, "root").await;
    let mut expected = vec![kept.clone()];
    for _ in 0..1000 {
        world.say(Some(&kept), "first candidate").await;
        kept = world.say(Some(&kept), "second candidate").await;
        expected.push(kept.clone());
    }
    let place = world.place(&kept).await;
    world.store.take_reads();
    let path = world.ledger.path(&world.ns, place).await.unwrap();
    assert_eq!(path.len(), 1001);
    assert_eq!(world.store.take_reads(), (1 + 1000 / 64, 0));
    assert_eq!(world.page(&path, 1, usize::MAX, usize::MAX).await, expected);
    assert_eq!(world.store.take_reads(), (1001, 0), "each exchange is read once");
}

#[tokio::test]
async fn two_that_race_to_extend_one_tip_both_stay() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let place = world.place(&root).await;
    let racers: Vec<_> = (0..5).map(|n| world.exchange(Some(&root), &format!("racer {n}"))).collect();
    world.store.take_writes();
    join_all(racers.iter().map(|racer| world.append(std::slice::from_ref(racer), Some(place)))).await;
    assert!(world.store.take_writes().0 > 5, "nobody lost a race, so nothing was tested");
    let mut branches = BTreeSet::new();
    for racer in &racers {
        branches.insert(world.place(racer).await.branch);
        assert_eq!(world.history(racer).await, [root.clone(), racer.clone()]);
    }
    assert_eq!(branches.len(), 5);
}

/// The store refuses for what it has taken and not yet made durable, which no read shows.
#[tokio::test]
async fn a_place_that_was_taken_unseen_is_not_tried_for_ever() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let faster = world.say(Some(&root), "faster").await;
    let key = Entry::Exchange(world.place(&faster).await).key();
    world.store.unseen.lock().unwrap().insert(key);
    world.store.take_writes();
    let slower = world.say(Some(&root), "slower").await;
    assert_eq!(world.store.take_writes(), (2, 5));
    world.store.unseen.lock().unwrap().clear();
    assert_eq!(world.history(&faster).await, [root.clone(), faster]);
    assert_eq!(world.history(&slower).await, [root, slower]);
}

#[tokio::test]
async fn equal_content_is_two_exchanges_and_the_oldest_is_first() {
    let world = World::new();
    let one = world.say(None, "the same").await;
    let other = world.say(None, "the same").await;
    assert_eq!(one.content_hash, other.content_hash);
    let found = world.ledger.with_content(&world.ns, &one.content_hash).await.unwrap();
    assert_eq!(found, [one.id, other.id]);
    assert_eq!(world.history(&other).await, [other]);
}

#[tokio::test]
async fn two_sets_of_exchanges_after_one_in_one_commit_lie_on_two_branches() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let place = world.place(&root).await;
    let (one, other) = (world.exchange(Some(&root), "one"), world.exchange(Some(&root), "other"));
    let mut changes = Changes::new();
    changes.append(vec![one.clone()], Some(place));
    changes.append(vec![other.clone()], Some(place));
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    assert_eq!(world.history(&one).await, [root.clone(), one]);
    assert_eq!(world.history(&other).await, [root, other]);
}

#[derive(Clone, Debug)]
enum Op {
    /// So many exchanges at a root, on a thread of their own.
    Begin(usize),
    /// So many exchanges after a thread's head, which moves.
    Continue(prop::sample::Index, usize),
    /// A thread of its own at any exchange, with so many exchanges after it.
    Fork(prop::sample::Index, usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => (1usize..4).prop_map(Op::Begin),
        5 => (any::<prop::sample::Index>(), 1usize..4).prop_map(|(at, count)| Op::Continue(at, count)),
        4 => (any::<prop::sample::Index>(), 0usize..3).prop_map(|(at, count)| Op::Fork(at, count)),
    ]
}

/// What should be there.
#[derive(Default)]
struct Model {
    exchanges: Vec<Exchange>,
    heads: BTreeMap<ThreadId, Exchange>,
}

impl Model {
    fn path(&self, to: &Exchange) -> Vec<Exchange> {
        let by_id: BTreeMap<ExchangeId, &Exchange> = self.exchanges.iter().map(|e| (e.id, e)).collect();
        let mut path = vec![to.clone()];
        while let Some(parent) = path.last().and_then(|exchange| exchange.parent) {
            path.push(by_id[&parent].clone());
        }
        path.reverse();
        path
    }
}

fn chain(world: &World, after: Option<&Exchange>, count: usize) -> Vec<Exchange> {
    let mut chain: Vec<Exchange> = Vec::new();
    for n in 0..count {
        let next = world.exchange(chain.last().or(after), &format!("{n}"));
        chain.push(next);
    }
    chain
}

/// Does one thing, and tells the thread, its new head, and what was stored; none when another was faster.
async fn perform(world: &World, model: &Model, op: &Op, name: &str) -> Option<(ThreadId, Exchange, Vec<Exchange>)> {
    let mut changes = Changes::new();
    let (id, from, count) = match op {
        Op::Begin(count) => (ThreadId::new(name), None, *count),
        Op::Fork(at, count) => (ThreadId::new(name), Some(at.get(&model.exchanges)), *count),
        Op::Continue(at, count) => {
            let heads: Vec<_> = model.heads.iter().collect();
            let (id, from) = at.get(&heads);
            ((*id).clone(), Some(*from), *count)
        }
    };
    let chain = chain(world, from, count);
    let tip = chain.last().or(from).unwrap().clone();
    if matches!(op, Op::Continue(..)) {
        let (seen, token) = world.ledger.head(&world.ns, &id).await.unwrap().unwrap();
        if seen.exchange != from.map(|exchange| exchange.id) {
            return None;
        }
        changes.replace_head(&id, &head(Some(&tip)), &token);
    } else {
        changes.create_thread(&thread(id.as_str()), &head(Some(&tip)));
    }
    let after = match from {
        Some(from) => Some(world.place(from).await),
        None => None,
    };
    changes.append(chain.clone(), after);
    match world.ledger.commit(&world.ns, &changes).await.unwrap() {
        Ok(()) => Some((id, tip, chain)),
        Err(Lost::HeadMoved(lost)) => {
            assert_eq!(lost, id);
            for exchange in &chain {
                assert_eq!(world.ledger.place(&world.ns, exchange.id).await.unwrap(), None, "a loser stores nothing");
            }
            None
        }
        Err(lost) => panic!("{lost}"),
    }
}

async fn play(rounds: Vec<Vec<Op>>) -> Result<(), TestCaseError> {
    let world = World::new();
    let mut model = Model::default();
    let (id, tip, stored) = perform(&world, &model, &Op::Begin(2), "first").await.unwrap();
    model.exchanges.extend(stored);
    model.heads.insert(id, tip);
    for (round, ops) in rounds.iter().enumerate() {
        // All of a round at once: each saw the same, and their reads and commits interleave.
        let done = join_all(ops.iter().enumerate().map(|(n, op)| {
            let (world, model) = (&world, &model);
            async move { perform(world, model, op, &format!("{round}-{n}")).await }
        }))
        .await;
        let mut moved = BTreeSet::new();
        for (id, tip, stored) in done.into_iter().flatten() {
            prop_assert!(moved.insert(id.clone()), "two moved one head from the same place");
            model.exchanges.extend(stored);
            model.heads.insert(id, tip);
        }
    }
    for (id, tip) in &model.heads {
        let (head, _) = world.ledger.head(&world.ns, id).await.unwrap().unwrap();
        prop_assert_eq!(head.exchange, Some(tip.id));
    }
    for exchange in &model.exchanges {
        prop_assert_eq!(world.history(exchange).await, model.path(exchange));
    }
    let mut findings = Vec::new();
    let mut tell = |event: Event<'_>| {
        if let Event::Finding(finding) = event {
            findings.push(finding.to_string());
        }
    };
    verify(&world.ledger, &mut tell).await.unwrap();
    prop_assert_eq!(findings, Vec::<String>::new());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However writers interleave, each exchange is found with its ancestors and nothing else, and each head is where its last winner
    /// left it.
    #[test]
    fn every_path_is_exactly_the_ancestors(rounds in proptest::collection::vec(proptest::collection::vec(op(), 1..6), 1..24)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(play(rounds))?;
    }
}

/// What an earlier build wrote has no index of what follows and of heads; it gets both, once, and is then as if it had had them from the start.
#[tokio::test]
async fn indexes_that_a_store_lacks_are_completed() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let mut tip = root.clone();
    // Far enough that the last branches end in a block.
    for n in 0..70 {
        world.say(Some(&tip), &format!("first {n}")).await;
        tip = world.say(Some(&tip), &format!("second {n}")).await;
    }
    let mut changes = Changes::new();
    changes.create_thread(&thread("t"), &head(Some(&tip)));
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    world.ledger.complete_indexes(&world.ns).await.unwrap();
    let whole = world.store.dump(&world.ns);
    let is_index = |key: &[u8]| matches!(key.first(), Some(b'f' | b'g' | b'v'));
    let deletes: Vec<_> = whole.keys().filter(|key| is_index(key)).cloned().collect();
    assert_eq!(deletes.len(), 70 + 1 + 1);
    world.store.commit(&world.ns, Write { deletes, ..Write::default() }).await.unwrap();
    let place = world.place(&root).await;
    assert_eq!(world.ledger.children(&world.ns, place, None, 9).await.unwrap().len(), 1);
    world.ledger.complete_indexes(&world.ns).await.unwrap();
    assert_eq!(world.store.dump(&world.ns), whole);
    assert_eq!(world.ledger.children(&world.ns, place, None, 9).await.unwrap().len(), 2);
    assert_eq!(world.ledger.pointers(&world.ns, tip.id, None, 9).await.unwrap(), [ThreadId::new("t")]);
    world.store.take_reads();
    world.ledger.complete_indexes(&world.ns).await.unwrap();
    assert_eq!(world.store.take_reads(), (1, 0), "it is known to be complete");
}

/// A head that moves on, and a thread that is removed, leave no entry behind; a turn in a line has none and removes none.
#[tokio::test]
async fn entries_of_heads_go_with_them() {
    let world = World::new();
    let root = world.say(None, "root").await;
    let tip = world.say(Some(&root), "tip").await;
    let mut changes = Changes::new();
    let (_, token) = changes.create_thread(&thread("t"), &head(Some(&root)));
    let (other, other_head) = changes.create_thread(&thread("u"), &head(Some(&root)));
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let at = async |exchange: &Exchange| world.ledger.pointers(&world.ns, exchange.id, None, 9).await.unwrap();
    assert_eq!(at(&root).await, [ThreadId::new("t"), ThreadId::new("u")]);
    let mut changes = Changes::new();
    changes.replace_head(&ThreadId::new("t"), &head(Some(&tip)), &token);
    changes.delete_thread(&ThreadId::new("u"), &other, &other_head);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    assert_eq!((at(&root).await, at(&tip).await), (Vec::new(), vec![ThreadId::new("t")]));
}
