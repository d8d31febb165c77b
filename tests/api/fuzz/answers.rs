//! Answers of providers in every dialect: broken, cut, and split at any place. It must not know what becomes of them but whether they are answers.

use antiphon::grpc::pb;
use serde_json::json;

use super::dice::{Dice, rounds};
use super::is_refusal;
use crate::support::provider::{End, Entry, Provider};
use crate::support::server::{Running, spoken};
use crate::support::{ask, within};
use crate::{look, stub};

/// A right answer in each dialect: `hello`, streamed.
fn samples() -> [(&'static str, String); 5] {
    let event = |kind: &str, body: &serde_json::Value| format!("event: {kind}\ndata: {body}\n\n");
    let anthropic = [
        event("message_start", &json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "stub-1", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}})),
        event("content_block_start", &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        event("content_block_delta", &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}})),
        event("content_block_stop", &json!({"type": "content_block_stop", "index": 0})),
        event("message_delta", &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}})),
        event("message_stop", &json!({"type": "message_stop"})),
    ]
    .concat();
    let chat = [stub::event(&json!({"role": "assistant", "content": "hello"}), None), stub::end("stop")].concat();
    let gemini = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}, {"functionCall": {"name": "look", "args": {}}}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}});
    let ollama = format!(
        "{}\n{}\n",
        json!({"model": "stub-1", "message": {"role": "assistant", "content": "hello"}, "done": false}),
        json!({"model": "stub-1", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2})
    );
    let item = json!({"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hello", "annotations": []}]});
    let whole = json!({"id": "r", "object": "response", "status": "completed", "model": "stub-1", "output": [item], "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}});
    let responses = [
        event("response.output_item.added", &json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "i", "type": "message", "role": "assistant", "content": []}})),
        event("response.output_text.delta", &json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": "hello"})),
        event("response.output_item.done", &json!({"type": "response.output_item.done", "output_index": 0, "item": item})),
        event("response.completed", &json!({"type": "response.completed", "response": whole})),
    ]
    .concat();
    [
        ("openai", chat),
        ("anthropic", anthropic),
        ("gemini", format!("data: {gemini}\n\n")),
        ("ollama", ollama),
        ("openai-responses", responses),
    ]
}

/// A server that speaks a dialect to a provider that answers so.
async fn server(kind: &str, script: Vec<Entry>) -> (Running, Provider) {
    let provider = Provider::start(script).await;
    let more = format!("{}circuit = {{ failures = 1000000, open_ms = 1 }}\n", stub::ONCE);
    let config = format!("default_profile = \"far\"\n{}", spoken("far", kind, &provider.base_url(), &more));
    (Running::start(config).await, provider)
}

fn empty(kind: &str) -> Entry {
    let form = if kind == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
    Entry::new(200, form, &[])
}

/// An answer in pieces, split at random.
fn split(dice: &mut Dice, kind: &str, answer: &[u8]) -> Entry {
    let mut at: Vec<usize> = (0..dice.roll(12)).map(|_| dice.roll(answer.len())).collect();
    at.extend([0, answer.len()]);
    at.sort_unstable();
    at.windows(2).fold(empty(kind), |entry, ends| entry.write(&answer[ends[0]..ends[1]]))
}

/// What a streamed capture brings.
async fn captured(server: &Running, kind: &str) -> Result<pb::Exchange, tonic::Status> {
    let capture = Some(ask::capture(ask::text("hi")));
    let mut stream = server.exchanges().stream_capture(pb::StreamCaptureRequest { capture }).await?.into_inner();
    let mut last = None;
    while let Some(message) = within(kind, stream.message()).await? {
        last = message.event;
    }
    match last {
        Some(pb::stream_capture_response::Event::Completed(done)) => Ok(done.exchange.unwrap()),
        other => panic!("{kind}: a stream ends with `completed` or an error: {other:?}"),
    }
}

/// Answers that are broken, whole or in pieces, and end in any way.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_broken_are_failures_or_answers() {
    let mut dice = Dice::new("answers");
    for (kind, right) in samples() {
        let count = usize::try_from(rounds()).unwrap();
        let answers: Vec<Vec<u8>> = (0..count).map(|_| dice.broken(right.as_bytes())).collect();
        let script = answers.iter().map(|answer| {
            let end = *dice.one(&[End::Close, End::Close, End::Cut, End::Reset]);
            split(&mut dice, kind, answer).end(end)
        });
        let script = script.collect();
        let (server, _provider) = server(kind, script).await;
        for answer in &answers {
            if let Err(status) = captured(&server, kind).await {
                is_refusal(kind, answer, &status);
            }
        }
        look::verified(&server).await;
    }
}

/// A right answer is the same answer wherever the network splits it, byte by byte too, and in the midst of a character.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_the_same_wherever_they_are_split() {
    let mut dice = Dice::new("splits");
    for (kind, right) in samples() {
        let right = right.replace("hello", "h\u{e9}llo \u{1f468}\u{200d}\u{1f469} \u{4e16}");
        let count = usize::try_from(rounds()).unwrap();
        let mut script = vec![empty(kind).write(&right)];
        script.push(right.as_bytes().chunks(1).fold(empty(kind), |entry, byte| entry.write(byte)));
        script.extend((0..count).map(|_| split(&mut dice, kind, right.as_bytes())));
        let pieces: Vec<String> = script.iter().map(|entry| format!("{:?}", entry.steps)).collect();
        let (server, _provider) = server(kind, script).await;
        let mut whole = None;
        for steps in pieces {
            let exchange =
                captured(&server, kind).await.unwrap_or_else(|status| panic!("{kind}: {status:?} for {steps}"));
            let names = |call: &pb::ToolCall| (call.name.clone(), call.arguments_json.clone());
            let calls: Vec<_> = exchange.pending_tool_calls.iter().map(names).collect();
            let said = (exchange.text, calls, exchange.usage, exchange.stop_reason);
            assert_eq!(whole.get_or_insert_with(|| said.clone()), &said, "{kind}: {steps}");
        }
    }
}

/// The first half of a right answer is none, whatever the connection says.
#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_none() {
    let mut dice = Dice::new("halves");
    for (kind, right) in samples() {
        // Up to where the answer is known to be whole there are at least so many bytes.
        let halves: Vec<usize> = (0..rounds()).map(|_| dice.roll(right.len() / 2)).collect();
        let script = halves.iter().map(|half| empty(kind).write(&right.as_bytes()[..*half])).collect();
        let (server, _provider) = server(kind, script).await;
        for half in halves {
            let status = captured(&server, kind).await.expect_err(kind);
            is_refusal(kind, &right.as_bytes()[..half], &status);
        }
    }
}
