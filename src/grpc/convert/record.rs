//! Transcripts: what a caller executed itself. It must not know what of them is stored.

use std::collections::BTreeMap;

use super::problem::whole;
use super::{Path, Problems, id, label, message, thread, turn};
use crate::app::record::{Recorded, Transcript, TranscriptStart, TranscriptThread};
use crate::app::thread::Repeatable;
use crate::app::turn::Facts;
use crate::domain::fault::Fault;
use crate::grpc::fingerprint;
use crate::grpc::pb;

/// A Record.
///
/// # Errors
/// Everything that is wrong with it.
pub fn from_pb(request: pb::RecordRequest, max_messages: usize) -> Result<(Transcript, Repeatable), Fault> {
    let fingerprint = fingerprint::record(&request);
    whole(|at, problems| {
        let request_id = id::optional(&request.request_id, &at.field("request_id"), problems);
        let field = at.field("messages");
        if request.messages.len() > max_messages {
            problems.add(&field, format!("has {} messages: at most {max_messages} are taken", request.messages.len()));
            return None;
        }
        let messages = message::list_from_pb(request.messages, &field, problems);
        let start = match request.start {
            None => Some(TranscriptStart::Root),
            Some(pb::record_request::Start::AfterExchange(point)) => {
                let field = at.field("after_exchange");
                id::required(&point.exchange_id, &field.field("exchange_id"), problems).map(TranscriptStart::After)
            }
            Some(pb::record_request::Start::AfterHead(pb::AfterHead {})) => Some(TranscriptStart::AfterHead),
        };
        let thread = match request.thread {
            None => Some(None),
            Some(pb::record_request::Thread::ExistingThread(point)) => {
                thread::point_from_pb(point, &at.field("existing_thread"), problems)
                    .map(|at| Some(TranscriptThread::Existing(at)))
            }
            Some(pb::record_request::Thread::NewThread(new)) => {
                thread::new_from_pb(new, &at.field("new_thread"), problems).map(|new| Some(TranscriptThread::New(new)))
            }
        };
        let facts = facts_from_pb(request.facts, &at.field("facts"), problems);
        let labels = label::from_pb(request.labels, &at.field("labels"), problems);
        let transcript =
            Transcript { messages: messages?, start: start?, thread: thread?, facts: facts?, labels: labels? };
        Some((transcript, Repeatable { request_id: request_id?, fingerprint }))
    })
}

fn facts_from_pb(
    facts: Vec<pb::RecordedFacts>,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<BTreeMap<usize, Facts>> {
    let mut all = BTreeMap::new();
    let mut good = true;
    for (index, facts) in facts.into_iter().enumerate() {
        let field = at.index(index);
        let message = usize::try_from(facts.message_index).unwrap_or(usize::MAX);
        if all.contains_key(&message) {
            problems.add(&field.field("message_index"), format!("is {message} a second time: give the facts of a message once"));
            good = false;
        }
        match turn::facts_from_pb(facts, &field, problems) {
            Some(facts) => {
                all.insert(message, facts);
            }
            None => good = false,
        }
    }
    good.then_some(all)
}

/// What was stored and what was there.
pub fn to_pb(recorded: Recorded) -> pb::RecordResponse {
    let count = |matched: bool| {
        let counted = recorded.exchanges.iter().filter(|exchange| exchange.matched == matched).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    let index = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    pb::RecordResponse {
        stored_count: count(false),
        matched_count: count(true),
        exchange_id: id::text(recorded.exchanges.last().map(|exchange| exchange.id)),
        exchanges: recorded
            .exchanges
            .iter()
            .map(|exchange| pb::RecordedExchange {
                exchange_id: exchange.id.to_string(),
                run_id: id::text(exchange.run_id.as_ref()),
                message_index: index(exchange.message_index),
                matched: exchange.matched,
            })
            .collect(),
        ignored_facts: recorded
            .ignored_facts
            .iter()
            .map(|(message, fields)| pb::IgnoredFacts {
                message_index: index(*message),
                fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            })
            .collect(),
        thread: recorded.thread.map(thread::to_pb),
        replayed: recorded.replayed,
    }
}
