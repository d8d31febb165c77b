//! Prompts: templates of messages with their variables, rendered once and strictly. It must not know profiles, contracts or histories: it
//! only carries the names of those that a prompt asks for.
//!
//! A body is cut into sections before anything is rendered, and values are never rendered, so nothing that a caller sends can start a
//! section or reach a variable (cases of templates that were rendered twice).

mod file;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde_json::{Map, Value};

pub(crate) use file::load;

use super::nearest::hint;
use crate::domain::bounds::{Beyond, Most};
use crate::domain::fault::{Fault, Field, Reason};
use crate::domain::id::Hash;
use crate::domain::message::{Message, Role};
use crate::domain::settings::Parameters;
use crate::domain::tool::ToolSet;

/// The template of the session id, beside those of the sections.
const SESSION: &str = "session";

/// A template of messages with default settings.
#[derive(Clone)]
pub struct Prompt {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub description: String,
    /// The profile that it asks for.
    pub profile_id: Option<String>,
    /// The contract that it asks for.
    pub contract_id: Option<String>,
    /// The tools that it offers; absent when it says nothing about tools.
    pub tools: Option<ToolSet>,
    /// Its parameters.
    pub parameters: Parameters,
    /// How often an answer without its form may be asked for again.
    pub repair_attempts: Option<u32>,
    /// The variables that it declares, in order.
    pub variables: Vec<Variable>,
    /// The body as written.
    pub template: String,
    /// Of the whole file.
    pub hash: Hash,
    sections: Vec<Section>,
    has_session: bool,
    /// Steps that rendering one section may take.
    steps: Most,
    /// Bytes of one section as rendered.
    section: Most,
    environment: Arc<Environment<'static>>,
}

/// A variable of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// A value must be given.
    pub required: bool,
    /// The value when none is given.
    pub default: Option<Value>,
    /// What values it takes; any when absent.
    pub kind: Option<Kind>,
}

/// What values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Text.
    String,
    /// Any number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            // A caller whose language has doubles only sends 3.0 for 3.
            Self::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
            Self::Boolean => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Number => "a number",
            Self::Integer => "a whole number",
            Self::Boolean => "true or false",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

#[derive(Clone, Debug)]
struct Section {
    role: Role,
    /// The name of its template.
    name: String,
    source: String,
    /// The line of the file on which the source starts.
    line: usize,
}

/// What a prompt gives for one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// Its messages; sections that render to nothing leave none.
    pub messages: Vec<Message>,
    /// What its session template gives; absent without one, and when it gives nothing.
    pub session_id: Option<String>,
}

impl std::fmt::Debug for Prompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Prompt {
    /// Renders it with the values of a JSON object.
    ///
    /// # Errors
    /// PROMPT_VARIABLES with every name that is missing, unknown or of the wrong kind, or with the place where the template failed.
    pub fn render(&self, vars_json: &str) -> Result<Rendered, Fault> {
        let values = self.values(vars_json)?;
        let mut rendered = Rendered::default();
        for section in &self.sections {
            let text = self.template(&section.name, &values).map_err(|failure| self.failed(section, &failure))?;
            if !text.trim().is_empty() {
                rendered.messages.push(Message::text(section.role, text));
            }
        }
        if self.has_session {
            let text =
                self.template(SESSION, &values).map_err(|failure| self.broken("its session template", &failure))?;
            rendered.session_id = Some(text.trim().to_owned()).filter(|id| !id.is_empty());
        }
        Ok(rendered)
    }

