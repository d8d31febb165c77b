//! Hostile input: what is right is broken at random and given to every door that takes bytes from outside: requests, answers of providers in each
//! dialect, imports, configurations, prompts and schemas. Whatever comes is answered, or refused with a reason; nothing breaks in the server, and
//! its store stays whole. `ANTIPHON_FUZZ_ROUNDS` sets how often (60 for each sample), `ANTIPHON_FUZZ_SEED` repeats a run.

use std::path::Path;

use antiphon::grpc::pb;
use prost_reflect::DescriptorPool;
use serde_json::json;
use tonic::{Code, Status};

use crate::foreign;
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, scripted, spoken};
use crate::support::{ask, raw, transfer, within};
use crate::{look, stub};

fn setting(name: &str) -> Option<u64> {
    let (_, value) = std::env::vars().find(|(variable, _)| *variable == format!("ANTIPHON_FUZZ_{name}"))?;
    Some(value.parse().unwrap_or_else(|_| panic!("ANTIPHON_FUZZ_{name} is a number")))
}

fn rounds() -> u64 {
    setting("ROUNDS").unwrap_or(60)
}

/// Chance that can be repeated.
struct Dice(u64);

impl Dice {
    #[expect(clippy::print_stdout, reason = "a run that failed can be repeated")]
    fn new(what: &str) -> Self {
        let seed = setting("SEED").unwrap_or_else(|| u64::from(std::process::id()));
        println!("{what}: ANTIPHON_FUZZ_SEED={seed}");
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (sides.max(1) as u64)).unwrap()
    }

    /// One to four changes, each at random: a bit, a byte, a piece that goes, comes twice or moves, a number at its limit, nesting, an end.
    fn broken(&mut self, right: &[u8]) -> Vec<u8> {
        const WORDS: [&[u8]; 12] = [
            b"null",
            b"-1",
            b"99999999999999999999",
            b"1e999",
            b"\"\"",
            b"{}",
            b"[]",
            b"\xff\xfe",
            b"\0",
            b"\xed\xa0\x80",
            b"[[[[[[[[[[[[[[[[",
            b"\r\n\r\n",
        ];
        let mut bytes = right.to_vec();
        for _ in 0..=self.roll(4) {
            let (at, length) = (self.roll(bytes.len()), self.roll(24));
            let end = (at + length).min(bytes.len());
            match self.roll(8) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.roll(8),
                1 if !bytes.is_empty() => bytes[at] = u8::try_from(self.roll(256)).unwrap(),
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                4 => {
                    let piece: Vec<u8> = bytes.drain(at..end).collect();
                    let to = self.roll(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                5 => {
                    let word = WORDS[self.roll(WORDS.len())];
                    bytes.splice(at..end, word.iter().copied());
                }
                6 => bytes.truncate(at),
                _ => {
                    let word = WORDS[self.roll(WORDS.len())].repeat(self.roll(200) + 1);
                    bytes.splice(at..at, word);
                }
            }
        }
        bytes
    }
}

/// A refusal is one of ours, and not that the server broke.
#[track_caller]
fn is_refusal(what: &str, input: &[u8], status: &Status) {
    use tonic_types::StatusExt;
    let broke = matches!(status.code(), Code::Internal | Code::Unknown | Code::DataLoss);
    let reason = status.get_details_error_info().map(|info| info.reason);
    let told = String::from_utf8_lossy(input);
    assert!(!broke && reason.is_some(), "{what}: {status:?} for {told:?}");
}

/// Every RPC, with requests that were right.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_broken_are_refused_or_answered() {
    let mut dice = Dice::new("requests");
    let server = Running::echo().await;
    server.exchanges().capture(ask::capture_on_new("THREAD", ask::text_as("RUN", "hi"))).await.unwrap();
    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    for (rpc, requests) in foreign::asks() {
        let method = foreign::method(&pool, rpc);
        for request in requests {
            let right = foreign::bytes(&method, &request, &[], true);
            for _ in 0..rounds().div_ceil(12) {
                let message = dice.broken(&right);
                let called = raw::call(server.fresh_channel(), rpc, vec![message.clone()], &[("grpc-timeout", "20S")]);
                if let Err(status) = within(rpc, called).await {
                    is_refusal(rpc, &message, &status);
                }
            }
        }
    }
    look::verified(&server).await;
}

