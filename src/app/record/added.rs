//! What of a transcript is new: its exchanges and runs. It must not look anything up or write.

use super::known::Known;
use super::{Cuts, Transcript, TranscriptThread};
use crate::app::App;
use crate::app::base::responder;
use crate::app::turn::Facts;
use crate::domain::drift::{Drift, Lineage, Seen};
use crate::domain::exchange::{Exchange, HeadBefore};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, Hash, Moment, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::pairing;
use crate::domain::run::{Observation, Run, State, StopReason};
use crate::domain::settings::Validation;
use crate::domain::thread::Head;
use crate::domain::tool::ToolSet;
use crate::domain::usage::Usage;
use crate::domain::workspace::{Around, Root};

/// What a record adds.
#[derive(Default)]
pub(super) struct New {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) runs: Vec<Run>,
    pub(super) tools: Vec<ToolSet>,
    /// What their paths have seen of tools.
    pub(super) seen: Vec<Seen>,
    /// Tools that their paths had otherwise.
    pub(super) drifts: Vec<Drift>,
}

impl New {
    /// Exchanges that tool results join are one run.
    fn run_for(
        &self,
        previous: Option<&Exchange>,
        facts: &Facts,
        index: usize,
        fresh: impl FnOnce() -> RunId,
    ) -> Result<RunId, Fault> {
        let joined = self.runs.last().filter(|_| previous.is_some_and(Exchange::is_pending));
        let wrong = match (joined, &facts.run_id) {
            (Some(run), None) => return Ok(run.id.clone()),
            (Some(run), Some(given)) if run.id == *given => return Ok(run.id.clone()),
            (None, None) => return Ok(fresh()),
            (None, Some(given)) if self.runs.iter().all(|run| run.id != *given) => return Ok(given.clone()),
            (Some(run), Some(_)) => format!("must be `{}`, since tool results join it to the answer before", run.id),
            (None, Some(given)) => format!("`{given}` is the run of an answer before: each turn is a run of its own"),
        };
        Err(Fault::field("facts.run_id", format!("for the answer at index {index}: {wrong}")))
    }

    /// What is new on a thread that is there has its documents around it; and the last of it tells which head it took the place of.
    pub(super) fn on_thread(&mut self, thread: Option<(&Head, Root)>, moves: bool) {
        if let Some((_, root)) = thread {
            self.exchanges.iter_mut().for_each(|exchange| exchange.workspace = Around::still(root));
        }
        if let (Some(last), true) = (self.exchanges.last_mut(), moves) {
            last.head_before = HeadBefore::of(thread.and_then(|(head, _)| head.exchange));
        }
    }

    fn add(&mut self, exchange: Exchange, now: Moment, transcript: &Transcript) {
        if let Some(run) = self.runs.last_mut().filter(|run| Some(&run.id) == exchange.run_id.as_ref()) {
            run.exchange = Some(exchange.id);
            run.exchange_count = run.exchange_count.saturating_add(1);
            run.stop_reason = Some(exchange.stop_reason);
        } else if let Some(id) = &exchange.run_id {
            self.runs.push(Run {
                captured: true,
                exchange: Some(exchange.id),
                exchange_count: 1,
                from: exchange.continues,
                thread_id: exchange.thread_id.clone(),
                stop_reason: Some(exchange.stop_reason),
                labels: transcript.labels.clone(),
                ..Run::new(id.clone(), State::Completed, exchange.content_hash, now)
            });
        }
        if let Some(run) = self.runs.last_mut().filter(|_| exchange.usage.reported) {
            let (model, usage) = (exchange.responder.model.clone(), exchange.usage.clone());
            run.observations.push(Observation::reported(run.exchange_count, model, usage, now));
        }
        self.exchanges.push(exchange);
    }
}

