//! Tools and sets of tools, named by their content, and which are offered when. It must not know who runs them.

use super::bounds::{Bounds, Most};
use super::id::Hash;

/// Longest name, in characters: what every provider takes.
pub const MAX_NAME: usize = 64;
/// Longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 16 * 1024;

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
    /// What is wrong with it as it is written, wherever it is defined: each field by its name in the API, and what is wrong. Whether its
    /// schema is one, is not looked at.
    pub fn problems(&self, bounds: &Bounds) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = self.name.chars().count();
        if !(1..=MAX_NAME).contains(&length) || !self.name.chars().all(allowed) {
            let what =
                format!("must be 1 to {MAX_NAME} characters of A-Z, a-z, 0-9, `_`, `-` and `.`, and has {length}");
            problems.push(("name", what));
        }
        for (field, text, max) in [
            ("description", &self.description, MAX_DESCRIPTION),
            ("input_schema_json", &self.input_schema_json, bounds.tool_schema.max),
        ] {
            if text.len() > max {
                let what = format!("is {} bytes long: at most {max} are taken; shorten it", text.len());
                problems.push((field, what));
            }
        }
        problems
    }

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
    /// What is wrong with the number of its tools, wherever it is defined; absent where nothing is.
    pub fn too_many(count: usize, most: Most) -> Option<String> {
        let beyond = most.beyond(count)?;
        Some(format!("has {count} tools: at most {} are taken; offer fewer", beyond.max))
    }

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
    fn the_most_of_a_tool_is_taken_and_one_more_is_not() {
        let of = |name: usize, description: usize, schema: usize| {
            let tool = Tool {
                name: "n".repeat(name),
                description: "d".repeat(description),
                input_schema_json: "s".repeat(schema),
                side_effects: false,
                requires_human: false,
            };
            tool.problems(&Bounds::default())
                .into_iter()
                .map(|(field, what)| format!("{field} {what}"))
                .collect::<Vec<_>>()
        };
        let Bounds { tool_schema: Most { max: schema, .. }, tools, .. } = Bounds::default();
        assert_eq!(of(MAX_NAME, MAX_DESCRIPTION, schema), [""; 0]);
        assert_eq!(of(1, 0, 0), [""; 0]);
        let name = "name must be 1 to 64 characters of A-Z, a-z, 0-9, `_`, `-` and `.`, and has ";
        assert_eq!(of(0, 0, 0), [format!("{name}0")]);
        let wrong = [
            format!("{name}65"),
            "description is 16385 bytes long: at most 16384 are taken; shorten it".to_owned(),
            "input_schema_json is 65537 bytes long: at most 65536 are taken; shorten it".to_owned(),
        ];
        assert_eq!(of(MAX_NAME + 1, MAX_DESCRIPTION + 1, schema + 1), wrong);
        assert_eq!(ToolSet::too_many(128, tools), None);
        assert_eq!(ToolSet::too_many(129, tools).unwrap(), "has 129 tools: at most 128 are taken; offer fewer");
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
