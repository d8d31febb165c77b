//! History from before runs had ids, as an older version or an import leaves it: it can be gone on from, forked by exchange and by turn, and
//! its workspace is empty.

use antiphon::domain::content::Hasher;
use antiphon::domain::drift::Lineage;
use antiphon::domain::exchange::{Exchange, HeadBefore, Origin, Responder};
use antiphon::domain::fault::Reason;
use antiphon::domain::id::{ExchangeId, Hash, Moment, Namespace};
use antiphon::domain::message::{Message, Part, Role};
use antiphon::domain::run::StopReason;
use antiphon::domain::settings::Validation;
use antiphon::domain::usage::Usage;
use antiphon::domain::workspace::Around;
use antiphon::grpc::pb;
use antiphon::store::sled::{Config, Sled};
use antiphon::store::{Changes, Ledger};
use std::sync::Arc;
use tonic::Code;

use crate::look;
use crate::support::documents::{after_turn, all, exchange, live, put, these, went_on, wrote};
use crate::support::server::Running;
use crate::support::{ask, refused};

fn said(role: Role, text: &str) -> Message {
    Message { role, parts: vec![Part::text(text)] }
}

fn old(namespace: &Namespace, parent: Option<&Exchange>, number: u64) -> Exchange {
    let messages = vec![said(Role::User, &format!("old q{number}"))];
    let assistant = said(Role::Assistant, &format!("old a{number}"));
    let hash = parent.map(|parent| &parent.content_hash);
    let content_hash: Hash = Hasher::new(namespace).exchange(hash, &[], &messages, &assistant);
    Exchange {
        id: ExchangeId::from_bytes([number as u8; 16]),
        parent: parent.map(|parent| parent.id),
        continues: parent.map(|parent| parent.id),
        continues_run: None,
        run_id: None,
        depth: number,
        turn: number,
        thread_id: None,
        origin: Origin::Imported,
        messages,
        assistant,
        stop_reason: StopReason::Stop,
        stop_reason_raw: String::new(),
        offered: None,
        standing: None,
        lineage: Lineage::Unknown,
        settings: Vec::new(),
        validation: Validation::default(),
        usage: Usage::default(),
        observations: Vec::new(),
        warnings: Vec::new(),
        responder: Responder::default(),
        content_hash,
        labels: Default::default(),
        created_at: Moment(1),
        workspace: Around::default(),
        head_before: HeadBefore::Untold,
        erased: None,
    }
}

/// A server whose store has two exchanges without run ids. Gives the ids.
async fn with_old_history() -> (Running, [String; 2]) {
    let mut server = Running::echo().await;
    server.stop().await;
    let namespace = Namespace::new("default");
    let first = old(&namespace, None, 1);
    let second = old(&namespace, Some(&first), 2);
    let ids = [first.id.to_string(), second.id.to_string()];
    let ledger = Ledger::new(Arc::new(Sled::open(&Config::directory(server.folder().join("data"))).unwrap()));
    let mut changes = Changes::new();
    changes.append(vec![first, second], None);
    ledger.commit(&namespace, &changes).await.unwrap().unwrap();
    ledger.store().close().await.unwrap();
    drop(ledger);
    (server.restart().await, ids)
}

fn by_run(thread: &str, run_id: &str, new: &str) -> pb::ForkRequest {
    let after = pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: run_id.into() });
    pb::ForkRequest {
        source: Some(pb::fork_request::Source::Thread(pb::ThreadTurnPoint {
            thread_id: thread.into(),
            at: Some(after),
        })),
        branches: vec![ask::branch(new, None)],
        ..Default::default()
    }
}

/// S3-33, S3-34, S3-35, S3-36: a thread that has only such history cannot be forked by run; one turn makes it so, and the older
/// history comes along. By turn and by exchange it can be from the start.
#[tokio::test(flavor = "multi_thread")]
async fn history_without_run_ids_is_a_prefix_like_any_other() {
    let (server, [first, second]) = with_old_history().await;
    let new = pb::NewThread { thread_id: "t".into(), ..Default::default() };
    let create =
        pb::ThreadServiceCreateRequest { thread: Some(new), head: Some(ask::point(&second)), ..Default::default() };
    server.threads().create(create).await.unwrap();
    let mut client = server.exchanges();
    for run in ["some-run", "t-1"] {
        let refusal = client.fork(by_run("t", run, "f")).await.unwrap_err();
        refused::is(&refusal, Code::FailedPrecondition, Reason::NoRunIds);
        assert_eq!(refused::fact(&refusal, "head_exchange_id"), second);
    }
    let by_turn = crate::support::documents::forked(&server, "t", Some(1), "by-turn").await;
    assert_eq!((&by_turn.head_exchange_id, by_turn.turn_count), (&first, 1));
    went_on(&server, "by-turn", "sibling").await;
    let next = went_on(&server, "t", "new-run").await;
    assert_eq!(look::history(&server, &next.exchange_id).await.len(), 6);
    client.fork(by_run("t", "new-run", "by-run")).await.unwrap();
    let forked = look::thread(&server, "by-run").await;
    assert_eq!((&forked.head_exchange_id, forked.turn_count), (&next.exchange_id, 3));
    let unknown = client.fork(by_run("t", "some-run", "f")).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::RunNotFound);
    look::verified(&server).await;
}

/// Exchanges from before there were workspaces have none, and a thread that begins at them begins with none.
#[tokio::test(flavor = "multi_thread")]
async fn old_history_has_an_empty_workspace() {
    let (server, [first, second]) = with_old_history().await;
    assert_eq!(all(&server, exchange(&second)).await, these([]));
    let fork = ask::fork(&second, vec![ask::branch("t", None)]);
    server.exchanges().fork(fork).await.unwrap();
    wrote(&server, "t", vec![put("a", "1")]).await;
    assert_eq!(all(&server, live("t")).await, these([("a", "1")]));
    assert_eq!(all(&server, after_turn("t", 1)).await, these([]));
    let restore = pb::RestoreRequest { thread_id: "t".into(), to: Some(ask::point(&first)), ..Default::default() };
    server.threads().restore(restore).await.unwrap();
    assert_eq!(all(&server, live("t")).await, these([]));
}