impl App {
    pub(super) async fn new_exchanges(
        &self,
        namespace: &Namespace,
        transcript: &Transcript,
        cuts: &Cuts,
        messages: Vec<Message>,
        known: &Known,
    ) -> Result<New, Fault> {
        let mut new = New::default();
        let mut messages: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
        let mut take = |index: usize| messages.get_mut(index).and_then(Option::take);
        // Results in the transcript name the transcript's calls; where those are stored, the stored ones are meant.
        let mut rename = renamed(known, cuts, &mut take);
        let mut previous = known.last.as_ref().map(|parent| parent.exchange.clone());
        let new_cuts = cuts.cuts.iter().skip(known.matched.len());
        let with_tools = new_cuts
            .into_iter()
            .any(|cut| transcript.facts.get(&cut.assistant).is_some_and(|facts| facts.tools.is_some()));
        let mut seen = match &known.last {
            Some(parent) if with_tools => self.seen_at(namespace, &parent.exchange, parent.place).await?,
            _ => Seen::default(),
        };
        for (cut, hash) in cuts.cuts.iter().zip(&cuts.hashes).skip(known.matched.len()) {
            let mut own: Vec<Message> = cut.messages.clone().filter_map(&mut take).collect();
            pairing::rename_results(&mut own, &rename);
            rename.clear();
            let Some(assistant) = take(cut.assistant) else {
                return Err(Fault::new(Reason::Internal, "an answer of a transcript was used twice"));
            };
            let facts = transcript.facts.get(&cut.assistant).cloned().unwrap_or_default();
            let run_id = new.run_for(previous.as_ref(), &facts, cut.assistant, || self.new_run_id())?;
            let standing = match (&facts.tools, &previous) {
                (Some(tools), _) => tools.hash(),
                (None, Some(previous)) => previous.standing,
                (None, None) => None,
            };
            new.tools.extend(facts.tools.clone());
            let mut exchange =
                self.recorded(previous.as_ref(), own, assistant, *hash, run_id, &facts, standing, transcript);
            exchange.lineage = previous.as_ref().map_or(Lineage::Nothing, |previous| previous.lineage);
            if let Some(tools) = facts.tools.as_ref().filter(|tools| !tools.tools.is_empty()) {
                let drifts = seen.drifts(tools);
                exchange.warnings.extend(drifts.iter().map(Drift::warning));
                new.drifts.extend(drifts);
                seen = seen.after(tools, exchange.id);
                exchange.lineage = seen.lineage();
                new.seen.push(seen.clone());
            }
            new.add(exchange.clone(), self.clock.now(), transcript);
            previous = Some(exchange);
        }
        for run in &new.runs {
            if self.flights.find(namespace, &run.id).is_some() {
                let message = format!("run id `{}` is at work with another request: take a new one", run.id);
                return Err(Fault::new(Reason::RunIdConflict, message).with("run_id", &run.id));
            }
        }
        Ok(new)
    }

    #[expect(clippy::too_many_arguments, reason = "each is one part of the record that is put together here")]
    fn recorded(
        &self,
        previous: Option<&Exchange>,
        messages: Vec<Message>,
        assistant: Message,
        content_hash: Hash,
        run_id: RunId,
        facts: &Facts,
        standing: Option<Hash>,
        transcript: &Transcript,
    ) -> Exchange {
        let pending = assistant.tool_calls().next().is_some();
        let same_run = previous.filter(|previous| previous.run_id.as_ref() == Some(&run_id));
        let (continues, continues_run) = match (same_run, previous) {
            (Some(same), _) => (same.continues, same.continues_run.clone()),
            (None, Some(previous)) => (Some(previous.id), previous.run_id.clone()),
            (None, None) => (None, None),
        };
        Exchange {
            id: self.new_exchange_id(),
            parent: previous.map(|previous| previous.id),
            continues,
            continues_run,
            run_id: Some(run_id),
            depth: previous.map_or(1, |previous| previous.depth.saturating_add(1)),
            turn: previous.map_or(1, Exchange::next_turn),
            thread_id: match &transcript.thread {
                Some(TranscriptThread::Existing(at)) => Some(at.id.clone()),
                Some(TranscriptThread::New(new)) => new.id.clone(),
                None => None,
            },
            origin: transcript.origin,
            stop_reason: facts.stop_reason.unwrap_or(if pending { StopReason::ToolCalls } else { StopReason::Stop }),
            stop_reason_raw: String::new(),
            offered: facts.tools.as_ref().and_then(ToolSet::hash),
            standing,
            lineage: Lineage::Unknown,
            settings: Vec::new(),
            validation: Validation::default(),
            usage: facts.usage.clone().map_or_else(Usage::default, |usage| Usage { reported: true, ..usage }),
            observations: Vec::new(),
            warnings: Vec::new(),
            responder: responder(facts),
            content_hash,
            labels: transcript.labels.clone(),
            created_at: self.clock.now(),
            workspace: Around::still(previous.and_then(|previous| previous.workspace.after)),
            head_before: HeadBefore::Untold,
            erased: None,
            messages,
            assistant,
        }
    }
}

/// Which ids of the transcript's calls stand for which stored ones, at the seam between what is stored and what is new.
fn renamed(known: &Known, cuts: &Cuts, take: &mut impl FnMut(usize) -> Option<Message>) -> Vec<(CallId, CallId)> {
    let seam = known.matched.len().checked_sub(1).and_then(|index| cuts.cuts.get(index));
    let (Some(cut), Some(stored)) = (seam, known.matched.last()) else {
        return Vec::new();
    };
    let Some(assistant) = take(cut.assistant) else {
        return Vec::new();
    };
    let pairs = assistant.tool_calls().zip(stored.assistant.tool_calls());
    pairs.map(|(given, stored)| (given.call_id.clone(), stored.call_id.clone())).collect()
}
