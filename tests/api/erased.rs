//! What was erased stays erased: an older export does not bring it back, and a history with a gap says so wherever it is told or sent.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame as Told;
use pb::workspace_service_client::WorkspaceServiceClient;
use tonic::{Code, Request};

use crate::access::{Keys, config};
use crate::retention::{collect, erase, exchange, now, thread};
use crate::support::coordinate::{Loop, attach, start_on, stop, turn_of};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai, scripted};
use crate::support::transfer::{counts, export, findings, import, import_as};
use crate::support::{ask, documents, refused, within};
use crate::{look, stub};

fn counted(records: &[pb::RecordCount], kind: &str) -> u64 {
    counts(records).into_iter().find(|(found, _)| found == kind).map_or(0, |(_, count)| count)
}

/// What lies about as nobody's.
async fn garbage(server: &Running) -> Vec<(String, u64)> {
    counts(&collect(server, pb::CollectGarbageRequest { dry_run: true, ..now() }).await.unwrap().removed)
}

/// A thread `t` with a document, a turn with an image, a coordination that took another turn, and a prepared execution after that.
pub(crate) async fn furnished() -> (Running, String) {
    let server = Running::start(scripted("")).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text("secret begin"))).await.unwrap();
    let put = documents::put("log", format!("secret document {}", "d".repeat(100_000)));
    WorkspaceServiceClient::new(server.fresh_channel())
        .write_documents(documents::write("t", vec![put]))
        .await
        .unwrap();
    let mut stream = Loop::start(&server, start_on("t", 1)).await;
    let coordination = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("secret turn")).await;
    stream.decision().await;
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
    let prepare = pb::PrepareRequest {
        request: Some(ask::text("secret plan")),
        capture: true,
        from: Some(pb::prepare_request::From::Thread(ask::on("t"))),
        ..Default::default()
    };
    client.prepare(prepare).await.unwrap();
    (server, coordination)
}

/// What was erased here stays so when an export from before is imported, also where that broke off in the middle: exchanges keep their
/// tombstones, and the thread, its documents, its coordination with its journal and what was prepared are left out, told, and collected.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_export_brings_nothing_back_that_was_erased() {
    let (server, coordination) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    assert!(lines.contains("secret begin") && counted(&summary.records, "journal") > 1);
    assert!(counted(&summary.records, "part") > 0 && counted(&summary.records, "workspace node") > 0);
    erase(&server, thread("t"), pb::EraseMode::Refuse).await.unwrap();
    let (empty, _) = export(&server, Vec::new()).await;
    assert!(!empty.contains("secret"), "all of it went");

    let dry = pb::ImportOpen { dry_run: true, ..Default::default() };
    let would = import_as(&server, dry, &lines, 7).await.unwrap().summary;
    let imported = import(&server, &lines).await.unwrap();
    for summary in [&would, &imported.summary] {
        let erased = |kind| counted(&summary.erased, kind);
        assert_eq!((erased("exchange"), erased("thread"), erased("workspace"), erased("coordination")), (2, 1, 1, 1));
        assert_eq!(
            (erased("prepared execution"), erased("journal")),
            (1, counted(&summary.read.as_ref().unwrap().records, "journal"))
        );
        let stored = |kind| counted(&summary.stored, kind);
        assert_eq!((stored("exchange"), stored("thread"), stored("coordination"), stored("journal")), (0, 0, 0, 0));
        assert_eq!(summary.skipped_count, 0);
    }
    let threads = server.threads().list(pb::ThreadServiceListRequest::default()).await.unwrap().into_inner().threads;
    assert_eq!(threads, Vec::new());
    let (after, summary) = export(&server, Vec::new()).await;
    assert!(!after.contains("secret"), "nothing of it is back");
    let back = ["coordination", "journal", "prepared execution"].map(|kind| counted(&summary.records, kind));
    assert_eq!((back, garbage(&server).await), ([0; 3], Vec::new()), "nor lies about");
    assert_eq!(findings(&server).await, Vec::<String>::new());

    // A thread that is made anew under the id is another one: an export of it comes back.
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text("another"))).await.unwrap();
    let (later, _) = export(&server, Vec::new()).await;
    let other = Running::start(scripted("")).await;
    import(&other, &later).await.unwrap();
    assert_eq!(look::thread(&other, "t").await.head_exchange_id, look::thread(&server, "t").await.head_exchange_id);
    assert_eq!(findings(&other).await, Vec::<String>::new());

    // In a store that never erased it, the export brings all of it.
    let fresh = Running::start(scripted("")).await;
    let imported = import_as(&fresh, pb::ImportOpen::default(), &lines, 1).await.unwrap();
    assert_eq!((imported.summary.erased, counted(&imported.summary.stored, "coordination")), (Vec::new(), 1));
    let mut replay = Loop::open(&fresh, attach(&coordination)).await;
    replay.until(|told| matches!(told, Told::Ended(_)).then_some(())).await;
    assert_eq!(findings(&fresh).await, Vec::<String>::new());
}

