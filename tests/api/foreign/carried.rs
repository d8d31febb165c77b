//! What could lead from one namespace into another: page tokens, the moments of exports, and the lines of exports. Each is of its own namespace alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::{asks, method, told};
use crate::access::{Keys, config};
use crate::support::clock::{Set, Stamped};
use crate::support::coordinate::{Loop, start, stop};
use crate::support::server::{Running, Sources};
use crate::support::{ask, documents, raw, refused, within};

type Headers<'a> = [(&'static str, &'a str)];

/// The lines of an export of all that a caller has, and the moment that it is of.
pub(super) async fn exported(server: &Running, headers: &Headers<'_>) -> (String, String) {
    use pb::export_response::Event;
    let rpc = "AdminService/Export";
    let answers = raw::call(server.fresh_channel(), rpc, vec![Vec::new()], headers).await.unwrap();
    let (mut lines, mut snapshot) = (String::new(), String::new());
    for answer in answers {
        match pb::ExportResponse::decode(answer.as_slice()).unwrap().event.unwrap() {
            Event::Started(started) => snapshot = started.snapshot_id,
            Event::Chunk(chunk) => lines.push_str(&chunk.lines_json),
            Event::Completed(_) => {}
        }
    }
    (lines, snapshot)
}

/// Imports lines as a caller; gives what was told at the end, and all of it.
async fn imported(
    server: &Running,
    headers: &Headers<'_>,
    lines: &str,
    dry_run: bool,
) -> Result<(pb::ImportSummary, String), Status> {
    use pb::import_request::Part;
    let parts = [
        Part::Open(pb::ImportOpen { dry_run, ..Default::default() }),
        Part::Chunk(pb::TransferChunk { lines_json: lines.to_owned(), first_line: 1 }),
        Part::Commit(pb::ImportCommit::default()),
    ];
    let parts = parts.map(|part| pb::ImportRequest { part: Some(part) }.encode_to_vec()).into();
    let answers = within("an import", raw::call(server.fresh_channel(), "AdminService/Import", parts, headers)).await?;
    let answers: Vec<_> = answers.iter().map(|one| pb::ImportResponse::decode(one.as_slice()).unwrap()).collect();
    let summary = match answers.last().unwrap().event.clone().unwrap() {
        pb::import_response::Event::Completed(summary) => summary,
        other => panic!("the last event is `completed`: {other:?}"),
    };
    Ok((summary, format!("{answers:?}")))
}

/// A caller that makes things.
struct Maker<'a> {
    server: &'a Running,
    headers: [(&'static str, &'a str); 1],
}

