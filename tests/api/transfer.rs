//! Export and Import: everything comes back as it was, what is there stays, and nothing wrong gets in.

use std::sync::Arc;
use std::time::Duration;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::graph_scope::Scope;
use pb::import_request::Part;
use tonic::Code;

use crate::look;
use crate::support::clock::Forward;
use crate::support::server::{Running, Sources, scripted};
use crate::support::transfer::{self, counts, export, findings, import, import_as};
use crate::support::{ask, refused};

/// A scripted model that calls a tool when it is asked about the weather.
fn calling() -> String {
    scripted("[[backends.script.rules]]\nwhen = \"weather\"\ntool_calls = [{ name = \"get\" }]\n")
}

fn image(bytes: usize) -> pb::Part {
    let data = (0..bytes).map(|n| (n * 31 % 251) as u8).collect::<Vec<_>>();
    let inline = pb::InlineMedia { media_type: "image/png".into(), data: data.into() };
    let source = Some(pb::MediaSource { source: Some(pb::media_source::Source::Inline(inline)) });
    pb::Part { kind: Some(pb::part::Kind::Image(pb::ImagePart { source, ..Default::default() })), ..Default::default() }
}

/// A server with a bit of everything: a thread with a tool loop, a fork, a large image said twice, a bare exchange, a failed run.
async fn furnished() -> (Running, Vec<String>) {
    furnished_with(Sources::real()).await
}

async fn furnished_with(sources: Sources) -> (Running, Vec<String>) {
    let server = Running::start_with(scripted(""), sources).await;
    let mut client = server.exchanges();
    let mut ids = Vec::new();
    let mut request = ask::text_as("r1", "hello");
    request.tools = ask::tools(&["get", "put"]);
    let first = client.capture(ask::capture_on_new("t", request)).await.unwrap().into_inner().exchange.unwrap();
    ids.push(first.exchange_id.clone());
    for n in 2..6 {
        let turn = ask::on_thread(ask::on("t"), ask::text_as(&format!("r{n}"), &format!("turn {n}")));
        ids.push(client.r#continue(turn).await.unwrap().into_inner().exchange.unwrap().exchange_id);
    }
    let branches = vec![ask::branch("f", Some(ask::text_as("rf", "elsewhere"))), ask::branch("empty", None)];
    client.fork(ask::fork(&ids[1], branches)).await.unwrap();
    let mut said = ask::user("look");
    said.parts.push(image(600_000));
    let called =
        vec![said, ask::calling("c1", "get", "{}"), ask::answering("c1", "sunny"), ask::assistant("it is sunny")];
    let recorded =
        client.record(pb::RecordRequest { request_id: "q".into(), ..ask::record(called) }).await.unwrap().into_inner();
    ids.push(recorded.exchange_id.clone());
    let mut again = ask::user("again");
    again.parts.push(image(600_000));
    client.record(ask::record(vec![again, ask::assistant("seen")])).await.unwrap();
    (server, ids)
}

/// What a caller can see of a server, whole.
async fn seen(server: &Running, ids: &[String]) -> Vec<String> {
    let mut seen = vec![format!("{:?} {:?}", look::runs(server).await, look::threads(server).await)];
    for id in ids {
        let inspected = server.exchanges().inspect(ask::inspect(id)).await.unwrap().into_inner();
        seen.push(format!("{:?}", inspected.exchange));
    }
    for id in ["t", "f", "empty"] {
        let got =
            server.threads().get(pb::ThreadServiceGetRequest { thread_id: id.into() }).await.unwrap().into_inner();
        seen.push(format!("{:?}", got.thread));
    }
    seen
}

/// S1: what was exported comes back in an empty store with everything that was known of it, and a second import changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_comes_back_as_it_was() {
    let (server, ids) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    assert_eq!(summary.line_count, lines.lines().count() as u64);
    assert_eq!(
        (summary.size_bytes, summary.blake3.clone()),
        (lines.len() as u64, blake3::hash(lines.as_bytes()).to_hex().to_string())
    );
    assert!(lines.lines().all(|line| line.len() < 1 << 20), "large content comes in pieces");
    assert!(lines.contains("\"turn 2\""), "a person can read it");
    let other = Running::start(scripted("")).await;
    let imported = import(&other, &lines).await.unwrap();
    assert_eq!((imported.through, imported.findings.len()), (summary.line_count, 0));
    assert_eq!(imported.summary.read.as_ref().unwrap().blake3, summary.blake3);
    assert_eq!(counts(&imported.summary.stored), counts(&summary.records), "everything is new");
    assert!(imported.summary.matched.is_empty());
    assert_eq!(seen(&other, &ids).await, seen(&server, &ids).await);
    assert_eq!(findings(&other).await, Vec::<String>::new());
    let again = import(&other, &lines).await.unwrap();
    assert!(again.summary.stored.is_empty(), "{:?}", again.summary.stored);
    assert_eq!(counts(&again.summary.matched), counts(&summary.records));
    let (twice, _) = export(&other, Vec::new()).await;
    let body =
        |lines: &str| lines.lines().skip(1).map(str::to_owned).filter(|l| !l.contains("\"end\"")).collect::<Vec<_>>();
    assert_eq!(body(&twice), body(&lines), "what was imported is exported the same");
    other.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("go on"))).await.unwrap();
}

