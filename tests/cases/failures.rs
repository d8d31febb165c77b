//! Answers that are none.

use antiphon::domain::fault::Reason;
use antiphon::engine::backend::{Delta, MAX_PROVIDER_MESSAGE};
use tokio::sync::mpsc;

use crate::bench::{Ask, Bench, Event};
use crate::case::Case;
use crate::support::provider::{End, Entry, Gate, Outcome, Step};
use crate::support::within;

fn text_chunk(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n")
}

#[tokio::test]
async fn b037_an_error_in_the_middle_of_a_stream() {
    let bench = Bench::of("B037").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let failed = outcome.failed();
    assert_eq!((failed.reason, failed.message.as_str()), (Reason::ProviderRateLimited, "daily quota used up"));
    assert_eq!((failed.status, failed.code.as_str()), (Some(200), "429"));
    assert_eq!(outcome.texts(), ["Hel"]);
}

#[tokio::test]
async fn b039_a_success_that_is_an_error() {
    let bench = Bench::of("B039").await;
    for (reason, message) in [
        (Reason::ProviderUnavailable, "blocked by upstream policy"),
        (Reason::ProviderRateLimited, "slow down"),
        (Reason::ProviderBadAnswer, "the provider gave an empty answer"),
    ] {
        let outcome = bench.ask(&Ask::whole()).await;
        assert_eq!((outcome.failed().reason, outcome.failed().message.as_str()), (reason, message));
    }
}

#[tokio::test]
async fn b039_what_a_failed_answer_cost_is_known() {
    let bench = Bench::of("B039").await;
    bench.ask(&Ask::whole()).await;
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!((outcome.failed().usage.input_tokens, outcome.failed().usage.output_tokens), (Some(10), Some(2)));
}

#[tokio::test]
async fn b040_a_web_page_instead_of_an_error() {
    for status in [502, 520] {
        let mut entry = Case::load("B040").script(std::time::SystemTime::UNIX_EPOCH).remove(0);
        entry.status = status;
        for step in &mut entry.steps {
            if let Step::Write(page) = step {
                let padded = String::from_utf8(page.to_vec())
                    .unwrap()
                    .replace("<body>", &format!("<body>{}", "x".repeat(40_000)));
                *page = padded.into();
            }
        }
        let bench = Bench::with([entry], |_| {}).await;
        let outcome = bench.ask(&Ask::whole()).await;
        let failed = outcome.failed();
        assert_eq!((failed.reason, failed.status), (Reason::ProviderUnavailable, Some(status)));
        assert_eq!(failed.message, "the provider answered with a web page: api.example | 502: Bad gateway");
    }
}

#[tokio::test]
async fn b043_retry_after_in_every_form() {
    let bench = Bench::of("B043").await;
    for delay in [Some(2_000), Some(3_000), Some(0), Some(86_400_000), None] {
        let outcome = bench.ask(&Ask::whole()).await;
        assert_eq!((outcome.failed().reason, outcome.failed().retry_after_ms), (Reason::ProviderRateLimited, delay));
    }
    assert_eq!(bench.provider.count(), 5, "a backend never asks twice by itself");
}

#[tokio::test]
async fn b044_resets_of_limits_without_a_retry_after() {
    let bench = Bench::of("B044").await;
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!((outcome.failed().reason, outcome.failed().retry_after_ms), (Reason::ProviderRateLimited, Some(4_000)));
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test]
async fn b118_a_call_that_nobody_waits_for_is_over_at_the_provider() {
    let chunks: Vec<String> = (0..3).map(|number| text_chunk(&number.to_string())).collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let entry = Entry::events(&chunks).end(End::Hold);
    let bench = Bench::with(vec![entry; 20], |_| {}).await;
    for number in 0..20 {
        let (tell, mut told) = mpsc::unbounded_channel();
        let ask = Ask::streamed();
        let asking = bench.ask_telling(&ask, tell);
        let listening = async {
            for _ in 0..4 {
                within("three deltas after the first byte", told.recv()).await.unwrap();
            }
        };
        tokio::select! {
            end = asking => panic!("{end:?}"),
            () = listening => {}
        }
        assert_eq!(bench.provider.outcome(number).await, Outcome::ClientClosed);
    }
}

#[tokio::test]
async fn b120_a_broken_stream_is_a_failure_and_not_a_second_request() {
    let gate = Gate::closed();
    let mut script = Case::load("B120").script(std::time::SystemTime::UNIX_EPOCH);
    script[0].steps.push(Step::Wait(gate.clone()));
    let bench = Bench::with(script, |_| {}).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let ask = Ask::streamed();
    let asking = bench.ask_telling(&ask, tell);
    let listening = async {
        assert_eq!(within("the first byte", told.recv()).await, Some(Event::FirstByte));
        assert_eq!(within("the text", told.recv()).await, Some(Event::Delta(Delta::Text("Hello wor".into()))));
        gate.open();
    };
    let (end, ()) = tokio::join!(asking, listening);
    assert_eq!(end.unwrap_err().reason, Reason::ProviderUnavailable);
    assert_eq!((told.recv().await, bench.provider.count()), (None, 1));
}

#[tokio::test]
async fn b121_nothing_follows_the_end() {
    let error = "data: {\"error\":{\"message\":\"m\"}}\n\n";
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let done = "data: [DONE]\n\n";
    let after_error = [text_chunk("a").as_str(), error, &text_chunk("b"), finish, done].concat();
    let after_done = [text_chunk("a").as_str(), finish, done, &text_chunk("b"), error].concat();
    let bench = Bench::with([Entry::events(&[&after_error]), Entry::events(&[&after_done])], |_| {}).await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!((outcome.failed().message.as_str(), outcome.texts()), ("m", vec!["a"]));
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!((outcome.answer().text().as_str(), outcome.texts()), ("a", vec!["a"]));
}

#[tokio::test]
async fn b146_a_long_message_with_every_kind_of_character() {
    let message = format!("line1\\nline2 模型不存在 %41 {}", "模".repeat(7_000));
    let body = format!(r#"{{"error":{{"message":"{message}","type":"invalid_request_error","code":"c"}}}}"#);
    let entry = Entry::new(400, "application/json", &[&body]).header("x-note", "é").header("x-request-id", "r-é");
    let bench = Bench::with([entry], |_| {}).await;
    let outcome = bench.ask(&Ask::whole()).await;
    let failed = outcome.failed();
    assert_eq!((failed.reason, failed.code.as_str()), (Reason::ProviderRefusedRequest, "c"));
    assert!(failed.message.starts_with("line1\nline2 模型不存在 %41 模"));
    assert!(failed.message.len() <= MAX_PROVIDER_MESSAGE);
}
