//! What a call consumed. This API counts thoughts beside the output, and what tools of its own put into the prompt beside the input; here both are
//! parts of them. It must not know prices, and makes no zero of what was not said.

use crate::domain::usage::Usage;
use crate::engine::backend::wire::{Object, settle};

/// Reads the figures of an answer, or of a chunk, each of which has all of them as they are by then.
pub(super) fn read(object: &Object<'_>, verbatim: &str, usage: &mut Usage) {
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    let thoughts = object.count("thoughtsTokenCount");
    let input = sum(object.count("promptTokenCount"), object.count("toolUsePromptTokenCount"));
    let total = object.count("totalTokenCount");
    // The API leaves out figures that are zero. Its own total tells one from a figure that nobody gave.
    let rest = || total.zip(input).and_then(|(total, input)| total.checked_sub(input));
    let output = sum(object.count("candidatesTokenCount"), thoughts).or_else(rest);
    usage.input_tokens = input.or(usage.input_tokens);
    usage.output_tokens = output.or(usage.output_tokens);
    usage.total_tokens = total.or(usage.total_tokens);
    usage.cached_input_tokens = object.count("cachedContentTokenCount").or(usage.cached_input_tokens);
    usage.reasoning_tokens = thoughts.or(usage.reasoning_tokens);
    settle(usage, verbatim);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::wire::Value;

    fn figures(texts: &[&str]) -> [Option<u64>; 5] {
        let mut u = Usage::default();
        for text in texts {
            read(&Value::parse(text).unwrap().object().unwrap(), text, &mut u);
        }
        [u.input_tokens, u.output_tokens, u.total_tokens, u.cached_input_tokens, u.reasoning_tokens]
    }

    #[test]
    fn the_parts_add_up_to_the_total_that_the_provider_states() {
        for (text, expected) in [
            (
                r#"{"promptTokenCount":15,"candidatesTokenCount":1,"thoughtsTokenCount":52,"totalTokenCount":68}"#,
                [Some(15), Some(53), Some(68), None, Some(52)],
            ),
            (
                r#"{"promptTokenCount":500,"candidatesTokenCount":120,"toolUsePromptTokenCount":300,
                "thoughtsTokenCount":10,"cachedContentTokenCount":400,"totalTokenCount":930}"#,
                [Some(800), Some(130), Some(930), Some(400), Some(10)],
            ),
            (r#"{"promptTokenCount":7,"totalTokenCount":7}"#, [Some(7), Some(0), Some(7), None, None]),
            (r#"{"promptTokenCount":7}"#, [Some(7), None, None, None, None]),
        ] {
            assert_eq!(figures(&[text]), expected, "{text}");
        }
    }

    #[test]
    fn the_last_chunk_counts() {
        let chunks = [
            r#"{"promptTokenCount":7,"totalTokenCount":7}"#,
            r#"{"promptTokenCount":7,"candidatesTokenCount":9,"totalTokenCount":16}"#,
        ];
        assert_eq!(figures(&chunks)[..3], [Some(7), Some(9), Some(16)]);
    }
}
