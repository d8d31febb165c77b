//! Tools as plain functions, and results of their calls. Knows nothing of when they are called.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::callback::Raised;
use crate::error::{BoxError, Error};
use crate::message::text_part;
use crate::pb;
use crate::schema::schema_of;

pub(crate) type Function = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, Raised>> + Send + Sync>;

/// A function that a model may call.
#[derive(Clone)]
pub struct Tool {
    pub(crate) name: String,
    description: String,
    schema: Result<String, String>,
    pub(crate) function: Option<Function>,
    side_effects: bool,
    requires_human: bool,
}

impl Tool {
    /// A tool of an asynchronous function whose arguments are the fields of a struct, from which the schema comes. A string that it returns is the
    /// result as it is, everything else as JSON; an error is a result for the model, which may do better.
    ///
    /// A type whose schema is none of an object is an error of the call that offers the tool.
    pub fn new<In, Out, E, F, Fut>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        In: DeserializeOwned + JsonSchema,
        Out: Serialize,
        E: Into<BoxError>,
        F: Fn(In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, E>> + Send + 'static,
    {
        let name = name.into();
        let called = name.clone();
        let function: Function = Arc::new(move |said: String| match read::<In>(&called, &said) {
            Ok(arguments) => {
                let running = function(arguments);
                Box::pin(async move { text_of(&running.await.map_err(Raised::of)?).map_err(Raised::of) })
            }
            Err(wrong) => Box::pin(std::future::ready(Err(Raised::of(wrong)))),
        });
        Self { function: Some(function), schema: schema_of::<In>(), ..Self::named(name, description) }
    }

    /// The same of a function that does not wait.
    pub fn plain<In, Out, E, F>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        In: DeserializeOwned + JsonSchema,
        Out: Serialize + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        F: Fn(In) -> Result<Out, E> + Send + Sync + 'static,
    {
        Self::new(name, description, move |arguments| std::future::ready(function(arguments)))
    }

    /// A tool with a schema of its own, whose function gets the arguments as the model wrote them. Equal schemas should be equal bytes, so that a
    /// change is told.
    pub fn with_schema<E, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Into<String>,
        function: F,
    ) -> Self
    where
        E: Into<BoxError>,
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
    {
        let function: Function = Arc::new(move |said| {
            let running = function(said);
            Box::pin(async move { running.await.map_err(Raised::of) })
        });
        Self { function: Some(function), ..Self::offered(name, description, schema) }
    }

    /// A tool that is only offered: its calls are left to the caller.
    pub fn offered(name: impl Into<String>, description: impl Into<String>, schema: impl Into<String>) -> Self {
        Self { schema: Ok(schema.into()), ..Self::named(name.into(), description) }
    }

    fn named(name: String, description: impl Into<String>) -> Self {
        Self {
            name,
            description: description.into(),
            schema: Ok(String::new()),
            function: None,
            side_effects: false,
            requires_human: false,
        }
    }

    /// Using it changes something outside, so that probes do not offer it unless they are told to.
    #[must_use]
    pub fn side_effects(mut self) -> Self {
        self.side_effects = true;
        self
    }

    /// Its answer may take days, so that a probe never offers it.
    #[must_use]
    pub fn requires_human(mut self) -> Self {
        self.requires_human = true;
        self
    }

    /// What the model calls it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON Schema of its arguments.
    ///
    /// # Errors
    /// The type of the arguments has none of an object.
    pub fn schema(&self) -> Result<&str, Error> {
        self.schema.as_deref().map_err(|why| Error::invalid(format!("tool {}: {why}", self.name)))
    }

    fn to_raw(&self) -> Result<pb::Tool, Error> {
        Ok(pb::Tool {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema_json: self.schema()?.to_owned(),
            side_effects: self.side_effects,
            requires_human: self.requires_human,
            schema_hash: String::new(),
        })
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Tool").field("name", &self.name).field("schema", &self.schema).finish_non_exhaustive()
    }
}

fn read<In: DeserializeOwned>(name: &str, said: &str) -> Result<In, String> {
    // A model that has nothing to say may say just that.
    let said = if said.trim().is_empty() { "{}" } else { said };
    serde_json::from_str(said).map_err(|error| format!("the arguments of {name} do not fit: {error}"))
}

/// What a tool returned as text.
fn text_of(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    if json.starts_with('"') { serde_json::from_str(&json) } else { Ok(json) }
}

pub(crate) fn tool_list(tools: &[Tool]) -> Result<pb::ToolList, Error> {
    Ok(pb::ToolList { tools: tools.iter().map(Tool::to_raw).collect::<Result<_, _>>()? })
}

/// What came of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call that it answers.
    pub call_id: String,
    /// What the tool said, its text parts joined.
    pub text: String,
    /// The tool failed and the text says how.
    pub is_error: bool,
}

impl ToolResult {
    /// The result of a call.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), text: text.into(), is_error: false }
    }

    /// The result of a call that failed.
    pub fn error(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::new(call_id, text) }
    }

    pub(crate) fn from_raw(raw: &pb::ToolResult) -> Self {
        let mut text = String::new();
        for part in &raw.parts {
            if let Some(pb::part::Kind::Text(said)) = &part.kind {
                text.push_str(&said.text);
            }
        }
        Self { call_id: raw.call_id.clone(), text, is_error: raw.is_error }
    }

    pub(crate) fn to_raw(&self) -> pb::ToolResult {
        pb::ToolResult {
            call_id: self.call_id.clone(),
            parts: vec![text_part(&self.text)],
            is_error: self.is_error,
            ..pb::ToolResult::default()
        }
    }

    pub(crate) fn all_to_raw(results: &[Self]) -> Vec<pb::ToolResult> {
        results.iter().map(Self::to_raw).collect()
    }
}

/// A tool as it was offered to a model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments, as it was sent.
    pub schema: String,
    /// Tells whether two schemas are one.
    pub schema_hash: String,
    /// Using it changes something outside.
    pub side_effects: bool,
    /// A person answers it.
    pub requires_human: bool,
}

impl OfferedTool {
    pub(crate) fn from_raw(raw: &pb::Tool) -> Self {
        Self {
            name: raw.name.clone(),
            description: raw.description.clone(),
            schema: raw.input_schema_json.clone(),
            schema_hash: raw.schema_hash.clone(),
            side_effects: raw.side_effects,
            requires_human: raw.requires_human,
        }
    }

    pub(crate) fn all(raw: Option<&pb::ToolSet>) -> Vec<Self> {
        raw.map(|set| set.tools.iter().map(Self::from_raw).collect()).unwrap_or_default()
    }
}

/// Tools of a call that was made, as a request offers them again.
pub(crate) fn listed(tools: Option<&pb::ToolSet>) -> pb::ToolList {
    let again = |tool: &pb::Tool| pb::Tool { schema_hash: String::new(), ..tool.clone() };
    pb::ToolList { tools: tools.map(|set| set.tools.iter().map(again).collect()).unwrap_or_default() }
}
