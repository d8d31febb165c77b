//! kill -9 in the middle of an erasure: the next start finishes it under its receipt, and nothing of what was erased is left.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::import_request::Part;
use pb::retention_target::Target;
use pb::workspace_service_client::WorkspaceServiceClient;
use tokio_stream::StreamExt;
use tonic::Code;

use crate::support::program::Program;
use crate::support::server::scripted;
use crate::support::{ask, documents, refused, within};

const TURNS: usize = 1_000;

/// A thread of many turns with a document; gives the exchanges.
async fn furnish(program: &Program) -> Vec<String> {
    let said = (0..TURNS).flat_map(|n| [ask::user(&format!("secret {n}")), ask::assistant(&format!("secret a{n}"))]);
    let new = pb::NewThread { thread_id: "t".into(), ..Default::default() };
    let record =
        pb::RecordRequest { thread: Some(pb::record_request::Thread::NewThread(new)), ..ask::record(said.collect()) };
    let recorded = program.exchanges().record(record).await.unwrap().into_inner();
    let mut workspaces = WorkspaceServiceClient::new(program.fresh_channel());
    let large = format!("secret document {}", "d".repeat(200_000));
    workspaces.write_documents(documents::write("t", vec![documents::put("log", large)])).await.unwrap();
    recorded.exchanges.into_iter().map(|exchange| exchange.exchange_id).collect()
}

/// Restores a backup into a new store.
async fn restore(program: &Program, lines: String) {
    let parts = [
        Part::Open(pb::ImportOpen::default()),
        Part::Chunk(pb::TransferChunk { lines_json: lines, first_line: 1 }),
        Part::Commit(pb::ImportCommit::default()),
    ];
    let requests = tokio_stream::iter(parts).map(|part| pb::ImportRequest { part: Some(part) });
    let mut stream = program.admin().import(requests).await.unwrap().into_inner();
    while within("the import", stream.message()).await.unwrap().is_some() {}
}

async fn whole_export(program: &Program) -> String {
    let mut stream = program.admin().export(pb::ExportRequest::default()).await.unwrap().into_inner();
    let mut lines = String::new();
    while let Some(response) = stream.message().await.unwrap() {
        if let Some(pb::export_response::Event::Chunk(chunk)) = response.event {
            lines.push_str(&chunk.lines_json);
        }
    }
    lines
}

/// What a collection would remove.
async fn garbage(program: &Program) -> Vec<pb::RecordCount> {
    let request = pb::CollectGarbageRequest {
        dry_run: true,
        grace: Some(prost_types::Duration::default()),
        ..Default::default()
    };
    let mut stream = program.admin().collect_garbage(request).await.unwrap().into_inner();
    while let Some(response) = stream.message().await.unwrap() {
        if let Some(pb::collect_garbage_response::Event::Completed(summary)) = response.event {
            return summary.removed;
        }
    }
    panic!("the last event is `completed`");
}

async fn is_sound(program: &Program) {
    let mut verified = program.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    while let Some(response) = verified.message().await.unwrap() {
        if let Some(pb::verify_response::Event::Finding(finding)) = response.event {
            panic!("{finding:?}");
        }
    }
}

/// A kill leaves neither content nor a receipt that is not whole; nor does a backup from the middle of an erasure, which goes on where it is restored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_erasure_is_finished_under_its_receipt() {
    let config = scripted("");
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), &config).await;
    let ids = furnish(&program).await;
    let target = pb::RetentionTarget { target: Some(Target::Thread(pb::RetainedThread { thread_id: "t".into() })) };
    let request = pb::EraseRequest {
        target: Some(target),
        note: "asked to".into(),
        request_id: "once".into(),
        ..Default::default()
    };
    let mut admin = program.admin();
    let erasing = tokio::spawn({
        let request = request.clone();
        async move { admin.erase(request).await }
    });
    let mut client = program.exchanges();
    let first_gone = async {
        loop {
            if let Err(status) = client.inspect(ask::inspect(&ids[0])).await {
                refused::is(&status, Code::FailedPrecondition, Reason::ExchangeErased);
                return refused::fact(&status, "receipt_id");
            }
        }
    };
    let receipt_id = within("the first tombstone", first_gone).await;
    let get = pb::GetEraseReceiptRequest { receipt_id: receipt_id.clone() };
    let under_way = program.admin().get_erase_receipt(get.clone()).await.unwrap().into_inner().receipt.unwrap();
    assert_eq!((under_way.at_work, under_way.note.as_str(), under_way.tombstone_count), (true, "asked to", 0));
    let backup = whole_export(&program).await;
    assert!(backup.contains(r#""kind":"erasure_under_way""#) && backup.contains("secret"), "in the middle");
    program.kill();
    erasing.await.unwrap().expect_err("nobody was told that it is done");

    let program = Program::start(folder.path(), &config).await;
    // Nothing goes on from what it is to take, from the first call on.
    let last = ids.last().unwrap();
    let on = program.exchanges().r#continue(ask::after(last, ask::text("on"))).await.unwrap_err();
    refused::is(&on, Code::FailedPrecondition, Reason::ExchangeErased);
    assert_eq!(refused::fact(&on, "receipt_id"), receipt_id);
    let finished = async {
        loop {
            let receipt = program.admin().get_erase_receipt(get.clone()).await.unwrap().into_inner().receipt.unwrap();
            if !receipt.at_work {
                return receipt;
            }
        }
    };
    let receipt = within("the erasure to be finished", finished).await;
    assert_eq!((receipt.tombstone_count, receipt.note.as_str()), (TURNS as u64, "asked to"));
    assert_eq!(receipt.tombstones.len(), TURNS);
    let again = within("the repeat", program.admin().erase(request)).await.unwrap().into_inner();
    assert_eq!((again.replayed, again.receipt), (true, Some(receipt)));
    for id in &ids {
        let status = program.exchanges().inspect(ask::inspect(id)).await.unwrap_err();
        assert_eq!(refused::fact(&status, "receipt_id"), receipt_id);
    }
    let on = program.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("on"))).await.unwrap_err();
    refused::is(&on, Code::NotFound, Reason::ThreadNotFound);
    let lines = whole_export(&program).await;
    assert!(!lines.contains("secret") && !lines.contains(r#""kind":"part""#), "nothing of it is left");
    assert_eq!(garbage(&program).await, Vec::new());
    is_sound(&program).await;

    let elsewhere = tempfile::tempdir().unwrap();
    let restored = Program::start(elsewhere.path(), &config).await;
    restore(&restored, backup).await;
    let receipt = restored.admin().get_erase_receipt(get).await.unwrap().into_inner().receipt.unwrap();
    assert_eq!((receipt.at_work, receipt.tombstone_count), (false, TURNS as u64));
    assert!(!whole_export(&restored).await.contains("secret"));
    assert_eq!(garbage(&restored).await, Vec::new());
    is_sound(&restored).await;
}
