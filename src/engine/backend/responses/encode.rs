//! A call as the body of a request: settings first and input last, so that the body for a longer history begins with that for a shorter one.
//! It must not know connections.

use super::history::History;
use super::quirks::{EncryptedReasoning, Quirks, StructuredOutput};
use crate::domain::message::{Kind, Message, Role};
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::wire::{Body, Config, Recipient, number, reader, unsupported};
use crate::engine::backend::{Call, Failure, Outbound};

/// Fields that always come from the call. What a provider keeps of earlier calls has no place beside a history that is sent whole.
const OURS: [&str; 8] =
    ["model", "store", "input", "instructions", "stream", "previous_response_id", "conversation", "background"];

/// The form in which reasoning can be sent back to a provider that keeps nothing.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Longest name of a schema, and its characters, in the API's own words `a-z, A-Z, 0-9, or contain underscores and dashes`.
const MAX_SCHEMA_NAME: usize = 64;

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
    match (&call.session_id, quirks.session_field.as_deref()) {
        (Some(session_id), Some(field)) => body.key(field).text(session_id),
        (Some(_), None) => body.adapted.add("session_id_dropped"),
        (None, _) => {}
    }
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
    match parameters.parallel_tool_calls {
        Some(parallel) if has_tools && quirks.parallel_tool_calls => body.key("parallel_tool_calls").bool(parallel),
        Some(false) if has_tools => {
            let message = "this backend cannot be told to call one tool at a time";
            return Err(unsupported("parallel_tool_calls", message));
        }
        // Without tools it says nothing.
        Some(_) | None => {}
    }
    Ok(())
}

fn tools(quirks: &Quirks, tools: &[Tool], choice: &ToolChoice, body: &mut Body<'_>) -> Result<(), Failure> {
    if tools.is_empty() {
        return match choice {
            ToolChoice::Auto | ToolChoice::None => Ok(()),
            ToolChoice::Required | ToolChoice::Named(_) => {
                Err(unsupported("tool_choice", "a tool must be called and none is offered"))
            }
        };
    }
    if !quirks.tools {
        return Err(unsupported("tools", "this backend does not offer tools to its model"));
    }
    body.key("tools").open(b'[');
    for tool in tools {
        let schema = tool.input_schema_json.trim();
        if !schema.is_empty() && !reader::is_json(schema) {
            let message = format!("the input schema of the tool `{}` is not JSON", tool.name);
            return Err(unsupported("tools.input_schema_json", message));
        }
        let mut mended = false;
        body.out.object(|out| {
            out.key("type").text("function");
            out.key("name").text(&tool.name);
            if !tool.description.is_empty() {
                out.key("description").text(&tool.description);
            }
            // The API cannot do without a schema.
            let schema = if schema.is_empty() { r#"{"type":"object","properties":{}}"# } else { schema };
            mended = out.key("parameters").json(schema);
            out.key("strict").bool(quirks.strict_tools);
        });
        if mended {
            body.adapted.add("replaced_invalid_unicode");
        }
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
    if !reader::is_json(schema) {
        return Err(unsupported("contract.schema_json", "the schema of the contract is not JSON"));
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut sent: String = name.chars().map(allowed).take(MAX_SCHEMA_NAME).collect();
    if sent.is_empty() {
        sent.push_str("answer");
    } else if sent != *name {
        body.adapted.add("contract_name_changed");
    }
    let mut mended = false;
    body.key("text").object(|out| {
        out.key("format").object(|out| {
            out.key("type").text("json_schema");
            out.key("name").text(&sent);
            mended = out.key("schema").json(schema);
            if let Some(strict) = quirks.strict_schema {
                out.key("strict").bool(strict);
            }
        });
    });
    if mended {
        body.adapted.add("replaced_invalid_unicode");
    }
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
