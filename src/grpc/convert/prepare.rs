//! The requests of Prepare and Explain, and a request as a provider gets it. It must not know what is prepared.

use super::capture::{self, Capture};
use super::continuation::{self, Continue};
use super::execution::{self, Request};
use super::problem::{self, whole};
use super::thread::{self, Point};
use super::{Path, Problems, message, moment, tool};
use crate::app::explain::{Explained, Sent};
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, Hash, Moment};
use crate::grpc::pb;

/// A Prepare.
#[derive(Clone, Debug)]
pub struct Prepare {
    /// The request.
    pub request: Request,
    /// Where from; a root when absent.
    pub from: Option<From>,
    /// Its execution is captured.
    pub capture: bool,
    /// Until when it can be executed.
    pub until: Option<Moment>,
}

/// Where a prepared turn goes on.
#[derive(Clone, Debug)]
pub enum From {
    /// From an exchange.
    Exchange(ExchangeId),
    /// From a thread.
    Thread(Point),
}

/// An Explain.
#[derive(Clone, Debug)]
pub enum Explain {
    /// What a Capture would send.
    Capture(Capture),
    /// What a Continue would send.
    Turn(Continue),
    /// What an exchange did send.
    Exchange(ExchangeId),
}

/// A Prepare.
///
/// # Errors
/// What is wrong with the request.
pub fn prepare_from_pb(request: pb::PrepareRequest) -> Result<Prepare, Fault> {
    whole(|at, problems| {
        let field = at.field("request");
        let asked = problem::required(request.request, "the request to prepare", &field, problems)
            .and_then(|asked| execution::from_pb(asked, &field, problems))
            .filter(|asked| {
                if asked.retry {
                    problems
                        .add(&field.field("retry"), "has nothing to try again: a prepared execution begins its run");
                }
                !asked.retry
            });
        let from = match request.from {
            None => Some(None),
            Some(from) => from_pb(from, at, problems).map(Some),
        };
        let until = moment::optional_from_pb(request.expire_time, &at.field("expire_time"), problems);
        Some(Prepare { request: asked?, from: from?, capture: request.capture, until: until? })
    })
}

fn from_pb(from: pb::prepare_request::From, at: &Path<'_>, problems: &mut Problems) -> Option<From> {
    use pb::prepare_request::From as PbFrom;
    match from {
        PbFrom::Exchange(point) => {
            thread::exchange_point_from_pb(&point, &at.field("exchange"), problems).map(From::Exchange)
        }
        PbFrom::Thread(point) => thread::point_from_pb(point, &at.field("thread"), problems).map(From::Thread),
    }
}

/// An Explain.
///
/// # Errors
/// What is wrong with the request.
pub fn explain_from_pb(request: pb::ExplainRequest) -> Result<Explain, Fault> {
    use pb::explain_request::Subject;
    whole(|at, problems| {
        let choices = "`capture`, `turn` or `exchange`";
        match problem::required(request.subject, choices, &at.field("subject"), problems)? {
            Subject::Capture(request) => {
                capture::from_pb(request, &at.field("capture"), problems).map(Explain::Capture)
            }
            Subject::Turn(request) => continuation::from_pb(request, &at.field("turn"), problems).map(Explain::Turn),
            Subject::Exchange(point) => {
                thread::exchange_point_from_pb(&point, &at.field("exchange"), problems).map(Explain::Exchange)
            }
        }
    })
}

/// A request as a provider gets it, with what was sent where it is an exchange's.
pub fn explained_to_pb(explained: Explained) -> (pb::Explanation, Option<pb::SentBody>) {
    let hash = explained.body.as_ref().map(|body| Hash::of(body).to_string()).unwrap_or_default();
    let body = explained.body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
    let explanation = pb::Explanation {
        messages: message::list_to_pb(explained.messages),
        effective_settings: execution::settings_to_pb(explained.settings),
        tools: Some(tool::use_to_pb(explained.offered, explained.standing)),
        body_json: body,
        body_blake3: hash,
        adaptations: execution::warnings_to_pb(explained.adaptations),
        warnings: execution::warnings_to_pb(explained.warnings),
    };
    (explanation, explained.sent.map(sent_to_pb))
}

fn sent_to_pb(sent: Sent) -> pb::SentBody {
    pb::SentBody {
        body_blake3: sent.hash.map(|hash| hash.to_string()).unwrap_or_default(),
        body_bytes: sent.bytes,
        matches: sent.differs.is_none(),
        difference: sent.differs.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Option<pb::ExecutionRequest> {
        Some(pb::ExecutionRequest { text: text.to_owned(), ..pb::ExecutionRequest::default() })
    }

    fn paths(fault: Fault) -> Vec<String> {
        fault.fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn everything_wrong_with_a_prepare_is_named_at_once() {
        assert_eq!(paths(prepare_from_pb(pb::PrepareRequest::default()).unwrap_err()), ["request"]);
        let retry = pb::ExecutionRequest { retry: true, run_id: "r".to_owned(), ..asked("x").unwrap() };
        let wrong = pb::PrepareRequest {
            request: Some(retry),
            from: Some(pb::prepare_request::From::Exchange(pb::ExchangePoint { exchange_id: "e".to_owned() })),
            expire_time: Some(prost_types::Timestamp { seconds: -1, nanos: 0 }),
            capture: true,
        };
        let expected = ["request.retry", "exchange.exchange_id", "expire_time"];
        assert_eq!(paths(prepare_from_pb(wrong).unwrap_err()), expected);
        let good = pb::PrepareRequest { request: asked("x"), capture: true, ..pb::PrepareRequest::default() };
        let read = prepare_from_pb(good).unwrap();
        assert!(read.capture && read.from.is_none() && read.until.is_none());
    }

    #[test]
    fn an_explain_names_the_fields_of_what_it_explains() {
        use pb::explain_request::Subject;
        let paths = |subject| paths(explain_from_pb(pb::ExplainRequest { subject }).unwrap_err());
        assert_eq!(paths(None), ["subject"]);
        assert_eq!(paths(Some(Subject::Capture(pb::CaptureRequest::default()))), ["capture.request"]);
        assert_eq!(paths(Some(Subject::Turn(pb::ContinueRequest::default()))), ["turn.from", "turn.input"]);
        assert_eq!(paths(Some(Subject::Exchange(pb::ExchangePoint::default()))), ["exchange.exchange_id"]);
    }
}
