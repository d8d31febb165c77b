//! OpenAI Responses, through the server: the whole history each time, reasoning back to its issuer alone, and what is no whole answer.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::{Value, json};
use tonic::Code;
use tonic_types::StatusExt;

use crate::served::Served;
use crate::support::provider::{End, Entry, Outcome, Provider};
use crate::support::server::Running;
use crate::support::{ask, look, refused, stub};

async fn with(script: impl IntoIterator<Item = Entry>) -> Served {
    Served::speaking("openai-responses", "/v1", script, "").await
}

fn message(text: &str) -> Value {
    json!({
        "id": format!("msg_{text}"), "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn calls(call_id: &str, arguments: &str) -> Value {
    json!({
        "id": format!("fc_{call_id}"), "type": "function_call", "status": "completed", "call_id": call_id,
        "name": "look", "arguments": arguments,
    })
}

/// Reasoning that only its issuer can read.
fn thought(number: u32) -> Value {
    json!({
        "id": format!("rs_{number}"), "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": format!("gAAA{number}=="),
    })
}

fn response(output: &[Value]) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1700000000.0, "status": "completed", "error": null,
        "incomplete_details": null, "model": "stub-1-2026", "output": output,
        "usage": {
            "input_tokens": 20, "input_tokens_details": {"cached_tokens": 8},
            "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 29,
        },
    })
}

/// An answer of items.
fn answer(output: &[Value]) -> Entry {
    Entry::json(&response(output).to_string())
}

fn says(text: &str) -> Entry {
    answer(&[message(text)])
}

fn event(word: &str, fields: &Value) -> String {
    let mut event = json!({"type": word});
    for (key, value) in fields.as_object().unwrap() {
        event[key] = value.clone();
    }
    format!("event: {word}\ndata: {event}\n\n")
}

/// The events of a text in pieces, and the last one.
fn events(pieces: &[&str], last: &str, response: &Value) -> Vec<String> {
    let item = |text: &str| json!({"output_index": 0, "item": message(text)});
    let mut begun = message("");
    begun["content"] = json!([]);
    let mut events = vec![
        event("response.created", &json!({"response": {"id": "resp_1", "status": "in_progress", "output": []}})),
        event("response.output_item.added", &json!({"output_index": 0, "item": begun})),
    ];
    let delta = |piece: &&str| {
        event("response.output_text.delta", &json!({"output_index": 0, "content_index": 0, "delta": piece}))
    };
    events.extend(pieces.iter().map(delta));
    events.push(event("response.output_item.done", &item(&pieces.concat())));
    events.push(event(last, &json!({"response": response})));
    events
}

fn entry(events: &[String]) -> Entry {
    Entry::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn streamed(pieces: &[&str]) -> Entry {
    entry(&events(pieces, "response.completed", &response(&[message(&pieces.concat())])))
}

fn offering(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text(text) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_with_everything_that_was_said_of_it() {
    let served = with([says("Hello").header("x-request-id", "req_1"), says("Bye")]).await;
    let first = served.capture(ask::capture_on_new("t", ask::text_as("r", "hi"))).await;
    assert_eq!(
        (first.text.as_str(), first.stop_reason(), first.stop_reason_raw.as_str()),
        ("Hello", pb::StopReason::Stop, "completed")
    );
    let usage = first.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(20), Some(9), Some(29)));
    assert_eq!((usage.cached_input_tokens, usage.reasoning_tokens), (Some(8), Some(5)));
    let request = served.provider.request(0).await;
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/responses"));
    let expected = json!({
        "model": "stub-1", "store": false, "include": ["reasoning.encrypted_content"],
        "input": [{"type": "message", "role": "user", "content": "hi"}],
    });
    assert_eq!(request.json(), expected);
    served.go_on(ask::on_thread(ask::on("t"), ask::text("and?"))).await;
    let (first, second) = (request.text().strip_suffix("]}").unwrap().to_owned(), served.provider.request(1).await);
    assert!(second.text().starts_with(&first), "the prefix is byte for byte the same: {}", second.text());
    let said = json!({"type": "message", "role": "assistant", "content": "Hello"});
    assert_eq!(second.json()["input"][1], said, "ids of what the provider does not keep say nothing");
}

