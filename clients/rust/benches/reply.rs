//! What `reply` costs beside its raw stub: both ask the same server in one run, in turns of rounds, and the ratio is printed.
//!
//! ```text
//! ANTIPHON_BINARY=target/release/antiphon cargo bench --package antiphon-client --bench reply [-- ROUNDS]
//! ```
//!
//! The server is one of its own, with answers that are there at once, so that what is measured is the client's part as far as it can be. Figures of
//! one run compare with one another and with nothing else.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::time::Instant;

use antiphon_client::pb::exchange_service_client::ExchangeServiceClient;
use antiphon_client::testing::Server;
use antiphon_client::{BoxError, Client, pb};

const CALLS: u32 = 50;
const TEXT: &str = "What is it known for?";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // `cargo bench` says something of its own, too.
    let rounds: usize = std::env::args().find_map(|said| said.parse().ok()).unwrap_or(20);
    let server = Server::start()?;
    let client = Client::connect(server.address())?;
    let start = client.capture("Name a city by the sea.").await?;
    let stub = ExchangeServiceClient::new(client.raw());
    let raw = async || {
        let request = pb::ExecutionRequest { text: TEXT.to_owned(), ..pb::ExecutionRequest::default() };
        let from = pb::ExchangePoint { exchange_id: start.exchange_id.clone() };
        let asked = pb::ContinueRequest {
            from: Some(pb::continue_request::From::Exchange(from)),
            input: Some(pb::continue_request::Input::Request(request)),
        };
        stub.clone().r#continue(asked).await?;
        Ok(())
    };
    let reply = async || {
        client.reply(&start, TEXT).await?;
        Ok(())
    };
    measured(&raw).await?;
    measured(&reply).await?;
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        pairs.push((measured(&raw).await?, measured(&reply).await?));
    }
    let (raws, replies) = (median(pairs.iter().map(|pair| pair.0)), median(pairs.iter().map(|pair| pair.1)));
    println!("raw stub {raws:.0} us, reply {replies:.0} us a call");
    let ratio = median(pairs.iter().map(|pair| pair.1 / pair.0));
    println!("reply / raw stub: {ratio:.2}, the median of {rounds} rounds of {CALLS} calls each");
    Ok(())
}

/// Microseconds for one call, over a round of them.
async fn measured(call: &impl AsyncFn() -> Result<(), BoxError>) -> Result<f64, BoxError> {
    let begun = Instant::now();
    for _ in 0..CALLS {
        call().await?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS))
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
