//! The request of Record. It must not know what is stored, nor cut the transcript.

use std::collections::{BTreeMap, BTreeSet};

use super::message::all;
use super::problem::{absent_if_empty, whole};
use super::thread::{self, Target};
use super::{Path, Problems, id, label, message, run, tool, usage};
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, RequestId, RunId};
use crate::domain::message::{Message, Role};
use crate::domain::run::StopReason;
use crate::domain::thread::{OnBusy, Unanswered};
use crate::domain::tool::ToolSet;
use crate::domain::usage::Usage;
use crate::grpc::pb;

/// A Record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
    /// The transcript.
    pub messages: Vec<Message>,
    /// Where it begins.
    pub start: Start,
    /// A thread whose head moves to its end.
    pub thread: Option<Target>,
    /// What is known of the calls, by the index of their answer.
    pub facts: BTreeMap<usize, Facts>,
    /// Labels of what is new.
    pub labels: BTreeMap<String, String>,
}

/// Where a transcript begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a root: it is whole.
    Root,
    /// After an exchange.
    Exchange(ExchangeId),
    /// After the head of the thread that it goes onto.
    Head,
}

/// What is known of a call that the caller made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Its run.
    pub run_id: Option<RunId>,
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Why it stopped.
    pub stop_reason: Option<StopReason>,
    /// What it consumed; marked as reported.
    pub usage: Option<Usage>,
    /// The tools that were offered.
    pub tools: Option<ToolSet>,
}

/// A Record.
///
/// # Errors
/// What is wrong with the request.
pub fn record_from_pb(request: pb::RecordRequest) -> Result<Record, Fault> {
    use pb::record_request::{Start as PbStart, Thread};
    whole(|at, problems| {
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        let transcript = at.field("messages");
        if request.messages.is_empty() {
            problems.add(&transcript, "must not be empty");
        }
        let answers: Vec<bool> = request.messages.iter().map(|message| message.role() == pb::Role::Assistant).collect();
        let most = problems.bounds().transcript;
        let messages = message::list_from_pb(request.messages, most, &transcript, problems);
        let is_on_a_thread = matches!(request.thread, Some(Thread::ExistingThread(_)));
        let start = match request.start {
            None => Some(Start::Root),
            Some(PbStart::AfterExchange(point)) => {
                thread::exchange_point_from_pb(&point, &at.field("after_exchange"), problems).map(Start::Exchange)
            }
            Some(PbStart::AfterHead(pb::AfterHead {})) if is_on_a_thread => Some(Start::Head),
            Some(PbStart::AfterHead(pb::AfterHead {})) => {
                problems.add(&at.field("after_head"), "names no thread: set `existing_thread`");
                None
            }
        };
        let thread = match request.thread {
            None => Some(None),
            Some(Thread::ExistingThread(point)) => {
                let at = at.field("existing_thread");
                let point = thread::point_from_pb(point, &at, problems);
                let on_busy = point.as_ref().map_or(OnBusy::Reject, |point| point.on_busy);
                if let Some(message) = busy_otherwise(on_busy) {
                    problems.add(&at.field("on_busy"), message);
                }
                if point.as_ref().is_some_and(|point| point.unanswered == Unanswered::Interrupt) {
                    let message =
                        "cannot be to interrupt: the transcript has the results, or use UNANSWERED_TOOLS_ABANDON";
                    problems.add(&at.field("unanswered_tools"), message);
                }
                point.map(|point| Some(Target::Existing(point)))
            }
            Some(Thread::NewThread(new)) => {
                thread::new_from_pb(new, &at.field("new_thread"), problems).map(|new| Some(Target::New(new)))
            }
        };
        let facts = all_facts(request.facts, &answers, &at.field("facts"), problems);
        let labels = label::from_pb(request.labels, &at.field("labels"), problems);
        Some(Record {
            request_id: request_id?,
            messages: messages?,
            start: start?,
            thread: thread?,
            facts: facts?,
            labels: labels?,
        })
    })
}

/// Why a Record cannot have what it asks for where a run is at work: the transcript goes on from the head that its caller saw.
fn busy_otherwise(on_busy: OnBusy) -> Option<&'static str> {
    match on_busy {
        OnBusy::Reject => None,
        OnBusy::Fork => Some("cannot be to fork: record onto a `new_thread` instead"),
        OnBusy::Enqueue => Some("cannot be to wait: what comes moves the head, so look at it and record after it"),
        OnBusy::Interrupt => Some("cannot be to interrupt: cancel the run with RunService.Cancel, then record"),
    }
}

