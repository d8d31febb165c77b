//! How a connection is made: addresses, TLS, keys, the environment, and calls that are made again. The peer is a small server here, since only its ear
//! matters.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_client::pb::run_service_server::{RunService, RunServiceServer};
use antiphon_client::{Client, Code, Completeness, Message, Role, RunState, Tls, pb};
use tokio::net::TcpListener;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use crate::support::{refused, served};

/// Tells what it was called with.
#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<MetadataMap>>>,
    fail: Arc<Mutex<VecDeque<Code>>>,
}

#[tonic::async_trait]
impl RunService for Ear {
    async fn get(
        &self,
        asked: Request<pb::RunServiceGetRequest>,
    ) -> Result<Response<pb::RunServiceGetResponse>, Status> {
        self.heard.lock().unwrap().push(asked.metadata().clone());
        if let Some(code) = self.fail.lock().unwrap().pop_front() {
            return Err(Status::new(code, "not now"));
        }
        let usage = pb::Usage { completeness: 98, ..pb::Usage::default() };
        let run_id = asked.into_inner().run_id;
        let run = pb::Run { run_id, state: 99, usage: Some(usage), ..pb::Run::default() };
        Ok(Response::new(pb::RunServiceGetResponse { run: Some(run) }))
    }

    async fn list(
        &self,
        _: Request<pb::RunServiceListRequest>,
    ) -> Result<Response<pb::RunServiceListResponse>, Status> {
        Err(Status::unimplemented("only its ear matters"))
    }

    async fn cancel(
        &self,
        _: Request<pb::RunServiceCancelRequest>,
    ) -> Result<Response<pb::RunServiceCancelResponse>, Status> {
        Err(Status::unimplemented("only its ear matters"))
    }

    type WatchStream = tokio_stream::Empty<Result<pb::WatchResponse, Status>>;

    async fn watch(&self, _: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("only its ear matters"))
    }
}

impl Ear {
    /// Listens, and shows who it is where it is given a certificate.
    async fn listen(&self, tls: Option<ServerTlsConfig>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let served = server.add_service(RunServiceServer::new(self.clone()));
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        tokio::spawn(served.serve_with_incoming(incoming));
        address
    }

    fn heard(&self) -> Vec<MetadataMap> {
        self.heard.lock().unwrap().clone()
    }

    fn fails(&self, codes: impl IntoIterator<Item = Code>) {
        self.fail.lock().unwrap().extend(codes);
    }
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/client/tls", name].iter().collect()
}

/// Shows a certificate for antiphon.test and wants one of the same authority.
fn secured() -> ServerTlsConfig {
    let read = |name| std::fs::read_to_string(file(name)).unwrap();
    let (certificate, key) = (read("certificate.pem"), read("key.pem"));
    ServerTlsConfig::new()
        .identity(Identity::from_pem(&certificate, key))
        .client_ca_root(Certificate::from_pem(certificate))
}

#[tokio::test]
async fn both_sides_show_who_they_are() {
    let ear = Ear::default();
    let tls = Tls::new()
        .ca(file("certificate.pem"))
        .identity(file("certificate.pem"), file("key.pem"))
        .server_name("antiphon.test");
    let client = Client::builder(format!("https://{}", ear.listen(Some(secured())).await))
        .tls(tls)
        .token("key-1")
        .provider_credential("sk-1")
        .keepalive(Duration::from_secs(10))
        .build()
        .unwrap();
    let run = client.run("r").await.unwrap();
    // Words of a newer server.
    assert_eq!((run.state, run.state.to_string()), (RunState::Unknown(99), "unknown_99".to_owned()));
    assert_eq!(run.usage.completeness, Completeness::Unknown(98));
    let heard = ear.heard();
    assert_eq!(heard[0].get("authorization").unwrap(), "Bearer key-1");
    assert_eq!(heard[0].get("antiphon-provider-credential").unwrap(), "sk-1");
}