/// Reasoning is kept as it came and goes back so, with the ids that tie it to the call; another model gets neither.
#[tokio::test(flavor = "multi_thread")]
async fn reasoning_goes_back_to_its_issuer_and_to_no_other() {
    let script = [answer(&[thought(1), calls("call_1", r#"{"n": 18446744073709551616}"#)]), says("dry"), says("other")];
    let served = with(script).await;
    let asked = served.capture(ask::capture_on_new("t", offering("rain?"))).await;
    assert_eq!((asked.stop_reason(), asked.pending_tool_calls.len()), (pb::StopReason::ToolCalls, 1));
    let call = &asked.pending_tool_calls[0];
    assert_eq!(
        (call.provider_call_id.as_str(), call.arguments_json.as_str()),
        ("call_1", r#"{"n": 18446744073709551616}"#)
    );
    let results = vec![ask::result(&call.call_id, "none")];
    let done = served.go_on(ask::after_with(&asked.exchange_id, results)).await;
    let sent = served.provider.request(1).await;
    // As a text: order and bytes are the provider's.
    assert!(sent.text().contains(&format!("{},{{\"type\":\"function_call\"", thought(1))), "{}", sent.text());
    assert_eq!(sent.json()["input"][2]["id"], "fc_call_1");
    assert_eq!(sent.json()["input"][3], json!({"type": "function_call_output", "call_id": "call_1", "output": "none"}));
    let other = pb::ExecutionRequest { model: "other".to_owned(), ..offering("and you?") };
    let other = served.go_on(ask::after(&done.exchange_id, other)).await;
    let sent = served.provider.request(2).await;
    assert!(!sent.text().contains("gAAA1") && !sent.text().contains("fc_call_1"), "{}", sent.text());
    assert_eq!(other.observations[0].adaptations, ["foreign_reasoning_dropped", "foreign_data_dropped"]);
}

/// The provider keeps nothing, so that a branch to another model is whole: nothing points to another branch's response.
#[tokio::test(flavor = "multi_thread")]
async fn b095_a_fork_sends_the_whole_history_and_no_handle() {
    let served = with([says("one"), says("two"), says("forked")]).await;
    let first = served.capture(ask::capture_on_new("t", ask::text("1"))).await;
    served.go_on(ask::on_thread(ask::on("t"), ask::text("2"))).await;
    let request = pb::ExecutionRequest { model: "other".to_owned(), ..ask::text("3") };
    assert_eq!(served.fork(&first.exchange_id, "f", request).await.text, "forked");
    for number in 0..3 {
        let body = served.provider.request(number).await.json();
        assert!(body.get("previous_response_id").is_none() && body.get("conversation").is_none(), "{body}");
        assert_eq!(body["store"], json!(false));
    }
    let contents = |body: &Value| {
        let items = body["input"].as_array().unwrap();
        items.iter().map(|item| item["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(contents(&served.provider.request(2).await.json()), ["1", "one", "3"]);
    // Nor does a caller bring one in by another way.
    let extra_json = r#"{"previous_response_id":"resp_1"}"#.to_owned();
    let parameters = Some(pb::Parameters { extra_json, ..Default::default() });
    let request = pb::ExecutionRequest { parameters, ..ask::text("4") };
    let failed = served.server.exchanges().capture(ask::capture(request)).await.unwrap_err();
    refused::is(&failed, Code::InvalidArgument, Reason::BackendUnsupported);
    assert_eq!(refused::fact(&failed, "feature"), "extra_json.previous_response_id");
    assert_eq!(served.provider.count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_last_event_and_holds_no_connection() {
    let served = with([streamed(&["Hel", "lo"]).end(End::Hold)]).await;
    let (said, end) = served.streamed(ask::capture(ask::text("hi"))).await;
    let exchange = end.unwrap().exchange.unwrap();
    assert_eq!((said.as_str(), exchange.text.as_str()), ("Hello", "Hello"));
    assert_eq!(served.provider.outcome(0).await, Outcome::ClientClosed);
    assert_eq!(served.provider.request(0).await.json()["stream"], json!(true));
}

/// Half an answer, failures in the middle of a success, and refusals: none leaves an exchange, each says what it is.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_whole_answer_is_never_stored() {
    let cut = |count: usize| entry(&events(&["Hel", "lo"], "response.completed", &Value::Null)[..count]);
    let failing = |code: &str| {
        let error = json!({"code": code, "message": "the provider says why"});
        let failed = json!({"id": "resp_1", "status": "failed", "error": error, "output": []});
        entry(&events(&["Hel"], "response.failed", &failed))
    };
    let error = event("error", &json!({"code": "server_error", "message": "the provider says why", "param": null}));
    let mut unfinished = response(&[message("Hel")]);
    unfinished["status"] = json!("in_progress");
    let cases = [
        (cut(3), Code::Unavailable, Reason::ProviderBadAnswer),
        (cut(5), Code::Unavailable, Reason::ProviderBadAnswer),
        (cut(5).write("data: [DONE]\n\n"), Code::Unavailable, Reason::ProviderBadAnswer),
        (cut(3).end(End::Reset), Code::Unavailable, Reason::ProviderUnavailable),
        (failing("server_error"), Code::Unavailable, Reason::ProviderUnavailable),
        (failing("rate_limit_exceeded"), Code::ResourceExhausted, Reason::ProviderRateLimited),
        (failing("invalid_prompt"), Code::InvalidArgument, Reason::ProviderRefusedRequest),
        (failing("image_too_large"), Code::InvalidArgument, Reason::ProviderRefusedRequest),
        (failing("context_length_exceeded"), Code::FailedPrecondition, Reason::ContextOverflow),
        (cut(3).write(&error), Code::Unavailable, Reason::ProviderUnavailable),
        (Entry::json(&unfinished.to_string()), Code::Unavailable, Reason::ProviderBadAnswer),
        (answer(&[]), Code::Unavailable, Reason::ProviderBadAnswer),
        (Entry::json(r#"{"error":{"message":"no","code":429}}"#), Code::ResourceExhausted, Reason::ProviderRateLimited),
        (stub::refusal(401, "bad key", "invalid_api_key"), Code::FailedPrecondition, Reason::ProviderRefusedCredential),
        (stub::refusal(400, "bad", "invalid_value"), Code::InvalidArgument, Reason::ProviderRefusedRequest),
        (stub::refusal(503, "busy", "overloaded"), Code::Unavailable, Reason::ProviderUnavailable),
    ];
    let (entries, expected): (Vec<_>, Vec<_>) =
        cases.into_iter().map(|(entry, code, reason)| (entry, (code, reason))).unzip();
    let served = with(entries).await;
    for (number, (code, reason)) in expected.into_iter().enumerate() {
        let (run_id, thread_id) = (format!("r{number}"), format!("t{number}"));
        let (_, end) = served.streamed(ask::capture_on_new(&thread_id, ask::text_as(&run_id, "hi"))).await;
        let failed = end.unwrap_err();
        assert_eq!((failed.code(), refused::reason(&failed)), (code, reason.word().to_owned()), "{number}: {failed:?}");
        let run = look::run(&served.server, &run_id).await;
        assert_eq!((run.state(), run.exchange_id.as_str()), (pb::RunState::Failed, ""));
        assert_eq!(served.head(&thread_id).await, "");
    }
    let limited = stub::status(429, "slow").header("retry-after", "7");
    served.provider.script(limited);
    let limited = served.server.exchanges().capture(ask::capture(ask::text("hi"))).await.unwrap_err();
    assert_eq!(limited.get_details_retry_info().unwrap().retry_delay, Some(std::time::Duration::from_secs(7)));
}

/// An answer that was cut short by its limit is kept as that, reasoning alone included, and what follows it can be sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_answer_is_kept_as_cut_and_bricks_nothing() {
    let mut cut = response(&[thought(1)]);
    (cut["status"], cut["incomplete_details"]) = (json!("incomplete"), json!({"reason": "max_output_tokens"}));
    let last = events(&[], "response.incomplete", &cut);
    let served = with([entry(&last[last.len() - 1..]), says("all of it")]).await;
    let (_, end) = served.streamed(ask::capture(ask::text("hi"))).await;
    let exchange = end.unwrap().exchange.unwrap();
    assert_eq!(
        (exchange.stop_reason(), exchange.stop_reason_raw.as_str()),
        (pb::StopReason::MaxTokens, "max_output_tokens")
    );
    let next = served.go_on(ask::after(&exchange.exchange_id, ask::text("go on"))).await;
    assert_eq!(next.observations[0].adaptations, ["reasoning_dropped", "empty_message_dropped"]);
    let sent = served.provider.request(1).await.json();
    assert!(sent["input"].as_array().unwrap().iter().all(|item| item["type"] == "message"), "{sent}");
}

/// B140: the same cut through a character: reads know nothing of characters.
#[tokio::test(flavor = "multi_thread")]
async fn b140_a_character_cut_between_reads_of_events() {
    let text = "你好，世界";
    let bytes = events(&[text], "response.completed", &response(&[message(text)])).concat().into_bytes();
    let at = bytes.windows(3).position(|window| window == "，".as_bytes()).unwrap() + 2;
    let served = with([Entry::events(&[]).write(&bytes[..at]).write(&bytes[at..])]).await;
    let (said, end) = served.streamed(ask::capture(ask::text("hi"))).await;
    let exchange = end.unwrap().exchange.unwrap();
    assert_eq!((said.as_str(), exchange.text.as_str()), (text, text));
    assert_eq!(served.history(&exchange.exchange_id).await[1], format!("A:{text}"));
}

/// The same answer, streamed and whole, is the same exchange: texts, calls with the provider's ids, citations.
#[tokio::test(flavor = "multi_thread")]
async fn streaming_changes_nothing_about_what_is_kept() {
    let mut cited = message("see");
    cited["content"][0]["annotations"] = json!([{"type": "url_citation", "url": "https://a.example"}]);
    let output = [thought(1), cited, calls("call_1", "{}"), json!({"id": "ws_1", "type": "web_search_call"})];
    let whole = response(&output);
    let added = |at: usize| event("response.output_item.added", &json!({"output_index": at, "item": output[at]}));
    let done = |at: usize| event("response.output_item.done", &json!({"output_index": at, "item": output[at]}));
    let mut events: Vec<String> = (0..4).flat_map(|at| [added(at), done(at)]).collect();
    let mut last = whole.clone();
    last["output"] = json!([]);
    events.push(event("response.completed", &json!({"response": last})));
    let served = with([entry(&events), Entry::json(&whole.to_string())]).await;
    let streamed = served.streamed(ask::capture(offering("hi"))).await;
    let streamed = streamed.1.unwrap().exchange.unwrap();
    let whole = served.capture(ask::capture(offering("hi"))).await;
    let parts = |exchange: &pb::Exchange| {
        let mut parts = exchange.assistant.clone().unwrap().parts;
        for part in &mut parts {
            if let Some(pb::part::Kind::ToolCall(call)) = &mut part.kind {
                call.call_id.clear();
            }
        }
        parts
    };
    assert_eq!(parts(&streamed), parts(&whole));
    let parts = parts(&whole);
    assert!(parts[1].provider_data.as_ref().unwrap().data_json.contains("https://a.example"), "{parts:?}");
    assert!(matches!(&parts[3].kind, Some(pb::part::Kind::Unknown(unknown)) if unknown.r#type == "web_search_call"));
}

/// A configuration that is wrong is told by its keys.
#[tokio::test(flavor = "multi_thread")]
async fn settings_go_where_the_dialect_has_them() {
    let quirks = "quirks = { system_role = \"developer\", reasoning_summary = \"auto\" }\n";
    let provider = Provider::start([says("{}")]).await;
    let server = Running::start(format!(
        "[profiles.p]\nbackend = \"b\"\nmodel = \"m\"\nparameters = {{ reasoning_effort = \"low\" }}\n[backends.b]\n\
         kind = \"openai-responses\"\nbase_url = \"{}\"\n{quirks}",
        provider.base_url()
    ))
    .await;
    let request = pb::ExecutionRequest {
        profile_id: "p".to_owned(),
        messages: vec![ask::said(pb::Role::System, "brief"), ask::user("hi")],
        ..Default::default()
    };
    server.exchanges().capture(ask::capture(request)).await.unwrap();
    let sent = provider.request(0).await.json();
    assert_eq!(sent["reasoning"], json!({"effort": "low", "summary": "auto"}));
    assert_eq!(sent["input"][0], json!({"type": "message", "role": "developer", "content": "brief"}));
}

/// The limit of an answer is one, whether it comes whole or in pieces: what a stream says again is not counted again.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_as_long_in_pieces_as_whole() {
    const LIMIT: usize = 20_000;
    // A stream says the whole response in an event, with the event's own fields around it.
    const FRAME: usize = 100;
    // A message has its text twice: it is named by it.
    let room = LIMIT - FRAME - response(&[message("")]).to_string().len();
    for (length, fits) in [(room / 2, true), (LIMIT / 2, false)] {
        let text = "x".repeat(length);
        let whole = response(&[message(&text)]).to_string();
        assert_eq!(whole.len() < LIMIT, fits);
        let halves = text.split_at(length / 2);
        let script = [Entry::json(&whole), streamed(&[halves.0, halves.1])];
        let more = format!("max_answer_bytes = {LIMIT}\n");
        let served = Served::speaking("openai-responses", "/v1", script, &more).await;
        let whole = served.server.exchanges().capture(ask::capture(ask::text("x"))).await;
        let (_, streamed) = served.streamed(ask::capture(ask::text("x"))).await;
        for end in [whole.map(tonic::Response::into_inner), streamed] {
            match end {
                Ok(done) => assert!(fits && done.exchange.unwrap().text == text),
                Err(status) => {
                    assert!(!fits, "{status:?}");
                    refused::is(&status, Code::Unavailable, Reason::ProviderBadAnswer);
                }
            }
        }
    }
}
