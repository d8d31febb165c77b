//! One conversation that goes through every dialect and comes back, with tools and reasoning in each turn: what goes out is all of what was
//! said, in that dialect's words, with the opaque data of its own issuer and nobody else's; and what is stored stays as it was said.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::{Value, json};
use tonic::Code;

use crate::served::Served;
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, spoken};
use crate::support::{ask, refused, stub};

/// Profiles by the dialect of their backend, in the order in which the conversation goes.
const WAY: [&str; 5] = ["openai", "anthropic", "gemini", "openai-responses", "ollama"];

/// What a model of a dialect attaches to its call in a turn, for itself alone; Ollama's attach nothing.
fn opaque(kind: &str, turn: usize) -> String {
    format!("{}+{turn}==", kind.to_uppercase())
}

/// An answer that thinks and calls `w`, with what its issuer wants back.
fn calling(kind: &str, turn: usize) -> Entry {
    let (opaque, id, arguments) = (opaque(kind, turn), format!("c.{kind}:{turn}"), json!({"turn": turn}));
    let text = arguments.to_string();
    Entry::json(
        &match kind {
            "openai" => {
                let call = json!({"id": id, "type": "function", "function": {"name": "w", "arguments": text}, "extra_content": {"sig": opaque}});
                let message = json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call]});
                json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
            }
            "anthropic" => json!({"type": "message", "stop_reason": "tool_use", "content": [
                {"type": "thinking", "thinking": "hm", "signature": opaque},
                {"type": "tool_use", "id": id, "name": "w", "input": arguments},
            ]}),
            "gemini" => json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
                {"text": "hm", "thought": true},
                {"functionCall": {"name": "w", "args": arguments}, "thoughtSignature": opaque},
            ]}}]}),
            "openai-responses" => json!({"object": "response", "status": "completed", "output": [
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": opaque},
                {"type": "function_call", "id": "fc", "status": "completed", "call_id": id, "name": "w", "arguments": text},
            ]}),
            _ => json!({"done": true, "done_reason": "stop", "message": {
                "role": "assistant", "content": "", "thinking": "hm",
                "tool_calls": [{"function": {"name": "w", "arguments": arguments}}],
            }}),
        }
        .to_string(),
    )
}

