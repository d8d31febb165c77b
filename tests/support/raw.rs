//! gRPC by hand over HTTP/2, for what the usual client does not let through: its own timers, broken frames. It must not know any message.

use std::net::SocketAddr;

use prost::Message;
use tonic::Status;

use super::server::Running;

/// A message in its frame.
pub(crate) fn frame(message: &impl Message) -> Vec<u8> {
    let body = message.encode_to_vec();
    let mut framed = vec![0];
    framed.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    framed.extend(body);
    framed
}

/// The error of a call that is refused before it answers anything.
pub(crate) async fn refused(server: &Running, rpc: &str, message: &impl Message, headers: &[(&str, &str)]) -> Status {
    refused_at(server.address(), rpc, frame(message), headers).await
}

/// The same for any bytes.
pub(crate) async fn refused_bytes(server: &Running, rpc: &str, bytes: Vec<u8>, headers: &[(&str, &str)]) -> Status {
    refused_at(server.address(), rpc, bytes, headers).await
}

/// The same for a server that is a process of its own.
pub(crate) async fn refused_at(address: SocketAddr, rpc: &str, bytes: Vec<u8>, headers: &[(&str, &str)]) -> Status {
    let client = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let url = format!("http://{address}/antiphon.v1.{rpc}");
    let mut request = client.post(url).header("content-type", "application/grpc").header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.body(bytes).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    Status::from_header_map(answer.headers()).expect("an answer that is only a status")
}
