//! What the health service says: SERVING while the store takes writes and the server takes work. It must not know why it does not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::watched::{Asker, Look};
use crate::app::App;
use crate::grpc::pb;
use crate::store::Health;

/// How often the store is asked while nobody writes: that a disk is full shows only when one looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// The services whose health is told: each of ours, and the whole, which has no name.
pub(super) const SERVICES: [&str; 10] = [
    "",
    pb::exchange_service_server::SERVICE_NAME,
    pb::thread_service_server::SERVICE_NAME,
    pb::run_service_server::SERVICE_NAME,
    pb::catalog_service_server::SERVICE_NAME,
    pb::admin_service_server::SERVICE_NAME,
    pb::coordination_service_server::SERVICE_NAME,
    pb::graph_service_server::SERVICE_NAME,
    pb::tool_service_server::SERVICE_NAME,
    pb::workspace_service_server::SERVICE_NAME,
];

/// Says the same of every service.
pub(super) async fn say(reporter: &HealthReporter, status: ServingStatus) {
    for service in SERVICES {
        reporter.set_service_status(service, status).await;
    }
}

/// Keeps the health service up to date until it is stopped.
pub(super) struct HealthWatch {
    stop: oneshot::Sender<()>,
    watching: JoinHandle<()>,
}

impl HealthWatch {
    /// Says what is true now, and from here on whenever it changes: at once when somebody met the change, else soon.
    pub(super) async fn start(
        app: Arc<App>,
        reporter: HealthReporter,
        asker: Asker,
        mut looks: mpsc::UnboundedReceiver<Look>,
    ) -> Self {
        let mut said = None;
        look(&app, &reporter, &asker, &mut said).await;
        let (stop, mut stopped) = oneshot::channel();
        let watching = tokio::spawn(async move {
            let mut tick = tokio::time::interval(INTERVAL);
            loop {
                tokio::select! {
                    _ = tick.tick() => look(&app, &reporter, &asker, &mut said).await,
                    Some(asked) = looks.recv() => {
                        look(&app, &reporter, &asker, &mut said).await;
                        // Whoever asked need not have waited.
                        asked.send(()).ok();
                    }
                    _ = &mut stopped => return say(&reporter, ServingStatus::NotServing).await,
                }
            }
        });
        Self { stop, watching }
    }

    /// Says NOT_SERVING and nothing after it.
    pub(super) async fn stop(self) {
        drop(self.stop);
        if self.watching.await.is_err() {
            tracing::error!("health.watch_broke");
        }
    }
}

/// Says what is true now, unless it was said already.
async fn look(app: &App, reporter: &HealthReporter, asker: &Asker, said: &mut Option<ServingStatus>) {
    let health = app.health();
    let now = match &health {
        Health::Writable => ServingStatus::Serving,
        Health::ReadOnly(_) => ServingStatus::NotServing,
    };
    if *said == Some(now) {
        return;
    }
    match (&health, *said) {
        (Health::ReadOnly(reason), _) => tracing::warn!(status = %now, reason, "health.changed"),
        (Health::Writable, Some(_)) => tracing::warn!(status = %now, "health.changed"),
        (Health::Writable, None) => {}
    }
    say(reporter, now).await;
    asker.is_down.store(now == ServingStatus::NotServing, Ordering::Release);
    *said = Some(now);
}
