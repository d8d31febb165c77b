//! What is kept of answers, and what is not: the stream, the exchange, the thread's head, and all of it again after a restart.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::served::Served;
use crate::support::provider::Entry;
use crate::support::{ask, look, raw, refused, stub};

#[tokio::test(flavor = "multi_thread")]
async fn b001_usage_after_the_finish_chunk_is_kept() {
    let served = Served::of("B001").await;
    let (said, end) = served.streamed(ask::capture(ask::text("Hello?"))).await;
    let exchange = end.unwrap().exchange.unwrap();
    let usage = exchange.usage.clone().unwrap();
    assert_eq!((said.as_str(), exchange.stop_reason()), ("Hi", pb::StopReason::Stop));
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(11), Some(2), Some(13)));
    assert_eq!(served.inspect(&exchange.exchange_id).await, exchange);
}

#[tokio::test(flavor = "multi_thread")]
async fn b002_usage_that_was_not_told_stays_unknown() {
    let served = Served::of("B002").await;
    let (_, end) = served.streamed(ask::capture(ask::text_as("r", "Hello?"))).await;
    let exchange = served.inspect(&end.unwrap().exchange.unwrap().exchange_id).await;
    for usage in [exchange.usage.unwrap(), look::run(&served.server, "r").await.usage.unwrap()] {
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (None, None, None));
        assert_eq!(usage.completeness(), pb::UsageCompleteness::Unknown);
    }
}

/// A streamed turn on a thread that has one turn already: it ends with this error, and leaves nothing but its run.
async fn leaves_no_exchange(id: &str, said: &str, code: Code, reason: Reason) {
    let served = Served::of(id).await;
    let recorded = pb::RecordRequest {
        thread: ask::capture_on_new("t", ask::text("")).thread.map(|thread| match thread {
            pb::capture_request::Thread::NewThread(new) => pb::record_request::Thread::NewThread(new),
            pb::capture_request::Thread::ExistingThread(point) => pb::record_request::Thread::ExistingThread(point),
        }),
        ..ask::record(vec![ask::user("1"), ask::assistant("one")])
    };
    let head = served.server.exchanges().record(recorded).await.unwrap().into_inner().exchange_id;
    let turn = ask::on_thread(ask::on("t"), ask::text_as("r", "2"));
    let request = pb::StreamContinueRequest { turn: Some(turn) };
    let mut stream = served.server.exchanges().stream_continue(request).await.unwrap().into_inner();
    let mut told = String::new();
    let failed = loop {
        match stream.message().await {
            Ok(Some(message)) => match message.event.unwrap() {
                pb::stream_continue_response::Event::Progress(progress) => told += &format!("{progress:?}"),
                completed => panic!("{completed:?}"),
            },
            Ok(None) => panic!("it ends as if all were well"),
            Err(failed) => break failed,
        }
    };
    refused::is(&failed, code, reason);
    assert!(told.contains(said), "{told}");
    let served = served.restart().await;
    let run = look::run(&served.server, "r").await;
    assert_eq!((run.state(), run.exchange_id.as_str()), (pb::RunState::Failed, ""));
    assert_eq!(served.head("t").await, head);
    assert_eq!(served.history(&head).await, ["U:1", "A:one"]);
    assert_eq!(served.provider.count(), 1, "what was partly told is not begun again");
}

