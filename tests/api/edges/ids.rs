//! How long ids, namespaces and page tokens may be.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::{Request, Status};

use super::{beyond, beyond_with, taken};
use crate::support::server::Running;
use crate::support::{ask, refused};

#[tokio::test(flavor = "multi_thread")]
async fn of_ids() {
    let server = Running::echo().await;
    let run =
        async |length: usize| server.exchanges().capture(ask::capture(ask::text_as(&"r".repeat(length), "x"))).await;
    beyond(&run(129).await.unwrap_err(), "request.run_id", 128, 129);
    assert_eq!(run(128).await.unwrap().into_inner().exchange.unwrap().run_id, "r".repeat(128));
    let request = async |length: usize| {
        let messages = vec![ask::user("x"), ask::assistant("y")];
        server.exchanges().record(pb::RecordRequest { request_id: "q".repeat(length), ..ask::record(messages) }).await
    };
    beyond(&request(129).await.unwrap_err(), "request_id", 128, 129);
    taken(request(128).await, "request_id").unwrap();
}

/// Who names a namespace is told as much of it as of any other field.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_namespace() {
    let server = Running::echo().await;
    let info = async |length: usize| {
        let mut request = Request::new(pb::GetServerInfoRequest {});
        request.metadata_mut().insert("antiphon-namespace", "n".repeat(length).parse().unwrap());
        Ok::<_, Status>(server.admin().get_server_info(request).await?.into_inner().server_info.unwrap().namespace)
    };
    beyond(&info(64).await.unwrap_err(), "antiphon-namespace", 63, 64);
    assert_eq!(info(63).await.unwrap(), "n".repeat(63));
}

/// The id of a call is no part of what is asked, so one that is too long does not refuse it: the call gets another one.
#[tokio::test(flavor = "multi_thread")]
async fn of_the_id_of_a_call() {
    let server = Running::echo().await;
    for (length, is_kept) in [(128, true), (129, false)] {
        let given = "c".repeat(length);
        let mut request = Request::new(pb::GetServerInfoRequest {});
        request.metadata_mut().insert("antiphon-request-id", given.parse().unwrap());
        let answer = server.admin().get_server_info(request).await.unwrap();
        let told = answer.metadata().get("antiphon-request-id").unwrap().to_str().unwrap();
        assert_eq!(told == given, is_kept, "{length}: {told}");
        assert!(!told.is_empty());
    }
}

/// A token that could be one of ours is looked at, and told to be none.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_page_token() {
    let server = Running::echo().await;
    let list = async |length: usize| {
        let request = pb::ThreadServiceListRequest { page_token: "0".repeat(length), ..Default::default() };
        server.threads().list(request).await.unwrap_err()
    };
    beyond_with(&list(4_097).await, Reason::PageTokenInvalid, "page_token", 4_096, 4_097);
    let most = list(4_096).await;
    assert_eq!((refused::reason(&most).as_str(), most.message().contains("damaged")), ("PAGE_TOKEN_INVALID", true));
}
