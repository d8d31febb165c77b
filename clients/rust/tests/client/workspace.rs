//! Documents of threads, and going back: what the scenarios do not play.

use std::io;
use std::time::{Duration, SystemTime};

use antiphon_client::{
    BeforeExchange, ChangeKind, Client, Code, CopyDocument, Documents, Error, ExchangeId, NewThread, PutDocument,
    RemoveDocument, ThreadPoint, Workspace, WorkspaceRoot,
};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::value::RawValue;

use crate::proxy::Proxy;
use crate::support::{fresh, refused, served};

fn large() -> Vec<u8> {
    (0..=255).cycle().take(3_072_000).collect()
}

async fn empty(client: &Client) -> Workspace {
    client.workspace(client.create_thread(NewThread::new()).await.unwrap().thread_id)
}

#[expect(clippy::disallowed_methods, reason = "what is on record has times by the clock on the wall")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// S1-3, S1-4, S1-5.
#[tokio::test]
async fn a_conversation_has_its_documents_and_goes_back() {
    let (_server, client) = served();
    let talk = client.conversation(NewThread::new().id(fresh())).await.unwrap();
    let docs = talk.workspace();
    let nothing = docs.version().await.unwrap();
    assert_eq!((nothing.root.as_str(), nothing.document_count, nothing.size_bytes), ("", 0, 0));
    assert!(!nothing.etag.is_empty() && docs.thread_id() == talk.thread_id);
    let big: Box<RawValue> = serde_json::from_str(r#"{"n":12345678901234567890}"#).unwrap();
    let written = docs.write("bytes", b"\x00\xff").metadata(&big).await.unwrap();
    assert_eq!(written.documents[0].metadata.as_ref().unwrap().get(), big.get());
    assert!(written.documents[0].update_time > now() - Duration::from_secs(300));
    assert_eq!(written.documents[0].raw().name, "bytes");
    let first = talk.prompt("one").await.unwrap();
    docs.edit([CopyDocument::new("kept", &written.version).source_name("bytes").into()]).await.unwrap();
    docs.remove("bytes").etag(docs.version().await.unwrap().etag).await.unwrap();
    refused(docs.copy("kept", &written.version).await, Code::NotFound, "DOCUMENT_NOT_FOUND");
    let second = talk.prompt("two").await.unwrap();
    let found = docs.read("kept").await.unwrap();
    assert_eq!((found.data.as_slice(), &found.version), (&b"\x00\xff"[..], &docs.version().await.unwrap()));
    assert!(found.text().is_err());
    let changes = client.documents(&first).diff(&docs).await.unwrap();
    let kinds: Vec<_> = changes.iter().map(|change| (change.name.as_str(), change.kind)).collect();
    assert_eq!(kinds, [("bytes", ChangeKind::Removed), ("kept", ChangeKind::Added)]);
    assert!(changes[0].left.is_some() && changes[0].right.is_none());
    refused(talk.restore(&first).expected_head(&first).await, Code::Aborted, "HEAD_MOVED");
    let back = talk.restore(&first).expected_head(&second).timeout(Duration::from_secs(60)).await.unwrap();
    assert_eq!(back.head_exchange_id, first.exchange_id);
    let third = talk.prompt("three").await.unwrap();
    assert_eq!(third.parent_exchange_id, first.exchange_id);
    let moves = talk.moves().all().await.unwrap();
    let to: Vec<_> = moves.iter().map(|one| (one.to_exchange_id.as_str(), one.run_id.as_str())).collect();
    let wanted = [(&third, true), (&first, false), (&second, true), (&first, true)];
    let wanted = wanted.map(|(at, run)| (at.exchange_id.as_str(), if run { at.run_id.as_str() } else { "" }));
    assert_eq!(to, wanted);
    assert!(moves[0].time >= moves[3].time && moves[3].from_exchange_id.is_empty());
    assert_eq!(moves[1].from_root, found.version.root);
}

#[tokio::test]
async fn what_was_never_captured_has_no_documents_and_is_no_way_back() {
    let (_server, client) = served();
    let loose = client.prompt("one").await.unwrap();
    let docs = empty(&client).await;
    let told = [
        client.documents(&loose).version().await.unwrap_err(),
        client.documents(&loose).list("").next().await.unwrap().unwrap_err(),
        docs.diff(&loose).await.unwrap_err(),
        docs.copy("a", &loose).await.unwrap_err(),
        client.documents(&loose).read_stream("a").await.unwrap_err(),
        client.restore(docs.thread_id(), &loose).await.unwrap_err(),
    ];
    for error in told {
        assert_eq!((error.code, error.reason.as_str()), (Code::FailedPrecondition, "NOT_CAPTURED"));
    }
    // What is no JSON is said before any call.
    let odd = std::collections::BTreeMap::from([((1, 2), 3)]);
    refused(docs.write("a", "x").metadata(&odd).await, Code::InvalidArgument, "");
    refused(docs.edit([PutDocument::new("a", "x").metadata(&odd).into()]).await, Code::InvalidArgument, "");
}

#[tokio::test]
async fn many_documents_come_in_pages_of_one_version() {
    let (_server, client) = served();
    let docs = empty(&client).await;
    let names: Vec<String> = (0..120).map(|number| format!("n/{number:03}")).collect();
    docs.edit(names.iter().map(|name| PutDocument::new(name, "x").into())).await.unwrap();
    let mut pages = docs.list("n/");
    let first = pages.next().await.unwrap().unwrap();
    docs.edit([RemoveDocument::new("n/100").into()]).await.unwrap();
    let rest = pages.all().await.unwrap();
    assert_eq!([vec![first], rest].concat().into_iter().map(|document| document.name).collect::<Vec<_>>(), names);
    assert_eq!(docs.version().await.unwrap().document_count, 119);
}

#[tokio::test]
async fn content_comes_from_wherever_bytes_do() {
    let (_server, client) = served();
    let docs = empty(&client).await;
    let whole = || Ok::<_, Error>(large());
    let small = large().chunks(997).map(|piece| Ok::<_, Error>(piece.to_vec())).collect::<Vec<_>>();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), large()).unwrap();
    let written = [
        docs.write("whole", large()).await.unwrap(),
        docs.write_from("a reader", io::Cursor::new(large())).await.unwrap(),
        docs.write_stream("a list", stream::iter([whole()])).await.unwrap(),
        docs.write_stream("small pieces", stream::iter(small)).await.unwrap(),
        docs.write_stream("empty pieces", stream::iter([Ok(Vec::new()), whole(), Ok(Vec::new())])).await.unwrap(),
    ];
    let hash = &written[0].documents[0].content_blake3;
    assert!(written.iter().all(|one| one.documents[0].content_blake3 == *hash), "{written:?}");
    let found = docs.read("a reader").await.unwrap();
    assert!(found.data == large());
    assert_eq!(found.document, written[1].documents[0]);
    let pieces: Vec<_> = docs.read_stream("whole").await.unwrap().into_stream().map(Result::unwrap).collect().await;
    assert!(pieces.len() > 1 && pieces.concat() == large());
    let wrong = docs.write_stream("whole", stream::iter([Ok::<_, Error>("short")])).content_blake3(hash);
    refused(wrong.await, Code::InvalidArgument, "INVALID_FIELDS");
}

