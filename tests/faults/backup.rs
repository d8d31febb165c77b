//! A backup that is taken while others write, and restored into an empty store after the server was killed: one moment of everything, with all
//! that was acknowledged before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use antiphon::grpc::pb;
use pb::exchange_service_client::ExchangeServiceClient;
use pb::import_request::Part;
use pb::workspace_service_client::WorkspaceServiceClient;
use tokio_stream::StreamExt;

use crate::support::program::Program;
use crate::support::server::scripted;
use crate::support::{ask, documents, within};

const WRITERS: usize = 8;

/// Documents and turns on a thread of its own until it is told to stop. Gives the exchanges that were acknowledged before the backup began, each with
/// the document that its turn started from.
async fn write(
    channel: tonic::transport::Channel,
    name: String,
    begun: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
) -> Vec<(String, String)> {
    let mut client = ExchangeServiceClient::new(channel.clone());
    let mut workspaces = WorkspaceServiceClient::new(channel);
    let mut before = Vec::new();
    let mut turn = 0;
    let first = client.capture(ask::capture_on_new(&name, ask::text("begin"))).await.unwrap().into_inner();
    before.push((first.exchange.unwrap().exchange_id, String::new()));
    let mut text = String::new();
    while !stop.load(Ordering::Acquire) {
        turn += 1;
        let is_before = !begun.load(Ordering::Acquire);
        if turn % 3 == 0 {
            text = format!("{name} before {turn}");
            let edits = vec![documents::put("log", text.clone())];
            let Ok(_) = workspaces.write_documents(documents::write(&name, edits)).await else { return before };
        }
        let request = ask::on_thread(ask::on(&name), ask::text(&format!("{name} {turn}")));
        let Ok(answer) = client.r#continue(request).await else { return before };
        let id = answer.into_inner().exchange.unwrap().exchange_id;
        if turn % 7 == 0 {
            client.fork(ask::fork(&id, vec![ask::branch(&format!("{name}-{turn}"), None)])).await.ok();
        }
        // One that was answered before the backup was asked for; its answer may have come later.
        if is_before && !begun.load(Ordering::Acquire) {
            before.push((id, text.clone()));
        }
    }
    before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_under_writes_restores_one_moment_after_kill_9() {
    use pb::backup_response::Event;
    let config = scripted("");
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), &config).await;
    let (begun, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| tokio::spawn(write(program.fresh_channel(), format!("w{n}"), Arc::clone(&begun), Arc::clone(&stop))))
        .collect();
    // Some history first, so that the backup takes long enough to be overtaken.
    let mut admin = program.admin();
    loop {
        let runs = program
            .runs()
            .list(pb::RunServiceListRequest { page_size: 1_000, ..Default::default() })
            .await
            .unwrap()
            .into_inner();
        if runs.runs.len() >= 600 {
            break;
        }
    }
    begun.store(true, Ordering::Release);
    let mut stream = admin.backup(pb::BackupRequest::default()).await.unwrap().into_inner();
    let (mut lines, mut summary) = (String::new(), None);
    while let Some(response) = within("the backup", stream.message()).await.unwrap() {
        match response.event.unwrap() {
            Event::Started(_) => {}
            Event::Chunk(chunk) => lines.push_str(&chunk.lines_json),
            Event::Completed(completed) => summary = Some(completed),
        }
    }
    let summary = summary.unwrap();
    assert_eq!(summary.blake3, blake3::hash(lines.as_bytes()).to_hex().to_string());
    program.kill();
    stop.store(true, Ordering::Release);
    let mut before = Vec::new();
    for writer in writers {
        before.extend(within("a writer to end", writer).await.unwrap());
    }
    let empty = tempfile::tempdir().unwrap();
    let restored = Program::start(empty.path(), &config).await;
    let mut parts = vec![Part::Open(pb::ImportOpen::default())];
    let all: Vec<&str> = lines.split_inclusive('\n').collect();
    let chunks = all.chunks(200).zip((1..).step_by(200));
    parts.extend(
        chunks.map(|(chunk, first_line)| Part::Chunk(pb::TransferChunk { lines_json: chunk.concat(), first_line })),
    );
    parts.push(Part::Commit(pb::ImportCommit { blake3: summary.blake3.clone() }));
    let requests = tokio_stream::iter(parts).map(|part| pb::ImportRequest { part: Some(part) });
    let mut stream = restored.admin().import(requests).await.unwrap().into_inner();
    let mut stored = None;
    while let Some(response) = within("the import", stream.message()).await.unwrap() {
        if let Some(pb::import_response::Event::Completed(completed)) = response.event {
            stored = Some(completed);
        }
    }
    assert_eq!(
        stored.unwrap().stored,
        summary.records.iter().map(|record| pb::RecordCount { ..record.clone() }).collect::<Vec<_>>()
    );
    assert!(before.len() >= 500, "{}", before.len());
    let mut with_documents = 0;
    let mut workspaces = WorkspaceServiceClient::new(restored.fresh_channel());
    for (id, text) in &before {
        restored
            .exchanges()
            .inspect(ask::inspect(id))
            .await
            .unwrap_or_else(|status| panic!("{id} was acknowledged before: {status:?}"));
        if !text.is_empty() {
            with_documents += 1;
            let request = pb::ReadDocumentRequest { at: Some(documents::before(id)), name: "log".into() };
            let read = workspaces.read_document(request).await;
            let read = read.unwrap_or_else(|status| panic!("{id} had `{text}`: {status:?}")).into_inner();
            assert_eq!(read.data, text.as_bytes(), "what the turn of {id} started from");
        }
    }
    assert!(with_documents >= 100, "{with_documents}");
    let mut verified = restored.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    while let Some(response) = verified.message().await.unwrap() {
        if let Some(pb::verify_response::Event::Finding(finding)) = response.event {
            panic!("{finding:?}");
        }
    }
    for n in 0..WRITERS {
        let turn = ask::on_thread(ask::on(&format!("w{n}")), ask::text("go on"));
        restored.exchanges().r#continue(turn).await.expect("work goes on where the backup was taken");
    }
}
