//! The requests of Fork and Probe, which begin at the same points. It must not know what is there.

use std::collections::BTreeSet;

use super::continuation::Input;
use super::execution::{self, Request};
use super::message::all;
use super::problem::{self, whole};
use super::{Path, Problems, id, limit, thread};
use crate::app::turn::OnDisconnect;
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, RequestId, RunId, ThreadId};
use crate::domain::thread::NewThread;
use crate::grpc::pb;

/// Where a branch or a probe begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// After an exchange.
    Exchange(ExchangeId),
    /// On a thread's path.
    Thread {
        /// The thread.
        thread_id: ThreadId,
        /// Which point of its path.
        at: At,
    },
}

/// A point of a thread's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Its head.
    Head,
    /// After a run, its exchanges included.
    Run(RunId),
    /// After a turn, counted from 1.
    Turn(u64),
}

/// A Fork.
#[derive(Clone, Debug)]
pub struct Fork {
    /// Where from.
    pub source: Source,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
    /// The new threads; one bare one when there are none.
    pub branches: Vec<Branch>,
}

/// One branch of a fork.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The thread to make.
    pub thread: NewThread,
    /// Its first turn; none for a bare one.
    pub input: Option<Input>,
}

/// A Probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where from.
    pub source: Source,
    /// What to execute; without a run id.
    pub request: Request,
    /// Offer tools that change something outside.
    pub allow_side_effects: bool,
}

/// A Fork.
///
/// # Errors
/// What is wrong with the request.
pub fn fork_from_pb(request: pb::ForkRequest) -> Result<Fork, Fault> {
    use pb::fork_request::Source as PbSource;
    whole(|at, problems| {
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        let source = match problem::required(request.source, SOURCES, &at.field("source"), problems) {
            None => None,
            Some(PbSource::Exchange(point)) => exchange_source(&point, at, problems),
            Some(PbSource::Thread(point)) => thread_source(point, at, problems),
        };
        let at = &at.field("branches");
        let most = problems.bounds().branches;
        if !limit::count(request.branches.len(), most, "branches", "fork several times", at, problems) {
            return None;
        }
        let branches = all(request.branches, at, problems, branch_from_pb);
        let (source, request_id, branches) = (source?, request_id?, branches?);
        are_distinct(&branches, at, problems).then_some(Fork { source, request_id, branches })
    })
}

/// A Probe.
///
/// # Errors
/// What is wrong with the request.
pub fn probe_from_pb(request: pb::ProbeRequest) -> Result<Probe, Fault> {
    whole(|at, problems| probe(request, at, problems))
}

/// A Probe as a stream.
///
/// # Errors
/// What is wrong with the request.
pub fn stream_probe_from_pb(request: pb::StreamProbeRequest) -> Result<Probe, Fault> {
    whole(|at, problems| {
        let at = &at.field("probe");
        probe(problem::required(request.probe, "the request of a Probe", at, problems)?, at, problems)
    })
}

const SOURCES: &str = "`exchange` or `thread`";

fn exchange_source(point: &pb::ExchangePoint, at: &Path<'_>, problems: &mut Problems) -> Option<Source> {
    thread::exchange_point_from_pb(point, &at.field("exchange"), problems).map(Source::Exchange)
}

pub(super) fn thread_source(point: pb::ThreadTurnPoint, at: &Path<'_>, problems: &mut Problems) -> Option<Source> {
    use pb::thread_turn_point::At as PbAt;
    let at = &at.field("thread");
    let thread_id = id::required(&point.thread_id, &at.field("thread_id"), problems);
    let place = match point.at {
        None => Some(At::Head),
        Some(PbAt::AfterRun(run)) => {
            id::required(&run.run_id, &at.field("after_run").field("run_id"), problems).map(At::Run)
        }
        Some(PbAt::AfterTurn(pb::AfterTurn { turn: 0 })) => {
            problems.add(&at.field("after_turn").field("turn"), "must be 1 or more: turns are counted from 1");
            None
        }
        Some(PbAt::AfterTurn(pb::AfterTurn { turn })) => Some(At::Turn(turn)),
    };
    Some(Source::Thread { thread_id: thread_id?, at: place? })
}

