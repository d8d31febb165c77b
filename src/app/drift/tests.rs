//! A drift is found wherever the path departs and whatever its depth, by as many reads, and costs a record only when a tool is new.

use std::sync::Arc;

use super::*;
use crate::app::reload::Nowhere;
use crate::app::turn::{Base, Turn};
use crate::app::{Caller, Limits};
use crate::domain::message::{Message, Role};
use crate::domain::source::Ids;
use crate::domain::tool::Tool;
use crate::engine::Asked;
use crate::engine::testing::{Counted, Still, scripted};
use crate::store::Changes;
use crate::store::ledger::tests::World;

fn set(tools: &[(&str, u32)]) -> ToolSet {
    let tool = |(name, version): &(&str, u32)| Tool {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema_json: format!(r#"{{"type":"object","title":"{version}"}}"#),
        side_effects: false,
        requires_human: false,
    };
    ToolSet { tools: tools.iter().map(tool).collect() }
}

/// Ids after those of a [`World`].
struct Later(Counted);

impl Ids for Later {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(self.0.uuid().as_u128() | 1 << 64)
    }
}

fn app(world: &World) -> Arc<App> {
    let ids = Arc::new(Later(Counted::default()));
    App::new(world.ledger.clone(), Arc::new(scripted("")), Arc::new(Nowhere), Arc::new(Still), ids, Limits::default())
}

/// A turn after an exchange, or at a root, with tools of its own.
async fn say(
    app: &Arc<App>,
    world: &World,
    after: Option<ExchangeId>,
    tools: &ToolSet,
    policy: Policy,
) -> Result<Exchange, Fault> {
    let messages = vec![Message::text(Role::User, "x")];
    let asked = Asked { messages, tools: Some(tools.clone()), on_tool_drift: policy, ..Asked::default() };
    let turn = Turn {
        run_id: None,
        assigned: None,
        fingerprint: Hash([1; 32]),
        step: Hash([1; 32]),
        base: after.map_or(Base::Root, Base::Exchange),
        input: Input::Request(Box::new(asked)),
        capture: true,
        labels: Default::default(),
        on_disconnect: Default::default(),
        retry: false,
        stream: false,
        companion: None,
    };
    let mut watcher = app.start_turn(Caller::of(world.ns.clone()), turn).await?;
    let outcome = watcher.outcome().await?;
    Ok(outcome.exchange.as_ref().unwrap().exchange.clone())
}

