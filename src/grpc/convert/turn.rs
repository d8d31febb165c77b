//! Turns: requests that execute, and what came of them. It must not know how either is waited for.

use super::problem::{required, whole};
use super::{Path, Problems, exchange, execution, id, message, run, thread, tool, usage};
use crate::app::turn::{Base, Facts, Input, Outcome, ThreadRef, Turn, UncapturedPrefix};
use crate::domain::fault::Fault;
use crate::domain::id::{Hash, RunId};
use crate::domain::message::{Kind, Message, Part, Role};
use crate::domain::thread::NewThread;
use crate::grpc::fingerprint;
use crate::grpc::pb;
use crate::grpc::unimplemented::PREPARED;


/// A Run.
///
/// # Errors
/// Everything that is wrong with it.
pub fn run(request: pb::RunRequest) -> Result<(Turn, bool), Fault> {
    let fingerprint = fingerprint::run(&request);
    let include = request.include_rendered_messages;
    let turn = whole(|at, problems| {
        let capture = request.capture.unwrap_or(false);
        let asked = match request.execution {
            Some(pb::run_request::Execution::Request(asked)) => Some(asked),
            Some(pb::run_request::Execution::Prepared(_)) => {
                problems.not_implemented(&at.field("prepared"), PREPARED);
                return None;
            }
            None => None,
        };
        let asked = required(asked, "`request`", &at.field("request"), problems)?;
        let asked = execution::from_pb(asked, &at.field("request"), problems)?;
        Some(turn_of(asked, fingerprint, Base::Root, capture, false))
    })?;
    Ok((turn, include))
}

/// A Capture, in its unary or its streamed form.
///
/// # Errors
/// Everything that is wrong with it.
pub fn capture(request: pb::CaptureRequest, stream: bool) -> Result<Turn, Fault> {
    let fingerprint = fingerprint::capture(&request);
    whole(|at, problems| {
        let asked = match request.execution {
            Some(pb::capture_request::Execution::Request(asked)) => Some(asked),
            Some(pb::capture_request::Execution::Prepared(_)) => {
                problems.not_implemented(&at.field("prepared"), PREPARED);
                return None;
            }
            None => None,
        };
        let asked = required(asked, "`request`", &at.field("request"), problems)
            .and_then(|asked| execution::from_pb(asked, &at.field("request"), problems));
        let base = match request.thread {
            None => Some(Base::Root),
            Some(pb::capture_request::Thread::ExistingThread(point)) => {
                thread::point_from_pb(point, &at.field("existing_thread"), problems).map(Base::EmptyThread)
            }
            Some(pb::capture_request::Thread::NewThread(new)) => {
                thread::new_from_pb(new, &at.field("new_thread"), problems).map(Base::NewThread)
            }
        };
        Some(turn_of(asked?, fingerprint, base?, true, stream))
    })
}

/// A Continue, in its unary or its streamed form.
///
/// # Errors
/// Everything that is wrong with it.
pub fn continuation(request: pb::ContinueRequest, stream: bool) -> Result<Turn, Fault> {
    let fingerprint = fingerprint::continuation(&request);
    whole(|at, problems| {
        let base = match request.from {
            Some(pb::continue_request::From::Exchange(point)) => {
                id::required(&point.exchange_id, &at.field("exchange").field("exchange_id"), problems).map(Base::Exchange)
            }
            Some(pb::continue_request::From::Thread(point)) => {
                thread::point_from_pb(point, &at.field("thread"), problems).map(Base::Thread)
            }
            Some(pb::continue_request::From::UncapturedPrefix(prefix)) => {
                uncaptured(prefix, &at.field("uncaptured_prefix"), problems).map(|prefix| Base::Uncaptured(Box::new(prefix)))
            }
            None => {
                problems.add(at, "is not from anywhere: set `exchange`, `thread` or `uncaptured_prefix`");
                None
            }
        };
        match request.input {
            Some(pb::continue_request::Input::Request(asked)) => {
                let asked = execution::from_pb(asked, &at.field("request"), problems);
                Some(turn_of(asked?, fingerprint, base?, true, stream))
            }
            Some(pb::continue_request::Input::ToolResults(results)) => {
                let results = results_from_pb(results, &at.field("tool_results"), problems);
                Some(results?.turn(fingerprint, base?, stream))
            }
            None => {
                problems.add(at, "brings nothing: set `request` or `tool_results`");
                None
            }
        }
    })
}

/// A turn of a request.
pub fn turn_of(asked: execution::Request, fingerprint: Hash, base: Base, capture: bool, stream: bool) -> Turn {
    Turn {
        run_id: asked.run_id,
        fingerprint,
        base,
        input: Input::Request(Box::new(asked.asked)),
        capture,
        labels: asked.labels,
        on_disconnect: asked.on_disconnect,
        retry: asked.retry,
        stream,
    }
}

/// Results of tool calls, as a turn's input.
pub struct Results {
    run_id: Option<RunId>,
    message: Message,
    on_disconnect: crate::app::turn::OnDisconnect,
    retry: bool,
}

impl Results {
    /// A turn of them.
    pub fn turn(self, fingerprint: Hash, base: Base, stream: bool) -> Turn {
        Turn {
            run_id: self.run_id,
            fingerprint,
            base,
            input: Input::Results(self.message),
            capture: true,
            labels: std::collections::BTreeMap::new(),
            on_disconnect: self.on_disconnect,
            retry: self.retry,
            stream,
        }
    }
}

