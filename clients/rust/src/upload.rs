//! Documents that are written, whole and in pieces. Knows nothing of how they are read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use serde::Serialize;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::Client;
use crate::document::Written;
use crate::error::{BoxError, Error, Result};
use crate::json::{as_json, metadata_json};
use crate::pb;
use crate::pb::stream_write_document_request::Part;
use crate::retry::{Limit, Tries, fresh};
use crate::workspace::Workspace;

/// A document of up to this many bytes goes whole, in one message; the server's limit.
const WHOLE_BYTES: usize = 1 << 20;
/// A piece of a larger one has at most this many bytes; the server's limit.
const PIECE_BYTES: usize = 256 * 1024;

type Source = BoxStream<'static, Result<Vec<u8>, BoxError>>;

/// A document to write whole; see [`Workspace::write`].
#[must_use = "nothing is written before it is awaited"]
pub struct Write {
    client: Client,
    open: pb::OpenDocument,
    metadata: Option<Result<String, String>>,
    data: Vec<u8>,
    timeout: Option<Duration>,
}

/// A document to write piece by piece; see [`Workspace::write_stream`].
#[must_use = "nothing is written before it is awaited"]
pub struct WriteStream {
    client: Client,
    open: pb::OpenDocument,
    metadata: Option<Result<String, String>>,
    source: Source,
    content_blake3: String,
    timeout: Option<Duration>,
}

macro_rules! writes {
    ($($write:ident),*) => {$(
        impl $write {
            /// Its media type; `application/octet-stream` when absent.
            pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
                self.open.media_type = media_type.into();
                self
            }

            /// Data of the caller's own, which becomes a JSON object.
            pub fn metadata(mut self, metadata: &impl Serialize) -> Self {
                self.metadata = Some(as_json(metadata));
                self
            }

            /// Refuses the change where the documents are others than in the version with this etag; an empty one is none.
            pub fn etag(mut self, etag: impl Into<String>) -> Self {
                self.open.etag = etag.into();
                self
            }

            /// Names the change, so that saying it twice makes it once.
            pub fn request_id(mut self, id: impl Into<String>) -> Self {
                self.open.request_id = id.into();
                self
            }

            /// How long all of it may take.
            pub fn timeout(mut self, limit: Duration) -> Self {
                self.timeout = Some(limit);
                self
            }
        }

        impl IntoFuture for $write {
            type Output = Result<Written>;
            type IntoFuture = BoxFuture<'static, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    )*};
}
writes!(Write, WriteStream);

impl Write {
    async fn run(self) -> Result<Written> {
        let limit = Limit::after(self.timeout);
        let open = pb::OpenDocument { metadata_json: metadata_json(self.metadata)?, ..self.open };
        if self.data.len() <= WHOLE_BYTES {
            return self.client.edited(whole(open, self.data), limit).await;
        }
        let data: Arc<[u8]> = self.data.into();
        let mut tries = Tries::default();
        loop {
            let pieces = cut(data.clone()).map(Ok).boxed();
            let failed = match self.client.sent(open.clone(), pieces, String::new(), limit).await {
                Ok(written) => return Ok(written),
                Err(error) => error,
            };
            let wait = tries.pause(failed, None, limit)?;
            limit.bound(tokio::time::sleep(wait)).await?;
        }
    }
}

impl WriteStream {
    /// The BLAKE3 of the content, in hexadecimal; another content is refused.
    pub fn content_blake3(mut self, hash: impl Into<String>) -> Self {
        self.content_blake3 = hash.into();
        self
    }

    async fn run(self) -> Result<Written> {
        let open = pb::OpenDocument { metadata_json: metadata_json(self.metadata)?, ..self.open };
        self.client.sent(open, self.source, self.content_blake3, Limit::after(self.timeout)).await
    }
}

impl Workspace {
    /// Writes a document of whatever size, new or over the one that is there; more than 1 MiB goes in pieces. A text goes as UTF-8.
    pub fn write(&self, name: impl Into<String>, data: impl Into<Vec<u8>>) -> Write {
        let (client, open) = (self.client(), self.opened(name.into()));
        Write { client, open, metadata: None, data: data.into(), timeout: None }
    }

    /// Writes a document in pieces of whatever size. It is there whole or not at all: an error of the source comes out as itself, and nothing is written
    /// then. Since a source is read once, the call is not repeated by itself.
    pub fn write_stream<B, E, S>(&self, name: impl Into<String>, source: S) -> WriteStream
    where
        B: Into<Vec<u8>>,
        E: Into<BoxError>,
        S: Stream<Item = Result<B, E>> + Send + 'static,
    {
        let (client, open) = (self.client(), self.opened(name.into()));
        let source = source.map(|piece| piece.map(Into::into).map_err(Into::into)).boxed();
        WriteStream { client, open, metadata: None, source, content_blake3: String::new(), timeout: None }
    }

    /// The same from what bytes are read from, such as a file of tokio's.
    pub fn write_from(&self, name: impl Into<String>, source: impl AsyncRead + Send + 'static) -> WriteStream {
        self.write_stream(name, pieces(source))
    }

    fn opened(&self, name: String) -> pb::OpenDocument {
        let (thread_id, request_id) = (self.thread_id().to_owned(), fresh());
        pb::OpenDocument { thread_id, name, request_id, ..pb::OpenDocument::default() }
    }
}

impl Client {
    /// Writes a document in pieces, once.
    async fn sent(
        &self,
        open: pb::OpenDocument,
        source: Source,
        content_blake3: String,
        limit: Limit,
    ) -> Result<Written> {
        let raised = Arc::new(Mutex::new(None));
        let sending = Sending {
            frames: VecDeque::from([frame(Part::Open(open))]),
            source: Some(source),
            waiting: Vec::new(),
            content_blake3,
            raised: raised.clone(),
        };
        let frames = futures_util::stream::unfold(sending, |mut sending| async move {
            sending.next().await.map(|frame| (frame, sending))
        });
        let mut stub = self.workspaces_service();
        let told = limit.bound(stub.stream_write_document(limit.request(frames))).await?;
        let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (told, raised) {
            (Ok(written), _) => Ok(Written::streamed(written.into_inner())),
            (Err(_), Some(raised)) => Err(Error::of(raised)),
            (Err(status), None) => Err(status.into()),
        }
    }
}

/// What is still to be said of a document that is written.
struct Sending {
    frames: VecDeque<pb::StreamWriteDocumentRequest>,
    source: Option<Source>,
    /// What came of it and fills no piece yet.
    waiting: Vec<u8>,
    content_blake3: String,
    raised: Arc<Mutex<Option<BoxError>>>,
}

impl Sending {
    async fn next(&mut self) -> Option<pb::StreamWriteDocumentRequest> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            match self.source.as_mut()?.next().await {
                Some(Ok(piece)) => {
                    self.waiting.extend(piece);
                    let rest = self.waiting.split_off(self.waiting.len() - self.waiting.len() % PIECE_BYTES);
                    let full = std::mem::replace(&mut self.waiting, rest);
                    self.frames.extend(full.chunks(PIECE_BYTES).map(|data| chunk(data.to_vec())));
                }
                Some(Err(error)) => {
                    // A stream that ends without `commit` writes nothing.
                    *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.source = None;
                }
                None => {
                    self.source = None;
                    let rest = std::mem::take(&mut self.waiting);
                    self.frames.extend((!rest.is_empty()).then(|| chunk(rest)));
                    let content_blake3 = std::mem::take(&mut self.content_blake3);
                    self.frames.push_back(frame(Part::Commit(pb::CommitDocument { content_blake3 })));
                }
            }
        }
    }
}