#[tokio::test]
async fn a_source_that_fails_writes_nothing() {
    let (_server, client) = served();
    let docs = empty(&client).await;
    let gone = || io::Error::other("the disk is gone");
    let told = docs.write_stream("a", stream::iter([Ok(large()), Err(gone())])).await.unwrap_err();
    assert_eq!(told.downcast::<io::Error>().unwrap().to_string(), "the disk is gone");

    struct Broken;
    impl tokio::io::AsyncRead for Broken {
        fn poll_read(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Err(io::Error::other("no such sector")))
        }
    }
    let told = docs.write_from("a", Broken).await.unwrap_err();
    assert_eq!(told.downcast::<io::Error>().unwrap().to_string(), "no such sector");
    let nobody = stream::pending::<Result<Vec<u8>, Error>>();
    let late = docs.write_stream("a", nobody).timeout(Duration::from_millis(100)).await;
    assert_eq!(late.unwrap_err().code, Code::DeadlineExceeded);
    assert!(docs.list("").all().await.unwrap().is_empty());
}

/// It goes on where it was, in the same version, whatever was written meanwhile.
#[tokio::test]
async fn a_cut_while_a_document_is_read_leaves_nothing_out() {
    let (server, direct) = served();
    let proxy = Proxy::new(server.address()).await;
    let client = Client::connect(&proxy.address).unwrap();
    let docs = empty(&direct).await;
    let written = docs.write("large", large()).await.unwrap();
    let mut reading = client.workspace(docs.thread_id()).read_stream("large").offset(7).await.unwrap();
    assert_eq!((&reading.document, &reading.version), (&written.documents[0], &written.version));
    let mut read = Vec::new();
    while let Some(piece) = reading.next().await {
        read.extend(piece.unwrap());
        if read.len() < 1_000_000 {
            proxy.cut();
            docs.write("large", "other").await.unwrap();
        }
    }
    assert!(read == large()[7..]);
    let gone = Proxy::new(server.address()).await;
    gone.close();
    let client = Client::connect(&gone.address).unwrap();
    let told = client.workspace("t").read_stream("large").timeout(Duration::from_millis(500)).await.unwrap_err();
    assert!(matches!(told.code, Code::Unavailable | Code::DeadlineExceeded), "{told:?}");
}

