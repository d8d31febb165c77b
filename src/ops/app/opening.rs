//! The time while the store is being opened, which after a crash may take long: whoever connects is told to come again, and the health
//! service says NOT_SERVING. It must not know stores.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::codegen::http::Response;
use tonic::service::Routes;
use tonic_health::ServingStatus;

use super::listen::connections;
use super::{Error, health, transport};
use crate::domain::fault::{Fault, Reason};
use crate::grpc::status::status;
use crate::ops::config::ServerConfig;
use crate::ops::tls::Certificates;
use crate::store;

/// How soon one may come again, in milliseconds.
const RETRY_AFTER_MS: u64 = 500;
/// How long connections of this time may linger after it.
const LINGER: Duration = Duration::from_millis(500);
/// Work that is done sooner is waited for without telling anybody: an empty store opens at once.
const AT_ONCE: Duration = Duration::from_millis(100);

/// How often the log says how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Waits for work that opens something, answering calls meanwhile and telling, by `tell`, for how long it has gone on. Gives the listener back.
pub(super) async fn wait<T: Send + 'static>(
    listener: TcpListener,
    certificates: Option<Arc<Certificates>>,
    mut work: JoinHandle<Result<T, store::Error>>,
    tell: impl Fn(Duration),
) -> Result<(T, TcpListener), Error> {
    if let Ok(done) = tokio::time::timeout(AT_ONCE, &mut work).await {
        return Ok((done??, listener));
    }
    tell(AT_ONCE);
    // The same queue of connections under two handles: none is refused in between.
    let listener = listener.into_std()?;
    let meanwhile = TcpListener::from_std(listener.try_clone()?)?;
    let (reporter, service) = tonic_health::server::health_reporter();
    health::say(&reporter, ServingStatus::NotServing).await;
    let mut routes = Routes::new(service);
    let router = std::mem::take(routes.axum_router_mut()).fallback(come_again);
    *routes.axum_router_mut() = router;
    let (stop, stopped) = oneshot::channel::<()>();
    let settings = ServerConfig::default();
    let incoming = connections(meanwhile, certificates, super::bounds(&settings));
    let server = transport(&settings).add_routes(routes);
    let mut serving = tokio::spawn(server.serve_with_incoming_shutdown(incoming, async {
        // A sender that is gone means the end as well.
        stopped.await.ok();
    }));
    let since = Instant::now();
    let done = loop {
        match tokio::time::timeout(TOLD_EVERY, &mut work).await {
            Ok(done) => break done,
            Err(_) => tell(AT_ONCE + since.elapsed()),
        }
    };
    drop(stop);
    if tokio::time::timeout(LINGER, &mut serving).await.is_err() {
        serving.abort();
    }
    Ok((done??, TcpListener::from_std(listener)?))
}

/// The answer to every call but those of the health service.
async fn come_again() -> Response<Body> {
    let fault = Fault::new(Reason::StoreUnavailable, "the server is opening its store: call again in a moment");
    status(&fault.retry_after(RETRY_AFTER_MS), None).into_http()
}

#[cfg(test)]
mod tests {
    use tonic::Code;
    use tonic::transport::Channel;
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus as Said;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_types::StatusExt;

    use super::*;
    use crate::grpc::pb;
    use crate::grpc::pb::thread_service_client::ThreadServiceClient;

    #[tokio::test]
    async fn callers_are_told_to_come_again_until_the_work_is_done() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}");
        let (finish, finished) = oneshot::channel::<()>();
        let work = tokio::spawn(async {
            finished.await.unwrap();
            Ok(7)
        });
        let waiting = tokio::spawn(wait(listener, None, work, |_| {}));
        let channel = Channel::from_shared(url).unwrap().connect().await.unwrap();
        let mut health = HealthClient::new(channel.clone());
        let said = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
        assert_eq!(said.status(), Said::NotServing);
        let mut threads = ThreadServiceClient::new(channel);
        let refused = threads.get(pb::ThreadServiceGetRequest::default()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
        assert_eq!(refused.get_details_error_info().unwrap().reason, "STORE_UNAVAILABLE");
        assert!(refused.get_details_retry_info().is_some());
        finish.send(()).unwrap();
        let (seven, listener) = waiting.await.unwrap().unwrap();
        assert_eq!((seven, listener.local_addr().unwrap()), (7, address));
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_takes_long_is_told_again_and_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let work = tokio::spawn(async {
            tokio::time::sleep(Duration::from_secs(12)).await;
            Ok(())
        });
        let told = std::sync::Mutex::new(Vec::new());
        wait(listener, None, work, |after| told.lock().unwrap().push(after.as_secs())).await.unwrap();
        assert_eq!(told.into_inner().unwrap(), [0, 5, 10]);
    }

    #[tokio::test]
    async fn work_that_fails_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let work = tokio::spawn(async { Err::<(), _>(store::Error::Unavailable("in use".to_owned())) });
        let failed = wait(listener, None, work, |_| {}).await.map(|_| ()).unwrap_err();
        assert_eq!(failed.to_string(), "in use");
    }
}
