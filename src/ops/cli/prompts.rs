//! `antiphon prompts`: renders and checks the configured prompts on this machine, as a server would. It must not call anybody.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tonic::Code;

use super::Context;
use super::failure::{Failure, Refusal};
use super::serve::{refused, settings};
use super::table::Table;
use super::terminal::Style;
use super::{chat, inspect, request, words};
use crate::domain::fault::{Fault, Reason};
use crate::domain::message::Role;
use crate::domain::source::Clock;
use crate::engine::{Catalog, Prompt, Rendered, Variable};
use crate::grpc::pb;
use crate::ops::source::SystemClock;

/// What can be typed after `prompts`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The configuration; else the one that `serve` would use
    #[arg(long, short = 'c', value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Read every prompt and tell every mistake, with its line
    Check,
    /// Render a prompt to the messages that it gives
    Render {
        /// The prompt
        id: String,
        /// A variable: NAME=TEXT, or NAME:=JSON
        #[arg(long = "var", value_name = "NAME=VALUE", value_parser = request::pair)]
        vars: Vec<String>,
        /// All variables as one JSON object
        #[arg(long, value_name = "JSON", conflicts_with = "vars")]
        vars_json: Option<String>,
    },
}

/// Renders or checks.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let settings = settings(arguments.config, context.environment)
        .await
        .map_err(|problems| refused(&problems, context.terminal))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let furnished = settings.setup(context.environment, &clock);
    let setup = furnished.map_err(|problems| refused(&problems, context.terminal))?.setup;
    match arguments.what {
        What::Check => check(setup.catalog(), context),
        What::Render { id, vars, vars_json } => {
            let vars = match vars_json {
                Some(vars) => vars,
                None => request::variables(&vars)?,
            };
            let rendered = rendered(setup.catalog(), &id, &vars).map_err(|fault| refusal(&fault))?;
            show(&rendered, context)
        }
    }
}

fn rendered(catalog: &Catalog, id: &str, vars: &str) -> Result<Rendered, Fault> {
    match catalog.prompts.get(id) {
        Some(prompt) => prompt.render(vars),
        None => {
            let known: Vec<&str> = catalog.prompts.keys().map(String::as_str).collect();
            let message = format!("there is no prompt `{id}`; there are {}", known.join(", "));
            Err(Fault::new(Reason::PromptUnknown, message).with("prompt_id", id).with("known_prompts", known.join(",")))
        }
    }
}

/// As a server would tell it.
fn refusal(fault: &Fault) -> Failure {
    Failure::Refused(Box::new(Refusal {
        code: Code::InvalidArgument,
        message: fault.message.clone(),
        reason: fault.reason.word().to_owned(),
        metadata: fault.metadata.clone().into_iter().collect(),
        fields: fault.fields.iter().map(|field| (field.path.clone(), field.message.clone())).collect(),
        resource: None,
        retry_after_ms: None,
        request_id: String::new(),
    }))
}

fn show(rendered: &Rendered, context: &mut Context<'_>) -> Result<(), Failure> {
    let said = |message: &crate::domain::message::Message| {
        let role = match message.role {
            Role::System => pb::Role::System,
            Role::User => pb::Role::User,
            Role::Assistant => pb::Role::Assistant,
            Role::Tool => pb::Role::Tool,
        };
        chat::said(role, message.joined_text())
    };
    let messages: Vec<pb::Message> = rendered.messages.iter().map(said).collect();
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let message =
            |message: &pb::Message| super::json::line(message).map(|text| serde_json::from_str::<Value>(&text));
        let mut written = Vec::new();
        for one in messages.iter().map(message) {
            let one = one.map_err(|error| Failure::here(error.to_string(), ""))?;
            written.push(one.map_err(|error| Failure::here(error.to_string(), ""))?);
        }
        let whole = json!({ "messages": written, "sessionId": rendered.session_id });
        return Ok(terminal.line(&format!("{whole:#}"))?);
    }
    if let Some(session_id) = &rendered.session_id {
        let mut table = Table::facts();
        table.fact("session", session_id);
        let lines = table.lines(terminal);
        terminal.lines(lines)?;
    }
    messages.iter().try_for_each(|message| inspect::show(message, terminal))
}

fn check(catalog: &Catalog, context: &mut Context<'_>) -> Result<(), Failure> {
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let prompts: Vec<Value> = catalog
            .prompts
            .values()
            .map(|prompt| json!({ "promptId": prompt.id, "variables": prompt.variables.iter().map(mark).collect::<Vec<_>>() }))
            .collect();
        return Ok(terminal.line(&format!("{:#}", json!({ "problems": [], "prompts": prompts })))?);
    }
    let mut table = Table::new(&["PROMPT", "VARIABLES", "DESCRIPTION"]);
    for Prompt { id, variables, description, .. } in catalog.prompts.values() {
        let variables: Vec<String> = variables.iter().map(mark).collect();
        table.row(vec![id.into(), variables.join(" ").into(), description.into()]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    let count = words::count(u64::try_from(catalog.prompts.len()).unwrap_or(u64::MAX), "prompt");
    let verdict = terminal.paint_err(Style::Good, "no mistakes");
    Ok(terminal.note(&format!("{verdict} in {count}"))?)
}

/// A variable; in brackets when it may be absent.
fn mark(variable: &Variable) -> String {
    if variable.required { variable.name.clone() } else { format!("[{}]", variable.name) }
}