/// A part of the graph brings what it needs and no more.
#[tokio::test(flavor = "multi_thread")]
async fn a_scope_brings_what_it_needs() {
    let (server, ids) = furnished().await;
    let scope = |scope| pb::GraphScope { scope: Some(scope) };
    let thread = scope(Scope::ThreadPath(pb::ThreadPathScope { thread_id: "f".into() }));
    let (lines, summary) = export(&server, vec![thread]).await;
    let other = Running::start(scripted("")).await;
    import(&other, &lines).await.unwrap();
    assert_eq!(
        look::threads(&other).await,
        ["empty", "f"],
        "the other thread at its fork comes too, the parent does not: its head lies beyond"
    );
    assert_eq!(summary.records.iter().find(|r| r.kind == "exchange").unwrap().count, 3);
    assert_eq!(findings(&other).await, Vec::<String>::new());
    let subtree = scope(Scope::Subtree(pb::SubtreeScope { exchange_id: ids[2].clone(), max_steps: Some(1) }));
    let (lines, summary) = export(&server, vec![subtree]).await;
    assert_eq!(summary.records.iter().find(|r| r.kind == "exchange").unwrap().count, 4, "{lines}");
    let nowhere = pb::PathScope { exchange_id: "0198f2a0-0000-7000-8000-000000000000".into() };
    let request = pb::ExportRequest { scopes: vec![scope(Scope::Path(nowhere))], ..Default::default() };
    let status = server.admin().export(request).await.unwrap_err();
    refused::is(&status, Code::NotFound, Reason::ExchangeNotFound);
}

/// An export that broke off goes on with the same state, whatever was written since.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_goes_on_where_it_broke_off() {
    let clock = Arc::new(Forward::default());
    let (server, _) = furnished_with(Sources { clock: clock.clone(), ..Sources::real() }).await;
    let mut stream = server.admin().export(pb::ExportRequest::default()).await.unwrap().into_inner();
    let mut received = String::new();
    let mut snapshot_id = String::new();
    while received.is_empty() {
        match stream.message().await.unwrap().unwrap().event.unwrap() {
            pb::export_response::Event::Started(started) => snapshot_id = started.snapshot_id,
            pb::export_response::Event::Chunk(chunk) => received = chunk.lines_json,
            pb::export_response::Event::Completed(_) => panic!("there is more than one chunk"),
        }
    }
    drop(stream);
    server.exchanges().capture(ask::capture_on_new("later", ask::text("later"))).await.unwrap();
    let after_line = received.lines().count() as u64;
    let request = pb::ExportRequest { after_line, snapshot_id: snapshot_id.clone(), ..Default::default() };
    let (rest, summary) =
        transfer::read(server.admin().export(request.clone()).await.unwrap().into_inner()).await.unwrap();
    let whole = received + &rest;
    assert_eq!(summary.blake3, blake3::hash(whole.as_bytes()).to_hex().to_string());
    assert!(!whole.contains("later"), "it is of the moment when it began");
    let end = pb::ExportRequest { after_line: summary.line_count, ..request };
    let (nothing, again) =
        transfer::read(server.admin().export(end.clone()).await.unwrap().into_inner()).await.unwrap();
    assert_eq!((nothing.as_str(), again.blake3), ("", summary.blake3), "the end can be lost on the way too");
    let beyond = pb::ExportRequest { after_line: summary.line_count + 1, ..end.clone() };
    let status = transfer::read(server.admin().export(beyond).await.unwrap().into_inner()).await.unwrap_err();
    refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&status), ["after_line"]);
    clock.by(Duration::from_mins(15));
    let status = server.admin().export(end).await.unwrap_err();
    refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&status), ["snapshot_id"], "what was sent to its end is not kept for long");
}

