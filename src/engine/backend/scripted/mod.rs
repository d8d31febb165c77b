//! The backend that needs no provider: deterministic answers from rules, or an echo, with delays, pieces and faults; for tests, demos and
//! first steps. It must not know any other backend, and keeps nothing but how often each rule was used.

mod answer;
mod rule;
mod wire;

use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde::Deserialize;
use tokio::time::sleep;

pub use rule::{CallConfig, FaultConfig, On, Rule, StopWord, TimeoutWord, UsageConfig};

use self::answer::Script;
use self::wire::Body;
use super::{
    Backend, Call, CredentialSource, Delta, Description, Failure, FailureKind, Outbound, Reply, Sink, Timeout,
};
use crate::domain::id::Hash;
use crate::domain::message::{Kind, Part};

/// Pieces of an answer, in characters, where nothing says otherwise.
const CHUNK_CHARS: usize = 12;

/// Settings of a scripted backend.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first that matches answers; without one, the last thing said is echoed.
    pub rules: Vec<Rule>,
    /// Time before the first byte, in milliseconds, of rules that say nothing.
    pub delay_ms: u64,
    /// Characters in a piece of a streamed answer, of rules that say nothing.
    pub chunk_chars: Option<usize>,
    /// Time between two pieces, in milliseconds, of rules that say nothing.
    pub chunk_gap_ms: u64,
}

impl Config {
    /// What is wrong with the settings: the key, and what it must be.
    pub fn problems(&self) -> Vec<(String, String)> {
        let of_rule = |(index, rule): (usize, &Rule)| {
            rule.problems().into_iter().map(move |(key, what)| (format!("rules[{index}]{key}"), what.to_owned()))
        };
        let mut problems: Vec<_> = self.rules.iter().enumerate().flat_map(of_rule).collect();
        if self.chunk_chars == Some(0) {
            problems.push(("chunk_chars".to_owned(), "must be 1 or more".to_owned()));
        }
        problems
    }
}

/// The backend.
#[derive(Debug)]
pub struct Scripted {
    config: Config,
    /// How often each rule was used.
    used: Vec<AtomicU32>,
}

impl Scripted {
    /// With its settings.
    pub fn new(config: Config) -> Self {
        let used = config.rules.iter().map(|_| AtomicU32::new(0)).collect();
        Self { config, used }
    }

    /// The rule that answers, counted as used.
    fn rule(&self, body: &Body) -> Option<&Rule> {
        self.config.rules.iter().zip(&self.used).find_map(|(rule, used)| {
            if !rule.matches(body) {
                return None;
            }
            let limit = rule.times.unwrap_or(u32::MAX);
            let count = |made: u32| (made < limit).then(|| made.saturating_add(1));
            used.fetch_update(Ordering::AcqRel, Ordering::Acquire, count).is_ok().then_some(rule)
        })
    }

    async fn answer(
        &self,
        outbound: &Outbound,
        credential: Option<&SecretString>,
        sink: &mut dyn Sink,
    ) -> Result<Reply, Failure> {
        let body = Body::read(&outbound.body)
            .map_err(|_| Failure::new(FailureKind::Unsupported("body".to_owned()), "the body is not a scripted one"))?;
        let echo = Rule::default();
        let rule = self.rule(&body).unwrap_or(&echo);
        let delay = Duration::from_millis(rule.delay_ms.unwrap_or(self.config.delay_ms));
        if !delay.is_zero() {
            sleep(delay).await;
        }
        if let Some(failure) = rule.fault.as_ref().and_then(|fault| before_answer(fault, credential)) {
            return Err(failure);
        }
        let Script { parts, stop_reason, stop_reason_raw, usage } = answer::write(rule, &body);
        sink.first_byte();
        let mut pieces = Pieces {
            sink,
            chunk: rule.chunk_chars.or(self.config.chunk_chars).unwrap_or(CHUNK_CHARS).max(1),
            gap: Duration::from_millis(rule.chunk_gap_ms.unwrap_or(self.config.chunk_gap_ms)),
            left: rule.fault.as_ref().and_then(FaultConfig::after_chars),
            begun: false,
        };
        if outbound.stream {
            pieces.parts(&parts).await;
        }
        match &rule.fault {
            Some(FaultConfig::Stall { .. }) => return pending().await,
            Some(FaultConfig::Cut { .. }) => {
                return Err(Failure::new(FailureKind::Unavailable, "the stream was cut in the middle of the answer"));
            }
            Some(_) | None => {}
        }
        let answer_hash = Hash::of(&outbound.body).to_string();
        Ok(Reply {
            parts,
            stop_reason,
            stop_reason_raw,
            usage,
            response_model: rule.response_model.clone().unwrap_or_else(|| body.model.clone()),
            response_id: format!("scripted-{}", answer_hash.get(..16).unwrap_or_default()),
            http_status: Some(200),
            provider_request_id: String::new(),
            warnings: Vec::new(),
        })
    }
}

