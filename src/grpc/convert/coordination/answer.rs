//! Answers to decisions and to batches of tool calls. It must not know what is pending.

use std::collections::BTreeMap;

use super::super::message::{self, all};
use super::super::{Path, Problems, execution, id, json, label, limit, problem, thread};
use crate::app::coordination::ask::{Answer, NextTurn, Reply};
use crate::app::turn::Input;
use crate::domain::coordination::CallerFailure;
use crate::domain::id::RunId;
use crate::domain::run::OnDisconnect;
use crate::domain::thread::Unanswered;
use crate::grpc::{fingerprint, pb, status};

use super::{code_from_pb, pending_id_from_pb};

/// Most results of one answer, whatever one request may have.
const MAX_RESULTS: usize = 128;
/// Longest message of a failure, in bytes.
pub(super) const MAX_MESSAGE: usize = 4 * 1024;
/// Longest reason of a caller's failure, in characters.
const MAX_REASON: usize = 63;
/// Longest domain of a caller's failure, in characters.
const MAX_DOMAIN: usize = 128;
/// Longest fact of a caller's failure, in characters.
const MAX_FACT: usize = 1_024;
/// Longest details of a caller's failure, in bytes.
const MAX_DETAILS: usize = 16 * 1024;
/// Whose reason it is when the caller does not say.
const DEFAULT_DOMAIN: &str = "caller";

/// Whether an answer must name what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// In a stream: what is pending when it does not.
    Optional,
    /// In a call of its own.
    Required,
}

