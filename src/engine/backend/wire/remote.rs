//! A backend of any dialect: checks its configuration, adds the credential, sends a body and has the answer read. It must not know what is
//! particular to a dialect, nor retries, nor where keys come from.

use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};

use super::config::{Config, Quirks};
use super::error::{self, Context};
use super::http::{Body, Client};
use super::opaque::Recipient;
use super::receive::Reading;
use super::{Dialect, unsupported};
use crate::domain::id::Moment;
use crate::domain::message::Issuer;
use crate::engine::backend::{
    Backend, Call, CredentialSource, Description, Failure, FailureKind, Outbound, Reply, Sink,
};

/// Tells the time, for delays that providers name by date.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// A provider's server that speaks a dialect.
pub struct Remote<D: Dialect> {
    config: Config<D::Quirks>,
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

/// A backend of which the configuration was read, and that waits for its key.
pub trait Unopened {
    /// The environment variable that holds the key.
    fn api_key_env(&self) -> Option<&str>;
    /// The file that holds the key.
    fn api_key_file(&self) -> Option<&std::path::Path>;
    /// A call without any key is refused before it is sent, whatever the configuration says.
    fn require_credential(&mut self);
    /// The backend. `api_key` is what its variable or file hold.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with this machine.
    fn open(self: Box<Self>, api_key: Option<SecretString>, clock: Clock) -> Result<Arc<dyn Backend>, Error>;
}

/// A configuration of a dialect.
struct Waiting<D: Dialect>(Config<D::Quirks>);

impl<D: Dialect> Unopened for Waiting<D> {
    fn api_key_env(&self) -> Option<&str> {
        self.0.api_key_env.as_deref()
    }

    fn api_key_file(&self) -> Option<&std::path::Path> {
        self.0.api_key_file.as_deref()
    }

    fn require_credential(&mut self) {
        self.0.requires_credential = true;
    }

    fn open(self: Box<Self>, api_key: Option<SecretString>, clock: Clock) -> Result<Arc<dyn Backend>, Error> {
        Ok(Arc::new(Remote::<D>::new(self.0, api_key, clock)?))
    }
}

impl<D: Dialect> Remote<D> {
    /// A backend of a configuration. `api_key` is what its `api_key_env` or `api_key_file` hold.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with this machine.
    pub fn new(config: Config<D::Quirks>, api_key: Option<SecretString>, clock: Clock) -> Result<Self, Error> {
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
        Ok(Self { provider: config.provider(), headers: headers(&config), config, api_key, client, clock })
    }

    /// With a configuration that waits for its key.
    pub fn unopened(config: Config<D::Quirks>) -> Box<dyn Unopened> {
        Box::new(Waiting::<D>(config))
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
        let url = self.config.endpoint(&outbound.model, outbound.stream);
        let url = url.map_err(|what| unsupported("base_url", format!("`base_url` {what}")))?;
        let response = self.client.post(&url, outbound.body.clone(), headers).await?;
        let status = response.status;
        let context = Context { credential: key, source, status, headers: &response.headers, now: (self.clock)() };
        if !(200..300).contains(&status) {
            return Err(error::refused(&context, &error_body(response.body, sink).await));
        }
        let provider_request_id = error::request_id(&response.headers);
        let issuer = Issuer { provider: self.provider.clone(), api: D::API.to_owned(), model: outbound.model.clone() };
        let reading = Reading::<D::Answer> {
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
}

/// The headers of every call.
fn headers<Q: Quirks>(config: &Config<Q>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let own = config.quirks.headers();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in own.chain(config.extra_headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers
}

/// As much as is needed of an error's body; what breaks off in the middle of it, or does not end, explains still enough.
async fn error_body(mut body: Body, sink: &mut dyn Sink) -> Vec<u8> {
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

fn no_credential() -> Failure {
    Failure::new(FailureKind::CredentialMissing, "no credential is configured and the call brought none")
}

fn credential<Q: Quirks>(config: &Config<Q>, key: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::try_from(config.credential_header.as_str()).ok()?;
    let mut value = HeaderValue::try_from(format!("{}{}", config.credential_prefix, key.expose_secret())).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

impl<D: Dialect> Backend for Remote<D> {
    fn describe(&self) -> Description {
        let mut capabilities = D::capabilities(&self.config.quirks);
        capabilities.push(("credential_required", self.config.requires_credential));
        Description {
            kind: D::KIND,
            provider: self.provider.clone(),
            api: D::API,
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
        if self.config.is_led_astray_by(&call.model) {
            let message = "the model is a part of the address here, and must have neither empty steps nor dots alone";
            return Err(unsupported("model", message));
        }
        let foreign = self.config.foreign_data;
        let to = Recipient { provider: &self.provider, api: D::API, model: &call.model, foreign };
        to.check(&call.messages)?;
        D::encode(&self.config, to, call)
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
