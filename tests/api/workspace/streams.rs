//! Documents in pieces: of any size, whole or not at all.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::stream_read_document_response::Part as Told;
use pb::stream_write_document_request::Part;
use tonic::{Code, Status};

use crate::look;
use crate::support::documents::{all, began, forked, list, live, put, read, these, wrote};
use crate::support::server::{Running, scripted};
use crate::support::{refused, within};

pub(super) fn open(name: &str) -> pb::OpenDocument {
    pb::OpenDocument { thread_id: "t".into(), name: name.into(), ..Default::default() }
}

pub(super) fn chunk(data: &[u8]) -> Part {
    Part::Chunk(pb::DocumentChunk { data: data.to_vec().into() })
}

pub(super) fn commit(hash: &str) -> Part {
    Part::Commit(pb::CommitDocument { content_blake3: hash.into() })
}

/// Bytes in which no stretch is like another.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

pub(super) fn whole(opened: pb::OpenDocument, data: &[u8]) -> Vec<Part> {
    let chunks = data.chunks(100_000).map(chunk);
    std::iter::once(Part::Open(opened)).chain(chunks).chain([commit("")]).collect()
}

pub(super) async fn send(server: &Running, parts: Vec<Part>) -> Result<pb::StreamWriteDocumentResponse, Status> {
    let parts = parts.into_iter().map(|part| pb::StreamWriteDocumentRequest { part: Some(part) });
    Ok(server.workspaces().stream_write_document(futures::stream::iter(parts)).await?.into_inner())
}

pub(super) async fn receive(
    server: &Running,
    name: &str,
    offset: u64,
) -> Result<(pb::DocumentOpened, Vec<Vec<u8>>), Status> {
    let request = pb::StreamReadDocumentRequest { at: Some(live("t")), name: name.into(), offset };
    let mut stream = server.workspaces().stream_read_document(request).await?.into_inner();
    let mut opened = None;
    let mut chunks = Vec::new();
    while let Some(told) = within("the next piece", stream.message()).await? {
        match told.part.unwrap() {
            Told::Opened(first) => {
                assert!(opened.is_none() && chunks.is_empty(), "it comes once and first");
                opened = Some(first);
            }
            Told::Chunk(chunk) => chunks.push(chunk.data.to_vec()),
        }
    }
    Ok((opened.unwrap(), chunks))
}

/// S1-24: what was cut one way comes back whole cut another way, from any place on; equal content is kept once, on whatever branches.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_document_comes_back_whole() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let data = noise(5_000_003);
    let hash = blake3::hash(&data).to_hex().to_string();
    let mut parts = whole(open("large"), &data);
    *parts.last_mut().unwrap() = commit(&hash);
    let written = send(&server, parts).await.unwrap();
    let document = written.document.clone().unwrap();
    assert_eq!((document.size_bytes, &document.content_blake3), (5_000_003, &hash));
    let before = look::verified(&server).await;
    let server = server.restart().await;
    for offset in [0, 1, 262_144, 3_000_000, 5_000_002, 5_000_003] {
        let (opened, chunks) = receive(&server, "large", offset as u64).await.unwrap();
        assert_eq!((opened.document.unwrap(), opened.version), (document.clone(), written.version.clone()));
        assert!(chunks.iter().all(|chunk| (1..=256 * 1024).contains(&chunk.len())));
        assert!(chunks.concat() == data[offset..], "from {offset}");
    }
    let beyond = receive(&server, "large", 5_000_004).await.unwrap_err();
    assert_eq!(refused::fields(&beyond), ["offset"]);
    let in_one = read(&server, live("t"), "large").await.unwrap_err();
    refused::is(&in_one, Code::InvalidArgument, Reason::LimitExceeded);
    assert!(in_one.message().contains("StreamReadDocument"), "{in_one:?}");
    // On another branch under another name, cut otherwise: no content is stored again.
    forked(&server, "t", None, "f").await;
    let again = pb::OpenDocument { thread_id: "f".into(), ..open("copy") };
    let parts = std::iter::once(Part::Open(again)).chain(data.chunks(262_144).map(chunk)).chain([commit("")]);
    send(&server, parts.collect()).await.unwrap();
    let after = look::verified(&server).await;
    assert_eq!((before["part"], after["part"]), (21, 21), "20 pieces and their list");
}