/// The time for which a state is kept begins when its export breaks off, not when it began.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_takes_long_can_go_on_all_the_same() {
    let clock = Arc::new(Forward::default());
    let sources = Sources { clock: clock.clone(), ..Sources::real() };
    let server = Running::start_with(scripted(""), sources).await;
    // More than can be on its way to somebody who does not read.
    for number in 0..16 {
        let mut said = ask::user(&format!("look {number}"));
        said.parts.push(image(1_000_000 + number));
        server.exchanges().record(ask::record(vec![said, ask::assistant("seen")])).await.unwrap();
    }
    let mut stream = server.admin().export(pb::ExportRequest::default()).await.unwrap().into_inner();
    let first = stream.message().await.unwrap().unwrap().event.unwrap();
    let pb::export_response::Event::Started(pb::TransferStarted { snapshot_id, .. }) = first else {
        panic!("{first:?}")
    };
    clock.by(Duration::from_mins(16));
    let other = pb::ExportRequest { omit_documents: true, ..Default::default() };
    drop(server.admin().export(other).await.unwrap());
    drop(stream);
    let request = pb::ExportRequest { snapshot_id, ..Default::default() };
    let rest = transfer::read(server.admin().export(request).await.unwrap().into_inner()).await.unwrap();
    assert_eq!(rest.1.blake3, blake3::hash(rest.0.as_bytes()).to_hex().to_string());
}

