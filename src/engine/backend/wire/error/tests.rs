//! Tests of error reading.

use super::*;

fn context<'a>(status: u16, headers: &'a HeaderMap, credential: Option<&'a SecretString>) -> Context<'a> {
    Context { credential, source: CredentialSource::Server, status, headers, now: Moment(0) }
}

fn of_status(status: u16, body: &str) -> Failure {
    refused(&context(status, &HeaderMap::new(), None), body.as_bytes())
}

fn of_error(error: &str) -> Failure {
    in_answer(&context(200, &HeaderMap::new(), None), Said::read(Value::parse(error).unwrap()))
}

#[test]
fn the_status_decides() {
    for (status, kind) in [
        (308, FailureKind::Refused),
        (400, FailureKind::Refused),
        (401, FailureKind::CredentialRefused(CredentialSource::Server)),
        (403, FailureKind::CredentialRefused(CredentialSource::Server)),
        (404, FailureKind::Refused),
        (408, FailureKind::Unavailable),
        (409, FailureKind::Unavailable),
        (413, FailureKind::Refused),
        (422, FailureKind::Refused),
        (429, FailureKind::RateLimited),
        (500, FailureKind::Unavailable),
        (502, FailureKind::Unavailable),
        (520, FailureKind::Unavailable),
        (529, FailureKind::Unavailable),
    ] {
        let failure = of_status(status, r#"{"error":{"message":"m","type":"t","code":"c"}}"#);
        assert_eq!((failure.kind, failure.http_status), (kind, Some(status)));
        assert_eq!((failure.message.as_str(), failure.provider_code.as_str()), ("m", "c"));
    }
}

#[test]
fn a_history_that_does_not_fit_is_told_apart() {
    for (status, body) in [
        (400, r#"{"error":{"message":"x","type":"invalid_request_error","code":"context_length_exceeded"}}"#),
        (400, r#"{"error":{"message":"This model's maximum context length is 4097 tokens.","code":null}}"#),
        (
            400,
            r#"{"object":"error","message":"maximum context length is 8 tokens","type":"BadRequestError","code":400}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        ),
        (413, r#"{"detail":"Prompt is too long"}"#),
        (500, r#"{"error":"input length exceeds context window"}"#),
    ] {
        assert_eq!(of_status(status, body).kind, FailureKind::ContextOverflow, "{body}");
    }
    assert_eq!(of_status(429, r#"{"error":{"message":"too many tokens per minute"}}"#).kind, FailureKind::RateLimited);
}

#[test]
fn messages_are_found_wherever_servers_put_them() {
    for body in [
        r#"{"error":{"message":"why"}}"#,
        r#"{"error":"why"}"#,
        r#"[{"error":{"message":"why","status":"INVALID_ARGUMENT","code":400}}]"#,
        r#"{"message":"why"}"#,
        r#"{"detail":"why"}"#,
        r#"{"detail":[{"loc":["body"],"msg":"why"}]}"#,
        r#"{"error":{"metadata":{"raw":"{\"error\":{\"message\":\"why\"}}"}}}"#,
        "why",
    ] {
        assert_eq!(of_status(400, body).message, "why", "{body}");
    }
    let gateway = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"why"}}}"#;
    assert_eq!(of_status(400, gateway).message, "Provider returned error: why");
    assert_eq!(of_status(503, "").message, "the provider answered HTTP 503 without a reason");
}

#[test]
fn an_error_in_a_success_means_what_its_code_means() {
    let source = CredentialSource::Server;
    for (error, kind) in [
        (r#"{"message":"m","code":429}"#, FailureKind::RateLimited),
        (r#"{"message":"m","code":"502"}"#, FailureKind::Unavailable),
        (r#"{"message":"m","code":"rate_limit_exceeded"}"#, FailureKind::RateLimited),
        (r#"{"message":"m","type":"invalid_request_error"}"#, FailureKind::Refused),
        (
            r#"{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}"#,
            FailureKind::CredentialRefused(source),
        ),
        (r#"{"message":"prompt is too long","type":"invalid_request_error"}"#, FailureKind::ContextOverflow),
        (r#"{"message":"m","type":"server_error"}"#, FailureKind::Unavailable),
        (r#""m""#, FailureKind::Unavailable),
    ] {
        let failure = of_error(error);
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (kind, "m".replace('m', if error.contains("prompt") { "prompt is too long" } else { "m" }).as_str()),
            "{error}"
        );
    }
}

#[test]
fn googles_details_say_what_the_status_does_not() {
    let body = |details: &str| {
        format!(
            r#"{{"error":{{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{{"@type":"x"}},{details}]}}}}"#
        )
    };
    let failure = of_status(400, &body(r#"{"reason":"API_KEY_INVALID","domain":"d"}"#));
    assert_eq!(failure.kind, FailureKind::CredentialRefused(CredentialSource::Server));
    assert_eq!(failure.provider_code, "INVALID_ARGUMENT");
    for (delay, expected) in [("34.5s", Some(34_500)), ("2s", Some(2_000)), ("soon", None)] {
        let failure = of_status(429, &body(&format!(r#"{{"retryDelay":"{delay}"}}"#)));
        assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::RateLimited, expected), "{delay}");
    }
    let failure = of_error(r#"{"code":503,"message":"m","status":"UNAVAILABLE"}"#);
    assert_eq!((failure.kind, failure.provider_code.as_str()), (FailureKind::Unavailable, "UNAVAILABLE"));
}

#[test]
fn pages_are_cut_to_their_title() {
    let page = format!("<!DOCTYPE html><HTML><Title>\n a |  502 </TITLE><body>{}</body>", "x".repeat(40_000));
    assert_eq!(of_status(502, &page).message, "the provider answered with a web page: a | 502");
    assert_eq!(of_status(502, "<html></html>").message, "the provider answered with a web page");
}

#[test]
fn the_credential_is_nowhere_in_a_failure() {
    let secret = SecretString::from("sk-secret-1".to_owned());
    let mut headers = HeaderMap::new();
    headers.insert("x-request-id", "r-sk-secret-1".parse().unwrap());
    let body = r#"{"error":{"message":"bad key sk-secret-1 (Bearer sk-secret-1)","code":"k:sk-secret-1"}}"#;
    let failure = refused(&context(401, &headers, Some(&secret)), body.as_bytes());
    assert!(!format!("{failure:?}").contains("sk-secret-1"), "{failure:?}");
    assert_eq!(failure.message, "bad key [redacted] (Bearer [redacted])");
}

#[test]
fn long_messages_are_cut_between_characters() {
    let message = format!("line1\\n{}", "模".repeat(5_000));
    let failure = of_status(400, &format!(r#"{{"error":{{"message":"{message}"}}}}"#));
    assert!(failure.message.len() <= MAX_PROVIDER_MESSAGE && failure.message.len() > MAX_PROVIDER_MESSAGE - 4);
    assert!(failure.message.starts_with("line1\n模") && failure.message.ends_with('模'));
}

#[test]
fn a_redirect_names_where_to() {
    let mut headers = HeaderMap::new();
    headers.insert("location", "https://elsewhere.example/v1?key=1".parse().unwrap());
    let failure = refused(&context(308, &headers, None), b"");
    assert!(failure.message.contains("elsewhere.example") && !failure.message.contains("key="));
}
