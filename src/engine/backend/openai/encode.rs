//! A call as the body of a request: settings first and messages last, so that the body for a longer history begins with that for a
//! shorter one. It must not know connections.

use super::Config;
use super::history::History;
use super::quirks::{MaxTokensField, Quirks, StructuredOutput};
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::engine::backend::wire::{Body, Recipient, Writer, number, offer};
use crate::engine::backend::{Call, Failure, Outbound};

/// Fields that always come from the call. Several answers at once (`n`) have no place in an exchange.
const OURS: [&str; 5] = ["model", "messages", "stream", "stream_options", "n"];

/// The call in this dialect.
pub(super) fn encode(config: &Config, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
    let stream = call.stream && config.quirks.stream;
    let mut encoder = Encoder { quirks: &config.quirks, body: Body::new(&OURS) };
    if call.stream && !stream {
        encoder.body.adapted.add("not_streamed");
    }
    encoder.body.out.key("model").text(&call.model);
    encoder.streaming(stream);
    encoder.parameters(&call.parameters, !call.tools.is_empty())?;
    encoder.body.session(call.session_id.as_deref(), config.quirks.session_field.as_deref());
    encoder.tools(&call.tools, &call.tool_choice)?;
    encoder.contract(&call.contract)?;
    encoder.body.extra(call.parameters.extra_json.as_deref())?;
    let Body { out, adapted, .. } = &mut encoder.body;
    out.key("messages").open(b'[');
    History::new(&config.quirks, to).write(&call.messages, out, adapted)?;
    out.close(b']');
    Ok(encoder.body.finish(stream, &call.model))
}

struct Encoder<'a> {
    quirks: &'a Quirks,
    body: Body<'a>,
}

impl<'a> Encoder<'a> {
    fn key(&mut self, key: &'a str) -> &mut Writer {
        self.body.key(key)
    }

    fn streaming(&mut self, stream: bool) {
        if stream {
            self.body.out.key("stream").bool(true);
            if self.quirks.stream_options {
                self.body.out.key("stream_options").object(|out| out.key("include_usage").bool(true));
            }
        }
    }

    fn parameters(&mut self, parameters: &'a Parameters, has_tools: bool) -> Result<(), Failure> {
        let quirks = self.quirks;
        if let Some(temperature) = parameters.temperature {
            let number = number("temperature", temperature)?;
            self.key("temperature").number(number);
        }
        if let Some(top_p) = parameters.top_p {
            let number = number("top_p", top_p)?;
            self.key("top_p").number(number);
        }
        if let Some(limit) = parameters.max_output_tokens {
            let field = match quirks.max_tokens_field {
                MaxTokensField::MaxTokens => "max_tokens",
                MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            };
            self.key(field).number(limit);
        }
        if !parameters.stop_sequences.is_empty() {
            self.key("stop").array(|out| parameters.stop_sequences.iter().for_each(|stop| out.text(stop)));
        }
        if let Some(seed) = parameters.seed {
            self.key("seed").number(seed);
        }
        if let Some(effort) = &parameters.reasoning_effort {
            self.key("reasoning_effort").text(effort);
        }
        self.body.parallel_tool_calls(parameters.parallel_tool_calls, has_tools, quirks.parallel_tool_calls)
    }

    fn tools(&mut self, tools: &[Tool], choice: &ToolChoice) -> Result<(), Failure> {
        let quirks = self.quirks;
        if !offer::sends_tools(tools, choice, quirks.tools)? {
            return Ok(());
        }
        self.key("tools").open(b'[');
        for tool in tools {
            self.tool(tool)?;
        }
        self.body.out.close(b']');
        match choice {
            ToolChoice::Auto => {}
            ToolChoice::None => self.key("tool_choice").text("none"),
            ToolChoice::Required => self.key("tool_choice").text(&quirks.required_word),
            ToolChoice::Named(name) => self.key("tool_choice").object(|out| {
                out.key("type").text("function");
                out.key("function").object(|out| out.key("name").text(name));
            }),
        }
        Ok(())
    }

    fn tool(&mut self, tool: &Tool) -> Result<(), Failure> {
        let schema = offer::input_schema(tool)?.unwrap_or(offer::ANY_OBJECT);
        self.body.out.object(|out| {
            out.key("type").text("function");
            out.key("function").object(|out| {
                offer::name_and_description(&tool.name, tool, out);
                out.key("parameters").json(schema);
            });
        });
        Ok(())
    }

    fn contract(&mut self, contract: &Contract) -> Result<(), Failure> {
        let quirks = self.quirks;
        let (name, schema) = match (contract, quirks.structured_output) {
            (Contract::Text, _) => return Ok(()),
            (Contract::Json | Contract::JsonSchema { .. }, StructuredOutput::None) => {
                self.body.adapted.add("contract_not_sent");
                return Ok(());
            }
            (Contract::Json, _) => {
                self.key("response_format").object(|out| out.key("type").text("json_object"));
                return Ok(());
            }
            (Contract::JsonSchema { .. }, StructuredOutput::JsonObject) => {
                self.body.adapted.add("schema_not_sent");
                self.key("response_format").object(|out| out.key("type").text("json_object"));
                return Ok(());
            }
            (Contract::JsonSchema { name, schema_json }, StructuredOutput::JsonSchema) => (name, schema_json),
        };
        let schema = offer::contract_schema(schema)?;
        let sent = offer::schema_name(name, &mut self.body.adapted);
        let strict = quirks.strict_schema;
        self.key("response_format").object(|out| {
            out.key("type").text("json_schema");
            out.key("json_schema").object(|out| {
                out.key("name").text(&sent);
                out.key("schema").json(schema);
                if let Some(strict) = strict {
                    out.key("strict").bool(strict);
                }
            });
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
