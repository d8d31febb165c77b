//! Namespaces: to whoever has no credential for it, what is in one is as if it had never been. Every RPC of the API is asked for the things of
//! another namespace and for things that there never were, and must answer both alike. `ANTIPHON_TIMINGS=200` measures how long both take as well,
//! in turn, and prints the medians (with `--nocapture`); nothing depends on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use antiphon::grpc::pb;
use pb::set_expiry_request;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::{Value, json};
use tonic::Status;

use crate::access::{Keys, config};
use crate::support::coordinate::{Loop, start, stop};
use crate::support::server::Running;
use crate::support::{ask, documents, raw, within};

mod carried;

/// What one namespace has, by what it is; and what there never was, of the same form.
pub(crate) struct Thing {
    word: &'static str,
    there: String,
    never: String,
}

/// Words that stand for the things in a request.
const WORDS: [&str; 9] = ["EXCHANGE", "RUN", "THREAD", "COORDINATION", "PREPARED", "TOOLSET", "ROOT", "PIN", "RECEIPT"];

/// Every RPC that takes the id of something, with requests that have words in place of ids. The second list is of those that take none: what
/// they tell is of the caller's own namespace.
pub(crate) fn asks() -> Vec<(&'static str, Vec<Value>)> {
    let text = json!({"text": "hi"});
    let thread_point = json!({"threadId": "THREAD"});
    let exchange_point = json!({"exchangeId": "EXCHANGE"});
    let scopes = || {
        [
            json!({"path": {"exchangeId": "EXCHANGE"}}),
            json!({"subtree": {"exchangeId": "EXCHANGE"}}),
            json!({"threadPath": {"threadId": "THREAD"}}),
            json!({"threadTree": {"threadId": "THREAD"}}),
        ]
    };
    let scoped = |more: Value| {
        let with = |scope: Value| {
            let mut request = more.clone();
            request["scope"] = scope;
            request
        };
        scopes().into_iter().map(with).collect::<Vec<_>>()
    };
    let targets = || {
        [
            json!({"exchange": exchange_point}),
            json!({"thread": {"threadId": "THREAD"}}),
            json!({"run": {"runId": "RUN"}}),
            json!({"subtree": {"exchangeId": "EXCHANGE"}}),
        ]
    };
    let targeted = |more: Value| {
        let with = |target: Value| {
            let mut request = more.clone();
            request["target"] = target;
            request
        };
        targets().into_iter().map(with).collect::<Vec<_>>()
    };
    let points = || {
        [
            json!({"thread": {"threadId": "THREAD"}}),
            json!({"thread": {"threadId": "THREAD", "afterTurn": {"turn": 1}}}),
            json!({"thread": {"threadId": "THREAD", "afterRun": {"runId": "RUN"}}}),
            json!({"exchange": {"exchangeId": "EXCHANGE"}}),
            json!({"root": {"workspaceRoot": "ROOT"}}),
        ]
    };
    let at = |more: Value| {
        let with = |point: Value| {
            let mut request = more.clone();
            request["at"] = point;
            request
        };
        points().into_iter().map(with).collect::<Vec<_>>()
    };
    let continuing = || {
        vec![
            json!({"exchange": exchange_point, "request": text}),
            json!({"thread": thread_point, "request": text}),
            json!({"thread": thread_point, "toolResults": {"results": [{"callId": "c", "parts": [{"text": {"text": "x"}}]}]}}),
        ]
    };
    let capturing = || {
        vec![
            json!({"request": text, "existingThread": thread_point}),
            json!({"prepared": {"preparedId": "PREPARED", "runId": "own"}}),
        ]
    };
    let probing = || {
        vec![
            json!({"exchange": exchange_point, "request": text}),
            json!({"thread": {"threadId": "THREAD"}, "request": text}),
        ]
    };
    let inside = |name: &str, all: Vec<Value>| all.into_iter().map(|one| json!({name: one})).collect::<Vec<_>>();
    vec![
        ("ExchangeService/Run", vec![json!({"prepared": {"preparedId": "PREPARED", "runId": "own"}})]),
        ("ExchangeService/Capture", capturing()),
        ("ExchangeService/StreamCapture", inside("capture", capturing())),
        (
            "ExchangeService/Record",
            vec![
                json!({"afterExchange": exchange_point, "messages": [{"role": "ROLE_USER", "parts": [{"text": {"text": "x"}}]}]}),
                json!({"existingThread": thread_point, "messages": [{"role": "ROLE_USER", "parts": [{"text": {"text": "x"}}]}]}),
            ],
        ),
        ("ExchangeService/Continue", continuing()),
        ("ExchangeService/StreamContinue", inside("turn", continuing())),
        (
            "ExchangeService/Prepare",
            vec![
                json!({"request": text, "exchange": exchange_point}),
                json!({"request": text, "thread": thread_point}),
            ],
        ),
        (
            "ExchangeService/Explain",
            [vec![json!({"exchange": exchange_point})], inside("turn", continuing()[..2].to_vec())].concat(),
        ),
        (
            "ExchangeService/Fork",
            vec![
                json!({"exchange": exchange_point, "branches": [{}]}),
                json!({"thread": {"threadId": "THREAD"}, "branches": [{}]}),
                json!({"thread": {"threadId": "THREAD", "afterRun": {"runId": "RUN"}}, "branches": [{}]}),
            ],
        ),
        ("ExchangeService/Probe", probing()),
        ("ExchangeService/StreamProbe", inside("probe", probing())),
        (
            "ExchangeService/Coordinate",
            vec![
                json!({"start": {"exchange": exchange_point, "additionalTurns": 1}}),
                json!({"start": {"thread": thread_point, "additionalTurns": 1}}),
                json!({"attach": {"coordinationId": "COORDINATION"}}),
            ],
        ),
        ("ExchangeService/Inspect", vec![json!({"exchangeId": "EXCHANGE"})]),
        ("ExchangeService/StreamInspect", vec![json!({"exchangeId": "EXCHANGE"})]),
        ("ThreadService/Create", vec![json!({"thread": {"threadId": "own"}, "head": exchange_point})]),
        ("ThreadService/List", vec![json!({})]),
        ("ThreadService/Get", vec![json!({"threadId": "THREAD"})]),
        ("ThreadService/Update", vec![json!({"threadId": "THREAD", "updateMask": "name", "thread": {"name": "x"}})]),
        ("ThreadService/Delete", vec![json!({"threadId": "THREAD"})]),
        ("ThreadService/ListTurns", vec![json!({"threadId": "THREAD"})]),
        ("ThreadService/Restore", vec![json!({"threadId": "THREAD", "to": exchange_point})]),
        ("ThreadService/ListMoves", vec![json!({"threadId": "THREAD"})]),
        ("RunService/Get", vec![json!({"runId": "RUN"})]),
        ("RunService/Cancel", vec![json!({"runId": "RUN"})]),
        ("RunService/Watch", vec![json!({"runId": "RUN"})]),
        ("RunService/List", vec![json!({}), json!({"threadId": "THREAD"})]),
        ("CoordinationService/Get", vec![json!({"coordinationId": "COORDINATION"})]),
        ("CoordinationService/List", vec![json!({}), json!({"threadId": "THREAD"})]),
        ("CoordinationService/Cancel", vec![json!({"coordinationId": "COORDINATION"})]),
        (
            "CoordinationService/Answer",
            vec![json!({"coordinationId": "COORDINATION", "nextAction": {"decisionId": "d", "stop": {}}})],
        ),
        ("GraphService/ListChildren", vec![json!({"exchangeId": "EXCHANGE"})]),
        ("GraphService/ListAncestors", vec![json!({"exchangeId": "EXCHANGE"})]),
        ("GraphService/GetCommonAncestor", vec![json!({"exchanges": [exchange_point, exchange_point]})]),
        ("GraphService/Diff", vec![json!({"left": exchange_point, "right": exchange_point})]),
        ("GraphService/GetGraph", scoped(json!({}))),
        ("GraphService/Search", [vec![json!({}), json!({"text": "secret-of-a"})], scoped(json!({}))].concat()),
        (
            "GraphService/SumUsage",
            vec![
                json!({"scopes": [{"runSet": {"runIds": ["RUN"]}}]}),
                json!({"scopes": [{"exchangeSet": {"exchangeIds": ["EXCHANGE"]}}]}),
                json!({"scopes": [{"graph": {"threadTree": {"threadId": "THREAD"}}}]}),
                json!({"scopes": [{"labelSet": {"labels": {"team": "a"}}}]}),
            ],
        ),
        ("ToolService/GetCallTools", vec![json!({"exchangeId": "EXCHANGE"})]),
        ("ToolService/GetToolSet", vec![json!({"toolSetId": "TOOLSET"})]),
        ("ToolService/ListToolOccurrences", [vec![json!({"name": "look"})], scoped(json!({"name": "look"}))].concat()),
        ("ToolService/ListToolDrifts", scoped(json!({}))),
        ("WorkspaceService/ListDocuments", at(json!({}))),
        ("WorkspaceService/ReadDocument", at(json!({"name": "d"}))),
        ("WorkspaceService/StreamReadDocument", at(json!({"name": "d"}))),
        (
            "WorkspaceService/DiffDocuments",
            points().into_iter().map(|point| json!({"left": point, "right": point})).collect(),
        ),
        (
            "WorkspaceService/WriteDocuments",
            vec![json!({"threadId": "THREAD", "edits": [{"put": {"name": "d", "data": "eA=="}}]})],
        ),
        ("WorkspaceService/StreamWriteDocument", vec![json!({"open": {"threadId": "THREAD", "name": "d"}})]),
        ("AdminService/Verify", [vec![json!({})], scoped(json!({}))].concat()),
        (
            "AdminService/Export",
            [vec![json!({})], scopes().into_iter().map(|scope| json!({"scopes": [scope]})).collect()].concat(),
        ),
        ("AdminService/Backup", vec![json!({}), json!({"allNamespaces": true})]),
        ("AdminService/Import", vec![json!({"commit": {}})]),
        ("AdminService/Erase", targeted(json!({"mode": "ERASE_MODE_TOMBSTONE", "dryRun": true}))),
        ("AdminService/GetEraseReceipt", vec![json!({"receiptId": "RECEIPT"})]),
        ("AdminService/CreatePin", targeted(json!({}))),
        ("AdminService/DeletePin", vec![json!({"pinId": "PIN"})]),
        ("AdminService/ListPins", vec![json!({})]),
        ("AdminService/SetExpiry", targeted(json!({"never": {}}))),
        ("AdminService/ListExpiries", vec![json!({})]),
        ("AdminService/CollectGarbage", vec![json!({"dryRun": true, "grace": "0s"})]),
        ("AdminService/Stats", vec![json!({})]),
        ("AdminService/Reload", vec![json!({"dryRun": true})]),
        ("AdminService/GetServerInfo", vec![json!({})]),
        ("CatalogService/ListPrompts", vec![json!({})]),
        ("CatalogService/InspectPrompt", vec![json!({"promptId": "none"})]),
        ("CatalogService/ListProfiles", vec![json!({})]),
        ("CatalogService/InspectProfile", vec![json!({"profileId": "none"})]),
        ("CatalogService/ListBackends", vec![json!({})]),
        ("CatalogService/InspectBackend", vec![json!({"backendId": "none"})]),
        ("CatalogService/ListContracts", vec![json!({})]),
        ("CatalogService/InspectContract", vec![json!({"contractId": "none"})]),
    ]
}

