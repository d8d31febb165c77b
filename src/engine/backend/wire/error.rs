//! What a provider means by its errors: by status, by the body, and by objects in the middle of an answer. It must not know attempts or
//! what is done about a failure.

use std::time::Duration;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};

use super::reader::{self, Object, Value};
use super::retry_after;
use crate::domain::id::Moment;
use crate::engine::backend::{CredentialSource, Failure, FailureKind, MAX_PROVIDER_MESSAGE};

/// So much of an error's body is read.
pub(crate) const MAX_ERROR_BODY: usize = 64 << 10;

/// So long an error's body is waited for: the status has said what matters.
pub(crate) const MAX_ERROR_WAIT: Duration = Duration::from_secs(5);

/// Longest code of a provider, and longest id of a request, in bytes.
const MAX_WORD: usize = 200;

/// Shorter credentials are no secrets, and replacing them would tear words apart.
const MIN_SECRET: usize = 4;

/// What a failure is told with.
pub(crate) struct Context<'a> {
    pub(crate) credential: Option<&'a SecretString>,
    pub(crate) source: CredentialSource,
    pub(crate) status: u16,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) now: Moment,
}

/// An error in a provider's words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    message: String,
    code: String,
    kind: String,
    /// A finer word than the code, where there is one.
    reason: String,
    status: Option<u16>,
    retry_after_ms: Option<u64>,
}

impl Said {
    /// In our own words, where the provider has none.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// With a code.
    pub(crate) fn coded(message: impl Into<String>, code: impl Into<String>) -> Self {
        Self { message: message.into(), code: code.into(), ..Self::default() }
    }

    /// From an error object, or whatever stands in its place.
    pub(crate) fn read(error: Value<'_>) -> Self {
        let Some(object) = error.object() else {
            return Self::plain(error.text_or_raw());
        };
        Self::of(&object)
    }

    pub(crate) fn of(object: &Object<'_>) -> Self {
        let word = |name| object.get(name).filter(|value| value.object().is_none() && value.array().is_none());
        let mut code = word("code").map(Value::text_or_raw).unwrap_or_default();
        let kind = word("type").or_else(|| word("status")).map(Value::text_or_raw).unwrap_or_default();
        if code.parse::<u16>().is_ok() && word("status").is_some() {
            // Google's code is the HTTP status; the word beside it says more.
            code.clear();
        }
        let number = |name| object.get(name).and_then(|value| value.text_or_raw().parse::<u16>().ok());
        let status = number("code").or_else(|| number("status")).or_else(|| number("status_code"));
        let mut message = message(object).unwrap_or_default();
        // Gateways put their own sentence in front and what the provider said here.
        if let Some(raw) = object.object("metadata").and_then(|metadata| metadata.text("raw")) {
            let inner = inside(&raw).map(|inner| inner.message).filter(|inner| !inner.is_empty()).unwrap_or(raw);
            message = if message.is_empty() { inner } else { format!("{message}: {inner}") };
        }
        let mut said = Self {
            message,
            code,
            kind,
            status: status.filter(|status| (400..600).contains(status)),
            ..Self::default()
        };
        for detail in object.array("details").unwrap_or_default() {
            said.take_detail(detail);
        }
        said
    }

    /// One of Google's details (google.rpc.ErrorInfo and RetryInfo), known by what is in it.
    fn take_detail(&mut self, detail: Value<'_>) {
        let Some(detail) = detail.object() else { return };
        if let Some(reason) = detail.text("reason") {
            self.reason = reason;
        }
        if let Some(delay) = detail.text("retryDelay").and_then(|delay| retry_after::span(&delay)) {
            self.retry_after_ms = Some(delay);
        }
    }

    fn is_any_of(&self, words: &[&str]) -> bool {
        let said = [&self.code, &self.kind, &self.reason];
        words.iter().any(|word| said.iter().any(|said| said.eq_ignore_ascii_case(word)))
    }

    fn says_too_long(&self) -> bool {
        if self.is_any_of(&["context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"]) {
            return true;
        }
        let message = self.message.to_ascii_lowercase();
        [
            "maximum context length",
            "context length exceeded",
            "context_length_exceeded",
            "exceeds the context",
            "exceed context",
            "exceeds the available context",
            "exceeds context",
            "context window",
            "context size",
            "max_model_len",
            "maximum model length",
            "prompt is too long",
            "input is too long",
            "input length",
            "reduce the length of the messages",
            "too many tokens",
            "exceeds the maximum number of tokens",
            "tokens to keep from the initial prompt",
        ]
        .iter()
        .any(|words| message.contains(words))
    }

    fn kind_by_words(&self) -> Option<FailureKind> {
        let kind = if self.is_any_of(&[
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limit",
            "insufficient_quota",
            "quota_exceeded",
            "resource_exhausted",
            "too_many_requests",
        ]) {
            FailureKind::RateLimited
        } else if self.says_too_long() {
            FailureKind::ContextOverflow
        } else if self.is_any_of(&[
            "invalid_request_error",
            "invalid_request",
            "invalid_argument",
            "not_found_error",
            "model_not_found",
            "bad_request",
            "badrequesterror",
            "notfounderror",
            "validation_error",
            "content_policy_violation",
            "content_filter",
            "request_too_large",
            "billing_error",
            "failed_precondition",
            "not_found",
            "out_of_range",
            "invalid_prompt",
        ]) || self.code.contains("image")
        {
            FailureKind::Refused
        } else {
            return None;
        };
        Some(kind)
    }

