//! Parts of the graph in requests. It must not know who walks them.

use super::{Path, Problems, id, problem};
use crate::app::graph::Scope;
use crate::grpc::pb;

/// A part of the graph.
pub fn from_pb(scope: pb::GraphScope, at: &Path<'_>, problems: &mut Problems) -> Option<Scope> {
    use pb::graph_scope::Scope as Given;
    let exchange = |text: &str, name: &str, problems: &mut Problems| {
        id::required(text, &at.field(name).field("exchange_id"), problems)
    };
    let thread = |text: &str, name: &str, problems: &mut Problems| {
        id::required(text, &at.field(name).field("thread_id"), problems)
    };
    match problem::required(scope.scope, "`path`, `subtree`, `thread_path` or `thread_tree`", at, problems)? {
        Given::Path(path) => exchange(&path.exchange_id, "path", problems).map(Scope::Path),
        Given::Subtree(subtree) => {
            exchange(&subtree.exchange_id, "subtree", problems).map(|id| Scope::Subtree(id, subtree.max_steps))
        }
        Given::ThreadPath(path) => thread(&path.thread_id, "thread_path", problems).map(Scope::Thread),
        Given::ThreadTree(tree) => thread(&tree.thread_id, "thread_tree", problems).map(Scope::Tree),
    }
}

/// A part of the graph that may be left out.
pub fn optional_from_pb(
    scope: Option<pb::GraphScope>,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Option<Scope>> {
    match scope {
        None => Some(None),
        Some(scope) => from_pb(scope, at, problems).map(Some),
    }
}
