//! Importing transcripts in the chat form: recorded once, however often they are imported.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::look;
use crate::support::server::Running;
use crate::support::transfer::import_as;
use crate::support::{ask, refused};

fn open() -> pb::ImportOpen {
    pb::ImportOpen { format: pb::TransferFormat::OpenaiChat.into(), ..Default::default() }
}

const LINES: &str = concat!(
    r#"{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"q"},{"role":"assistant","content":"a","model":"m"}],"name":"first"}"#,
    "\n\n",
    r#"{"messages":[{"role":"user","content":"w?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"get","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"sunny"},{"role":"assistant","content":"it is sunny"}],"tools":[{"type":"function","function":{"name":"get","parameters":{"type":"object"}}}]}"#,
    "\n"
);

/// Each is recorded with a thread of its own, and a second import finds it all.
#[tokio::test(flavor = "multi_thread")]
async fn transcripts_are_recorded_once() {
    let server = Running::echo().await;
    let labels = [("source".to_owned(), "chat".to_owned())].into();
    let with_threads = pb::ImportOpen { create_threads: true, labels, ..open() };
    let tried = import_as(&server, pb::ImportOpen { dry_run: true, ..with_threads.clone() }, LINES, 2).await.unwrap();
    assert_eq!((tried.summary.stored[0].count, look::threads(&server).await.len()), (3, 0));
    let imported = import_as(&server, with_threads.clone(), LINES, 2).await.unwrap();
    assert_eq!((imported.through, imported.summary.thread_ids.len()), (3, 2));
    let exchanges = |records: &[pb::RecordCount]| records.iter().find(|r| r.kind == "exchange").map_or(0, |r| r.count);
    assert_eq!((exchanges(&imported.summary.stored), exchanges(&imported.summary.matched)), (3, 0));
    let thread_id = imported.summary.thread_ids[0].clone();
    let thread =
        server.threads().get(pb::ThreadServiceGetRequest { thread_id }).await.unwrap().into_inner().thread.unwrap();
    assert_eq!((thread.name.as_str(), thread.turn_count), ("first", 1));
    let inspected = server.exchanges().inspect(ask::inspect(&thread.head_exchange_id)).await.unwrap().into_inner();
    let exchange = inspected.exchange.unwrap();
    assert_eq!(exchange.origin(), pb::ExchangeOrigin::Imported);
    assert_eq!((exchange.responder.unwrap().model.as_str(), exchange.labels["source"].as_str()), ("m", "chat"));
    let again = import_as(&server, with_threads, LINES, 1).await.unwrap();
    assert_eq!((exchanges(&again.summary.stored), exchanges(&again.summary.matched)), (0, 3));
    assert_eq!(again.summary.thread_ids, imported.summary.thread_ids);
    assert_eq!(look::threads(&server).await.len(), 2);
}

/// What cannot be recorded is told by its line, or left out.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_transcript_is_told_by_its_line() {
    let server = Running::echo().await;
    let bad = [
        ("not json\n", "is not JSON"),
        ("{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]}\n", "cannot be recorded"),
        ("{\"messages\":[{\"role\":\"robot\",\"content\":\"q\"}]}\n", "message 0"),
        ("{\"prompt\":\"q\",\"completion\":\"a\"}\n", "is not `{\"messages\""),
    ];
    for (line, why) in bad {
        let input = format!("{LINES}{line}");
        let status = import_as(&server, open(), &input, 9).await.unwrap_err();
        refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
        assert_eq!(refused::fact(&status, "line"), "4");
        assert!(status.message().starts_with("line 4 ") && status.message().contains(why), "{status:?}");
        let skipped = import_as(&server, pb::ImportOpen { skip_faulty: true, ..open() }, &input, 9).await.unwrap();
        assert_eq!((skipped.summary.skipped_count, skipped.findings[0].record.as_str()), (1, "4"));
    }
    assert_eq!(look::runs(&server).await.len(), 2, "what was good before was kept, once");
}
