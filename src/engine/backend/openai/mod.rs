//! OpenAI Chat Completions, and every server that speaks it: vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Groq, Mistral, DeepSeek and
//! others. In what they differ is configuration ([`Quirks`]), not code. It must not know retries, other dialects or where keys come from.

mod answer;
mod calls;
mod config;
mod content;
mod details;
mod encode;
mod error;
mod history;
mod http;
mod quirks;
mod reader;
mod receive;
mod retry_after;
mod sse;
mod usage;
mod writer;

use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};

pub use self::config::{Config, Timeouts};
use self::error::Context;
use self::http::Client;
pub use self::quirks::{
    CallContent, DoneMarker, EmptyAnswer, Files, InvalidArguments, MaxTokensField, Quirks, ReasoningField,
    SendReasoning, StructuredOutput, SystemPosition, SystemRole, ToolResultMedia,
};
use self::receive::Reading;
use super::{Backend, Call, CredentialSource, Description, Failure, FailureKind, Outbound, Reply, Sink};
use crate::domain::id::Moment;
use crate::domain::message::Issuer;

/// The kind in the configuration.
pub const KIND: &str = "openai";

/// The dialect, as the issuer of opaque data.
pub const API: &str = "openai-chat";

/// Tells the time, for delays that providers name by date.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// A server that speaks Chat Completions.
pub struct OpenAi {
    config: Config,
    provider: String,
    api_key: Option<SecretString>,
    headers: HeaderMap,
    client: Client,
    clock: Clock,
}

/// Why there is no backend of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Keys of it are wrong: each key, and what it must be.
    #[error("{}", .0.iter().map(|(key, what)| format!("`{key}` {what}")).collect::<Vec<_>>().join("; "))]
    Config(Vec<(&'static str, String)>),
    /// Connections cannot be made, such as where the system has no certificates to trust.
    #[error("cannot prepare connections: {0}")]
    Connections(String),
}

impl OpenAi {
    /// A backend of a configuration. `api_key` is what its `api_key_env` or `api_key_file` hold.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with this machine.
    pub fn new(config: Config, api_key: Option<SecretString>, clock: Clock) -> Result<Self, Error> {
        let mut problems = config.problems();
        if let Some(key) = &api_key
            && credential(&config, key).is_none()
        {
            problems.push(("api_key", "has characters that no header can carry".to_owned()));
        }
        if !problems.is_empty() {
            return Err(Error::Config(problems));
        }
        let client = Client::new(&config).map_err(Error::Connections)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &config.extra_headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.append(name, value);
            }
        }
        Ok(Self { provider: config.provider(), config, api_key, headers, client, clock })
    }

    async fn call(
        &self,
        outbound: &Outbound,
        caller: Option<&SecretString>,
        sink: &mut dyn Sink,
    ) -> Result<Reply, Failure> {
        let source = if caller.is_some() { CredentialSource::Caller } else { CredentialSource::Server };
        let key = caller.or(self.api_key.as_ref());
        let headers = self.request_headers(key, source, outbound.stream)?;
        let response = self.client.post(outbound.body.clone(), headers).await?;
        let status = response.status;
        let context = Context { credential: key, source, status, headers: &response.headers, now: (self.clock)() };
        if !(200..300).contains(&status) {
            return Err(error::refused(&context, &self.error_body(response.body, sink).await));
        }
        let provider_request_id = error::request_id(&response.headers);
        let issuer = Issuer { provider: self.provider.clone(), api: API.to_owned(), model: outbound.model.clone() };
        let reading = Reading {
            quirks: &self.config.quirks,
            issuer: &issuer,
            context,
            max_bytes: self.config.max_answer_bytes,
            told: outbound.stream,
        };
        let read = reading.answer(response.body, sink).await.map_err(|mut failure| {
            failure.http_status = Some(status);
            failure.provider_request_id.clone_from(&provider_request_id);
            failure
        })?;
        Ok(Reply {
            parts: read.parts,
            stop_reason: read.stop_reason,
            stop_reason_raw: read.stop_reason_raw,
            usage: read.usage,
            response_model: read.response_model,
            response_id: read.response_id,
            http_status: Some(status),
            provider_request_id,
            warnings: read.warnings,
        })
    }

    fn request_headers(
        &self,
        key: Option<&SecretString>,
        source: CredentialSource,
        stream: bool,
    ) -> Result<HeaderMap, Failure> {
        let mut headers = self.headers.clone();
        let accept = if stream { "text/event-stream, application/json" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if stream {
            // What is compressed on the way may be held back until there is more of it.
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        match key {
            Some(key) => {
                let (name, value) = credential(&self.config, key).ok_or_else(|| {
                    let message = "the credential has characters that no header can carry";
                    Failure::new(FailureKind::CredentialRefused(source), message)
                })?;
                headers.insert(name, value);
            }
            None if self.config.requires_credential => return Err(no_credential()),
            None => {}
        }
        Ok(headers)
    }

    /// As much as is needed of an error's body; what breaks off in the middle of it, or does not end, explains still enough.
    async fn error_body(&self, mut body: http::Body, sink: &mut dyn Sink) -> Vec<u8> {
        let mut read = Vec::new();
        let end = Instant::now() + error::MAX_ERROR_WAIT;
        while let Ok(Ok(Some(bytes))) = timeout_at(end, body.next()).await {
            if read.is_empty() {
                sink.first_byte();
            }
            let room = error::MAX_ERROR_BODY - read.len();
            read.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
            if read.len() >= error::MAX_ERROR_BODY {
                break;
            }
        }
        read
    }
}

fn no_credential() -> Failure {
    Failure::new(FailureKind::CredentialMissing, "no credential is configured and the call brought none")
}

fn credential(config: &Config, key: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::try_from(config.credential_header.as_str()).ok()?;
    let mut value = HeaderValue::try_from(format!("{}{}", config.credential_prefix, key.expose_secret())).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

impl Backend for OpenAi {
    fn describe(&self) -> Description {
        let quirks = &self.config.quirks;
        let capabilities = [
            ("stream", quirks.stream),
            ("tools", quirks.tools),
            ("json", quirks.structured_output != StructuredOutput::None),
            ("json_schema", quirks.structured_output == StructuredOutput::JsonSchema),
            ("images", quirks.images),
            ("files", quirks.files != Files::None),
            ("file_links", quirks.files == Files::Links),
            ("reasoning_replay", quirks.send_reasoning != SendReasoning::Never),
            ("cache_markers", quirks.cache_markers),
            ("session_id", quirks.session_field.is_some()),
            ("credential_required", self.config.requires_credential),
        ];
        Description {
            kind: KIND,
            provider: self.provider.clone(),
            api: API,
            base_url: self.config.shown_url(),
            has_credential: self.api_key.is_some(),
            capabilities: capabilities.into_iter().filter(|(_, has)| *has).map(|(word, _)| word).collect(),
        }
    }

    fn ready(&self, credential: Option<&SecretString>) -> Result<(), Failure> {
        let has_one = credential.is_some() || self.api_key.is_some();
        if self.config.requires_credential && !has_one { Err(no_credential()) } else { Ok(()) }
    }

    fn encode(&self, call: &Call) -> Result<Outbound, Failure> {
        encode::encode(&self.config, &self.provider, API, call)
    }

    fn send<'a>(
        &'a self,
        outbound: &'a Outbound,
        credential: Option<&'a SecretString>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(self.call(outbound, credential, sink))
    }
}
