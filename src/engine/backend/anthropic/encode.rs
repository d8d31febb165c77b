//! A call as the body of a request: settings first and messages last, so that the body for a longer history begins with that for a
//! shorter one. It must not know connections.

use super::history::History;
use super::names::tool_name;
use super::quirks::{Quirks, Reasoning, StructuredOutput};
use crate::domain::message::{Message, Role};
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::wire::{Body, Recipient, Writer, number, offer, reader, unsupported};
use crate::engine::backend::{Call, Failure, Outbound};

/// Fields that always come from the call.
const OURS: [&str; 5] = ["model", "max_tokens", "messages", "system", "stream"];

/// The call in this dialect.
pub(super) fn encode(quirks: &Quirks, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
    let stream = call.stream && quirks.stream;
    let mut encoder = Encoder { quirks, body: Body::new(&OURS) };
    if call.stream && !stream {
        encoder.body.adapted.add("not_streamed");
    }
    encoder.body.out.key("model").text(&call.model);
    encoder.limit(call.parameters.max_output_tokens);
    if stream {
        encoder.body.out.key("stream").bool(true);
    }
    encoder.parameters(&call.parameters)?;
    encoder.output(call.parameters.reasoning_effort.as_deref(), &call.contract)?;
    encoder.tools(call)?;
    encoder.session(call.session_id.as_deref());
    encoder.body.extra(call.parameters.extra_json.as_deref())?;
    let first = call.messages.iter().take_while(|message| message.role == Role::System).count();
    let (system, messages) = call.messages.split_at(first);
    let Body { out, adapted, .. } = &mut encoder.body;
    let mut history = History::new(quirks, to, &call.messages);
    history.system(system, out, adapted)?;
    history.write(messages, first, out, adapted)?;
    Ok(encoder.body.finish(stream, &call.model))
}

struct Encoder<'a> {
    quirks: &'a Quirks,
    body: Body<'a>,
}

impl<'a> Encoder<'a> {
    /// The API demands a limit.
    fn limit(&mut self, limit: Option<u32>) {
        if limit.is_none() {
            self.body.adapted.add("max_tokens_filled");
        }
        self.body.out.key("max_tokens").number(limit.unwrap_or(self.quirks.max_tokens));
    }

    fn parameters(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        if let Some(temperature) = parameters.temperature {
            let number = number("temperature", temperature)?;
            self.body.key("temperature").number(number);
        }
        if let Some(top_p) = parameters.top_p {
            let number = number("top_p", top_p)?;
            self.body.key("top_p").number(number);
        }
        if !parameters.stop_sequences.is_empty() {
            let stops = &parameters.stop_sequences;
            self.body.key("stop_sequences").array(|out| stops.iter().for_each(|stop| out.text(stop)));
        }
        if parameters.seed.is_some() {
            return Err(unsupported("seed", "this dialect has no `seed`"));
        }
        Ok(())
    }

    /// How much to think, and what form the answer must have: partly one field.
    fn output(&mut self, effort: Option<&str>, contract: &Contract) -> Result<(), Failure> {
        if let Some(effort) = effort {
            self.thinking(effort)?;
        }
        let named = effort.filter(|_| matches!(self.quirks.reasoning, Reasoning::Effort | Reasoning::Adaptive));
        let schema = self.schema(contract)?;
        let (within, beside) = match self.quirks.structured_output {
            StructuredOutput::OutputFormat => (None, schema),
            StructuredOutput::OutputConfig | StructuredOutput::None => (schema, None),
        };
        let format = |out: &mut Writer, schema: &str| {
            out.object(|out| {
                out.key("type").text("json_schema");
                out.key("schema").json(schema);
            });
        };
        if named.is_some() || within.is_some() {
            self.body.key("output_config").object(|out| {
                if let Some(effort) = named {
                    out.key("effort").text(effort);
                }
                if let Some(schema) = within {
                    format(out.key("format"), schema);
                }
            });
        }
        if let Some(schema) = beside {
            format(self.body.key("output_format"), schema);
        }
        Ok(())
    }

