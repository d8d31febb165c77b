//! Runs that are followed. Knows nothing of how they were begun.

use crate::client::Client;
use crate::error::Result;
use crate::pb;
use crate::retry::{Limit, Tries};
use crate::thread::RunEvent;

impl Client {
    /// Follows a run until it is over, over connections that break: its states after that number, each once, and what is told of its answer on the way.
    /// It only looks: leaving cancels nothing. After a break the text comes again, as `TextSoFar`.
    pub fn watch(&self, run_id: impl Into<String>, after_sequence: u64) -> Watch {
        Watch {
            client: self.clone(),
            asked: pb::WatchRequest { run_id: run_id.into(), after_sequence },
            stream: None,
            tries: Tries::default(),
            over: false,
        }
    }
}

/// A run that is followed; see [`Client::watch`].
#[must_use]
pub struct Watch {
    client: Client,
    asked: pb::WatchRequest,
    stream: Option<tonic::Streaming<pb::WatchResponse>>,
    tries: Tries,
    over: bool,
}

impl Watch {
    /// What happens next; nothing once the run is over.
    pub async fn next(&mut self) -> Option<Result<RunEvent>> {
        while !self.over {
            match self.step().await {
                Ok(Some(raw)) => {
                    self.asked.after_sequence = self.asked.after_sequence.max(raw.sequence);
                    // Only breaks that follow one another count.
                    self.tries = Tries::default();
                    return Some(Ok(RunEvent::from_raw(raw)));
                }
                Ok(None) => self.over = true,
                Err(status) => {
                    self.stream = None;
                    match self.tries.pause(status.into(), None, Limit::default()) {
                        Ok(wait) => tokio::time::sleep(wait).await,
                        Err(error) => {
                            self.over = true;
                            return Some(Err(error));
                        }
                    }
                }
            }
        }
        None
    }

    /// All that is left to happen.
    ///
    /// # Errors
    /// It could not be followed to its end.
    pub async fn all(mut self) -> Result<Vec<RunEvent>> {
        let mut found = Vec::new();
        while let Some(event) = self.next().await {
            found.push(event?);
        }
        Ok(found)
    }

    async fn step(&mut self) -> Result<Option<pb::WatchResponse>, tonic::Status> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.client.runs_service().watch(self.asked.clone()).await?.into_inner()),
        };
        stream.message().await
    }
}
