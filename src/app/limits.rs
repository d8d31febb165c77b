//! Limits of the verbs, each named with its unit. It must not know how they are configured.

use serde::Deserialize;

use crate::domain::bounds::{Bounds, Most};

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
    /// Parts of one message, or of one tool's result.
    pub max_message_parts: usize,
    /// Messages of one request.
    pub max_request_messages: usize,
    /// Messages of one recorded transcript, or of the run before a turn that was not captured.
    pub max_transcript_messages: usize,
    /// Results of tools in one request.
    pub max_tool_results: usize,
    /// Levels of nesting of callers' JSON.
    pub max_json_levels: usize,
    /// Tools of one list, in a request or a prompt's file.
    pub max_tools: usize,
    /// Bytes of the schema of one tool.
    pub max_tool_schema_bytes: usize,
    /// Bytes of the schema of a contract.
    pub max_contract_schema_bytes: usize,
    /// Levels of nesting of a schema, of contracts and of tools.
    pub max_schema_levels: usize,
    /// Labels of one thing.
    pub max_labels: usize,
    /// Branches of one fork.
    pub max_fork_branches: usize,
    /// Characters of ids that callers choose for what is new.
    pub max_id_characters: usize,
    /// Items of one page of a list.
    pub max_page_items: usize,
    /// Items of one page of a graph.
    pub max_graph_page_items: usize,
    /// Steps of rendering one section of a prompt.
    pub max_template_steps: usize,
    /// Bytes of one section of a prompt as rendered.
    pub max_section_bytes: usize,
}

impl Limits {
    /// What a caller may bring.
    pub fn bounds(&self) -> Bounds {
        let set = |most: Most, max| Most { max, ..most };
        let all = Bounds::CEILINGS;
        Bounds {
            parts: set(all.parts, self.max_message_parts),
            messages: set(all.messages, self.max_request_messages),
            transcript: set(all.transcript, self.max_transcript_messages),
            results: set(all.results, self.max_tool_results),
            json_levels: set(all.json_levels, self.max_json_levels),
            tools: set(all.tools, self.max_tools),
            tool_schema: set(all.tool_schema, self.max_tool_schema_bytes),
            contract_schema: set(all.contract_schema, self.max_contract_schema_bytes),
            schema_levels: set(all.schema_levels, self.max_schema_levels),
            labels: set(all.labels, self.max_labels),
            branches: set(all.branches, self.max_fork_branches),
            id: set(all.id, self.max_id_characters),
            page: set(all.page, self.max_page_items),
            graph_page: set(all.graph_page, self.max_graph_page_items),
            template_steps: set(all.template_steps, self.max_template_steps),
            section: set(all.section, self.max_section_bytes),
        }
    }

    /// What is wrong with them: each key, and what.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let ceilings = Bounds::CEILINGS.all();
        let of = |(set, ceiling): (Most, Most)| {
            let (value, range) = (set.max, ceiling.least..=ceiling.max);
            let what = format!("is {value}: it must be {} to {}", range.start(), range.end());
            (!range.contains(&value)).then_some((set.key?, what))
        };
        self.bounds().all().into_iter().zip(ceilings).filter_map(of).collect()
    }

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
            max_message_parts: Bounds::CEILINGS.parts.max,
            max_request_messages: Bounds::CEILINGS.messages.max,
            max_transcript_messages: Bounds::CEILINGS.transcript.max,
            max_tool_results: Bounds::CEILINGS.results.max,
            max_json_levels: Bounds::CEILINGS.json_levels.max,
            max_tools: Bounds::CEILINGS.tools.max,
            max_tool_schema_bytes: Bounds::CEILINGS.tool_schema.max,
            max_contract_schema_bytes: Bounds::CEILINGS.contract_schema.max,
            max_schema_levels: Bounds::CEILINGS.schema_levels.max,
            max_labels: Bounds::CEILINGS.labels.max,
            max_fork_branches: Bounds::CEILINGS.branches.max,
            max_id_characters: Bounds::CEILINGS.id.max,
            max_page_items: Bounds::CEILINGS.page.max,
            max_graph_page_items: Bounds::CEILINGS.graph_page.max,
            max_template_steps: Bounds::CEILINGS.template_steps.max,
            max_section_bytes: Bounds::CEILINGS.section.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_set_between_its_least_and_what_can_be_borne() {
        assert!(Limits::default().problems().is_empty());
        assert_eq!(Limits::default().bounds(), Bounds::CEILINGS);
        let least = Limits { max_tools: 1, max_id_characters: 36, ..Limits::default() };
        assert_eq!((least.problems(), least.bounds().tools.max), (Vec::new(), 1));
        let wrong = Limits { max_tools: 0, max_id_characters: 35, max_labels: 65, ..Limits::default() };
        let told: Vec<String> = wrong.problems().into_iter().map(|(key, what)| format!("{key} {what}")).collect();
        let expected = [
            "max_tools is 0: it must be 1 to 128",
            "max_labels is 65: it must be 1 to 64",
            "max_id_characters is 35: it must be 36 to 128",
        ];
        assert_eq!(told, expected);
    }
}