/// The failure of a fault that comes before any of the answer.
fn before_answer(fault: &FaultConfig, credential: Option<&SecretString>) -> Option<Failure> {
    match fault {
        FaultConfig::Status { status, retry_after_ms, message, code } => {
            let source = if credential.is_some() { CredentialSource::Caller } else { CredentialSource::Server };
            let kind = match status {
                401 | 403 => FailureKind::CredentialRefused(source),
                429 => FailureKind::RateLimited,
                408 | 500.. => FailureKind::Unavailable,
                _ if code == "context_length_exceeded" => FailureKind::ContextOverflow,
                _ => FailureKind::Refused,
            };
            let text = if message.is_empty() { format!("the script answers {status}") } else { message.clone() };
            Some(Failure {
                http_status: Some(*status),
                provider_code: code.clone(),
                retry_after_ms: *retry_after_ms,
                ..Failure::new(kind, text)
            })
        }
        FaultConfig::Malformed {} => {
            Some(Failure { http_status: Some(200), ..Failure::new(FailureKind::BadAnswer, "the answer is garbage") })
        }
        FaultConfig::RefuseConnect {} => Some(Failure::new(FailureKind::Unavailable, "the connection was refused")),
        FaultConfig::Timeout { which } => {
            let which = match which {
                TimeoutWord::Connect => Timeout::Connect,
                TimeoutWord::FirstByte => Timeout::FirstByte,
                TimeoutWord::Idle => Timeout::Idle,
            };
            Some(Failure::new(FailureKind::Timeout(which), "the script says that time is over"))
        }
        FaultConfig::Cut { .. } | FaultConfig::Stall { .. } => None,
    }
}

/// Hands an answer out in pieces.
struct Pieces<'a> {
    sink: &'a mut dyn Sink,
    chunk: usize,
    gap: Duration,
    /// Characters until the stream breaks; absent when it does not.
    left: Option<usize>,
    begun: bool,
}

impl Pieces<'_> {
    async fn parts(&mut self, parts: &[Part]) {
        let mut index = 0;
        for part in parts {
            match &part.kind {
                Kind::Text(text) => self.text(text, Delta::Text).await,
                Kind::Reasoning(reasoning) => self.text(&reasoning.text, Delta::Reasoning).await,
                Kind::Refusal(text) => self.text(text, Delta::Refusal).await,
                Kind::ToolCall(call) => {
                    let mut name = Some(call.name.clone());
                    let piece = |text| Delta::ToolCall { index, name: name.take(), arguments_json: text };
                    self.text(&call.arguments_json, piece).await;
                    index += 1;
                }
                Kind::Image(..) | Kind::File(..) | Kind::ToolResult(_) | Kind::Unknown(..) => {}
            }
        }
    }

    async fn text(&mut self, text: &str, mut delta: impl FnMut(String) -> Delta) {
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(self.chunk) {
            let piece = match &mut self.left {
                Some(0) => return,
                Some(left) => {
                    let taken = piece.len().min(*left);
                    *left -= taken;
                    piece.get(..taken).unwrap_or(piece)
                }
                None => piece,
            };
            if self.begun && !self.gap.is_zero() {
                sleep(self.gap).await;
            }
            self.begun = true;
            self.sink.ready().await;
            self.sink.delta(delta(piece.iter().collect()));
        }
    }
}

impl Backend for Scripted {
    fn describe(&self) -> Description {
        Description {
            kind: "scripted",
            provider: "scripted".to_owned(),
            api: "scripted",
            base_url: String::new(),
            has_credential: false,
            capabilities: vec!["stream", "tools", "json", "json_schema", "images", "files"],
        }
    }

    fn ready(&self, _credential: Option<&SecretString>) -> Result<(), Failure> {
        Ok(())
    }

    fn encode(&self, call: &Call) -> Result<Outbound, Failure> {
        let body = Body::of(call).write().map_err(|_| {
            Failure::new(FailureKind::Unsupported("extra_json".to_owned()), "`extra_json` must be a JSON object")
        })?;
        Ok(Outbound { body, adaptations: Vec::new(), stream: call.stream, model: call.model.clone() })
    }

    fn send<'a>(
        &'a self,
        outbound: &'a Outbound,
        credential: Option<&'a SecretString>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(self.answer(outbound, credential, sink))
    }
}

#[cfg(test)]
mod tests;
