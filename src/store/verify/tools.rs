//! Verifying tools, their sets, and what paths have seen of them. It must not know branches.

use bytes::Bytes;

use super::Check;
use super::look::{Look, decode};
use crate::domain::drift::{Lineage, Seen};
use crate::domain::exchange::Exchange;
use crate::domain::id::Hash;
use crate::domain::tool::Tool;
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::ToolHashes;

/// So many tool sets are remembered as right; more are looked up again.
const REMEMBERED_SETS: usize = 4096;

impl Check<'_> {
    pub(super) async fn tool_set(&self, hash: Hash, raw: &Bytes) -> Result<Vec<String>, Error> {
        let hashes: ToolHashes = match decode(&Entry::ToolSet(hash), raw) {
            Ok(hashes) => hashes,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        for tool in &hashes.0 {
            if !self.is_there(&Entry::Tool(*tool)).await? {
                problems.push(format!("its tool {tool} is missing"));
            }
        }
        if problems.is_empty() {
            match self.ledger.tool_set(self.ns, Some(hash)).await {
                Ok(set) if set.hash() == Some(hash) => {}
                Ok(_) => problems.push("its tools do not have its hash".to_owned()),
                // A tool of its own is damaged, and found there.
                Err(Error::Corrupt(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(problems)
    }

    pub(super) fn tool(hash: Hash, raw: &Bytes) -> Vec<String> {
        match decode::<Tool>(&Entry::Tool(hash), raw) {
            Ok(tool) if tool.hash() == hash => Vec::new(),
            Ok(_) => vec!["it does not have its hash".to_owned()],
            Err(unreadable) => vec![unreadable.to_string()],
        }
    }

    pub(super) async fn seen(&self, hash: Hash, raw: &Bytes) -> Result<Vec<String>, Error> {
        let seen: Seen = match decode(&Entry::Seen(hash), raw) {
            Ok(seen) => seen,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if seen.hash() != Some(hash) {
            problems.push("it does not have its hash".to_owned());
        }
        for sighting in seen.tools().values() {
            self.expect_exchange(&mut problems, "an exchange that had one of its tools,", Some(sighting.since)).await?;
        }
        Ok(problems)
    }

    /// An exchange has seen what it offered.
    pub(super) async fn lineage(&mut self, problems: &mut Vec<String>, exchange: &Exchange) -> Result<(), Error> {
        let hash = match (exchange.lineage, exchange.offered) {
            (Lineage::Seen(hash), _) => hash,
            (Lineage::Nothing, Some(_)) => {
                problems.push("it says that its path has seen no tool, and it offered some".to_owned());
                return Ok(());
            }
            (Lineage::Nothing, None) | (Lineage::Unknown, _) => return Ok(()),
        };
        // The hash of nothing is none, so it stands for a call without tools.
        let pair = (exchange.offered.unwrap_or(Hash([0; 32])), hash);
        if self.agreed.contains(&pair) {
            return Ok(());
        }
        let seen = match self.look::<Seen>(&Entry::Seen(hash)).await? {
            Look::Found(seen) => seen,
            Look::Missing => {
                problems.push(format!("the tools {hash} that its path has seen are missing"));
                return Ok(());
            }
            Look::Broken => return Ok(()),
        };
        match self.ledger.tool_set(self.ns, exchange.offered).await {
            Ok(offered) if seen.has(&offered) => {}
            Ok(_) => {
                problems.push("a tool that it offered is not as in what its path has seen".to_owned());
                return Ok(());
            }
            // It is found under its own key.
            Err(Error::Corrupt(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        if self.agreed.len() >= REMEMBERED_SETS {
            self.agreed.clear();
        }
        self.agreed.insert(pair);
        Ok(())
    }

    pub(super) async fn set(&mut self, problems: &mut Vec<String>, hash: Hash) -> Result<(), Error> {
        if self.sets.contains(&hash) {
            return Ok(());
        }
        if !self.is_there(&Entry::ToolSet(hash)).await? {
            problems.push(format!("the tool set {hash} that it names is missing"));
            return Ok(());
        }
        if self.sets.len() >= REMEMBERED_SETS {
            self.sets.clear();
        }
        self.sets.insert(hash);
        Ok(())
    }
}
