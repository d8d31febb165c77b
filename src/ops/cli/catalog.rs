//! `antiphon catalog`: what is configured. It must not know how it is configured.

use super::Context;
use super::failure::Failure;
use super::remote::{Remote, pages};
use super::table::{Cell, Table};
use super::terminal::{Style, Terminal};
use crate::grpc::pb;

/// What can be typed after `catalog`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// List prompts, or show one with its template
    Prompts {
        /// The prompt
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// List profiles, or show one
    Profiles {
        /// The profile
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// List backends, or show one
    Backends {
        /// The backend
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// List contracts, or show one with its schema
    Contracts {
        /// The contract
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
}

/// A resource as a row of a list and as facts.
trait Resource {
    const HEADING: &'static [&'static str];
    fn row(&self) -> Vec<Cell>;
    fn facts(&self) -> Table;
    /// Text that is shown below the facts as it is.
    fn text(&self) -> &str;
}

macro_rules! verb {
    ($context:expr, $id:expr, $list:ident($list_request:ident, $list_response:ident, $many:ident),
     $inspect:ident($inspect_request:ident, $id_field:ident, $one:ident)) => {{
        let remote = $context.remote().await?;
        match $id {
            Some(id) => {
                let request = pb::$inspect_request { $id_field: id };
                let call = async { Ok(remote.catalog().$inspect(remote.request(request)).await?.into_inner()) };
                let response = remote.within(call).await?;
                if $context.terminal.is_json() {
                    return Ok($context.terminal.json(&response)?);
                }
                let resource = response.$one.ok_or_else(|| Failure::incomplete(stringify!($one)))?;
                show(&resource, $context.terminal)
            }
            None => {
                let remote: &Remote = &remote;
                let fetch = async |page_size, page_token| {
                    let request = pb::$list_request { page_size, page_token };
                    let page = remote.catalog().$list(remote.request(request)).await?.into_inner();
                    Ok((page.$many, page.next_page_token))
                };
                let (resources, _) = remote.within(pages(u32::MAX, fetch)).await?;
                if $context.terminal.is_json() {
                    let next_page_token = String::new();
                    return Ok($context.terminal.json(&pb::$list_response { $many: resources, next_page_token })?);
                }
                list(&resources, $context.terminal)
            }
        }
    }};
}

/// Shows it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    match arguments.what {
        What::Prompts { id } => verb!(
            context,
            id,
            list_prompts(ListPromptsRequest, ListPromptsResponse, prompts),
            inspect_prompt(InspectPromptRequest, prompt_id, prompt)
        ),
        What::Profiles { id } => verb!(
            context,
            id,
            list_profiles(ListProfilesRequest, ListProfilesResponse, profiles),
            inspect_profile(InspectProfileRequest, profile_id, profile)
        ),
        What::Backends { id } => verb!(
            context,
            id,
            list_backends(ListBackendsRequest, ListBackendsResponse, backends),
            inspect_backend(InspectBackendRequest, backend_id, backend)
        ),
        What::Contracts { id } => verb!(
            context,
            id,
            list_contracts(ListContractsRequest, ListContractsResponse, contracts),
            inspect_contract(InspectContractRequest, contract_id, contract)
        ),
    }
}

fn list<R: Resource>(resources: &[R], terminal: &mut Terminal) -> Result<(), Failure> {
    let mut table = Table::new(R::HEADING);
    resources.iter().for_each(|resource| table.row(resource.row()));
    let lines = table.lines(terminal);
    Ok(terminal.lines(lines)?)
}

fn show<R: Resource>(resource: &R, terminal: &mut Terminal) -> Result<(), Failure> {
    let lines = resource.facts().lines(terminal);
    terminal.lines(lines)?;
    if !resource.text().is_empty() {
        let text = terminal.foreign(resource.text());
        terminal.line(&format!("\n{}", text.trim_end()))?;
    }
    Ok(())
}

