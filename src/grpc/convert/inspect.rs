//! The requests of Inspect. It must not know the exchange.

use super::problem::whole;
use super::{Path, Problems, id};
use crate::domain::fault::Fault;
use crate::domain::id::ExchangeId;
use crate::grpc::page::Sizes;
use crate::grpc::pb;

/// An Inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspect {
    /// The exchange.
    pub exchange: ExchangeId,
    /// How much history.
    pub history: History,
    /// At most so many exchanges of history in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// Exchanges in a message of a stream: more would make buffers that outgrow the processor's cache.
const STREAMED: usize = 64;

/// How much history an inspection brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// The whole path.
    Full,
    /// Nothing but the exchange itself.
    None,
}

/// An Inspect.
///
/// # Errors
/// What is wrong with the request.
pub fn inspect_from_pb(request: pb::InspectRequest) -> Result<Inspect, Fault> {
    whole(|at, problems| {
        let exchange = id::required(&request.exchange_id, &at.field("exchange_id"), problems);
        let history = history_from_pb(request.history, at, problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::HISTORY, at, problems);
        Some(Inspect { exchange: exchange?, history: history?, page_size: page_size?, page_token: request.page_token })
    })
}

/// An Inspect as a stream, in pages that are read in one go and sent while the next one is read.
///
/// # Errors
/// What is wrong with the request.
pub fn stream_inspect_from_pb(request: pb::StreamInspectRequest) -> Result<Inspect, Fault> {
    whole(|at, problems| {
        let exchange = id::required(&request.exchange_id, &at.field("exchange_id"), problems);
        let history = history_from_pb(request.history, at, problems);
        let page_size = STREAMED;
        Some(Inspect { exchange: exchange?, history: history?, page_size, page_token: String::new() })
    })
}

fn history_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<History> {
    match pb::HistoryScope::try_from(number) {
        Ok(pb::HistoryScope::Unspecified | pb::HistoryScope::Full) => Some(History::Full),
        Ok(pb::HistoryScope::None) => Some(History::None),
        Err(_) => {
            let words = "HISTORY_SCOPE_FULL, HISTORY_SCOPE_NONE or nothing";
            problems.add(&at.field("history"), format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

/// A page's size, as one of several fields that are looked at together.
pub(super) fn page_size_from_pb(page_size: i32, sizes: Sizes, at: &Path<'_>, problems: &mut Problems) -> Option<usize> {
    sizes
        .of(page_size)
        .map_err(|fault| fault.fields.into_iter().for_each(|field| problems.add(&at.field("page_size"), field.message)))
        .ok()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_inspection_brings_the_whole_path_unless_told() {
        let exchange = ExchangeId::new(Uuid::from_u128(1));
        let request = pb::InspectRequest { exchange_id: exchange.to_string(), ..pb::InspectRequest::default() };
        let read = inspect_from_pb(request.clone()).unwrap();
        assert_eq!((read.exchange, read.history, read.page_size), (exchange, History::Full, 100));
        let none = pb::InspectRequest { history: 2, page_size: 5_000, ..request };
        let read = inspect_from_pb(none).unwrap();
        assert_eq!((read.history, read.page_size), (History::None, 1_000));
    }

    #[test]
    fn everything_wrong_is_named() {
        let request = pb::InspectRequest { history: 9, page_size: -1, ..pb::InspectRequest::default() };
        let paths: Vec<_> = inspect_from_pb(request).unwrap_err().fields.into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["exchange_id", "history", "page_size"]);
        let streamed = pb::StreamInspectRequest { exchange_id: "e".to_owned(), history: 9 };
        assert_eq!(stream_inspect_from_pb(streamed).unwrap_err().fields.len(), 2);
    }
}
