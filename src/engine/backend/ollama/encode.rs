//! A call as the body of a request: settings first and messages last, so that the body for a longer history begins with that for a shorter
//! one. It must not know connections.

use super::history::History;
use super::options;
use super::quirks::{Quirks, StructuredOutput};
use crate::domain::settings::{Contract, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::wire::{Body, Config, Recipient, in_order_of_calls, offer, unsupported};
use crate::engine::backend::{Call, Failure, Outbound};

/// Fields that always come from the call.
const OURS: [&str; 4] = ["model", "messages", "stream", "options"];

/// The call in this dialect.
pub(super) fn encode(config: &Config<Quirks>, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
    let quirks = &config.quirks;
    let stream = call.stream && quirks.stream;
    let extra = call.parameters.extra_json.as_deref();
    let mut body = Body::new(&OURS);
    if call.stream && !stream {
        body.adapted.add("not_streamed");
    }
    body.out.key("model").text(&call.model);
    // Left out, it is true.
    body.out.key("stream").bool(stream);
    if let Some(effort) = call.parameters.reasoning_effort.as_deref() {
        let think = body.key("think");
        match effort {
            "none" | "false" => think.bool(false),
            "true" => think.bool(true),
            level => think.text(level),
        }
    }
    if call.parameters.parallel_tool_calls == Some(false) && !call.tools.is_empty() {
        return Err(unsupported("parallel_tool_calls", "this dialect cannot be told to call one tool at a time"));
    }
    if call.session_id.is_some() {
        body.adapted.add("session_id_dropped");
    }
    tools(quirks, &call.tools, &call.tool_choice, &mut body)?;
    format(quirks, &call.contract, &mut body)?;
    options::write(&quirks.options, &call.parameters, extra, &mut body)?;
    body.extra_except(extra, &[options::FIELD])?;
    // Without ids, a result is known by its place.
    let ordered = in_order_of_calls(&call.messages);
    if ordered.is_some() {
        body.adapted.add("tool_results_reordered");
    }
    let messages = ordered.as_ref().unwrap_or(&call.messages);
    body.out.key("messages").open(b'[');
    History::new(quirks, to).write(messages, &mut body.out, &mut body.adapted)?;
    body.out.close(b']');
    Ok(body.finish(stream, &call.model))
}

fn tools(quirks: &Quirks, tools: &[Tool], choice: &ToolChoice, body: &mut Body<'_>) -> Result<(), Failure> {
    if tools.is_empty() {
        return offer::sends_tools(tools, choice, quirks.tools).map(drop);
    }
    match choice {
        ToolChoice::Required | ToolChoice::Named(_) => {
            return Err(unsupported("tool_choice", "this dialect cannot be told that a tool must be called"));
        }
        ToolChoice::None => {
            // What the model does not see it cannot call.
            body.adapted.add("tools_not_sent");
            return Ok(());
        }
        ToolChoice::Auto => {}
    }
    offer::sends_tools(tools, choice, quirks.tools)?;
    body.key("tools").open(b'[');
    for tool in tools {
        let schema = offer::input_schema(tool)?.unwrap_or(offer::ANY_OBJECT);
        body.out.object(|out| {
            out.key("type").text("function");
            out.key("function").object(|out| {
                offer::name_and_description(&tool.name, tool, out);
                out.key("parameters").json(schema);
            });
        });
    }
    body.out.close(b']');
    Ok(())
}

fn format(quirks: &Quirks, contract: &Contract, body: &mut Body<'_>) -> Result<(), Failure> {
    match (contract, quirks.structured_output) {
        (Contract::Text, _) => {}
        (Contract::Json | Contract::JsonSchema { .. }, StructuredOutput::None) => body.adapted.add("contract_not_sent"),
        (Contract::Json, _) => body.key("format").text("json"),
        (Contract::JsonSchema { .. }, StructuredOutput::Json) => {
            body.adapted.add("schema_not_sent");
            body.key("format").text("json");
        }
        (Contract::JsonSchema { schema_json, .. }, StructuredOutput::JsonSchema) => {
            body.key("format").json(offer::contract_schema(schema_json)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
