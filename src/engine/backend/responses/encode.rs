//! A call as the body of a request: settings first and input last, so that the body for a longer history begins with that for a shorter one.
//! It must not know connections.

use super::history::History;
use super::quirks::{EncryptedReasoning, Quirks, StructuredOutput};
use crate::domain::message::{Kind, Message, Role};
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::wire::{Body, Config, Recipient, number, offer, unsupported};
use crate::engine::backend::{Call, Failure, Outbound};

/// Fields that always come from the call. What a provider keeps of earlier calls has no place beside a history that is sent whole.
const OURS: [&str; 8] =
    ["model", "store", "input", "instructions", "stream", "previous_response_id", "conversation", "background"];

/// The form in which reasoning can be sent back to a provider that keeps nothing.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// The call in this dialect.
pub(super) fn encode(config: &Config<Quirks>, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
    let quirks = &config.quirks;
    let stream = call.stream && quirks.stream;
    let mut body = Body::new(&OURS);
    if call.stream && !stream {
        body.adapted.add("not_streamed");
    }
    body.out.key("model").text(&call.model);
    body.out.key("store").bool(false);
    if stream {
        body.out.key("stream").bool(true);
    }
    reasoning(quirks, call.parameters.reasoning_effort.as_deref(), &mut body);
    parameters(quirks, &call.parameters, !call.tools.is_empty(), &mut body)?;
    body.session(call.session_id.as_deref(), quirks.session_field.as_deref());
    tools(quirks, &call.tools, &call.tool_choice, &mut body)?;
    contract(quirks, &call.contract, &mut body)?;
    body.extra(call.parameters.extra_json.as_deref())?;
    let (instructions, messages) = instructions(quirks, &call.messages);
    if let Some(texts) = instructions {
        let first = call.messages.first().map(|first| first.parts.as_slice()).unwrap_or_default();
        if first.iter().any(|part| part.cache_marker.is_some()) {
            body.adapted.add("cache_markers_dropped");
        }
        if texts.len() > 1 {
            body.adapted.add("texts_joined");
        }
        body.out.key("instructions").joined(texts);
    }
    body.out.key("input").open(b'[');
    History::new(quirks, to).write(messages, &mut body.out, &mut body.adapted)?;
    body.out.close(b']');
    Ok(body.finish(stream, &call.model))
}

fn reasoning(quirks: &Quirks, effort: Option<&str>, body: &mut Body<'_>) {
    let asked = match quirks.encrypted_reasoning {
        EncryptedReasoning::Always => true,
        EncryptedReasoning::WithEffort => effort.is_some(),
        EncryptedReasoning::Never => false,
    };
    if asked {
        body.key("include").array(|out| out.text(ENCRYPTED));
    }
    let summary = quirks.reasoning_summary.as_deref();
    if effort.is_none() && summary.is_none() {
        return;
    }
    body.key("reasoning").object(|out| {
        if let Some(effort) = effort {
            out.key("effort").text(effort);
        }
        if let Some(summary) = summary {
            out.key("summary").text(summary);
        }
    });
}

fn parameters(quirks: &Quirks, parameters: &Parameters, has_tools: bool, body: &mut Body<'_>) -> Result<(), Failure> {
    if let Some(temperature) = parameters.temperature {
        let number = number("temperature", temperature)?;
        body.key("temperature").number(number);
    }
    if let Some(top_p) = parameters.top_p {
        let number = number("top_p", top_p)?;
        body.key("top_p").number(number);
    }
    if let Some(limit) = parameters.max_output_tokens {
        body.key("max_output_tokens").number(limit);
    }
    let has_none = |field: &str| {
        let message = format!("the Responses API has no `{field}`; a server that knows one takes it in `extra_json`");
        unsupported(field, message)
    };
    if !parameters.stop_sequences.is_empty() {
        return Err(has_none("stop_sequences"));
    }
    if parameters.seed.is_some() {
        return Err(has_none("seed"));
    }
    body.parallel_tool_calls(parameters.parallel_tool_calls, has_tools, quirks.parallel_tool_calls)
}

fn tools(quirks: &Quirks, tools: &[Tool], choice: &ToolChoice, body: &mut Body<'_>) -> Result<(), Failure> {
    if !offer::sends_tools(tools, choice, quirks.tools)? {
        return Ok(());
    }
    body.key("tools").open(b'[');
    for tool in tools {
        let schema = offer::input_schema(tool)?.unwrap_or(offer::ANY_OBJECT);
        body.out.object(|out| {
            out.key("type").text("function");
            offer::name_and_description(&tool.name, tool, out);
            out.key("parameters").json(schema);
            out.key("strict").bool(quirks.strict_tools);
        });
    }
    body.out.close(b']');
    match choice {
        ToolChoice::Auto => {}
        ToolChoice::None => body.key("tool_choice").text("none"),
        ToolChoice::Required => body.key("tool_choice").text("required"),
        ToolChoice::Named(name) => body.key("tool_choice").object(|out| {
            out.key("type").text("function");
            out.key("name").text(name);
        }),
    }
    Ok(())
}

fn contract(quirks: &Quirks, contract: &Contract, body: &mut Body<'_>) -> Result<(), Failure> {
    let (name, schema) = match (contract, quirks.structured_output) {
        (Contract::Text, _) => return Ok(()),
        (Contract::Json | Contract::JsonSchema { .. }, StructuredOutput::None) => {
            body.adapted.add("contract_not_sent");
            return Ok(());
        }
        (Contract::Json, _) => return json_object(body),
        (Contract::JsonSchema { .. }, StructuredOutput::JsonObject) => {
            body.adapted.add("schema_not_sent");
            return json_object(body);
        }
        (Contract::JsonSchema { name, schema_json }, StructuredOutput::JsonSchema) => (name, schema_json),
    };
    let schema = offer::contract_schema(schema)?;
    let sent = offer::schema_name(name, &mut body.adapted);
    body.key("text").object(|out| {
        out.key("format").object(|out| {
            out.key("type").text("json_schema");
            out.key("name").text(&sent);
            out.key("schema").json(schema);
            if let Some(strict) = quirks.strict_schema {
                out.key("strict").bool(strict);
            }
        });
    });
    Ok(())
}

fn json_object(body: &mut Body<'_>) -> Result<(), Failure> {
    body.key("text").object(|out| out.key("format").object(|out| out.key("type").text("json_object")));
    Ok(())
}

/// The texts of a first message of the system, where they go apart, and the messages after it.
fn instructions<'a>(quirks: &Quirks, messages: &'a [Message]) -> (Option<Vec<&'a str>>, &'a [Message]) {
    let Some((first, rest)) =
        messages.split_first().filter(|(first, _)| quirks.instructions && first.role == Role::System)
    else {
        return (None, messages);
    };
    let texts = first.parts.iter().map(|part| match &part.kind {
        Kind::Text(text) => Some(text.as_str()),
        _ => None,
    });
    // What is no text stays a message, which says so.
    texts.collect::<Option<Vec<&str>>>().map_or((None, messages), |texts| (Some(texts), rest))
}

#[cfg(test)]
mod tests;
