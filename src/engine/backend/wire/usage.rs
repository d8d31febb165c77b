//! What a call consumed, from wherever servers say it that use OpenAI's words for it. It must not know prices, and makes no zero of what was not said.

use crate::domain::usage::Usage;
use crate::engine::backend::wire::{Value, settle};

/// Reads a usage object over what was known: the last figure of each field counts, and one that is missing keeps its earlier value.
pub(crate) fn read(value: Value<'_>, usage: &mut Usage) {
    let Some(object) = value.object() else { return };
    let one_of = |names: [&str; 2]| names.into_iter().find_map(|name| object.count(name));
    let detail = |group: [&str; 2], names: [&str; 2]| {
        let details = group.into_iter().find_map(|group| object.object(group))?;
        names.into_iter().find_map(|name| details.count(name))
    };
    let input_details = ["prompt_tokens_details", "input_tokens_details"];
    let output_details = ["completion_tokens_details", "output_tokens_details"];
    let cached = detail(input_details, ["cached_tokens", "cache_read_input_tokens"])
        .or_else(|| one_of(["prompt_cache_hit_tokens", "cached_tokens"]))
        .or_else(|| object.count("cache_read_input_tokens"));
    let written = detail(input_details, ["cache_write_tokens", "cache_creation_tokens"])
        .or_else(|| object.count("cache_creation_input_tokens"));
    let reasoning = detail(output_details, ["reasoning_tokens", "thinking_tokens"])
        .or_else(|| one_of(["reasoning_tokens", "thinking_tokens"]));
    let input = one_of(["prompt_tokens", "input_tokens"]);
    let mut output = one_of(["completion_tokens", "output_tokens"]);
    let total = object.count("total_tokens");
    // Some providers count reasoning beside the output; their own total shows it.
    if let (Some(input), Some(written), Some(reasoning), Some(total)) = (input, output, reasoning, total)
        && reasoning > 0
        && input.checked_add(written).and_then(|sum| sum.checked_add(reasoning)) == Some(total)
    {
        output = written.checked_add(reasoning);
    }
    usage.input_tokens = input.or(usage.input_tokens);
    usage.output_tokens = output.or(usage.output_tokens);
    usage.total_tokens = total.or(usage.total_tokens);
    usage.cached_input_tokens = cached.or(usage.cached_input_tokens);
    usage.cache_written_tokens = written.or(usage.cache_written_tokens);
    usage.reasoning_tokens = reasoning.or(usage.reasoning_tokens);
    settle(usage, value.raw());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::usage::Completeness;

    fn usage(texts: &[&str]) -> Usage {
        let mut usage = Usage::default();
        for text in texts {
            read(Value::parse(text).unwrap(), &mut usage);
        }
        usage
    }

    fn figures(text: &str) -> [Option<u64>; 6] {
        let u = usage(&[text]);
        let cache = [u.cached_input_tokens, u.cache_written_tokens];
        [u.input_tokens, u.output_tokens, u.total_tokens, cache[0], cache[1], u.reasoning_tokens]
    }

    #[test]
    fn details_in_the_forms_of_several_providers() {
        for (text, expected) in [
            (
                r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,
                "prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},
                "completion_tokens_details":{"reasoning_tokens":3}}"#,
                [Some(10), Some(5), Some(15), Some(4), Some(2), Some(3)],
            ),
            (
                r#"{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":7,"prompt_cache_miss_tokens":3}"#,
                [Some(10), Some(5), None, Some(7), None, None],
            ),
            (
                r#"{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":6,"cache_creation_input_tokens":1}"#,
                [Some(10), Some(5), None, Some(6), Some(1), None],
            ),
            (r#"{"prompt_tokens":"many","completion_tokens":-1}"#, [None; 6]),
        ] {
            assert_eq!(figures(text), expected, "{text}");
        }
    }

    #[test]
    fn reasoning_beside_the_output_is_output() {
        let beside = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,
            "completion_tokens_details":{"reasoning_tokens":20}}"#;
        assert_eq!(figures(beside)[1], Some(25));
        let within = r#"{"prompt_tokens":10,"completion_tokens":25,"total_tokens":35,
            "completion_tokens_details":{"reasoning_tokens":20}}"#;
        assert_eq!(figures(within)[1], Some(25));
    }

    #[test]
    fn the_last_figure_of_a_field_counts_and_a_missing_one_keeps_its_value() {
        let sum = usage(&[r#"{"prompt_tokens":10,"completion_tokens":1}"#, r#"{"completion_tokens":9}"#]);
        assert_eq!((sum.input_tokens, sum.output_tokens), (Some(10), Some(9)));
        assert_eq!(sum.provider_json, r#"{"completion_tokens":9}"#);
    }

    #[test]
    fn nothing_said_is_unknown_and_half_is_partial() {
        assert_eq!(usage(&["{}"]), Usage::default());
        assert_eq!(usage(&[r#"{"total_tokens":7}"#]).completeness, Completeness::Partial);
    }
}
