//! What a provider does wrong, told in the provider's own words and as what it is; none of it leaves an exchange.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::support::provider::{End, Entry, Provider};
use crate::support::server::{Running, openai_with};
use crate::support::{ask, refused};
use crate::{look, raw, stub};

async fn failure(entry: Entry, more: &str) -> Status {
    let provider = Provider::start([entry]).await;
    let server = Running::start(openai_with(&provider.base_url(), &format!("{}{more}", stub::ONCE))).await;
    let failed = server.exchanges().capture(ask::capture(ask::text_as("r", "x"))).await.unwrap_err();
    let run = look::run(&server, "r").await;
    assert_eq!((run.state(), run.exchange_id.as_str(), run.observations.len()), (pb::RunState::Failed, "", 1));
    assert_eq!(run.observations[0].error_reason, refused::reason(&failed));
    assert_eq!(run.error.unwrap().message, failed.message());
    assert_eq!((refused::fact(&failed, "backend_id"), provider.count()), ("stub".into(), 1));
    failed
}

/// Section 4: the provider's status, code and message are kept, each as the gRPC code that it means.
#[tokio::test(flavor = "multi_thread")]
async fn statuses_are_told_as_what_they_mean() {
    let cases = [
        (400, Code::InvalidArgument, Reason::ProviderRefusedRequest),
        (401, Code::FailedPrecondition, Reason::ProviderRefusedCredential),
        (403, Code::FailedPrecondition, Reason::ProviderRefusedCredential),
        (404, Code::InvalidArgument, Reason::ProviderRefusedRequest),
        (429, Code::ResourceExhausted, Reason::ProviderRateLimited),
        (500, Code::Unavailable, Reason::ProviderUnavailable),
        (503, Code::Unavailable, Reason::ProviderUnavailable),
    ];
    for (status, code, reason) in cases {
        let failed = failure(stub::refusal(status, "the provider says why", "some_code"), "").await;
        refused::is(&failed, code, reason);
        assert!(failed.message().contains("the provider says why"), "{failed:?}");
        assert_eq!(refused::fact(&failed, "provider_status"), status.to_string());
        assert_eq!(refused::fact(&failed, "provider_code"), "some_code");
        if reason == Reason::ProviderRefusedCredential {
            assert_eq!(refused::fact(&failed, "credential_source"), "SERVER");
        }
    }
}

/// RetryInfo is there only where the provider named a delay, and a call whose wait is longer than allowed is not made again.
#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_says_when_only_if_the_provider_did() {
    let with = failure(stub::status(429, "slow").header("retry-after", "7"), "").await;
    refused::is(&with, Code::ResourceExhausted, Reason::ProviderRateLimited);
    assert_eq!(with.get_details_retry_info().unwrap().retry_delay, Some(std::time::Duration::from_secs(7)));
    let without = failure(stub::status(429, "slow"), "").await;
    refused::is(&without, Code::ResourceExhausted, Reason::ProviderRateLimited);
    assert!(without.get_details_retry_info().is_none());
    let provider = Provider::start([stub::status(429, "slow").header("retry-after", "3600")]).await;
    let server = Running::start(openai_with(&provider.base_url(), "")).await;
    let long = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap_err();
    assert_eq!(long.get_details_retry_info().unwrap().retry_delay, Some(std::time::Duration::from_secs(3600)));
    assert_eq!(provider.count(), 1);
}

/// A short delay is waited for, within the run and its observations.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_delay_is_waited_for() {
    let provider = Provider::start([stub::status(429, "slow").header("retry-after-ms", "20"), stub::text("ok")]).await;
    let server = Running::start(openai_with(&provider.base_url(), "")).await;
    let done = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap().into_inner();
    let run = done.run.unwrap();
    let kinds: Vec<_> = run.observations.iter().map(|seen| (seen.number, seen.kind(), seen.http_status)).collect();
    use pb::AttemptKind::{First, Retry};
    assert_eq!(kinds, [(1, First, Some(429)), (2, Retry, Some(200))]);
    assert_eq!(run.observations[0].retry_after.unwrap().nanos, 20_000_000);
    assert_eq!(done.exchange.unwrap().observations, run.observations);
}

