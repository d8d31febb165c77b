//! Coordinations, their journals, and the content that they name.

use super::{World, run, tool};
use crate::domain::coordination::{Coordination, Decision, End, Frame, Outcome, PendingId, Planned, State, Terms};
use crate::domain::id::{CallId, CoordinationId, Hash, Moment, Namespace};
use crate::domain::message::{Kind, Media, Message, Part, Role, ToolResult};
use crate::domain::run::OnDisconnect;
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::spend::{SpendLimit, Spent};
use crate::domain::thread::{OnBusy, Unanswered};
use crate::domain::tool::{Offer, ToolSet};
use crate::store::layout::Kind as Record;
use crate::store::{Changes, Error, Lost};

pub(crate) fn coordination(id: &str, asked: u64) -> Coordination {
    let decision = Decision {
        id: PendingId::new('d', asked, uuid::Uuid::from_u128(1)),
        starting: true,
        result: false,
        delivered: false,
    };
    Coordination {
        id: CoordinationId::new(id),
        fingerprint: Hash([1; 32]),
        terms: Terms {
            additional_turns: 1,
            tool_round_limit: 1,
            deltas: false,
            deadline: None,
            decision_timeout_ms: None,
            expiry_ms: None,
            on_disconnect: OnDisconnect::Cancel,
            on_busy: OnBusy::Reject,
            unanswered: Unanswered::Reject,
            omit_generation_history: false,
            spend_limit: SpendLimit::default(),
        },
        labels: Default::default(),
        start: None,
        exchange: None,
        thread: None,
        turns_started: 0,
        state: State::AwaitingDecision(decision),
        interrupted: None,
        last_sequence: asked,
        detached_at: None,
        created_at: Moment(1),
        state_at: Moment(1),
        updated_at: Moment(1),
        spent: Spent::default(),
    }
}

pub(crate) fn result(text: &str, media: usize) -> Message {
    let image = Media::Inline("image/png".to_owned(), vec![7; media].into());
    let parts = vec![Part::text(text), Part::new(Kind::Image(image, String::new()))];
    let result = ToolResult { call_id: CallId::new("call-1"), parts, is_error: false, interrupted: false };
    Message { role: Role::Tool, parts: vec![Part::new(Kind::ToolResult(result))] }
}

pub(crate) fn plan() -> Planned {
    Planned {
        profile_id: "fast".to_owned(),
        backend_id: "main".to_owned(),
        model: "m".to_owned(),
        parameters: Parameters { temperature: Some(0.25), ..Parameters::default() },
        contract: Contract::Json,
        offer: Offer { offered: ToolSet { tools: vec![tool("a")] }, standing: ToolSet { tools: vec![tool("b")] } },
        tool_choice: ToolChoice::Auto,
        session_id: None,
        messages: vec![Message::text(Role::User, "What is it?")],
        settings: Vec::new(),
        warnings: Vec::new(),
    }
}

async fn commit(world: &World, build: impl FnOnce(&mut Changes)) -> Result<(), Lost> {
    let mut changes = Changes::new();
    build(&mut changes);
    world.ledger.commit(&world.ns, &changes).await.unwrap()
}

fn started(n: usize) -> Vec<Frame> {
    (0..n).map(|n| Frame::RunStarted { run_id: run(&format!("r{n}")).id }).collect()
}

#[tokio::test]
async fn a_coordination_id_is_claimed_once_and_replaced_only_as_it_was_seen() {
    let world = World::new();
    let first = coordination("o", 1);
    let mut token = None;
    commit(&world, |changes| token = Some(changes.create_coordination(&first))).await.unwrap();
    let (read, seen) = world.ledger.coordination(&world.ns, &first.id).await.unwrap().unwrap();
    assert_eq!((&read, Some(&seen)), (&first, token.as_ref()), "the token is known before the commit");
    let lost = commit(&world, |changes| drop(changes.create_coordination(&first))).await;
    assert_eq!(lost, Err(Lost::CoordinationExists(first.id.clone())));

    let later =
        Coordination { state: State::Ended(End { outcome: Outcome::Stopped, undelivered: None }), ..first.clone() };
    commit(&world, |changes| drop(changes.replace_coordination(&later, &seen))).await.unwrap();
    let lost = commit(&world, |changes| drop(changes.replace_coordination(&first, &seen))).await;
    assert_eq!(lost, Err(Lost::CoordinationChanged(first.id.clone())));
    assert_eq!(world.ledger.coordination(&world.ns, &first.id).await.unwrap().unwrap().0, later);
    assert_eq!(world.ledger.coordination(&world.ns, &CoordinationId::new("p")).await.unwrap(), None);
}

#[tokio::test]
async fn coordinations_are_listed_by_id_and_journals_do_not_get_between() {
    let world = World::new();
    for id in ["b", "a", "a.1"] {
        commit(&world, |changes| {
            changes.create_coordination(&coordination(id, 1));
            changes.journal(&CoordinationId::new(id), 1, &started(2));
        })
        .await
        .unwrap();
    }
    let ids = |found: Vec<Coordination>| found.iter().map(|one| one.id.to_string()).collect::<Vec<_>>();
    let first = world.ledger.coordinations(&world.ns, None, 2).await.unwrap();
    let last = world.ledger.coordinations(&world.ns, Some(&first[1].id), 2).await.unwrap();
    assert_eq!((ids(first), ids(last)), (vec!["a".to_owned(), "a.1".to_owned()], vec!["b".to_owned()]));
    let frames = world.ledger.journal(&world.ns, &CoordinationId::new("a"), 0, 10).await.unwrap();
    assert_eq!(frames.len(), 2, "those of `a.1` are another's");
}

