//! Streams: what happens on the way, in order, and exactly one end.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::json;
use tonic::{Code, Status, Streaming};

use crate::support::provider::{End, Entry, Gate, Outcome, Provider};
use crate::support::server::{Running, openai, openai_with, scripted};
use crate::support::{ask, raw, refused, within};
use crate::{look, stub};

use pb::stream_capture_response::Event;

/// A stream as it came.
struct Seen {
    progress: Vec<pb::progress::Event>,
    end: Result<pb::CaptureResponse, Status>,
}

impl Seen {
    fn text(&self) -> String {
        let text = |event: &pb::progress::Event| match event {
            pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) }) => {
                Some(text.text.clone())
            }
            _ => None,
        };
        self.progress.iter().filter_map(text).collect()
    }

    fn calls(&self) -> String {
        let call = |event: &pb::progress::Event| match event {
            pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::ToolCall(call)) }) => {
                Some(format!("{}{}", call.name, call.arguments_json))
            }
            _ => None,
        };
        self.progress.iter().filter_map(call).collect()
    }

    /// A letter for each event: started, attempt, text, reasoning, call, refusal, warning; one for several of a kind in a row.
    fn order(&self) -> String {
        let letter = |event: &pb::progress::Event| match event {
            pb::progress::Event::RunStarted(_) => 's',
            pb::progress::Event::AttemptStarted(_) => 'a',
            pb::progress::Event::Warning(_) => 'w',
            pb::progress::Event::Delta(delta) => match delta.delta {
                Some(pb::delta::Delta::Text(_)) => 't',
                Some(pb::delta::Delta::Reasoning(_)) => 'r',
                Some(pb::delta::Delta::ToolCall(_)) => 'c',
                Some(pb::delta::Delta::Refusal(_)) => 'x',
                None => '?',
            },
        };
        let mut letters: Vec<char> = self.progress.iter().map(letter).collect();
        letters.dedup();
        letters.into_iter().collect()
    }
}

async fn open(server: &Running, request: pb::CaptureRequest) -> Streaming<pb::StreamCaptureResponse> {
    let request = pb::StreamCaptureRequest { capture: Some(request) };
    let response = server.exchanges().stream_capture(request).await.unwrap();
    assert!(response.metadata().get("antiphon-run-id").is_some(), "headers come at once and name the run");
    assert!(response.metadata().get("antiphon-request-id").is_some());
    response.into_inner()
}

async fn read(mut stream: Streaming<pb::StreamCaptureResponse>) -> Seen {
    let mut progress = Vec::new();
    let end = loop {
        match stream.message().await {
            Ok(Some(pb::StreamCaptureResponse { event: Some(Event::Progress(one)) })) => {
                progress.push(one.event.unwrap())
            }
            Ok(Some(pb::StreamCaptureResponse { event: Some(Event::Completed(completed)) })) => break Ok(completed),
            Ok(other) => panic!("{other:?}"),
            Err(status) => break Err(status),
        }
    };
    assert!(matches!(stream.message().await, Ok(None)), "nothing follows the end");
    Seen { progress, end }
}