impl Maker<'_> {
    async fn call<T: prost::Message + Default>(&self, rpc: &str, request: &impl prost::Message) -> T {
        let answers = raw::call(self.server.fresh_channel(), rpc, vec![request.encode_to_vec()], &self.headers).await;
        let last = answers.unwrap_or_else(|status| panic!("{rpc}: {status:?}")).pop().unwrap();
        T::decode(last.as_slice()).unwrap()
    }

    /// A turn on the thread `t`, with a version of the tool `look`; its exchange.
    async fn turn(&self, number: u32) -> String {
        let tool =
            pb::Tool { input_schema_json: format!(r#"{{"type":"object","title":"v{number}"}}"#), ..ask::tool("look") };
        let request = pb::ExecutionRequest {
            tools: Some(pb::ToolList { tools: vec![tool] }),
            ..ask::text_as(&format!("r{number}"), &format!("secret {number}"))
        };
        let exchange = if number == 1 {
            let capture = ask::capture_on_new("t", request);
            self.call::<pb::CaptureResponse>("ExchangeService/Capture", &capture).await.exchange
        } else {
            let next = ask::on_thread(ask::on("t"), request);
            self.call::<pb::ContinueResponse>("ExchangeService/Continue", &next).await.exchange
        };
        exchange.unwrap().exchange_id
    }

    async fn put(&self, name: &str) -> String {
        let write = documents::write("t", vec![documents::put(name, "secret")]);
        let wrote: pb::WriteDocumentsResponse = self.call("WorkspaceService/WriteDocuments", &write).await;
        wrote.version.unwrap().workspace_root
    }

    async fn restore(&self, exchange_id: &str) {
        let to = Some(ask::point(exchange_id));
        let request = pb::RestoreRequest { thread_id: "t".into(), to, ..Default::default() };
        self.call::<pb::RestoreResponse>("ThreadService/Restore", &request).await;
    }

    async fn branch(&self, exchange_id: &str, thread: &str) -> String {
        let fork = ask::fork(exchange_id, vec![ask::branch(thread, Some(ask::text("secret beside")))]);
        let forked: pb::ForkResponse = self.call("ExchangeService/Fork", &fork).await;
        forked.results[0].exchange.clone().unwrap().exchange_id
    }

    async fn keep(&self, exchange_id: &str, pin_id: &str) {
        let target = super::target(exchange_id);
        let pin = pb::CreatePinRequest { target: target.clone(), pin_id: pin_id.into(), ..Default::default() };
        self.call::<pb::CreatePinResponse>("AdminService/CreatePin", &pin).await;
        let expire_time = Some(prost_types::Timestamp { seconds: 4_000_000_000, nanos: 0 });
        let at = pb::set_expiry_request::When::At(pb::ExpireAt { expire_time });
        let expiry = pb::SetExpiryRequest { target, when: Some(at), ..Default::default() };
        self.call::<pb::SetExpiryResponse>("AdminService/SetExpiry", &expiry).await;
    }

    async fn coordinate(&self, exchange_id: &str, id: &str) {
        let begin = pb::CoordinationStart { coordination_id: id.into(), ..start(exchange_id, 3) };
        let begin = pb::coordinate_request::Frame::Start(begin);
        let mut talk = Loop::on_with(self.server.fresh_channel(), &self.headers, begin).await;
        talk.decision().await;
        talk.act(stop()).await;
        talk.ended().await;
    }

    async fn head(&self, thread: &str) -> String {
        let request = pb::ThreadServiceGetRequest { thread_id: thread.into() };
        let got: pb::ThreadServiceGetResponse = self.call("ThreadService/Get", &request).await;
        got.thread.unwrap().head_exchange_id
    }
}

/// More than one of everything that is listed; every list with the request for its first page.
async fn furnished(maker: &Maker<'_>) -> Vec<(&'static str, Value)> {
    let mut turns = Vec::new();
    let mut roots = Vec::new();
    for number in 1..=3 {
        turns.push(maker.turn(number).await);
        roots.push(maker.put(&format!("d{number}")).await);
    }
    maker.restore(&turns[0]).await;
    maker.restore(&turns[2]).await;
    let side = maker.branch(&turns[0], "side").await;
    maker.branch(&turns[0], "other").await;
    maker.keep(&turns[0], "p1").await;
    maker.keep(&turns[1], "p2").await;
    maker.coordinate(&turns[0], "c1").await;
    maker.coordinate(&turns[0], "c2").await;
    let subtree = json!({"subtree": {"exchangeId": turns[0]}});
    let (first, last) = (json!({"exchangeId": turns[0]}), json!({"exchangeId": turns[2]}));
    let root = |name: &String| json!({"root": {"workspaceRoot": name}});
    vec![
        ("AdminService/ListPins", json!({})),
        ("AdminService/ListExpiries", json!({})),
        ("CatalogService/ListPrompts", json!({})),
        ("CatalogService/ListProfiles", json!({})),
        ("CatalogService/ListBackends", json!({})),
        ("CatalogService/ListContracts", json!({})),
        ("CoordinationService/List", json!({})),
        ("ExchangeService/Inspect", last.clone()),
        ("GraphService/ListChildren", first.clone()),
        ("GraphService/ListAncestors", last.clone()),
        ("GraphService/Diff", json!({"left": last, "right": {"exchangeId": side}})),
        ("GraphService/GetGraph", json!({"scope": subtree})),
        ("GraphService/Search", json!({"text": "secret"})),
        ("RunService/List", json!({})),
        ("ThreadService/List", json!({})),
        ("ThreadService/ListTurns", json!({"threadId": "t"})),
        ("ThreadService/ListMoves", json!({"threadId": "t"})),
        ("ToolService/ListToolOccurrences", json!({"name": "look"})),
        ("ToolService/ListToolDrifts", json!({"scope": subtree})),
        ("WorkspaceService/ListDocuments", json!({"at": root(&roots[2])})),
        ("WorkspaceService/DiffDocuments", json!({"left": root(&roots[0]), "right": root(&roots[2])})),
    ]
}

/// One page of a list, and its token.
async fn page(
    server: &Running,
    method: &MethodDescriptor,
    request: &Value,
    token: &str,
    headers: &Headers<'_>,
) -> Result<(Vec<Vec<u8>>, String), Status> {
    let mut request = request.clone();
    request["pageSize"] = 1.into();
    request["pageToken"] = token.into();
    let rpc = format!("{}/{}", method.parent_service().name(), method.name());
    let message = DynamicMessage::deserialize(method.input(), request).unwrap().encode_to_vec();
    let answers = within(&rpc, raw::call(server.fresh_channel(), &rpc, vec![message], headers)).await?;
    let answer = DynamicMessage::decode(method.output(), answers[0].as_slice()).unwrap();
    let token = answer.get_field_by_name("next_page_token").unwrap().as_str().unwrap().to_owned();
    Ok((answers, token))
}

/// A token of somebody else's list is nothing but a token that makes no sense, also where both have things of the same names.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_token_is_of_its_namespace_alone() {
    let mut keys = Keys::default();
    let (a, b) = (keys.make("a", &["read", "write", "admin"]), keys.make("b", &["read", "write", "admin"]));
    let more = "[profiles.second]\nbackend = \"other\"\nmodel = \"m\"\n[backends.other]\nkind = \"scripted\"\n";
    let configuration = format!("prompts_dir = \"prompts\"\n{}", config(more));
    let server = Running::start_beside(configuration, |folder| {
        keys.write(folder);
        std::fs::create_dir(folder.join("prompts")).unwrap();
        for id in ["one", "two"] {
            let text = format!("---\nid: {id}\ndescription: d\n---\nuser:\nhi\n");
            std::fs::write(folder.join(format!("prompts/{id}.prompt")), text).unwrap();
        }
    })
    .await;
    let (as_a, as_b) = ([("authorization", a.as_str())], [("authorization", b.as_str())]);
    let of_a = furnished(&Maker { server: &server, headers: as_a }).await;
    let of_b = furnished(&Maker { server: &server, headers: as_b }).await;

    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    let has_pages = |rpc: &str| method(&pool, rpc).input().get_field_by_name("page_token").is_some();
    let paged: BTreeSet<&str> = asks().into_iter().map(|(rpc, _)| rpc).filter(|rpc| has_pages(rpc)).collect();
    assert_eq!(of_a.iter().map(|(rpc, _)| *rpc).collect::<BTreeSet<_>>(), paged, "every list is asked");
    for ((rpc, theirs), (_, own)) in of_a.into_iter().zip(of_b) {
        let method = method(&pool, rpc);
        let mut tokens = Vec::new();
        for (request, headers) in [(&theirs, &as_a), (&own, &as_b)] {
            let (_, token) = page(&server, &method, request, "", headers).await.expect(rpc);
            assert!(!token.is_empty(), "{rpc} has another page");
            assert!(page(&server, &method, request, &token, headers).await.is_ok(), "{rpc} goes on");
            tokens.push(token);
        }
        let token = tokens.remove(0);
        let digit = if token.ends_with('0') { '1' } else { '0' };
        let garbage = format!("{}{digit}", &token[..token.len() - 1]);
        for request in [&own, &theirs] {
            let foreign = page(&server, &method, request, &token, &as_b).await;
            let damaged = page(&server, &method, request, &garbage, &as_b).await;
            if *request == own {
                refused::is(foreign.as_ref().expect_err(rpc), Code::InvalidArgument, Reason::PageTokenInvalid);
            }
            let [foreign, damaged] =
                [foreign, damaged].map(|answer| told(&method, answer.map(|(pages, _)| pages), &[]));
            assert_eq!(foreign, damaged, "{rpc}");
        }
    }
}

