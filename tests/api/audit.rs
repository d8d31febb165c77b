//! The audit log of the real program: who took out, changed or removed what, and what came of it; and not a word of what was said.

use std::path::Path;
use std::time::Duration;

use antiphon::grpc::pb;
use prost::Message as _;
use serde_json::Value;

use crate::access::{Keys, config};
use crate::retention::{exchange, now};
use crate::support::program::{LOG, Program};
use crate::support::{ask, documents, raw, within};

/// Is in everything that is said, kept and noted.
const CANARY: &str = "canary-of-content";

/// A caller with a key, whose calls have their names as ids.
struct Caller<'a> {
    program: &'a Program,
    header: String,
}

impl Caller<'_> {
    /// The id of its key, as the log has it.
    fn id(&self) -> &str {
        self.header.strip_prefix("Bearer antiphon_").unwrap().split('_').next().unwrap()
    }

    async fn answers(
        &self,
        rpc: &str,
        request_id: &str,
        messages: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, tonic::Status> {
        let headers = [("authorization", self.header.as_str()), ("antiphon-request-id", request_id)];
        within(rpc, raw::call(self.program.fresh_channel(), rpc, messages, &headers)).await
    }

    /// A call that must go well; its last answer.
    async fn call<T: prost::Message + Default>(&self, rpc: &str, id: &str, request: &impl prost::Message) -> T {
        let answers = self.answers(rpc, id, vec![request.encode_to_vec()]).await;
        T::decode(answers.unwrap_or_else(|status| panic!("{rpc}: {status:?}")).pop().unwrap().as_slice()).unwrap()
    }

    /// Imports lines, which must go well.
    async fn import(&self, id: &str, lines: &str, format: pb::TransferFormat) {
        use pb::import_request::Part;
        let parts = [
            Part::Open(pb::ImportOpen { format: format.into(), ..Default::default() }),
            Part::Chunk(pb::TransferChunk { lines_json: lines.to_owned(), first_line: 1 }),
            Part::Commit(pb::ImportCommit::default()),
        ];
        let messages = parts.map(|part| pb::ImportRequest { part: Some(part) }.encode_to_vec()).into();
        self.answers("AdminService/Import", id, messages).await.unwrap();
    }

    async fn exported(&self, id: &str) -> String {
        let answers = self.answers("AdminService/Export", id, vec![Vec::new()]).await.unwrap();
        let chunk = |answer: &Vec<u8>| match pb::ExportResponse::decode(answer.as_slice()).unwrap().event {
            Some(pb::export_response::Event::Chunk(chunk)) => chunk.lines_json,
            _ => String::new(),
        };
        answers.iter().map(chunk).collect()
    }
}

