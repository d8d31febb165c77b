//! Inspections: one exchange and pages of its history. It must not know how pages are cut.

use super::{exchange, id, message};
use crate::grpc::pb;

/// One exchange with its history's page.
fn path_step(exchange: &crate::domain::exchange::Exchange) -> pb::PathStep {
    pb::PathStep {
        exchange_id: exchange.id.to_string(),
        run_id: id::text(exchange.run_id.as_ref()),
        turn: exchange.turn,
        message_count: u32::try_from(exchange.messages.len().saturating_add(1)).unwrap_or(u32::MAX),
    }
}

/// A page of an inspected exchange.
pub fn page(
    detailed: Option<crate::app::turn::Detailed>,
    exchanges: Vec<crate::domain::exchange::Exchange>,
    next_page_token: String,
) -> pb::InspectResponse {
    let path = exchanges.iter().map(path_step).collect();
    let messages = exchanges.into_iter().flat_map(|exchange| {
        exchange.messages.into_iter().chain(std::iter::once(exchange.assistant)).map(message::to_pb).collect::<Vec<_>>()
    });
    pb::InspectResponse { exchange: detailed.map(exchange::to_pb), messages: messages.collect(), path, next_page_token }
}
