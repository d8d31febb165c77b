//! Counts of a history that does not fit a model: those that the provider's message has, in the words of several, and our own of what was
//! sent. It must not know how a provider is asked.

use crate::domain::fault::Fault;

/// What stands before the most tokens that the model takes.
const LIMIT: [&str; 5] = [
    "maximum context length is ",
    " tokens > ",
    "available context size (",
    "maximum number of tokens allowed (",
    "context window of ",
];
/// What stands before the tokens that were sent or asked for.
const ASKED: [&str; 6] =
    ["resulted in ", "you requested ", "requested about ", "too long: ", "request (", "input token count ("];

/// Adds the counts to a fault whose message has the provider's own. Those of the messages and bytes are of what was sent.
pub(crate) fn counted(fault: Fault, messages: usize, bytes: usize) -> Fault {
    let limit = number_after(&fault.message, &LIMIT);
    let asked = number_after(&fault.message, &ASKED);
    let fault = fault.with("messages", messages).with("request_bytes", bytes);
    let fault = with(fault, "provider_max_tokens", limit);
    with(fault, "provider_tokens", asked)
}

fn with(fault: Fault, key: &str, count: Option<u64>) -> Fault {
    match count {
        Some(count) => fault.with(key, count),
        None => fault,
    }
}

/// The first number that stands right after one of these.
fn number_after(text: &str, marks: &[&str]) -> Option<u64> {
    marks.iter().find_map(|mark| {
        let (_, rest) = text.split_once(mark)?;
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        digits.replace(',', "").parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::Reason;

    /// The words of OpenAI and vLLM, Anthropic, llama.cpp and Gemini.
    #[test]
    fn the_counts_of_several_providers_are_found() {
        let messages = [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
                8192,
                9001,
            ),
            (
                "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens (2000 in the messages, 100 in the completion).",
                2048,
                2100,
            ),
            ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310),
            ("request (5003 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 5003),
            (
                "The input token count (1,048,577) exceeds the maximum number of tokens allowed (1,048,576).",
                1_048_576,
                1_048_577,
            ),
        ];
        for (message, limit, asked) in messages {
            let fault = counted(Fault::new(Reason::ContextOverflow, format!("backend `b`: {message}")), 3, 40);
            let fact = |key: &str| fault.metadata.get(key).and_then(|value| value.parse::<u64>().ok());
            assert_eq!((fact("provider_max_tokens"), fact("provider_tokens")), (Some(limit), Some(asked)), "{message}");
            assert_eq!((fact("messages"), fact("request_bytes")), (Some(3), Some(40)));
        }
    }

    #[test]
    fn what_is_not_said_is_not_made_up() {
        let fault = counted(Fault::new(Reason::ContextOverflow, "the prompt is too long: shorten it"), 1, 2);
        assert_eq!(fault.metadata.keys().map(String::as_str).collect::<Vec<_>>(), ["messages", "request_bytes"]);
    }
}
