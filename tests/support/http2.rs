//! HTTP/2 by hand, frame by frame, for what no client would send. It must not know what a server makes of it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::within;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GO_AWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// So long nothing is taken of what is sent before it counts as not listened to.
const STALLED: Duration = Duration::from_secs(3);

/// A frame as it goes out.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A string, as header blocks have it.
fn string(text: &str) -> Vec<u8> {
    let mut length = text.len();
    let mut bytes = Vec::new();
    if length < 127 {
        bytes.push(u8::try_from(length).unwrap());
    } else {
        bytes.push(127);
        length -= 127;
        while length >= 128 {
            bytes.push(u8::try_from(length % 128 + 128).unwrap());
            length /= 128;
        }
        bytes.push(u8::try_from(length).unwrap());
    }
    bytes.extend(text.as_bytes());
    bytes
}

/// A header, which nobody is to remember.
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    [vec![0], string(name), string(value)].concat()
}

/// The header block of a call.
pub(crate) fn call(rpc: &str) -> Vec<u8> {
    let path = format!("/antiphon.v1.{rpc}");
    let headers = [(":path", path.as_str()), (":authority", "localhost"), ("te", "trailers")];
    let mut block = vec![0x83, 0x86];
    block.extend(headers.iter().flat_map(|(name, value)| header(name, value)));
    block.extend(header("content-type", "application/grpc"));
    block
}

/// What came of many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// All of them were taken.
    Taken,
    /// The server does not read on.
    Stalled,
    /// It has hung up.
    Closed,
}

/// One connection.
pub(crate) struct Peer(TcpStream);

impl Peer {
    /// Connected, and greeted as HTTP/2 wants it.
    pub(crate) async fn greet(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let greeting = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        within("a greeting to be taken", stream.write_all(&greeting)).await.unwrap();
        Self(stream)
    }

    /// Sends without reading, unless the server will not have it.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Came {
        match tokio::time::timeout(STALLED, self.0.write_all(bytes)).await {
            Ok(Ok(())) => Came::Taken,
            Ok(Err(_)) => Came::Closed,
            Err(_) => Came::Stalled,
        }
    }

    /// Sends the same over and over, until it comes to an end or was sent so often.
    pub(crate) async fn flood(&mut self, bytes: &[u8], times: usize) -> Came {
        for _ in 0..times {
            match self.send(bytes).await {
                Came::Taken => {}
                ended => return ended,
            }
        }
        Came::Taken
    }

    /// Reads until the server has hung up; the code that it gave for it, where it gave one.
    pub(crate) async fn hung_up(mut self) -> Option<u32> {
        let mut code = None;
        within("the server to hang up", async {
            let mut head = [0; 9];
            while self.0.read_exact(&mut head).await.is_ok() {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                let mut payload = vec![0; usize::try_from(length).unwrap()];
                if self.0.read_exact(&mut payload).await.is_err() {
                    break;
                }
                if head[3] == GO_AWAY {
                    code = payload.get(4..8).map(|code| u32::from_be_bytes(code.try_into().unwrap()));
                }
            }
        })
        .await;
        code
    }
}