#[tokio::test]
async fn a_cut_while_a_document_is_written_whole_writes_it_once() {
    let (server, direct) = served();
    let proxy = Proxy::new(server.address()).await;
    let client = Client::connect(&proxy.address).unwrap();
    let docs = client.workspace(empty(&direct).await.thread_id());
    proxy.cut_after(1_000_000);
    let written = docs.write("large", large()).await.unwrap();
    assert_eq!((written.documents[0].size_bytes, written.replayed, proxy.cuts()), (3_072_000, false, 1));
    // A source is read once, so that nothing is tried again.
    proxy.cut_after(1_000_000);
    let told = docs.write_stream("other", stream::iter([Ok::<_, Error>(large())])).await;
    refused(told, Code::Unavailable, "");
    assert_eq!(proxy.cuts(), 2);
    let names: Vec<_> = docs.list("").all().await.unwrap().into_iter().map(|document| document.name).collect();
    assert_eq!(names, ["large"]);
}

/// Whatever names a version or a place is one to read from.
#[tokio::test]
async fn every_place_can_be_read_from() {
    let (_server, client) = served();
    let docs = empty(&client).await;
    let written = docs.write("plan", "early").await.unwrap();
    let talk = client.conversation(ThreadPoint::new(docs.thread_id())).await.unwrap();
    let first = talk.prompt("one").await.unwrap();
    docs.write("plan", "late").await.unwrap();
    let places: Vec<Documents> = vec![
        client.documents(&first),
        client.documents(first.clone()),
        client.documents(ExchangeId::new(&first.exchange_id)),
        client.documents(BeforeExchange::new(&first)),
        client.documents(&written.version),
        client.documents(written.version.clone()),
        client.documents(WorkspaceRoot::new(&written.version.root)),
    ];
    for place in &places {
        assert_eq!(place.read("plan").await.unwrap().text(), Ok("early"), "{place:?}");
        assert_eq!(place.diff(&docs).await.unwrap().len(), 1);
    }
    assert_eq!(docs.diff(&docs).await.unwrap(), []);
    // After a turn is what the next one started from.
    talk.prompt("two").await.unwrap();
    docs.copy("plan", &first).await.unwrap();
    for place in [docs.after_turn(1), docs.after_run(&first.run_id)] {
        assert_eq!(place.read("plan").await.unwrap().text(), Ok("late"), "{place:?}");
    }
    assert_eq!(docs.read("plan").await.unwrap().text(), Ok("early"));
}