    fn speaks_of_credentials(&self) -> bool {
        self.is_any_of(&[
            "invalid_api_key",
            "api_key_invalid",
            "authentication_error",
            "permission_error",
            "unauthorized",
            "permission_denied",
            "unauthenticated",
            "invalid_authentication",
        ])
    }
}

/// The failure of an answer whose status is no success. The status decides; the body explains.
pub(crate) fn refused(context: &Context<'_>, body: &[u8]) -> Failure {
    let (text, _) = reader::clean(body);
    let said = inside(&text).unwrap_or_else(|| Said::plain(page_or_text(&text)));
    let kind = by_status(context.status, &said, context.source);
    failure(context, kind, said)
}

/// The failure of an error in the middle of an answer whose status was a success: the body is the only place left for it.
pub(crate) fn in_answer(context: &Context<'_>, said: Said) -> Failure {
    let kind = if said.speaks_of_credentials() {
        FailureKind::CredentialRefused(context.source)
    } else if let Some(status) = said.status {
        by_status(status, &said, context.source)
    } else {
        said.kind_by_words().unwrap_or(FailureKind::Unavailable)
    };
    failure(context, kind, said)
}

/// The failure of an answer that is not what it should be.
pub(crate) fn bad_answer(context: &Context<'_>, message: impl Into<String>) -> Failure {
    failure(context, FailureKind::BadAnswer, Said::plain(message))
}

/// The failure of an answer that the provider itself calls unusable.
pub(crate) fn spoilt(context: &Context<'_>, said: Said) -> Failure {
    failure(context, FailureKind::BadAnswer, said)
}

/// The error that a body holds, in any of the forms that servers give it; absent when it holds none.
pub(crate) fn inside(text: &str) -> Option<Said> {
    let value = Value::parse(text)?;
    let object = match value.array() {
        // Google's compatible endpoint wraps its errors into a list.
        Some(items) => items.first()?.object()?,
        None => value.object()?,
    };
    if let Some(error) = object.get("error") {
        return Some(Said::read(error));
    }
    message(&object).map(|_| Said::of(&object))
}

fn message(object: &Object<'_>) -> Option<String> {
    let word = |name: &str| {
        let value = object.get(name)?;
        match value.array() {
            Some(items) => items.first()?.object()?.text("msg"),
            None => value.text(),
        }
    };
    ["message", "detail", "msg", "error_description", "title"].into_iter().find_map(word)
}

fn by_status(status: u16, said: &Said, source: CredentialSource) -> FailureKind {
    match status {
        401 | 403 => FailureKind::CredentialRefused(source),
        // Google says so of a key that it does not know.
        400 if said.is_any_of(&["api_key_invalid"]) => FailureKind::CredentialRefused(source),
        429 => FailureKind::RateLimited,
        400 | 413 | 422 if said.says_too_long() => FailureKind::ContextOverflow,
        408 | 409 | 425 => FailureKind::Unavailable,
        300..500 => FailureKind::Refused,
        // Some local servers answer a history that is too long as if they had failed themselves.
        500 if said.says_too_long() => FailureKind::ContextOverflow,
        _ => FailureKind::Unavailable,
    }
}

fn failure(context: &Context<'_>, kind: FailureKind, said: Said) -> Failure {
    let redact = |text: &str| redact(text, context.credential);
    let mut message = redact(said.message.trim());
    if message.is_empty() {
        message = unexplained(context);
    }
    let code = if said.code.is_empty() { said.kind } else { said.code };
    let mut failure = Failure::new(kind, cut(&message, MAX_PROVIDER_MESSAGE));
    failure.http_status = Some(context.status);
    failure.provider_code = cut(&redact(&code), MAX_WORD).to_owned();
    failure.provider_request_id = redact(&request_id(context.headers));
    let limited = failure.kind == FailureKind::RateLimited;
    let delay = retry_after::delay_ms(context.headers, limited, context.now);
    failure.retry_after_ms = delay.or(said.retry_after_ms);
    failure
}

fn unexplained(context: &Context<'_>) -> String {
    let status = context.status;
    let location = context.headers.get("location").and_then(|value| value.to_str().ok());
    let host = location.and_then(|location| reqwest::Url::parse(location).ok());
    match host.as_ref().and_then(|url| url.host_str()) {
        Some(host) if (300..400).contains(&status) => {
            format!("the provider redirects to {host} (HTTP {status}), which is not followed; correct `base_url`")
        }
        _ => format!("the provider answered HTTP {status} without a reason"),
    }
}

/// The provider's id for the request; empty for none.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    let names = ["x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"];
    let id = names.into_iter().find_map(|name| headers.get(name)?.to_str().ok()).unwrap_or_default();
    cut(id, MAX_WORD).to_owned()
}

/// A body that is no JSON. Of a page, only its title is worth a line.
pub(crate) fn page_or_text(text: &str) -> String {
    let text = text.trim();
    if !text.starts_with('<') {
        return text.to_owned();
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + "<title>".len()).and_then(|start| {
        let end = lower.get(start..)?.find("</title>")?;
        text.get(start..start + end)
    });
    let title: Vec<&str> = title.unwrap_or_default().split_whitespace().collect();
    match title.join(" ") {
        title if title.is_empty() => "the provider answered with a web page".to_owned(),
        title => format!("the provider answered with a web page: {}", cut(&title, MAX_WORD)),
    }
}

fn redact(text: &str, credential: Option<&SecretString>) -> String {
    match credential.map(|credential| credential.expose_secret()) {
        Some(secret) if secret.len() >= MIN_SECRET => text.replace(secret, "[redacted]"),
        _ => text.to_owned(),
    }
}

fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