/// A stream that does not end with `commit` wrote nothing, however much of it came.
#[tokio::test(flavor = "multi_thread")]
async fn without_commit_nothing_is_written() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "1")]).await;
    let before = list(&server, live("t")).await.unwrap();
    let mut cut = whole(open("a"), &noise(3_000_000));
    cut.pop();
    let refusals = [
        (cut, "part"),
        (vec![chunk(b"x")], "part"),
        (vec![Part::Open(open("a")), Part::Open(open("b")), commit("")], "part"),
        (vec![Part::Open(open("a")), commit(""), chunk(b"x")], "part"),
        (vec![Part::Open(open("a")), chunk(b""), commit("")], "chunk.data"),
        (vec![Part::Open(open("a")), chunk(b"x"), commit(&"ab".repeat(32))], "commit.content_blake3"),
        (vec![Part::Open(open("")), commit("")], "open.name"),
    ];
    for (parts, field) in refusals {
        let refusal = send(&server, parts).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::InvalidFields);
        assert_eq!(refused::fields(&refusal), [field], "{refusal:?}");
    }
    let nobody = pb::OpenDocument { thread_id: "nobody".into(), ..open("a") };
    let nobody = send(&server, vec![Part::Open(nobody), commit("")]).await.unwrap_err();
    refused::is(&nobody, Code::NotFound, Reason::ThreadNotFound);
    assert_eq!(list(&server, live("t")).await.unwrap(), before);
}

/// An etag is compared when the stream begins and again when it is complete; a repeated stream is the same write, however it is cut.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_an_etag_and_is_safe_to_repeat() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let etag = list(&server, live("t")).await.unwrap().version.unwrap().etag;
    let opened = pb::OpenDocument { etag: etag.clone(), request_id: "once".into(), ..open("a") };
    let data = noise(700_000);
    let first = send(&server, whole(opened.clone(), &data)).await.unwrap();
    let parts = vec![Part::Open(opened.clone()), chunk(&data[..10]), chunk(&data[10..200_000])];
    let rest = data[200_000..].chunks(250_000).map(chunk).chain([commit("")]);
    let again = send(&server, parts.into_iter().chain(rest).collect()).await.unwrap();
    assert!(again.replayed && !first.replayed);
    assert_eq!((again.version, again.document), (first.version, first.document));
    let other = send(&server, whole(opened.clone(), b"other")).await.unwrap_err();
    refused::is(&other, Code::AlreadyExists, Reason::RequestIdConflict);
    let stale = pb::OpenDocument { request_id: String::new(), ..opened };
    let stale = send(&server, whole(stale, b"x")).await.unwrap_err();
    refused::is(&stale, Code::Aborted, Reason::EtagMismatch);
    // Somebody writes between the beginning and the end.
    let etag = list(&server, live("t")).await.unwrap().version.unwrap().etag;
    let (parts, feed) = futures::channel::mpsc::unbounded();
    let mut client = server.workspaces();
    let writing = tokio::spawn(async move { client.stream_write_document(feed).await });
    let say = |part| parts.unbounded_send(pb::StreamWriteDocumentRequest { part: Some(part) }).unwrap();
    say(Part::Open(pb::OpenDocument { etag, ..open("a") }));
    say(chunk(b"mine"));
    wrote(&server, "t", vec![put("b", "theirs")]).await;
    say(commit(""));
    drop(parts);
    let lost = writing.await.unwrap().unwrap_err();
    refused::is(&lost, Code::Aborted, Reason::EtagMismatch);
    assert!(receive(&server, "a", 0).await.unwrap().1.concat() == data);
}

/// A document is bounded; the stream is refused as soon as it goes beyond, whatever was to come.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_bounded() {
    let server = Running::start(format!("{}\n[limits]\nmax_document_bytes = 300000\n", scripted(""))).await;
    began(&server, "t").await;
    send(&server, whole(open("fits"), &noise(300_000))).await.unwrap();
    let mut parts = whole(open("large"), &noise(300_001));
    parts.pop();
    let refusal = send(&server, parts).await.unwrap_err();
    refused::is(&refusal, Code::InvalidArgument, Reason::LimitExceeded);
    assert_eq!(
        (refused::fact(&refusal, "limit"), refused::fields(&refusal)),
        ("max_document_bytes".into(), vec!["chunk.data".into()])
    );
    send(&server, whole(open("empty"), b"")).await.unwrap();
    assert_eq!(receive(&server, "empty", 0).await.unwrap().1.len(), 0);
    let names: Vec<String> =
        list(&server, live("t")).await.unwrap().documents.into_iter().map(|document| document.name).collect();
    assert_eq!(names, ["empty", "fits"]);
    assert_eq!(all(&server, crate::support::documents::root("")).await, these([]));
}
