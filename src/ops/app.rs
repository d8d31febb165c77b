//! How a server is put together: from a configuration to backends, engine, store and services, and from there to serving and to the end in
//! good order. With its rooms the one place that names concrete stores and backends. It must not know flags, nor where a configuration came
//! from.

mod file;
mod health;
mod listen;
mod locks;
mod offline;
mod opening;
mod parts;
mod scratch;
mod watched;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinError;
use tonic::service::{InterceptorLayer, Routes};
use tonic::transport::server::Server as Transport;

pub use self::file::ConfigFile;
pub use self::offline::{Damage, Told, free_bytes, verify_offline};
pub use self::parts::{Furnished, setup};

use self::health::HealthWatch;
use self::listen::{Bounds, connections};
use self::locks::Locks;
use self::scratch::Scratch;
use self::watched::{Asker, Look, Watched};
use super::config::{Config, ServerConfig};
use crate::app::App;
use crate::app::reload::Configuration;
use crate::domain::source::{Clock, Ids};
use crate::engine::{Engine, Setup};
use crate::grpc::{self, Facts, Wire, observe};
use crate::store;
use crate::store::ledger::Ledger;
use crate::store::sled::{self, Sled};
use crate::web;

/// How long calls may linger once every run has ended.
const LINGER: Duration = Duration::from_secs(5);
/// How long connections may linger once every call has ended, so that the last answers go out.
const PARTING: Duration = Duration::from_millis(250);
/// Silence on a connection after which the peer is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// How long it may take to answer that.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest answer, in bytes: no limit of our own, since what is stored was let in under one.
const MAX_RESPONSE_BYTES: usize = usize::MAX;

/// Why a server did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be opened, read or closed.
    #[error("{0}")]
    Store(#[from] store::Error),
    /// A store cannot be copied.
    #[error("{0}")]
    Copy(String),
    /// The network failed.
    #[error("cannot serve: {0}")]
    Network(String),
    /// Something in the server itself broke.
    #[error("the server broke: {0}")]
    Broken(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Network(error.to_string())
    }
}

impl From<JoinError> for Error {
    fn from(error: JoinError) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Where the store's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Here, and they are kept.
    Kept(PathBuf),
    /// In a new folder inside this one, and gone with the server.
    Temporary(PathBuf),
}

impl Place {
    fn dir(&self) -> &Path {
        let (Self::Kept(dir) | Self::Temporary(dir)) = self;
        dir
    }
}

/// Opens the store of a configuration. Blocks for as long as recovery takes.
fn open_store(config: &Config, place: &Place, migrate: bool) -> Result<Sled, store::Error> {
    let at = match place {
        Place::Kept(dir) => {
            let min_free_bytes = config.store.min_free_mebibytes.saturating_mul(1 << 20);
            sled::Config { min_free_bytes, migrate, ..sled::Config::directory(dir) }
        }
        // Nothing has to be opened again from there, so no room is kept for it.
        Place::Temporary(under) => sled::Config { min_free_bytes: 0, ..sled::Config::temporary(under) },
    };
    let cache_bytes = config.store.cache_mebibytes.saturating_mul(1 << 20);
    Sled::open(&sled::Config { cache_bytes, ..at })
}

/// What a server is made of.
pub struct Server {
    /// What is configured.
    pub config: Config,
    /// What comes of it.
    pub setup: Setup,
    /// What lets callers in.
    pub locks: Locks,
    /// Where it is read anew.
    pub configuration: Arc<dyn Configuration>,
    /// Asks for that.
    pub reload: Arc<Notify>,
    /// Where the store is.
    pub place: Place,
    /// Whether a store of an older format is brought to this version's.
    pub migrate: bool,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn Ids>,
}

impl Server {
    /// Opens the store, telling whoever connects meanwhile to wait; calls `ready`; serves until `shutdown`; then takes no new work, lets
    /// runs finish for as long as is configured, and closes the store.
    ///
    /// # Errors
    /// When the store cannot be opened, the network fails, or the last writes could not be made durable.
    pub async fn run(
        self,
        listener: TcpListener,
        ready: impl FnOnce(),
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        tokio::pin!(shutdown);
        let Self { config, setup, locks, configuration, reload, place, migrate, clock, ids } = self;
        let started_at = clock.now();
        let (settings, limits) = (config.server.clone(), config.limits.clone());
        let kept = usize::try_from(config.store.exchange_cache_mebibytes.saturating_mul(1 << 20)).unwrap_or(usize::MAX);
        // Removed after the store is closed, and by the next server if this one is killed.
        let (place, scratch) = match place {
            Place::Kept(_) => (place, None),
            Place::Temporary(under) => {
                let scratch = Scratch::make(&under, "antiphon")
                    .map_err(|error| store::Error::Unavailable(format!("{}: {error}", under.display())))?;
                (Place::Temporary(scratch.dir().to_owned()), Some(scratch))
            }
        };
        let ephemeral = scratch.is_some();
        let opening = sled::Opening::of(place.dir());
        let work = tokio::task::spawn_blocking(move || open_store(&config, &place, migrate));
        let tell = |elapsed: Duration| {
            let (read, log) = (opening.read_mebibytes(), opening.log_mebibytes());
            tracing::info!(
                elapsed_seconds = elapsed.as_secs(),
                read_mebibytes = read,
                log_mebibytes = log,
                "store.opening"
            );
        };
        let (store, listener) = opening::wait(listener, locks.certificates.clone(), work, tell).await?;
        let facts = Facts {
            version: env!("CARGO_PKG_VERSION"),
            store_kind: "sled",
            format_version: sled::FORMAT,
            ephemeral,
            limits: parts::limits(&settings, &limits),
            started_at,
        };
        let watch = Asker::new();
        let ledger = Ledger::new(Arc::new(Watched::new(store, watch.0.clone()))).keeping(kept);
        let seed = u64::try_from(ids.uuid().as_u128() & u128::from(u64::MAX)).unwrap_or_default();
        let engine = Arc::new(Engine::new(setup, Arc::clone(&clock), Arc::clone(&ids), seed));
        let app = App::new(ledger, engine, configuration, clock, Arc::clone(&ids), limits);
        let served = serve(&app, facts, &settings, &locks, ids, listener, watch, ready, &reload, shutdown).await;
        let closed = app.ledger().store().close().await;
        drop(scratch);
        tracing::info!("server.stopped");
        served?;
        Ok(closed?)
    }
}

