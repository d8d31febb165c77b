//! kill -9 while threads are forked and their documents written: each branch is whole or not there, and what was told is there.

use antiphon::grpc::pb;
use antiphon::grpc::pb::admin_service_client::AdminServiceClient;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::grpc::pb::thread_service_client::ThreadServiceClient;
use antiphon::grpc::pb::workspace_service_client::WorkspaceServiceClient;
use tokio::sync::mpsc::unbounded_channel;
use tonic::transport::Channel;

use crate::harness::{Dice, rounds};
use crate::server::{CONFIG, Server, said};
use crate::support::documents::{live, put, write};

/// How many documents each branch inherits.
const INHERITED: u64 = 40;

/// Makes branches and writes to each, until the server is gone. Tells what was acknowledged: the branch, and whether its document was too.
async fn branch_off(channel: Channel, round: usize, told: tokio::sync::mpsc::UnboundedSender<(String, bool)>) {
    let mut exchanges = ExchangeServiceClient::new(channel.clone());
    let mut documents = WorkspaceServiceClient::new(channel);
    for number in 0.. {
        let id = format!("f{round}-{number}");
        let new = pb::NewThread { thread_id: id.clone(), ..Default::default() };
        let point = pb::ThreadTurnPoint { thread_id: "t".to_owned(), at: None };
        let request = pb::ForkRequest {
            source: Some(pb::fork_request::Source::Thread(point)),
            branches: vec![pb::ForkBranch { thread: Some(new), input: None }],
            ..Default::default()
        };
        if exchanges.fork(request).await.is_err() {
            return;
        }
        told.send((id.clone(), false)).ok();
        let edits = vec![put("own", id.clone()), put("n3", "mine")];
        if documents.write_documents(write(&id, edits)).await.is_err() {
            return;
        }
        told.send((id, true)).ok();
    }
}

/// S1-T2: whatever the moment of the kill, a branch that can be seen has its whole path and all of its documents.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_whole_branches_only() {
    let mut dice = Dice::new("kill -9 of forks");
    let dir = tempfile::tempdir().unwrap();
    let (config, data) = (dir.path().join("antiphon.toml"), dir.path().join("data"));
    std::fs::write(&config, CONFIG).unwrap();
    let mut server = Server::start(&config, &data).await;
    let new = pb::NewThread { thread_id: "t".to_owned(), ..Default::default() };
    let first = pb::CaptureRequest {
        execution: Some(pb::capture_request::Execution::Request(said("one"))),
        thread: Some(pb::capture_request::Thread::NewThread(new)),
    };
    ExchangeServiceClient::new(server.channel.clone()).capture(first).await.unwrap();
    let all = (0..INHERITED).map(|number| put(&format!("n{number}"), "inherited")).collect();
    WorkspaceServiceClient::new(server.channel.clone()).write_documents(write("t", all)).await.unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..rounds() {
        let (tell, mut told) = unbounded_channel();
        let work = tokio::spawn(branch_off(server.channel.clone(), round as usize, tell));
        for _ in 0..1 + dice.roll(60) {
            acknowledged.extend(told.recv().await);
        }
        server.kill();
        work.await.unwrap();
        while let Some(more) = told.recv().await {
            acknowledged.push(more);
        }
        server = Server::start(&config, &data).await;
        let mut threads = ThreadServiceClient::new(server.channel.clone());
        let mut documents = WorkspaceServiceClient::new(server.channel.clone());
        let listed =
            threads.list(pb::ThreadServiceListRequest { page_size: 1_000, ..Default::default() }).await.unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for thread in listed.into_inner().threads.into_iter().filter(|thread| thread.thread_id != "t") {
            assert_eq!((thread.turn_count, thread.head_exchange_id.is_empty()), (1, false), "{}", thread.thread_id);
            let request =
                pb::ListDocumentsRequest { at: Some(live(&thread.thread_id)), page_size: 1_000, ..Default::default() };
            let version = documents.list_documents(request).await.unwrap().into_inner().version.unwrap();
            assert!([INHERITED, INHERITED + 1].contains(&version.document_count), "{}: {version:?}", thread.thread_id);
            seen.insert(thread.thread_id, version.document_count == INHERITED + 1);
        }
        for (id, wrote) in &acknowledged {
            assert!(seen.get(id).is_some_and(|has| *has || !wrote), "round {round}: {id} was told and is not there");
        }
        let mut verified = AdminServiceClient::new(server.channel.clone())
            .verify(pb::VerifyRequest::default())
            .await
            .unwrap()
            .into_inner();
        while let Some(told) = verified.message().await.unwrap() {
            assert!(!matches!(told.event, Some(pb::verify_response::Event::Finding(_))), "{told:?}");
        }
    }
    server.kill();
}
