//! The control loop: one stream, on which the server runs turns and the client decides.

mod attaching;
mod branches;
mod budget;
mod cancelling;
mod delivery;
mod ends;
mod ephemeral;
mod following;
mod leaving;
mod listing;
mod meddling;
mod rejections;
mod repeats;
mod time;
mod tools;

use antiphon::grpc::pb;

use crate::stub;
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai_with, scripted};
use crate::support::{ask, within};

/// A rule that answers every request with what it asks.
const ECHO: &str = "";

/// A server whose model echoes, with an exchange to start from.
async fn begun() -> (Running, String) {
    let server = Running::start(scripted(ECHO)).await;
    let exchange = captured(&server, "begin").await;
    (server, exchange.exchange_id)
}

/// A server whose model answers `zero` first, for an exchange to start from, and then this; with more keys of its backend.
async fn asked(script: impl IntoIterator<Item = Entry>, more: &str) -> (Provider, Running, String) {
    let provider = Provider::start([stub::text("zero")].into_iter().chain(script)).await;
    let server = Running::start(openai_with(&provider.base_url(), more)).await;
    let exchange = captured(&server, "begin").await.exchange_id;
    (provider, server, exchange)
}

/// The same, with the exchange on a thread `t`.
async fn asked_on_thread(script: impl IntoIterator<Item = Entry>, more: &str) -> (Provider, Running, String) {
    let provider = Provider::start([stub::text("zero")].into_iter().chain(script)).await;
    let server = Running::start(openai_with(&provider.base_url(), more)).await;
    let captured = server.exchanges().capture(ask::capture_on_new("t", ask::text("begin"))).await.unwrap();
    (provider, server, captured.into_inner().exchange.unwrap().exchange_id)
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

/// Asks for a coordination until it is where it must come to.
async fn until(server: &Running, id: &str, state: pb::CoordinationState) -> pb::Coordination {
    within(&format!("coordination {id} to be {state:?}"), async {
        loop {
            let now = got(server, id).await;
            if now.state() == state {
                return now;
            }
        }
    })
    .await
}

/// Asks for a coordination until no stream is attached to it.
async fn let_go(server: &Running, id: &str) -> pb::Coordination {
    within(&format!("coordination {id} to be let go of"), async {
        loop {
            let now = got(server, id).await;
            if !now.attached {
                return now;
            }
        }
    })
    .await
}

async fn cancel(server: &Running, id: &str) -> pb::Coordination {
    let request = pb::CoordinationServiceCancelRequest { coordination_id: id.to_owned(), message: String::new() };
    coordinations(server).cancel(request).await.unwrap().into_inner().coordination.unwrap()
}
