//! WorkspaceService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::time::timeout;
use tonic::{Request, Response, Status, Streaming};

use super::call::Call;
use super::convert::workspace::{self as convert, MAX_CHUNK, Part};
use super::page::Query;
use super::pb::workspace_service_server::WorkspaceService;
use super::{fingerprint, pb, position, status};
use crate::app::App;
use crate::app::thread::Repeatable;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Hash;
use crate::domain::workspace::Root;

/// WorkspaceService.
pub(super) struct Workspaces {
    app: Arc<App>,
}

impl Workspaces {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn list(&self, call: &Call, request: pb::ListDocumentsRequest) -> Result<pb::ListDocumentsResponse, Fault> {
        let list = convert::list_from_pb(request)?;
        let query = Query::new("WorkspaceService.ListDocuments", &call.caller.namespace)
            .with(&format!("{:?}", list.at))
            .with(&list.prefix);
        let after = query.position(&list.page_token)?.map(|bytes| position::documents(&bytes)).transpose()?;
        let page = self.app.list_documents(&call.caller, &list.at, &list.prefix, after, list.page_size);
        let page = page.await?;
        let root = page.version.root;
        Ok(pb::ListDocumentsResponse {
            documents: page.documents.into_iter().map(convert::document_to_pb).collect(),
            version: Some(convert::version_to_pb(page.version)),
            next_page_token: page
                .next
                .map_or_else(String::new, |name| query.token(&position::of_documents(&[root], &name))),
        })
    }

    async fn diff(&self, call: &Call, request: pb::DiffDocumentsRequest) -> Result<pb::DiffDocumentsResponse, Fault> {
        use crate::app::workspace::Version;
        let diff = convert::diff_from_pb(request)?;
        let query = Query::new("WorkspaceService.DiffDocuments", &call.caller.namespace)
            .with(&format!("{:?} {:?} {}", diff.left, diff.right, diff.unified))
            .with(&diff.prefix);
        let from = query.position(&diff.page_token)?.map(|bytes| position::two_documents(&bytes)).transpose()?;
        // Later pages are of the same versions, whatever was written since.
        let (left, right, after) = match from {
            Some(([left, right], name)) => (Version::Root(left), Version::Root(right), Some(name)),
            None => (diff.left, diff.right, None),
        };
        let sides = (&left, &right);
        let (page, left, right) = self
            .app
            .diff_documents(&call.caller, sides, &diff.prefix, after.as_deref(), diff.unified, diff.page_size)
            .await?;
        let roots = [left.root, right.root];
        Ok(pb::DiffDocumentsResponse {
            documents: page.pairs.into_iter().map(convert::pair_to_pb).collect(),
            left: Some(convert::version_to_pb(left)),
            right: Some(convert::version_to_pb(right)),
            next_page_token: page
                .next
                .map_or_else(String::new, |name| query.token(&position::of_documents(&roots, &name))),
        })
    }

    async fn write(
        &self,
        call: &Call,
        request: pb::WriteDocumentsRequest,
    ) -> Result<pb::WriteDocumentsResponse, Fault> {
        let fingerprint = fingerprint::write_documents(&request);
        let write = convert::write_from_pb(request)?;
        let repeat = Repeatable { request_id: write.request_id, fingerprint };
        let etag = write.etag.as_deref();
        let written = self.app.write_documents(&call.caller, &write.thread_id, &write.edits, etag, &repeat).await?;
        Ok(pb::WriteDocumentsResponse {
            version: Some(convert::version_to_pb(written.version)),
            documents: written.documents.into_iter().map(convert::document_to_pb).collect(),
            replayed: written.replayed,
        })
    }

    async fn take(
        &self,
        call: &Call,
        mut inbound: Streaming<pb::StreamWriteDocumentRequest>,
    ) -> Result<pb::StreamWriteDocumentResponse, Fault> {
        let Some(Part::Open(opened)) = next(&self.app, call, &mut inbound).await? else {
            return Err(out_of_order("is not `open`: the first message says what is written"));
        };
        let fingerprint = |content: Hash| fingerprint::stream_write_document(&opened, content);
        let mut writer = self.app.open_writer(&call.caller, opened.clone()).await?;
        let expected = loop {
            match next(&self.app, call, &mut inbound).await? {
                Some(Part::Chunk(data)) => self.app.push_document(&call.caller, &mut writer, &data).await?,
                Some(Part::Commit(expected)) => break expected,
                Some(Part::Open(_)) => {
                    return Err(out_of_order("is `open` again: a stream writes one document, so open another stream"));
                }
                None => {
                    return Err(out_of_order(
                        "is missing: the stream ended without `commit`, so nothing was written; send the document again",
                    ));
                }
            }
        };
        if next(&self.app, call, &mut inbound).await?.is_some() {
            return Err(out_of_order("came after `commit`, which is the last: nothing was written"));
        }
        let written = self.app.commit_document(&call.caller, writer, expected, fingerprint).await?;
        Ok(pb::StreamWriteDocumentResponse {
            version: Some(convert::version_to_pb(written.version)),
            document: written.documents.into_iter().next().map(convert::document_to_pb),
            replayed: written.replayed,
        })
    }