fn branch_from_pb(branch: pb::ForkBranch, at: &Path<'_>, problems: &mut Problems) -> Option<Branch> {
    use pb::fork_branch::Input as PbInput;
    let thread = thread::new_from_pb(branch.thread.unwrap_or_default(), &at.field("thread"), problems);
    let input = match branch.input {
        None => Some(None),
        Some(PbInput::Request(request)) => {
            execution::from_pb(request, &at.field("request"), problems).map(|request| Some(Input::Request(request)))
        }
        Some(PbInput::ToolResults(results)) => {
            let results = execution::results_from_pb(results, &at.field("tool_results"), problems);
            results.map(|results| Some(Input::Results(results)))
        }
    };
    Some(Branch { thread: thread?, input: input? })
}

/// Branches make threads and runs of their own.
fn are_distinct(branches: &[Branch], at: &Path<'_>, problems: &mut Problems) -> bool {
    let (mut threads, mut runs, mut good) = (BTreeSet::new(), BTreeSet::new(), true);
    for (index, branch) in branches.iter().enumerate() {
        let at = at.index(index);
        if branch.thread.id.as_ref().is_some_and(|id| !threads.insert(id)) {
            problems.add(&at.field("thread").field("thread_id"), "is the id of another branch's thread");
            good = false;
        }
        let (field, run_id) = match &branch.input {
            None => continue,
            Some(Input::Request(request)) => ("request", &request.run_id),
            Some(Input::Results(results)) => ("tool_results", &results.run_id),
        };
        if run_id.as_ref().is_some_and(|id| !runs.insert(id)) {
            problems.add(&at.field(field).field("run_id"), "is the id of another branch's run");
            good = false;
        }
    }
    good
}

