//! What a call consumed. This API counts what was read from its cache and what was written to it beside the input; here both are parts of the
//! input, as they are everywhere else. It must not know prices, and makes no zero of what was not said.

use crate::domain::usage::Usage;
use crate::engine::backend::wire::{Grown, Object, settle};

/// The figures of an answer. A stream says them again as they grow, and the last figure of each counts.
#[derive(Debug, Default)]
pub(super) struct Figures {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    said: Grown,
    usage: Usage,
}

impl Figures {
    pub(super) fn take(&mut self, object: &Object<'_>) {
        let later = |name: &str, earlier: Option<u64>| object.count(name).or(earlier);
        self.input = later("input_tokens", self.input);
        self.output = later("output_tokens", self.output);
        self.cache_read = later("cache_read_input_tokens", self.cache_read);
        self.cache_written = later("cache_creation_input_tokens", self.cache_written);
        for (name, value) in object.fields() {
            self.said.set(name, value);
        }
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_written.unwrap_or(0));
        self.usage.input_tokens = self.input.map(|input| input.saturating_add(cached));
        self.usage.output_tokens = self.output;
        self.usage.cached_input_tokens = self.cache_read;
        self.usage.cache_written_tokens = self.cache_written;
        settle(&mut self.usage, &self.said.json());
    }

    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::usage::Completeness;
    use crate::engine::backend::wire::Value;

    fn usage(texts: &[&str]) -> Usage {
        let mut figures = Figures::default();
        for text in texts {
            figures.take(&Value::parse(text).unwrap().object().unwrap());
        }
        figures.usage().clone()
    }

    #[test]
    fn what_was_cached_is_a_part_of_the_input() {
        let text = r#"{"input_tokens":3,"cache_creation_input_tokens":1000,"cache_read_input_tokens":2000,"output_tokens":10}"#;
        let usage = usage(&[text]);
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(3_003), Some(10)));
        assert_eq!((usage.cached_input_tokens, usage.cache_written_tokens), (Some(2_000), Some(1_000)));
        assert_eq!((usage.completeness, usage.provider_json.as_str()), (Completeness::Complete, text));
    }

    #[test]
    fn the_last_figure_counts_and_a_missing_one_keeps_its_value() {
        let usage = usage(&[
            r#"{"input_tokens":25,"output_tokens":1,"cache_read_input_tokens":100,"server_tool_use":null}"#,
            r#"{"output_tokens":15,"server_tool_use":{"web_search_requests":2}}"#,
        ]);
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(125), Some(15)));
        let said = r#"{"input_tokens":25,"output_tokens":15,"cache_read_input_tokens":100,"server_tool_use":{"web_search_requests":2}}"#;
        assert_eq!(usage.provider_json, said);
    }

    #[test]
    fn nothing_said_is_unknown_and_half_is_partial() {
        assert_eq!(usage(&["{}"]), Usage::default());
        assert_eq!(usage(&[r#"{"output_tokens":7}"#]).completeness, Completeness::Partial);
    }
}
