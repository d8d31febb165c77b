//! Prompt files: YAML front matter, then sections of templates. It must not know how the result is rendered or looked up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{Kind, Prompt, SESSION, Section, Variable, environment};
use crate::domain::bounds::Bounds;
use crate::domain::id::Hash;
use crate::domain::message::Role;
use crate::domain::tool::{Tool, ToolSet};
use crate::engine::config::{ConfigProblem, check_id, explain};
use crate::engine::file;
use crate::engine::nearest::hint;
use crate::engine::profile::ParametersConfig;
use crate::engine::repair::RepairConfig;

/// Longest prompt file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// What a prompt file's name ends with.
const ENDINGS: [&str; 2] = [".prompt.md", ".prompt"];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Front {
    id: Option<String>,
    description: String,
    profile: Option<String>,
    contract: Option<String>,
    tools: Option<Vec<ToolConfig>>,
    session: Option<String>,
    parameters: ParametersConfig,
    repair: Option<RepairConfig>,
    variables: Vec<VariableConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolConfig {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Option<Value>,
    #[serde(default)]
    side_effects: bool,
    #[serde(default)]
    requires_human: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableConfig {
    name: String,
    #[serde(default)]
    description: String,
    required: Option<bool>,
    default: Option<Value>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
}

/// Reads the prompts of a folder, sorted by file name, with every mistake of every file.
pub(crate) fn load(folder: &Path, bounds: &Bounds, problems: &mut Vec<ConfigProblem>) -> Vec<(PathBuf, Prompt)> {
    let mut paths: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).collect(),
        Err(error) => {
            let remedy = "make the folder, or take `prompts_dir` out";
            problems.push(ConfigProblem::new("prompts_dir", format!("{}: {error}", folder.display()), remedy));
            return Vec::new();
        }
    };
    paths.sort();
    let mut prompts = Vec::new();
    for path in paths {
        let Some(stem) = path.file_name().and_then(|name| name.to_str()).and_then(stem).map(str::to_owned) else {
            continue;
        };
        match read(&path) {
            Ok(text) => match parse(&path.display().to_string(), &stem, &text, bounds) {
                Ok(prompt) => prompts.push((path, prompt)),
                Err(found) => problems.extend(found),
            },
            Err(what) => problems.push(ConfigProblem::new(path.display().to_string(), what, "")),
        }
    }
    prompts
}

fn stem(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).filter(|stem| !stem.is_empty())
}

fn read(path: &Path) -> Result<String, String> {
    let text = file::read_at_most(path, MAX_FILE_BYTES).and_then(file::text).map_err(|error| error.to_string())?;
    Ok(text.trim_start_matches('\u{feff}').replace("\r\n", "\n"))
}

/// Makes a prompt of a file's text. `file` is for the messages, `stem` the id of a prompt that names none.
pub(super) fn parse(file: &str, stem: &str, text: &str, bounds: &Bounds) -> Result<Prompt, Vec<ConfigProblem>> {
    let at = |line: usize| format!("{file}:{line}");
    let Some((yaml, body, body_line)) = split(text) else {
        let remedy = "start the file with a line `---`, the settings in YAML, and another line `---`";
        return Err(vec![ConfigProblem::new(at(1), "has no front matter", remedy)]);
    };
    let front = front(file, yaml).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let id = front.id.unwrap_or_else(|| stem.to_owned());
    if let Err(what) = check_id(&id) {
        problems.push(ConfigProblem::new(at(1), what, "give another `id`"));
    }
    let parameters = front.parameters.check().unwrap_or_else(|wrong| {
        problems.extend(
            wrong.into_iter().map(|(key, what)| ConfigProblem::new(at(1), format!("parameters.{key} {what}"), "")),
        );
        Default::default()
    });
    let variables = variables(front.variables, &at(1), &mut problems);
    let sections = sections(body, body_line, &at, &mut problems);
    let mut environment = environment(bounds.template_steps);
    let mut used = BTreeSet::new();
    let templates = sections
        .iter()
        .map(|section| (section.name.as_str(), section.source.as_str(), section.line))
        .chain(front.session.as_deref().map(|session| (SESSION, session, 1)));
    for (name, source, line) in templates {
        if let Err(error) = environment.add_template_owned(name.to_owned(), source.to_owned()) {
            let line = line + error.line().unwrap_or(1).saturating_sub(1);
            let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
            problems.push(ConfigProblem::new(at(line), format!("the template has a mistake{detail}"), ""));
        } else if let Ok(template) = environment.get_template(name) {
            used.extend(template.undeclared_variables(false).into_iter().map(|variable| {
                let line = line + source.lines().position(|text| text.contains(&variable)).unwrap_or(0);
                (variable, line)
            }));
        }
    }
    used.retain(|(name, _)| !environment.globals().any(|(global, _)| global == name));
    let names = || variables.iter().map(|variable| variable.name.as_str());
    for (name, line) in &used {
        if !names().any(|declared| declared == name) {
            let what = format!("uses the variable `{name}`, which is not declared{}", hint(name, names()));
            problems.push(ConfigProblem::new(at(*line), what, "declare it under `variables`"));
        }
    }
    for variable in &variables {
        if !used.iter().any(|(name, _)| *name == variable.name) {
            let what = format!("declares the variable `{}` and does not use it", variable.name);
            problems.push(ConfigProblem::new(at(1), what, "use it, or take it out"));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Prompt {
        id,
        description: front.description,
        profile_id: front.profile,
        contract_id: front.contract,
        tools: front.tools.map(|tools| ToolSet { tools: tools.into_iter().map(tool).collect() }),
        parameters,
        repair_attempts: front.repair.map(|repair| repair.attempts),
        variables,
        template: body.to_owned(),
        hash: Hash::of(text.as_bytes()),
        sections,
        has_session: front.session.is_some(),
        steps: bounds.template_steps,
        section: bounds.section,
        environment: Arc::new(environment),
    })
}

/// The front matter, the body, and the line on which the body starts.
fn split(text: &str) -> Option<(&str, &str, usize)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix('\n')?;
    let mut offset = 0;
    for (index, line) in rest.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" {
            return Some((rest.get(..offset)?, rest.get(offset + line.len()..)?, index + 3));
        }
        offset += line.len();
    }
    None
}