pub(crate) fn method(pool: &DescriptorPool, rpc: &str) -> MethodDescriptor {
    let (service, method) = rpc.split_once('/').unwrap();
    let service = pool.get_service_by_name(&format!("antiphon.v1.{service}")).unwrap();
    service.methods().find(|one| one.name() == method).unwrap_or_else(|| panic!("{rpc}"))
}

pub(crate) fn bytes(method: &MethodDescriptor, request: &Value, things: &[Thing], there: bool) -> Vec<u8> {
    let mut text = request.to_string();
    for thing in things {
        let id = if there { &thing.there } else { &thing.never };
        text = text.replace(&format!("\"{}\"", thing.word), &format!("\"{id}\""));
    }
    let mut json = serde_json::Deserializer::from_str(&text);
    DynamicMessage::deserialize(method.input(), &mut json)
        .unwrap_or_else(|e| panic!("{}: {e} in {text}", method.name()))
        .encode_to_vec()
}

/// What was answered, with ids as words, and without what is of the one call: its id, the time.
fn told(method: &MethodDescriptor, answer: Result<Vec<Vec<u8>>, Status>, things: &[Thing]) -> String {
    let mut text = match answer {
        Ok(messages) => {
            let one = |bytes: Vec<u8>| {
                let message = DynamicMessage::decode(method.output(), bytes.as_slice()).unwrap();
                let mut value = serde_json::to_value(&message).unwrap();
                forget(&mut value);
                value.to_string()
            };
            messages.into_iter().map(one).collect::<Vec<_>>().join("\n")
        }
        Err(status) => {
            use tonic_types::StatusExt;
            let info = status.get_details_error_info();
            let reason = info.as_ref().map(|info| info.reason.clone());
            let mut facts: BTreeMap<_, _> = info.map(|info| info.metadata).unwrap_or_default().into_iter().collect();
            // One that the server made for this call.
            let is_made = |id: &String| things.iter().all(|thing| *id != thing.there && *id != thing.never);
            if facts.get("run_id").is_some_and(is_made) {
                facts.remove("run_id");
            }
            let (fields, resource) = (status.get_details_bad_request(), status.get_details_resource_info());
            format!("{:?} {:?} {reason:?} {facts:?} {fields:?} {resource:?}", status.code(), status.message())
        }
    };
    for thing in things {
        text = text.replace(&thing.there, thing.word).replace(&thing.never, thing.word);
    }
    text
}