/// The moment of an export that can go on is for nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_goes_on_for_its_namespace_alone() {
    let mut keys = Keys::default();
    let (a, b) = (keys.make("a", &["read", "write", "admin"]), keys.make("b", &["read", "write", "admin"]));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let (as_a, as_b) = ([("authorization", a.as_str())], [("authorization", b.as_str())]);
    Maker { server: &server, headers: as_a }.turn(1).await;
    let (lines, snapshot_id) = exported(&server, &as_a).await;
    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    let method = method(&pool, "AdminService/Export");
    let ask = async |snapshot_id: &str, after_line: u64, headers: &Headers<'_>| {
        let request = pb::ExportRequest { snapshot_id: snapshot_id.into(), after_line, ..Default::default() };
        let answer = raw::call(server.fresh_channel(), "AdminService/Export", vec![request.encode_to_vec()], headers);
        told(&method, answer.await, &[])
    };
    for after_line in [0, 1] {
        let foreign = ask(&snapshot_id, after_line, &as_b).await;
        let never = ask("01900000-0000-7000-8000-000000000000", after_line, &as_b).await;
        assert_eq!(foreign, never);
        assert!(foreign.contains("snapshot_id") && !foreign.contains("secret"), "{foreign}");
    }
    // It was there all the while.
    let own = ask(&snapshot_id, 1, &as_a).await;
    assert!(lines.contains("secret 1") && own.contains("secret 1"), "{own}");
}

