//! What the provider of a test answers, in OpenAI's form. It must not know what is tested.

use antiphon::grpc::pb;
use serde_json::{Value, json};

use super::ask;
use super::provider::Entry;

/// A call is made once.
pub(crate) const ONCE: &str = "retry = { attempts = 1 }\n";

/// An answer with what it consumed.
pub(crate) fn text(text: &str) -> Entry {
    metered(text, 7, 3)
}

/// An answer that consumed this.
pub(crate) fn metered(text: &str, input: u64, output: u64) -> Entry {
    Entry::json(
        &json!({
            "id": "a1", "object": "chat.completion", "model": "stub-1",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
        })
        .to_string(),
    )
}

/// An answer that does not say what it consumed.
pub(crate) fn unmetered(text: &str) -> Entry {
    let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    Entry::json(&json!({"choices": [choice]}).to_string())
}

/// An answer that calls tools: id, name, arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Entry {
    let call = |(id, name, arguments): &(&str, &str, &str)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    Entry::json(&json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).to_string())
}

/// A refusal.
pub(crate) fn status(status: u16, message: &str) -> Entry {
    refusal(status, message, "stub_error")
}

/// A refusal with a code.
pub(crate) fn refusal(status: u16, message: &str, code: &str) -> Entry {
    let body = json!({"error": {"message": message, "type": "stub", "code": code}}).to_string();
    Entry::new(status, "application/json", &[&body])
}

/// One event of a stream.
pub(crate) fn event(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!(
        "data: {}\n\n",
        json!({"id": "c1", "object": "chat.completion.chunk", "model": "stub-1", "choices": [choice]})
    )
}

/// A stream that has begun to say something and goes on as the test writes.
pub(crate) fn begun(said: &str) -> Entry {
    Entry::events(&[&event(&json!({"role": "assistant", "content": said}), None)])
}

/// The end of a stream.
pub(crate) fn end(finish: &str) -> String {
    format!("{}data: [DONE]\n\n", event(&json!({}), Some(finish)))
}

/// A whole stream, a piece in each event.
pub(crate) fn streamed(pieces: &[&str]) -> Entry {
    let events = pieces.iter().map(|piece| event(&json!({"content": piece}), None));
    let writes: Vec<String> = events.chain([end("stop")]).collect();
    Entry::events(&writes.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Role and content of each message that was sent.
pub(crate) fn sent(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().expect("messages");
    messages.iter().map(|message| format!("{}:{}", message["role"].as_str().unwrap(), message["content"])).collect()
}

/// A request that offers the tool `look`.
pub(crate) fn offering(run_id: &str, text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as(run_id, text) }
}