fn all_facts(
    facts: Vec<pb::RecordedFacts>,
    answers: &[bool],
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<BTreeMap<usize, Facts>> {
    let mut seen = BTreeSet::new();
    let mut good = true;
    for (index, facts) in facts.iter().enumerate() {
        let at = at.index(index);
        let at = at.field("message_index");
        let message = usize::try_from(facts.message_index).unwrap_or(usize::MAX);
        if answers.get(message) != Some(&true) {
            problems.add(&at, format!("is {message}, which is no assistant message of `messages`"));
            good = false;
        } else if !seen.insert(message) {
            problems.add(&at, format!("is {message}, which has facts already"));
            good = false;
        }
    }
    let read = all(facts, at, problems, |facts, at, problems| {
        let index = usize::try_from(facts.message_index).unwrap_or(usize::MAX);
        facts_from_pb(facts, at, problems).map(|facts| (index, facts))
    });
    read.filter(|_| good).map(|facts| facts.into_iter().collect())
}

/// What is known of one call.
pub(super) fn facts_from_pb(facts: pb::RecordedFacts, at: &Path<'_>, problems: &mut Problems) -> Option<Facts> {
    let run_id = id::chosen(&facts.run_id, &at.field("run_id"), problems);
    let stop_reason = run::stop_reason_from_pb(facts.stop_reason, &at.field("stop_reason"), problems);
    let usage = match facts.usage {
        None => Some(None),
        Some(usage) => usage::from_pb(usage, &at.field("usage"), problems).map(Some),
    };
    let tools = tool::optional_list_from_pb(facts.tools, &at.field("tools"), problems);
    Some(Facts {
        run_id: run_id?,
        provider: absent_if_empty(facts.provider),
        model: absent_if_empty(facts.model),
        stop_reason: stop_reason?,
        usage: usage?.map(|usage| Usage { reported: true, ..usage }),
        tools: tools?,
    })
}

/// Facts in an answer, for the request that makes a probe durable.
pub fn facts_to_pb(message_index: u32, facts: Facts) -> pb::RecordedFacts {
    pb::RecordedFacts {
        message_index,
        run_id: id::text(facts.run_id),
        provider: facts.provider.unwrap_or_default(),
        model: facts.model.unwrap_or_default(),
        stop_reason: facts.stop_reason.map_or(pb::StopReason::Unspecified, run::stop_reason_to_pb).into(),
        usage: facts.usage.map(usage::to_pb),
        tools: facts.tools.map(tool::list_to_pb),
    }
}

/// The request that makes a probe durable: its messages after an exchange, with what is known of the answer.
pub fn promotion_to_pb(
    after: ExchangeId,
    messages: Vec<Message>,
    facts: Facts,
    labels: BTreeMap<String, String>,
) -> pb::RecordRequest {
    let answer = messages.iter().rposition(|message| message.role == Role::Assistant);
    let index = answer.and_then(|index| u32::try_from(index).ok());
    let point = pb::ExchangePoint { exchange_id: after.to_string() };
    pb::RecordRequest {
        messages: message::list_to_pb(messages),
        start: Some(pb::record_request::Start::AfterExchange(point)),
        facts: index.map(|index| facts_to_pb(index, facts)).into_iter().collect(),
        labels,
        ..pb::RecordRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::usage::Completeness;

    fn transcript() -> pb::RecordRequest {
        let said = |role| message::to_pb(Message::text(role, "x"));
        pb::RecordRequest { messages: vec![said(Role::User), said(Role::Assistant)], ..pb::RecordRequest::default() }
    }

    fn paths(request: pb::RecordRequest) -> Vec<String> {
        record_from_pb(request).unwrap_err().fields.into_iter().map(|field| field.path).collect()
    }

    fn on_thread() -> Option<pb::record_request::Thread> {
        let point = pb::ThreadPoint { thread_id: "t".to_owned(), ..pb::ThreadPoint::default() };
        Some(pb::record_request::Thread::ExistingThread(point))
    }

    fn about(message_index: u32) -> pb::RecordedFacts {
        pb::RecordedFacts { message_index, ..pb::RecordedFacts::default() }
    }

    #[test]
    fn a_transcript_begins_at_a_root_unless_told() {
        let record = record_from_pb(transcript()).unwrap();
        assert_eq!((record.start, record.messages.len(), record.thread), (Start::Root, 2, None));
        let after_head = Some(pb::record_request::Start::AfterHead(pb::AfterHead {}));
        let request = pb::RecordRequest { start: after_head, ..transcript() };
        assert_eq!(paths(request.clone()), ["after_head"]);
        let record = record_from_pb(pb::RecordRequest { thread: on_thread(), ..request }).unwrap();
        assert_eq!(record.start, Start::Head);
        assert_eq!(paths(pb::RecordRequest::default()), ["messages"]);
    }

    #[test]
    fn facts_are_about_one_answer_each() {
        let usage = pb::Usage { input_tokens: Some(1), output_tokens: Some(2), ..pb::Usage::default() };
        let facts = pb::RecordedFacts { usage: Some(usage), stop_reason: 1, ..about(1) };
        let record = record_from_pb(pb::RecordRequest { facts: vec![facts.clone()], ..transcript() }).unwrap();
        let read = &record.facts[&1];
        let usage = read.usage.as_ref().unwrap();
        assert_eq!((usage.reported, usage.completeness), (true, Completeness::Complete));
        assert_eq!(read.stop_reason, Some(StopReason::Stop));

        let wrong = vec![facts.clone(), facts, about(0), about(9), pb::RecordedFacts { stop_reason: 99, ..about(1) }];
        let expected = [
            "facts[1].message_index",
            "facts[2].message_index",
            "facts[3].message_index",
            "facts[4].message_index",
            "facts[4].stop_reason",
        ];
        assert_eq!(paths(pb::RecordRequest { facts: wrong, ..transcript() }), expected);
    }

    #[test]
    fn a_promotion_is_a_request_that_is_taken() {
        let after = ExchangeId::new(Uuid::from_u128(1));
        let facts = Facts { model: Some("m".to_owned()), ..Facts::default() };
        let messages = vec![Message::text(Role::User, "q"), Message::text(Role::Assistant, "a")];
        let labels = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        let request = promotion_to_pb(after, messages.clone(), facts.clone(), labels.clone());
        let record = record_from_pb(request).unwrap();
        assert_eq!((record.start, record.messages, record.labels), (Start::Exchange(after), messages, labels));
        assert_eq!(record.facts, BTreeMap::from([(1, facts)]));
    }
}
