//! What the API names and this server does not do yet: one list, from which refusals, the server's own account of itself and the checks of
//! the source are made. It must not hold anything that works.
//!
//! Fields and values are refused where requests are read. Every RPC is there.

#[cfg(test)]
mod tests;

/// Looking for tools in all that follows from an exchange.
pub const TOOLS_OF_SUBTREE: &str = "ToolService scope.subtree";
/// Looking for tools in the whole tree that the path of a thread is in.
pub const TOOLS_OF_THREAD_TREE: &str = "ToolService scope.thread_tree";

/// Fields and values of enums.
pub const FIELDS: &[&str] = &[TOOLS_OF_SUBTREE, TOOLS_OF_THREAD_TREE];

/// Reasons of errors that nothing produces yet.
pub const REASONS: &[&str] = &[];

/// Every feature that is refused, by name.
pub fn features() -> Vec<&'static str> {
    let mut features = FIELDS.to_vec();
    features.sort_unstable();
    features
}
