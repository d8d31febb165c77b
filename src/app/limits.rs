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
    /// Runs that wait for another one on the same thread.
    pub max_queued_per_thread: usize,
    /// Results of uncaptured runs that are kept in memory for repeated calls.
    pub max_remembered_results: usize,
    /// Bytes of messages in those results, all together.
    pub max_remembered_bytes: usize,
    /// Bytes of one page of an inspected history.
    pub max_page_bytes: usize,
    /// Documents of one workspace.
    pub max_workspace_documents: u64,
    /// Bytes of the documents of one workspace.
    pub max_workspace_bytes: u64,
    /// Bytes of one document.
    pub max_document_bytes: u64,
    /// Streams of coordinations that are attached at once, over all namespaces.
    pub max_coordination_streams: usize,
    /// Hours after which a coordination that waits and that nothing is attached to is cancelled; 0 for never.
    pub coordination_expiry_hours: u64,
    /// Minutes for which a prepared execution can be executed, when its caller says nothing.
    pub prepared_expiry_minutes: u64,
    /// Hours for which a prepared execution can be executed at most.
    pub max_prepared_hours: u64,
    /// Seconds after which a stream of a coordination on which nothing happens is told that the server is there.
    pub coordination_heartbeat_seconds: u64,
    /// Seconds for which a turn of a coordination waits for a client that does not read its answer; then it goes on, and does not wait again
    /// before the client has read.
    pub coordination_patience_seconds: u64,
}

impl Limits {
    /// How long a coordination may be left alone, in milliseconds.
    pub(super) fn coordination_expiry_ms(&self) -> Option<u64> {
        (self.coordination_expiry_hours > 0).then(|| self.coordination_expiry_hours.saturating_mul(3_600_000))
    }

    /// How long a stream of a coordination may be silent.
    pub(super) fn coordination_heartbeat(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.coordination_heartbeat_seconds.max(1))
    }

    /// How long a turn waits for a client that does not read.
    pub(super) fn coordination_patience(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.coordination_patience_seconds)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_history_exchanges: 100_000,
            max_history_bytes: 64 * 1024 * 1024,
            max_runs: 10_000,
            max_queued_per_thread: 64,
            max_remembered_results: 256,
            max_remembered_bytes: 32 * 1024 * 1024,
            // Under the 4 MiB that gRPC clients take by default.
            max_page_bytes: 2 * 1024 * 1024,
            max_workspace_documents: 10_000,
            max_workspace_bytes: 1024 * 1024 * 1024,
            max_document_bytes: 64 * 1024 * 1024,
            max_coordination_streams: 20_000,
            // A person who answers comes back from a holiday.
            coordination_expiry_hours: 30 * 24,
            prepared_expiry_minutes: 60,
            max_prepared_hours: 7 * 24,
            // Proxies close what is silent for a minute.
            coordination_heartbeat_seconds: 20,
            // The turn keeps its place at the backend meanwhile.
            coordination_patience_seconds: 30,
        }
    }
}
