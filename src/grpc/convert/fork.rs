//! Forks and probes: where from, what with, and what came of them. It must not know how they are executed.

use super::problem::{required, whole};
use super::{Path, Problems, execution, fault, id, message, run, thread, tool, turn};
use crate::app::fork::{At, Branch, Branched, Point, branch_fingerprint};
use crate::app::probe::{Probe, Probed};
use crate::app::thread::Repeatable;
use crate::app::turn::Base;
use crate::domain::fault::Fault;
use crate::domain::id::RunId;
use crate::grpc::fingerprint;
use crate::grpc::pb;

/// A Fork.
///
/// # Errors
/// Everything that is wrong with it.
pub fn fork(request: pb::ForkRequest, max_branches: usize) -> Result<(Point, Vec<Branch>, Repeatable), Fault> {
    let fingerprint = fingerprint::fork(&request);
    whole(|at, problems| {
        let point = match request.source {
            Some(pb::fork_request::Source::Exchange(point)) => {
                let field = at.field("exchange");
                id::required(&point.exchange_id, &field.field("exchange_id"), problems).map(Point::Exchange)
            }
            Some(pb::fork_request::Source::Thread(point)) => turn_point(point, &at.field("thread"), problems),
            None => {
                problems.add(at, "is not from anywhere: set `exchange` or `thread`");
                None
            }
        };
        let request_id = id::optional(&request.request_id, &at.field("request_id"), problems);
        let field = at.field("branches");
        if request.branches.len() > max_branches {
            problems.add(&field, format!("has {} branches: at most {max_branches} are taken", request.branches.len()));
            return None;
        }
        let mut branches = Vec::new();
        for (index, branch) in request.branches.into_iter().enumerate() {
            let base_fingerprint = branch_fingerprint(&fingerprint, index);
            branches.push(branch_from_pb(branch, base_fingerprint, &field.index(index), problems));
        }
        let mut branches = branches.into_iter().collect::<Option<Vec<_>>>()?;
        if branches.is_empty() {
            branches.push(Branch { thread: crate::domain::thread::NewThread::default(), turn: None });
        }
        Some((point?, branches, Repeatable { request_id: request_id?, fingerprint }))
    })
}

