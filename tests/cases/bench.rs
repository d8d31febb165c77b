//! Where a case is run: a provider that plays its script, and what asks it. A case says what is asked and what must come of it, and not
//! at which level: [`Subject`] has one variant a level, and everything that is compared is in [`Outcome`]. It must not know cases.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use antiphon::domain::fault::Reason;
use antiphon::domain::id::{CallId, Moment};
use antiphon::domain::message::{Kind, Message, Part, Role, ToolResult};
use antiphon::domain::run::StopReason;
use antiphon::domain::settings::{Contract, Parameters, ToolChoice};
use antiphon::domain::tool::Tool;
use antiphon::domain::usage::Usage;
use antiphon::engine::backend::openai::{Config, OpenAi};
use antiphon::engine::backend::{Backend, Call, Delta, Failure, Sink};
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::case::Case;
use crate::support::provider::{Entry, Provider};

/// The time of every run, so that what is filled in and what is understood of it agree.
pub(crate) const NOW: Duration = Duration::from_secs(1_700_000_000);

/// The credential of the server.
pub(crate) const KEY: &str = "sk-test-0123456789";

/// A provider and what asks it.
pub(crate) struct Bench {
    pub(crate) provider: Arc<Provider>,
    subject: Subject,
}

/// What is looked at.
enum Subject {
    /// A backend alone.
    Backend(OpenAi),
}

impl Subject {
    fn backend(provider: &Provider, key: Option<&str>, configure: impl FnOnce(&mut Config)) -> Self {
        let mut config =
            Config { base_url: provider.base_url(), provider: Some("stub".to_owned()), ..Config::default() };
        configure(&mut config);
        let now = Moment(NOW.as_millis().try_into().unwrap());
        Self::Backend(OpenAi::new(config, key.map(SecretString::from), Arc::new(move || now)).unwrap())
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) messages: Vec<Message>,
    pub(crate) stream: bool,
    pub(crate) tools: Vec<Tool>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) contract: Contract,
    pub(crate) credential: Option<&'static str>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) end: Result<Answer, Failed>,
    pub(crate) deltas: Vec<Delta>,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) message: Message,
    pub(crate) stop: StopReason,
    pub(crate) raw: String,
    pub(crate) usage: Usage,
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) warnings: Vec<String>,
}

/// No answer.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) reason: Reason,
    pub(crate) message: String,
    pub(crate) status: Option<u16>,
    pub(crate) code: String,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) usage: Usage,
}

impl Bench {
    /// With the script of a case.
    pub(crate) async fn of(id: &str) -> Self {
        Self::with(Case::load(id).script(SystemTime::UNIX_EPOCH + NOW), |_| {}).await
    }

    /// With the script of a case, on a server that differs.
    pub(crate) async fn of_with(id: &str, configure: impl FnOnce(&mut Config)) -> Self {
        Self::with(Case::load(id).script(SystemTime::UNIX_EPOCH + NOW), configure).await
    }

    pub(crate) async fn with(script: impl IntoIterator<Item = Entry>, configure: impl FnOnce(&mut Config)) -> Self {
        let provider = Arc::new(Provider::start(script).await);
        let subject = Subject::backend(&provider, Some(KEY), configure);
        Self { provider, subject }
    }

    /// The same provider, asked without a credential of the server.
    pub(crate) fn without_key(&self, configure: impl FnOnce(&mut Config)) -> Self {
        Self { provider: self.provider.clone(), subject: Subject::backend(&self.provider, None, configure) }
    }

    /// Asks, and waits for the end.
    pub(crate) async fn ask(&self, ask: &Ask) -> Outcome {
        let (tell, mut told) = mpsc::unbounded_channel();
        let end = self.ask_telling(ask, tell).await;
        let mut deltas = Vec::new();
        while let Ok(event) = told.try_recv() {
            deltas.extend(match event {
                Event::Delta(delta) => Some(delta),
                Event::FirstByte => None,
            });
        }
        Outcome { end, deltas }
    }

    /// Asks, telling what comes while it comes.
    pub(crate) async fn ask_telling(&self, ask: &Ask, tell: mpsc::UnboundedSender<Event>) -> Result<Answer, Failed> {
        let Subject::Backend(backend) = &self.subject;
        let call = Call {
            model: "stub-1".to_owned(),
            messages: ask.messages.clone(),
            tools: ask.tools.clone(),
            tool_choice: ask.tool_choice.clone(),
            parameters: Parameters::default(),
            contract: ask.contract.clone(),
            session_id: None,
            stream: ask.stream,
        };
        let outbound = backend.encode(&call).map_err(Failed::of)?;
        let credential = ask.credential.map(SecretString::from);
        let reply = backend.send(&outbound, credential.as_ref(), &mut Teller(tell)).await.map_err(Failed::of)?;
        let mut message = Message { role: Role::Assistant, parts: reply.parts };
        name_calls(&mut message, ask.messages.len());
        Ok(Answer {
            message,
            stop: reply.stop_reason,
            raw: reply.stop_reason_raw,
            usage: reply.usage,
            id: reply.response_id,
            model: reply.response_model,
            warnings: reply.warnings.into_iter().map(|warning| warning.code).collect(),
        })
    }
}