#[tokio::test]
async fn the_calls_of_one_user_have_a_credential_of_their_own() {
    let ear = Ear::default();
    let client = Client::builder(ear.listen(None).await).token("key-1").provider_credential("sk-1").build().unwrap();
    let theirs = client.with_provider_credential("sk-2").unwrap();
    let nobodys = theirs.with_provider_credential("").unwrap();
    for asking in [&theirs, &client, &nobodys] {
        asking.run("r").await.unwrap();
    }
    let heard = ear.heard();
    let credential = |at: usize| heard[at].get("antiphon-provider-credential").map(|said| said.to_str().unwrap());
    assert_eq!([credential(0), credential(1), credential(2)], [Some("sk-2"), Some("sk-1"), None]);
    assert!(heard.iter().all(|said| said.get("authorization").unwrap() == "Bearer key-1"));
    refused(client.with_provider_credential("two\nlines"), Code::InvalidArgument, "");
    assert!(!format!("{theirs:?}").contains("sk-2"));
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_talked_to() {
    let ear = Ear::default();
    let address = format!("https://{}", ear.listen(Some(secured())).await);
    let client = Client::builder(address).token("key-1").build().unwrap();
    refused(client.run("r").await, Code::Unavailable, "");
    assert!(ear.heard().is_empty());
}

#[tokio::test]
async fn what_is_no_file_no_key_and_no_address_is_said_at_once() {
    let readme = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md");
    for tls in
        [Tls::new().ca("nowhere.pem"), Tls::new().ca(&readme), Tls::new().identity(file("certificate.pem"), &readme)]
    {
        refused(Client::builder("https://127.0.0.1:1").tls(tls).build(), Code::InvalidArgument, "");
    }
    refused(Client::connect(""), Code::InvalidArgument, "");
    refused(Client::connect("http://"), Code::InvalidArgument, "");
    refused(Client::builder("127.0.0.1:1").token("two\nlines").build(), Code::InvalidArgument, "");
}

#[test]
fn without_a_runtime_there_is_no_client_and_no_panic() {
    refused(Client::connect("127.0.0.1:1"), Code::FailedPrecondition, "");
}

#[tokio::test]
async fn a_call_is_made_again_where_that_helps_and_only_there() {
    let ear = Ear::default();
    let address = ear.listen(None).await;
    let client = Client::builder(format!("http://{address}/")).keepalive(Duration::ZERO).build().unwrap();
    ear.fails([Code::Unavailable, Code::Unavailable]);
    assert_eq!(client.run("r").await.unwrap().run_id, "r");
    assert_eq!(ear.heard().len(), 3);
    ear.fails([Code::ResourceExhausted]);
    refused(client.run("r").await, Code::ResourceExhausted, "");
    assert_eq!(ear.heard().len(), 4);
    ear.fails([Code::Unavailable; 4]);
    refused(client.run("r").await, Code::Unavailable, "");
    assert_eq!(ear.heard().len(), 8);
}

/// What it reads is told by another process, since the environment is all threads' here.
#[tokio::test]
async fn the_environment_is_read_only_when_asked() {
    let ear = Ear::default();
    let address = format!("http://{}", ear.listen(None).await);
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own);
    child.args(["connection::whoever_asks_the_environment", "--exact", "--ignored"]);
    child.env("ANTIPHON_SERVER", address).env("ANTIPHON_TOKEN", "key-2");
    let told = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    assert!(told.status.success(), "{told:?}");
    assert_eq!(ear.heard()[0].get("authorization").unwrap(), "Bearer key-2");
}

#[tokio::test]
#[ignore = "the test above runs it, with an environment"]
async fn whoever_asks_the_environment() {
    Client::from_env().unwrap().run("r").await.unwrap();
}

#[tokio::test]
async fn words_that_a_newer_server_has_survive() {
    let message = Message::from_raw(pb::Message { role: 79, ..pb::Message::default() });
    assert_eq!(message.role, Role::Unknown(79));
    let (_server, client) = served();
    let told = client.record([Message::new(Role::Unknown(79), "x"), Message::assistant("y")]).await.unwrap_err();
    // It went out as it is, and the server has its say.
    assert!(!told.reason.is_empty(), "{told:?}");
    // An arm that this package does not know is read as nothing, and what is around it stays.
    let odd = pb::Message { role: 2, parts: vec![pb::Part::default(), pb::Part::default()] };
    let read = Message::from_raw(odd);
    assert_eq!((read.role, read.text.as_str(), read.raw().unwrap().parts.len()), (Role::User, "", 2));
}
