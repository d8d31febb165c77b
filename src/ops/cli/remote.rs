//! The connection to a server: where it is, the deadline of calls, a client for each service. It must not know commands.

use std::future::Future;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, IntoRequest, Request, Status};

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
use crate::ops::cause::innermost;

/// Where a server is looked for when nobody says otherwise.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:7373";

/// Longest answer that is taken, in bytes: more than any page of a history.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How a server is called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manners {
    /// The deadline of each call.
    pub(crate) timeout: Option<Duration>,
    /// The key that is shown.
    pub(crate) key: Option<SecretString>,
    /// The namespace that is named, for a key of all.
    pub(crate) namespace: Option<String>,
    /// The roots of the server's certificate, in PEM; those of the public web when absent.
    pub(crate) roots: Option<Vec<u8>>,
    /// Our own certificate and its private key, in PEM.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// A connection on which each call says who makes it.
pub(crate) type Link = InterceptedService<Channel, Says>;

/// What each call says of who makes it.
#[derive(Clone, Default)]
pub(crate) struct Says {
    authorization: Option<MetadataValue<Ascii>>,
    namespace: Option<MetadataValue<Ascii>>,
}

impl Says {
    fn of(manners: &Manners) -> Result<Self, Failure> {
        let authorization = manners.key.as_ref().map(|key| {
            let value = format!("Bearer {}", key.expose_secret());
            let mut value = MetadataValue::try_from(value).map_err(|_| {
                Failure::usage("the key has characters that no key has: copy it again, whole and alone")
            })?;
            value.set_sensitive(true);
            Ok::<_, Failure>(value)
        });
        let namespace = manners.namespace.as_ref().map(|name| {
            MetadataValue::try_from(name).map_err(|_| Failure::usage("--namespace: is no name of a namespace"))
        });
        Ok(Self { authorization: authorization.transpose()?, namespace: namespace.transpose()? })
    }
}

impl Interceptor for Says {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let said = [("authorization", &self.authorization), ("antiphon-namespace", &self.namespace)];
        for (name, value) in said {
            if let Some(value) = value {
                request.metadata_mut().insert(name, value.clone());
            }
        }
        Ok(request)
    }
}

/// A server that can be called.
pub(crate) struct Remote {
    link: Link,
    timeout: Option<Duration>,
}

macro_rules! clients {
    ($($(#[$doc:meta])* $name:ident: $client:ident,)*) => {
        $($(#[$doc])*
        pub(crate) fn $name(&self) -> $client<Link> {
            $client::new(self.link.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
        })*
    };
}

impl Remote {
    /// Connects.
    pub(crate) async fn connect(server: &str, manners: &Manners) -> Result<Self, Failure> {
        let endpoint = endpoint(server, manners)?;
        let says = Says::of(manners)?;
        let channel = endpoint.connect().await.map_err(|error| Failure::Unreachable {
            server: server.to_owned(),
            cause: innermost(&error).to_string(),
        })?;
        Ok(Self { link: InterceptedService::new(channel, says), timeout: manners.timeout })
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

fn endpoint(server: &str, manners: &Manners) -> Result<Endpoint, Failure> {
    let wrong = |why: &str| Failure::usage(format!("--server {server}: {why}; write it as {DEFAULT_SERVER}"));
    let uri: tonic::codegen::http::Uri = server.parse().map_err(|_| wrong("is not a URL"))?;
    let encrypted = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong("has no scheme")),
    };
    if !encrypted && (manners.roots.is_some() || manners.identity.is_some()) {
        return Err(wrong("certificates are for https"));
    }
    if uri.path() != "/" || uri.query().is_some() {
        return Err(wrong("must have no path"));
    }
    let endpoint = Endpoint::from_shared(server.to_owned()).map_err(|_| wrong("is not a URL"))?;
    let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
    if !encrypted {
        return Ok(endpoint);
    }
    let mut tls = match &manners.roots {
        Some(roots) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(roots)),
        None => ClientTlsConfig::new().with_webpki_roots(),
    };
    if let Some((certificate, key)) = &manners.identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    endpoint.tls_config(tls).map_err(|error| {
        Failure::usage(format!("the certificates cannot be used: {}; give them in PEM", innermost(&error)))
    })
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
        let manners = Manners::default();
        for good in [DEFAULT_SERVER, "http://localhost:1/", "https://a"] {
            assert!(endpoint(good, &manners).is_ok(), "{good}");
        }
        for bad in ["127.0.0.1:7373", "http://a/b", "ftp://a", "", "http://"] {
            assert!(matches!(endpoint(bad, &manners), Err(Failure::Usage(_))), "{bad}");
        }
        let with_roots = Manners { roots: Some(b"x".to_vec()), ..manners };
        assert!(matches!(endpoint("http://a", &with_roots), Err(Failure::Usage(_))));
    }
}