    fn thinking(&mut self, effort: &str) -> Result<(), Failure> {
        match self.quirks.reasoning {
            Reasoning::Effort => {}
            Reasoning::Adaptive => self.body.key("thinking").object(|out| out.key("type").text("adaptive")),
            Reasoning::Budget => {
                let Some(budget) = self.quirks.thinking_budgets.get(effort) else {
                    let known: Vec<&str> = self.quirks.thinking_budgets.keys().map(String::as_str).collect();
                    let message = format!("there is no budget for this effort; known are {}", known.join(", "));
                    return Err(unsupported("reasoning_effort", message));
                };
                self.body.key("thinking").object(|out| {
                    out.key("type").text("enabled");
                    out.key("budget_tokens").number(budget);
                });
            }
            Reasoning::None => {
                return Err(unsupported("reasoning_effort", "this backend cannot be told how much to think"));
            }
        }
        Ok(())
    }

    /// The schema that is sent, if one is.
    fn schema<'c>(&mut self, contract: &'c Contract) -> Result<Option<&'c str>, Failure> {
        match contract {
            Contract::Text => Ok(None),
            Contract::JsonSchema { schema_json, .. } if self.quirks.structured_output != StructuredOutput::None => {
                if !reader::is_json(schema_json) {
                    return Err(unsupported("contract.schema_json", "the schema of the contract is not JSON"));
                }
                Ok(Some(schema_json))
            }
            Contract::Json | Contract::JsonSchema { .. } => {
                self.body.adapted.add("contract_not_sent");
                Ok(None)
            }
        }
    }

    fn session(&mut self, session_id: Option<&str>) {
        match session_id {
            Some(session_id) if self.quirks.session_as_user => {
                self.body.key("metadata").object(|out| out.key("user_id").text(session_id));
            }
            Some(_) => self.body.adapted.add("session_id_dropped"),
            None => {}
        }
    }

    fn tools(&mut self, call: &Call) -> Result<(), Failure> {
        if !offer::sends_tools(&call.tools, &call.tool_choice, self.quirks.tools)? {
            self.tools_of_history(&call.messages);
            return Ok(());
        }
        self.body.key("tools").open(b'[');
        for tool in &call.tools {
            self.tool(tool)?;
        }
        self.body.out.close(b']');
        self.choice(&call.tool_choice, call.parameters.parallel_tool_calls == Some(false));
        Ok(())
    }

    fn choice(&mut self, choice: &ToolChoice, is_single: bool) {
        let (word, name) = match choice {
            ToolChoice::Auto if !is_single => return,
            ToolChoice::Auto => ("auto", None),
            ToolChoice::None => ("none", None),
            ToolChoice::Required => ("any", None),
            ToolChoice::Named(name) => ("tool", Some(name)),
        };
        let is_single = is_single && word != "none";
        let Body { adapted, .. } = &mut self.body;
        let name = name.map(|name| tool_name(name, adapted));
        self.body.key("tool_choice").object(|out| {
            out.key("type").text(word);
            if let Some(name) = &name {
                out.key("name").text(name);
            }
            if is_single {
                out.key("disable_parallel_tool_use").bool(true);
            }
        });
    }

    fn tool(&mut self, tool: &Tool) -> Result<(), Failure> {
        let schema = offer::input_schema(tool)?.unwrap_or(offer::ANY_OBJECT);
        let Body { out, adapted, .. } = &mut self.body;
        let name = tool_name(&tool.name, adapted);
        out.object(|out| {
            offer::name_and_description(&name, tool, out);
            out.key("input_schema").json(schema);
        });
        Ok(())
    }

    /// Servers refuse a history of tool calls in a request without tools, or the model answers with nothing. Where a call offers none, those
    /// of the history are named, and none of them may be called.
    fn tools_of_history(&mut self, messages: &[Message]) {
        let mut names: Vec<String> = Vec::new();
        for call in messages.iter().flat_map(Message::tool_calls) {
            let name = tool_name(&call.name, &mut self.body.adapted);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return;
        }
        self.body.adapted.add("history_tools_named");
        self.body.key("tools").array(|out| {
            for name in &names {
                out.object(|out| {
                    out.key("name").text(name);
                    out.key("input_schema").json(offer::ANY_OBJECT);
                });
            }
        });
        self.body.key("tool_choice").object(|out| out.key("type").text("none"));
    }
}

#[cfg(test)]
mod tests;
