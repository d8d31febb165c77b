//! JSON Schemas: whether one can be used, and what it finds wrong with a value, without the value's content. It must not know answers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::bounds::Bounds;
use super::{Check, MAX_VIOLATION_TEXT};
use crate::domain::bounds::{Bounds as Limits, Most};
use crate::domain::id::Hash;
use crate::domain::json::too_deep;
use crate::domain::settings::{Contract, Violation};
use crate::domain::tool::Tool;

/// Largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// Schemas that are kept compiled.
const KEPT: usize = 512;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// Where in the schema, as a JSON Pointer; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "at {}: {}", self.pointer, self.message)
    }
}

pub(super) fn problem(pointer: impl Into<String>, message: impl Into<String>) -> SchemaProblem {
    SchemaProblem { pointer: pointer.into(), message: message.into() }
}

/// Parses a schema's text within the limits of size and depth.
pub(crate) fn parse_schema(text: &str) -> Result<Value, SchemaProblem> {
    bounded(text, Limits::CEILINGS.contract_schema, &Limits::CEILINGS)?;
    serde_json::from_str(text).map_err(|error| problem("", format!("is not JSON: {error}")))
}

/// Whether a schema's text is as long and as deep as is taken, which is seen before it is parsed, so that the parser and what follows can recurse.
pub(crate) fn bounded(text: &str, length: Most, bounds: &Limits) -> Result<(), SchemaProblem> {
    if let Some(beyond) = length.beyond(text.len()) {
        let what = format!("is {} bytes long: at most {} are taken; shorten it", beyond.value, beyond.max);
        return Err(problem("", what));
    }
    too_deep(text, bounds.schema_levels.max).map_or(Ok(()), |what| Err(problem("", what)))
}

fn draft(schema: &Value) -> Result<Draft, SchemaProblem> {
    let Some(named) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    match named.as_str().map(|uri| uri.trim_end_matches('#')) {
        Some("https://json-schema.org/draft/2020-12/schema") => Ok(Draft::Draft202012),
        Some("http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema") => Ok(Draft::Draft7),
        _ => Err(problem("/$schema", "names a draft that is not taken: use 2020-12 or draft 7, or leave it out")),
    }
}

/// A schema, ready to check values.
pub(crate) struct Compiled {
    validator: Validator,
    bounds: Bounds,
}

impl Compiled {
    /// What is wrong with a value; at most so many.
    pub(crate) fn violations(&self, value: &Value, most: usize) -> Vec<Violation> {
        if !self.bounds.allow(value) {
            let message = "was not checked: the schema refers to itself in ways that multiply with this answer";
            return vec![Violation {
                instance_path: String::new(),
                schema_path: String::new(),
                message: message.to_owned(),
            }];
        }
        self.validator.iter_errors(value).take(most).map(|error| violation(&error)).collect()
    }
}

fn compile(text: &str) -> Result<Compiled, SchemaProblem> {
    let mut schema = parse_schema(text)?;
    let draft = draft(&schema)?;
    // The library looks documents up by this; the draft is given to it instead.
    if let Value::Object(fields) = &mut schema {
        fields.shift_remove("$schema");
    }
    let bounds = Bounds::of(&schema)?;
    let validator = jsonschema::options()
        .with_draft(draft)
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .build(&schema)
        .map_err(|error| explain(&error))?;
    Ok(Compiled { validator, bounds })
}

/// What is wrong with a schema. The schema is the caller's own, so its text may be told.
fn explain(error: &ValidationError<'_>) -> SchemaProblem {
    let pointer = error.instance_path().to_string();
    if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
        let message = format!("a `$ref` leads out of the schema or nowhere, and nothing is fetched: {error}");
        return problem(pointer, cut(&message));
    }
    problem(pointer, cut(&error.to_string()))
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_VIOLATION_TEXT {
        return text.to_owned();
    }
    let end = (0..=MAX_VIOLATION_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", text.get(..end).unwrap_or_default())
}

/// A violation as it is told: where and which rule, without the value.
fn violation(error: &ValidationError<'_>) -> Violation {
    let message = match error.kind() {
        // These list the names of properties, which are content.
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            format!("has properties that the schema does not allow, {} of them", unexpected.len())
        }
        ValidationErrorKind::PropertyNames { .. } => "has a property whose name the schema does not allow".to_owned(),
        ValidationErrorKind::RegexEngineFailure { .. } | ValidationErrorKind::BacktrackLimitExceeded { .. } => {
            "could not be checked against the schema's pattern".to_owned()
        }
        ValidationErrorKind::FromUtf8 { .. } => "is not text in UTF-8".to_owned(),
        _ => error.masked().to_string(),
    };
    Violation {
        instance_path: error.instance_path().to_string(),
        schema_path: error.schema_path().to_string(),
        message: cut(&message),
    }
}

/// Compiled contracts and checked tools, kept by content so that a turn does not compile what the one before did.
#[derive(Default)]
pub(crate) struct Schemas {
    checks: Mutex<HashMap<Hash, Arc<Check>>>,
    tools: Mutex<HashMap<Hash, Arc<Compiled>>>,
}

impl Schemas {
    /// The check of a contract.
    pub(crate) fn check(&self, contract: &Contract) -> Result<Arc<Check>, SchemaProblem> {
        let schema_json = match contract {
            Contract::Text => return Ok(Arc::new(Check::Text)),
            Contract::Json => return Ok(Arc::new(Check::Json)),
            Contract::JsonSchema { schema_json, .. } => schema_json,
        };
        let key = Hash::of(schema_json.as_bytes());
        if let Some(check) = self.checks.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(check));
        }
        let check = Arc::new(Check::Schema(compile(schema_json)?));
        keep(&mut self.checks.lock().unwrap_or_else(PoisonError::into_inner), key, Arc::clone(&check));
        Ok(check)
    }

    /// Whether a tool's input schema can be used: a JSON Schema that is an object.
    pub(crate) fn check_tool(&self, tool: &Tool) -> Result<(), SchemaProblem> {
        self.tool(tool).map(drop)
    }

    /// The first thing in a call's arguments that the tool's input schema does not allow.
    pub(crate) fn mismatch(&self, tool: &Tool, arguments: &Value) -> Option<Violation> {
        // One without a usable schema was never offered, so nothing can be said of its arguments.
        self.tool(tool).ok()?.violations(arguments, 1).pop()
    }

    fn tool(&self, tool: &Tool) -> Result<Arc<Compiled>, SchemaProblem> {
        let key = tool.schema_hash();
        if let Some(compiled) = self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(compiled));
        }
        if !parse_schema(&tool.input_schema_json)?.is_object() {
            return Err(problem("", "must be a JSON object, such as {\"type\":\"object\"}"));
        }
        let compiled = Arc::new(compile(&tool.input_schema_json)?);
        keep(&mut self.tools.lock().unwrap_or_else(PoisonError::into_inner), key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

fn keep<T>(kept: &mut HashMap<Hash, T>, key: Hash, value: T) {
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(key, value);
}