/// An answer that says this.
fn saying(kind: &str, text: &str) -> Entry {
    Entry::json(
        &match kind {
            "openai" => {
                json!({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
            }
            "anthropic" => {
                json!({"type": "message", "stop_reason": "end_turn", "content": [{"type": "text", "text": text}]})
            }
            "gemini" => json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": text}]}}]}),
            "openai-responses" => json!({"object": "response", "status": "completed", "output": [
                {"type": "message", "id": "msg", "status": "completed", "role": "assistant",
                 "content": [{"type": "output_text", "text": text, "annotations": []}]},
            ]}),
            _ => json!({"done": true, "done_reason": "stop", "message": {"role": "assistant", "content": text}}),
        }
        .to_string(),
    )
}

/// What a body says, line by line, in words that are no dialect's; and the ids of its calls and of their results.
#[derive(Debug, Default)]
struct Read {
    lines: Vec<String>,
    calls: Vec<String>,
    results: Vec<String>,
}

impl Read {
    fn say(&mut self, who: &str, what: &Value) {
        match what {
            Value::Array(parts) => parts.iter().for_each(|part| self.say(who, &part["text"])),
            Value::String(text) if !text.is_empty() => self.lines.push(format!("{who}: {text}")),
            _ => {}
        }
    }

    fn call(&mut self, id: &Value, name: &Value, arguments: &Value) {
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        self.lines.push(format!("call {}: {arguments}", name.as_str().unwrap()));
        self.calls.extend(id.as_str().map(str::to_owned));
    }

    fn result(&mut self, id: &Value, what: &Value) {
        self.lines.push(format!("result: {}", what.as_str().unwrap()));
        self.results.extend(id.as_str().map(str::to_owned));
    }

    /// In the form that OpenAI's and Ollama's chat share.
    fn messages(&mut self, body: &Value) {
        for message in body["messages"].as_array().unwrap() {
            let role = message["role"].as_str().unwrap();
            if role == "tool" {
                self.result(&message["tool_call_id"], &message["content"]);
                continue;
            }
            self.say(role, &message["content"]);
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                self.call(&call["id"], &call["function"]["name"], &call["function"]["arguments"]);
            }
        }
    }

    fn blocks(&mut self, body: &Value) {
        self.say("system", &body["system"]);
        for message in body["messages"].as_array().unwrap() {
            for block in message["content"].as_array().unwrap() {
                match block["type"].as_str().unwrap() {
                    "text" => self.say(message["role"].as_str().unwrap(), &block["text"]),
                    "tool_use" => self.call(&block["id"], &block["name"], &block["input"]),
                    "tool_result" => self.result(&block["tool_use_id"], &block["content"]),
                    "thinking" => assert_eq!(block["thinking"], "hm"),
                    other => panic!("{other}"),
                }
            }
        }
    }

    fn contents(&mut self, body: &Value) {
        self.say("system", &body["systemInstruction"]["parts"]);
        for content in body["contents"].as_array().unwrap() {
            let role = if content["role"] == "model" { "assistant" } else { "user" };
            for part in content["parts"].as_array().unwrap() {
                if let Some(call) = part.get("functionCall") {
                    self.call(&call["id"], &call["name"], &call["args"]);
                } else if let Some(result) = part.get("functionResponse") {
                    self.result(&result["id"], &result["response"]["output"]);
                } else if part.get("thought").is_none() {
                    self.say(role, &part["text"]);
                }
            }
        }
    }

    fn items(&mut self, body: &Value) {
        for item in body["input"].as_array().unwrap() {
            match item["type"].as_str().unwrap() {
                "message" => self.say(item["role"].as_str().unwrap(), &item["content"]),
                "function_call" => self.call(&item["call_id"], &item["name"], &item["arguments"]),
                "function_call_output" => self.result(&item["call_id"], &item["output"]),
                "reasoning" => {}
                other => panic!("{other}"),
            }
        }
    }

    fn of(kind: &str, body: &Value) -> Self {
        let mut read = Self::default();
        match kind {
            "anthropic" => read.blocks(body),
            "gemini" => read.contents(body),
            "openai-responses" => read.items(body),
            _ => read.messages(body),
        }
        read
    }
}

/// Checks a body that went out to a model of a dialect.
async fn check(served: &Served, number: usize, kind: &str, said: &[String], turns: &[&str]) {
    let request = served.provider.request(number).await;
    let read = Read::of(kind, &request.json());
    assert_eq!(read.lines, said, "{kind}: {}", request.text());
    assert_eq!(read.calls, read.results, "{kind}");
    for (turn, issuer) in turns.iter().enumerate() {
        let goes_back = *issuer == kind && kind != "ollama";
        assert_eq!(
            request.text().contains(&opaque(issuer, turn)),
            goes_back,
            "{issuer} {turn} to {kind}: {}",
            request.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_through_every_dialect_and_comes_back() {
    let turns: Vec<&str> = WAY.into_iter().chain(WAY).collect();
    let script =
        turns.iter().enumerate().flat_map(|(turn, kind)| [calling(kind, turn), saying(kind, &format!("a{turn}"))]);
    let provider = Provider::start(script).await;
    let mut config = "default_profile = \"openai\"\n".to_owned();
    for kind in WAY {
        config += &spoken(kind, kind, &provider.base_url(), stub::ONCE);
    }
    let mut served = Served { provider, server: Running::start(config).await };
    let mut said = vec!["system: Be brief.".to_owned()];
    let mut kept: Vec<pb::Exchange> = Vec::new();
    for (turn, kind) in turns.iter().enumerate() {
        let mut request = pb::ExecutionRequest { profile_id: (*kind).to_owned(), ..ask::text(&format!("q{turn}")) };
        let asked = match kept.last() {
            None => {
                request.messages = vec![ask::said(pb::Role::System, "Be brief.")];
                request.tools = ask::tools(&["w"]);
                served.capture(ask::capture(request)).await
            }
            Some(last) => served.go_on(ask::after(&last.exchange_id, request)).await,
        };
        said.push(format!("user: q{turn}"));
        check(&served, 2 * turn, kind, &said, &turns[..turn]).await;
        let call = asked.pending_tool_calls[0].call_id.clone();
        let results = vec![ask::result(&call, &format!("r{turn}"))];
        let done = served.go_on(ask::after_with(&asked.exchange_id, results)).await;
        said.extend([format!("call w: {{\"turn\":{turn}}}"), format!("result: r{turn}")]);
        check(&served, 2 * turn + 1, kind, &said, &turns[..=turn]).await;
        said.push(format!("assistant: a{turn}"));
        assert_eq!(
            (done.text.as_str(), done.responder.as_ref().unwrap().backend_id.as_str()),
            (&*format!("a{turn}"), *kind)
        );
        kept.extend([asked, done]);
        if turn + 1 == WAY.len() {
            served = served.restart().await;
        }
    }
    for exchange in &kept {
        assert_eq!(served.inspect(&exchange.exchange_id).await, *exchange, "what is stored stays as it was said");
    }
    let last = ask::inspect(&kept.last().unwrap().exchange_id);
    let history = served.server.exchanges().inspect(last).await.unwrap().into_inner().messages;
    assert_eq!(history.len(), 1 + 4 * turns.len());
    let stored = format!("{history:?}");
    for (turn, kind) in turns.iter().enumerate().filter(|(_, kind)| **kind != "ollama") {
        assert!(stored.contains(&opaque(kind, turn)), "{kind} {turn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opaque_data_of_another_model_is_dropped_kept_or_refused_as_configured_in_every_dialect() {
    for kind in WAY.into_iter().filter(|kind| *kind != "ollama") {
        for policy in ["drop", "keep", "fail"] {
            let script = [calling(kind, 0), saying(kind, "a"), saying(kind, "b")];
            let more = format!("foreign_data = \"{policy}\"\n");
            let served = Served::speaking(kind, "/v1", script, &more).await;
            let request = pb::ExecutionRequest { tools: ask::tools(&["w"]), ..ask::text("q") };
            let asked = served.capture(ask::capture(request)).await;
            let call = asked.pending_tool_calls[0].call_id.clone();
            let done = served.go_on(ask::after_with(&asked.exchange_id, vec![ask::result(&call, "r")])).await;
            assert!(served.provider.request(1).await.text().contains(&opaque(kind, 0)), "{kind}: its own goes back");
            let other = pb::ExecutionRequest { model: "stub-2".into(), ..ask::text("and?") };
            let answer = served.server.exchanges().r#continue(ask::after(&done.exchange_id, other)).await;
            if policy == "fail" {
                let failed = answer.unwrap_err();
                refused::is(&failed, Code::InvalidArgument, Reason::BackendUnsupported);
                assert_eq!((refused::fact(&failed, "feature").as_str(), served.provider.count()), ("foreign_data", 2));
                assert!(failed.message().contains("message 1") && failed.message().contains("stub-1"), "{failed:?}");
                continue;
            }
            let adapted = answer.unwrap().into_inner().exchange.unwrap().observations[0].adaptations.clone();
            let is_told = adapted.iter().any(|word| word.starts_with("foreign_"));
            let is_sent = served.provider.request(2).await.text().contains(&opaque(kind, 0));
            assert_eq!((is_sent, is_told), (policy == "keep", policy == "drop"), "{kind} {policy}: {adapted:?}");
        }
    }
}
