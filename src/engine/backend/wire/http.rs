//! One request over HTTP, with limits of time and bytes. It must not know dialects, retries or whose credential it carries.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry::global::get_text_map_propagator;
use opentelemetry::propagation::Injector;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Proxy, Url, redirect, retry};
use tokio::time::{Instant, timeout_at};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::config::{Config, Quirks, Timeouts};
use crate::engine::backend::{Failure, FailureKind, Timeout};

/// Connections to one provider.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    timeouts: Timeouts,
}

/// What came back, its body still to be read.
pub(crate) struct Response {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body.
    pub(crate) body: Body,
}

/// A body as it comes.
pub(crate) struct Body {
    response: reqwest::Response,
    idle: Duration,
    first_byte: Instant,
    total: Instant,
    has_begun: bool,
}

impl Client {
    /// Made ready as configured.
    ///
    /// # Errors
    /// What is wrong with the configuration, or that this machine has no certificates to trust.
    pub(crate) fn new<Q: Quirks>(config: &Config<Q>) -> Result<Self, String> {
        let url = config.endpoint("m", false).map_err(|what| format!("base_url {what}"))?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("antiphon/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(config.timeouts.connect())
            // A redirect could carry the credential and the content elsewhere, and turns a POST into a GET.
            .redirect(redirect::Policy::none())
            // Attempts are counted and recorded above; none happens unseen.
            .retry(retry::never())
            .no_proxy();
        if url.scheme() == "http" && config.proxy.is_none() {
            // Without TLS there is nothing to trust, and a bare container has no certificates.
            builder = builder.tls_certs_only([]);
        }
        if let Some(proxy) = &config.proxy {
            let proxy = Proxy::all(proxy).map_err(|error| format!("proxy {}", cause(&error)))?;
            builder = builder.proxy(proxy);
        }
        let http = builder.build().map_err(|error| cause(&error))?;
        Ok(Self { http, timeouts: config.timeouts.clone() })
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// When no answer began.
    pub(crate) async fn post(&self, url: &Url, body: Bytes, mut headers: HeaderMap) -> Result<Response, Failure> {
        let start = Instant::now();
        let first_byte = start + self.timeouts.first_byte();
        let total = start + self.timeouts.total();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        pass_trace(&mut headers);
        let sent = self.http.post(url.clone()).headers(headers).body(body).send();
        let response = match timeout_at(first_byte.min(total), sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(url, &error)),
            Err(_) => return Err(late(if total <= first_byte { Timeout::Total } else { Timeout::FirstByte })),
        };
        Ok(Response {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: Body { response, idle: self.timeouts.idle(), first_byte, total, has_begun: false },
        })
    }
}

/// Names the trace at work to the provider, where traces are made and providers are to know.
fn pass_trace(headers: &mut HeaderMap) {
    struct Headers<'a>(&'a mut HeaderMap);
    impl Injector for Headers<'_> {
        fn set(&mut self, key: &str, value: String) {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(key.as_bytes()), HeaderValue::from_str(&value))
                && !value.is_empty()
            {
                self.0.insert(name, value);
            }
        }
    }
    let context = Span::current().context();
    get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut Headers(headers)));
}

fn unreachable(url: &Url, error: &reqwest::Error) -> Failure {
    if error.is_connect() && error.is_timeout() {
        return late(Timeout::Connect);
    }
    let host = url.host_str().unwrap_or_default();
    let message = if error.is_connect() {
        format!("cannot connect to {host}: {}", cause(error))
    } else {
        format!("the connection to {host} broke before the answer: {}", cause(error))
    };
    Failure::new(FailureKind::Unavailable, message)
}

impl Body {
    /// What the provider says the length is.
    pub(crate) fn declared_bytes(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The next bytes, never empty; absent at a clean end.
    ///
    /// # Errors
    /// When the connection breaks, or says nothing for too long.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let (limit, which) = if self.has_begun {
            (Instant::now() + self.idle, Timeout::Idle)
        } else {
            (self.first_byte, Timeout::FirstByte)
        };
        let (limit, which) = if self.total <= limit { (self.total, Timeout::Total) } else { (limit, which) };
        loop {
            match timeout_at(limit, self.response.chunk()).await {
                Ok(Ok(Some(bytes))) if bytes.is_empty() => {}
                Ok(Ok(bytes)) => {
                    self.has_begun = true;
                    return Ok(bytes);
                }
                Ok(Err(error)) => {
                    let message = format!("the connection broke in the middle of the answer: {}", cause(&error));
                    return Err(Failure::new(FailureKind::Unavailable, message));
                }
                Err(_) => return Err(late(which)),
            }
        }
    }
}

fn late(which: Timeout) -> Failure {
    let message = match which {
        Timeout::Connect => "no connection within the limit of time",
        Timeout::FirstByte => "no answer began within the limit of time",
        Timeout::Idle => "the answer stopped coming for longer than the limit of time",
        Timeout::Total => "the answer was not whole within the limit of time",
    };
    Failure::new(FailureKind::Timeout(which), message)
}

/// The innermost cause, which never names the address: that may hold a key in its query.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = match error.source() {
        Some(source) => source,
        None => return "the request failed".to_owned(),
    };
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
