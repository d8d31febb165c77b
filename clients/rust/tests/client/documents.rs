//! Steps of scenarios about documents of threads, and about going back. Knows nothing of turns.

use antiphon_client::{
    BeforeExchange, Client, CopyDocument, DocumentEdit, Documents, Error, PutDocument, RemoveDocument, ThreadTurn,
    WorkspacePoint, WorkspaceRoot,
};
use serde_json::{Value, json};

use crate::expect;
use crate::looks::{listed, one};
use crate::said::{Words, word};
use crate::scenarios::Told;

/// Plays one; else what is wrong with the scenario.
pub(crate) async fn keep(client: &Client, verb: &str, said: &Value, words: &Words<'_>) -> Result<Told, String> {
    let (name, prefix) = (word(said, "name"), word(said, "prefix"));
    let workspace = || client.workspace(word(said, "thread"));
    let place = || place(client, &said["at"], words);
    Ok(match verb {
        "documents" => listed(place().list(&prefix), expect::document).await,
        "version" => one(place().version().await, expect::version),
        "read" => one(place().read(&name).await, expect::content),
        "stream_read" => {
            let read = async || -> Result<Value, Error> {
                let stream = place().read_stream(&name).offset(said["offset"].as_u64().unwrap_or_default()).await?;
                let (document, version) = (expect::document(&stream.document), expect::version(&stream.version));
                let text = String::from_utf8(stream.all().await?).expect("a text");
                Ok(json!({"text": text, "document": document, "version": version}))
            };
            read().await.into()
        }
        "write" => {
            let mut call = workspace().write(&name, word(said, "text")).etag(word(said, "etag"));
            if let Some(media_type) = said["media_type"].as_str() {
                call = call.media_type(media_type);
            }
            if said["metadata"].is_object() {
                call = call.metadata(&said["metadata"]);
            }
            if let Some(id) = said["request_id"].as_str() {
                call = call.request_id(id);
            }
            one(call.await, expect::written)
        }
        "stream_write" => {
            let pieces = pieces(word(said, "text")).into_iter().map(Ok::<_, Error>);
            let mut call = workspace()
                .write_stream(&name, futures_util::stream::iter(pieces))
                .etag(word(said, "etag"))
                .media_type(word(said, "media_type"))
                .content_blake3(word(said, "content_blake3"));
            if said["metadata"].is_object() {
                call = call.metadata(&said["metadata"]);
            }
            if let Some(id) = said["request_id"].as_str() {
                call = call.request_id(id);
            }
            one(call.await, expect::written)
        }
        "edit" => {
            let edits = said["edits"].as_array().into_iter().flatten().map(|said| edit(said, words));
            let mut call = workspace().edit(edits).etag(word(said, "etag"));
            if let Some(id) = said["request_id"].as_str() {
                call = call.request_id(id);
            }
            one(call.await, expect::written)
        }
        "diff_documents" => {
            let left = client.documents(point(&said["left"], words));
            let mut call = left.diff(point(&said["right"], words)).prefix(prefix);
            if said["unified"] == true {
                call = call.unified();
            }
            listed(call.pages(), expect::change).await
        }
        "restore" => {
            let mut call = client.restore(word(said, "thread"), words.on_record(&said["to"]));
            if !said["expected_head"].is_null() {
                call = call.expected_head(words.on_record(&said["expected_head"]));
            }
            if let Some(id) = said["request_id"].as_str() {
                call = call.request_id(id);
            }
            one(call.await, expect::thread)
        }
        "moves" => listed(client.moves(word(said, "thread")), expect::moved).await,
        _ => return Err(format!("there is no step {verb:?}")),
    })
}

/// The documents there; a thread's by its own way.
fn place(client: &Client, at: &Value, words: &Words<'_>) -> Documents {
    let Some(thread) = at["thread"].as_str() else { return client.documents(point(at, words)) };
    let workspace = client.workspace(thread);
    match (at["after_turn"].as_u64(), at["after_run"].as_str()) {
        (Some(turn), _) => workspace.after_turn(turn),
        (None, Some(run_id)) => workspace.after_run(run_id),
        (None, None) => (*workspace).clone(),
    }
}

fn point(at: &Value, words: &Words<'_>) -> WorkspacePoint {
    if let Some(thread) = at["thread"].as_str() {
        return match (at["after_turn"].as_u64(), at["after_run"].as_str()) {
            (Some(turn), _) => ThreadTurn::after_turn(thread, turn).into(),
            (None, Some(run_id)) => ThreadTurn::after_run(thread, run_id).into(),
            (None, None) => ThreadTurn::head(thread).into(),
        };
    }
    if !at["before"].is_null() {
        return BeforeExchange::new(words.on_record(&at["before"])).into();
    }
    match at["root"].as_str() {
        Some(root) => WorkspaceRoot::new(root).into(),
        None => words.on_record(at).into(),
    }
}

fn edit(said: &Value, words: &Words<'_>) -> DocumentEdit {
    if let Some(name) = said["put"].as_str() {
        let mut put = PutDocument::new(name, word(said, "text")).media_type(word(said, "media_type"));
        if said["metadata"].is_object() {
            put = put.metadata(&said["metadata"]);
        }
        return put.into();
    }
    match said["copy"].as_str() {
        Some(name) => CopyDocument::new(name, point(&said["from"], words)).source_name(word(said, "name")).into(),
        None => RemoveDocument::new(word(said, "remove")).into(),
    }
}

/// Content in several pieces, of which none is what a message carries.
fn pieces(text: String) -> Vec<Vec<u8>> {
    let data = text.into_bytes();
    data.chunks((data.len() / 2).clamp(1, 300_000)).map(<[u8]>::to_vec).collect()
}