/// Answers of providers, in every dialect, whole and in pieces.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_broken_are_failures_or_answers() {
    let mut dice = Dice::new("answers");
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
    let samples = [
        ("openai", chat),
        ("anthropic", anthropic),
        ("gemini", format!("data: {gemini}\n\n")),
        ("ollama", ollama),
        ("openai-responses", responses),
    ];
    for (kind, right) in samples {
        let count = usize::try_from(rounds()).unwrap();
        let answers: Vec<Vec<u8>> = std::iter::once(right.clone().into_bytes())
            .chain((1..count).map(|_| dice.broken(right.as_bytes())))
            .collect();
        let script = answers.iter().map(|answer| {
            let form = if kind == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
            Entry::new(200, form, &[]).write(answer)
        });
        let provider = Provider::start(script.collect::<Vec<_>>()).await;
        let base_url = provider.base_url();
        let more = format!("{}circuit = {{ failures = 1000000, open_ms = 1 }}\n", stub::ONCE);
        let config = format!("default_profile = \"far\"\n{}", spoken("far", kind, &base_url, &more));
        let server = Running::start(config).await;
        for (number, answer) in answers.iter().enumerate() {
            let capture = Some(ask::capture(ask::text("hi")));
            let mut stream = match server.exchanges().stream_capture(pb::StreamCaptureRequest { capture }).await {
                Ok(stream) => stream.into_inner(),
                Err(status) => {
                    is_refusal(kind, answer, &status);
                    continue;
                }
            };
            let mut failed = None;
            loop {
                match within(kind, stream.message()).await {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(status) => {
                        is_refusal(kind, answer, &status);
                        failed = Some(status);
                        break;
                    }
                }
            }
            assert!(number > 0 || failed.is_none(), "{kind}: the sample is right: {failed:?}");
        }
        look::verified(&server).await;
    }
}

/// Exports that were changed on their way.
#[tokio::test(flavor = "multi_thread")]
async fn imports_that_are_broken_leave_the_store_whole() {
    let mut dice = Dice::new("imports");
    let from = Running::echo().await;
    from.exchanges().capture(ask::capture_on_new("t", ask::text_as("r", "hi"))).await.unwrap();
    from.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("more"))).await.unwrap();
    let (lines, _) = transfer::export(&from, Vec::new()).await;
    let into = Running::echo().await;
    for round in 0..rounds() {
        let broken = dice.broken(lines.as_bytes());
        let broken = String::from_utf8_lossy(&broken).into_owned();
        let open = pb::ImportOpen { skip_faulty: round % 2 == 1, ..Default::default() };
        if let Err(status) = within("an import", transfer::import_as(&into, open, &broken, 3)).await {
            is_refusal("import", broken.as_bytes(), &status);
        }
    }
    look::verified(&into).await;
}

/// Configurations and prompts, as a server reads them when it starts or reloads.
#[tokio::test(flavor = "multi_thread")]
async fn configurations_and_prompts_that_are_broken_change_nothing() {
    let mut dice = Dice::new("configurations");
    let prompt = "---\nid: p\ndescription: d\nvariables:\n  - { name: name, type: string }\n---\nuser:\nHello {{ name }}, {% for x in [1, 2] %}{{ x }}{% endfor %}\n";
    let right =
        format!("{}\n[contracts.c]\nschema = '{{\"type\":\"object\"}}'\n[log]\nlevel = \"off\"\n", scripted(""));
    let right = format!("prompts_dir = \"prompts\"\n{right}");
    let put = |folder: &Path, prompt: &[u8]| {
        std::fs::create_dir_all(folder.join("prompts")).unwrap();
        std::fs::write(folder.join("prompts/p.prompt"), prompt).unwrap();
    };
    let server = Running::start_beside(right.clone(), |folder| put(folder, prompt.as_bytes())).await;
    let file = server.folder().join("antiphon.toml");
    for round in 0..rounds() {
        let (config, text) = match round % 2 {
            0 => (dice.broken(right.as_bytes()), prompt.as_bytes().to_vec()),
            _ => (right.clone().into_bytes(), dice.broken(prompt.as_bytes())),
        };
        std::fs::write(&file, &config).unwrap();
        put(&server.folder(), &text);
        let told = within("a reload", server.admin().reload(pb::ReloadRequest { dry_run: true })).await;
        let told = told.unwrap_or_else(|status| panic!("{status:?} for {:?}", String::from_utf8_lossy(&config)));
        assert!(!told.into_inner().applied);
    }
    server.exchanges().capture(ask::capture(ask::text("hi"))).await.unwrap();
}

/// Schemas that come with a request.
#[tokio::test(flavor = "multi_thread")]
async fn schemas_that_are_broken_are_refused_or_kept() {
    let mut dice = Dice::new("schemas");
    let server = Running::start(scripted("[[backends.script.rules]]\ntext = '{\"a\":[1]}'\n")).await;
    let right = r##"{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":3}},"required":["a"],"$defs":{"n":{"anyOf":[{"type":"integer","minimum":0},{"pattern":"^x+$"}]}}}"##;
    for _ in 0..rounds() {
        let schema_json = String::from_utf8_lossy(&dice.broken(right.as_bytes())).into_owned();
        let form = pb::JsonSchemaContract { schema_json: schema_json.clone(), name: "n".into() };
        let contract = Some(pb::Contract { form: Some(pb::contract::Form::JsonSchema(form)) });
        let request = pb::ExecutionRequest { contract, ..ask::text("hi") };
        if let Err(status) = within("a schema", server.exchanges().capture(ask::capture(request))).await {
            is_refusal("schema", schema_json.as_bytes(), &status);
        }
    }
}
