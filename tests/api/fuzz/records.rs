//! Records that are not what was written, although their checksums say so: what a server of another version, or a fault of this one, may have left. It
//! must not know what a record means.

use std::path::Path;

use antiphon::grpc::pb;
use antiphon::store::sled::{Config, Sled};
use antiphon::store::{Key, Namespace, Range, Store, Write};
use bytes::Bytes;
use prost_reflect::DescriptorPool;
use tonic::{Code, Status};

use super::dice::{Dice, rounds};
use super::wire;
use crate::foreign;
use crate::support::coordinate::{Loop, start_on};
use crate::support::server::{Running, scripted};
use crate::support::{ask, documents, raw, transfer, within};

/// Before the payload of a value: format, flags, checksum.
const HEADER: usize = 18;

/// The value with this payload that a store of ours would have written under a key.
fn sealed(key: &[u8], payload: &[u8]) -> Bytes {
    let header = [1, 0];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(key.len() as u64).to_be_bytes());
    hasher.update(key);
    hasher.update(&header);
    hasher.update(payload);
    let mut checksum = [0; HEADER - 2];
    hasher.finalize_xof().fill(&mut checksum);
    [&header[..], &checksum, payload].concat().into()
}

/// A bit of everything.
async fn furnish(server: &Running) {
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("THREAD", ask::text_as("RUN", "hi"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    documents::wrote(server, "THREAD", vec![documents::put("a.txt", "one"), documents::put("b/c.txt", "two")]).await;
    client.r#continue(ask::on_thread(ask::on("THREAD"), ask::text_as("RUN2", "more"))).await.unwrap();
    client.fork(ask::fork(&first, vec![ask::branch("fork", Some(ask::text("other")))])).await.unwrap();
    let offering = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as("tools", "call look") };
    client.capture(ask::capture_on_new("waits", offering)).await.unwrap();
    client.record(ask::record(vec![ask::user("a"), ask::assistant("b")])).await.unwrap();
    let prepare = pb::PrepareRequest { request: Some(ask::text("later")), ..Default::default() };
    client.prepare(prepare).await.unwrap();
    let mut stream = Loop::start(server, start_on("fork", 3)).await;
    stream.started().await;
    stream.decision().await;
    let restore = pb::RestoreRequest {
        thread_id: "THREAD".into(),
        to: Some(ask::point(&first)),
        request_id: "restore".into(),
        ..Default::default()
    };
    server.threads().restore(restore).await.unwrap();
}

async fn everything(store: &Sled) -> Vec<(Namespace, Key, Bytes)> {
    let mut all = Vec::new();
    for space in store.namespaces().await.unwrap() {
        let entries = store.scan(&space, Range::prefix(b"", usize::MAX)).await.unwrap();
        all.extend(entries.into_iter().map(|(key, value)| (space.clone(), key, value)));
    }
    all
}

async fn replace(store: &Sled, changes: Vec<(Namespace, Key, Option<Bytes>)>) {
    for (space, key, value) in changes {
        let mut write = Write::default();
        match value {
            Some(value) => write.puts.push((key, value)),
            None => write.deletes.push(key),
        }
        store.commit(&space, write).await.unwrap();
    }
}

fn open(folder: &Path) -> Sled {
    Sled::open(&Config { min_free_bytes: 0, ..Config::directory(folder.join("data")) }).unwrap()
}

/// What a caller is told is never that something in the server broke without a word.
#[track_caller]
fn is_told(what: &str, changed: &str, status: &Status) {
    use tonic_types::StatusExt;
    let reason = status.get_details_error_info().map(|info| info.reason);
    let broke = matches!(status.code(), Code::Internal | Code::Unknown);
    assert!(!broke && reason.is_some(), "{what}: {status:?}; changed: {changed}");
}

/// Everything can be asked of a store whose records were changed, whatever becomes of it; what can be exported of it is imported whole, or refused.
#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_not_what_was_written_are_told() {
    let mut dice = Dice::new("records");
    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    let mut server = Running::start(scripted(
        "[[backends.script.rules]]\nwhen = \"call look\"\ntool_calls = [{ name = \"look\", arguments = \"{}\" }]\n",
    ))
    .await;
    furnish(&server).await;
    server.stop().await;
    let store = open(&server.folder());
    let truth = everything(&store).await;
    drop(store);
    for _ in 0..rounds().div_ceil(3) {
        let mut changes = Vec::new();
        for _ in 0..=dice.roll(2) {
            let (space, key, value) = dice.one(&truth).clone();
            // What is compressed or has no envelope is left to those who flip bits.
            let payload = value.get(HEADER..).filter(|_| value.starts_with(&[1, 0])).map(<[u8]>::to_vec);
            let value = match payload {
                Some(_) if dice.once_in(8) => None,
                Some(_) if dice.once_in(6) => {
                    let other = &dice.one(&truth).2;
                    Some(sealed(&key, other.get(HEADER..).unwrap_or_default()))
                }
                Some(payload) => Some(sealed(&key, &wire::changed(&mut dice, &payload))),
                None => None,
            };
            changes.push((space, key, value));
        }
        let what = format!("{changes:?}");
        let store = open(&server.folder());
        replace(&store, changes).await;
        store.close().await.unwrap();
        drop(store);
        server = server.restart().await;
        let export = server.admin().export(pb::ExportRequest::default()).await;
        let exported = match export {
            Ok(stream) => within("an export", transfer::read(stream.into_inner())).await,
            Err(status) => Err(status),
        };
        match exported {
            Ok((lines, _)) => {
                let into = Running::start(scripted("")).await;
                let open = pb::ImportOpen { skip_faulty: dice.once_in(2), ..Default::default() };
                let imported = within("an import", transfer::import_as(&into, open, &lines, 3)).await;
                if let Err(status) = imported {
                    is_told("import", &what, &status);
                }
                // What contradicts itself in the export may be told by a verification; it comes to its end.
                within("a verification", transfer::findings(&into)).await;
            }
            Err(status) => is_told("export", &what, &status),
        }
        for (rpc, requests) in foreign::asks() {
            let method = foreign::method(&pool, rpc);
            for request in requests {
                let message = foreign::bytes(&method, &request, &[], true);
                let called = raw::call(server.channel(), rpc, vec![message], &[("grpc-timeout", "20S")]);
                if let Err(status) = within(rpc, called).await {
                    is_told(rpc, &what, &status);
                }
            }
        }
        server.stop().await;
        let store = open(&server.folder());
        let now = everything(&store).await;
        let back = |(space, key, _): &(Namespace, Key, Bytes)| (space.clone(), key.clone(), None);
        replace(&store, now.iter().map(back).collect()).await;
        replace(&store, truth.iter().cloned().map(|(space, key, value)| (space, key, Some(value))).collect()).await;
        store.close().await.unwrap();
    }
}