/// What comes while a call is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    FirstByte,
    Delta(Delta),
}

struct Teller(mpsc::UnboundedSender<Event>);

impl Sink for Teller {
    fn first_byte(&mut self) {
        // A test that no longer listens is no reason to stop.
        drop(self.0.send(Event::FirstByte));
    }

    fn delta(&mut self, delta: Delta) {
        drop(self.0.send(Event::Delta(delta)));
    }
}

/// Gives calls their ids, as the server does.
fn name_calls(message: &mut Message, place: usize) {
    for (number, part) in message.parts.iter_mut().enumerate() {
        if let Kind::ToolCall(call) = &mut part.kind {
            call.call_id = CallId::new(format!("ours-{place}-{number}"));
        }
    }
}

impl Ask {
    /// A prompt whose answer comes whole.
    pub(crate) fn whole() -> Self {
        Self {
            messages: vec![Message::text(Role::User, "Hello?")],
            stream: false,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            contract: Contract::Text,
            credential: None,
        }
    }

    /// A prompt whose answer comes in pieces.
    pub(crate) fn streamed() -> Self {
        Self { stream: true, ..Self::whole() }
    }

    pub(crate) fn offering(mut self, tools: &[&str]) -> Self {
        let tool = |name: &&str| Tool {
            name: (*name).to_owned(),
            description: String::new(),
            input_schema_json: r#"{"type":"object"}"#.to_owned(),
            side_effects: false,
            requires_human: false,
        };
        self.tools = tools.iter().map(tool).collect();
        self
    }

    /// The next turn: the answer, a result for each of its calls, and what the user says.
    pub(crate) fn after(mut self, answer: &Answer, results: &[&str], text: Option<&str>) -> Self {
        let calls: Vec<_> = answer.message.tool_calls().collect();
        assert_eq!(calls.len(), results.len(), "each call has one result");
        let parts: Vec<Part> = calls
            .into_iter()
            .zip(results)
            .map(|(call, text)| {
                Part::new(Kind::ToolResult(ToolResult {
                    call_id: call.call_id.clone(),
                    parts: vec![Part::text(*text)],
                    is_error: false,
                    interrupted: false,
                }))
            })
            .collect();
        self.messages.push(answer.message.clone());
        if !parts.is_empty() {
            self.messages.push(Message { role: Role::Tool, parts });
        }
        self.messages.extend(text.map(|text| Message::text(Role::User, text)));
        self
    }
}

impl Outcome {
    pub(crate) fn answer(&self) -> &Answer {
        match &self.end {
            Ok(answer) => answer,
            Err(failed) => panic!("{failed:?}"),
        }
    }

    pub(crate) fn failed(&self) -> &Failed {
        match &self.end {
            Ok(answer) => panic!("{answer:?}"),
            Err(failed) => failed,
        }
    }

    /// The texts of the deltas, one each.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.deltas
            .iter()
            .filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None })
            .collect()
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        self.message.joined_text()
    }

    pub(crate) fn reasoning(&self) -> String {
        let text =
            |part: &Part| if let Kind::Reasoning(reasoning) = &part.kind { Some(reasoning.text.clone()) } else { None };
        self.message.parts.iter().filter_map(text).collect()
    }

    /// Its calls: the provider's id, the name and the arguments.
    pub(crate) fn calls(&self) -> Vec<(&str, &str, &str)> {
        let call = self.message.tool_calls();
        call.map(|call| (call.provider_call_id.as_str(), call.name.as_str(), call.arguments_json.as_str())).collect()
    }

    /// Input, output and total tokens.
    pub(crate) fn tokens(&self) -> [Option<u64>; 3] {
        [self.usage.input_tokens, self.usage.output_tokens, self.usage.total_tokens]
    }
}

impl Failed {
    fn of(failure: Failure) -> Self {
        let fault = failure.fault("stub");
        assert!(!fault.message.contains(KEY));
        Self {
            reason: fault.reason,
            message: failure.message,
            status: failure.http_status,
            code: failure.provider_code,
            retry_after_ms: failure.retry_after_ms,
            usage: failure.usage,
        }
    }
}
