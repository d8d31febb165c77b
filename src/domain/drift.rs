//! Drift: a tool whose input schema is another one than the path had under its name before (S0-36). It must not know where what a path has
//! seen is kept.
//!
//! What a path has seen is a small map, from a tool's name to its last input schema and the exchange from which on it had that. Each exchange
//! names the map as it is after it, so that a turn finds its drifts by one lookup for each of its tools, whatever lies behind it and wherever
//! it departs.

use std::collections::BTreeMap;

use super::id::{ExchangeId, Hash};
use super::settings::Warning;
use super::tool::ToolSet;

/// How many names a map remembers. Beyond, those go first that have been as they are for the longest, since each new map is written whole:
/// a path that invents names forever must not cost more with every turn.
pub const MAX_SEEN: usize = 512;

/// The code of the warning.
pub const WARNING: &str = "tool_schema_drift";

/// What to do when a tool drifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// The call goes on, and its result says so.
    #[default]
    Warn,
    /// The call is refused before its claim.
    Refuse,
}

/// How a tool was, last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Its input schema.
    pub schema: Hash,
    /// The exchange from which on the path had it so.
    pub since: ExchangeId,
}

/// What a path has seen, by the names of the tools.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Seen {
    tools: BTreeMap<String, Sighting>,
}

/// What an exchange says of the tools that its path has seen, its own included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lineage {
    /// It was stored before this was kept.
    #[default]
    Unknown,
    /// None.
    Nothing,
    /// Those of the map with this hash.
    Seen(Hash),
}

/// A tool that drifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Its name.
    pub tool: String,
    /// How it was.
    pub before: Sighting,
    /// Its input schema now.
    pub schema: Hash,
}

impl Drift {
    /// What the caller should know: hashes and ids, no schema.
    pub fn warning(&self) -> Warning {
        let Self { tool, before, schema } = self;
        let message = format!(
            "tool `{tool}` has the input schema {schema}; from exchange {} on it had {}: calls and results of before were made for that one",
            before.since, before.schema
        );
        Warning { code: WARNING.to_owned(), message }
    }
}

impl Seen {
    /// From its entries.
    pub fn new(tools: BTreeMap<String, Sighting>) -> Self {
        Self { tools }
    }

    /// Its entries.
    pub fn tools(&self) -> &BTreeMap<String, Sighting> {
        &self.tools
    }

    /// Which tools of a call drifted, in the call's order.
    pub fn drifts(&self, offered: &ToolSet) -> Vec<Drift> {
        let drifted = |tool: &super::tool::Tool| {
            let before = *self.tools.get(&tool.name)?;
            let schema = tool.schema_hash();
            (before.schema != schema).then(|| Drift { tool: tool.name.clone(), before, schema })
        };
        offered.tools.iter().filter_map(drifted).collect()
    }

    /// The map after an exchange that offered these.
    #[must_use]
    pub fn after(mut self, offered: &ToolSet, exchange: ExchangeId) -> Self {
        for tool in &offered.tools {
            let schema = tool.schema_hash();
            if self.tools.get(&tool.name).is_none_or(|before| before.schema != schema) {
                self.tools.insert(tool.name.clone(), Sighting { schema, since: exchange });
            }
        }
        let too_many = self.tools.len().saturating_sub(MAX_SEEN);
        if too_many > 0 {
            // What this call offers stays: the next one most likely offers it too.
            let mut old: Vec<_> = self.tools.iter().filter(|(name, _)| offered.find(name).is_none()).collect();
            old.sort_unstable_by_key(|(name, sighting)| (sighting.since, *name));
            let old: Vec<String> = old.into_iter().take(too_many).map(|(name, _)| name.clone()).collect();
            for name in &old {
                self.tools.remove(name);
            }
        }
        self
    }

    /// Whether every tool of a set is there as it was last.
    pub fn has(&self, offered: &ToolSet) -> bool {
        offered
            .tools
            .iter()
            .all(|tool| self.tools.get(&tool.name).is_some_and(|seen| seen.schema == tool.schema_hash()))
    }