/// The content of an export, without what says when it was made.
fn content(lines: &str) -> Vec<String> {
    let frame = ["antiphon_export", "namespace", "end"].map(|kind| format!("{{\"kind\":\"{kind}\""));
    let is_content = |line: &&str| !frame.iter().any(|kind| line.starts_with(kind));
    lines.lines().filter(is_content).map(str::to_owned).collect()
}

/// Lines say which namespace they are of. Into another they do not come; and those that come there meet nothing of the first, though they are of the very
/// same ids: neither what it has of them, nor what it made or erased since.
#[tokio::test(flavor = "multi_thread")]
async fn lines_come_into_the_namespace_of_their_sender_alone() {
    let mut keys = Keys::default();
    let (a, b) = (keys.make("a", &["read", "write", "admin"]), keys.make("b", &["read", "write", "admin"]));
    let (as_a, as_b) = ([("authorization", a.as_str())], [("authorization", b.as_str())]);
    // The same is done on two servers whose ids are counted: by A on one and by B on the other.
    let start = async || {
        let clock = Arc::new(Set(AtomicU64::new(1_800_000_000_000)));
        let sources = Sources { ids: Arc::new(Stamped::by(clock.clone())), clock };
        Running::start_beside_with(config(""), sources, |folder| keys.write(folder)).await
    };
    let (here, elsewhere) = (start().await, start().await);
    let mut exports = Vec::new();
    let mut ids = Vec::new();
    for (server, headers) in [(&here, as_a), (&elsewhere, as_b)] {
        let maker = Maker { server, headers };
        let first = maker.turn(1).await;
        maker.put("d").await;
        ids.push([first, maker.turn(2).await]);
        exports.push(exported(server, &headers).await.0);
    }
    assert_eq!(ids[0], ids[1], "the ids are the same");
    let [of_a, of_b] = [&exports[0], &exports[1]];
    // A goes on and erases meanwhile.
    let owner = Maker { server: &here, headers: as_a };
    let later = owner.turn(3).await;
    let erase = pb::EraseRequest {
        target: super::target(&ids[0][0]),
        mode: pb::EraseMode::Tombstone.into(),
        note: "known to a".into(),
        ..Default::default()
    };
    owner.call::<pb::EraseResponse>("AdminService/Erase", &erase).await;
    let before = content(&exported(&here, &as_a).await.0);

    // Lines of A, sent by B: nothing of them is stored.
    let status = imported(&here, &as_b, of_a, false).await.unwrap_err();
    refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fact(&status, "problem"), "foreign_namespace");
    assert_eq!(content(&exported(&here, &as_b).await.0), Vec::<String>::new());
    // Lines of B.
    let tried = imported(&here, &as_b, of_b, true).await.unwrap();
    let done = imported(&here, &as_b, of_b, false).await.unwrap();
    assert_eq!(tried.0.stored, done.0.stored);
    for (summary, told) in [tried, done] {
        assert!(summary.stored.iter().any(|record| record.kind == "exchange" && record.count == 2), "{summary:?}");
        assert_eq!((&summary.matched, &summary.erased), (&vec![], &vec![]), "nothing is known of it here");
        assert!(!told.contains(&later) && !told.contains("known to a") && !told.contains("r3"), "{told}");
    }
    assert_eq!(content(&exported(&here, &as_b).await.0), content(of_b));
    assert_eq!(content(&exported(&here, &as_a).await.0), before);
    // What B does with it is its own.
    let sender = Maker { server: &here, headers: as_b };
    assert_eq!([sender.head("t").await, owner.head("t").await], [ids[0][1].clone(), later]);
    sender.turn(4).await;
    let delete = pb::ThreadServiceDeleteRequest { thread_id: "t".into(), ..Default::default() };
    sender.call::<pb::ThreadServiceDeleteResponse>("ThreadService/Delete", &delete).await;
    assert_eq!(content(&exported(&here, &as_a).await.0), before);
}
