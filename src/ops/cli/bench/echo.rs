//! The floor under every figure: calls over the same transport that only send back what came, one by one and in a stream. It must not know
//! the server.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, StreamingService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::measure::{self, Figures};
use super::work::Load;
use crate::grpc::pb;
use crate::ops::cli::failure::Failure;

const CALL: &str = "/antiphon.bench.Echo/Call";
const STREAM: &str = "/antiphon.bench.Echo/Stream";

#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "antiphon.bench.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::default());
            let is_stream = request.uri().path() == STREAM;
            Ok(if is_stream { grpc.streaming(Back, request).await } else { grpc.unary(Back, request).await })
        })
    }
}

struct Back;

impl UnaryService<pb::RecordRequest> for Back {
    type Response = pb::RecordRequest;
    type Future = Ready<Result<Response<pb::RecordRequest>, Status>>;

    fn call(&mut self, request: Request<pb::RecordRequest>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl StreamingService<pb::RecordRequest> for Back {
    type Response = pb::RecordRequest;
    type ResponseStream = Streaming<pb::RecordRequest>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<pb::RecordRequest>>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

/// Measures single calls with a turn of the load's size.
pub(super) async fn calls(callers: usize, load: &Load) -> Result<Figures, Failure> {
    let (channel, serving) = serve().await?;
    let turn = load.turn(0);
    let callers = (0..callers).map(|_| (channel.clone(), turn.clone())).collect();
    let figures = measure::calls(callers, load.time, |(channel, turn): (Channel, pb::RecordRequest)| async move {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.map_err(|error| Failure::broken(&error))?;
        let codec: ProstCodec<pb::RecordRequest, pb::RecordRequest> = ProstCodec::default();
        client.unary(Request::new(turn.clone()), PathAndQuery::from_static(CALL), codec).await?;
        Ok((channel, turn))
    })
    .await;
    serving.abort();
    figures
}

/// Measures messages there and back in streams that stay open.
pub(super) async fn streams(callers: usize, load: &Load) -> Result<Figures, Failure> {
    let (channel, serving) = serve().await?;
    let mut open = Vec::new();
    for _ in 0..callers {
        let (says, frames) = mpsc::unbounded_channel();
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.map_err(|error| Failure::broken(&error))?;
        let codec: ProstCodec<pb::RecordRequest, pb::RecordRequest> = ProstCodec::default();
        let request = Request::new(UnboundedReceiverStream::new(frames));
        let told = client.streaming(request, PathAndQuery::from_static(STREAM), codec).await?.into_inner();
        open.push(Open { says, told, turn: load.turn(0) });
    }
    let figures = measure::calls(open, load.time, Open::there_and_back).await;
    serving.abort();
    figures
}

/// A stream that stays open.
struct Open {
    says: mpsc::UnboundedSender<pb::RecordRequest>,
    told: Streaming<pb::RecordRequest>,
    turn: pb::RecordRequest,
}

impl Open {
    async fn there_and_back(mut self) -> Result<Self, Failure> {
        self.says.send(self.turn.clone()).map_err(|error| Failure::broken(&error))?;
        self.told.message().await?.ok_or_else(|| Failure::incomplete("echo"))?;
        Ok(self)
    }
}

async fn serve() -> Result<(Channel, JoinHandle<Result<(), tonic::transport::Error>>), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| Failure::broken(&error))?;
    let address = listener.local_addr().map_err(|error| Failure::broken(&error))?;
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let serving = tokio::spawn(Server::builder().add_service(Echo).serve_with_incoming(incoming));
    let endpoint = Channel::from_shared(format!("http://{address}")).map_err(|error| Failure::broken(&error))?;
    let channel = endpoint.connect().await.map_err(|error| Failure::broken(&error))?;
    Ok((channel, serving))
}
