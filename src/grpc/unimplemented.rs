//! What the API names and this server does not do yet: one list, from which refusals, the server's own account of itself and the checks of
//! the source are made. It must not hold anything that works.
//!
//! Whole services are refused by [`Refused`], single RPCs of others by [`refuse`], fields and values where requests are read.

use tokio_stream::Empty;
use tonic::{Extensions, Request, Response, Status, Streaming};

use super::pb;
use super::status::{RequestId, status};
use crate::domain::fault::Fault;

#[cfg(test)]
mod tests;

/// RPCs of services that otherwise work.
pub const RPCS: &[&str] = &["ThreadService.Restore", "ThreadService.ListMoves", "AdminService.Reload"];

/// Looking for tools in all that follows from an exchange.
pub const TOOLS_OF_SUBTREE: &str = "ToolService scope.subtree";
/// Looking for tools in the whole tree that the path of a thread is in.
pub const TOOLS_OF_THREAD_TREE: &str = "ToolService scope.thread_tree";
/// Comparing documents.
pub const DIFF_DOCUMENTS: &str = "DIFF_ASPECT_DOCUMENTS";

/// Fields and values of enums.
pub const FIELDS: &[&str] = &[TOOLS_OF_SUBTREE, TOOLS_OF_THREAD_TREE, DIFF_DOCUMENTS];

/// Reasons of errors that nothing produces yet.
pub const REASONS: &[&str] = &["NO_RUN_IDS", "DOCUMENT_NOT_FOUND"];

/// Every feature that is refused, by name.
pub fn features() -> Vec<&'static str> {
    let mut features = [RPCS, FIELDS, WORKSPACE].concat();
    features.sort_unstable();
    features
}

/// The refusal of one RPC.
pub fn refuse(rpc: &'static str, extensions: &Extensions) -> Status {
    status(&Fault::not_implemented(rpc), RequestId::of(extensions))
}

/// The stream of an RPC that is refused before there is one.
pub type NoStream<T> = Empty<Result<T, Status>>;

/// Services of which nothing works yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refused;

macro_rules! refused {
    (
        $(#[$doc:meta])*
        $list:ident, $server:ident :: $service:ident {
            $(type $stream:ident = $item:ty;)*
            $($rpc:literal $method:ident($request:ty) -> $response:ty;)*
        }
    ) => {
        $(#[$doc])*
        pub const $list: &[&str] = &[$($rpc,)*];

        #[tonic::async_trait]
        impl pb::$server::$service for Refused {
            $(type $stream = NoStream<$item>;)*
            $(
                async fn $method(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                    Err(refuse($rpc, request.extensions()))
                }
            )*
        }
    };
}

refused! {
    /// RPCs of WorkspaceService.
    WORKSPACE, workspace_service_server::WorkspaceService {
        type StreamReadDocumentStream = pb::StreamReadDocumentResponse;
        "WorkspaceService.ListDocuments"
        list_documents(pb::ListDocumentsRequest) -> pb::ListDocumentsResponse;
        "WorkspaceService.ReadDocument"
        read_document(pb::ReadDocumentRequest) -> pb::ReadDocumentResponse;
        "WorkspaceService.StreamReadDocument"
        stream_read_document(pb::StreamReadDocumentRequest) -> Self::StreamReadDocumentStream;
        "WorkspaceService.DiffDocuments"
        diff_documents(pb::DiffDocumentsRequest) -> pb::DiffDocumentsResponse;
        "WorkspaceService.WriteDocuments"
        write_documents(pb::WriteDocumentsRequest) -> pb::WriteDocumentsResponse;
        "WorkspaceService.StreamWriteDocument"
        stream_write_document(Streaming<pb::StreamWriteDocumentRequest>) -> pb::StreamWriteDocumentResponse;
    }
}
