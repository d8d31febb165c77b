//! Pages of a path and ends of turns.

use super::World;
use crate::domain::exchange::{Erased, Exchange};
use crate::domain::graph::Segment;
use crate::domain::id::{CallId, Moment};
use crate::domain::message::{Kind, Message, Part, Role, ToolCall};

/// A path over three branches: 1-70 on one, 71 alone, 72-80 on a third.
async fn bent(world: &World) -> (Vec<Exchange>, Vec<Segment>) {
    let mut all: Vec<Exchange> = Vec::new();
    for depth in 1..=80 {
        if depth == 71 || depth == 72 {
            world.say(all.last(), "a sibling that came first").await;
        }
        let next = world.say(all.last(), &format!("depth {depth}")).await;
        all.push(next);
    }
    let path = world.ledger.path(&world.ns, world.place(&all[79]).await).await.unwrap();
    assert_eq!(path.iter().map(|segment| segment.last).collect::<Vec<_>>(), [70, 71, 80]);
    (all, path)
}

#[tokio::test]
async fn pages_of_any_size_join_to_the_history() {
    let world = World::new();
    let (all, path) = bent(&world).await;
    for (limit, max_bytes) in
        [(1, usize::MAX), (3, usize::MAX), (64, usize::MAX), (100, usize::MAX), (100, 1), (100, 700)]
    {
        let mut joined: Vec<Exchange> = Vec::new();
        loop {
            let from = joined.len() as u64 + 1;
            let page = world.page(&path, from, limit, max_bytes).await;
            assert!(page.len() <= limit);
            if max_bytes == 1 {
                assert!(page.len() <= 1, "one is given however large it is, and no more");
            }
            if page.is_empty() {
                break;
            }
            joined.extend(page);
        }
        assert_eq!(joined, all, "{limit} {max_bytes}");
    }
    assert_eq!(world.page(&path, 0, 2, usize::MAX).await, all[..2]);
    assert_eq!(world.page(&path, 81, 2, usize::MAX).await, []);
    assert_eq!(world.page(&path, 1, 0, usize::MAX).await, []);
}

#[tokio::test]
async fn a_page_of_some_bytes_has_some_exchanges() {
    let world = World::new();
    let (all, path) = bent(&world).await;
    let page = world.page(&path, 1, 100, 700).await;
    assert!(page.len() > 1 && page.len() < all.len(), "{}", page.len());
}

/// Once the exchange that went over the limit was taken with the rest, and only the one after it was not.
#[tokio::test]
async fn a_history_has_at_most_so_many_bytes() {
    let world = World::new();
    let (all, path) = bent(&world).await;
    let within = async |max| world.ledger.history_within(&world.ns, &path, max).await.unwrap();
    let (mut max, mut refused) = (0, 0);
    let whole = loop {
        match within(max).await {
            Ok(whole) => break whole,
            Err(bytes) => {
                assert!(bytes > max, "{bytes} are not more than {max}");
                (max, refused) = (bytes, refused + 1);
            }
        }
    };
    let whole: Vec<Exchange> = whole.iter().map(|exchange| Exchange::clone(exchange)).collect();
    assert_eq!((whole, refused), (all, 80), "each refusal tells what the next exchange comes to");
    assert_eq!(within(max - 1).await, Err(max));
}

#[tokio::test]
async fn the_path_to_an_inner_place_ends_there() {
    let world = World::new();
    let (all, _) = bent(&world).await;
    for at in [0, 30, 69, 70, 71, 75] {
        assert_eq!(world.history(&all[at]).await, all[..=at]);
    }
}

/// An answer that calls a tool, so that the turn goes on with the next exchange.
fn calling(mut exchange: Exchange) -> Exchange {
    let call = ToolCall {
        call_id: CallId::new("c"),
        provider_call_id: String::new(),
        name: "w".to_owned(),
        arguments_json: "{}".to_owned(),
        arguments_invalid: false,
    };
    exchange.assistant = Message { role: Role::Assistant, parts: vec![Part::new(Kind::ToolCall(call))] };
    exchange
}

#[tokio::test]
async fn the_end_of_a_turn_is_its_last_exchange_and_found_by_halving() {
    let world = World::new();
    let mut all: Vec<Exchange> = Vec::new();
    for n in 0..100 {
        let next = world.exchange(all.last(), &format!("{n}"));
        // Every third answer ends a turn.
        all.push(if n % 3 == 2 { next } else { calling(next) });
    }
    world.append(&all, None).await;
    let path = world.ledger.path(&world.ns, world.place(&all[99]).await).await.unwrap();
    for turn in 0..=40 {
        let expected = all.iter().rev().find(|exchange| exchange.turn == turn);
        world.store.take_reads();
        let found = world.ledger.turn_end(&world.ns, &path, turn).await.unwrap();
        assert_eq!(found.as_ref(), expected, "{turn}");
        assert!(world.store.take_reads().0 <= 7);
    }
    assert_eq!(all[98].turn, 33);
}

/// What somebody read before it was erased, and puts into the memory afterwards, is not found there.
#[tokio::test]
async fn what_was_read_before_an_erasure_is_not_kept() {
    let world = World::new();
    let said = world.say(None, "secret").await;
    let place = world.place(&said).await;
    let ledger = world.ledger.clone().keeping(1 << 20);
    let early = ledger.lean(&world.ns, place).await.unwrap().unwrap();
    let erased = Erased { receipt: "r".to_owned(), at: Moment(1), by: String::new() };
    ledger.erase(&world.ns, place, &erased).await.unwrap().unwrap();
    ledger.whole(&world.ns, place, early).await.unwrap();
    let found = ledger.exchange_at(&world.ns, place).await.unwrap().unwrap();
    assert_eq!(found.erased, Some(erased));
}
