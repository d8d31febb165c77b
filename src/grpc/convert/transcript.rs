//! A line of an import of transcripts: `{"messages": [...]}` in the chat form, with what is known besides. It must not store anything.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chat;
use crate::grpc::pb;

/// A transcript.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// Its messages.
    pub(crate) messages: Vec<pb::Message>,
    /// What is known of its answers.
    pub(crate) facts: Vec<pb::RecordedFacts>,
    /// What a person would call it.
    pub(crate) name: String,
}

/// A line as exports of chats and training files have it. What else they have is not kept here, so it is refused by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    /// The model of every answer that names none.
    model: Option<String>,
    provider: Option<String>,
    #[serde(alias = "title")]
    name: Option<String>,
    /// A setting of calls that were made; nothing is made of it here.
    #[serde(rename = "parallel_tool_calls")]
    _parallel: Option<bool>,
}

/// What a message has besides what the chat form says.
#[derive(Deserialize)]
struct Known {
    model: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    completion_tokens: Option<u64>,
}

/// Reads a transcript. What is wrong is told without quoting what was said.
pub(crate) fn read(text: &str) -> Result<Transcript, String> {
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| {
        let form = r#"{"messages": [...]}"#;
        match error.classify() {
            serde_json::error::Category::Data => format!(
                "is not `{form}` with at most `tools`, `model`, `provider`, `name` and `parallel_tool_calls` beside, at character {}",
                error.column()
            ),
            _ => format!("is not JSON, at character {}", error.column()),
        }
    })?;
    let mut tools = match line.tools {
        None => None,
        Some(tools) => {
            Some(chat::tools(tools.get()).map_err(|_| "has `tools` that are not a list of functions".to_owned())?)
        }
    };
    let (mut messages, mut facts) = (Vec::new(), Vec::new());
    for (at, raw) in line.messages.iter().enumerate() {
        let (message, known) = message(raw.get()).map_err(|why| format!("has a message {at} that {why}"))?;
        let is_answer = message.role() == pb::Role::Assistant;
        chat::push(&mut messages, message);
        if is_answer {
            let index = u32::try_from(messages.len()).unwrap_or(u32::MAX).saturating_sub(1);
            facts.push(known.facts(index, &line.model, &line.provider, tools.take()));
        }
    }
    Ok(Transcript { messages, facts, name: line.name.unwrap_or_default() })
}

/// A message, and what is known of it. Training files mark messages with a `weight`, and chats speakers with a `name`, of which nothing is kept.
fn message(text: &str) -> Result<(pb::Message, Known), &'static str> {
    let mut keys: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|_| "is not an object")?;
    let known: Known = serde_json::from_str(text).map_err(|_| "has another `model` or `usage` than answers have")?;
    for ours in ["model", "usage", "weight", "name", "annotations", "audio"] {
        keys.remove(ours);
    }
    let text = serde_json::to_string(&keys).map_err(|_| "is not an object")?;
    let message =
        chat::message(&text).map_err(|_| "is not of the form `role` and `content`, or has a part of another kind")?;
    Ok((message, known))
}

impl Known {
    fn facts(
        self,
        message_index: u32,
        model: &Option<String>,
        provider: &Option<String>,
        tools: Option<pb::ToolList>,
    ) -> pb::RecordedFacts {
        let usage = self.usage.map(|tokens| pb::Usage {
            input_tokens: tokens.prompt_tokens,
            output_tokens: tokens.completion_tokens,
            completeness: pb::UsageCompleteness::Complete.into(),
            ..Default::default()
        });
        pb::RecordedFacts {
            message_index,
            model: self.model.or_else(|| model.clone()).unwrap_or_default(),
            provider: provider.clone().unwrap_or_default(),
            usage,
            tools,
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_line_is_a_transcript() {
        let line = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q","name":"ann"},
            {"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"w","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","content":"r"},{"role":"assistant","content":"a","weight":1,"model":"m2","usage":{"prompt_tokens":3,"completion_tokens":1}}],
            "tools":[{"type":"function","function":{"name":"w","parameters":{"type":"object"}}}],"model":"m","parallel_tool_calls":false}"#;
        let read = read(line).unwrap();
        assert_eq!((read.messages.len(), read.facts.len()), (5, 2));
        assert_eq!((read.facts[0].message_index, read.facts[0].model.as_str()), (2, "m"));
        assert!(read.facts[0].tools.is_some() && read.facts[1].tools.is_none(), "they stand from the first answer on");
        assert_eq!((read.facts[1].message_index, read.facts[1].model.as_str()), (4, "m2"));
        assert_eq!(read.facts[1].usage.as_ref().unwrap().input_tokens, Some(3));
    }

    #[test]
    fn what_is_wrong_is_told_without_what_was_said() {
        for line in [
            "secret",
            r#"{"messages":[{"role":"secret","content":"x"}]}"#,
            r#"{"messages":["secret"]}"#,
            r#"{"messages":[],"secret":1}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"secret"}]}]}"#,
        ] {
            let why = read(line).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
