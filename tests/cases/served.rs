//! Where a case is run whole: a server on a real socket and a real store, and the provider that it asks. It must not know cases.

use std::time::SystemTime;

use antiphon::grpc::pb;
use pb::stream_capture_response::Event;
use serde_json::Value;
use tonic::Status;

use crate::bench::NOW;
use crate::case::Case;
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai_with};
use crate::support::{ask, look, stub};

/// A server and its provider.
pub(crate) struct Served {
    pub(crate) provider: Provider,
    pub(crate) server: Running,
}

impl Served {
    /// With the script of a case; each call is made once.
    pub(crate) async fn of(id: &str) -> Self {
        Self::with(Case::load(id).script(SystemTime::UNIX_EPOCH + NOW)).await
    }

    /// With a script; each call is made once.
    pub(crate) async fn with(script: impl IntoIterator<Item = Entry>) -> Self {
        Self::with_more(script, stub::ONCE).await
    }

    /// With a script and more keys of the backend.
    pub(crate) async fn with_more(script: impl IntoIterator<Item = Entry>, more: &str) -> Self {
        let provider = Provider::start(script).await;
        let server = Running::start(openai_with(&provider.base_url(), more)).await;
        Self { provider, server }
    }

    /// With a script and a backend of another kind, each call made once; its address ends where `base` begins.
    pub(crate) async fn speaking(kind: &str, base: &str, script: impl IntoIterator<Item = Entry>, more: &str) -> Self {
        let provider = Provider::start(script).await;
        let base_url = provider.base_url().replace("/v1", base);
        let once = stub::ONCE;
        let config = format!(
            "default_profile = \"stub\"\n[profiles.stub]\nbackend = \"stub\"\nmodel = \"stub-1\"\n\
             [backends.stub]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\nprovider = \"stub\"\n{once}{more}"
        );
        Self { provider, server: Running::start(config).await }
    }

    pub(crate) async fn restart(self) -> Self {
        Self { server: self.server.restart().await, provider: self.provider }
    }

    pub(crate) async fn capture(&self, request: pb::CaptureRequest) -> pb::Exchange {
        self.server.exchanges().capture(request).await.unwrap().into_inner().exchange.unwrap()
    }

    pub(crate) async fn go_on(&self, request: pb::ContinueRequest) -> pb::Exchange {
        self.server.exchanges().r#continue(request).await.unwrap().into_inner().exchange.unwrap()
    }

    /// A fork with one first turn on a thread of this id: what came of it.
    pub(crate) async fn fork(&self, from: &str, thread_id: &str, request: pb::ExecutionRequest) -> pb::Exchange {
        let fork = ask::fork(from, vec![ask::branch(thread_id, Some(request))]);
        let mut forked = self.server.exchanges().fork(fork).await.unwrap().into_inner();
        forked.results.remove(0).exchange.unwrap()
    }

    /// An exchange as Inspect tells it.
    pub(crate) async fn inspect(&self, id: &str) -> pb::Exchange {
        let page = self.server.exchanges().inspect(ask::inspect(id)).await.unwrap().into_inner();
        page.exchange.unwrap()
    }

    pub(crate) async fn history(&self, id: &str) -> Vec<String> {
        look::history(&self.server, id).await
    }

    pub(crate) async fn head(&self, thread_id: &str) -> String {
        look::thread(&self.server, thread_id).await.head_exchange_id
    }

    /// The messages of a request that went out, whole.
    pub(crate) async fn messages(&self, number: usize) -> Value {
        self.provider.request(number).await.json()["messages"].clone()
    }

    /// Their roles and contents.
    pub(crate) async fn sent(&self, number: usize) -> Vec<String> {
        stub::sent(&self.provider.request(number).await.json())
    }

    /// A capture as a stream: the text that came in pieces, and the end.
    pub(crate) async fn streamed(&self, request: pb::CaptureRequest) -> (String, Result<pb::CaptureResponse, Status>) {
        let request = pb::StreamCaptureRequest { capture: Some(request) };
        let mut stream = self.server.exchanges().stream_capture(request).await.unwrap().into_inner();
        let mut said = String::new();
        let end = loop {
            match stream.message().await {
                Ok(Some(pb::StreamCaptureResponse { event: Some(Event::Completed(done)) })) => break Ok(done),
                Ok(Some(pb::StreamCaptureResponse { event: Some(Event::Progress(progress)) })) => {
                    said += &text_of(progress)
                }
                Ok(other) => panic!("{other:?}"),
                Err(status) => break Err(status),
            }
        };
        assert!(matches!(stream.message().await, Ok(None)), "one end, and nothing after it");
        (said, end)
    }
}

fn text_of(progress: pb::Progress) -> String {
    match progress.event {
        Some(pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) })) => text.text,
        _ => String::new(),
    }
}