fn branch_from_pb(
    branch: pb::ForkBranch,
    fingerprint: crate::domain::id::Hash,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Branch> {
    let thread = thread::new_from_pb(branch.thread.unwrap_or_default(), &at.field("thread"), problems);
    // The fork itself sets where its turns start.
    let base = Base::Root;
    let turn = match branch.input {
        None => Some(None),
        Some(pb::fork_branch::Input::Request(asked)) => execution::from_pb(asked, &at.field("request"), problems)
            .map(|asked| Some(turn::turn_of(asked, fingerprint, base, true, false))),
        Some(pb::fork_branch::Input::ToolResults(results)) => {
            turn::results_from_pb(results, &at.field("tool_results"), problems)
                .map(|results| Some(results.turn(fingerprint, base, false)))
        }
    };
    Some(Branch { thread: thread?, turn: turn? })
}

fn turn_point(point: pb::ThreadTurnPoint, at: &Path<'_>, problems: &mut Problems) -> Option<Point> {
    let thread_id = id::required(&point.thread_id, &at.field("thread_id"), problems);
    let place = match point.at {
        None => Some(At::Head),
        Some(pb::thread_turn_point::At::AfterRun(run)) => {
            id::required(&run.run_id, &at.field("after_run").field("run_id"), problems).map(At::Run)
        }
        Some(pb::thread_turn_point::At::AfterTurn(turn)) if turn.turn == 0 => {
            problems.add(&at.field("after_turn").field("turn"), "must be 1 or more");
            None
        }
        Some(pb::thread_turn_point::At::AfterTurn(turn)) => Some(At::Turn(turn.turn)),
    };
    Some(Point::Thread(thread_id?, place?))
}

/// What came of a Fork. A single branch that failed is the failure of the call.
///
/// # Errors
/// Why the only branch failed; names its thread.
pub fn fork_response(branched: Vec<Branched>, replayed: bool) -> Result<pb::ForkResponse, Fault> {
    let single = branched.len() == 1;
    let mut results = Vec::with_capacity(branched.len());
    for branch in branched {
        let id = branch.thread.thread.id.clone();
        let mut result = pb::ForkResult { thread: Some(thread::to_pb(branch.thread)), ..pb::ForkResult::default() };
        match branch.outcome {
            None => {}
            Some(Ok(outcome)) => {
                let (exchange, run, _) = turn::kept(&outcome);
                result.exchange = exchange;
                result.run = Some(run);
            }
            Some(Err(fault)) if single => return Err(fault.with("thread_id", id)),
            Some(Err(fault)) => result.error = Some(fault::to_pb(fault)),
        }
        results.push(result);
    }
    Ok(pb::ForkResponse { results, replayed })
}

/// A Probe, in its unary or its streamed form.
///
/// # Errors
/// Everything that is wrong with it.
pub fn probe(request: pb::ProbeRequest, stream: bool) -> Result<Probe, Fault> {
    whole(|at, problems| {
        let from = match request.from {
            Some(pb::probe_request::From::Exchange(point)) => {
                let field = at.field("exchange");
                id::required(&point.exchange_id, &field.field("exchange_id"), problems).map(Point::Exchange)
            }
            Some(pb::probe_request::From::Thread(point)) => turn_point(point, &at.field("thread"), problems),
            None => {
                problems.add(at, "is not from anywhere: set `exchange` or `thread`");
                None
            }
        };
        let field = at.field("request");
        let asked = required(request.request, "what to ask", &field, problems)
            .and_then(|asked| execution::from_pb(asked, &field, problems));
        if asked.as_ref().is_some_and(|asked| asked.run_id.is_some()) {
            problems.add(&field.field("run_id"), "must not be set: a probe has a fresh id that is on record nowhere");
        }
        if asked.as_ref().is_some_and(|asked| asked.retry) {
            problems.add(&field.field("retry"), "must not be set: nothing of a probe is kept that could be tried again");
        }
        if asked.as_ref().is_some_and(|asked| asked.asked.standing_tools.is_some()) {
            problems.add(&field.field("standing_tools"), "must not be set: nothing follows a probe");
        }
        let allow_side_effects = request.allow_side_effects;
        Some(Probe { from: from?, asked: asked?.asked, allow_side_effects, stream })
    })
}

/// What a Probe brought.
pub fn probe_response(run_id: &RunId, probed: &Probed) -> pb::ProbeResponse {
    let answer = &probed.answer;
    let mut messages = message::list_to_pb(answer.rendered.clone());
    messages.push(message::to_pb(answer.assistant.clone()));
    let usage = crate::grpc::convert::usage::to_pb(probed.usage.clone());
    let promotion = pb::RecordRequest {
        messages: messages.clone(),
        start: Some(pb::record_request::Start::AfterExchange(pb::ExchangePoint { exchange_id: probed.from.to_string() })),
        facts: vec![pb::RecordedFacts {
            message_index: u32::try_from(answer.rendered.len()).unwrap_or(u32::MAX),
            provider: answer.responder.provider.clone(),
            model: answer.responder.model.clone(),
            stop_reason: run::stop_reason_to_pb(answer.stop_reason).into(),
            usage: Some(usage.clone()),
            tools: Some(tool::list_to_pb(answer.offered.clone())),
            ..pb::RecordedFacts::default()
        }],
        ..pb::RecordRequest::default()
    };
    pb::ProbeResponse {
        text: answer.assistant.joined_text(),
        messages,
        stop_reason: run::stop_reason_to_pb(answer.stop_reason).into(),
        stop_reason_raw: answer.stop_reason_raw.clone(),
        usage: Some(usage),
        run_id: run_id.to_string(),
        validation: Some(super::contract::validation_to_pb(answer.validation.clone())),
        effective_settings: execution::settings_to_pb(answer.settings.clone()),
        warnings: execution::warnings_to_pb(answer.warnings.clone()),
        observations: run::observations_to_pb(probed.observations.clone()),
        promotion: Some(promotion),
    }
}
