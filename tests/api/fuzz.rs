//! Hostile input: what is right is broken at random and given to every door that takes bytes from outside: requests, answers of providers in each
//! dialect, stored records, imports, configurations, prompts, schemas, credentials and files of keys. Whatever comes is answered, or refused with a reason; nothing breaks in the
//! server, and its store stays whole. `ANTIPHON_FUZZ_ROUNDS` sets how often (60 for each sample), `ANTIPHON_FUZZ_SEED` repeats a run.

mod answers;
mod dice;
mod doors;
mod records;
mod wire;
mod words;

use antiphon::grpc::pb;
use prost_reflect::DescriptorPool;
use tonic::{Code, Status};

use self::dice::{Dice, rounds};
use crate::foreign;
use crate::look;
use crate::support::server::Running;
use crate::support::{ask, raw, transfer, within};

/// A refusal is one of ours, and not that the server broke.
#[track_caller]
fn is_refusal(what: &str, input: &[u8], status: &Status) {
    use tonic_types::StatusExt;
    let broke = matches!(status.code(), Code::Internal | Code::Unknown | Code::DataLoss);
    let reason = status.get_details_error_info().map(|info| info.reason);
    let told = String::from_utf8_lossy(input);
    assert!(!broke && reason.is_some(), "{what}: {status:?} for {told:?}");
}

/// Every RPC, with requests that were right.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_broken_are_refused_or_answered() {
    let mut dice = Dice::new("requests");
    let server = Running::echo().await;
    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    for (number, (rpc, requests)) in foreign::asks().into_iter().enumerate() {
        let method = foreign::method(&pool, rpc);
        // What is asked about is there, so that a request that is hardly broken gets as far as a right one; nothing is left of it for the next RPC.
        let (thread, run) = (format!("t{number}"), format!("r{number}"));
        let first = ask::capture_on_new(&thread, ask::text_as(&run, "hi"));
        let exchange = server.exchanges().capture(first).await.unwrap().into_inner().exchange.unwrap().exchange_id;
        let from = Some(pb::prepare_request::From::Exchange(ask::point(&exchange)));
        let prepare = pb::PrepareRequest { request: Some(ask::text("hi")), capture: true, from, ..Default::default() };
        let prepared = server.exchanges().prepare(prepare).await.unwrap().into_inner().prepared_id;
        let there = [("THREAD", &thread), ("RUN", &run), ("EXCHANGE", &exchange), ("PREPARED", &prepared)];
        for request in requests {
            let text = there.iter().fold(request.to_string(), |text, (word, id)| {
                text.replace(&format!("\"{word}\""), &format!("\"{id}\""))
            });
            let right = foreign::bytes(&method, &serde_json::from_str(&text).unwrap(), &[], true);
            for _ in 0..rounds().div_ceil(8) {
                // Fields that are where they may be, with values that nobody expects; or bytes that are no message at all.
                let message = if dice.once_in(3) { dice.broken(&right) } else { wire::changed(&mut dice, &right) };
                let called = raw::call(server.fresh_channel(), rpc, vec![message.clone()], &[("grpc-timeout", "20S")]);
                if let Err(status) = within(rpc, called).await {
                    is_refusal(rpc, &message, &status);
                }
            }
        }
    }
    look::verified(&server).await;
}

/// Exports that were changed on their way.
#[tokio::test(flavor = "multi_thread")]
async fn imports_that_are_broken_leave_the_store_whole() {
    let mut dice = Dice::new("imports");
    let from = Running::echo().await;
    from.exchanges().capture(ask::capture_on_new("t", ask::text_as("r", "hi"))).await.unwrap();
    from.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("more"))).await.unwrap();
    let (lines, _) = transfer::export(&from, Vec::new()).await;
    let into = Running::echo().await;
    for round in 0..rounds() {
        let broken = dice.broken(lines.as_bytes());
        let broken = String::from_utf8_lossy(&broken).into_owned();
        let open = pb::ImportOpen { skip_faulty: round % 2 == 1, ..Default::default() };
        if let Err(status) = within("an import", transfer::import_as(&into, open, &broken, 3)).await {
            is_refusal("import", broken.as_bytes(), &status);
        }
    }
    look::verified(&into).await;
}