/// A journal is stored with its coordination or not at all, and lines that come without it are told as what they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_is_stored_with_its_coordination() {
    let (server, _) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    let pages = counted(&summary.records, "journal");
    let cut: String = lines.split_inclusive('\n').filter(|line| !line.contains(r#""kind":"coordination""#)).collect();
    assert_ne!(cut, lines);
    let fresh = Running::start(scripted("")).await;
    let status = import(&fresh, &cut).await.unwrap_err();
    assert_eq!(refused::fact(&status, "problem"), "missing_coordination");
    let (_, stored) = export(&fresh, Vec::new()).await;
    assert_eq!((counted(&stored.records, "journal"), counted(&stored.records, "coordination")), (0, 0));
    assert_eq!(findings(&fresh).await, Vec::<String>::new());
    let first = lines.split_inclusive('\n').find(|line| line.contains(r#""kind":"journal""#)).unwrap();
    let status = import(&fresh, &lines.replacen(first, "", 1)).await.unwrap_err();
    assert!(status.message().contains("whose journal does not come right before it and whole"), "{}", status.message());
    assert_eq!(findings(&fresh).await, Vec::<String>::new());
    let skipping = pb::ImportOpen { skip_faulty: true, ..Default::default() };
    let status = import_as(&fresh, skipping, &cut, 100).await.unwrap_err();
    assert!(!status.message().contains("--skip-faulty"), "no line that is there is to blame: {}", status.message());
    assert!(status.message().contains("export it again"), "{}", status.message());
    let imported = import(&fresh, &lines).await.unwrap();
    assert_eq!(counted(&imported.summary.stored, "journal"), pages);
}

/// A gap is told: Inspect says which exchange of a path was erased, with no messages of its own, and each turn after it carries a warning.
#[tokio::test(flavor = "multi_thread")]
async fn a_gap_is_told() {
    let script = ["one", "two", "three", "four", "five"].map(stub::text);
    let provider = Provider::start(script).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap().into_inner();
    let mut ids = vec![first.exchange.unwrap().exchange_id];
    for text in ["q2", "q3"] {
        let turn = client.r#continue(ask::on_thread(ask::on("t"), ask::text(text))).await.unwrap().into_inner();
        ids.push(turn.exchange.unwrap().exchange_id);
    }
    erase(&server, exchange(&ids[1]), pb::EraseMode::Tombstone).await.unwrap();
    let page = client.inspect(ask::inspect(&ids[2])).await.unwrap().into_inner();
    let path: Vec<(bool, u32)> = page.path.iter().map(|step| (step.erased, step.message_count)).collect();
    assert_eq!(path, [(false, 2), (true, 0), (false, 2)]);
    assert_eq!(page.messages.len(), 4);
    let turns = pb::ListTurnsRequest { thread_id: "t".into(), ..Default::default() };
    let turns = server.threads().list_turns(turns).await.unwrap().into_inner().turns;
    let erased: Vec<(u64, bool, &str)> =
        turns.iter().map(|turn| (turn.turn, turn.erased, turn.user_preview.as_str())).collect();
    assert_eq!(erased, [(1, false, "q1"), (2, true, ""), (3, false, "q3")]);
    let path = pb::PathScope { exchange_id: ids[2].clone() };
    let graph = pb::GetGraphRequest {
        scope: Some(pb::GraphScope { scope: Some(pb::graph_scope::Scope::Path(path)) }),
        format: pb::GraphFormat::Text.into(),
        detail: pb::GraphDetail::Exchanges.into(),
        ..Default::default()
    };
    let text = server.graphs().get_graph(graph).await.unwrap().into_inner().text;
    let marked: Vec<bool> = text.lines().map(|line| line.contains(" erased")).collect();
    assert_eq!(marked, [false, true, false], "{text}");

    let told = |exchange: &pb::Exchange| {
        let codes = exchange.warnings.iter().map(|warning| warning.code.clone()).collect::<Vec<_>>();
        (codes, exchange.warnings.iter().map(|warning| warning.message.clone()).collect::<String>())
    };
    let turn = client.r#continue(ask::on_thread(ask::on("t"), ask::text("q4"))).await.unwrap().into_inner();
    let (codes, said) = told(turn.exchange.as_ref().unwrap());
    assert_eq!(codes, ["history_erased"]);
    assert!(said.starts_with("1 of the 3 exchanges of the history were erased"), "{said}");
    let sent = provider.request(3).await;
    let sent: Vec<String> = sent.json()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(sent, ["q1", "one", "q3", "three", "q4"], "nothing stands in the gap");

    // What a view leaves out anyway has no gap to tell of.
    let view = pb::history_view::View::LastTurns(pb::LastTurns { turns: 1 });
    let request = pb::ExecutionRequest { history_view: Some(pb::HistoryView { view: Some(view) }), ..ask::text("q5") };
    let turn = client.r#continue(ask::on_thread(ask::on("t"), request)).await.unwrap().into_inner();
    assert_eq!(told(turn.exchange.as_ref().unwrap()).0, ["history_narrowed"]);
}

/// An import that is at work in one namespace keeps nobody from erasing and collecting in another.
#[tokio::test(flavor = "multi_thread")]
async fn imports_hold_up_their_own_namespace_only() {
    let mut keys = Keys::default();
    let scopes = ["read", "write", "admin"];
    let (a, b) = (keys.make("a", &scopes), keys.make("b", &scopes));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let open = pb::ImportRequest { part: Some(pb::import_request::Part::Open(pb::ImportOpen::default())) };
    let (say, said) = tokio::sync::mpsc::channel(1);
    say.send(open).await.unwrap();
    let mut request = Request::new(tokio_stream::wrappers::ReceiverStream::new(said));
    request.metadata_mut().insert("authorization", a.parse().unwrap());
    let mut importing = server.admin().import(request).await.unwrap().into_inner();
    let erasing = |key: &str| {
        let mut request = Request::new(pb::EraseRequest { target: thread("never"), ..Default::default() });
        request.metadata_mut().insert("authorization", key.parse().unwrap());
        let mut admin = server.admin();
        async move { admin.erase(request).await.unwrap_err() }
    };
    // It is at work once erasing in its namespace is refused for it.
    let held = async { while erasing(&a).await.code() != Code::ResourceExhausted {} };
    within("the import to begin", held).await;
    refused::is(&erasing(&a).await, Code::ResourceExhausted, Reason::LimitExceeded);
    refused::is(&erasing(&b).await, Code::NotFound, Reason::ThreadNotFound);
    drop(say);
    importing.message().await.unwrap_err();
    refused::is(&erasing(&a).await, Code::NotFound, Reason::ThreadNotFound);
}

/// A thread whose last turn waits for the results of its tools goes whole; an export from before brings neither it back nor a run that was not
/// captured, and what follows a call that was erased is no wrong line.
#[tokio::test(flavor = "multi_thread")]
async fn calls_and_bare_runs_stay_erased() {
    let server =
        Running::start(scripted("[[backends.script.rules]]\nwhen = \"weather\"\ntool_calls = [{ name = \"get\" }]\n"))
            .await;
    let mut client = server.exchanges();
    let asking = || pb::ExecutionRequest { tools: ask::tools(&["get"]), ..ask::text_as("r1", "weather") };
    let called = client.capture(ask::capture_on_new("done", asking())).await.unwrap().into_inner();
    let answer = called.exchange.unwrap().assistant.unwrap();
    let call = answer.parts.into_iter().find_map(|part| match part.kind {
        Some(pb::part::Kind::ToolCall(call)) => Some(call.call_id),
        _ => None,
    });
    let call = call.expect("it calls");
    client.r#continue(ask::on_thread_with("done", vec![ask::result(&call, "secret sun")])).await.unwrap();
    let asking = pb::ExecutionRequest { run_id: "r2".into(), ..asking() };
    client.capture(ask::capture_on_new("waits", asking)).await.unwrap();
    let bare = pb::RunRequest {
        execution: Some(pb::run_request::Execution::Request(ask::text_as("bare", "hello"))),
        ..Default::default()
    };
    client.run(bare).await.unwrap();
    let (lines, _) = export(&server, Vec::new()).await;

    let receipt = erase(&server, thread("waits"), pb::EraseMode::Refuse).await.unwrap();
    assert_eq!((receipt.tombstone_count, look::run(&server, "r2").await.state()), (1, pb::RunState::Cancelled));
    let receipt = erase(&server, thread("done"), pb::EraseMode::Refuse).await.unwrap();
    assert_eq!(receipt.tombstone_count, 2);
    let run = pb::RetentionTarget {
        target: Some(pb::retention_target::Target::Run(pb::RetainedRun { run_id: "bare".into() })),
    };
    erase(&server, Some(run), pb::EraseMode::Refuse).await.unwrap();

    let imported = import(&server, &lines).await.unwrap().summary;
    let erased = |kind| counted(&imported.erased, kind);
    assert_eq!((erased("exchange"), erased("thread"), erased("run")), (3, 2, 1));
    assert_eq!(garbage(&server).await, Vec::new());
    assert!(!export(&server, Vec::new()).await.0.contains("secret sun"));
    let gone = server.runs().get(pb::RunServiceGetRequest { run_id: "bare".into() }).await.unwrap_err();
    refused::is(&gone, Code::NotFound, Reason::RunNotFound);
    assert_eq!(findings(&server).await, Vec::<String>::new());
}

/// A turn at work that goes on from what is to be erased would be of what is gone: it is waited for, in every mode.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_turn_at_work_goes_on_from_is_not_erased() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one"), stub::text("two").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = server.exchanges().capture(ask::capture(ask::text("q1"))).await.unwrap().into_inner();
    let id = first.exchange.unwrap().exchange_id;
    let mut client = server.exchanges();
    let after = ask::after(&id, ask::text_as("slow", "q2"));
    let slow = tokio::spawn(async move { client.r#continue(after).await });
    provider.request(1).await;
    for mode in [pb::EraseMode::Refuse, pb::EraseMode::Cascade, pb::EraseMode::Tombstone] {
        let status = erase(&server, exchange(&id), mode).await.unwrap_err();
        refused::is(&status, Code::FailedPrecondition, Reason::RunNotCompleted);
        assert_eq!(refused::fact(&status, "run_id"), "slow");
    }
    gate.open();
    slow.await.unwrap().unwrap();
    let receipt = erase(&server, exchange(&id), pb::EraseMode::Cascade).await.unwrap();
    assert_eq!(receipt.tombstone_count, 2);
}