/// B039, B035: a success that is none is told as what its body means; half an answer is no answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_success_that_is_none_is_an_error() {
    let json = Entry::json;
    let cases = [
        (json(r#"{"error":{"message":"upstream gone","code":502}}"#), Code::Unavailable, Reason::ProviderUnavailable),
        (json(r#"{"error":{"message":"slow","code":429}}"#), Code::ResourceExhausted, Reason::ProviderRateLimited),
        (json(r#"{"choices":[]}"#), Code::Unavailable, Reason::ProviderBadAnswer),
        (json("{}"), Code::Unavailable, Reason::ProviderBadAnswer),
        (json("not json"), Code::Unavailable, Reason::ProviderBadAnswer),
        (
            Entry::new(200, "text/html", &["<html><title>Sign in</title></html>"]),
            Code::Unavailable,
            Reason::ProviderUnavailable,
        ),
        (
            Entry::new(502, "text/html", &["<html><title>Bad gateway</title></html>"]),
            Code::Unavailable,
            Reason::ProviderUnavailable,
        ),
    ];
    for (number, (entry, code, reason)) in cases.into_iter().enumerate() {
        let failed = failure(entry, "").await;
        assert_eq!(
            (failed.code(), refused::reason(&failed)),
            (code, reason.word().to_owned()),
            "case {number}: {failed:?}"
        );
        assert!(!failed.message().contains("<html>"), "{failed:?}");
    }
    let half = Entry::json(r#"{"choices":[{"message":{"role":"assistant","content":"Hel"#);
    for end in [End::Cut, End::Reset] {
        let failed = failure(half.clone().end(end), "").await;
        assert_eq!(failed.code(), Code::Unavailable, "{failed:?}");
    }
}

/// Silence ends by the limit that it passes; a history that is too long is told as that.
#[tokio::test(flavor = "multi_thread")]
async fn silence_and_overflow_have_their_reasons() {
    let silent = failure(stub::text("never").end(End::Silence), "timeouts = { first_byte_ms = 100 }\n").await;
    refused::is(&silent, Code::DeadlineExceeded, Reason::ProviderTimeout);
    assert_eq!(refused::fact(&silent, "timeout"), "first_byte");
    let stalled = Entry::json(r#"{"choices":"#).end(End::Hold);
    let stalled = failure(stalled, "timeouts = { idle_ms = 100 }\n").await;
    refused::is(&stalled, Code::DeadlineExceeded, Reason::ProviderTimeout);
    assert_eq!(refused::fact(&stalled, "timeout"), "idle");
    let total = failure(stub::text("never").end(End::Silence), "total_timeout_ms = 100\n").await;
    refused::is(&total, Code::DeadlineExceeded, Reason::ProviderTimeout);
    assert_eq!(refused::fact(&total, "timeout"), "total");
    let long = stub::refusal(400, "maximum context length is 10 tokens", "context_length_exceeded");
    let long = failure(long, "").await;
    refused::is(&long, Code::FailedPrecondition, Reason::ContextOverflow);
}

/// A provider that is not there is unavailable; without a credential none is asked.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_and_no_key() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Running::start(openai_with(&format!("http://{address}/v1"), stub::ONCE)).await;
    let failed = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    let provider = Provider::start([]).await;
    let server = Running::start(openai_with(&provider.base_url(), "requires_credential = true\n")).await;
    let failed = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap_err();
    refused::is(&failed, Code::FailedPrecondition, Reason::CredentialMissing);
    assert_eq!(
        (refused::fact(&failed, "backend_id"), refused::fact(&failed, "credential_source")),
        ("stub".into(), "SERVER".into())
    );
    assert_eq!(provider.count(), 0);
}

/// A key of the server's goes out, and comes back in no answer, error or catalog.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_to_the_provider_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "sk-very-secret-key\n").unwrap();
    let provider = Provider::start([
        stub::refusal(401, "Incorrect API key provided: sk-very-secret-key", "invalid_api_key"),
        stub::text("ok"),
    ])
    .await;
    let more = format!("{}api_key_file = {:?}\n", stub::ONCE, key.display().to_string());
    let server = Running::start(openai_with(&provider.base_url(), &more)).await;
    let failed = server.exchanges().capture(ask::capture(ask::text_as("r", "x"))).await.unwrap_err();
    refused::is(&failed, Code::FailedPrecondition, Reason::ProviderRefusedCredential);
    assert_eq!(provider.request(0).await.header("authorization"), Some("Bearer sk-very-secret-key"));
    let done = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap().into_inner();
    let backend =
        server.catalog().inspect_backend(pb::InspectBackendRequest { backend_id: "stub".into() }).await.unwrap();
    let backend = backend.into_inner().backend.unwrap();
    assert!(backend.has_credential);
    let everything = format!("{failed:?}{:?}{done:?}{backend:?}", look::run(&server, "r").await);
    assert!(!everything.contains("very-secret"), "{everything}");
}

/// B146: a long message in any script with line ends arrives readable, whole headers stay within what peers take, and the code with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_message_in_any_script_arrives() {
    let message = format!("line1\nline2 模型不存在 %41 {}", "长".repeat(7_000));
    let body = serde_json::json!({"error": {"message": message, "code": "bad\nmodel"}}).to_string();
    let entry = Entry::new(400, "application/json", &[&body]).header("x-request-id", "caf\u{e9}".as_bytes());
    let provider = Provider::start([entry.clone(), entry]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let failed = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap_err();
    refused::is(&failed, Code::InvalidArgument, Reason::ProviderRefusedRequest);
    assert!(failed.message().contains("line1\nline2 模型不存在 %41 长"), "{failed:?}");
    assert!(failed.message().len() <= 4_096);
    let status = raw::refused(&server, "ExchangeService/Capture", &ask::capture(ask::text("x")), &[]).await;
    assert_eq!(status.message(), failed.message());
    let size: usize = status.message().len() + status.details().len();
    assert!(size < 8_192, "{size}");
    assert!(!refused::fact(&failed, "provider_code").contains('\n'));
}