/// Serves until `shutdown`, and from there until every run and connection has ended.
#[expect(clippy::too_many_arguments, reason = "each is one part of what is served")]
async fn serve(
    app: &Arc<App>,
    facts: Facts,
    settings: &ServerConfig,
    locks: &Locks,
    ids: Arc<dyn Ids>,
    listener: TcpListener,
    (asker, looks): (Asker, UnboundedReceiver<Look>),
    ready: impl FnOnce(),
    reload: &Notify,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let mut shutdown = std::pin::pin!(shutdown);
    let unfinished = tokio::select! {
        unfinished = app.unfinished_erasures() => unfinished,
        () = &mut shutdown => return Ok(()),
    };
    let (reporter, health) = tonic_health::server::health_reporter();
    let wire = Wire { max_request_bytes: settings.max_message_bytes, max_response_bytes: MAX_RESPONSE_BYTES };
    let routes =
        grpc::routes(app, &locks.door, facts, wire, health).map_err(|error| Error::Broken(error.to_string()))?;
    let routes = Routes::from(routes.into_axum_router().merge(web::routes(app, &locks.door)));
    let identify = InterceptorLayer::new(move |request| observe::identify(&*ids, request));
    let (stop, stopped) = oneshot::channel::<()>();
    let bounds = bounds(settings);
    let count = Arc::clone(&bounds.count);
    app.gauge("max_connections", bounds.max, move || count.load(Ordering::Acquire));
    let incoming = connections(listener, locks.certificates.clone(), bounds);
    let router = transport(settings).layer(identify).layer(grpc::trace::layer()).add_routes(routes);
    let mut serving = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async {
        // A sender that is gone means the end as well.
        stopped.await.ok();
    }));
    let watch = HealthWatch::start(Arc::clone(app), reporter, asker, looks).await;
    let finishing = tokio::spawn({
        let app = Arc::clone(app);
        async move { app.finish_all_erasures(unfinished).await }
    });
    ready();
    let ended = tokio::select! {
        () = &mut shutdown => None,
        ended = &mut serving => Some(ended),
        never = reloads(app, reload) => match never {},
        never = locks.clone().look(|| app.engine().setup()) => match never {},
    };
    watch.stop().await;
    if let Some(ended) = ended {
        ended?.map_err(|error| Error::Network(error.to_string()))?;
        return Err(Error::Network("the listener is gone".to_owned()));
    }
    tracing::info!(grace_seconds = settings.drain_grace_seconds, "server.draining");
    app.drain(settings.drain_grace()).await;
    // The next start goes on with it.
    finishing.abort();
    drop(stop);
    let parting = async {
        tokio::time::timeout(LINGER, app.meters().rpcs().none_at_work()).await.ok();
        tokio::time::sleep(PARTING).await;
    };
    tokio::select! {
        ended = &mut serving => ended?.map_err(|error| Error::Network(error.to_string())),
        () = parting => {
            // Somebody is silent or only watches, such as a client of the health service: nothing is lost by hanging up.
            serving.abort();
            Ok(())
        }
    }
}

/// Reads the configuration anew whenever that is asked for.
async fn reloads(app: &App, reload: &Notify) -> Infallible {
    loop {
        reload.notified().await;
        // What came of it is in the log, where whoever sent a signal looks.
        if let Err(fault) = app.reload(false).await {
            tracing::error!(error = %fault.message, "configuration.broke");
        }
    }
}

/// What connections may take.
fn bounds(settings: &ServerConfig) -> Bounds {
    Bounds { max: settings.max_connections, idle: settings.idle_connection(), count: Arc::default() }
}

/// The transport as it serves, while the store is opened and afterwards.
fn transport(settings: &ServerConfig) -> Transport {
    Transport::builder()
        .max_concurrent_streams(settings.max_streams_per_connection)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        // What asks for metrics mostly speaks HTTP/1.
        .accept_http1(true)
}

#[cfg(test)]
mod tests;
