//! Tools and sets of tools, named by their content, and which are offered when. It must not know who runs them.

use super::id::Hash;

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name, unique in its set.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments, verbatim.
    pub input_schema_json: String,
    /// Using it changes something outside.
    pub side_effects: bool,
    /// A person answers it.
    pub requires_human: bool,
}

impl Tool {
    /// Hash of the input schema, as written.
    pub fn schema_hash(&self) -> Hash {
        Hash::of(self.input_schema_json.as_bytes())
    }

    /// Hash of everything about the tool.
    pub fn hash(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        for field in [&self.name, &self.description, &self.input_schema_json] {
            hasher.update(&(field.len() as u64).to_be_bytes());
            hasher.update(field.as_bytes());
        }
        hasher.update(&[u8::from(self.side_effects), u8::from(self.requires_human)]);
        Hash(*hasher.finalize().as_bytes())
    }
}

/// The tools of one call, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ToolSet {
    /// The tools.
    pub tools: Vec<Tool>,
}

impl ToolSet {
    /// Hash of the set; none for the empty set.
    pub fn hash(&self) -> Option<Hash> {
        if self.tools.is_empty() {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        for tool in &self.tools {
            hasher.update(&tool.hash().0);
        }
        Some(Hash(*hasher.finalize().as_bytes()))
    }

    /// The tool of a name.
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// Which tools a call offers, and which stand for the next one that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Offer {
    /// Offered in this call.
    pub offered: ToolSet,
    /// Offered by the next call that names none.
    pub standing: ToolSet,
}

/// Decides what is offered and what stands (S0-5..7, S0-31).
///
/// `asked` are the tools of the request or its prompt: absent offers what stands, empty offers none, a list offers that. `standing` is what
/// the request wants to stand from now on. `inherited` is what stood before: the history's or the thread's; absent at a root.
/// At a root, what is offered stands.
pub fn offer(asked: Option<ToolSet>, standing: Option<ToolSet>, inherited: Option<ToolSet>) -> Offer {
    let stood = standing.or(inherited);
    match (asked, stood) {
        (Some(offered), Some(standing)) => Offer { offered, standing },
        (Some(offered), None) => Offer { standing: offered.clone(), offered },
        (None, Some(standing)) => Offer { offered: standing.clone(), standing },
        (None, None) => Offer::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> ToolSet {
        let tool = |name: &&str| Tool {
            name: (*name).to_owned(),
            description: String::new(),
            input_schema_json: "{}".to_owned(),
            side_effects: false,
            requires_human: false,
        };
        ToolSet { tools: names.iter().map(tool).collect() }
    }

    #[test]
    fn absent_offers_what_stands() {
        let offer = offer(None, None, Some(set(&["a"])));
        assert_eq!((offer.offered, offer.standing), (set(&["a"]), set(&["a"])));
    }

    #[test]
    fn an_empty_list_offers_none_for_this_turn_only() {
        let offer = offer(Some(set(&[])), None, Some(set(&["a"])));
        assert_eq!((offer.offered, offer.standing), (set(&[]), set(&["a"])));
    }

    #[test]
    fn a_list_overrides_for_this_turn_only() {
        let offer = offer(Some(set(&["b"])), None, Some(set(&["a"])));
        assert_eq!((offer.offered, offer.standing), (set(&["b"]), set(&["a"])));
    }

    #[test]
    fn at_a_root_what_is_offered_stands() {
        let offer = offer(Some(set(&["a"])), None, None);
        assert_eq!(offer.standing, set(&["a"]));
    }

    #[test]
    fn standing_tools_change_what_stands() {
        let offer = offer(None, Some(set(&["c"])), Some(set(&["a"])));
        assert_eq!((offer.offered, offer.standing), (set(&["c"]), set(&["c"])));
    }

    #[test]
    fn hashes_depend_on_content_and_order() {
        assert_eq!(set(&[]).hash(), None);
        assert_ne!(set(&["a", "b"]).hash(), set(&["b", "a"]).hash());
        assert_eq!(set(&["a"]).hash(), set(&["a"]).hash());
    }
}