    /// The values with defaults filled in, once every name and kind was checked.
    fn values(&self, vars_json: &str) -> Result<BTreeMap<String, Value>, Fault> {
        let text = if vars_json.trim().is_empty() { "{}" } else { vars_json };
        let given: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            let place = format!("line {} column {}", error.line(), error.column());
            Fault::field("prompt.vars_json", format!("must be a JSON object; it fails at {place}"))
        })?;
        if let Some(number) = inexact_integer(text) {
            let what = format!("has a whole number of {} digits, which would lose some: send it as text", number.len());
            return Err(Fault::field("prompt.vars_json", what));
        }
        let names = || self.variables.iter().map(|variable| variable.name.as_str());
        let mut fields = Vec::new();
        let mut wrong = |name: &str, message: String| {
            fields.push(Field { path: format!("prompt.vars.{name}"), message });
            name.to_owned()
        };
        let unknown: Vec<String> = given
            .keys()
            .filter(|name| !names().any(|known| known == *name))
            .map(|name| {
                let unset = names().filter(|known| !given.contains_key(*known));
                wrong(name, format!("is no variable of prompt `{}`{}", self.id, hint(name, unset)))
            })
            .collect();
        let missing: Vec<String> = self
            .variables
            .iter()
            .filter(|variable| variable.required && !given.contains_key(&variable.name))
            .map(|variable| wrong(&variable.name, format!("is needed by prompt `{}`", self.id)))
            .collect();
        let mistyped: Vec<String> = self
            .variables
            .iter()
            .filter_map(|variable| Some((variable, variable.kind?, given.get(&variable.name)?)))
            .filter(|(variable, kind, value)| !(kind.takes(value) || !variable.required && value.is_null()))
            .map(|(variable, kind, _)| wrong(&variable.name, format!("must be {}", kind.word())))
            .collect();
        if !fields.is_empty() {
            let text = Fault::fields(fields);
            let mut fault = Fault::new(Reason::PromptVariables, text.message).with("prompt_id", &self.id);
            fault.fields = text.fields;
            for (key, names) in [("missing", missing), ("unknown", unknown), ("mistyped", mistyped)] {
                if !names.is_empty() {
                    fault = fault.with(key, names.join(","));
                }
            }
            return Err(fault);
        }
        let defaults = self.variables.iter().filter_map(|v| Some((v.name.clone(), v.default.clone()?)));
        let mut values: BTreeMap<String, Value> = defaults.collect();
        values.extend(given);
        Ok(values)
    }

    fn template(&self, name: &str, values: &BTreeMap<String, Value>) -> Result<String, Failure> {
        let mut out = Limited { text: Vec::new(), most: self.section, beyond: None };
        let template = self.environment.get_template(name);
        let rendered = template
            .and_then(|template| template.render_captured_to(minijinja::Value::from(Serde(values)), &mut out))
            .and_then(|_| {
                let text = std::mem::take(&mut out.text);
                String::from_utf8(text).map_err(|_| Error::new(ErrorKind::BadSerialization, "the output is not text"))
            });
        rendered.map_err(|error| Failure { error, beyond: out.beyond })
    }

    /// A template that failed, without any value: only what the file says is told.
    fn failed(&self, section: &Section, failure: &Failure) -> Fault {
        let error = &failure.error;
        let line = section.line + error.line().unwrap_or(1).saturating_sub(1);
        let expression = error.range().and_then(|range| section.source.get(range)).map(str::trim).unwrap_or_default();
        let place = if expression.is_empty() { format!("line {line}") } else { format!("line {line}, `{expression}`") };
        let mut fault = self.broken(&place, failure).with("line", line);
        if !expression.is_empty() {
            fault = fault.with("expression", expression);
        }
        fault
    }

    fn broken(&self, place: &str, failure: &Failure) -> Fault {
        let at = |what: &str| {
            Fault::new(Reason::PromptVariables, format!("prompt `{}`, {place}: {what}", self.id))
                .with("prompt_id", &self.id)
        };
        let beyond = |beyond: Option<Beyond>, [does, what, remedy]: [&str; 3]| match beyond {
            Some(Beyond { key, max, value }) => {
                at(&format!("{does} {value} {what} and more: at most {max} are taken; {remedy}"))
                    .with("limit", key.unwrap_or_default())
                    .with("max", max)
                    .with("value", value)
            }
            None => at("cannot be rendered with these values"),
        };
        match failure.error.kind() {
            ErrorKind::UndefinedError => at("uses a value that is not defined; give it, or test it with `is defined`"),
            ErrorKind::OutOfFuel => {
                // The engine stops at the first step that is too much.
                let steps = self.steps.beyond(self.steps.max + 1);
                beyond(steps, ["takes", "steps", "give it less to go through"])
            }
            // Nothing else is written to that could fail.
            ErrorKind::WriteFailure => beyond(failure.beyond, ["gives", "bytes of text", "give it shorter values"]),
            ErrorKind::InvalidOperation => at("does something that these values do not allow"),
            _ => at("cannot be rendered with these values"),
        }
    }
}

/// Why a template gave nothing.
struct Failure {
    error: Error,
    /// What it gave, where that was too much.
    beyond: Option<Beyond>,
}

/// Takes output up to a limit, so that a loop cannot fill the memory.
struct Limited {
    text: Vec<u8>,
    most: Most,
    beyond: Option<Beyond>,
}

impl io::Write for &mut Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.beyond = self.most.beyond(self.text.len().saturating_add(bytes.len()));
        if self.beyond.is_some() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the output limit is reached"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An environment for one prompt: strict, bounded, without escaping or other files.
fn environment(steps: Most) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_debug(false);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // An optional variable that is absent may be asked about, but never printed.
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_fuel(u64::try_from(steps.max).ok());
    // It would print every value.
    environment.remove_global("debug");
    environment.add_filter("tojson", plain_json);
    environment
}

/// JSON for a model: the built-in filter writes `<` as an escape, for web pages.
fn plain_json(value: &minijinja::Value, pretty: Option<bool>) -> Result<String, Error> {
    let written = if pretty == Some(true) { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    written.map_err(|_| Error::new(ErrorKind::InvalidOperation, "cannot be written as JSON"))
}

/// The first whole number of a JSON text that no 64-bit integer holds exactly.
fn inexact_integer(json: &str) -> Option<&str> {
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let from = rest.get(at..)?;
        if let Some(text) = from.strip_prefix('"') {
            rest = after_text(text)?;
            continue;
        }
        let end = from.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(from.len());
        let (number, after) = from.split_at_checked(end)?;
        let whole = !number.contains(['.', 'e', 'E']);
        if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
            return Some(number.trim_start_matches('-'));
        }
        rest = after;
    }
    None
}

/// What follows a JSON text whose opening quote was taken.
fn after_text(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.find(|c: char| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    text.get(end + 1..)
}

#[cfg(test)]
mod tests;
