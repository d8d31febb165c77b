//! Ollama's own dialect, through the server: lines of JSON, calls whose arguments are objects, and what is no whole answer.

use std::time::SystemTime;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::{Value, json};
use tonic::Code;

use crate::bench::NOW;
use crate::case::Case;
use crate::served::Served;
use crate::support::provider::{End, Entry, Provider};
use crate::support::server::Running;
use crate::support::{ask, look, refused, stub};

const LINES: &str = "application/x-ndjson";

async fn of(id: &str) -> Served {
    with(Case::load(id).script(SystemTime::UNIX_EPOCH + NOW)).await
}

async fn with(script: impl IntoIterator<Item = Entry>) -> Served {
    Served::speaking("ollama", "", script, "").await
}

/// A line of an answer.
fn line(message: &Value, more: &Value) -> String {
    let mut line = json!({"model": "stub-1", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false});
    for (key, value) in more.as_object().unwrap() {
        line[key] = value.clone();
    }
    format!("{line}\n")
}

fn last(message: &Value) -> String {
    line(message, &json!({"done": true, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2}))
}

/// A whole answer that says this.
fn says(text: &str) -> Entry {
    Entry::json(&last(&json!({"role": "assistant", "content": text})))
}

fn offering(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text(text) }
}

#[tokio::test(flavor = "multi_thread")]
async fn b045_lines_and_not_reads_part_an_answer() {
    let served = of("B045").await;
    let (said, end) = served.streamed(ask::capture_on_new("t", ask::text_as("r", "hi"))).await;
    let done = end.unwrap();
    let exchange = done.exchange.unwrap();
    assert_eq!(
        (said.as_str(), exchange.text.as_str(), exchange.stop_reason()),
        ("Hello", "Hello", pb::StopReason::Stop)
    );
    let usage = exchange.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(5), Some(2), None));
    let request = served.provider.request(0).await;
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/api/chat"));
    let expected = json!({"model": "stub-1", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(request.json(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn b046_an_error_in_the_middle_and_an_early_end_are_no_answers() {
    let served = of("B046").await;
    served.provider.script(says("again"));
    let first = served.streamed(ask::capture_on_new("t", ask::text_as("r1", "hi"))).await;
    let failed = first.1.unwrap_err();
    assert_eq!(first.0, "Yes");
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    assert!(failed.message().contains("model runner stopped"), "{failed:?}");
    let cut = served.streamed(ask::capture_on_new("u", ask::text_as("r2", "hi"))).await.1.unwrap_err();
    refused::is(&cut, Code::Unavailable, Reason::ProviderBadAnswer);
    for (run_id, thread_id) in [("r1", "t"), ("r2", "u")] {
        let run = look::run(&served.server, run_id).await;
        assert_eq!((run.state(), run.exchange_id.as_str()), (pb::RunState::Failed, ""));
        assert_eq!(served.head(thread_id).await, "", "no exchange, and the head where it was");
    }
    let request = pb::ExecutionRequest { retry: true, ..ask::text_as("r2", "hi") };
    assert_eq!(served.capture(ask::capture_on_new("u", request)).await.text, "again");
}

/// The same end of an answer that is asked for whole, and of one whose connection breaks.
#[tokio::test(flavor = "multi_thread")]
async fn b046_a_whole_answer_has_its_last_line_too() {
    let open = line(&json!({"role": "assistant", "content": "Yes"}), &json!({}));
    let script = [
        Entry::json(&open),
        Entry::new(200, LINES, &[&open]).end(End::Reset),
        Entry::new(200, LINES, &[&open[..40]]),
        Entry::json(r#"{"error":"no memory"}"#),
    ];
    let served = with(script).await;
    for expected in ["ended before it was whole", "broke", "ended before it was whole", "no memory"] {
        let failed = served.server.exchanges().capture(ask::capture(ask::text("hi"))).await.unwrap_err();
        assert_eq!(failed.code(), Code::Unavailable);
        assert!(failed.message().contains(expected), "{failed:?}");
    }
}

/// One stored call, two routes: an object here, a text there.
#[tokio::test(flavor = "multi_thread")]
async fn b048_arguments_are_an_object_on_its_own_route_and_a_text_on_the_compatible_one() {
    let provider = Provider::start(Case::load("B048").script(SystemTime::UNIX_EPOCH + NOW)).await;
    let (compatible, once) = (provider.base_url(), stub::ONCE);
    let native = compatible.replace("/v1", "");
    let server = Running::start(format!(
        "[profiles.native]\nbackend = \"native\"\nmodel = \"s\"\n[profiles.compatible]\nbackend = \"compatible\"\n\
         model = \"s\"\n[backends.native]\nkind = \"ollama\"\nbase_url = \"{native}\"\n{once}\
         [backends.compatible]\nkind = \"openai\"\nbase_url = \"{compatible}\"\n{once}"
    ))
    .await;
    // The digits and the order of the arguments are the model's.
    let arguments = r#"{"c":"ls","big":18446744073709551616,"a":1.0}"#;
    let transcript = ask::record(vec![
        ask::user("list"),
        ask::calling("c1", "run", arguments),
        ask::answering("c1", "a.txt"),
        ask::assistant("one file"),
    ]);
    let recorded = server.exchanges().record(transcript).await.unwrap().into_inner().exchange_id;
    for profile_id in ["native", "compatible"] {
        let request = pb::ExecutionRequest { profile_id: profile_id.to_owned(), ..ask::text("and now?") };
        server.exchanges().r#continue(ask::after(&recorded, request)).await.unwrap();
    }
    let native = provider.request(0).await;
    let call = format!(r#""tool_calls":[{{"function":{{"name":"run","arguments":{arguments}}}}}]"#);
    assert!(native.text().contains(&call), "{}", native.text());
    assert!(native.text().contains(r#"{"role":"tool","tool_name":"run","content":"a.txt"}"#), "{}", native.text());
    let compatible = provider.request(1).await.json();
    assert_eq!(
        compatible["messages"][1]["tool_calls"][0]["function"]["arguments"],
        Value::String(arguments.to_owned())
    );
}

/// B140: the same cut through a character, in lines: reads know nothing of characters.
#[tokio::test(flavor = "multi_thread")]
async fn b140_a_character_cut_between_reads_of_lines() {
    let text = "你好，世界";
    let bytes = [line(&json!({"content": text}), &json!({})), last(&json!({"content": ""}))].concat().into_bytes();
    let at = bytes.windows(3).position(|window| window == "，".as_bytes()).unwrap() + 1;
    let entry = Entry::new(200, LINES, &[]).write(&bytes[..at]).write(&bytes[at..]);
    let served = with([entry]).await;
    let (said, end) = served.streamed(ask::capture(ask::text("hi"))).await;
    let exchange = end.unwrap().exchange.unwrap();
    assert_eq!((said.as_str(), exchange.text.as_str()), (text, text));
    assert_eq!(served.history(&exchange.exchange_id).await[1], format!("A:{text}"));
}

/// A round of tools: calls without ids get ours, results name their tool, and thinking goes back beside the calls.
#[tokio::test(flavor = "multi_thread")]
async fn a_round_of_tools_with_thinking() {
    let call = |at: u32| json!({"function": {"name": "look", "arguments": {"at": at}}});
    let calling = [
        line(&json!({"role": "assistant", "content": "", "thinking": "two places"}), &json!({})),
        line(&json!({"role": "assistant", "content": "", "tool_calls": [call(1), call(2)]}), &json!({})),
        last(&json!({"role": "assistant", "content": ""})),
    ];
    let served = with([Entry::new(200, LINES, &[&calling.concat()]), says("done")]).await;
    let (_, end) = served.streamed(ask::capture_on_new("t", offering("where?"))).await;
    let asked = end.unwrap().exchange.unwrap();
    assert_eq!((asked.stop_reason(), asked.pending_tool_calls.len()), (pb::StopReason::ToolCalls, 2));
    let ids: Vec<&str> = asked.pending_tool_calls.iter().map(|call| call.call_id.as_str()).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.is_empty()), "{ids:?}");
    let results = vec![ask::result(ids[1], "second"), ask::result(ids[0], "first")];
    assert_eq!(served.go_on(ask::after_with(&asked.exchange_id, results)).await.text, "done");
    let sent = served.messages(1).await;
    assert_eq!(
        sent[1],
        json!({
            "role": "assistant", "content": "", "thinking": "two places", "tool_calls": [call(1), call(2)],
        })
    );
    let results: Vec<&Value> = sent.as_array().unwrap()[2..].iter().map(|message| &message["content"]).collect();
    assert_eq!(results, ["first", "second"], "a result is known by its place");
    assert!(sent.as_array().unwrap()[2..].iter().all(|message| message["tool_name"] == "look"));
}

/// A model that is not there, as the provider says it; nothing is stored, and nothing is asked again.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_there() {
    let body = r#"{"error":"model 'stub-1' not found"}"#;
    let served = with([Entry::new(404, "application/json", &[body])]).await;
    let failed = served.server.exchanges().capture(ask::capture(ask::text_as("r", "hi"))).await.unwrap_err();
    refused::is(&failed, Code::InvalidArgument, Reason::ProviderRefusedRequest);
    assert!(failed.message().contains("model 'stub-1' not found"), "{failed:?}");
    assert_eq!((refused::fact(&failed, "provider_status").as_str(), served.provider.count()), ("404", 1));
    assert_eq!(look::run(&served.server, "r").await.state(), pb::RunState::Failed);
}

/// Settings go into `options`, the caller's own among them; what the dialect cannot say is refused before anything is sent.
#[tokio::test(flavor = "multi_thread")]
async fn settings_and_what_cannot_be_said() {
    let quirks = "quirks = { options = { num_ctx = 8192, min_p = 0.5 } }\n";
    let served = Served::speaking("ollama", "", [says("ok")], quirks).await;
    let parameters = pb::Parameters {
        max_output_tokens: Some(9),
        reasoning_effort: "high".to_owned(),
        extra_json: r#"{"keep_alive":"5m","options":{"num_ctx":4096}}"#.to_owned(),
        ..Default::default()
    };
    served.capture(ask::capture(pb::ExecutionRequest { parameters: Some(parameters), ..ask::text("hi") })).await;
    let sent = served.provider.request(0).await.json();
    assert_eq!(sent["options"], json!({"num_predict": 9, "num_ctx": 4096, "min_p": 0.5}));
    assert_eq!((&sent["think"], &sent["keep_alive"], &sent["stream"]), (&json!("high"), &json!("5m"), &json!(false)));
    let forced = pb::ToolChoice { choice: Some(pb::tool_choice::Choice::Required(Default::default())) };
    let forced = pb::ExecutionRequest { tool_choice: Some(forced), ..offering("hi") };
    let failed = served.server.exchanges().capture(ask::capture(forced)).await.unwrap_err();
    assert_eq!((refused::fact(&failed, "feature").as_str(), served.provider.count()), ("tool_choice", 1));
}
