//! The floor under every figure: a unary call over the same transport that only sends back what came. It must not know the server.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::measure::{self, Figures};
use super::work::Load;
use crate::grpc::pb;
use crate::ops::cli::failure::Failure;

const PATH: &str = "/antiphon.bench.Echo/Echo";

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
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(Back, request).await) })
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

/// Measures it with a turn of the load's size.
pub(super) async fn measure(callers: usize, load: &Load) -> Result<Figures, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| Failure::broken(&error))?;
    let address = listener.local_addr().map_err(|error| Failure::broken(&error))?;
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let serving = tokio::spawn(Server::builder().add_service(Echo).serve_with_incoming(incoming));
    let endpoint = Channel::from_shared(format!("http://{address}")).map_err(|error| Failure::broken(&error))?;
    let channel = endpoint.connect().await.map_err(|error| Failure::broken(&error))?;
    let turn = load.turn(0);
    let callers = (0..callers).map(|_| (channel.clone(), turn.clone())).collect();
    let figures = measure::calls(callers, load.time, |(channel, turn): (Channel, pb::RecordRequest)| async move {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.map_err(|error| Failure::broken(&error))?;
        let codec: ProstCodec<pb::RecordRequest, pb::RecordRequest> = ProstCodec::default();
        client.unary(Request::new(turn.clone()), PathAndQuery::from_static(PATH), codec).await?;
        Ok((channel, turn))
    })
    .await;
    serving.abort();
    figures
}
