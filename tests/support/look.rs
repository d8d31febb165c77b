//! Looking at what a server has, in few words. It must not change anything.

use antiphon::grpc::pb;

use super::server::Running;
use super::within;

/// A thread that is there.
pub(crate) async fn thread(server: &Running, id: &str) -> pb::Thread {
    let request = pb::ThreadServiceGetRequest { thread_id: id.into() };
    server.threads().get(request).await.unwrap().into_inner().thread.unwrap()
}

/// A run that is there.
pub(crate) async fn run(server: &Running, id: &str) -> pb::Run {
    let request = pb::RunServiceGetRequest { run_id: id.into() };
    server.runs().get(request).await.unwrap().into_inner().run.unwrap()
}

/// Why there is no such run.
pub(crate) async fn no_run(server: &Running, id: &str) -> tonic::Status {
    server.runs().get(pb::RunServiceGetRequest { run_id: id.into() }).await.unwrap_err()
}

/// Asks for a run until it is in a state that it must come to.
pub(crate) async fn until(server: &Running, id: &str, state: pb::RunState) -> pb::Run {
    let mut client = server.runs();
    within(&format!("run {id} to be {state:?}"), async {
        loop {
            let asked = client.get(pb::RunServiceGetRequest { run_id: id.into() }).await;
            if let Some(run) = asked.ok().and_then(|got| got.into_inner().run).filter(|run| run.state() == state) {
                return run;
            }
        }
    })
    .await
}

/// Ids of all runs.
pub(crate) async fn runs(server: &Running) -> Vec<String> {
    let listed = server.runs().list(pb::RunServiceListRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed.next_page_token, "");
    listed.runs.into_iter().map(|run| run.run_id).collect()
}

/// Ids of all threads.
pub(crate) async fn threads(server: &Running) -> Vec<String> {
    let listed = server.threads().list(pb::ThreadServiceListRequest::default()).await.unwrap().into_inner();
    listed.threads.into_iter().map(|thread| thread.thread_id).collect()
}

/// The history of an exchange.
pub(crate) async fn history(server: &Running, exchange_id: &str) -> Vec<String> {
    let request = pb::InspectRequest { exchange_id: exchange_id.to_owned(), ..Default::default() };
    let page = server.exchanges().inspect(request).await.unwrap().into_inner();
    assert_eq!(page.next_page_token, "");
    super::ask::texts(&page.messages)
}

/// How many records of each kind there are, all of which must be right.
pub(crate) async fn verified(server: &Running) -> std::collections::BTreeMap<String, u64> {
    use pb::verify_response::Event;
    let mut told = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    loop {
        match within("the verification to go on", told.message()).await.unwrap().unwrap().event.unwrap() {
            Event::Progress(_) => {}
            Event::Finding(finding) => panic!("{finding:?}"),
            Event::Completed(summary) => {
                return summary.checked.into_iter().map(|count| (count.kind, count.count)).collect();
            }
        }
    }
}