/// B121: the run, the attempt, the pieces, and one completed at the end that says what they said.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_the_run_the_attempt_the_pieces_and_its_end() {
    let provider = Provider::start([stub::streamed(&["Hel", "lo ", "世", "界"])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let seen = read(open(&server, ask::capture(ask::text_as("r", "hi"))).await).await;
    assert_eq!((seen.order().as_str(), seen.text().as_str()), ("sat", "Hello 世界"));
    let pb::progress::Event::RunStarted(started) = &seen.progress[0] else { panic!("{:?}", seen.progress[0]) };
    assert_eq!((started.run_id.as_str(), started.attached), ("r", false));
    let pb::progress::Event::AttemptStarted(attempt) = &seen.progress[1] else { panic!("{:?}", seen.progress[1]) };
    assert_eq!((attempt.number, attempt.kind(), attempt.model.as_str()), (1, pb::AttemptKind::First, "stub-1"));
    let completed = seen.end.unwrap();
    assert_eq!(completed.exchange.as_ref().unwrap().text, "Hello 世界");
    assert_eq!(look::run(&server, "r").await, completed.run.unwrap());
    assert_eq!(provider.request(0).await.json()["stream"], true);
}

/// The headers are there while the provider still thinks, and its pieces come as they are written, not at the end.
#[tokio::test(flavor = "multi_thread")]
async fn headers_and_pieces_come_at_once() {
    let (thinking, halfway) = (Gate::closed(), Gate::closed());
    let mut entry = Entry::events(&[]).wait(&thinking);
    entry = entry.write(stub::event(&json!({"content": "one "}), None)).wait(&halfway);
    entry = entry.write(stub::event(&json!({"content": "two"}), None)).write(stub::end("stop"));
    let provider = Provider::start([entry]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut stream = open(&server, ask::capture(ask::text("hi"))).await;
    thinking.open();
    loop {
        let message = stream.message().await.unwrap().unwrap();
        let Some(Event::Progress(pb::Progress { event: Some(event) })) = message.event else { panic!("{message:?}") };
        if let pb::progress::Event::Delta(delta) = event {
            assert_eq!(delta.delta, Some(pb::delta::Delta::Text(pb::TextDelta { text: "one ".into() })));
            break;
        }
    }
    halfway.open();
    assert_eq!(read(stream).await.text(), "two");
}

/// B129: text and a call in one answer, piece by piece, each byte of the arguments once; both are kept and both go out again.
#[tokio::test(flavor = "multi_thread")]
async fn text_then_a_tool_call() {
    let call = |id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut function = json!({"arguments": arguments});
        if let Some(name) = name {
            function["name"] = name.into();
        }
        let mut call = json!({"index": 0, "type": "function", "function": function});
        if let Some(id) = id {
            call["id"] = id.into();
        }
        stub::event(&json!({"tool_calls": [call]}), None)
    };
    // Between two pieces the reader has seen the first, so that a piece that is joined to one already told is told from its own start.
    let opened = Gate::closed();
    let entry = stub::begun("Let me look. ")
        .write(call(Some("p1"), Some("look"), ""))
        .write(call(None, None, "{\"q\""))
        .wait(&opened)
        .write(call(None, None, ":1}"))
        .write(stub::end("tool_calls"));
    let provider = Provider::start([entry, stub::text("done")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut stream = open(&server, ask::capture(stub::offering("r", "look"))).await;
    let mut progress = Vec::new();
    while !(Seen { progress: progress.clone(), end: Err(Status::ok("")) }.calls().starts_with("look{")) {
        let message = stream.message().await.unwrap().unwrap();
        let Some(Event::Progress(pb::Progress { event: Some(event) })) = message.event else { panic!("{message:?}") };
        progress.push(event);
    }
    opened.open();
    let rest = read(stream).await;
    progress.extend(rest.progress);
    let seen = Seen { progress, end: rest.end };
    assert_eq!(
        (seen.order().as_str(), seen.calls().as_str(), seen.text().as_str()),
        ("satc", "look{\"q\":1}", "Let me look. ")
    );
    let exchange = seen.end.unwrap().exchange.unwrap();
    assert_eq!(exchange.stop_reason(), pb::StopReason::ToolCalls);
    assert_eq!(exchange.pending_tool_calls[0].arguments_json, "{\"q\":1}");
    let results = vec![ask::result(&exchange.pending_tool_calls[0].call_id, "seen")];
    server.exchanges().r#continue(ask::after_with(&exchange.exchange_id, results)).await.unwrap();
    let sent = provider.request(1).await.json();
    assert_eq!(sent["messages"][1]["content"], "Let me look. ");
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], "{\"q\":1}");
    assert_eq!(sent["messages"][2]["tool_call_id"], "p1");
}

/// B120, B035, B037: after a piece was told nothing is started again; the stream ends with one error and nothing is kept of half an answer.
#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_an_error_and_no_exchange() {
    let error = "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n";
    let cases = [
        (stub::begun("Hello wor").end(End::Reset), Code::Unavailable, None),
        (stub::begun("Hello wor").end(End::Cut), Code::Unavailable, None),
        (stub::begun("Hello wor"), Code::Unavailable, Some(Reason::ProviderBadAnswer)),
        (stub::begun("Hello wor").write(error), Code::ResourceExhausted, Some(Reason::ProviderRateLimited)),
    ];
    for (number, (entry, code, reason)) in cases.into_iter().enumerate() {
        let provider = Provider::start([stub::text("before"), entry, stub::streamed(&["Hello world"])]).await;
        let server = Running::start(openai(&provider.base_url())).await;
        let first = server.exchanges().capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner();
        let head = first.exchange.unwrap().exchange_id;
        let turn = ask::on_thread(ask::on("t"), ask::text_as("r", "2"));
        let request = pb::StreamContinueRequest { turn: Some(turn) };
        let mut stream = server.exchanges().stream_continue(request).await.unwrap().into_inner();
        let (mut said, mut attempts) = (String::new(), 0);
        let failed = loop {
            match stream.message().await {
                Ok(Some(message)) => {
                    let Some(pb::stream_continue_response::Event::Progress(one)) = message.event else {
                        panic!("{message:?}")
                    };
                    match one.event {
                        Some(pb::progress::Event::AttemptStarted(_)) => attempts += 1,
                        Some(pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) })) => {
                            said += &text.text
                        }
                        _ => {}
                    }
                }
                Ok(None) => panic!("case {number}: it ends as if all were well"),
                Err(status) => break status,
            }
        };
        assert!(matches!(stream.message().await, Ok(None)));
        assert_eq!(failed.code(), code, "case {number}: {failed:?}");
        if let Some(reason) = reason {
            refused::is(&failed, code, reason);
        }
        assert_eq!((said.as_str(), attempts, provider.count()), ("Hello wor", 1, 2), "case {number}");
        let facts = ["run_id", "run_state", "partly_delivered"].map(|key| refused::fact(&failed, key));
        assert_eq!(facts, ["r", "FAILED", "true"]);
        assert_eq!(look::thread(&server, "t").await.head_exchange_id, head);
        assert_eq!(look::run(&server, "r").await.exchange_id, "");
    }
}

