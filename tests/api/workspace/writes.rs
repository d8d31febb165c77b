//! Writing documents: all or none, seen by the next call, refused when something changed meanwhile, safe to repeat.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use futures::FutureExt;
use futures::future::join_all;
use tonic::Code;

use crate::support::documents::{all, began, copy, list, live, put, read, remove, root, these, went_on, write, wrote};
use crate::support::server::{Running, scripted};
use crate::support::{ask, refused};

async fn empty(server: &Running, thread: &str) {
    let new = pb::NewThread { thread_id: thread.into(), ..Default::default() };
    let request = pb::ThreadServiceCreateRequest { thread: Some(new), ..Default::default() };
    server.threads().create(request).await.unwrap();
}

/// S1-5: a thread has documents, even before its first turn; what was written is read by the next call, and after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there() {
    let server = Running::echo().await;
    empty(&server, "t").await;
    let nothing = list(&server, live("t")).await.unwrap();
    let version = nothing.version.unwrap();
    assert_eq!((version.workspace_root.as_str(), version.document_count, nothing.documents.len()), ("", 0, 0));
    assert!(!version.etag.is_empty());
    let plan = pb::PutDocument {
        name: "notes/plan".into(),
        media_type: "text/markdown".into(),
        data: "# Plan".into(),
        metadata_json: "{\"b\":1,\"a\":12345678901234567890}".into(),
    };
    let edits = vec![
        pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Put(plan)) },
        put("notes/empty", ""),
        put("bytes", vec![0, 255, 254]),
    ];
    let written = wrote(&server, "t", edits).await;
    let names: Vec<&str> = written.documents.iter().map(|document| document.name.as_str()).collect();
    assert_eq!(names, ["notes/plan", "notes/empty", "bytes"], "in the order of the changes");
    let document = written.documents[0].clone();
    assert_eq!((document.size_bytes, document.media_type.as_str()), (6, "text/markdown"));
    assert_eq!(document.content_blake3, blake3::hash(b"# Plan").to_hex().as_str());
    assert_eq!(document.metadata_json, "{\"b\":1,\"a\":12345678901234567890}", "verbatim");
    assert!(document.update_time.is_some());
    assert_eq!(written.documents[1].media_type, "application/octet-stream");
    let version = written.version.unwrap();
    assert_eq!((version.document_count, version.size_bytes), (3, 9));
    let server = server.restart().await;
    let listed = list(&server, live("t")).await.unwrap();
    assert_eq!(listed.version.unwrap(), version);
    assert_eq!(listed.documents[2], document, "by name");
    let request = pb::ReadDocumentRequest { at: Some(live("t")), name: "bytes".into() };
    let whole = server.workspaces().read_document(request).await.unwrap().into_inner();
    assert_eq!((whole.data.to_vec(), whole.version.unwrap()), (vec![0, 255, 254], version.clone()));
    // A version by its name stays, whatever is written later.
    wrote(&server, "t", vec![remove("bytes"), remove("notes/empty"), put("notes/plan", "other")]).await;
    assert_eq!(all(&server, live("t")).await, these([("notes/plan", "other")]));
    assert_eq!(read(&server, root(&version.workspace_root), "notes/plan").await.unwrap(), "# Plan");
    assert_eq!(list(&server, root(&version.workspace_root)).await.unwrap().version.unwrap().etag, "");
}

