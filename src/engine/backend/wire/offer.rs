//! What a call offers and demands: its tools, whether they may be called, and the form of the answer, as far as dialects have it in common. It must
//! not know how a dialect writes any of it.

use super::writer::Writer;
use super::{Adaptations, Body, reader, unsupported};
use crate::domain::settings::ToolChoice;
use crate::domain::tool::Tool;
use crate::engine::backend::Failure;

/// What takes a tool that has no schema, or of which only the name is known: most servers cannot do without one.
pub(crate) const ANY_OBJECT: &str = r#"{"type":"object","properties":{}}"#;

/// Longest name of a schema at OpenAI, whose characters are `a-z, A-Z, 0-9`, underscores and dashes.
const MAX_SCHEMA_NAME: usize = 64;

/// Whether tools go out.
///
/// # Errors
/// When the backend offers none to its model, or one must be called and there is none.
pub(crate) fn sends_tools(tools: &[Tool], choice: &ToolChoice, can: bool) -> Result<bool, Failure> {
    let must = matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
    match tools {
        [] if must => Err(unsupported("tool_choice", "a tool must be called and none is offered")),
        [] => Ok(false),
        _ if can => Ok(true),
        _ => Err(unsupported("tools", "this backend does not offer tools to its model")),
    }
}

/// The schema of a tool's input, if it has one.
///
/// # Errors
/// When it is not JSON.
pub(crate) fn input_schema(tool: &Tool) -> Result<Option<&str>, Failure> {
    let schema = Some(tool.input_schema_json.trim()).filter(|schema| !schema.is_empty());
    match schema {
        Some(schema) if !reader::is_json(schema) => {
            let message = format!("the input schema of the tool `{}` is not JSON", tool.name);
            Err(unsupported("tools.input_schema_json", message))
        }
        schema => Ok(schema),
    }
}

/// The name and description of a tool.
pub(crate) fn name_and_description(name: &str, tool: &Tool, out: &mut Writer) {
    out.key("name").text(name);
    if !tool.description.is_empty() {
        out.key("description").text(&tool.description);
    }
}

/// Checks the schema of a contract.
///
/// # Errors
/// When it is not JSON.
pub(crate) fn contract_schema(schema: &str) -> Result<&str, Failure> {
    let wrong = || unsupported("contract.schema_json", "the schema of the contract is not JSON");
    if reader::is_json(schema) { Ok(schema) } else { Err(wrong()) }
}

/// The name of a contract as OpenAI takes it.
pub(crate) fn schema_name(name: &str, adapted: &mut Adaptations) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let sent: String = name.chars().map(allowed).take(MAX_SCHEMA_NAME).collect();
    if sent.is_empty() {
        return "answer".to_owned();
    }
    if sent != name {
        adapted.add("contract_name_changed");
    }
    sent
}

impl<'a> Body<'a> {
    /// The session, in the field that the backend has for it, if any.
    pub(crate) fn session(&mut self, session_id: Option<&str>, field: Option<&'a str>) {
        match (session_id, field) {
            (Some(session_id), Some(field)) => self.key(field).text(session_id),
            (Some(_), None) => self.adapted.add("session_id_dropped"),
            (None, _) => {}
        }
    }

    /// Whether several tools may be called at once, where the backend can be told. Without tools nothing is said: OpenAI refuses the field then.
    ///
    /// # Errors
    /// When one at a time is wanted and the backend cannot be told.
    pub(crate) fn parallel_tool_calls(
        &mut self,
        parallel: Option<bool>,
        has_tools: bool,
        can: bool,
    ) -> Result<(), Failure> {
        match parallel {
            Some(parallel) if has_tools && can => self.key("parallel_tool_calls").bool(parallel),
            Some(false) if has_tools => {
                let message = "this backend cannot be told to call one tool at a time";
                return Err(unsupported("parallel_tool_calls", message));
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}