fn front(file: &str, yaml: &str) -> Result<Front, ConfigProblem> {
    if yaml.trim().is_empty() {
        return Ok(Front::default());
    }
    serde_yaml_ng::from_str(yaml).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line() + 1);
        let message = error.to_string();
        // The place is told in the lines of the file.
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let (path, what) = match what.find("unknown field") {
            Some(start) => what.split_at(start),
            None => ("", what),
        };
        let mut problem = explain(path.trim_end_matches([':', ' ']), what, &[]);
        problem.at = format!("{file}:{line}");
        problem
    })
}

fn variables(configured: Vec<VariableConfig>, at: &str, problems: &mut Vec<ConfigProblem>) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::new();
    for VariableConfig { name, description, required, default, kind } in configured {
        let mut wrong = |what: String| problems.push(ConfigProblem::new(at, what, ""));
        let is_name = name
            .chars()
            .enumerate()
            .all(|(index, c)| c == '_' || c.is_ascii_alphabetic() || index > 0 && c.is_ascii_digit());
        if name.is_empty() || !is_name {
            wrong(format!("the variable name `{name}` must have letters, digits and `_`, and start with no digit"));
        }
        if variables.iter().any(|other| other.name == name) {
            wrong(format!("declares the variable `{name}` twice"));
        }
        if required == Some(true) && default.is_some() {
            wrong(format!("the variable `{name}` is required and has a default; only one makes sense"));
        }
        if let (Some(kind), Some(value)) = (kind, &default)
            && !kind.takes(value)
        {
            wrong(format!("the default of the variable `{name}` must be {}", kind.word()));
        }
        let required = required.unwrap_or(default.is_none());
        variables.push(Variable { name, description, required, default, kind });
    }
    variables
}

fn tool(configured: ToolConfig) -> Tool {
    let schema = configured.input_schema.map(|schema| schema.to_string());
    Tool {
        name: configured.name,
        description: configured.description,
        input_schema_json: schema.unwrap_or_else(|| r#"{"type":"object","properties":{}}"#.to_owned()),
        side_effects: configured.side_effects,
        requires_human: configured.requires_human,
    }
}

/// Cuts a body at its lines `system:`, `user:` and `assistant:`. A body without any is one user message.
fn sections(
    body: &str,
    first_line: usize,
    at: &impl Fn(usize) -> String,
    problems: &mut Vec<ConfigProblem>,
) -> Vec<Section> {
    let marker = |line: &str| match line.trim_end() {
        "system:" => Some(Role::System),
        "user:" => Some(Role::User),
        "assistant:" => Some(Role::Assistant),
        _ => None,
    };
    let mut found: Vec<(Option<Role>, usize, String)> = vec![(None, first_line, String::new())];
    for (index, line) in body.split_inclusive('\n').enumerate() {
        match marker(line) {
            Some(role) => found.push((Some(role), first_line + index + 1, String::new())),
            None => {
                if let Some((_, _, text)) = found.last_mut() {
                    text.push_str(line);
                }
            }
        }
    }
    let only = found.len() == 1;
    let mut sections = Vec::new();
    for (role, line, text) in found {
        let blank = text.trim().is_empty();
        let role = match role {
            Some(role) => role,
            None if only => Role::User,
            None if blank => continue,
            None => {
                let remedy = "put it under `system:`, `user:` or `assistant:`";
                problems.push(ConfigProblem::new(at(line), "there is text before the first section", remedy));
                continue;
            }
        };
        if blank {
            problems.push(ConfigProblem::new(at(line), "the section is empty", "write its template, or take it out"));
            continue;
        }
        let lead = text.lines().take_while(|line| line.trim().is_empty()).count();
        let source: String = text.split_inclusive('\n').skip(lead).collect();
        let name = sections.len().to_string();
        sections.push(Section { role, name, source: source.trim_end().to_owned(), line: line + lead });
    }
    sections
}
