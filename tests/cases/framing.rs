//! Events and bodies as they come over the wire.

use antiphon::domain::fault::Reason;
use antiphon::domain::run::StopReason;
use antiphon::engine::backend::Delta;
use tokio::sync::mpsc;

use crate::bench::{Ask, Bench, Event};
use crate::support::provider::{Entry, Gate, Outcome};
use crate::support::within;

async fn says(id: &str, text: &str) {
    let bench = Bench::of(id).await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!((outcome.answer().text().as_str(), outcome.answer().stop), (text, StopReason::Stop), "{id}");
    assert_eq!(outcome.texts().concat(), text);
}

#[tokio::test]
async fn b026_comments_leave_no_trace() {
    says("B026", "Hello").await;
}

#[tokio::test]
async fn b028_carriage_returns_cut_from_line_feeds() {
    let bench = Bench::of("B028").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!((outcome.texts(), outcome.answer().stop), (vec!["Hel", "lo"], StopReason::Stop));
}

#[tokio::test]
async fn b028_events_are_told_when_they_are_whole_and_not_at_the_end() {
    let gate = Gate::closed();
    let entry = Entry::events(&["data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\r", "\n\r"])
        .wait(&gate)
        .write("\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n");
    let bench = Bench::with([entry], |_| {}).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let ask = Ask::streamed();
    let asking = bench.ask_telling(&ask, tell);
    let listening = async {
        assert_eq!(within("the first byte", told.recv()).await, Some(Event::FirstByte));
        assert_eq!(within("the first delta", told.recv()).await, Some(Event::Delta(Delta::Text("Hel".into()))));
        gate.open();
    };
    let (answer, ()) = tokio::join!(asking, listening);
    assert_eq!(answer.unwrap().text(), "Hello");
}

#[tokio::test]
async fn b030_no_space_after_the_colon() {
    says("B030", "Hello").await;
}

#[tokio::test]
async fn b031_one_object_over_two_lines() {
    says("B031", "Hello").await;
}

#[tokio::test]
async fn b032_a_byte_order_mark_cut_between_reads() {
    says("B032", "Hello").await;
}

#[tokio::test]
async fn b034_a_reason_for_stopping_ends_an_answer() {
    says("B034", "Hello").await;
}

#[tokio::test]
async fn b035_an_end_without_a_reason_is_none() {
    let bench = Bench::of("B035").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.texts(), ["Hel"]);
    assert_eq!(outcome.failed().reason, Reason::ProviderBadAnswer);
    assert_eq!(outcome.failed().message, "the provider's answer ended before it was whole");
}

#[tokio::test]
async fn b036_the_end_is_the_marker_and_not_the_socket() {
    let bench = Bench::of("B036").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.answer().text(), "Hello");
    assert_eq!(bench.provider.outcome(0).await, Outcome::ClientClosed, "nothing holds the connection");
}

#[tokio::test]
async fn b042_plain_json_where_a_stream_was_asked() {
    let bench = Bench::of("B042").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!((outcome.texts(), outcome.answer().tokens()), (vec!["ok"], [Some(10), Some(2), Some(12)]));
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.failed().message, "bad key");
    assert_eq!(outcome.failed().reason, Reason::ProviderRefusedRequest);
}

#[tokio::test]
async fn b042_the_bytes_tell_the_form_whatever_the_headers_say() {
    let events =
        "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let body = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let script = [
        Entry::new(200, "application/json", &[events]),
        Entry::new(200, "text/event-stream", &["\n", "\n", body]),
        Entry::new(200, "text/plain", &[events]),
    ];
    let bench = Bench::with(script, |_| {}).await;
    for ask in [Ask::streamed(), Ask::streamed(), Ask::whole()] {
        assert_eq!(bench.ask(&ask).await.answer().text(), "ok");
    }
}

#[tokio::test]
async fn b140_a_character_cut_between_reads() {
    says("B140", "你好，世界").await;
}