/// Takes out what no two calls have alike.
fn forget(value: &mut Value) {
    const OF_ONE_CALL: [&str; 11] = [
        "uptime",
        "time",
        "elapsed",
        "duration",
        "snapshotId",
        "startTime",
        "diskBytes",
        "createTime",
        "blake3",
        "sizeBytes",
        "exact",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OF_ONE_CALL.contains(&name.as_str()));
            if let Some(Value::String(lines)) = fields.get_mut("linesJson") {
                // The first line of an export and its last have its id, its time and its hash.
                let is_content = |line: &&str| !line.contains("antiphon_export") && !line.contains("\"end\"");
                *lines = lines.lines().filter(is_content).collect::<Vec<_>>().join("\n");
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

/// The medians of how long it takes to be told of what another namespace has and of what never was.
async fn timed(
    server: &Running,
    rpc: &str,
    both: [Vec<u8>; 2],
    caller: &[(&'static str, &str)],
    rounds: usize,
) -> [Duration; 2] {
    let channel = server.fresh_channel();
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        // Which comes first changes from round to round.
        for which in [round % 2, 1 - round % 2] {
            let begun = Instant::now();
            within(rpc, raw::call(channel.clone(), rpc, vec![both[which].clone()], caller)).await.ok();
            took[which].push(begun.elapsed());
        }
    }
    took.map(|mut took| {
        took.sort_unstable();
        took[took.len() / 2]
    })
}

fn target(exchange_id: &str) -> Option<pb::RetentionTarget> {
    let target = pb::retention_target::Target::Exchange(ask::point(exchange_id));
    Some(pb::RetentionTarget { target: Some(target) })
}

fn print(mut timings: Vec<(&str, [Duration; 2])>) {
    let ratio = |[there, never]: [Duration; 2]| there.as_secs_f64() / never.as_secs_f64();
    timings.sort_by(|(_, one), (_, other)| ratio(*one).total_cmp(&ratio(*other)));
    for (rpc, both) in timings {
        println!("{:.2}  {:>9.1?} there, {:>9.1?} never  {rpc}", ratio(both), both[0], both[1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_another_namespace_is_as_if_it_had_never_been() {
    let mut keys = Keys::default();
    let (a, b) = (keys.make("a", &["read", "write", "admin"]), keys.make("b", &["read", "write", "admin"]));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let as_a = [("authorization", a.as_str())];
    let as_b = [("authorization", b.as_str())];
    // A has one of everything.
    let channel = server.fresh_channel();
    let call = async |rpc: &str, message: Vec<u8>| {
        let answers = raw::call(channel.clone(), rpc, vec![message], &as_a).await;
        answers.unwrap_or_else(|status| panic!("{rpc}: {status:?}")).pop().unwrap()
    };
    let request = pb::ExecutionRequest {
        tools: ask::tools(&["look"]),
        labels: [("team".to_owned(), "a".to_owned())].into(),
        ..ask::text_as("run-of-a", "secret-of-a")
    };
    let captured = call("ExchangeService/Capture", ask::capture_on_new("thread-of-a", request).encode_to_vec()).await;
    let exchange = pb::CaptureResponse::decode(captured.as_slice()).unwrap().exchange.unwrap();
    let put = documents::write("thread-of-a", vec![documents::put("d", "secret-of-a")]);
    let wrote = call("WorkspaceService/WriteDocuments", put.encode_to_vec()).await;
    let root = pb::WriteDocumentsResponse::decode(wrote.as_slice()).unwrap().version.unwrap().workspace_root;
    let prepare = pb::PrepareRequest { request: Some(ask::text("secret-of-a")), ..Default::default() };
    let prepared = call("ExchangeService/Prepare", prepare.encode_to_vec()).await;
    let prepared = pb::PrepareResponse::decode(prepared.as_slice()).unwrap().prepared_id;
    let tools = pb::GetCallToolsRequest { exchange_id: exchange.exchange_id.clone() };
    let tools = call("ToolService/GetCallTools", tools.encode_to_vec()).await;
    let tool_set =
        pb::GetCallToolsResponse::decode(tools.as_slice()).unwrap().tools.unwrap().offered.unwrap().tool_set_id;
    let pin =
        pb::CreatePinRequest { target: target(&exchange.exchange_id), pin_id: "pin-of-a".into(), ..Default::default() };
    call("AdminService/CreatePin", pin.encode_to_vec()).await;
    let expiry = set_expiry_request::When::At(pb::ExpireAt {
        expire_time: Some(prost_types::Timestamp { seconds: 4_000_000_000, nanos: 0 }),
    });
    let expiry =
        pb::SetExpiryRequest { target: target(&exchange.exchange_id), when: Some(expiry), ..Default::default() };
    call("AdminService/SetExpiry", expiry.encode_to_vec()).await;
    let gone = call("ExchangeService/Capture", ask::capture(ask::text("secret-of-a")).encode_to_vec()).await;
    let gone = pb::CaptureResponse::decode(gone.as_slice()).unwrap().exchange.unwrap().exchange_id;
    let erase = pb::EraseRequest { target: target(&gone), note: "secret-of-a".into(), ..Default::default() };
    let erased = call("AdminService/Erase", erase.encode_to_vec()).await;
    let receipt = pb::EraseResponse::decode(erased.as_slice()).unwrap().receipt.unwrap().receipt_id;
    let first = pb::coordinate_request::Frame::Start(pb::CoordinationStart {
        coordination_id: "coordination-of-a".into(),
        ..start(&exchange.exchange_id, 3)
    });
    let mut talk = Loop::on_with(server.fresh_channel(), &as_a, first).await;
    talk.decision().await;
    let thing = |word, there: &str, never: &str| Thing { word, there: there.to_owned(), never: never.to_owned() };
    let never_hash = "0f".repeat(32);
    let things = [
        thing("EXCHANGE", &exchange.exchange_id, "01900000-0000-7000-8000-000000000000"),
        thing("RUN", "run-of-a", "run-of-x"),
        thing("THREAD", "thread-of-a", "thread-of-x"),
        thing("COORDINATION", "coordination-of-a", "coordination-of-x"),
        thing("PREPARED", &prepared, "01900000-0000-7000-8000-000000000001"),
        thing("TOOLSET", &tool_set, &never_hash),
        thing("ROOT", &root, &"0e".repeat(32)),
        thing("PIN", "pin-of-a", "pin-of-x"),
        thing("RECEIPT", &receipt, "01900000-0000-7000-8000-000000000002"),
    ];
    assert_eq!(things.each_ref().map(|thing| thing.word), WORDS);

    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    let asks = asks();
    let asked: BTreeSet<String> = asks.iter().map(|(rpc, _)| (*rpc).to_owned()).collect();
    let all: BTreeSet<String> = pool
        .services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
        .map(|method| format!("{}/{}", method.parent_service().name(), method.name()))
        .collect();
    assert_eq!(asked, all, "every RPC is asked");
    let canaries = [
        "secret-of-a",
        "run-of-a",
        "thread-of-a",
        "coordination-of-a",
        "pin-of-a",
        &exchange.exchange_id,
        &tool_set,
        &root,
        &receipt,
        &gone,
    ];
    let rounds: Option<usize> =
        std::env::var("ANTIPHON_TIMINGS").ok().map(|rounds| rounds.parse().expect("ANTIPHON_TIMINGS is a number"));
    let mut timings = Vec::new();
    for (rpc, requests) in asks {
        let method = method(&pool, rpc);
        for request in requests {
            let mut answers = Vec::new();
            for there in [true, false] {
                let message = bytes(&method, &request, &things, there);
                let answer = within(rpc, raw::call(server.fresh_channel(), rpc, vec![message.clone()], &as_b)).await;
                if let Ok(messages) = &answer {
                    for message in messages {
                        let told = String::from_utf8_lossy(message);
                        // What was asked may be repeated.
                        let canary = canaries.iter().find(|canary| {
                            told.contains(**canary)
                                && !request.to_string().contains("THREAD")
                                && !request.to_string().contains("RUN")
                        });
                        assert_eq!(canary, None, "{rpc} of {request} tells of another namespace");
                    }
                }
                answers.push(told(&method, answer, &things));
            }
            assert_eq!(answers[0], answers[1], "{rpc} tells apart what is there and what never was: {request}");
            let both = [true, false].map(|there| bytes(&method, &request, &things, there));
            if let Some(rounds) = rounds
                && both[0] != both[1]
            {
                timings.push((rpc, timed(&server, rpc, both, &as_b, rounds).await));
            }
            assert!(
                !answers[0].contains("secret-of-a") || request.to_string().contains("secret-of-a"),
                "{rpc}: {}",
                answers[0]
            );
        }
    }
    print(timings);
    // What each of these names is there, to who may see it: what was asked of B could have been found.
    for (rpc, request) in
        [("AdminService/GetEraseReceipt", json!({"receiptId": "RECEIPT"})), ("AdminService/ListExpiries", json!({}))]
    {
        let method = method(&pool, rpc);
        let answers =
            raw::call(server.fresh_channel(), rpc, vec![bytes(&method, &request, &things, true)], &as_a).await;
        let answers: Vec<u8> = answers.unwrap().concat();
        let told = String::from_utf8_lossy(&answers);
        assert!(told.contains(if rpc.ends_with("Receipt") { &receipt } else { &exchange.exchange_id }), "{rpc}");
    }
    // Nothing of it changed anything.
    let thread = pb::ThreadServiceGetRequest { thread_id: "thread-of-a".into() };
    let thread = call("ThreadService/Get", thread.encode_to_vec()).await;
    let thread = pb::ThreadServiceGetResponse::decode(thread.as_slice()).unwrap().thread.unwrap();
    assert_eq!((thread.turn_count, thread.head_exchange_id), (1, exchange.exchange_id));
    talk.act(stop()).await;
    assert_eq!(talk.ended().await.1.map(|status| status.code()), None);
}
