//! Both directions of a coordination's stream. Knows nothing of what is said on it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::client::Client;
use crate::error::{Code, Error, Result};
use crate::pb;
use crate::pb::coordinate_response::Frame;

/// One stream.
pub(crate) struct Wire {
    said: UnboundedSender<pb::CoordinateRequest>,
    stream: tonic::Streaming<pb::CoordinateResponse>,
    heard: VecDeque<pb::CoordinateResponse>,
    /// What it ended with, until somebody asks.
    trouble: Option<Error>,
    over: bool,
}

impl Wire {
    pub(crate) async fn open(client: &Client, greeting: pb::CoordinateRequest) -> Result<Self> {
        let (said, saying) = unbounded_channel();
        let mut wire = client.exchanges();
        let requests = futures_util::stream::unfold(saying, |mut saying| async move {
            saying.recv().await.map(|frame| (frame, saying))
        });
        Mouth(said.clone()).say(greeting);
        let stream = wire.coordinate(requests).await?.into_inner();
        Ok(Self { said, stream, heard: VecDeque::new(), trouble: None, over: false })
    }

    /// Says something. What a broken stream was told is lost; receiving tells that it broke.
    pub(crate) fn send(&self, frame: pb::CoordinateRequest) {
        self.mouth().say(frame);
    }

    /// What says things while somebody else listens.
    pub(crate) fn mouth(&self) -> Mouth {
        Mouth(self.said.clone())
    }

    /// The next frame, or what the stream ended with.
    pub(crate) async fn receive(&mut self) -> Result<pb::CoordinateResponse> {
        loop {
            if let Some(frame) = self.heard.pop_front() {
                return Ok(frame);
            }
            if self.over {
                let closed = || Error::new(Code::Unavailable, "the stream closed before its coordination ended");
                return Err(self.trouble.take().unwrap_or_else(closed));
            }
            self.listen().await;
        }
    }

    /// What comes of some work, which may take days, while what the server says meanwhile is heard and kept.
    pub(crate) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.listen(), if !self.over => {}
            }
        }
    }

    /// How the coordination ended; nothing when the stream broke before it was told.
    pub(crate) async fn ended(&mut self) -> Option<pb::CoordinationEnded> {
        loop {
            match self.receive().await.ok()?.frame {
                Some(Frame::Ended(ended)) => return Some(ended),
                _ => continue,
            }
        }
    }

    /// Hears one thing. Given up half way, it loses nothing.
    async fn listen(&mut self) {
        match self.stream.message().await {
            Ok(Some(frame)) if matches!(frame.frame, Some(Frame::Heartbeat(_))) => {}
            Ok(Some(frame)) => self.heard.push_back(frame),
            Ok(None) => self.over = true,
            Err(status) => {
                self.trouble = Some(status.into());
                self.over = true;
            }
        }
    }
}

/// The client's side of a stream.
#[derive(Clone)]
pub(crate) struct Mouth(UnboundedSender<pb::CoordinateRequest>);

impl Mouth {
    pub(crate) fn say(&self, frame: pb::CoordinateRequest) {
        // A stream that is gone hears nothing; whoever listens to it is told.
        let _gone = self.0.send(frame).is_err();
    }
}
