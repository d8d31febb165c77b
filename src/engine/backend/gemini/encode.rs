//! A call as the body of a request: settings first and contents last, so that the body for a longer history begins with that for a
//! shorter one. It must not know connections.

use super::history::History;
use super::quirks::{Quirks, Schemas, Thinking};
use super::schema;
use crate::domain::message::Role;
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::wire::{
    Body, Recipient, Writer, extra_fields, in_order_of_calls, number, offer, quoted, reader, unsupported,
};
use crate::engine::backend::{Call, Failure, Outbound};

/// Fields that always come from the call, and the other spelling of one that is merged.
const OURS: [&str; 5] = ["contents", "model", "systemInstruction", "system_instruction", "generation_config"];

/// Where parameters go.
const CONFIG: &str = "generationConfig";

/// The call in this dialect.
pub(super) fn encode(quirks: &Quirks, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
    let stream = call.stream && quirks.stream;
    let mut encoder = Encoder { quirks, body: Body::new(&OURS), config: Vec::new() };
    if call.stream && !stream {
        encoder.body.adapted.add("not_streamed");
    }
    if call.session_id.is_some() {
        encoder.body.adapted.add("session_id_dropped");
    }
    let extra = call.parameters.extra_json.as_deref();
    encoder.parameters(&call.parameters)?;
    encoder.contract(&call.contract, !call.tools.is_empty())?;
    encoder.generation_config(extra)?;
    encoder.tools(call)?;
    encoder.body.extra_except(extra, &[CONFIG])?;
    let ordered = in_order_of_calls(&call.messages);
    if ordered.is_some() {
        encoder.body.adapted.add("tool_results_reordered");
    }
    let messages = ordered.as_ref().unwrap_or(&call.messages);
    let first = messages.iter().take_while(|message| message.role == Role::System).count();
    let (system, messages) = messages.split_at(first);
    let Body { out, adapted, .. } = &mut encoder.body;
    let history = History::new(quirks, to);
    history.system(system, out, adapted)?;
    history.write(messages, first, out, adapted)?;
    Ok(encoder.body.finish(stream, &call.model))
}

struct Encoder<'a> {
    quirks: &'a Quirks,
    body: Body<'a>,
    /// The fields of `generationConfig`, as JSON.
    config: Vec<(&'static str, String)>,
}