/// Every line, which is a JSON object.
fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The one event that has all of these facts.
#[track_caller]
fn one<'a>(events: &'a [Value], message: &str, facts: &[(&str, &str)]) -> &'a Value {
    let fits = |event: &&Value| {
        event["message"] == message && facts.iter().all(|(name, value)| event[*name].as_str() == Some(*value))
    };
    let found: Vec<_> = events.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{message} with {facts:?} in {events:#?}");
    assert_eq!(found[0]["target"], "antiphon::audit");
    found[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_out_changed_and_removed_is_told_with_who_did_it() {
    let mut keys = Keys::default();
    let goes = keys.make("a", &["read"]);
    let (owner, operator) = (keys.make("a", &["read", "write", "admin"]), keys.make("*", &["admin"]));
    let folder = tempfile::tempdir().unwrap();
    keys.write(folder.path());
    let configuration = format!("{}[log]\naudit_file = \"audit.jsonl\"\n", config(""));
    let mut program = Program::start(folder.path(), &configuration).await;
    let caller = |header: &String| Caller { program: &program, header: header.clone() };
    let (owner, operator, goes) = (caller(&owner), caller(&operator), caller(&goes));

    let request = pb::ExecutionRequest {
        labels: [("team".to_owned(), CANARY.to_owned())].into(),
        tools: ask::tools(&[CANARY]),
        ..ask::text(CANARY)
    };
    let first: pb::CaptureResponse =
        owner.call("ExchangeService/Capture", "capture", &ask::capture_on_new("t", request)).await;
    let first = first.exchange.unwrap().exchange_id;
    let write = documents::write("t", vec![documents::put(CANARY, CANARY)]);
    owner.call::<pb::WriteDocumentsResponse>("WorkspaceService/WriteDocuments", "write", &write).await;
    let next = ask::on_thread(ask::on("t"), ask::text(CANARY));
    let second: pb::ContinueResponse = owner.call("ExchangeService/Continue", "continue", &next).await;
    let second = second.exchange.unwrap().exchange_id;

    let restore = pb::RestoreRequest { thread_id: "t".into(), to: Some(ask::point(&first)), ..Default::default() };
    owner.call::<pb::RestoreResponse>("ThreadService/Restore", "restore", &restore).await;
    let pin = pb::CreatePinRequest {
        target: exchange(&first),
        pin_id: "p".into(),
        note: CANARY.into(),
        ..Default::default()
    };
    owner.call::<pb::CreatePinResponse>("AdminService/CreatePin", "pin", &pin).await;
    let lines_of_a = owner.exported("export").await;
    assert!(lines_of_a.contains(CANARY));
    owner.import("import", &lines_of_a, pb::TransferFormat::Unspecified).await;
    let transcript = format!(
        r#"{{"messages":[{{"role":"user","content":"{CANARY}"}},{{"role":"assistant","content":"{CANARY}"}}]}}"#
    );
    owner.import("transcripts", &format!("{transcript}\n"), pb::TransferFormat::OpenaiChat).await;
    owner.call::<pb::BackupResponse>("AdminService/Backup", "backup", &pb::BackupRequest::default()).await;
    let erase = pb::EraseRequest {
        target: exchange(&second),
        mode: pb::EraseMode::Tombstone.into(),
        note: CANARY.into(),
        ..Default::default()
    };
    let erased: pb::EraseResponse = owner.call("AdminService/Erase", "erase", &erase).await;
    let receipt = erased.receipt.unwrap().receipt_id;
    let unpin = pb::DeletePinRequest { pin_id: "p".into(), ..Default::default() };
    owner.call::<pb::DeletePinResponse>("AdminService/DeletePin", "unpin", &unpin).await;
    let delete = pb::ThreadServiceDeleteRequest { thread_id: "t".into(), ..Default::default() };
    owner.call::<pb::ThreadServiceDeleteResponse>("ThreadService/Delete", "delete", &delete).await;
    owner.call::<pb::CollectGarbageResponse>("AdminService/CollectGarbage", "collect", &now()).await;
    let reloaded: pb::ReloadResponse =
        operator.call("AdminService/Reload", "reload", &pb::ReloadRequest::default()).await;
    assert!(reloaded.applied);
    // Looking is not written down, being refused is.
    goes.call::<pb::ThreadServiceListResponse>("ThreadService/List", "look", &pb::ThreadServiceListRequest::default())
        .await;
    goes.answers("AdminService/Export", "denied", vec![Vec::new()]).await.unwrap_err();
    keys.drop_first();
    keys.write(folder.path());
    let revoked = async {
        while goes.answers("ThreadService/List", "late", vec![Vec::new()]).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within("the key to be revoked", revoked).await;
    let ids = [owner.id().to_owned(), operator.id().to_owned(), goes.id().to_owned()];
    let secrets = [&owner, &operator, &goes].map(|one| one.header.rsplit('_').next().unwrap().to_owned());
    let (mine, all, gone) = (ids[0].as_str(), ids[1].as_str(), ids[2].as_str());
    program.terminate().await;

    let events = lines(&folder.path().join("audit.jsonl"));
    for (method, request_id) in [
        ("ThreadService/Restore", "restore"),
        ("ThreadService/Delete", "delete"),
        ("AdminService/CreatePin", "pin"),
        ("AdminService/DeletePin", "unpin"),
        ("AdminService/Export", "export"),
        ("AdminService/Import", "import"),
        ("AdminService/Import", "transcripts"),
        ("AdminService/Backup", "backup"),
        ("AdminService/Erase", "erase"),
        ("AdminService/CollectGarbage", "collect"),
    ] {
        let facts = [("caller", mine), ("namespace", "a"), ("method", method), ("request_id", request_id)];
        let event = one(&events, "audit.called", &facts);
        assert!(event["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{event}");
    }
    one(&events, "audit.called", &[("caller", all), ("method", "AdminService/Reload"), ("request_id", "reload")]);
    assert_eq!(events.iter().filter(|event| event["message"] == "audit.called").count(), 11, "{events:#?}");

    let on_thread = [("caller", mine), ("namespace", "a"), ("thread", "t")];
    assert_eq!(one(&events, "thread.restored", &on_thread)["exchange"], first.as_str());
    one(&events, "thread.deleted", &on_thread);
    let erased = one(&events, "erase.done", &[("caller", mine), ("namespace", "a"), ("receipt_id", &receipt)]);
    assert_eq!((&erased["tombstones"], &erased["resumed"]), (&1.into(), &false.into()));
    for verb in ["export", "backup"] {
        let sent = one(&events, "transfer.sent", &[("namespace", "a"), ("verb", verb)]);
        assert!(sent["lines"].as_u64().unwrap() > 5 && sent["bytes"].as_u64().unwrap() > 500, "{sent}");
    }
    let imports: Vec<_> = events.iter().filter(|event| event["message"] == "import.done").collect();
    let count = lines_of_a.lines().count();
    assert_eq!(imports.iter().map(|event| event["lines"].as_u64().unwrap()).collect::<Vec<_>>(), [count as u64, 1]);
    assert!(imports.iter().all(|event| event["namespace"] == "a"), "{imports:#?}");
    let collected = one(&events, "garbage.collected", &[("namespace", "a")]);
    assert!(collected["checked"].as_u64().unwrap() > 0 && collected["dry_run"] == false, "{collected}");
    // Whether a call or a signal asked for it.
    let reloaded = one(&events, "configuration.reloaded", &[]);
    assert_eq!((&reloaded["changes"], &reloaded["dry_run"]), (&0.into(), &false.into()));
    one(&events, "key.revoked", &[("key", gone)]);
    let denied =
        [("caller", gone), ("method", "AdminService/Export"), ("reason", "SCOPE_MISSING"), ("request_id", "denied")];
    one(&events, "audit.refused", &denied);
    let late =
        events.iter().filter(|event| event["message"] == "audit.refused" && event["reason"] == "UNAUTHENTICATED");
    assert!(late.clone().count() >= 1 && late.clone().all(|event| event["caller"] == gone), "{events:#?}");

    // All of it is in the ordinary log as well, and neither has what was said.
    let log = std::fs::read_to_string(folder.path().join(LOG)).unwrap();
    for event in &events {
        assert!(log.contains(event["message"].as_str().unwrap()), "{event}");
    }
    for text in [&log, &std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap()] {
        assert!(!text.contains(CANARY), "{text}");
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
    }
}
