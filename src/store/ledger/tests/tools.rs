//! Calls are looked at without what was said, along a path and by time; what a path has seen is stored once.

use super::{World, tool};
use crate::domain::drift::{Lineage, Seen};
use crate::domain::exchange::Exchange;
use crate::domain::tool::ToolSet;
use crate::store::Changes;

fn depths(glances: &[crate::domain::exchange::Glance]) -> Vec<u64> {
    glances.iter().map(|glance| glance.depth).collect()
}

#[tokio::test]
async fn a_path_is_looked_at_across_its_branches() {
    let world = World::new();
    let mut kept = world.say(None, "root").await;
    for n in 0..10 {
        world.say(Some(&kept), &format!("left {n}")).await;
        kept = world.say(Some(&kept), &format!("kept {n}")).await;
        kept = world.say(Some(&kept), &format!("kept too {n}")).await;
    }
    let history = world.history(&kept).await;
    let path = world.ledger.path(&world.ns, world.place(&kept).await).await.unwrap();
    for (from, to) in [(1, 21), (0, 3), (5, 5), (20, 100), (22, 30)] {
        let found = world.ledger.glances(&world.ns, &path, from, to).await.unwrap();
        let expected: Vec<_> = history.iter().filter(|e| e.depth >= from && e.depth <= to).map(|e| e.id).collect();
        assert_eq!(found.iter().map(|glance| glance.id).collect::<Vec<_>>(), expected, "{from} to {to}");
        assert!(depths(&found).is_sorted());
    }
}

#[tokio::test]
async fn calls_at_places_come_in_their_order() {
    let world = World::new();
    let root = world.say(None, "1").await;
    let second = world.say(Some(&root), "2").await;
    let other = world.say(None, "3").await;
    let mut places = Vec::new();
    for exchange in [&other, &root, &second] {
        places.push(world.place(exchange).await);
    }
    let found = world.ledger.glances_at(&world.ns, places).await.unwrap();
    assert_eq!(found.iter().map(|glance| glance.id).collect::<Vec<_>>(), [other.id, root.id, second.id]);
}

#[tokio::test]
async fn what_a_path_has_seen_is_stored_once() {
    let world = World::new();
    let set = ToolSet { tools: vec![tool("a")] };
    let first = world.exchange(None, "1");
    let seen = Seen::default().after(&set, first.id);
    let first = Exchange { offered: set.hash(), lineage: seen.lineage(), ..first };
    let Lineage::Seen(hash) = first.lineage else { panic!("{:?}", first.lineage) };
    let mut puts = Vec::new();
    let second = Exchange { lineage: first.lineage, ..world.exchange(Some(&first), "2") };
    for exchange in [&first, &second] {
        let mut changes = Changes::new();
        changes.seen(&seen);
        let after = if exchange.depth == 1 { None } else { Some(world.place(&first).await) };
        changes.append(vec![exchange.clone()], after);
        world.store.take_writes();
        world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
        puts.push(world.store.take_writes().1);
    }
    assert_eq!(puts, [5, 3], "branch, exchange, two indexes and the map; then the exchange and its indexes");
    assert_eq!(world.ledger.seen(&world.ns, hash).await.unwrap(), seen);
    assert_eq!(world.history(&second).await[1].lineage, first.lineage);
}
