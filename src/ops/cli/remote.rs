//! The connection to a server: where it is, the deadline of calls, a client for each service. It must not know commands.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, IntoRequest, Request};

use super::failure::Failure;
use crate::grpc::pb::admin_service_client::AdminServiceClient;
use crate::grpc::pb::catalog_service_client::CatalogServiceClient;
use crate::grpc::pb::coordination_service_client::CoordinationServiceClient;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::grpc::pb::graph_service_client::GraphServiceClient;
use crate::grpc::pb::run_service_client::RunServiceClient;
use crate::grpc::pb::thread_service_client::ThreadServiceClient;
use crate::grpc::pb::tool_service_client::ToolServiceClient;
use crate::grpc::pb::workspace_service_client::WorkspaceServiceClient;

/// Where a server is looked for when nobody says otherwise.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:7373";

/// Longest answer that is taken, in bytes: more than any page of a history.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that can be called.
pub(crate) struct Remote {
    channel: Channel,
    timeout: Option<Duration>,
}

macro_rules! clients {
    ($($(#[$doc:meta])* $name:ident: $client:ident,)*) => {
        $($(#[$doc])*
        pub(crate) fn $name(&self) -> $client<Channel> {
            $client::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
        })*
    };
}

impl Remote {
    /// Connects. `timeout` is the deadline of each call.
    pub(crate) async fn connect(server: &str, timeout: Option<Duration>) -> Result<Self, Failure> {
        let endpoint = endpoint(server)?;
        let channel = endpoint.connect().await.map_err(|error| Failure::Unreachable {
            server: server.to_owned(),
            cause: innermost(&error).to_string(),
        })?;
        Ok(Self { channel, timeout })
    }

    clients! {
        /// Exchanges.
        exchanges: ExchangeServiceClient,
        /// Threads.
        threads: ThreadServiceClient,
        /// Runs.
        runs: RunServiceClient,
        /// Documents.
        workspaces: WorkspaceServiceClient,
        /// Coordinations.
        coordinations: CoordinationServiceClient,
        /// The graph.
        graphs: GraphServiceClient,
        /// Tools under audit.
        tools: ToolServiceClient,
        /// Configured resources.
        catalog: CatalogServiceClient,
        /// The server itself.
        admin: AdminServiceClient,
    }

    /// The deadline of each call.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// A request under the deadline, which the server is told.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = message.into_request();
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        request
    }

    /// Awaits under the deadline, which for a stream the transport does not keep.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let Some(timeout) = self.timeout else { return work.await };
        // A second more than the server has, so that its own answer about the deadline comes first.
        match tokio::time::timeout(timeout + Duration::from_secs(1), work).await {
            // The transport's own word for it, which comes first when the server is slower to say so.
            Ok(Err(Failure::Refused(refusal))) if refusal.code == Code::Cancelled && refusal.reason.is_empty() => {
                Err(Failure::TimedOut(timeout))
            }
            Ok(result) => result,
            Err(_) => Err(Failure::TimedOut(timeout)),
        }
    }
}

/// The first cause: the outermost error only says that it is one of transport.
fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause
}

/// Most items that are asked for at once.
const PAGE_SIZE: u32 = 500;

/// Reads a list page by page, up to a limit; tells whether there is more.
pub(crate) async fn pages<T>(
    limit: u32,
    fetch: impl AsyncFn(i32, String) -> Result<(Vec<T>, String), Failure>,
) -> Result<(Vec<T>, bool), Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut all = Vec::new();
    let mut token = String::new();
    loop {
        let left = limit.saturating_sub(all.len());
        let size = i32::try_from(left).unwrap_or(i32::MAX).min(PAGE_SIZE.cast_signed());
        let (items, next) = fetch(size, token).await?;
        all.extend(items);
        if next.is_empty() || all.len() >= limit {
            let more = !next.is_empty() || all.len() > limit;
            all.truncate(limit);
            return Ok((all, more));
        }
        token = next;
    }
}

fn endpoint(server: &str) -> Result<Endpoint, Failure> {
    let wrong = |why: &str| Failure::usage(format!("--server {server}: {why}; write it as {DEFAULT_SERVER}"));
    let uri: tonic::codegen::http::Uri = server.parse().map_err(|_| wrong("is not a URL"))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(wrong("this version speaks plain HTTP/2 only")),
        _ => return Err(wrong("has no scheme")),
    }
    if uri.path() != "/" || uri.query().is_some() {
        return Err(wrong("must have no path"));
    }
    let endpoint = Endpoint::from_shared(server.to_owned()).map_err(|_| wrong("is not a URL"))?;
    Ok(endpoint.connect_timeout(CONNECT_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lists_are_read_to_their_end_or_to_the_limit() {
        let fetch = async |size: i32, token: String| {
            let start: i32 = token.parse().unwrap_or(0);
            let end = (start + size).min(1_200);
            let next = if end < 1_200 { end.to_string() } else { String::new() };
            Ok(((start..end).collect::<Vec<_>>(), next))
        };
        let (all, more) = pages(u32::MAX, fetch).await.unwrap();
        assert_eq!((all.len(), all.last(), more), (1_200, Some(&1_199), false));
        let (some, more) = pages(600, fetch).await.unwrap();
        assert_eq!((some.len(), more), (600, true));
        let (exactly, more) = pages(1_200, fetch).await.unwrap();
        assert_eq!((exactly.len(), more), (1_200, false));
    }

    #[test]
    fn addresses_are_checked_before_they_are_tried() {
        assert!(endpoint(DEFAULT_SERVER).is_ok());
        assert!(endpoint("http://localhost:1/").is_ok());
        for bad in ["127.0.0.1:7373", "https://a", "http://a/b", "ftp://a", "", "http://"] {
            assert!(matches!(endpoint(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }
}