    /// Hash of the map; none for the empty one.
    pub fn hash(&self) -> Option<Hash> {
        if self.tools.is_empty() {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        for (name, sighting) in &self.tools {
            hasher.update(&(name.len() as u64).to_be_bytes());
            hasher.update(name.as_bytes());
            hasher.update(&sighting.schema.0);
            hasher.update(sighting.since.as_bytes());
        }
        Some(Hash(*hasher.finalize().as_bytes()))
    }

    /// How an exchange names the map.
    pub fn lineage(&self) -> Lineage {
        self.hash().map_or(Lineage::Nothing, Lineage::Seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::Tool;

    fn id(n: u128) -> ExchangeId {
        ExchangeId::new(uuid::Uuid::from_u128(n))
    }

    fn set(tools: &[(&str, &str)]) -> ToolSet {
        let tool = |(name, schema): &(&str, &str)| Tool {
            name: (*name).to_owned(),
            description: String::new(),
            input_schema_json: (*schema).to_owned(),
            side_effects: false,
            requires_human: false,
        };
        ToolSet { tools: tools.iter().map(tool).collect() }
    }

    fn drifted(seen: &Seen, offered: &ToolSet) -> Vec<(String, ExchangeId)> {
        seen.drifts(offered).into_iter().map(|drift| (drift.tool, drift.before.since)).collect()
    }

    #[test]
    fn another_schema_drifts_once_and_so_does_the_way_back() {
        let seen = Seen::default().after(&set(&[("a", "1"), ("b", "1")]), id(1));
        assert_eq!(drifted(&seen, &set(&[("a", "1"), ("c", "1")])), []);
        assert_eq!(drifted(&seen, &set(&[("b", "2"), ("a", "1")])), [("b".to_owned(), id(1))]);
        let seen = seen.after(&set(&[("b", "2")]), id(2));
        assert_eq!(drifted(&seen, &set(&[("b", "2")])), []);
        assert_eq!(drifted(&seen, &set(&[("b", "1"), ("a", "2")])), [("b".to_owned(), id(2)), ("a".to_owned(), id(1))]);
    }

    #[test]
    fn the_map_stays_the_same_while_nothing_is_new() {
        let (one, two) = (set(&[("a", "1")]), set(&[("b", "1")]));
        let seen = Seen::default().after(&one, id(1)).after(&two, id(2));
        let later = seen.clone().after(&one, id(3)).after(&two, id(4)).after(&ToolSet::default(), id(5));
        assert_eq!((later.hash(), later.has(&one)), (seen.hash(), true));
        assert_ne!(seen.hash(), seen.clone().after(&set(&[("a", "2")]), id(3)).hash());
        assert_eq!((Seen::default().lineage(), Seen::default().hash()), (Lineage::Nothing, None));
        let described = Tool { description: "else".to_owned(), ..one.tools[0].clone() };
        assert!(seen.has(&ToolSet { tools: vec![described] }), "only the input schema counts");
    }

    #[test]
    fn a_path_that_invents_names_forgets_the_oldest_and_none_that_it_offers() {
        let names: Vec<String> = (0..MAX_SEEN + 40).map(|n| format!("t{n}")).collect();
        let first = set(&[("kept", "1")]);
        let mut seen = Seen::default().after(&first, id(1));
        for (name, n) in names.iter().zip(2..) {
            seen = seen.after(&set(&[("kept", "1"), (name, "1")]), id(n));
        }
        assert_eq!(seen.tools().len(), MAX_SEEN);
        assert!(seen.has(&first) && !seen.tools().contains_key("t40") && seen.tools().contains_key("t41"));
    }

    #[test]
    fn a_warning_has_ids_and_hashes_and_no_schema() {
        let seen = Seen::default().after(&set(&[("a", r#"{"secret":1}"#)]), id(1));
        let drifts = seen.drifts(&set(&[("a", r#"{"secret":2}"#)]));
        let warning = drifts[0].warning();
        assert_eq!(warning.code, "tool_schema_drift");
        for part in ["`a`", &id(1).to_string(), &drifts[0].schema.to_string(), &drifts[0].before.schema.to_string()] {
            assert!(warning.message.contains(part), "{}", warning.message);
        }
        assert!(!warning.message.contains("secret"));
    }
}
