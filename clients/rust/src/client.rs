//! The connection. Knows nothing of what is asked.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::error::{Code, Error, Result};
use crate::memory::Memory;
use crate::pb;

/// The version of server and clients, which have one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What the generated clients in [`pb`] call over. What is called carries the same keys.
pub type Connection = InterceptedService<Channel, Keys>;

/// Talks to one server. Cloning is cheap, and all clones are one connection, which several tasks may use at once.
#[derive(Clone)]
pub struct Client {
    channel: Channel,
    keys: Keys,
    inner: Arc<Inner>,
}

struct Inner {
    attach_for: Duration,
    memories: Mutex<HashMap<String, Arc<Memory>>>,
    /// Coordinations that nobody waits for any more and that are being ended.
    farewells: Mutex<JoinSet<()>>,
}

impl Client {
    /// A client of the server at host and port, or the same after `http://` or `https://`. It connects when it is used, and needs a runtime of tokio.
    ///
    /// # Errors
    /// The address is none.
    pub fn connect(address: impl Into<String>) -> Result<Self> {
        Self::builder(address).build()
    }

    /// The same, with more to say.
    pub fn builder(address: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            address: address.into(),
            token: None,
            provider_credential: None,
            tls: None,
            attach_for: Duration::from_secs(60),
            keepalive: Duration::from_secs(60),
        }
    }

    /// A client of the server that ANTIPHON_SERVER names, else of the one at its usual place on this machine, with the key in ANTIPHON_TOKEN if there
    /// is one. Nothing else here reads the environment.
    ///
    /// # Errors
    /// The address is none.
    #[expect(clippy::disallowed_methods, reason = "this alone reads the environment, and says so in its name")]
    pub fn from_env() -> Result<Self> {
        let said = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut builder = Self::builder(said("ANTIPHON_SERVER").unwrap_or_else(|| "127.0.0.1:7373".to_owned()));
        if let Some(token) = said("ANTIPHON_TOKEN") {
            builder = builder.token(token);
        }
        builder.build()
    }

    /// What the generated clients in [`pb`] call over, for calls that have no method here.
    pub fn raw(&self) -> Connection {
        InterceptedService::new(self.channel.clone(), self.keys.clone())
    }

    /// The same client for calls whose provider gets this credential in place of the server's own, those of one user for instance. It shares the
    /// connection and everything else; an empty one leaves it to the server.
    ///
    /// # Errors
    /// It has characters that cannot be sent.
    pub fn with_provider_credential(&self, credential: impl Into<String>) -> Result<Self> {
        let provider_credential = key(Some(credential.into()))?;
        Ok(Self { keys: Keys { provider_credential, ..self.keys.clone() }, ..self.clone() })
    }

    /// Waits until coordinations that were dropped are ended at the server, which takes five seconds at most for each. Dropping a client does not
    /// wait.
    pub async fn close(self) {
        let mut farewells = std::mem::take(&mut *self.farewells());
        while farewells.join_next().await.is_some() {}
    }

    pub(crate) fn attach_for(&self) -> Duration {
        self.inner.attach_for
    }

    /// What is remembered of a coordination, by all that drive it in this process.
    pub(crate) fn memory(&self, id: &str) -> Arc<Memory> {
        if id.is_empty() { Arc::default() } else { self.memories().entry(id.to_owned()).or_default().clone() }
    }

    /// Lets go of what is remembered, once there is nothing left.
    pub(crate) fn forget(&self, id: &str, memory: &Arc<Memory>) {
        let mut memories = self.memories();
        if memory.is_empty() && memories.get(id).is_some_and(|known| Arc::ptr_eq(known, memory)) {
            memories.remove(id);
        }
    }

    /// Has something done that nobody waits for, by the runtime that is at hand.
    pub(crate) fn afterwards(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else {
            // Without one there is no connection either: the stream ends with it, and the server is told by that.
            return;
        };
        let mut farewells = self.farewells();
        while farewells.try_join_next().is_some() {}
        farewells.spawn_on(work, &runtime);
    }

    fn memories(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Memory>>> {
        self.inner.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn farewells(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.inner.farewells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each service of the API; one exchange may be larger than gRPC's 4 MiB, and the server has limits of its own.
macro_rules! services {
    ($($name:ident: $module:ident::$stub:ident,)*) => {
        impl Client {$(
            pub(crate) fn $name(&self) -> pb::$module::$stub<Connection> {
                pb::$module::$stub::new(self.raw())
                    .max_decoding_message_size(usize::MAX)
                    .max_encoding_message_size(usize::MAX)
            }
        )*}
    };
}
services! {
    exchanges: exchange_service_client::ExchangeServiceClient,
    coordinations_service: coordination_service_client::CoordinationServiceClient,
    graph_service: graph_service_client::GraphServiceClient,
    threads_service: thread_service_client::ThreadServiceClient,
    runs_service: run_service_client::RunServiceClient,
    tools_service: tool_service_client::ToolServiceClient,
    catalog: catalog_service_client::CatalogServiceClient,
    workspaces_service: workspace_service_client::WorkspaceServiceClient,
}

impl fmt::Debug for Client {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Client").finish_non_exhaustive()
    }
}

/// The keys of a caller, which go with every call.
#[derive(Clone)]
pub struct Keys {
    token: Option<MetadataValue<Ascii>>,
    provider_credential: Option<MetadataValue<Ascii>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Interceptor for Keys {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, tonic::Status> {
        let metadata = request.metadata_mut();
        if let Some(token) = &self.token {
            metadata.insert("authorization", token.clone());
        }
        if let Some(credential) = &self.provider_credential {
            metadata.insert("antiphon-provider-credential", credential.clone());
        }
        Ok(request)
    }
}

/// How to connect.
#[must_use]
pub struct ClientBuilder {
    address: String,
    token: Option<String>,
    provider_credential: Option<String>,
    tls: Option<Tls>,
    attach_for: Duration,
    keepalive: Duration,
}

impl ClientBuilder {
    /// The caller's key.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// A key that the server uses for its provider in place of its own.
    pub fn provider_credential(mut self, credential: impl Into<String>) -> Self {
        self.provider_credential = Some(credential.into());
        self
    }

    /// How the connection is secured. With an address that begins with `https://` it is so by the system's authorities.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// For how long a broken coordination stream is attached again before that is an error; a minute when absent.
    pub fn attach_for(mut self, wait: Duration) -> Self {
        self.attach_for = wait;
        self
    }

    /// After how much silence a connection is asked whether it still is there; a minute when absent, zero never asks. A callback may take days, and a
    /// connection that died meanwhile says nothing.
    pub fn keepalive(mut self, silence: Duration) -> Self {
        self.keepalive = silence;
        self
    }

    /// The client. It connects when it is used.
    ///
    /// # Errors
    /// The address, a key or a file is none, or there is no runtime of tokio here.
    pub fn build(self) -> Result<Client> {
        if Handle::try_current().is_err() {
            return Err(Error::new(Code::FailedPrecondition, "there is no runtime here: make the client within tokio"));
        }
        let said = self.address.as_str();
        let secure = said.strip_prefix("https://");
        let host = secure.or(said.strip_prefix("http://")).unwrap_or(said).trim_end_matches('/');
        let tls = self.tls.or(secure.map(|_| Tls::new()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let wrong =
            |why: &dyn fmt::Display| Error::invalid(format!("address {:?}: {why}: give host and port", self.address));
        if host.is_empty() {
            return Err(wrong(&"it is empty"));
        }
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{host}"))
            .and_then(|endpoint| endpoint.user_agent(format!("antiphon-rust/{VERSION}")))
            .map_err(|error| wrong(&error))?
            .connect_timeout(CONNECT_TIMEOUT);
        if !self.keepalive.is_zero() {
            endpoint = endpoint.http2_keep_alive_interval(self.keepalive).keep_alive_timeout(KEEPALIVE_TIMEOUT);
        }
        if let Some(tls) = tls {
            endpoint = endpoint.tls_config(tls.config()?).map_err(|error| Error::invalid(format!("tls: {error}")))?;
        }
        let keys = Keys {
            token: key(self.token.filter(|token| !token.is_empty()).map(|token| format!("Bearer {token}")))?,
            provider_credential: key(self.provider_credential)?,
        };
        let attach_for = self.attach_for;
        let inner = Inner { attach_for, memories: Mutex::default(), farewells: Mutex::default() };
        Ok(Client { channel: endpoint.connect_lazy(), keys, inner: Arc::new(inner) })
    }
}

/// A key as it is sent, nothing for an empty one. It is shown by nothing that prints it.
fn key(said: Option<String>) -> Result<Option<MetadataValue<Ascii>>> {
    let Some(said) = said.filter(|said| !said.is_empty()) else { return Ok(None) };
    let mut value: MetadataValue<Ascii> =
        said.parse().map_err(|_| Error::invalid("a key has characters that cannot be sent"))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// How a connection is secured: with the system's authorities, unless a file names others.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Tls {
    ca: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
}

impl Tls {
    /// With the system's authorities.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the authorities in this file, in PEM, in place of the system's.
    pub fn ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca = Some(file.into());
        self
    }

    /// The client shows who it is, by the certificate and its key in these files, in PEM.
    pub fn identity(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// What the server's certificate must say, where that is not the address.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    fn config(self) -> Result<ClientTlsConfig> {
        let mut config = ClientTlsConfig::new();
        config = match &self.ca {
            Some(file) => config.ca_certificate(Certificate::from_pem(pem(file, "CERTIFICATE")?)),
            None => config.with_native_roots(),
        };
        if let Some((certificate, key)) = &self.identity {
            config = config.identity(Identity::from_pem(pem(certificate, "CERTIFICATE")?, pem(key, "PRIVATE KEY")?));
        }
        if let Some(name) = self.server_name {
            config = config.domain_name(name);
        }
        Ok(config)
    }
}

/// The text of a file in PEM that has something of a kind; one that has nothing would be taken for one that vouches for nobody.
fn pem(file: &PathBuf, kind: &str) -> Result<String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::invalid(format!("tls: {} cannot be read: {error}", file.display())))?;
    if text.contains(&format!("{kind}-----")) {
        return Ok(text);
    }
    Err(Error::invalid(format!("tls: {} has no {} in PEM", file.display(), kind.to_lowercase())))
}