impl Encoder<'_> {
    fn set(&mut self, key: &'static str, value: impl std::fmt::Display) {
        self.config.push((key, value.to_string()));
    }

    fn parameters(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        if let Some(temperature) = parameters.temperature {
            self.set("temperature", number("temperature", temperature)?);
        }
        if let Some(top_p) = parameters.top_p {
            self.set("topP", number("top_p", top_p)?);
        }
        if let Some(limit) = parameters.max_output_tokens {
            self.set("maxOutputTokens", limit);
        }
        if !parameters.stop_sequences.is_empty() {
            let stops: Vec<String> = parameters.stop_sequences.iter().map(|stop| quoted(stop)).collect();
            self.set("stopSequences", format!("[{}]", stops.join(",")));
        }
        match parameters.seed {
            Some(seed) if self.quirks.seed => self.set("seed", seed),
            Some(_) => return Err(unsupported("seed", "this backend has no `seed`")),
            None => {}
        }
        self.thinking(parameters.reasoning_effort.as_deref())
    }

    fn thinking(&mut self, effort: Option<&str>) -> Result<(), Failure> {
        let mut fields = Vec::new();
        match (effort, self.quirks.thinking) {
            (None, _) => {}
            (Some(effort), Thinking::Level) => fields.push(format!("\"thinkingLevel\":{}", quoted(effort))),
            (Some(effort), Thinking::Budget) => {
                let Some(budget) = self.quirks.thinking_budgets.get(effort) else {
                    let known: Vec<&str> = self.quirks.thinking_budgets.keys().map(String::as_str).collect();
                    let message = format!("there is no budget for this effort; known are {}", known.join(", "));
                    return Err(unsupported("reasoning_effort", message));
                };
                fields.push(format!("\"thinkingBudget\":{budget}"));
            }
            (Some(_), Thinking::None) => {
                return Err(unsupported("reasoning_effort", "this backend cannot be told how much to think"));
            }
        }
        if self.quirks.include_thoughts {
            fields.push("\"includeThoughts\":true".to_owned());
        }
        if !fields.is_empty() {
            self.set("thinkingConfig", format!("{{{}}}", fields.join(",")));
        }
        Ok(())
    }

    fn contract(&mut self, contract: &Contract, has_tools: bool) -> Result<(), Failure> {
        if *contract == Contract::Text {
            return Ok(());
        }
        if !self.quirks.structured_output || has_tools && !self.quirks.contract_with_tools {
            self.body.adapted.add("contract_not_sent");
            return Ok(());
        }
        self.set("responseMimeType", quoted("application/json"));
        if let Contract::JsonSchema { schema_json, .. } = contract {
            let json = self.schema(schema_json, "contract.schema_json", "the schema of the contract")?;
            let key = if self.quirks.schemas == Schemas::Json { "responseJsonSchema" } else { "responseSchema" };
            self.set(key, json);
        }
        Ok(())
    }

    /// A schema in the form that goes out.
    fn schema(&mut self, schema: &str, field: &str, what: &str) -> Result<String, Failure> {
        if !reader::is_json(schema) {
            return Err(unsupported(field, format!("{what} is not JSON")));
        }
        let mended = reader::mend(schema);
        if mended.is_some() {
            self.body.adapted.add("replaced_invalid_unicode");
        }
        let schema = mended.as_deref().unwrap_or(schema);
        match self.quirks.schemas {
            Schemas::Json => Ok(schema.trim().to_owned()),
            Schemas::Openapi => schema::converted(schema, &mut self.body.adapted)
                .map_err(|wrong| unsupported(field, format!("{what} cannot be said in this dialect: {wrong}"))),
        }
    }

    /// Parameters, with those that the caller wrote out.
    fn generation_config(&mut self, extra: Option<&str>) -> Result<(), Failure> {
        let merged = match extra_fields(extra)?.and_then(|fields| fields.get(CONFIG)) {
            None => None,
            Some(value) => Some(value.object().ok_or_else(|| {
                unsupported(format!("extra_json.{CONFIG}"), format!("`{CONFIG}` in `extra_json` must be an object"))
            })?),
        };
        let config = std::mem::take(&mut self.config);
        if config.is_empty() && merged.is_none() {
            return Ok(());
        }
        let out = &mut self.body.out;
        out.key(CONFIG).open(b'{');
        for (key, json) in &config {
            out.key(key).json(json);
        }
        for (key, value) in merged.iter().flat_map(|fields| fields.fields()) {
            if config.iter().any(|(known, _)| *known == key) {
                let message = format!("`extra_json` must not set `{CONFIG}.{key}`: the call does");
                return Err(unsupported(format!("extra_json.{CONFIG}.{key}"), message));
            }
            out.key(key).json(value.raw());
        }
        out.close(b'}');
        Ok(())
    }

    fn tools(&mut self, call: &Call) -> Result<(), Failure> {
        if !offer::sends_tools(&call.tools, &call.tool_choice, self.quirks.tools)? {
            return Ok(());
        }
        if call.parameters.parallel_tool_calls == Some(false) {
            let message = "this dialect cannot tell a model to call one tool at a time";
            return Err(unsupported("parallel_tool_calls", message));
        }
        let (mode, name) = match &call.tool_choice {
            ToolChoice::Auto => (None, None),
            ToolChoice::None => (Some("NONE"), None),
            ToolChoice::Required => (Some("ANY"), None),
            ToolChoice::Named(name) => (Some("ANY"), Some(name)),
        };
        if let Some(mode) = mode {
            self.body.key("toolConfig").object(|out| {
                out.key("functionCallingConfig").object(|out| {
                    out.key("mode").text(mode);
                    if let Some(name) = name {
                        out.key("allowedFunctionNames").array(|out| out.text(name));
                    }
                });
            });
        }
        let mut declared = Writer::new();
        declared.open(b'[');
        for tool in &call.tools {
            self.tool(tool, &mut declared)?;
        }
        declared.close(b']');
        self.body.key("tools").array(|out| {
            out.object(|out| out.key("functionDeclarations").value_of(declared));
        });
        Ok(())
    }

    fn tool(&mut self, tool: &Tool, out: &mut Writer) -> Result<(), Failure> {
        let schema = tool.input_schema_json.trim();
        out.open(b'{');
        offer::name_and_description(&tool.name, tool, out);
        // A tool without parameters has no schema here.
        if !schema.is_empty() {
            let what = format!("the input schema of the tool `{}`", tool.name);
            let json = self.schema(schema, "tools.input_schema_json", &what)?;
            let key = if self.quirks.schemas == Schemas::Json { "parametersJsonSchema" } else { "parameters" };
            out.key(key).json(&json);
        }
        out.close(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests;