/// Results of tool calls.
pub fn results_from_pb(results: pb::ToolResults, at: &Path<'_>, problems: &mut Problems) -> Option<Results> {
    let run_id = id::optional(&results.run_id, &at.field("run_id"), problems);
    let on_disconnect = execution::on_disconnect_from_pb(results.on_disconnect, &at.field("on_disconnect"), problems);
    let field = at.field("results");
    if results.results.is_empty() {
        problems.add(&field, "is empty: send one result for each pending call");
    }
    let mut parts = Vec::with_capacity(results.results.len());
    for (index, result) in results.results.into_iter().enumerate() {
        if let Some(result) = message::result_from_pb(result, &field.index(index), problems) {
            parts.push(Part::new(Kind::ToolResult(result)));
        }
    }
    let message = Message { role: Role::Tool, parts };
    Some(Results { run_id: run_id?, message, on_disconnect: on_disconnect?, retry: results.retry })
}

fn uncaptured(prefix: pb::UncapturedPrefix, at: &Path<'_>, problems: &mut Problems) -> Option<UncapturedPrefix> {
    let rendered = message::list_from_pb(prefix.rendered_messages, &at.field("rendered_messages"), problems);
    let answer = at.field("assistant");
    let assistant = required(prefix.assistant, "the answer of the response", &answer, problems)
        .and_then(|assistant| message::from_pb(assistant, &answer, problems));
    if assistant.as_ref().is_some_and(|assistant| assistant.role != Role::Assistant) {
        problems.add(&answer.field("role"), "must be ROLE_ASSISTANT");
        return None;
    }
    let run_id = id::optional(&prefix.run_id, &at.field("run_id"), problems);
    let facts = match prefix.facts {
        Some(facts) => {
            if facts.message_index != 0 {
                problems.add(&at.field("facts").field("message_index"), "must be 0: there is one answer");
            }
            facts_from_pb(facts, &at.field("facts"), problems)
        }
        None => Some(Facts::default()),
    };
    Some(UncapturedPrefix { rendered: rendered?, assistant: assistant?, run_id: run_id?, facts: facts? })
}

/// What a caller knows of a call.
pub fn facts_from_pb(facts: pb::RecordedFacts, at: &Path<'_>, problems: &mut Problems) -> Option<Facts> {
    let run_id = id::optional(&facts.run_id, &at.field("run_id"), problems);
    let stop_reason = run::stop_reason_from_pb(facts.stop_reason, &at.field("stop_reason"), problems);
    let usage = match facts.usage {
        Some(usage) => usage::from_pb(usage, &at.field("usage"), problems).map(Some),
        None => Some(None),
    };
    let tools = tool::optional_list_from_pb(facts.tools, &at.field("tools"), problems);
    Some(Facts {
        run_id: run_id?,
        provider: facts.provider,
        model: facts.model,
        stop_reason: stop_reason?,
        usage: usage?,
        tools: tools?,
    })
}

/// What came of a Run.
pub fn run_response(outcome: &Outcome, include_rendered: bool) -> pb::RunResponse {
    let run = run::to_pb(outcome.run.clone(), Vec::new());
    let exchange = outcome.exchange.clone().map(exchange::to_pb);
    let mut response = pb::RunResponse { run: Some(run), replayed: outcome.replayed, ..pb::RunResponse::default() };
    if let Some(answer) = &outcome.answer {
        response.text = answer.assistant.joined_text();
        response.assistant = Some(message::to_pb(answer.assistant.clone()));
        response.stop_reason = run::stop_reason_to_pb(answer.stop_reason).into();
        response.stop_reason_raw.clone_from(&answer.stop_reason_raw);
        response.validation = Some(super::contract::validation_to_pb(answer.validation.clone()));
        response.effective_settings = execution::settings_to_pb(answer.settings.clone());
        response.warnings = execution::warnings_to_pb(answer.warnings.clone());
        if include_rendered {
            response.rendered_messages = message::list_to_pb(answer.rendered.clone());
        }
    }
    if let Some(exchange) = exchange {
        response.text.clone_from(&exchange.text);
        response.assistant.clone_from(&exchange.assistant);
        response.stop_reason = exchange.stop_reason;
        response.stop_reason_raw.clone_from(&exchange.stop_reason_raw);
        response.validation.clone_from(&exchange.validation);
        response.effective_settings.clone_from(&exchange.effective_settings);
        response.warnings.clone_from(&exchange.warnings);
        if include_rendered {
            response.rendered_messages.clone_from(&exchange.messages);
        }
        response.exchange = Some(exchange);
    }
    response
}

/// The parts of a response that keeps an exchange.
pub fn kept(outcome: &Outcome) -> (Option<pb::Exchange>, pb::Run, Option<pb::Thread>) {
    let pending = match &outcome.exchange {
        Some(detailed) if outcome.run.exchange == Some(detailed.exchange.id) => {
            detailed.exchange.assistant.tool_calls().cloned().collect()
        }
        _ => Vec::new(),
    };
    let exchange = outcome.exchange.clone().map(exchange::to_pb);
    let thread = outcome.thread.clone().map(thread::to_pb);
    (exchange, run::to_pb(outcome.run.clone(), pending), thread)
}

/// What came of a Capture.
pub fn capture_response(outcome: &Outcome) -> pb::CaptureResponse {
    let (exchange, run, thread) = kept(outcome);
    pb::CaptureResponse { exchange, run: Some(run), thread, replayed: outcome.replayed }
}

/// What came of a Continue.
pub fn continue_response(outcome: &Outcome) -> pb::ContinueResponse {
    let (exchange, run, thread) = kept(outcome);
    pb::ContinueResponse { exchange, run: Some(run), thread, replayed: outcome.replayed }
}
