//! A server of its own for a test: the real assembly on a real socket and a real store, in this process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antiphon::domain::source::{Clock, Ids};
use antiphon::grpc::pb::admin_service_client::AdminServiceClient;
use antiphon::grpc::pb::catalog_service_client::CatalogServiceClient;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::grpc::pb::graph_service_client::GraphServiceClient;
use antiphon::grpc::pb::run_service_client::RunServiceClient;
use antiphon::grpc::pb::thread_service_client::ThreadServiceClient;
use antiphon::grpc::pb::tool_service_client::ToolServiceClient;
use antiphon::grpc::pb::workspace_service_client::WorkspaceServiceClient;
use antiphon::ops::app::{ConfigFile, Error, Place, Server, setup};
use antiphon::ops::config;
use antiphon::ops::environment::Environment;
use antiphon::ops::source::{RandomIds, SystemClock};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Channel;

use super::within;

/// No variable is set.
struct Nothing;

impl Environment for Nothing {
    fn var(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A configuration with one scripted backend, the default, that has these rules.
pub(crate) fn scripted(rules: &str) -> String {
    format!(
        "default_profile = \"canned\"\n[profiles.canned]\nbackend = \"script\"\nmodel = \"canned-1\"\n\
         [backends.script]\nkind = \"scripted\"\n{rules}"
    )
}

/// A configuration with one OpenAI backend, the default, at this address.
pub(crate) fn openai(base_url: &str) -> String {
    openai_with(base_url, "")
}

/// The same, with more keys of the backend.
pub(crate) fn openai_with(base_url: &str, more: &str) -> String {
    format!(
        "default_profile = \"stub\"\n[profiles.stub]\nbackend = \"stub\"\nmodel = \"stub-1\"\n\
         [backends.stub]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n{more}"
    )
}

/// A backend that speaks a dialect at this address, and its profile, both of this id; with more keys of the backend.
pub(crate) fn spoken(id: &str, kind: &str, base_url: &str, more: &str) -> String {
    format!(
        "[profiles.{id}]\nbackend = \"{id}\"\nmodel = \"stub-1\"\n\
         [backends.{id}]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\n{more}\n"
    )
}

/// A server at work.
pub(crate) struct Running {
    address: SocketAddr,
    channel: Channel,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<Result<(), Error>>>,
    config: String,
    folder: Arc<tempfile::TempDir>,
    sources: Sources,
}

/// Where the time and new ids come from.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

impl Sources {
    /// The real ones.
    pub(crate) fn real() -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(RandomIds) }
    }
}

impl Running {
    /// On a new store, with a configuration.
    pub(crate) async fn start(config: impl Into<String>) -> Self {
        Self::start_with(config, Sources::real()).await
    }

    /// The same, with another clock or other ids.
    pub(crate) async fn start_with(config: impl Into<String>, sources: Sources) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        Self::start_in(config.into(), folder, sources).await
    }

    /// On a new store, with a scripted backend that echoes.
    pub(crate) async fn echo() -> Self {
        Self::start(scripted("")).await
    }

    /// On a new store, with files beside the configuration that are written before.
    pub(crate) async fn start_beside(config: impl Into<String>, write: impl FnOnce(&Path)) -> Self {
        Self::start_beside_with(config, Sources::real(), write).await
    }

    /// The same, with another clock or other ids.
    pub(crate) async fn start_beside_with(
        config: impl Into<String>,
        sources: Sources,
        write: impl FnOnce(&Path),
    ) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        write(folder.path());
        Self::start_in(config.into(), folder, sources).await
    }

    async fn start_in(config: String, folder: Arc<tempfile::TempDir>, sources: Sources) -> Self {
        let path = folder.path().join("antiphon.toml");
        std::fs::write(&path, &config).expect("a temporary file");
        let (parsed, source) = config::parse(&config, &path).expect("the test's configuration is right");
        let Sources { clock, ids } = sources.clone();
        let (setup, locks) = match setup(&parsed, &Nothing, &clock) {
            Ok(furnished) => (furnished.setup, furnished.locks),
            Err(problems) => panic!("the test's configuration is wrong: {problems:?}"),
        };
        let place = Place::Kept(folder.path().join("data"));
        let file = ConfigFile::new(&source, parsed.clone(), Arc::new(Nothing), Arc::clone(&clock));
        let (configuration, reload) = (Arc::new(file), Arc::default());
        let server = Server { config: parsed, setup, locks, configuration, reload, place, migrate: false, clock, ids };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = oneshot::channel::<()>();
        let served = tokio::spawn(server.run(
            listener,
            move || {
                ready.send(()).ok();
            },
            async move {
                stopped.await.ok();
            },
        ));
        within("the server to be ready", is_ready).await.expect("the server starts");
        let channel = Channel::from_shared(format!("http://{address}")).expect("an address").connect_lazy();
        Self { address, channel, stop: Some(stop), served: Some(served), config, folder, sources }
    }

    /// Stops it as SIGTERM does, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(served) = self.served.take() {
            within("the server to stop", served).await.expect("the server does not panic").expect("it stops well");
        }
    }

    /// Stops it, and starts another one on the same store.
    pub(crate) async fn restart(self) -> Self {
        let config = self.config.clone();
        self.restart_with(config).await
    }

    /// Stops it, and starts another one on the same store with another configuration.
    pub(crate) async fn restart_with(mut self, config: impl Into<String>) -> Self {
        self.stop().await;
        let (folder, sources) = (Arc::clone(&self.folder), self.sources.clone());
        Self::start_in(config.into(), folder, sources).await
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn folder(&self) -> PathBuf {
        Path::to_owned(self.folder.path())
    }

    /// A connection of its own, for tests that cut it.
    pub(crate) fn fresh_channel(&self) -> Channel {
        Channel::from_shared(format!("http://{}", self.address)).expect("an address").connect_lazy()
    }

    pub(crate) fn exchanges(&self) -> ExchangeServiceClient<Channel> {
        ExchangeServiceClient::new(self.channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
    }

    pub(crate) fn threads(&self) -> ThreadServiceClient<Channel> {
        ThreadServiceClient::new(self.channel.clone())
    }

    pub(crate) fn runs(&self) -> RunServiceClient<Channel> {
        RunServiceClient::new(self.channel.clone())
    }

    pub(crate) fn catalog(&self) -> CatalogServiceClient<Channel> {
        CatalogServiceClient::new(self.channel.clone())
    }

    pub(crate) fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel.clone())
    }

    pub(crate) fn graphs(&self) -> GraphServiceClient<Channel> {
        GraphServiceClient::new(self.channel.clone())
    }

    pub(crate) fn tools(&self) -> ToolServiceClient<Channel> {
        ToolServiceClient::new(self.channel.clone())
    }

    pub(crate) fn workspaces(&self) -> WorkspaceServiceClient<Channel> {
        WorkspaceServiceClient::new(self.channel.clone()).max_encoding_message_size(usize::MAX)
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }
}
