//! What calls consumed.

use antiphon::domain::run::StopReason;
use antiphon::domain::usage::{Completeness, Usage};

use crate::bench::{Ask, Bench};

#[tokio::test]
async fn b001_usage_after_the_finish_chunk() {
    let bench = Bench::of("B001").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let answer = outcome.answer();
    assert_eq!((answer.text().as_str(), answer.stop), ("Hi", StopReason::Stop));
    assert_eq!(answer.tokens(), [Some(11), Some(2), Some(13)]);
    assert_eq!(answer.usage.completeness, Completeness::Complete);
    let asked = bench.provider.request(0).await.json();
    assert_eq!(asked["stream_options"]["include_usage"], true);
}

#[tokio::test]
async fn b002_no_usage_is_not_zero() {
    let bench = Bench::of("B002").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.answer().usage, Usage::default());
    let sum = Usage::sum([
        &outcome.answer().usage,
        &Usage { input_tokens: Some(5), completeness: Completeness::Complete, ..Usage::default() },
    ]);
    assert_eq!((sum.input_tokens, sum.output_tokens, sum.completeness), (Some(5), None, Completeness::Partial));
}

#[tokio::test]
async fn b006_cached_tokens_are_a_part_of_the_input() {
    let bench = Bench::of("B006").await;
    let usage = bench.ask(&Ask::whole()).await.answer().usage.clone();
    assert_eq!((usage.input_tokens, usage.cached_input_tokens), (Some(9_888), Some(6_752)));
    assert!(usage.provider_json.contains(r#""prompt_tokens_details":{"cached_tokens":6752}"#));
}

#[tokio::test]
async fn b012_numbers_as_floats() {
    let bench = Bench::of("B012").await;
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!((outcome.answer().text().as_str(), outcome.answer().tokens()), ("ok", [Some(12), Some(3), Some(15)]));
}