/// The answer to a decision.
pub fn next_action_from_pb(
    action: pb::NextAction,
    naming: Naming,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Answer> {
    use pb::next_action::Action;
    let fingerprint = fingerprint::next_action(&action);
    let id = pending_id_from_pb(action.decision_id, naming, &at.field("decision_id"), problems);
    let reply = match problem::required(action.action, "`turn`, `stop` or `fail`", &at.field("action"), problems) {
        None => None,
        Some(Action::Turn(turn)) => {
            turn_from_pb(turn, &at.field("turn"), problems).map(|turn| Reply::Turn(Box::new(turn)))
        }
        Some(Action::Stop(pb::StopAction {})) => Some(Reply::Stop),
        Some(Action::Fail(fail)) => failure_from_pb(fail, &at.field("fail"), problems).map(Reply::Fail),
    };
    Some(Answer { id: id?, fingerprint, reply: reply? })
}

/// The answer to a batch of tool calls, or a part of it.
pub fn results_from_pb(
    batch: pb::BatchResults,
    naming: Naming,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Answer> {
    let fingerprint = fingerprint::batch_results(&batch);
    let id = pending_id_from_pb(batch.batch_id, naming, &at.field("batch_id"), problems);
    let run_id = id::chosen(&batch.run_id, &at.field("run_id"), problems);
    let at = &at.field("results");
    let most = problems.bounds().results.or_fixed(MAX_RESULTS);
    let results = if !limit::some(batch.results.len(), most, "results", "give in one answer ", at, problems) {
        None
    } else {
        let mut distinct = true;
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, result) in batch.results.iter().enumerate().filter(|(_, result)| !result.call_id.is_empty()) {
            let before = *first.entry(&result.call_id).or_insert(index);
            if before != index {
                let message = format!("is the call of result {before} too: give each call one result");
                problems.add(&at.index(index).field("call_id"), message);
                distinct = false;
            }
        }
        all(batch.results, at, problems, message::result_from_pb).filter(|_| distinct)
    };
    Some(Answer { id: id?, fingerprint, reply: Reply::Results { results: results?, run_id: run_id? } })
}

/// What a further turn brings, and what its own request says of its run.
struct Brought {
    input: Input,
    run_id: Option<RunId>,
    labels: BTreeMap<String, String>,
    on_disconnect: Option<OnDisconnect>,
}

fn turn_from_pb(turn: pb::NextTurn, at: &Path<'_>, problems: &mut Problems) -> Option<NextTurn> {
    use pb::next_turn::Input as Pb;
    let (fingerprint, step) = (fingerprint::next_turn(&turn), fingerprint::next_turn_step(&turn));
    let unanswered_at = at.field("unanswered_tools");
    let mut unanswered = thread::unanswered_from_pb(turn.unanswered_tools, &unanswered_at, problems);
    if let (Some(Pb::ToolResults(_)), Some(Some(Unanswered::Interrupt | Unanswered::Abandon))) =
        (&turn.input, unanswered)
    {
        problems.add(&unanswered_at, "is for a request: tool results answer the calls, so leave it out");
        unanswered = None;
    }
    let brought = match problem::required(turn.input, "`request` or `tool_results`", &at.field("input"), problems) {
        None => None,
        Some(Pb::Request(request)) => request_from_pb(request, &at.field("request"), problems),
        Some(Pb::ToolResults(results)) => all_results_from_pb(results, &at.field("tool_results"), problems),
    };
    let (unanswered, brought) = (unanswered?, brought?);
    Some(NextTurn {
        input: brought.input,
        run_id: brought.run_id,
        fingerprint,
        step,
        labels: brought.labels,
        on_disconnect: brought.on_disconnect,
        unanswered,
        detach_thread: turn.detach_thread,
    })
}

fn request_from_pb(request: pb::ExecutionRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Brought> {
    let once = not_again(request.retry, at, problems);
    let request = execution::from_pb(pb::ExecutionRequest { retry: false, ..request }, at, problems)?;
    once.then_some(Brought {
        input: Input::Request(Box::new(request.asked)),
        run_id: request.run_id,
        labels: request.labels,
        on_disconnect: request.on_disconnect,
    })
}

fn all_results_from_pb(results: pb::ToolResults, at: &Path<'_>, problems: &mut Problems) -> Option<Brought> {
    let once = not_again(results.retry, at, problems);
    let mut results = execution::results_from_pb(pb::ToolResults { retry: false, ..results }, at, problems)?;
    let (run_id, on_disconnect) = (results.run_id.take(), results.on_disconnect);
    let input = Input::Results(results.into_message());
    once.then_some(Brought { input, run_id, labels: BTreeMap::new(), on_disconnect })
}

fn not_again(retry: bool, at: &Path<'_>, problems: &mut Problems) -> bool {
    if retry {
        problems.add(&at.field("retry"), "must be absent: nothing is replayed in a coordination");
    }
    !retry
}

fn failure_from_pb(fail: pb::FailAction, at: &Path<'_>, problems: &mut Problems) -> Option<CallerFailure> {
    let code = code_from_pb(fail.code, &at.field("code"), problems);
    let message = limit::bytes(&fail.message, MAX_MESSAGE, &at.field("message"), problems).then_some(fail.message);
    let allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let length = fail.reason.chars().count();
    let reason = if length > MAX_REASON || !fail.reason.chars().all(allowed) {
        let what = format!("must be at most {MAX_REASON} characters of A-Z, 0-9 and `_`, and has {length}");
        problems.add(&at.field("reason"), what);
        None
    } else {
        Some(fail.reason)
    };
    let domain_at = at.field("domain");
    let domain = if fail.domain.eq_ignore_ascii_case(status::DOMAIN) {
        problems.add(&domain_at, format!("must not be `{}`: that is for reasons of this server", status::DOMAIN));
        None
    } else if fail.domain.is_empty() {
        Some(DEFAULT_DOMAIN.to_owned())
    } else {
        limit::characters(&fail.domain, MAX_DOMAIN, &domain_at, problems).then_some(fail.domain)
    };
    let metadata = label::bounded(fail.metadata, "facts", MAX_FACT, &at.field("metadata"), problems);
    let details_at = at.field("details_json");
    let details = match fail.details_json {
        text if text.is_empty() => Some(text),
        text if limit::bytes(&text, MAX_DETAILS, &details_at, problems) => json::any(text, &details_at, problems),
        _ => None,
    };
    Some(CallerFailure {
        code: code?,
        message: message?,
        reason: reason?,
        domain: domain?,
        metadata: metadata?,
        details_json: details?,
    })
}