/// All changes or none; each sees those before it; what is to be removed must be there.
#[tokio::test(flavor = "multi_thread")]
async fn changes_are_made_in_order_and_all_or_none() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "1"), put("b", "2")]).await;
    let mut client = server.workspaces();
    let missing = write("t", vec![put("c", "3"), remove("a"), remove("a")]);
    let refusal = client.write_documents(missing).await.unwrap_err();
    refused::is(&refusal, Code::NotFound, Reason::DocumentNotFound);
    assert_eq!(all(&server, live("t")).await, these([("a", "1"), ("b", "2")]));
    // Renamed: copied and removed in one write. What is copied is as it was before.
    let edits = vec![put("b", "new"), copy("c", live("t"), "b"), remove("a"), put("a", "again")];
    let written = wrote(&server, "t", edits).await;
    assert_eq!(written.documents.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["b", "c", "a"]);
    assert_eq!(all(&server, live("t")).await, these([("a", "again"), ("b", "new"), ("c", "2")]));
    let refusal = client.write_documents(write("t", vec![copy("d", live("t"), "nowhere")])).await.unwrap_err();
    refused::is(&refusal, Code::NotFound, Reason::DocumentNotFound);
    let refusal = read(&server, live("t"), "nowhere").await.unwrap_err();
    refused::is(&refusal, Code::NotFound, Reason::DocumentNotFound);
    // Without documents a workspace is the one that it was at first.
    let none = wrote(&server, "t", vec![remove("a"), remove("b"), remove("c")]).await.version.unwrap();
    assert_eq!((none.workspace_root.as_str(), none.document_count, none.size_bytes), ("", 0, 0));
}

/// A write that has seen another state is told the present one; of two that have seen the same, one wins.
#[tokio::test(flavor = "multi_thread")]
async fn an_etag_is_compared_and_set() {
    let server = Running::echo().await;
    empty(&server, "t").await;
    let first = list(&server, live("t")).await.unwrap().version.unwrap().etag;
    let with =
        |etag: &str, text: &str| pb::WriteDocumentsRequest { etag: etag.into(), ..write("t", vec![put("a", text)]) };
    let second = server.workspaces().write_documents(with(&first, "1")).await.unwrap().into_inner();
    let second = second.version.unwrap().etag;
    let stale = server.workspaces().write_documents(with(&first, "2")).await.unwrap_err();
    refused::is(&stale, Code::Aborted, Reason::EtagMismatch);
    assert_eq!(refused::fact(&stale, "etag"), second);
    let racing = join_all((0..8).map(|number| {
        let (mut client, request) = (server.workspaces(), with(&second, &number.to_string()));
        async move { client.write_documents(request).await }
    }));
    let racing = racing.await;
    let won: Vec<_> = racing.iter().flatten().collect();
    assert_eq!(won.len(), 1);
    let now = won[0].get_ref().version.clone().unwrap().etag;
    for lost in racing.iter().filter_map(|one| one.as_ref().err()) {
        refused::is(lost, Code::Aborted, Reason::EtagMismatch);
        assert_eq!(refused::fact(lost, "etag"), now);
    }
    // A state that comes back is another state.
    let version = |written: pb::WriteDocumentsResponse| written.version.unwrap();
    let emptied = version(wrote(&server, "t", vec![remove("a")]).await);
    assert!(emptied.workspace_root.is_empty() && emptied.etag != first);
    // Those that saw nothing write over whatever is there, none of them lost.
    let writes = (0..16).map(|number| wrote(&server, "t", vec![put(&format!("n{number}"), "x")]).boxed_local());
    join_all(writes).await;
    assert_eq!(list(&server, live("t")).await.unwrap().documents.len(), 16);
}

/// The same request id and request is the same write; another request is none.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_safe_to_repeat() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let etag = list(&server, live("t")).await.unwrap().version.unwrap().etag;
    let request = |text: &str| pb::WriteDocumentsRequest {
        request_id: "once".into(),
        etag: etag.clone(),
        ..write("t", vec![put("a", text), put("b", "2"), put("a", "last")])
    };
    let first = server.workspaces().write_documents(request("1")).await.unwrap().into_inner();
    assert!(!first.replayed);
    wrote(&server, "t", vec![put("a", "later"), remove("b")]).await;
    let server = server.restart().await;
    let again = server.workspaces().write_documents(request("1")).await.unwrap().into_inner();
    assert!(again.replayed);
    assert_eq!(pb::WriteDocumentsResponse { replayed: false, ..again }, first);
    assert_eq!(all(&server, live("t")).await, these([("a", "later")]), "nothing was written again");
    let other = server.workspaces().write_documents(request("other")).await.unwrap_err();
    refused::is(&other, Code::AlreadyExists, Reason::RequestIdConflict);
}

