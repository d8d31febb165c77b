//! Further bytes from outside, broken: answers that come whole and refusals of providers, chats that are imported, tokens, files of keys, and exports of a
//! store that has something of every kind. It must not know what becomes of them but whether they are answered or refused.

use antiphon::grpc::pb;
use serde_json::json;

use super::dice::{Dice, rounds};
use super::is_refusal;
use crate::access::{Keys, call, config};
use crate::retention::{erase, exchange, thread};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, spoken};
use crate::support::{ask, transfer, within};
use crate::{erased, look, stub};

/// A right answer in each dialect that is not streamed, and a refusal.
fn samples() -> [(&'static str, String); 5] {
    let chat = json!({"choices": [{"message": {"role": "assistant", "content": "hello", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let anthropic = json!({"id": "m", "type": "message", "role": "assistant", "model": "stub-1", "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}});
    let gemini = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}});
    let ollama = json!({"model": "stub-1", "message": {"role": "assistant", "content": "hello"}, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2});
    let item = json!({"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hello", "annotations": []}]});
    let responses = json!({"id": "r", "object": "response", "status": "completed", "model": "stub-1", "output": [item], "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}});
    [
        ("openai", chat.to_string()),
        ("anthropic", anthropic.to_string()),
        ("gemini", gemini.to_string()),
        ("ollama", ollama.to_string()),
        ("openai-responses", responses.to_string()),
    ]
}

/// Answers that come whole, and refusals with a body, broken.
#[tokio::test(flavor = "multi_thread")]
async fn whole_answers_and_refusals_that_are_broken_are_failures_or_answers() {
    let mut dice = Dice::new("whole answers");
    let refusal = json!({"error": {"message": "no", "type": "invalid_request_error", "code": "context_length_exceeded", "param": null}, "type": "error"});
    for (kind, right) in samples() {
        let mut answers = vec![(200, right.clone().into_bytes())];
        for round in 0..rounds() {
            let status = if round % 3 == 0 { *dice.one(&[400, 401, 404, 413, 422, 429, 500, 503]) } else { 200 };
            let right = if status == 200 { right.clone() } else { refusal.to_string() };
            answers.push((status, dice.broken(right.as_bytes())));
        }
        let entry = |(status, body): &(u16, Vec<u8>)| {
            Entry::new(*status, "application/json", &[]).write(body).header("retry-after", "0")
        };
        let provider = Provider::start(answers.iter().map(entry).collect::<Vec<_>>()).await;
        let more = format!("{}circuit = {{ failures = 1000000, open_ms = 1 }}\n", stub::ONCE);
        let config = format!("default_profile = \"far\"\n{}", spoken("far", kind, &provider.base_url(), &more));
        let server = Running::start(config).await;
        for (round, (_, answer)) in answers.iter().enumerate() {
            let captured = within(kind, server.exchanges().capture(ask::capture(ask::text("hi")))).await;
            match captured {
                Ok(_) => {}
                Err(status) if round == 0 => panic!("{kind}: what is right is an answer: {status:?}"),
                Err(status) => is_refusal(kind, answer, &status),
            }
        }
        look::verified(&server).await;
    }
}

/// Chats, as `import` takes them in the form of OpenAI.
#[tokio::test(flavor = "multi_thread")]
async fn chats_that_are_broken_are_refused_or_recorded() {
    let mut dice = Dice::new("chats");
    let server = Running::echo().await;
    let right = concat!(
        r#"{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"q"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},{"role":"assistant","content":"a","model":"m"}],"name":"first"}"#,
        "\n",
        r#"{"messages":[{"role":"user","content":"w?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"get","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"sunny"},{"role":"assistant","content":"it is sunny"}],"tools":[{"type":"function","function":{"name":"get","parameters":{"type":"object"}}}]}"#,
        "\n"
    );
    let open = || pb::ImportOpen {
        format: pb::TransferFormat::OpenaiChat.into(),
        create_threads: true,
        ..pb::ImportOpen::default()
    };
    transfer::import_as(&server, open(), right, 1).await.unwrap();
    for round in 0..rounds() * 2 {
        let broken = String::from_utf8_lossy(&dice.broken(right.as_bytes())).into_owned();
        let open = pb::ImportOpen { skip_faulty: round % 2 == 1, ..open() };
        if let Err(status) = within("chats", transfer::import_as(&server, open, &broken, 1)).await {
            is_refusal("chats", broken.as_bytes(), &status);
        }
    }
    look::verified(&server).await;
}

/// What stands in the header that says who calls: keys and tokens.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_are_broken_open_nothing() {
    use jsonwebtoken::{Algorithm, EncodingKey, Header};
    const SECRET: &[u8] = b"a shared secret of more than 32 bytes";
    let mut dice = Dice::new("credentials");
    let jwt = "[access.jwt]\nissuer = \"i\"\naudience = \"antiphon\"\n\
               [[access.jwt.keys]]\nid = \"one\"\nalgorithm = \"HS256\"\nfile = \"secret\"\n";
    let mut keys = Keys::default();
    let key = keys.make("a", &["read"]);
    let server = Running::start_beside(config(jwt), |folder| {
        keys.write(folder);
        std::fs::write(folder.join("secret"), SECRET).unwrap();
    })
    .await;
    let header = Header { kid: Some("one".to_owned()), ..Header::new(Algorithm::HS256) };
    let claims = json!({"iss": "i", "aud": "antiphon", "exp": 4_000_000_000_u64, "sub": "me", "antiphon_namespace": "a", "scope": "read"});
    let token = jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(SECRET).unwrap()).unwrap();
    let token = format!("Bearer {token}");
    let request = pb::ThreadServiceListRequest::default();
    for right in [&key, &token] {
        call(&server, "ThreadService/List", &request, &[("authorization", right)]).await.unwrap();
        for _ in 0..rounds() * 2 {
            let broken = String::from_utf8_lossy(&dice.broken(right.as_bytes())).into_owned();
            // What no header can say does not leave this machine.
            let sayable = broken.bytes().all(|byte| (32..127).contains(&byte));
            if !sayable || broken.trim() == right.as_str() {
                continue;
            }
            let headers = [("authorization", broken.as_str())];
            let called = call(&server, "ThreadService/List", &request, &headers);
            match within("a call", called).await {
                // The scheme may be said in any letters.
                Ok(_) => assert!(is_same_credential(&broken, right), "{broken} opens what {right} does"),
                Err(status) => is_refusal("a credential", broken.as_bytes(), &status),
            }
        }
    }
}

fn is_same_credential(broken: &str, right: &str) -> bool {
    let (scheme, rest) = right.split_once(' ').unwrap();
    broken.trim().split_once(' ').is_some_and(|(said, more)| said.eq_ignore_ascii_case(scheme) && more.trim() == rest)
}

/// Files of keys, as a server reads them when they change.
#[test]
fn files_of_keys_that_are_broken_are_told_or_read() {
    let mut dice = Dice::new("files of keys");
    let folder = tempfile::tempdir().unwrap();
    let mut keys = Keys::default();
    keys.limited(
        "a",
        &["read", "write"],
        antiphon::app::access::Limits { calls_per_second: Some(2), ..Default::default() },
    );
    keys.make("*", &["admin"]);
    keys.write(folder.path());
    let path = folder.path().join("keys.toml");
    let right = std::fs::read(&path).unwrap();
    let limits = antiphon::app::access::Limits::default();
    let read = || antiphon::ops::access::keys::KeyRing::read(&path, &limits);
    read().unwrap();
    for _ in 0..rounds() * 2 {
        std::fs::write(&path, dice.broken(&right)).unwrap();
        if let Err(mistakes) = read() {
            assert!(!mistakes.is_empty());
        }
    }
}

/// Exports of a store that has something of every kind.
#[tokio::test(flavor = "multi_thread")]
async fn imports_of_everything_that_are_broken_leave_the_store_whole() {
    let mut dice = Dice::new("imports of everything");
    let (from, _) = erased::furnished().await;
    let mut client = from.exchanges();
    for id in ["gone", "kept"] {
        client.capture(ask::capture_on_new(id, ask::text("hi"))).await.unwrap();
    }
    let kept = exchange(&look::thread(&from, "kept").await.head_exchange_id);
    from.admin().create_pin(pb::CreatePinRequest { target: kept.clone(), ..Default::default() }).await.unwrap();
    let expire_time = Some(prost_types::Timestamp { seconds: 4_000_000_000, nanos: 0 });
    let when = Some(pb::set_expiry_request::When::At(pb::ExpireAt { expire_time }));
    let expiry = pb::SetExpiryRequest { target: kept, when, ..Default::default() };
    from.admin().set_expiry(expiry).await.unwrap();
    erase(&from, thread("gone"), pb::EraseMode::Refuse).await.unwrap();
    let (lines, summary) = transfer::export(&from, Vec::new()).await;
    let kinds = transfer::counts(&summary.records).len();
    assert!(kinds >= 12, "{kinds} kinds of records");
    let whole: Vec<&str> = lines.split_inclusive('\n').collect();
    let into = Running::echo().await;
    for round in 0..rounds() {
        // Some line is broken; a third of the time its neighbours change places as well.
        let mut all: Vec<String> = whole.iter().map(|line| (*line).to_owned()).collect();
        let at = dice.roll(all.len());
        all[at] = String::from_utf8_lossy(&dice.broken(all[at].as_bytes())).into_owned();
        if dice.once_in(3) {
            let to = dice.roll(all.len());
            all.swap(at, to);
        }
        let broken = all.concat();
        let open = pb::ImportOpen { skip_faulty: round % 2 == 1, ..Default::default() };
        if let Err(status) = within("an import", transfer::import_as(&into, open, &broken, 5)).await {
            is_refusal("import", broken.as_bytes(), &status);
        }
    }
    look::verified(&into).await;
}
