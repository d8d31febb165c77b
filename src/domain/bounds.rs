//! Bounds of what a caller may bring, each with its key in the configuration, and what is told of something beyond one. What is said here is the
//! most that what is stored, the wire and the process bear; a server may be configured to take less. It must not know how that is read.

/// One bound: the most that is taken, and the key that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// The key in the configuration; absent for one that is fixed.
    pub key: Option<&'static str>,
    /// The most that is taken, in its unit.
    pub max: usize,
    /// The least that it can be set to.
    pub least: usize,
    /// What is counted: `count`, `bytes`, `characters`, `levels` or `steps`.
    pub unit: &'static str,
}

impl Most {
    const fn set(key: &'static str, least: usize, max: usize, unit: &'static str) -> Self {
        Self { key: Some(key), max, least, unit }
    }

    /// One that no configuration changes.
    pub const fn fixed(max: usize) -> Self {
        Self { key: None, max, least: 1, unit: "count" }
    }

    /// This one, or a fixed one that is less.
    #[must_use]
    pub fn or_fixed(self, max: usize) -> Self {
        if max < self.max { Self::fixed(max) } else { self }
    }

    /// What is to be told of so much; absent where it is taken.
    pub fn beyond(&self, value: usize) -> Option<Beyond> {
        (value > self.max).then_some(Beyond { key: self.key, max: self.max, value })
    }
}

impl From<usize> for Most {
    fn from(max: usize) -> Self {
        Self::fixed(max)
    }
}

/// Something that is beyond a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The key of the bound; absent for one that is fixed.
    pub key: Option<&'static str>,
    /// The most that is taken.
    pub max: usize,
    /// What was given.
    pub value: usize,
}

macro_rules! bounds {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $least:expr => $max:expr, $unit:literal;)*) => {
        /// The bounds of a server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Bounds {
            $($(#[$doc])* pub $name: Most,)*
        }

        impl Default for Bounds {
            fn default() -> Self {
                Self::CEILINGS
            }
        }

        impl Bounds {
            /// The most that any server takes.
            pub const CEILINGS: Self = Self { $($name: Most::set($key, $least, $max, $unit),)* };

            /// Each of them.
            pub fn all(&self) -> Vec<Most> {
                vec![$(self.$name,)*]
            }
        }
    };
}

bounds! {
    /// Parts of one message, or of one tool's result.
    parts = "max_message_parts", 1 => 256, "count";
    /// Messages of one request.
    messages = "max_request_messages", 1 => 1_024, "count";
    /// Messages of one recorded transcript, or of the run before a turn that was not captured.
    transcript = "max_transcript_messages", 1 => 16_384, "count";
    /// Results of tools in one request.
    results = "max_tool_results", 1 => 1_024, "count";
    /// Nesting of callers' JSON. What reads it later may recurse.
    json_levels = "max_json_levels", 1 => 127, "levels";
    /// Tools of one list.
    tools = "max_tools", 1 => 128, "count";
    /// Schema of one tool.
    tool_schema = "max_tool_schema_bytes", 1 => 64 * 1024, "bytes";
    /// Schema of a contract.
    contract_schema = "max_contract_schema_bytes", 1 => 256 * 1024, "bytes";
    /// Nesting of a schema, of contracts and of tools.
    schema_levels = "max_schema_levels", 1 => 64, "levels";
    /// Labels of one thing.
    labels = "max_labels", 1 => 64, "count";
    /// Branches of one fork.
    branches = "max_fork_branches", 1 => 64, "count";
    /// Ids that callers choose for what is new.
    id = "max_id_characters", OWN_ID => 128, "characters";
    /// Items of one page; less is given where more is asked for.
    page = "max_page_items", 1 => 1_000, "count";
    /// Items of one page of a graph; less is given where more is asked for.
    graph_page = "max_graph_page_items", 1 => 10_000, "count";
    /// Steps of rendering one section of a prompt.
    template_steps = "max_template_steps", 1 => 1_000_000, "steps";
    /// One section of a prompt as rendered.
    section = "max_section_bytes", 1 => 4 * 1024 * 1024, "bytes";
}

/// Length of the ids that the server makes, in characters: a UUID with hyphens. Callers send them back.
const OWN_ID: usize = 36;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_taken_and_one_more_is_told() {
        let parts = Bounds::default().parts;
        assert_eq!(parts.beyond(256), None);
        let beyond = Beyond { key: Some("max_message_parts"), max: 256, value: 257 };
        assert_eq!(parts.beyond(257), Some(beyond));
        assert_eq!(parts.or_fixed(256), parts);
        assert_eq!(parts.or_fixed(255).beyond(256), Some(Beyond { key: None, max: 255, value: 256 }));
    }
}