/// Every way in which lines can be wrong is refused with the line and the way out; what was good before stays, and the rest can follow.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_refused_with_its_line() {
    let (server, ids) = furnished().await;
    let (lines, _) = export(&server, Vec::new()).await;
    let all: Vec<&str> = lines.lines().collect();
    let exchange = all.iter().rposition(|line| line.contains("\"kind\":\"exchange\"")).unwrap();
    let run = all.iter().position(|line| line.contains("\"kind\":\"run\"")).unwrap();
    let without =
        |at: usize| all.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, l)| format!("{l}\n")).collect::<String>();
    let with = |at: usize, line: &str| {
        all.iter().enumerate().map(|(n, l)| format!("{}\n", if n == at { line } else { l })).collect::<String>()
    };
    let swapped = {
        let mut all = all.clone();
        let first = all.iter().position(|line| line.contains("\"kind\":\"exchange\"")).unwrap();
        all.swap(first, exchange);
        all.join("\n") + "\n"
    };
    let forged = all[exchange].replace("\"text\":\"", "\"text\":\"forged ");
    let cut = &lines[..lines.len() / 2];
    let cases = [
        ("not an export", "{\"messages\":[]}\n".to_owned(), 1, "malformed_line"),
        ("another file", "PK\u{3}\u{4}\n".to_owned(), 1, "malformed_line"),
        ("a changed line", with(exchange, &forged), exchange + 1, "checksum_mismatch"),
        ("a cut line", with(exchange, &all[exchange][..80]), exchange + 1, "malformed_line"),
        ("a missing run", without(run), run, "missing_run"),
        (
            "a missing parent",
            without(all.iter().position(|l| l.contains("\"kind\":\"exchange\"")).unwrap()),
            0,
            "missing_reference",
        ),
        ("another order", swapped, 0, ""),
        ("the end missing", all[..all.len() - 1].join("\n") + "\n", all.len(), "truncated"),
        ("half a file", cut[..cut.rfind('\n').unwrap() + 1].to_owned(), 0, "truncated"),
        ("something after the end", lines.clone() + &lines, all.len() + 1, "after_the_end"),
        ("a newer format", lines.replacen("\"format\":1", "\"format\":2", 1), 1, "newer_format"),
    ];
    for (what, input, line, problem) in cases {
        let other = Running::start(scripted("")).await;
        let status = import(&other, &input).await.expect_err(what);
        refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
        if line > 0 {
            assert_eq!(refused::fact(&status, "line"), line.to_string(), "{what}: {status:?}");
        }
        if !problem.is_empty() {
            assert_eq!(refused::fact(&status, "problem"), problem, "{what}: {status:?}");
        }
        assert!(status.message().contains("line ") && status.message().contains(": "), "{what}: {status:?}");
        assert_eq!(findings(&other).await, Vec::<String>::new(), "{what}: what is stored is whole");
        import(&other, &lines).await.unwrap_or_else(|status| panic!("{what}: the whole export follows: {status:?}"));
        assert_eq!(seen(&other, &ids).await, seen(&server, &ids).await, "{what}");
    }
}

/// With `skip_faulty`, what is wrong is left out and told, with all that needs it, and the rest is stored whole.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_lines_can_be_left_out() {
    let (server, _) = furnished().await;
    let (lines, _) = export(&server, Vec::new()).await;
    let bad = lines.lines().position(|line| line.contains("\"turn 5\"")).unwrap();
    let input: String = lines
        .lines()
        .enumerate()
        .map(|(n, line)| if n == bad { "{\"kind\":\n".to_owned() } else { format!("{line}\n") })
        .collect();
    let other = Running::start(scripted("")).await;
    let open = pb::ImportOpen { skip_faulty: true, ..Default::default() };
    // Its run and its thread cannot be without it, and the end has the hash of other lines, which nothing makes good.
    let status = import_as(&other, open.clone(), &input, 7).await.unwrap_err();
    assert_eq!(refused::fact(&status, "problem"), "incomplete");
    assert_eq!(findings(&other).await, Vec::<String>::new());
    assert_eq!(look::threads(&other).await, ["empty", "f"]);
}

/// A dry run checks everything and writes nothing; labels go onto what is new.
#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing_and_labels_mark_what_is_new() {
    let (server, ids) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    let other = Running::start(scripted("")).await;
    let open = pb::ImportOpen { dry_run: true, ..Default::default() };
    let tried = import_as(&other, open.clone(), &lines, 3).await.unwrap();
    assert_eq!((tried.through, counts(&tried.summary.stored)), (0, counts(&summary.records)));
    assert!(look::runs(&other).await.is_empty() && look::threads(&other).await.is_empty());
    let broken = lines.replace("\"turn 3\"", "\"turn 4\"");
    assert_eq!(refused::fact(&import_as(&other, open, &broken, 3).await.unwrap_err(), "problem"), "checksum_mismatch");
    let open = pb::ImportOpen { labels: [("from".to_owned(), "backup".to_owned())].into(), ..Default::default() };
    import_as(&other, open, &lines, 50).await.unwrap();
    let inspected = other.exchanges().inspect(ask::inspect(&ids[0])).await.unwrap().into_inner();
    assert_eq!(inspected.exchange.unwrap().labels["from"], "backup");
}

