//! Limits of the verbs, each named with its unit. It must not know how they are configured.

use serde::Deserialize;

/// What a call may ask for at most.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model calls on one path.
    pub max_history_exchanges: u64,
    /// Bytes of messages on one path, as stored, that are read for one call.
    pub max_history_bytes: usize,
    /// Runs at work or queued at once, over all namespaces.
    pub max_runs: usize,
    /// Results of uncaptured runs that are kept in memory for repeated calls.
    pub max_remembered_results: usize,
    /// Bytes of messages in those results, all together.
    pub max_remembered_bytes: usize,
    /// Bytes of one page of an inspected history.
    pub max_page_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_history_exchanges: 100_000,
            max_history_bytes: 64 * 1024 * 1024,
            max_runs: 10_000,
            max_remembered_results: 256,
            max_remembered_bytes: 32 * 1024 * 1024,
            // Under the 4 MiB that gRPC clients take by default.
            max_page_bytes: 2 * 1024 * 1024,
        }
    }
}