#[tokio::test(flavor = "multi_thread")]
async fn b035_half_an_answer_moves_no_head() {
    leaves_no_exchange("B035", "Hel", Code::Unavailable, Reason::ProviderBadAnswer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b037_an_error_in_mid_stream_moves_no_head() {
    leaves_no_exchange("B037", "Hel", Code::ResourceExhausted, Reason::ProviderRateLimited).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b120_a_broken_stream_leaves_no_exchange_and_is_not_begun_again() {
    leaves_no_exchange("B120", "Hello wor", Code::Unavailable, Reason::ProviderUnavailable).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b039_no_exchange_comes_of_an_error_in_a_success() {
    let served = Served::of("B039").await;
    for (id, code, reason) in [
        ("r1", Code::Unavailable, Reason::ProviderUnavailable),
        ("r2", Code::ResourceExhausted, Reason::ProviderRateLimited),
        ("r3", Code::Unavailable, Reason::ProviderBadAnswer),
    ] {
        let failed =
            served.server.exchanges().capture(ask::capture_on_new(id, ask::text_as(id, "x"))).await.unwrap_err();
        refused::is(&failed, code, reason);
        assert_eq!(
            (served.head(id).await, look::run(&served.server, id).await.exchange_id),
            (String::new(), String::new())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b063_both_calls_of_one_id_have_their_own_results() {
    let served = Served::of("B063").await;
    let tools = ask::tools(&["list_dir"]);
    let first = served.capture(ask::capture(pb::ExecutionRequest { tools, ..ask::text("list") })).await;
    let answer = |asked: &pb::Exchange, text: &str| {
        let call = &asked.pending_tool_calls[0];
        assert_eq!(call.provider_call_id, "list_dir:0");
        ask::after_with(&asked.exchange_id, vec![ask::result(&call.call_id, text)])
    };
    let second = served.go_on(answer(&first, "a b")).await;
    let third = served.go_on(answer(&second, "c d")).await;
    assert_ne!(first.pending_tool_calls[0].call_id, second.pending_tool_calls[0].call_id);
    let expected = [
        "U:list",
        r#"A:call list_dir {"path":"."}"#,
        "T:result a b",
        r#"A:call list_dir {"path":"/"}"#,
        "T:result c d",
        "A:ok",
    ];
    assert_eq!(served.history(&third.exchange_id).await, expected);
    let served = served.restart().await;
    assert_eq!(served.history(&third.exchange_id).await, expected);
}

/// What a client sends is text in a string or is refused; half a character as an escape in JSON is JSON, and stays the client's.
#[tokio::test(flavor = "multi_thread")]
async fn b142_half_characters_from_a_client_harm_nobody() {
    let served = Served::with([stub::text("ok"), stub::text("ok")]).await;
    let mut bytes = raw::frame(&ask::capture(ask::text_as("r", "xyz")));
    let at = bytes.windows(3).position(|window| window == b"xyz").unwrap();
    // Half a character in the form that some encoders give it.
    bytes[at..at + 3].copy_from_slice(&[0xed, 0xa0, 0xbd]);
    let broken = raw::refused_bytes(&served.server, "ExchangeService/Capture", bytes, &[]).await;
    refused::is(&broken, Code::InvalidArgument, Reason::InvalidFields);

    let called = vec![
        ask::user("q"),
        ask::calling("c1", "w", r#"{"t":"\ud83d"}"#),
        ask::answering("c1", "\u{1f600}"),
        ask::assistant("a"),
    ];
    let recorded = served.server.exchanges().record(ask::record(called)).await.unwrap().into_inner().exchange_id;
    let next = served.go_on(ask::after(&recorded, ask::text(&"\u{1f600}".repeat(10_000)))).await;
    let on_next = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { thread_id: "t".into(), ..Default::default() }),
        head: Some(ask::point(&next.exchange_id)),
        ..Default::default()
    };
    served.server.threads().create(on_next).await.unwrap();
    let turns = pb::ListTurnsRequest { thread_id: "t".into(), ..Default::default() };
    let turns = served.server.threads().list_turns(turns).await.unwrap().into_inner().turns;
    let preview = &turns.last().unwrap().user_preview;
    assert!(preview.len() < 10_000 && preview.starts_with("\u{1f600}\u{1f600}"), "cut between characters: {preview}");
    assert_eq!(served.history(&next.exchange_id).await[2], "T:result \u{1f600}");
    let sent = served.provider.request(0).await;
    assert!(!sent.text().contains(r#""\ud83d"#), "the body itself has no half character");
    assert_eq!(sent.json()["messages"][4]["content"], "\u{1f600}".repeat(10_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn b143_what_was_no_text_can_be_read_and_continued() {
    let served = Served::of("B143").await;
    let first = served.capture(ask::capture_on_new("t", ask::text("x"))).await;
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"bad \xff byte\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    served.provider.script(Entry::events(&[]).write(event));
    let (said, end) = served.streamed(ask::capture_on_new("u", ask::text("x"))).await;
    let streamed = end.unwrap().exchange.unwrap();
    assert_eq!((said.as_str(), streamed.text.as_str()), ("bad \u{fffd} byte", "bad \u{fffd} byte"));
    let served = served.restart().await;
    for exchange in [&first, &streamed] {
        let read = served.inspect(&exchange.exchange_id).await;
        assert_eq!(
            (read.text.as_str(), read.warnings[0].code.as_str()),
            ("bad \u{fffd} byte", "replaced_invalid_unicode")
        );
    }
    let turns = pb::ListTurnsRequest { thread_id: "t".into(), ..Default::default() };
    let turns = served.server.threads().list_turns(turns).await.unwrap().into_inner().turns;
    assert_eq!(turns[0].assistant_preview, "bad \u{fffd} byte");
    assert_eq!(look::runs(&served.server).await.len(), 2);
    served.provider.script(stub::text("ok"));
    served.go_on(ask::on_thread(ask::on("t"), ask::text("again"))).await;
    assert_eq!(served.messages(2).await[1]["content"], "bad \u{fffd} byte");
    // Text that is bytes on the way in is refused, so none of it is ever stored.
    let mut bytes = raw::frame(&ask::record(vec![ask::user("q"), ask::answering("c1", "xyz"), ask::assistant("a")]));
    let at = bytes.windows(3).position(|window| window == b"xyz").unwrap();
    bytes[at] = 0xff;
    let refusal = raw::refused_bytes(&served.server, "ExchangeService/Record", bytes, &[]).await;
    refused::is(&refusal, Code::InvalidArgument, Reason::InvalidFields);
}

#[tokio::test(flavor = "multi_thread")]
async fn b024_arguments_are_measured_against_the_tools_schema_and_never_mended() {
    let served = Served::of("B024").await;
    let schema = r#"{"type":"object","properties":{"note":{"type":"string"},"q":{"type":"string"}}}"#;
    let offering = |schema: &str| {
        let tool = pb::Tool { input_schema_json: schema.into(), ..ask::tool("save") };
        ask::capture(pb::ExecutionRequest { tools: Some(pb::ToolList { tools: vec![tool] }), ..ask::text("x") })
    };
    let codes =
        |exchange: &pb::Exchange| exchange.warnings.iter().map(|warning| warning.code.clone()).collect::<Vec<_>>();
    let twice = served.capture(offering(schema)).await;
    let call = &twice.pending_tool_calls[0];
    assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (r#""{\"note\": \"x\", \"q\": \"y\"}""#, true));
    assert_eq!(codes(&twice), ["tool_arguments_invalid"]);
    let text = r#"{"note":"{\"a\":1}","q":"He asked \"why?\""}"#;
    let right = served.capture(offering(schema)).await;
    let call = &right.pending_tool_calls[0];
    assert_eq!((call.arguments_json.as_str(), call.arguments_invalid, codes(&right).len()), (text, false, 0));
    // The schema wants an object where the model wrote a string that looks like one: told, kept, not mended.
    served.provider.script(stub::calls(&[("c1", "save", text)]));
    let wrong = served.capture(offering(r#"{"type":"object","properties":{"note":{"type":"object"}}}"#)).await;
    let call = &wrong.pending_tool_calls[0];
    assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (text, false));
    assert_eq!(codes(&wrong), ["tool_arguments_mismatch"]);
    let told = &wrong.warnings[0].message;
    assert!(told.contains("/note") && !told.contains("why?"), "where, and without what was said: {told}");
    assert_eq!(served.inspect(&wrong.exchange_id).await.warnings, wrong.warnings);
}
