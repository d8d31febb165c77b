//! Backends: what every provider dialect offers, in one vocabulary. It must not know prompts, profiles, retries or queues; a backend knows
//! its own dialect and no other's; what all dialects need is in [`wire`].

pub mod anthropic;
pub mod client;
pub mod gemini;
pub mod ollama;
pub mod openai;
pub mod responses;

use bytes::Bytes;
use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::domain::fault::{Fault, Reason};
use crate::domain::message::{Message, Part};
use crate::domain::run::StopReason;
use crate::domain::settings::{Contract, Parameters, ToolChoice, Warning};
use crate::domain::tool::Tool;
use crate::domain::usage::Usage;

mod limits;
pub mod scripted;
pub mod wire;

pub use limits::{Circuit, Limits, Rate, Retry};

/// One logical call, complete: what a backend encodes. Holds no credential.
#[derive(Clone, Debug)]
pub struct Call {
    /// The model, as the provider names it; sent unchanged.
    pub model: String,
    /// The whole history, this call's own messages included, in order.
    pub messages: Vec<Message>,
    /// The tools offered.
    pub tools: Vec<Tool>,
    /// How freely they may be called.
    pub tool_choice: ToolChoice,
    /// Parameters; what is absent is left to the provider.
    pub parameters: Parameters,
    /// What form the answer must have; a backend with native structured output asks for it.
    pub contract: Contract,
    /// Groups calls at the provider.
    pub session_id: Option<String>,
    /// Ask for the answer in pieces.
    pub stream: bool,
}

/// A call as it goes out.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// The exact body.
    pub body: Bytes,
    /// What differs from the logical call, each a stable word; empty when nothing does.
    pub adaptations: Vec<String>,
    /// The answer is asked for in pieces.
    pub stream: bool,
    /// The model that is asked for, for messages and data that only go back to the same one.
    pub model: String,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The parts of the assistant message. Calls have the provider's id, if any, and an empty one of ours.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The provider's own word for it; empty when it gave none.
    pub stop_reason_raw: String,
    /// What the call consumed.
    pub usage: Usage,
    /// The model that says it answered; empty when it did not say.
    pub response_model: String,
    /// The provider's id for the answer; empty for none.
    pub response_id: String,
    /// The HTTP status, for backends that have one.
    pub http_status: Option<u16>,
    /// The provider's id for the request; empty for none.
    pub provider_request_id: String,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// More of an answer. Pieces of one kind joined give the final part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A tool call: its place in the answer from 0, its name in the first piece that knows it, more of its arguments.
    ToolCall {
        /// Which call.
        index: u32,
        /// Its name.
        name: Option<String>,
        /// More of its arguments.
        arguments_json: String,
    },
    /// A refusal.
    Refusal(String),
}

impl Delta {
    /// How much of the answer it is.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::Refusal(text) => text.len(),
            Self::ToolCall { arguments_json, .. } => arguments_json.len(),
        }
    }
}

/// Takes what comes while a call is at work.
pub trait Sink: Send {
    /// The first byte of the answer came.
    fn first_byte(&mut self);
    /// More of the answer came.
    fn delta(&mut self, delta: Delta);
    /// Waits until whoever reads the pieces has room for more. A backend asks before it reads on.
    fn ready(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Which limit of time passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Until the connection stood.
    Connect,
    /// Until the first byte of the answer.
    FirstByte,
    /// Between two pieces of it.
    Idle,
    /// For the whole call.
    Total,
}

impl Timeout {
    /// The word in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::FirstByte => "first_byte",
            Self::Idle => "idle",
            Self::Total => "total",
        }
    }
}

/// Whose credential a call used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialSource {
    /// The server's configuration.
    Server,
    /// The caller's own, for this call.
    Caller,
}

/// What kind of failure it was; decides what the caller is told and whether trying again makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// There is no credential to send.
    CredentialMissing,
    /// The provider refused the credential: 401 or 403.
    CredentialRefused(CredentialSource),
    /// The provider refused the request: 400 and the like.
    Refused,
    /// The history does not fit the model.
    ContextOverflow,
    /// The provider's rate limit: 429.
    RateLimited,
    /// The provider failed, or could not be reached: 5xx, broken connections.
    Unavailable,
    /// The answer could not be understood, or was not whole.
    BadAnswer,
    /// Silence for too long.
    Timeout(Timeout),
    /// The backend cannot do this; a word for what.
    Unsupported(String),
}