/// What fails before its first piece is tried again, and the stream tells both attempts.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_before_the_first_piece_is_tried_again() {
    let provider = Provider::start([stub::status(503, "busy"), stub::streamed(&["ok"])]).await;
    let soon = "retry = { attempts = 2, base_ms = 1, max_ms = 1 }\n";
    let server = Running::start(openai_with(&provider.base_url(), soon)).await;
    let seen = read(open(&server, ask::capture(ask::text("x"))).await).await;
    assert_eq!((seen.order().as_str(), seen.text().as_str()), ("sat", "ok"));
    let attempts = seen.progress.iter().filter(|event| matches!(event, pb::progress::Event::AttemptStarted(_))).count();
    assert_eq!((attempts, provider.count()), (2, 2));
}

/// A second stream on the same run gets everything from its start, and the same end.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_stream_joins_and_gets_everything() {
    let gate = Gate::closed();
    let entry =
        stub::begun("Hel").wait(&gate).write(stub::event(&json!({"content": "lo"}), None)).write(stub::end("stop"));
    let provider = Provider::start([entry]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut first = open(&server, ask::capture(ask::text_as("r", "x"))).await;
    let mut told = String::new();
    while !told.contains("Hel") {
        told += &format!("{:?}", first.message().await.unwrap().unwrap());
    }
    let second = open(&server, ask::capture(ask::text_as("r", "x"))).await;
    gate.open();
    let (first, second) = tokio::join!(read(first), read(second));
    assert_eq!((first.text().as_str(), second.text().as_str()), ("lo", "Hello"));
    let pb::progress::Event::RunStarted(started) = &second.progress[0] else { panic!("{:?}", second.progress[0]) };
    assert!(started.attached);
    assert_eq!(first.end.unwrap().exchange, second.end.unwrap().exchange);
    assert_eq!(provider.count(), 1);
}

