//! What the store does not do is told as what it is, and reads go on while writes are refused.

use antiphon::app::store_fault;
use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use antiphon::grpc::status::{panicked, status};
use antiphon::store::sled::{Config, Sled};
use antiphon::store::{self, Namespace, Range, Store};
use bytes::Bytes;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::support::provider::Provider;
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

/// Rule 8: with too little room on the disk nothing is written and nobody is called, what is there is read, and health says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_takes_no_writes_is_still_read() {
    let provider = Provider::start([stub::text("one")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first =
        server.exchanges().capture(ask::capture_on_new("t", ask::text_as("r", "1"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap();
    let config = format!("{}[store]\nmin_free_mebibytes = 1000000000000\n", openai(&provider.base_url()));
    let server = server.restart_with(config).await;
    let mut client = server.exchanges();
    let refusals = [
        client.r#continue(ask::on_thread(ask::on("t"), ask::text_as("r2", "2"))).await.unwrap_err(),
        client.fork(ask::fork(&first.exchange_id, vec![ask::branch("f", None)])).await.unwrap_err(),
        client.record(ask::record(vec![ask::user("q"), ask::assistant("a")])).await.unwrap_err(),
    ];
    for refusal in &refusals {
        refused::is(refusal, Code::Unavailable, Reason::StoreReadOnly);
    }
    assert_eq!(provider.count(), 1, "a claim that cannot be written calls nobody");
    assert_eq!(look::history(&server, &first.exchange_id).await, ["U:1", "A:one"]);
    let again = client.capture(ask::capture_on_new("t", ask::text_as("r", "1"))).await.unwrap().into_inner();
    assert!(again.replayed, "a repetition writes nothing");
    let info =
        server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner().server_info.unwrap();
    assert_eq!(info.store.unwrap().health(), pb::StoreHealth::ReadOnly);
    let mut health = HealthClient::new(server.channel());
    let mut watch = health.watch(HealthCheckRequest { service: String::new() }).await.unwrap().into_inner();
    while watch.message().await.unwrap().unwrap().status() != ServingStatus::NotServing {}
}

/// A record that is not what was written is told as that, and only what needs it fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_is_told_and_harms_nothing_else() {
    let mut server = Running::echo().await;
    let mut client = server.exchanges();
    let mut captured = Vec::new();
    for id in ["whole", "damaged"] {
        let request = ask::capture_on_new(id, ask::text_as(id, id));
        captured.push(client.capture(request).await.unwrap().into_inner().exchange.unwrap().exchange_id);
    }
    server.stop().await;
    let store = Sled::open(&Config::directory(server.folder().join("data"))).unwrap();
    let space = Namespace::default_namespace();
    let exchanges = store.scan(&space, Range::prefix(b"x", usize::MAX)).await.unwrap();
    // The branches of roots are in no order that a test could know, so it looks for the text.
    let contains = |value: &Bytes| value.windows(7).any(|window| window == b"damaged");
    let (key, value) = exchanges.into_iter().find(|(_, value)| contains(value)).unwrap();
    let mut value = value.to_vec();
    *value.last_mut().unwrap() ^= 1;
    let write = store::Write { puts: vec![(key, value.into())], ..Default::default() };
    assert_eq!(store.commit(&space, write).await.unwrap(), store::Commit::Done);
    store.close().await.unwrap();
    let server = server.restart().await;
    let mut client = server.exchanges();
    let again = ask::capture_on_new("damaged", ask::text_as("damaged", "damaged"));
    let refusals = [
        client.inspect(ask::inspect(&captured[1])).await.unwrap_err(),
        client.r#continue(ask::after(&captured[1], ask::text("2"))).await.unwrap_err(),
        client.r#continue(ask::on_thread(ask::on("damaged"), ask::text("2"))).await.unwrap_err(),
        client.capture(again).await.unwrap_err(),
    ];
    for refusal in &refusals {
        refused::is(refusal, Code::DataLoss, Reason::StoreCorrupt);
    }
    client.r#continue(ask::on_thread(ask::on("whole"), ask::text("2"))).await.unwrap();
    let mut verified = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    let mut findings = 0;
    while let Some(message) = verified.message().await.unwrap() {
        findings += usize::from(matches!(message.event, Some(pb::verify_response::Event::Finding(_))));
    }
    assert!(findings > 0);
}

/// What a healthy server never answers has its reason all the same, and says nothing of what it met.
#[test]
fn failures_of_the_server_itself_have_their_reasons() {
    let told = |error: store::Error| status(&store_fault(error), None);
    refused::is(&told(store::Error::ReadOnly("full".into())), Code::Unavailable, Reason::StoreReadOnly);
    refused::is(&told(store::Error::Unavailable("locked".into())), Code::Unavailable, Reason::StoreUnavailable);
    refused::is(&told(store::Error::Corrupt("a checksum".into())), Code::DataLoss, Reason::StoreCorrupt);
    refused::is(&told(store::Error::Closed), Code::Unavailable, Reason::ShuttingDown);
    refused::is(&status(&panicked(), None), Code::Internal, Reason::Internal);
}