fn warned(exchange: &Exchange) -> Vec<&str> {
    exchange.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// A path of exchanges with the same tools, each of which says what `lineage` gives, ending at a depth.
async fn path(world: &World, depth: u64, tools: &ToolSet, lineage: impl Fn(&Seen) -> Lineage) -> Exchange {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut seen = Seen::default();
    for _ in 0..depth {
        let exchange = world.exchange(exchanges.last(), "x");
        seen = seen.after(tools, exchange.id);
        let exchange = Exchange { offered: tools.hash(), lineage: lineage(&seen), ..exchange };
        exchanges.push(exchange);
    }
    let mut changes = Changes::new();
    changes.tool_set(tools);
    changes.seen(&seen);
    changes.append(exchanges.clone(), None);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    exchanges.pop().unwrap()
}

#[tokio::test]
async fn a_lookup_costs_the_same_at_every_depth() {
    for depth in [1, 1_000] {
        let world = World::new();
        let last = path(&world, depth, &set(&[("a", 1), ("b", 1)]), Seen::lineage).await;
        let parent = Parent { place: Some(world.place(&last).await), exchange: last };
        let app = app(&world);
        world.store.take_reads();
        let drifts = app.drifts_after(&world.ns, &parent, &set(&[("b", 2), ("c", 1)])).await.unwrap();
        assert_eq!(drifts.len(), 1);
        assert_eq!(world.store.take_reads(), (1, 0), "at depth {depth}");
        assert_eq!(app.drifts_after(&world.ns, &parent, &set(&[("a", 1), ("b", 1)])).await.unwrap(), []);
        assert_eq!(world.store.take_reads(), (0, 0), "the same tools need no look");
    }
}

/// What a turn writes is counted: the map is one more record where a tool is new or drifted, and none otherwise.
#[tokio::test]
async fn a_turn_writes_a_map_only_when_its_tools_are_new_to_the_path() {
    let world = World::new();
    let app = app(&world);
    let none = ToolSet::default();
    let (one, two, drifted) = (set(&[("a", 1)]), set(&[("b", 1)]), set(&[("a", 2)]));
    let mut last = say(&app, &world, None, &none, Policy::Warn).await.unwrap().id;
    let mut puts = Vec::new();
    // Sets and tools that were there before are not written again; so each is offered on a path of its own first.
    for tools in [&one, &two, &drifted] {
        say(&app, &world, None, tools, Policy::Warn).await.unwrap();
    }
    world.store.take_writes();
    for tools in [&none, &one, &one, &two, &one, &none, &two, &drifted, &drifted] {
        let exchange = say(&app, &world, Some(last), tools, Policy::Warn).await.unwrap();
        last = exchange.id;
        puts.push((world.store.take_writes().1, warned(&exchange).len()));
    }
    let bare = puts[0].0;
    let more: Vec<_> = puts.iter().map(|(puts, warnings)| (puts - bare, *warnings)).collect();
    assert_eq!(more, [(0, 0), (1, 0), (0, 0), (1, 0), (0, 0), (0, 0), (0, 0), (1, 1), (0, 0)]);
}

/// A fork sees what was seen where it departs, not what the branch learned later.
#[tokio::test]
async fn a_fork_sees_the_tools_of_its_own_path() {
    let world = World::new();
    let app = app(&world);
    let first = say(&app, &world, None, &set(&[("a", 1)]), Policy::Warn).await.unwrap();
    let second = say(&app, &world, Some(first.id), &set(&[("a", 2)]), Policy::Warn).await.unwrap();
    assert_eq!(warned(&second), ["tool_schema_drift"]);
    let back = say(&app, &world, Some(second.id), &set(&[("a", 1)]), Policy::Warn).await.unwrap();
    assert!(back.warnings[0].message.contains(&second.id.to_string()), "{:?}", back.warnings);
    for (after, version, warnings) in [(first.id, 1, 0), (first.id, 3, 1), (second.id, 2, 0), (back.id, 1, 0)] {
        let forked = say(&app, &world, Some(after), &set(&[("a", version)]), Policy::Warn).await.unwrap();
        assert_eq!(forked.warnings.len(), warnings, "version {version} after {after}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_tool_and_writes_nothing() {
    let world = World::new();
    let app = app(&world);
    let first = say(&app, &world, None, &set(&[("a", 1), ("b", 1)]), Policy::Refuse).await.unwrap();
    world.store.take_writes();
    let changed = set(&[("b", 2), ("a", 2)]);
    let fault = say(&app, &world, Some(first.id), &changed, Policy::Refuse).await.unwrap_err();
    assert_eq!(fault.reason, Reason::ToolSchemaDrift);
    assert_eq!((fault.metadata["tool"].as_str(), fault.metadata["tools"].as_str()), ("b", "b,a"));
    assert_eq!(fault.metadata["exchange_id"], first.id.to_string());
    assert_eq!(fault.metadata["previous_schema_hash"], set(&[("b", 1)]).tools[0].schema_hash().to_string());
    assert_eq!(world.store.take_writes(), (0, 0));
}

/// Exchanges from before this was kept are looked through once; what follows says what its path has seen.
#[tokio::test]
async fn a_path_that_does_not_say_what_it_has_seen_is_looked_through_once() {
    let world = World::new();
    let last = path(&world, 100, &set(&[("a", 1)]), |_| Lineage::Unknown).await;
    let app = app(&world);
    // A turn without tools learns nothing and needs nothing.
    let bare = say(&app, &world, Some(last.id), &ToolSet::default(), Policy::Warn).await.unwrap();
    assert_eq!(bare.lineage, Lineage::Unknown);
    let drifted = say(&app, &world, Some(bare.id), &set(&[("a", 2)]), Policy::Warn).await.unwrap();
    assert_eq!(warned(&drifted), ["tool_schema_drift"]);
    let root = world.history(&last).await.remove(0);
    assert!(drifted.warnings[0].message.contains(&root.id.to_string()), "{:?}", drifted.warnings);
    assert!(matches!(drifted.lineage, Lineage::Seen(_)));
    let parent = Parent { place: Some(world.place(&drifted).await), exchange: drifted };
    world.store.take_reads();
    assert_eq!(app.drifts_after(&world.ns, &parent, &set(&[("a", 1)])).await.unwrap().len(), 1);
    assert_eq!(world.store.take_reads(), (1, 0));
}