    async fn open(
        &self,
        call: Call,
        request: pb::StreamReadDocumentRequest,
    ) -> Result<BoxStream<'static, Result<pb::StreamReadDocumentResponse, Status>>, Fault> {
        let (read, offset) = convert::stream_read_from_pb(request)?;
        let (document, version, pieces) = self.app.open_document(&call.caller, &read.at, &read.name).await?;
        if offset > document.size_bytes {
            let message = format!("is beyond the end: the document has {} bytes", document.size_bytes);
            return Err(Fault::field("offset", message));
        }
        let root = version.root;
        let opened = pb::DocumentOpened {
            document: Some(convert::document_to_pb(document)),
            version: Some(convert::version_to_pb(version)),
        };
        let reading = Reading {
            app: Arc::clone(&self.app),
            call,
            opened: Some(opened),
            root,
            pieces: pieces.into(),
            skip: offset,
            rest: Bytes::new(),
        };
        Ok(Box::pin(futures::stream::unfold(Some(reading), |reading| async move {
            let mut reading = reading?;
            let call = reading.call.clone();
            match call.until_deadline(reading.next()).await {
                Ok(Some(part)) => Some((Ok(pb::StreamReadDocumentResponse { part: Some(part) }), Some(reading))),
                Ok(None) => None,
                Err(fault) => Some((Err(call.status(&fault)), None)),
            }
        })))
    }
}

/// A document on its way to its reader, who is waited for: one piece is in memory.
struct Reading {
    app: Arc<App>,
    call: Call,
    opened: Option<pb::DocumentOpened>,
    /// The version that it is of.
    root: Root,
    pieces: VecDeque<Hash>,
    /// Bytes to leave out before the next one.
    skip: u64,
    rest: Bytes,
}

impl Reading {
    async fn next(&mut self) -> Result<Option<pb::stream_read_document_response::Part>, Fault> {
        use pb::stream_read_document_response::Part as Told;
        if let Some(opened) = self.opened.take() {
            return Ok(Some(Told::Opened(opened)));
        }
        while self.rest.is_empty() {
            let Some(piece) = self.pieces.pop_front() else { return Ok(None) };
            self.rest = self.app.document_piece(&self.call.caller, self.root, piece).await?;
            let skip = usize::try_from(self.skip).unwrap_or(usize::MAX).min(self.rest.len());
            self.skip -= u64::try_from(skip).unwrap_or(u64::MAX);
            self.rest = self.rest.split_off(skip);
        }
        let data = self.rest.split_to(self.rest.len().min(MAX_CHUNK));
        Ok(Some(Told::Chunk(pb::DocumentChunk { data })))
    }
}

/// How long the writer of a document may be silent: what came of it is in memory meanwhile.
const SILENCE: Duration = Duration::from_secs(60);

/// What the writer of a document says next; absent when it ended its side.
async fn next(
    app: &App,
    call: &Call,
    inbound: &mut Streaming<pb::StreamWriteDocumentRequest>,
) -> Result<Option<Part>, Fault> {
    let said = tokio::select! {
        said = timeout(SILENCE, inbound.message()) => said,
        fault = app.shutdown() => return Err(fault),
    };
    let Ok(said) = said else {
        let message =
            format!("nothing came for {} seconds, so nothing was written: send the document again", SILENCE.as_secs());
        return Err(Fault::new(Reason::Deadline, message));
    };
    match said {
        Ok(Some(message)) => call.read(|| convert::part_from_pb(message)).map(Some),
        Ok(None) => Ok(None),
        Err(broken) if broken.code() == tonic::Code::OutOfRange || broken.code() == tonic::Code::ResourceExhausted => {
            let message = format!("is too large for one message: send chunks of up to {MAX_CHUNK} bytes");
            Err(Fault::field("chunk.data", message))
        }
        Err(broken) => Err(call.unreadable(&broken).unwrap_or_else(|| {
            Fault::new(Reason::RunCancelled, "the stream broke, so nothing was written: send the document again")
        })),
    }
}

fn out_of_order(message: &str) -> Fault {
    Fault::field("part", message)
}

#[tonic::async_trait]
impl WorkspaceService for Workspaces {
    type StreamReadDocumentStream = BoxStream<'static, Result<pb::StreamReadDocumentResponse, Status>>;

    async fn list_documents(
        &self,
        request: Request<pb::ListDocumentsRequest>,
    ) -> Result<Response<pb::ListDocumentsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.list(&call, request.into_inner())).await
    }

    async fn read_document(
        &self,
        request: Request<pb::ReadDocumentRequest>,
    ) -> Result<Response<pb::ReadDocumentResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let read = convert::read_from_pb(request.into_inner())?;
            let (document, version, data) = self.app.read_document(&call.caller, &read.at, &read.name).await?;
            Ok(pb::ReadDocumentResponse {
                document: Some(convert::document_to_pb(document)),
                data,
                version: Some(convert::version_to_pb(version)),
            })
        })
        .await
    }

    async fn stream_read_document(
        &self,
        request: Request<pb::StreamReadDocumentRequest>,
    ) -> Result<Response<Self::StreamReadDocumentStream>, Status> {
        let call = Call::of(&request)?;
        let request_id = call.request_id.clone();
        match call.until_deadline(self.open(call.clone(), request.into_inner())).await {
            Ok(stream) => Ok(status::response(stream, request_id.as_ref(), None)),
            Err(fault) => Err(call.status(&fault)),
        }
    }

    async fn diff_documents(
        &self,
        request: Request<pb::DiffDocumentsRequest>,
    ) -> Result<Response<pb::DiffDocumentsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.diff(&call, request.into_inner())).await
    }

    async fn write_documents(
        &self,
        request: Request<pb::WriteDocumentsRequest>,
    ) -> Result<Response<pb::WriteDocumentsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.write(&call, request.into_inner())).await
    }

    async fn stream_write_document(
        &self,
        request: Request<Streaming<pb::StreamWriteDocumentRequest>>,
    ) -> Result<Response<pb::StreamWriteDocumentResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(self.take(&call, request.into_inner())).await
    }
}