/// The parts of the stream come in order, and lines that were acknowledged need not be sent again.
#[tokio::test(flavor = "multi_thread")]
async fn the_stream_keeps_its_order() {
    let (server, ids) = furnished().await;
    let (lines, _) = export(&server, Vec::new()).await;
    let other = Running::start(scripted("")).await;
    let open = || Part::Open(pb::ImportOpen::default());
    let chunk = |lines: &str, first_line| Part::Chunk(pb::TransferChunk { lines_json: lines.to_owned(), first_line });
    let commit = || Part::Commit(pb::ImportCommit::default());
    let unknown = Part::Open(pb::ImportOpen { format: 77, ..Default::default() });
    let threads = Part::Open(pb::ImportOpen { create_threads: true, ..Default::default() });
    let cases = [
        (vec![chunk(&lines, 1)], "open"),
        (vec![open(), open()], "open"),
        (vec![open(), chunk("", 1)], "chunk.lines_json"),
        (vec![open(), chunk(&lines, 2)], "chunk.lines_json"),
        (vec![open()], "commit"),
        (vec![unknown], "open.format"),
        (vec![threads], "open.create_threads"),
        (vec![open(), chunk(&lines, 1), Part::Commit(pb::ImportCommit { blake3: "00".into() })], "chunk.lines_json"),
    ];
    for (parts, field) in cases {
        let status = transfer::send(&other, parts).await.unwrap_err();
        refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
        assert_eq!(refused::fields(&status), [field], "{status:?}");
    }
    let fresh = Running::start(scripted("")).await;
    let half: Vec<&str> = lines.split_inclusive('\n').collect();
    // Only what is acknowledged can be left out, so the break is where a run ends.
    let at = half.iter().position(|line| line.contains("\"kind\":\"run\"")).unwrap() + 1;
    let status = transfer::send(&fresh, vec![open(), chunk(&half[..at].concat(), 1)]).await.unwrap_err();
    assert_eq!(refused::fields(&status), ["commit"]);
    let rest = vec![open(), chunk(&half[..2].concat(), 1), chunk(&half[at..].concat(), at as u64 + 1), commit()];
    let imported = transfer::send(&fresh, rest).await.unwrap();
    assert_eq!(imported.through, half.len() as u64);
    assert_eq!(seen(&fresh, &ids).await, seen(&server, &ids).await);
}

/// A run that waits for its tools is restored as one that waits, and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_tools_goes_on_after_an_import() {
    let server = Running::start(calling()).await;
    let mut request = ask::text_as("w", "weather?");
    request.tools = ask::tools(&["get"]);
    let pending = server.exchanges().capture(ask::capture_on_new("t", request)).await.unwrap().into_inner();
    let call =
        pending.exchange.unwrap().pending_tool_calls.first().map(|call| call.call_id.clone()).unwrap_or_default();
    let (lines, _) = export(&server, Vec::new()).await;
    let other = Running::start(calling()).await;
    import(&other, &lines).await.unwrap();
    let answered = other.exchanges().r#continue(ask::on_thread_with("t", vec![ask::result(&call, "sunny")])).await;
    assert_eq!(answered.unwrap().into_inner().run.unwrap().run_id, "w");
    assert_eq!(findings(&other).await, Vec::<String>::new());
}

/// A backup is an export of everything, of the caller's namespace or of all; and a part of an import must say what it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_an_export_of_everything() {
    use pb::backup_response::Event;
    let (server, ids) = furnished().await;
    for all_namespaces in [false, true] {
        let mut stream = server.admin().backup(pb::BackupRequest { all_namespaces }).await.unwrap().into_inner();
        let mut lines = String::new();
        while let Some(response) = stream.message().await.unwrap() {
            if let Some(Event::Chunk(chunk)) = response.event {
                lines.push_str(&chunk.lines_json);
            }
        }
        let other = Running::start(scripted("")).await;
        import(&other, &lines).await.unwrap();
        assert_eq!(seen(&other, &ids).await, seen(&server, &ids).await);
    }
    let empty = tokio_stream::iter([pb::ImportRequest { part: None }]);
    let mut stream = server.admin().import(empty).await.unwrap().into_inner();
    let status = stream.message().await.unwrap_err();
    refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
}
