//! Documents in few words: points at which they are read, changes, and what is there. It must not know any one test.

use std::collections::BTreeMap;

use antiphon::grpc::pb;
use pb::workspace_point::Point;
use tonic::Status;

use super::ask;
use super::server::Running;

pub(crate) fn live(thread: &str) -> pb::WorkspacePoint {
    at(Point::Thread(pb::ThreadTurnPoint { thread_id: thread.into(), at: None }))
}

pub(crate) fn after_turn(thread: &str, turn: u64) -> pb::WorkspacePoint {
    let after = pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn });
    at(Point::Thread(pb::ThreadTurnPoint { thread_id: thread.into(), at: Some(after) }))
}

pub(crate) fn after_run(thread: &str, run_id: &str) -> pb::WorkspacePoint {
    let after = pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: run_id.into() });
    at(Point::Thread(pb::ThreadTurnPoint { thread_id: thread.into(), at: Some(after) }))
}

pub(crate) fn exchange(id: &str) -> pb::WorkspacePoint {
    at(Point::Exchange(pb::ExchangeWorkspace { exchange_id: id.into(), before: false }))
}

pub(crate) fn before(id: &str) -> pb::WorkspacePoint {
    at(Point::Exchange(pb::ExchangeWorkspace { exchange_id: id.into(), before: true }))
}

pub(crate) fn root(name: &str) -> pb::WorkspacePoint {
    at(Point::Root(pb::WorkspaceRoot { workspace_root: name.into() }))
}

fn at(point: Point) -> pb::WorkspacePoint {
    pb::WorkspacePoint { point: Some(point) }
}

pub(crate) fn put(name: &str, data: impl Into<Vec<u8>>) -> pb::DocumentEdit {
    let put = pb::PutDocument { name: name.into(), data: data.into().into(), ..Default::default() };
    pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Put(put)) }
}

pub(crate) fn remove(name: &str) -> pb::DocumentEdit {
    let remove = pb::RemoveDocument { name: name.into() };
    pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Remove(remove)) }
}

pub(crate) fn copy(name: &str, source: pb::WorkspacePoint, source_name: &str) -> pb::DocumentEdit {
    let copy = pb::CopyDocument { name: name.into(), source: Some(source), source_name: source_name.into() };
    pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Copy(copy)) }
}

pub(crate) fn write(thread: &str, edits: Vec<pb::DocumentEdit>) -> pb::WriteDocumentsRequest {
    pb::WriteDocumentsRequest { thread_id: thread.into(), edits, ..Default::default() }
}

/// Changes documents, which must go well.
pub(crate) async fn wrote(server: &Running, thread: &str, edits: Vec<pb::DocumentEdit>) -> pb::WriteDocumentsResponse {
    server.workspaces().write_documents(write(thread, edits)).await.unwrap().into_inner()
}

/// A document as text.
pub(crate) async fn read(server: &Running, at: pb::WorkspacePoint, name: &str) -> Result<String, Status> {
    let request = pb::ReadDocumentRequest { at: Some(at), name: name.into() };
    let read = server.workspaces().read_document(request).await?.into_inner();
    Ok(String::from_utf8(read.data.to_vec()).unwrap())
}

/// A page of documents.
pub(crate) async fn list(server: &Running, at: pb::WorkspacePoint) -> Result<pb::ListDocumentsResponse, Status> {
    let request = pb::ListDocumentsRequest { at: Some(at), page_size: 1_000, ..Default::default() };
    Ok(server.workspaces().list_documents(request).await?.into_inner())
}

/// Every document of a version with its text.
pub(crate) async fn all(server: &Running, at: pb::WorkspacePoint) -> BTreeMap<String, String> {
    let listed = list(server, at).await.unwrap();
    assert_eq!(listed.next_page_token, "");
    let version = listed.version.unwrap();
    assert_eq!(version.document_count, listed.documents.len() as u64);
    assert_eq!(version.size_bytes, listed.documents.iter().map(|document| document.size_bytes).sum::<u64>());
    let mut all = BTreeMap::new();
    for document in listed.documents {
        let text = read(server, root(&version.workspace_root), &document.name).await.unwrap();
        all.insert(document.name, text);
    }
    all
}

/// Documents as [`all`] gives them.
pub(crate) fn these<const N: usize>(documents: [(&str, &str); N]) -> BTreeMap<String, String> {
    documents.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
}

/// A new thread with one turn; gives its exchange.
pub(crate) async fn began(server: &Running, thread: &str) -> pb::Exchange {
    let request = ask::capture_on_new(thread, ask::text_as(&format!("{thread}-1"), "1"));
    server.exchanges().capture(request).await.unwrap().into_inner().exchange.unwrap()
}

/// Another turn on a thread; gives its exchange.
pub(crate) async fn went_on(server: &Running, thread: &str, run_id: &str) -> pb::Exchange {
    let request = ask::on_thread(ask::on(thread), ask::text_as(run_id, run_id));
    server.exchanges().r#continue(request).await.unwrap().into_inner().exchange.unwrap()
}

/// A bare fork of a thread after a turn.
pub(crate) async fn forked(server: &Running, thread: &str, turn: Option<u64>, new: &str) -> pb::Thread {
    let at = turn.map(|turn| pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn }));
    let point = pb::ThreadTurnPoint { thread_id: thread.into(), at };
    let request = pb::ForkRequest {
        source: Some(pb::fork_request::Source::Thread(point)),
        branches: vec![ask::branch(new, None)],
        ..Default::default()
    };
    server.exchanges().fork(request).await.unwrap().into_inner().results.remove(0).thread.unwrap()
}
