//! Stored forms of tools, tool sets and what a path has seen of them. It must not know when they are offered.

use std::collections::BTreeMap;

use super::{Malformed, Twin, exchange_id, hash, hash_bytes, id_bytes, stored, twin};
use crate::domain::drift::{Seen, Sighting};
use crate::domain::id::Hash;
use crate::domain::tool::{Tool, ToolSet};

stored!(Tool, twin::Tool);
stored!(ToolHashes, twin::ToolSet);
stored!(Seen, twin::Seen);

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

impl Twin<Seen> for twin::Seen {
    fn of(seen: &Seen) -> Self {
        let sighting = |(name, sighting): (&String, &Sighting)| twin::Sighting {
            name: name.clone(),
            schema_hash: hash_bytes(&sighting.schema),
            since: id_bytes(&sighting.since),
        };
        Self { tools: seen.tools().iter().map(sighting).collect() }
    }

    fn value(self) -> Result<Seen, Malformed> {
        let mut tools = BTreeMap::new();
        for tool in self.tools {
            let schema = hash(&tool.schema_hash, "tools.schema_hash")?;
            let since = exchange_id(&tool.since, "tools.since")?;
            tools.insert(tool.name, Sighting { schema, since });
        }
        Ok(Seen::new(tools))
    }
}