#[tokio::test]
async fn a_journal_goes_on_after_any_number_and_over_jumps() {
    let world = World::new();
    let id = CoordinationId::new("o");
    // Frames 1 to 3, 4 alone, and after a jump 300 and 301: their keys differ in two bytes.
    for (first, count) in [(1, 3), (4, 1), (300, 2)] {
        commit(&world, |changes| changes.journal(&id, first, &started(count))).await.unwrap();
    }
    for neighbour in ["n", "o.1", "p"] {
        commit(&world, |changes| changes.journal(&CoordinationId::new(neighbour), 1, &started(9))).await.unwrap();
    }
    let after = async |number, pages| {
        let frames = world.ledger.journal(&world.ns, &id, number, pages).await.unwrap();
        frames.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    let all = [1, 2, 3, 4, 300, 301];
    for number in [0, 1, 2, 3, 4, 5, 299, 300, 301, 302, u64::MAX] {
        let expected: Vec<u64> = all.into_iter().filter(|frame| *frame > number).collect();
        assert_eq!(after(number, 10).await, expected, "after {number}");
    }
    assert_eq!(after(1, 1).await, [2, 3]);
    assert_eq!(after(1, 2).await, [2, 3, 4]);
    assert_eq!(after(3, 1).await, [4]);
    assert_eq!(after(4, 1).await, [300, 301]);
    assert_eq!(after(4, 0).await, [0; 0]);
    let frames = world.ledger.journal(&world.ns, &id, 1, 1).await.unwrap();
    assert_eq!(frames, (1..).zip(started(3)).skip(1).collect::<Vec<_>>());
}

#[tokio::test]
async fn frames_are_journalled_once_and_none_are_no_page() {
    let world = World::new();
    let id = CoordinationId::new("o");
    commit(&world, |changes| changes.journal(&id, 1, &started(1))).await.unwrap();
    let lost = commit(&world, |changes| changes.journal(&id, 1, &started(1))).await;
    assert_eq!(lost, Err(Lost::CoordinationChanged(id.clone())));
    let before = world.store.dump(&world.ns);
    commit(&world, |changes| changes.journal(&id, 2, &[])).await.unwrap();
    assert_eq!(world.store.dump(&world.ns), before);
}

#[tokio::test]
async fn messages_and_plans_are_kept_once_under_their_hash_with_large_media_apart() {
    let world = World::new();
    let (large, plan) = (result("large", 5000), plan());
    let mut hashes = None;
    commit(&world, |changes| {
        let message = changes.keep_message(&world.ns, &large);
        assert_eq!(changes.keep_message(&world.ns, &large), message, "equal messages have equal hashes");
        hashes = Some((message, changes.keep_plan(&world.ns, &plan), changes.keep_part(&world.ns, "x".into())));
    })
    .await
    .unwrap();
    let (message, planned, part) = hashes.unwrap();
    assert_eq!(world.ledger.message(&world.ns, message).await.unwrap(), large);
    assert_eq!(world.ledger.plan(&world.ns, planned).await.unwrap(), plan);
    assert_eq!(world.ledger.part(&world.ns, part).await.unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(world.ledger.part(&world.ns, Hash([0; 32])).await.unwrap(), None);

    let before = world.store.dump(&world.ns);
    let of = |kind: Record| before.keys().filter(|key| key[0] == kind.letter()).count();
    assert_eq!((of(Record::Part), of(Record::ToolSet)), (4, 2));
    commit(&world, |changes| {
        changes.keep_message(&world.ns, &large);
    })
    .await
    .unwrap();
    // An exchange that says what the result showed shares its bytes.
    let shown = world.saying(world.exchange(None, "").id, None, vec![large.clone()]);
    world.append(std::slice::from_ref(&shown), None).await;
    let parts = world.store.dump(&world.ns).keys().filter(|key| key[0] == Record::Part.letter()).count();
    assert_eq!(parts, 4);
}

#[tokio::test]
async fn content_that_is_missing_or_no_message_is_said_and_content_of_another_namespace_is_not_stored() {
    let world = World::new();
    let missing = world.ledger.message(&world.ns, Hash([5; 32])).await;
    assert!(matches!(missing, Err(Error::Corrupt(message)) if message.contains("missing")));
    let mut noise = None;
    commit(&world, |changes| noise = Some(changes.keep_part(&world.ns, vec![0xff; 9].into()))).await.unwrap();
    let noise = world.ledger.message(&world.ns, noise.unwrap()).await;
    assert!(matches!(noise, Err(Error::Corrupt(message)) if message.contains("not in the form")));

    let mut changes = Changes::new();
    changes.keep_message(&Namespace::new("other"), &result("secret", 0));
    let before = world.store.dump(&world.ns);
    let refused = world.ledger.commit(&world.ns, &changes).await;
    assert!(matches!(refused, Err(Error::Corrupt(message)) if !message.contains("secret")));
    assert_eq!(world.store.dump(&world.ns), before);
}
