//! What no case asks for by itself and every one relies on: headers, credentials, limits of time and size.

use std::time::Duration;

use antiphon::domain::fault::Reason;
use antiphon::engine::backend::openai::DoneMarker;
use tokio::sync::mpsc;

use crate::bench::{Ask, Bench, Event, KEY};
use crate::support::provider::{End, Entry, Outcome};

const DONE: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

#[tokio::test]
async fn requests_say_who_asks_and_with_what() {
    let bench = Bench::with([Entry::json(DONE), Entry::json(DONE), Entry::json(DONE)], |config| {
        config.base_url.push_str("/?api-version=7");
        config.extra_headers.insert("x-title".into(), "tests".into());
    })
    .await;
    bench.ask(&Ask::whole()).await.answer();
    bench.ask(&Ask { credential: Some("caller-key"), ..Ask::whole() }).await.answer();
    bench.ask(&Ask::streamed()).await.answer();
    let request = bench.provider.request(0).await;
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/chat/completions?api-version=7"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("user-agent"), Some(concat!("antiphon/", env!("CARGO_PKG_VERSION"))));
    assert_eq!((request.header("content-type"), request.header("x-title")), (Some("application/json"), Some("tests")));
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(bench.provider.request(1).await.header("authorization"), Some("Bearer caller-key"));
    assert_eq!(bench.provider.request(2).await.header("accept-encoding"), Some("identity"));
    assert_eq!(bench.provider.request(2).await.header("accept"), Some("text/event-stream, application/json"));
}

#[tokio::test]
async fn another_header_can_carry_the_key() {
    let bench = Bench::with([Entry::json(DONE)], |config| {
        config.credential_header = "api-key".into();
        config.credential_prefix = String::new();
    })
    .await;
    bench.ask(&Ask::whole()).await.answer();
    let request = bench.provider.request(0).await;
    assert_eq!((request.header("api-key"), request.header("authorization")), (Some(KEY), None));
}

