//! The control loop: one stream, on which the server runs turns and the client decides.

mod attaching;
mod budget;
mod ends;
mod tools;

use antiphon::grpc::pb;

use crate::support::ask;
use crate::support::server::{Running, scripted};

/// A rule that answers every request with what it asks.
const ECHO: &str = "";

/// A server whose model echoes, with an exchange to start from.
async fn begun() -> (Running, String) {
    let server = Running::start(scripted(ECHO)).await;
    let exchange = captured(&server, "begin").await;
    (server, exchange.exchange_id)
}

async fn captured(server: &Running, text: &str) -> pb::Exchange {
    let captured = server.exchanges().capture(ask::capture(ask::text(text))).await.unwrap();
    captured.into_inner().exchange.unwrap()
}

fn coordinations(
    server: &Running,
) -> pb::coordination_service_client::CoordinationServiceClient<tonic::transport::Channel> {
    pb::coordination_service_client::CoordinationServiceClient::new(server.fresh_channel())
}

async fn got(server: &Running, id: &str) -> pb::Coordination {
    let request = pb::CoordinationServiceGetRequest { coordination_id: id.to_owned() };
    coordinations(server).get(request).await.unwrap().into_inner().coordination.unwrap()
}