fn frame(part: Part) -> pb::StreamWriteDocumentRequest {
    pb::StreamWriteDocumentRequest { part: Some(part) }
}

fn chunk(data: Vec<u8>) -> pb::StreamWriteDocumentRequest {
    frame(Part::Chunk(pb::DocumentChunk { data }))
}

/// A document as the one change of a write.
fn whole(open: pb::OpenDocument, data: Vec<u8>) -> pb::WriteDocumentsRequest {
    let pb::OpenDocument { thread_id, name, media_type, metadata_json, etag, request_id } = open;
    let put = pb::PutDocument { name, media_type, data, metadata_json };
    let edits = vec![pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Put(put)) }];
    pb::WriteDocumentsRequest { thread_id, edits, etag, request_id }
}

/// Content in pieces that one message carries each.
fn cut(data: Arc<[u8]>) -> impl Stream<Item = Vec<u8>> {
    let starts = (0..data.len()).step_by(PIECE_BYTES);
    let piece = move |at: usize| {
        let rest = data.get(at..).unwrap_or_default();
        rest.get(..PIECE_BYTES).unwrap_or(rest).to_vec()
    };
    futures_util::stream::iter(starts.map(piece))
}

/// What is read from a source, in the pieces in which it comes.
fn pieces(source: impl AsyncRead + Send + 'static) -> impl Stream<Item = std::io::Result<Vec<u8>>> + Send {
    let source: Pin<Box<dyn AsyncRead + Send>> = Box::pin(source);
    futures_util::stream::unfold(Some(source), |source| async move {
        let mut source = source?;
        let mut space = vec![0; PIECE_BYTES];
        let read = std::future::poll_fn(|context| {
            let mut room = ReadBuf::new(&mut space);
            match source.as_mut().poll_read(context, &mut room) {
                Poll::Ready(told) => Poll::Ready(told.map(|()| room.filled().len())),
                Poll::Pending => Poll::Pending,
            }
        });
        match read.await {
            Ok(0) => None,
            Ok(length) => {
                space.truncate(length);
                Some((Ok(space), Some(source)))
            }
            Err(error) => Some((Err(error), None)),
        }
    })
}
