//! What the API names and this server does not do yet: one list, from which refusals, the server's own account of itself and the checks of
//! the source are made. It must not hold anything that works.
//!
//! RPCs are refused by [`refuse`], fields and values where requests are read.

use tokio_stream::Empty;
use tonic::{Extensions, Status};

use super::status::{RequestId, status};
use crate::domain::fault::Fault;

#[cfg(test)]
mod tests;

/// RPCs.
pub const RPCS: &[&str] = &[
    "AdminService.Stats",
    "AdminService.Export",
    "AdminService.Import",
    "AdminService.Backup",
    "AdminService.Erase",
    "AdminService.GetEraseReceipt",
    "AdminService.CreatePin",
    "AdminService.DeletePin",
    "AdminService.ListPins",
    "AdminService.SetExpiry",
    "AdminService.ListExpiries",
    "AdminService.CollectGarbage",
];

/// Verifying a part of the graph.
pub const VERIFY_SCOPE: &str = "verify.scope";

/// Looking for tools in all that follows from an exchange.
pub const TOOLS_OF_SUBTREE: &str = "ToolService scope.subtree";
/// Looking for tools in the whole tree that the path of a thread is in.
pub const TOOLS_OF_THREAD_TREE: &str = "ToolService scope.thread_tree";

/// Fields and values of enums.
pub const FIELDS: &[&str] = &[VERIFY_SCOPE, TOOLS_OF_SUBTREE, TOOLS_OF_THREAD_TREE];

/// Reasons of errors that nothing produces yet.
pub const REASONS: &[&str] = &["EXCHANGE_ERASED", "ERASE_SHARED"];

/// Every feature that is refused, by name.
pub fn features() -> Vec<&'static str> {
    let mut features = [RPCS, FIELDS].concat();
    features.sort_unstable();
    features
}

/// The refusal of one RPC.
pub fn refuse(rpc: &'static str, extensions: &Extensions) -> Status {
    status(&Fault::not_implemented(rpc), RequestId::of(extensions))
}

/// The stream of an RPC that is refused before there is one.
pub type NoStream<T> = Empty<Result<T, Status>>;
