//! Documents that are read in pieces, over connections that break. Knows nothing of where they are.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::Stream;

use crate::client::Client;
use crate::document::{Document, DocumentContent, WorkspacePoint, WorkspaceVersion};
use crate::error::{Code, Error, Result};
use crate::pb;
use crate::pb::stream_read_document_response::Part;
use crate::retry::{Limit, Tries};

/// A document to read in pieces; see [`Documents::read_stream`](crate::Documents::read_stream).
#[must_use = "nothing is read before it is awaited"]
pub struct ReadStream {
    client: Client,
    at: WorkspacePoint,
    raw: pb::StreamReadDocumentRequest,
    timeout: Option<Duration>,
}

impl ReadStream {
    pub(crate) fn new(client: Client, at: WorkspacePoint, name: String) -> Self {
        let raw = pb::StreamReadDocumentRequest { name, ..pb::StreamReadDocumentRequest::default() };
        Self { client, at, raw, timeout: None }
    }

    /// Leaves out so many bytes at its beginning.
    pub fn offset(mut self, bytes: u64) -> Self {
        self.raw.offset = bytes;
        self
    }

    /// How long all of it may take.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    async fn run(self) -> Result<DocumentStream> {
        let asked = pb::StreamReadDocumentRequest { at: Some(self.at.to_raw()?), ..self.raw };
        let limit = Limit::after(self.timeout);
        let mut reading = Reading { client: self.client, asked, limit, tries: Tries::default(), stream: None, end: 0 };
        loop {
            if let Part::Opened(opened) = reading.part().await? {
                let version = WorkspaceVersion::from_raw(opened.version);
                let document = Document::from_raw(opened.document.unwrap_or_default());
                reading.end = document.size_bytes;
                // A later call goes on in this version, whatever is written meanwhile.
                reading.asked.at = Some(WorkspacePoint::from(&version).to_raw()?);
                return Ok(DocumentStream { document, version, reading, over: false });
            }
        }
    }
}

impl IntoFuture for ReadStream {
    type Output = Result<DocumentStream>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A document that is read in pieces. Where a connection breaks, it goes on from there, in the same version, whatever was written meanwhile. Dropping
/// it reads no more.
#[must_use]
pub struct DocumentStream {
    /// What is read.
    pub document: Document,
    /// The version that it is of.
    pub version: WorkspaceVersion,
    reading: Reading,
    over: bool,
}

impl std::fmt::Debug for DocumentStream {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("DocumentStream").field("document", &self.document).finish_non_exhaustive()
    }
}

impl DocumentStream {
    /// The next bytes; nothing after the last.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>>> {
        while !self.over && self.reading.asked.offset < self.reading.end {
            match self.reading.part().await {
                Ok(Part::Chunk(chunk)) => return Some(Ok(chunk.data)),
                // It is told again where a connection was made again.
                Ok(Part::Opened(_)) => {}
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// All bytes that are left.
    ///
    /// # Errors
    /// It could not be read to its end.
    pub async fn all(mut self) -> Result<Vec<u8>> {
        self.rest().await
    }

    /// The pieces that are left, as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Vec<u8>>> {
        futures_util::stream::unfold(
            self,
            |mut reading| async move { reading.next().await.map(|piece| (piece, reading)) },
        )
    }

    pub(crate) async fn whole(mut self) -> Result<DocumentContent> {
        let data = self.rest().await?;
        Ok(DocumentContent { document: self.document, data, version: self.version })
    }

    async fn rest(&mut self) -> Result<Vec<u8>> {
        let mut found = Vec::new();
        while let Some(piece) = self.next().await {
            found.extend(piece?);
        }
        Ok(found)
    }
}

/// The calls that read one document.
struct Reading {
    client: Client,
    /// What the next call asks for: what comes after the bytes that are there.
    asked: pb::StreamReadDocumentRequest,
    limit: Limit,
    tries: Tries,
    stream: Option<tonic::Streaming<pb::StreamReadDocumentResponse>>,
    /// The length of the document, once that is known.
    end: u64,
}

impl Reading {
    /// The next part, over connections that break. Given up half way, it loses nothing.
    async fn part(&mut self) -> Result<Part> {
        loop {
            let failed = match self.limit.bound(self.step()).await? {
                Ok(Some(pb::StreamReadDocumentResponse { part: Some(part) })) => {
                    if let Part::Chunk(chunk) = &part {
                        self.asked.offset += u64::try_from(chunk.data.len()).unwrap_or(u64::MAX);
                        // Only breaks that follow one another count.
                        self.tries = Tries::default();
                    }
                    return Ok(part);
                }
                // Something that this package does not know.
                Ok(Some(_)) => continue,
                Ok(None) => Error::new(Code::Unavailable, "the stream closed before the document ended"),
                Err(status) => status.into(),
            };
            self.stream = None;
            let wait = self.tries.pause(failed, None, self.limit)?;
            self.limit.bound(tokio::time::sleep(wait)).await?;
        }
    }

    async fn step(&mut self) -> Result<Option<pb::StreamReadDocumentResponse>, tonic::Status> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let asked = self.limit.request(self.asked.clone());
                none.insert(self.client.workspaces_service().stream_read_document(asked).await?.into_inner())
            }
        };
        stream.message().await
    }
}