impl Resource for pb::Prompt {
    const HEADING: &'static [&'static str] = &["PROMPT", "VARIABLES", "PROFILE", "CONTRACT", "DESCRIPTION"];

    fn row(&self) -> Vec<Cell> {
        let mark = |variable: &pb::PromptVariable| {
            if variable.required { variable.name.clone() } else { format!("[{}]", variable.name) }
        };
        vec![
            Cell::new(&self.prompt_id, Style::Name),
            self.variables.iter().map(mark).collect::<Vec<_>>().join(" ").into(),
            (&self.profile_id).into(),
            (&self.contract_id).into(),
            Cell::cut(&self.description, 60),
        ]
    }

    fn facts(&self) -> Table {
        let mut table = Table::facts();
        table.fact("prompt", &self.prompt_id);
        table.fact("description", &self.description);
        table.fact("profile", &self.profile_id);
        table.fact("contract", &self.contract_id);
        table.fact("tools", self.tool_names.join(", "));
        for variable in &self.variables {
            let default = if variable.default_json.is_empty() { "" } else { " = " };
            let need = if variable.required { "required" } else { "optional" };
            let text = format!("{}{default}{} ({need}) {}", variable.name, variable.default_json, variable.description);
            table.fact("variable", text);
        }
        table
    }

    fn text(&self) -> &str {
        &self.template
    }
}

impl Resource for pb::Profile {
    const HEADING: &'static [&'static str] = &["PROFILE", "BACKEND", "MODEL", ""];

    fn row(&self) -> Vec<Cell> {
        let default = if self.is_default { "default" } else { "" };
        let profile = Cell::new(&self.profile_id, Style::Name);
        vec![profile, (&self.backend_id).into(), (&self.model).into(), default.into()]
    }

    fn facts(&self) -> Table {
        let mut table = Table::facts();
        table.fact("profile", &self.profile_id);
        table.fact("backend", &self.backend_id);
        table.fact("model", &self.model);
        table.fact("default", if self.is_default { "yes" } else { "" });
        if let Some(given) = &self.parameters {
            let text = |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
            table.fact("temperature", text(given.temperature));
            table.fact("top_p", text(given.top_p));
            table.fact("max output tokens", given.max_output_tokens.map(|n| n.to_string()).unwrap_or_default());
            table.fact("stop sequences", given.stop_sequences.join(", "));
            table.fact("seed", given.seed.map(|seed| seed.to_string()).unwrap_or_default());
            table.fact("reasoning effort", &given.reasoning_effort);
            table.fact("parallel tool calls", given.parallel_tool_calls.map(|yes| yes.to_string()).unwrap_or_default());
            table.fact("extra", &given.extra_json);
        }
        table
    }

    fn text(&self) -> &str {
        ""
    }
}

impl Resource for pb::Backend {
    const HEADING: &'static [&'static str] = &["BACKEND", "KIND", "ADDRESS", "CREDENTIAL", "IN USE", "QUEUED"];

    fn row(&self) -> Vec<Cell> {
        vec![
            Cell::new(&self.backend_id, Style::Name),
            (&self.kind).into(),
            (&self.base_url).into(),
            if self.has_credential { "yes" } else { "no" }.into(),
            format!("{}/{}", self.in_use, self.capacity).into(),
            format!("{}/{}", self.queued, self.queue_limit).into(),
        ]
    }

    fn facts(&self) -> Table {
        let mut table = Table::facts();
        table.fact("backend", &self.backend_id);
        table.fact("kind", &self.kind);
        table.fact("address", &self.base_url);
        table.fact("credential", if self.has_credential { "configured" } else { "none" });
        table.fact("in use", format!("{} of {}", self.in_use, self.capacity));
        table.fact("queued", format!("{} of {}", self.queued, self.queue_limit));
        table.fact("can do", self.capabilities.join(", "));
        table
    }

    fn text(&self) -> &str {
        ""
    }
}

impl Resource for pb::ConfiguredContract {
    const HEADING: &'static [&'static str] = &["CONTRACT", "DESCRIPTION"];

    fn row(&self) -> Vec<Cell> {
        vec![Cell::new(&self.contract_id, Style::Name), Cell::cut(&self.description, 80)]
    }

    fn facts(&self) -> Table {
        let mut table = Table::facts();
        table.fact("contract", &self.contract_id);
        table.fact("description", &self.description);
        table
    }

    fn text(&self) -> &str {
        &self.schema_json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_shows_its_variables_and_its_template() {
        let variable = |name: &str, required| pb::PromptVariable { name: name.into(), required, ..Default::default() };
        let prompt = pb::Prompt {
            prompt_id: "greet".into(),
            variables: vec![variable("name", true), variable("tone", false)],
            template: "user:\nHello {{ name }}\n".into(),
            ..Default::default()
        };
        let (mut terminal, out, _) = Terminal::captured();
        list(std::slice::from_ref(&prompt), &mut terminal).unwrap();
        assert!(out.text().contains("greet   name [tone]"), "{}", out.text());
        show(&prompt, &mut terminal).unwrap();
        assert!(out.text().ends_with("\nuser:\nHello {{ name }}\n"), "{}", out.text());
    }
}