#[tokio::test]
async fn an_echoed_credential_is_redacted() {
    let error = |key: &str| format!(r#"{{"error":{{"message":"no such key: {key}","code":"{key}"}}}}"#);
    let script = [
        Entry::new(401, "application/json", &[&error(KEY)]),
        Entry::new(401, "application/json", &[&error("caller-key")]),
        Entry::events(&[&format!("data: {}\n\n", error(KEY))]),
    ];
    let bench = Bench::with(script, |_| {}).await;
    let asks = [Ask::whole(), Ask { credential: Some("caller-key"), ..Ask::whole() }, Ask::streamed()];
    for (ask, reason) in asks.iter().zip([
        Reason::ProviderRefusedCredential,
        Reason::ProviderRefusedCredential,
        Reason::ProviderUnavailable,
    ]) {
        let outcome = bench.ask(ask).await;
        let failed = outcome.failed();
        assert_eq!((failed.reason, failed.message.as_str()), (reason, "no such key: [redacted]"));
        assert_eq!(failed.code, "[redacted]");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Bench::with([], |_| {}).await;
    let entry = Entry::new(307, "text/plain", &[]).header("location", elsewhere.provider.base_url());
    let bench = Bench::with([entry], |_| {}).await;
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!((outcome.failed().reason, outcome.failed().status), (Reason::ProviderRefusedRequest, Some(307)));
    assert!(outcome.failed().message.contains("127.0.0.1"));
    assert_eq!(elsewhere.provider.count(), 0);
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let bench = Bench::with([], |config| config.base_url = "http://127.0.0.1:9/v1".into()).await;
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!((outcome.failed().reason, outcome.failed().status), (Reason::ProviderUnavailable, None));
    assert!(outcome.failed().message.starts_with("cannot connect to 127.0.0.1: "), "{}", outcome.failed().message);
}

#[tokio::test]
async fn each_limit_of_time_has_its_name() {
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let short = Duration::from_millis(60).as_millis().try_into().unwrap();
    for (entry, first_byte, idle, total, message) in [
        (Entry::events(&[]).end(End::Silence), short, 60_000, 60_000, "no answer began within the limit of time"),
        (Entry::events(&[]).end(End::Hold), short, 60_000, 60_000, "no answer began within the limit of time"),
        (
            Entry::events(&[chunk]).end(End::Hold),
            60_000,
            short,
            60_000,
            "the answer stopped coming for longer than the limit of time",
        ),
        (
            Entry::events(&[chunk]).end(End::Hold),
            60_000,
            60_000,
            short,
            "the answer was not whole within the limit of time",
        ),
    ] {
        let bench = Bench::with([entry], |config| {
            config.timeouts.first_byte_ms = first_byte;
            config.timeouts.idle_ms = idle;
            config.timeouts.total_ms = total;
        })
        .await;
        let outcome = bench.ask(&Ask::streamed()).await;
        assert_eq!((outcome.failed().reason, outcome.failed().message.as_str()), (Reason::ProviderTimeout, message));
        assert_eq!(bench.provider.outcome(0).await, Outcome::ClientClosed);
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused() {
    let long = "x".repeat(2_000);
    let body = format!(r#"{{"choices":[{{"message":{{"content":"{long}"}},"finish_reason":"stop"}}]}}"#);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(500));
    let script = [
        Entry::json(&body).sized().end(End::Hold),
        Entry::json(&body).end(End::Hold),
        Entry::events(&[&event, &event, &event]).end(End::Hold),
        Entry::events(&[&format!("data: {long}")]).end(End::Hold),
    ];
    let bench = Bench::with(script, |config| config.max_answer_bytes = 1_000).await;
    let limit = "has more than 1000 bytes, which is the limit: ask for less, or raise `max_answer_bytes`";
    for _ in 0..2 {
        let outcome = bench.ask(&Ask::whole()).await;
        assert_eq!(outcome.failed().reason, Reason::ProviderBadAnswer);
        assert_eq!(outcome.failed().message, format!("the provider's answer {limit}"));
    }
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.failed().message, format!("the provider's answer {limit}"));
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.failed().message, format!("an event of the provider's answer {limit}"));
}

/// Exactly as many bytes as are allowed are an answer, told of before or not, whole or in an event; one more are none.
#[tokio::test]
async fn an_answer_of_the_greatest_length_is_taken() {
    let whole = |bytes: usize| {
        let body = r#"{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#;
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let event = |bytes: usize| {
        let line = r#"data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
        format!("{line}{}\n\n", " ".repeat(bytes - line.len()))
    };
    for (bytes, fits) in [(1_000, true), (1_001, false)] {
        let events = Entry::events(&[&event(bytes), "data: [DONE]\n\n"]);
        let script = [Entry::json(&whole(bytes)).sized(), Entry::json(&whole(bytes)), events];
        let bench = Bench::with(script, |config| config.max_answer_bytes = 1_000).await;
        for ask in [Ask::whole(), Ask::whole(), Ask::streamed()] {
            let outcome = bench.ask(&ask).await;
            assert_eq!(outcome.end.is_ok(), fits, "{bytes} {:?}", outcome.end);
        }
    }
}

#[tokio::test]
async fn bodies_that_are_no_answer() {
    for (entry, reason) in [
        (Entry::json("{"), Reason::ProviderBadAnswer),
        (Entry::json("[1]"), Reason::ProviderBadAnswer),
        (Entry::json("{}"), Reason::ProviderBadAnswer),
        (Entry::json(""), Reason::ProviderBadAnswer),
        (Entry::json("\n\n"), Reason::ProviderBadAnswer),
        (Entry::json("hello"), Reason::ProviderBadAnswer),
        (Entry::json(DONE).end(End::Cut), Reason::ProviderUnavailable),
        (Entry::new(200, "text/html", &["<html><title>login</title>"]), Reason::ProviderUnavailable),
        (
            Entry::json(r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#),
            Reason::ProviderRateLimited,
        ),
        (Entry::json(r#"{"detail":"m"}"#), Reason::ProviderUnavailable),
        (Entry::events(&["data: {\"choices\":[{\"delta\":\n\n"]), Reason::ProviderBadAnswer),
        (Entry::events(&["data: [DONE]\n\n"]), Reason::ProviderBadAnswer),
        (Entry::events(&["event: error\ndata: overloaded\n\n"]), Reason::ProviderUnavailable),
        (
            Entry::events(&["event: error\ndata: {\"message\":\"m\",\"type\":\"rate_limit_error\"}\n\n"]),
            Reason::ProviderRateLimited,
        ),
    ] {
        let shown = format!("{entry:?}");
        let bench = Bench::with([entry], |_| {}).await;
        assert_eq!(bench.ask(&Ask::streamed()).await.failed().reason, reason, "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_must_say_done_is_held_to_it() {
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let script = [Entry::events(&[said]), Entry::events(&[said, "data: [DONE]"])];
    let bench = Bench::with(script, |config| config.quirks.done_marker = DoneMarker::Required).await;
    assert_eq!(bench.ask(&Ask::streamed()).await.failed().reason, Reason::ProviderBadAnswer);
    assert_eq!(bench.ask(&Ask::streamed()).await.answer().text(), "a");
}

#[tokio::test]
async fn what_breaks_after_the_reason_for_stopping_breaks_nothing() {
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let bench = Bench::with([Entry::events(&[said]).end(End::Cut)], |_| {}).await;
    assert_eq!(bench.ask(&Ask::streamed()).await.answer().text(), "a");
}

#[tokio::test]
async fn a_call_that_needs_a_key_is_not_sent_without() {
    let bench = Bench::with([Entry::json(DONE)], |config| config.requires_credential = true).await;
    let keyless = bench.without_key(|config| config.requires_credential = true);
    let outcome = keyless.ask(&Ask::whole()).await;
    assert_eq!((outcome.failed().reason, bench.provider.count()), (Reason::CredentialMissing, 0));
    keyless.ask(&Ask { credential: Some("caller-key"), ..Ask::whole() }).await.answer();
}

#[tokio::test]
async fn the_first_byte_is_told_before_anything_else_and_once() {
    let bench =
        Bench::with([Entry::events(&["\n", ": ping\n\n", &format!("data: {DONE}\n\n"), "data: [DONE]\n\n"])], |_| {})
            .await;
    let (tell, mut told) = mpsc::unbounded_channel();
    assert_eq!(bench.ask_telling(&Ask::streamed(), tell).await.unwrap().text(), "ok");
    let mut events = Vec::new();
    while let Ok(event) = told.try_recv() {
        events.push(event == Event::FirstByte);
    }
    assert_eq!(events, [true, false]);
}