/// What a workspace may hold is bounded; what would go beyond is refused before anything is written, by field and with the way out.
#[tokio::test(flavor = "multi_thread")]
async fn limits_are_kept() {
    let limits = "[limits]\nmax_workspace_documents = 3\nmax_workspace_bytes = 100\n";
    let server = Running::start(format!("{}\n{limits}", scripted(""))).await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "1"), put("b", "2"), put("c", "3")]).await;
    let refuse = async |edits| server.workspaces().write_documents(write("t", edits)).await.unwrap_err();
    let fourth = refuse(vec![put("d", "4")]).await;
    refused::is(&fourth, Code::InvalidArgument, Reason::LimitExceeded);
    assert_eq!(
        (refused::fact(&fourth, "limit"), refused::fact(&fourth, "max")),
        ("max_workspace_documents".into(), "3".into())
    );
    assert_eq!(refused::fields(&fourth), ["edits"]);
    let large = refuse(vec![put("c", "x".repeat(99))]).await;
    refused::is(&large, Code::InvalidArgument, Reason::LimitExceeded);
    assert_eq!(refused::fact(&large, "limit"), "max_workspace_bytes");
    wrote(&server, "t", vec![remove("a"), put("d", "4"), put("c", "x".repeat(98))]).await;
    assert_eq!(list(&server, live("t")).await.unwrap().version.unwrap().size_bytes, 100);
    let whole = refuse(vec![put("d", vec![0; (1 << 20) + 1])]).await;
    refused::is(&whole, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&whole), ["edits[0].put.data"]);
    assert!(whole.message().contains("StreamWriteDocument"), "{whole:?}");
}

/// Points that are not there are told apart, and a version of another namespace's name is none.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_told() {
    let server = Running::echo().await;
    began(&server, "t").await;
    went_on(&server, "t", "r2").await;
    let thread = list(&server, live("nobody")).await.unwrap_err();
    refused::is(&thread, Code::NotFound, Reason::ThreadNotFound);
    let exchange = list(&server, crate::support::documents::exchange("0190a5c1-7b1e-7000-8000-000000000000")).await;
    refused::is(&exchange.unwrap_err(), Code::NotFound, Reason::ExchangeNotFound);
    let version = list(&server, root(&"ab".repeat(32))).await.unwrap_err();
    refused::is(&version, Code::NotFound, Reason::ResourceNotFound);
    assert_eq!(refused::fact(&version, "kind"), "workspace_version");
    let turn = list(&server, crate::support::documents::after_turn("t", 3)).await.unwrap_err();
    refused::is(&turn, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&turn), ["at.thread.after_turn.turn"]);
    let nobody = server.workspaces().write_documents(write("nobody", vec![put("a", "1")])).await.unwrap_err();
    refused::is(&nobody, Code::NotFound, Reason::ThreadNotFound);
    // The content of a document is no version, whatever it is made of.
    wrote(&server, "t", vec![put("a", "1")]).await;
    let source = vec![copy("b", crate::support::documents::after_turn("t", 9), "a")];
    let copied = server.workspaces().write_documents(write("t", source)).await.unwrap_err();
    assert_eq!(refused::fields(&copied), ["edits[0].copy.source.thread.after_turn.turn"]);
    assert_eq!(
        server.exchanges().inspect(ask::inspect(&look_head(&server).await)).await.unwrap().into_inner().messages.len(),
        4
    );
}

async fn look_head(server: &Running) -> String {
    crate::look::thread(server, "t").await.head_exchange_id
}

/// B076: what a document says is never code: not for templates, not for anything.
#[tokio::test(flavor = "multi_thread")]
async fn b076_braces_in_documents_are_carried_byte_for_byte() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let text = "{{q}} {x} {% raw %} \u{0} \r\n";
    wrote(&server, "t", vec![put("{{name}}", text)]).await;
    went_on(&server, "t", "r2").await;
    went_on(&server, "t", "r3").await;
    for at in [live("t"), crate::support::documents::after_turn("t", 2)] {
        assert_eq!(all(&server, at).await, these([("{{name}}", text)]));
    }
}