/// Why a call brought no whole answer.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// For people: the provider's own message where there is one, cut to [`MAX_PROVIDER_MESSAGE`]; no credential.
    pub message: String,
    /// The HTTP status.
    pub http_status: Option<u16>,
    /// The provider's error code; empty for none.
    pub provider_code: String,
    /// The provider's id for the request; empty for none.
    pub provider_request_id: String,
    /// The delay that the provider asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// What the call consumed all the same, where that is known.
    pub usage: Usage,
}

/// Longest provider message that is passed on, in bytes.
pub const MAX_PROVIDER_MESSAGE: usize = 2_048;

impl Failure {
    /// A failure of a kind, with nothing else known.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            http_status: None,
            provider_code: String::new(),
            provider_request_id: String::new(),
            retry_after_ms: None,
            usage: Usage::default(),
        }
    }

    /// The reason in the API's list.
    pub fn reason(&self) -> Reason {
        match self.kind {
            FailureKind::CredentialMissing => Reason::CredentialMissing,
            FailureKind::CredentialRefused(_) => Reason::ProviderRefusedCredential,
            FailureKind::Refused => Reason::ProviderRefusedRequest,
            FailureKind::ContextOverflow => Reason::ContextOverflow,
            FailureKind::RateLimited => Reason::ProviderRateLimited,
            FailureKind::Unavailable => Reason::ProviderUnavailable,
            FailureKind::BadAnswer => Reason::ProviderBadAnswer,
            FailureKind::Timeout(_) => Reason::ProviderTimeout,
            FailureKind::Unsupported(_) => Reason::BackendUnsupported,
        }
    }

    /// As a fault for the caller, naming the backend.
    pub fn fault(&self, backend_id: &str) -> Fault {
        let mut fault = Fault::new(self.reason(), format!("backend `{backend_id}`: {}", self.message))
            .with("backend_id", backend_id);
        if let Some(status) = self.http_status {
            fault = fault.with("provider_status", status);
        }
        if !self.provider_code.is_empty() {
            fault = fault.with("provider_code", &self.provider_code);
        }
        fault = match &self.kind {
            FailureKind::CredentialMissing | FailureKind::CredentialRefused(CredentialSource::Server) => {
                fault.with("credential_source", "SERVER")
            }
            FailureKind::CredentialRefused(CredentialSource::Caller) => fault.with("credential_source", "CALLER"),
            FailureKind::Timeout(which) => fault.with("timeout", which.word()),
            FailureKind::Unsupported(feature) => fault.with("feature", feature),
            FailureKind::Refused
            | FailureKind::ContextOverflow
            | FailureKind::RateLimited
            | FailureKind::Unavailable
            | FailureKind::BadAnswer => fault,
        };
        match self.retry_after_ms {
            Some(delay) if matches!(self.kind, FailureKind::RateLimited | FailureKind::Unavailable) => {
                fault.retry_after(delay)
            }
            _ => fault,
        }
    }
}

/// What a backend is, for the catalog. No secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its kind, such as `openai`.
    pub kind: &'static str,
    /// The provider, as the issuer of opaque data.
    pub provider: String,
    /// The dialect, as the issuer of opaque data.
    pub api: &'static str,
    /// Its address without credentials; empty for kinds without one.
    pub base_url: String,
    /// A credential is configured.
    pub has_credential: bool,
    /// What it can do, each a stable word: `stream`, `tools`, `json_schema`, `images`, ...
    pub capabilities: Vec<&'static str>,
}

/// A provider endpoint.
pub trait Backend: Send + Sync + 'static {
    /// What it is.
    fn describe(&self) -> Description;

    /// Whether it has the credential that it needs; `credential` is the caller's own, over the configured one.
    ///
    /// # Errors
    /// When there is none to send.
    fn ready(&self, credential: Option<&SecretString>) -> Result<(), Failure>;

    /// The call in this dialect. Pure: the same call gives the same bytes, and a longer history starts with the bytes of the shorter.
    ///
    /// # Errors
    /// When the dialect cannot say it.
    fn encode(&self, call: &Call) -> Result<Outbound, Failure>;

    /// Makes one call: no retries. Dropping the future closes the connection. `credential` is the caller's own, over the configured one.
    ///
    /// # Errors
    /// When no whole answer came. Half an answer is a failure.
    fn send<'a>(
        &'a self,
        outbound: &'a Outbound,
        credential: Option<&'a SecretString>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>>;
}