/// B118: a reader that goes away ends the call at the provider.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_ends_the_call() {
    let provider = Provider::start([stub::begun("Hel").end(End::Hold)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut stream = open(&server, ask::capture_on_new("t", ask::text_as("r", "x"))).await;
    stream.message().await.unwrap().unwrap();
    provider.request(0).await;
    drop(stream);
    assert_eq!(provider.outcome(0).await, Outcome::ClientClosed);
    look::until(&server, "r", pb::RunState::Cancelled).await;
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id.as_str(), thread.active_run_id.as_str()), ("", ""));
}

/// B128: who reads slowly holds up neither the run nor other readers, and gets everything in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_holds_up_nobody() {
    let line = "0123456789abcdef".repeat(64);
    let pieces: Vec<String> = (0..4_096).map(|number| format!("{number} {line}\n")).collect();
    let provider = Provider::start([stub::streamed(&pieces.iter().map(String::as_str).collect::<Vec<_>>())]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut slow = open(&server, ask::capture(ask::text_as("r", "x"))).await;
    slow.message().await.unwrap().unwrap();
    // Not one more message is read from `slow` until the run is over and everybody else is done.
    let quick = read(open(&server, ask::capture(ask::text_as("r", "x"))).await).await;
    let whole = pieces.concat();
    assert_eq!(quick.end.unwrap().exchange.unwrap().text, whole);
    look::until(&server, "r", pb::RunState::Completed).await;
    let slow = read(slow).await;
    assert!(slow.text() == whole, "{} of {} bytes", slow.text().len(), whole.len());
    assert_eq!(slow.end.unwrap().exchange.unwrap().text, whole);
}

/// Probes stream as turns do, and their run is found by nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_streams_and_leaves_nothing() {
    let server = Running::start(scripted("rules = [{ text = \"three pieces of text\", chunk_chars = 8 }]")).await;
    let first = server.exchanges().capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    let probe = pb::StreamProbeRequest { probe: Some(ask::probe(&first.exchange_id, ask::text("2"))) };
    let response = server.exchanges().stream_probe(probe).await.unwrap();
    let run_id = response.metadata().get("antiphon-run-id").unwrap().to_str().unwrap().to_owned();
    let mut stream = response.into_inner();
    let (mut said, mut completed) = (String::new(), Vec::new());
    while let Some(message) = stream.message().await.unwrap() {
        match message.event.unwrap() {
            pb::stream_probe_response::Event::Progress(one) => {
                assert!(completed.is_empty(), "nothing follows the end");
                if let Some(pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) })) =
                    one.event
                {
                    said += &text.text;
                }
            }
            pb::stream_probe_response::Event::Completed(probed) => completed.push(probed),
        }
    }
    assert_eq!((said.as_str(), completed.len()), ("three pieces of text", 1));
    assert_eq!((completed[0].text.as_str(), &completed[0].run_id), (said.as_str(), &run_id));
    refused::is(&look::no_run(&server, &run_id).await, Code::NotFound, Reason::RunNotFound);
}

/// What is wrong with a streamed request is told by the path of the field in it, and no stream begins.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_request_begins_no_stream() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let refusals = [
        client.stream_capture(pb::StreamCaptureRequest::default()).await.unwrap_err(),
        client.stream_continue(pb::StreamContinueRequest::default()).await.unwrap_err(),
        client.stream_probe(pb::StreamProbeRequest::default()).await.unwrap_err(),
        client.stream_inspect(pb::StreamInspectRequest::default()).await.unwrap_err(),
    ];
    let fields: Vec<_> = refusals.iter().map(|refusal| refused::fields(refusal).join(",")).collect();
    assert_eq!(fields, ["capture", "turn", "probe", "exchange_id"]);
}

/// Who sends bytes that are no message is told so, and not that the stream ended too early: sending them again would never help.
#[tokio::test(flavor = "multi_thread")]
async fn streams_of_requests_say_what_cannot_be_read() {
    let server = Running::start(scripted("")).await;
    for rpc in ["AdminService/Import", "WorkspaceService/StreamWriteDocument"] {
        let call = raw::call(server.fresh_channel(), rpc, vec![vec![0xff; 9]], &[]);
        let status = within("the end of the call", call).await.unwrap_err();
        refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
        assert!(status.message().contains("no request of this RPC"), "{rpc}: {status:?}");
    }
}
