//! Stored forms of tools and tool sets. It must not know when they are offered.

use super::{Malformed, Twin, hash, hash_bytes, stored, twin};
use crate::domain::id::Hash;
use crate::domain::tool::{Tool, ToolSet};

stored!(Tool, twin::Tool);
stored!(ToolHashes, twin::ToolSet);

/// A tool set by the hashes of its tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolHashes(pub(crate) Vec<Hash>);

impl ToolHashes {
    /// Of a set.
    pub(crate) fn new(set: &ToolSet) -> Self {
        Self(set.tools.iter().map(Tool::hash).collect())
    }
}

impl Twin<ToolHashes> for twin::ToolSet {
    fn of(hashes: &ToolHashes) -> Self {
        Self { tools: hashes.0.iter().map(hash_bytes).collect() }
    }

    fn value(self) -> Result<ToolHashes, Malformed> {
        self.tools.iter().map(|bytes| hash(bytes, "tools")).collect::<Result<_, _>>().map(ToolHashes)
    }
}

impl Twin<Tool> for twin::Tool {
    fn of(tool: &Tool) -> Self {
        Self {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema_json: tool.input_schema_json.clone(),
            side_effects: tool.side_effects,
            requires_human: tool.requires_human,
        }
    }

    fn value(self) -> Result<Tool, Malformed> {
        Ok(Tool {
            name: self.name,
            description: self.description,
            input_schema_json: self.input_schema_json,
            side_effects: self.side_effects,
            requires_human: self.requires_human,
        })
    }
}
