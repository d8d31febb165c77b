//! Which part of the graph a verb is about, as it is typed. It must not know what is done with it.

use crate::grpc::pb;
use pb::graph_scope::Scope;

/// What can be typed.
#[derive(clap::Args, Debug)]
#[group(id = "part", multiple = false)]
pub(super) struct Part {
    /// The path to this exchange
    #[arg(long, short = 'e', value_name = "ID")]
    exchange: Option<String>,
    /// This exchange and all that follow from it
    #[arg(long, short = 'b', value_name = "ID")]
    below: Option<String>,
    /// The path to the head of this thread
    #[arg(long, short = 't', value_name = "ID")]
    thread: Option<String>,
    /// The whole tree that the path of this thread is in
    #[arg(long, value_name = "ID")]
    tree: Option<String>,
}

impl Part {
    /// What was typed, if anything.
    pub(super) fn build(self) -> Option<pb::GraphScope> {
        let scope = match self {
            Self { exchange: Some(exchange_id), .. } => Scope::Path(pb::PathScope { exchange_id }),
            Self { below: Some(exchange_id), .. } => Scope::Subtree(pb::SubtreeScope { exchange_id, max_steps: None }),
            Self { thread: Some(thread_id), .. } => Scope::ThreadPath(pb::ThreadPathScope { thread_id }),
            Self { tree: Some(thread_id), .. } => Scope::ThreadTree(pb::ThreadTreeScope { thread_id }),
            _ => return None,
        };
        Some(pb::GraphScope { scope: Some(scope) })
    }
}
