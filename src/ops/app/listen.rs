//! Connections as they come in: encrypted where that is configured, and never more than the server takes. It must not know what is served on
//! them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

use crate::app::access::Peer;
use crate::ops::tls::Certificates;

/// How long the two sides may take to agree on a cipher.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long to wait when the system has no connection to give, such as for want of file descriptors.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// Connections that are agreed on and wait to be served.
const READY: usize = 64;

/// How long a peer may take to say its first bytes, once it is connected.
const GREETING: Duration = Duration::from_secs(10);
/// What every peer says at first: as much as the preface of HTTP/2.
const GREETING_BYTES: usize = 24;

/// A connection.
pub(super) struct Connection {
    stream: Stream,
    /// Until when the peer must have said so many more bytes; none once it has.
    greeting: Option<(Pin<Box<Sleep>>, usize)>,
    /// Until when it is kept without a call, where that has an end.
    idle: Option<(Pin<Box<Sleep>>, Duration)>,
    peer: Peer,
    /// Its place among those that the server takes.
    _place: Place,
}

impl Connection {
    fn new(stream: Stream, idle: Option<Duration>, place: Place) -> Self {
        let greeting = Some((Box::pin(sleep(GREETING)), GREETING_BYTES));
        let idle = idle.map(|idle| (Box::pin(sleep(idle)), idle));
        let tcp = match &stream {
            Stream::Plain(stream) => stream,
            Stream::Encrypted(stream) => stream.get_ref().0,
        };
        let peer = Peer::new(tcp.peer_addr().ok());
        Self { stream, greeting, idle, peer, _place: place }
    }

    /// Whether there was no call for so long that the connection is given up.
    fn is_left_alone(&mut self, context: &mut Context<'_>) -> bool {
        let Some((until, idle)) = &mut self.idle else { return false };
        loop {
            if self.peer.is_busy() {
                until.as_mut().reset(Instant::now() + *idle);
            }
            if until.as_mut().poll(context).is_pending() {
                return false;
            }
            if !self.peer.is_busy() {
                return true;
            }
        }
    }
}

enum Stream {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// A connection's place, which is given back with it.
struct Place {
    _permit: OwnedSemaphorePermit,
    count: Arc<AtomicUsize>,
}

impl Place {
    fn take(permit: OwnedSemaphorePermit, count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self { _permit: permit, count: Arc::clone(count) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What connections may take.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// At most so many are there at once: more wait to be accepted.
    pub(super) max: usize,
    /// How long one is kept on which no call is made; for ever when absent.
    pub(super) idle: Option<Duration>,
    /// How many there are.
    pub(super) count: Arc<AtomicUsize>,
}

/// The connections of a listener. It listens for as long as the stream is kept.
pub(super) fn connections(
    listener: TcpListener,
    certificates: Option<Arc<Certificates>>,
    bounds: Bounds,
) -> ReceiverStream<io::Result<Connection>> {
    let (ready, connections) = mpsc::channel(READY);
    tokio::spawn(async move {
        tokio::select! {
            () = accept(listener, certificates, bounds, &ready) => {}
            // Nobody serves any more.
            () = ready.closed() => {}
        }
    });
    ReceiverStream::new(connections)
}

async fn accept(
    listener: TcpListener,
    certificates: Option<Arc<Certificates>>,
    Bounds { max, idle, count }: Bounds,
    ready: &Sender<io::Result<Connection>>,
) {
    let places = Arc::new(Semaphore::new(max));
    loop {
        if places.available_permits() == 0 {
            tracing::warn!(max, "listener.full");
        }
        // A semaphore that is closed gives no place; ours never is.
        let Ok(permit) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if is_of_one(&error) => continue,
            Err(error) => {
                tracing::warn!(%error, "listener.exhausted");
                sleep(EXHAUSTED).await;
                continue;
            }
        };
        let place = Place::take(permit, &count);
        // Where the peer is gone already, serving it finds out.
        stream.set_nodelay(true).ok();
        match &certificates {
            None => {
                let connection = Connection::new(Stream::Plain(stream), idle, place);
                if ready.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            Some(certificates) => {
                let (certificates, ready) = (Arc::clone(certificates), ready.clone());
                tokio::spawn(async move {
                    let agreed = tokio::time::timeout(HANDSHAKE, certificates.accept(stream)).await;
                    match agreed {
                        Ok(Ok(stream)) => {
                            let connection = Connection::new(Stream::Encrypted(Box::new(stream)), idle, place);
                            ready.send(Ok(connection)).await.ok();
                        }
                        Ok(Err(error)) => tracing::debug!(%error, "connection.refused"),
                        Err(_) => tracing::debug!("connection.silent"),
                    }
                });
            }
        }
    }
}

/// An error of the one connection that was to be accepted.
fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Stream::Encrypted(stream) => Pin::new(stream).poll_read(context, into),
        };
        if let Some((until, left)) = &mut self.greeting {
            *left = left.saturating_sub(into.filled().len().saturating_sub(before));
            if *left == 0 {
                self.greeting = None;
            } else if read.is_pending() && until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        if read.is_pending() && self.is_left_alone(context) {
            tracing::debug!("connection.idle");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, from),
            Stream::Encrypted(stream) => Pin::new(stream).poll_write(context, from),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, from),
            Stream::Encrypted(stream) => Pin::new(stream).poll_write_vectored(context, from),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Encrypted(stream) => stream.is_write_vectored(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn connected(idle: Option<Duration>) -> (TcpStream, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let place = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        (client, Connection::new(Stream::Plain(stream), idle, Place::take(place, &Arc::default())))
    }

    /// The time passes as soon as nothing else can happen.
    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_for_as_long_as_calls_are_made_and_a_while_after() {
        let hour = Duration::from_secs(3_600);
        let (mut client, mut connection) = connected(Some(hour)).await;
        client.write_all(&[b'x'; GREETING_BYTES]).await.unwrap();
        connection.read_exact(&mut [0; GREETING_BYTES]).await.unwrap();
        let call = connection.peer.call();
        let begun = Instant::now();
        let mut byte = [0];
        let day = tokio::time::timeout(24 * hour, connection.read(&mut byte)).await;
        assert!(day.is_err(), "a call is at work: {day:?}");
        drop(call);
        let error = connection.read(&mut byte).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() <= 25 * hour + Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_end_a_connection_is_kept() {
        let (mut client, mut connection) = connected(None).await;
        client.write_all(&[b'x'; GREETING_BYTES]).await.unwrap();
        connection.read_exact(&mut [0; GREETING_BYTES]).await.unwrap();
        let year = tokio::time::timeout(Duration::from_secs(365 * 86_400), connection.read(&mut [0])).await;
        assert!(year.is_err());
    }
}