fn probe(request: pb::ProbeRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Probe> {
    use pb::probe_request::From as PbFrom;
    let source = match problem::required(request.from, SOURCES, &at.field("from"), problems) {
        None => None,
        Some(PbFrom::Exchange(point)) => exchange_source(&point, at, problems),
        Some(PbFrom::Thread(point)) => thread_source(point, at, problems),
    };
    let at = &at.field("request");
    let execution = problem::required(request.request, "what to execute", at, problems)
        .and_then(|request| execution::from_pb(request, at, problems))?;
    if execution.run_id.is_some() {
        problems.add(&at.field("run_id"), "must be empty: a probe leaves no run behind that could be found by it");
        return None;
    }
    if execution.on_disconnect == Some(OnDisconnect::Finish) {
        problems.add(&at.field("on_disconnect"), "cannot be to finish: nobody could fetch what a probe brought");
        return None;
    }
    Some(Probe { source: source?, request: execution, allow_side_effects: request.allow_side_effects })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn exchange() -> pb::ExchangePoint {
        pb::ExchangePoint { exchange_id: Uuid::from_u128(1).to_string() }
    }

    fn fork(branches: Vec<pb::ForkBranch>) -> Result<Fork, Fault> {
        let source = Some(pb::fork_request::Source::Exchange(exchange()));
        fork_from_pb(pb::ForkRequest { source, branches, ..pb::ForkRequest::default() })
    }

    fn asked(run_id: &str) -> pb::ExecutionRequest {
        let (run_id, text) = (run_id.to_owned(), "x".to_owned());
        pb::ExecutionRequest { run_id, text, ..pb::ExecutionRequest::default() }
    }

    fn branch(thread_id: &str, run_id: &str) -> pb::ForkBranch {
        pb::ForkBranch {
            thread: Some(pb::NewThread { thread_id: thread_id.to_owned(), ..pb::NewThread::default() }),
            input: Some(pb::fork_branch::Input::Request(asked(run_id))),
        }
    }

    fn paths(fault: Fault) -> Vec<String> {
        fault.fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn a_fork_without_branches_is_one_bare_thread() {
        assert!(fork(Vec::new()).unwrap().branches.is_empty());
        let bare = fork(vec![pb::ForkBranch::default()]).unwrap();
        assert!(bare.branches[0].input.is_none());
        assert_eq!(bare.branches[0].thread, NewThread::default());
    }

    #[test]
    fn branches_do_not_share_threads_or_runs() {
        assert!(fork(vec![branch("a", "r1"), branch("b", "r2"), branch("", ""), branch("", "")]).is_ok());
        let fault = fork(vec![branch("a", "r1"), branch("a", "r1")]).unwrap_err();
        assert_eq!(paths(fault), ["branches[1].thread.thread_id", "branches[1].request.run_id"]);
        assert_eq!(paths(fork(vec![branch("", ""); 65]).unwrap_err()), ["branches"]);
    }

    #[test]
    fn every_branch_is_looked_at() {
        let wrong = pb::ForkBranch {
            input: Some(pb::fork_branch::Input::ToolResults(Default::default())),
            ..branch("a b", "")
        };
        let empty = pb::fork_branch::Input::Request(pb::ExecutionRequest::default());
        let other = pb::ForkBranch { thread: None, input: Some(empty) };
        let expected = ["branches[0].thread.thread_id", "branches[0].tool_results.results", "branches[1].request"];
        assert_eq!(paths(fork(vec![wrong, other]).unwrap_err()), expected);
        assert_eq!(paths(fork_from_pb(pb::ForkRequest::default()).unwrap_err()), ["source"]);
    }

    #[test]
    fn a_thread_has_three_kinds_of_points() {
        use pb::thread_turn_point::At as PbAt;
        let read = |at| {
            let point = pb::ThreadTurnPoint { thread_id: "t".to_owned(), at };
            let source = Some(pb::fork_request::Source::Thread(point));
            fork_from_pb(pb::ForkRequest { source, ..pb::ForkRequest::default() }).map(|fork| fork.source)
        };
        let on = |at| Ok(Source::Thread { thread_id: ThreadId::new("t"), at });
        assert_eq!(read(None), on(At::Head));
        let after_run = pb::AfterRun { run_id: "r".to_owned() };
        assert_eq!(read(Some(PbAt::AfterRun(after_run))), on(At::Run(RunId::new("r"))));
        assert_eq!(read(Some(PbAt::AfterTurn(pb::AfterTurn { turn: 3 }))), on(At::Turn(3)));
        let zero = read(Some(PbAt::AfterTurn(pb::AfterTurn { turn: 0 }))).unwrap_err();
        assert_eq!(paths(zero), ["thread.after_turn.turn"]);
        let unnamed = read(Some(PbAt::AfterRun(pb::AfterRun::default()))).unwrap_err();
        assert_eq!(paths(unnamed), ["thread.after_run.run_id"]);
    }

    #[test]
    fn a_probe_has_no_run_to_come_back_to() {
        let probe = |request| pb::ProbeRequest {
            from: Some(pb::probe_request::From::Exchange(exchange())),
            request: Some(request),
            allow_side_effects: true,
        };
        let read = probe_from_pb(probe(asked(""))).unwrap();
        assert!(read.allow_side_effects && read.request.run_id.is_none());
        assert_eq!(paths(probe_from_pb(probe(asked("r"))).unwrap_err()), ["request.run_id"]);
        let finish = pb::ExecutionRequest { on_disconnect: pb::OnDisconnect::Finish.into(), ..asked("") };
        let streamed = pb::StreamProbeRequest { probe: Some(probe(finish)) };
        assert_eq!(paths(stream_probe_from_pb(streamed).unwrap_err()), ["probe.request.on_disconnect"]);
        assert_eq!(paths(probe_from_pb(pb::ProbeRequest::default()).unwrap_err()), ["from", "request"]);
        assert_eq!(paths(stream_probe_from_pb(Default::default()).unwrap_err()), ["probe"]);
    }
}
