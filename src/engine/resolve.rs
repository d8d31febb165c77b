//! Resolving: from what was asked to a plan, every setting anew for every turn and with its source (rule 12, S4-32..40). It must not know
//! histories, and calls nobody.

use std::sync::Arc;

use super::catalog::Prompt;
use super::contract::{Check, Schemas};
use super::fallback::{Fallback, fallbacks};
use super::nearest::hint;
use super::settings::{Written, merge, name};
use super::setup::{Setup, Stand};
use crate::domain::drift;
use crate::domain::fault::{Fault, Field, Reason};
use crate::domain::id::{Hash, Namespace};
use crate::domain::message::Message;
use crate::domain::settings::{
    Contract, ContractChoice, EffectiveSetting, Parameters, Source, ThreadDefaults, ToolChoice, Warning,
};
use crate::domain::tool::{Offer, ToolSet, offer};
use crate::domain::view::View;

mod repairs;

/// What a request asks for, besides the history. What is absent comes from the prompt, the thread, the profile or the configuration.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// A configured prompt to render.
    pub prompt: Option<PromptInput>,
    /// Messages after the prompt's; nothing in them is rendered.
    pub messages: Vec<Message>,
    /// The profile.
    pub profile_id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Parameters, each over the prompt's and the profile's.
    pub parameters: Parameters,
    /// What form the answer must have.
    pub contract: Option<ContractChoice>,
    /// How often an answer without that form may be asked for again.
    pub repair_attempts: Option<u32>,
    /// Tools for this turn only.
    pub tools: Option<ToolSet>,
    /// Tools that stand from this turn on.
    pub standing_tools: Option<ToolSet>,
    /// How freely tools may be called.
    pub tool_choice: Option<ToolChoice>,
    /// What to do when a tool is otherwise than the history had it; nothing here looks at it.
    pub on_tool_drift: drift::Policy,
    /// Groups calls at the provider.
    pub session_id: Option<String>,
    /// Which part of the history is sent; all of it when absent.
    pub history_view: Option<View>,
}

/// A configured prompt with its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInput {
    /// The prompt's id.
    pub prompt_id: String,
    /// Values of its variables: a JSON object in text, `{}` for none.
    pub vars_json: String,
}

/// What the place in the graph brings.
#[derive(Clone, Debug)]
pub struct Context {
    /// Defaults of the thread.
    pub thread: Option<ThreadDefaults>,
    /// The tools that stood after the exchange that is continued.
    pub inherited_tools: Option<ToolSet>,
    /// There is no history.
    pub at_root: bool,
    /// Who asks: only what is open to it is there.
    pub namespace: Namespace,
}

/// One execution, resolved: everything but the history and the credential.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile.
    pub profile_id: String,
    /// Its backend.
    pub backend_id: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Parameters of the call.
    pub parameters: Parameters,
    /// What form the answer must have.
    pub contract: Contract,
    /// How often an answer without that form may be asked for again.
    pub repair_attempts: u32,
    /// The tools offered, and those that stand from now on.
    pub offer: Offer,
    /// How freely they may be called.
    pub tool_choice: ToolChoice,
    /// Groups calls at the provider.
    pub session_id: Option<String>,
    /// Which part of the history is sent; all of it when absent.
    pub history_view: Option<View>,
    /// Some of the history is left out.
    pub narrowed: bool,
    /// The prompt's rendered messages, then the appended ones.
    pub messages: Vec<Message>,
    /// Each setting with its source.
    pub settings: Vec<EffectiveSetting>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// The profiles that stand in when the call cannot be made, in order.
    pub fallbacks: Vec<Fallback>,
    pub(super) check: Arc<Check>,
    /// What it was resolved by, and is executed with.
    pub(super) setup: Arc<Setup>,
}

impl Plan {
    /// Its backend.
    pub(super) fn stand(&self) -> Result<&Stand, Fault> {
        self.setup.stand(&self.backend_id)
    }

    /// The first of its models, with its backend, that has no prices in a currency: its own, or one that may stand in.
    pub fn unpriced(&self, currency: &str) -> Option<(&str, &str)> {
        let stand_ins = self.fallbacks.iter().map(|other| (other.backend_id.as_str(), other.model.as_str()));
        std::iter::once((self.backend_id.as_str(), self.model.as_str())).chain(stand_ins).find(|(backend_id, model)| {
            self.setup.prices(backend_id, model).is_none_or(|prices| prices.currency != currency)
        })
    }

    /// Hash of how its backend is configured; absent where nobody said so.
    pub fn configuration(&self) -> Option<Hash> {
        self.setup.configuration_of(&self.backend_id)
    }
}

/// What resolving looks things up in.
pub(crate) struct Resolver<'a> {
    pub(crate) setup: &'a Arc<Setup>,
    pub(crate) schemas: &'a Schemas,
}

/// The form that an answer must have.
struct FormOf {
    contract: Contract,
    check: Arc<Check>,
    /// How often a configured contract has an answer asked for again.
    repair: Option<u32>,
}

struct Chosen<T> {
    value: T,
    source: Source,
}

impl Resolver<'_> {
    pub(crate) fn resolve(&self, asked: Asked, context: Context) -> Result<Plan, Fault> {
        let thread = context.thread.unwrap_or_default();
        let prompt = asked.prompt.as_ref().map(|input| self.prompt(input)).transpose()?;
        let mut written = Written::default();
        if let Some(prompt) = prompt {
            written.text(name::PROMPT, &prompt.id, Source::Request);
        }

        let chosen = self.profile_id(asked.profile_id.as_deref(), prompt, &thread, &context.namespace)?;
        let namespace = &context.namespace;
        let profile = self.setup.catalog.profile(&chosen.value, namespace);
        let profile = profile.ok_or_else(|| self.unknown_profile(&chosen, namespace))?;
        self.setup.stand(&profile.backend_id)?;
        written.text(name::PROFILE, &profile.id, chosen.source);
        written.text(name::BACKEND, &profile.backend_id, Source::Profile);

        let model = model(asked.model, &thread, &profile.id, &profile.model);
        written.text(name::MODEL, &model.value, model.source);

        let none = Parameters::default();
        let of_prompt = prompt.map_or(&none, |prompt| &prompt.parameters);
        let layers =
            [(&asked.parameters, Source::Request), (of_prompt, Source::Prompt), (&profile.parameters, Source::Profile)];
        let parameters = merge(&layers, &mut written);
        // A model that the caller named is that of no other profile.
        let fallbacks = if model.source == Source::Profile {
            let [asked, of_prompt, _] = layers;
            fallbacks(&self.setup.catalog, namespace, profile, &[asked, of_prompt])
        } else {
            Vec::new()
        };

        let FormOf { contract, check, repair } = self.contract(asked.contract, prompt, &mut written)?;
        let layers = [
            (asked.repair_attempts, Source::Request),
            (prompt.and_then(|prompt| prompt.repair_attempts), Source::Prompt),
            (profile.repair_attempts, Source::Profile),
            (repair, Source::Default),
        ];
        let repair_attempts = self.repair(layers, &contract, &profile.backend_id, &mut written)?;
        let offer = self.tools(
            Tools { asked: asked.tools, standing: asked.standing_tools, inherited: context.inherited_tools },
            prompt,
            &thread,
            context.at_root,
            &mut written,
        )?;
        let tool_choice = tool_choice(asked.tool_choice, &offer.offered, &mut written)?;

        let rendered = match (prompt, &asked.prompt) {
            (Some(prompt), Some(input)) => prompt.render(&input.vars_json)?,
            _ => super::prompt::Rendered::default(),
        };
        let session_id = match (asked.session_id, rendered.session_id) {
            (Some(id), _) => Some(Chosen { value: id, source: Source::Request }),
            (None, Some(id)) => Some(Chosen { value: id, source: Source::Prompt }),
            (None, None) => None,
        };
        if let Some(id) = &session_id {
            written.text(name::SESSION, &id.value, id.source);
        }
        if let Some(view) = asked.history_view {
            written.view(view, Source::Request);
        }
        let mut messages = rendered.messages;
        messages.extend(asked.messages);
        if messages.is_empty() {
            return Err(Fault::field("messages", "has nothing new to say: give `text`, `messages` or a `prompt`"));
        }
        Ok(Plan {
            profile_id: profile.id.clone(),
            backend_id: profile.backend_id.clone(),
            model: model.value,
            parameters,
            contract,
            repair_attempts,
            offer,
            tool_choice,
            session_id: session_id.map(|id| id.value),
            history_view: asked.history_view,
            narrowed: false,
            messages,
            settings: written.finish(),
            warnings: Vec::new(),
            fallbacks,
            check,
            setup: Arc::clone(self.setup),
        })
    }

    fn prompt(&self, input: &PromptInput) -> Result<&Prompt, Fault> {
        self.setup.catalog.prompts.get(&input.prompt_id).ok_or_else(|| {
            let known = self.setup.catalog.prompts.keys().map(String::as_str);
            let text = format!("there is no prompt `{}`{}", input.prompt_id, hint(&input.prompt_id, known.clone()));
            named(Reason::PromptUnknown, "prompt", &input.prompt_id, text).with("known_prompts", join(known))
        })
    }

    fn profile_id(
        &self,
        asked: Option<&str>,
        prompt: Option<&Prompt>,
        thread: &ThreadDefaults,
        namespace: &Namespace,
    ) -> Result<Chosen<String>, Fault> {
        let choices = [
            (asked, Source::Request),
            (prompt.and_then(|prompt| prompt.profile_id.as_deref()), Source::Prompt),
            (thread.profile_id.as_deref(), Source::Thread),
            (self.setup.catalog.default_profile.as_deref(), Source::Default),
        ];
        let found = choices.into_iter().find_map(|(id, source)| id.map(|id| Chosen { value: id.to_owned(), source }));
        found.ok_or_else(|| {
            let text = "no profile is named by the request, its prompt or the thread, and the configuration has no \
                        `default_profile`: name one";
            Fault::new(Reason::ProfileMissing, text)
                .at("profile_id", "is needed")
                .with("known_profiles", join(self.known_profiles(namespace)))
        })
    }

    fn known_profiles(&self, namespace: &Namespace) -> impl Iterator<Item = &str> + Clone {
        self.setup.catalog.profiles_of(namespace).map(|profile| profile.id.as_str())
    }

    fn unknown_profile(&self, chosen: &Chosen<String>, namespace: &Namespace) -> Fault {
        let known = self.known_profiles(namespace);
        let from = match chosen.source {
            Source::Prompt => ", which the prompt names",
            Source::Thread => ", which the thread's defaults name",
            Source::Request | Source::Profile | Source::Default | Source::Inherited => "",
        };
        let text = format!("there is no profile `{}`{from}{}", chosen.value, hint(&chosen.value, known.clone()));
        named(Reason::ProfileUnknown, "profile", &chosen.value, text).with("known_profiles", join(known))
    }

    fn contract(
        &self,
        asked: Option<ContractChoice>,
        prompt: Option<&Prompt>,
        written: &mut Written,
    ) -> Result<FormOf, Fault> {
        let (choice, source) = match (asked, prompt.and_then(|prompt| prompt.contract_id.clone())) {
            (Some(choice), _) => (choice, Source::Request),
            (None, Some(id)) => (ContractChoice::Named(id), Source::Prompt),
            (None, None) => (ContractChoice::Inline(Contract::Text), Source::Default),
        };
        let (contract, id, repair) = match choice {
            ContractChoice::Inline(contract) => (contract, None, None),
            ContractChoice::Named(id) => match self.setup.catalog.contracts.get(&id) {
                Some(configured) => (configured.contract.clone(), Some(id), configured.repair_attempts),
                None => {
                    let known = self.setup.catalog.contracts.keys().map(String::as_str);
                    let text = format!("there is no contract `{id}`{}", hint(&id, known.clone()));
                    let fault = named(Reason::ContractUnknown, "contract", &id, text);
                    return Err(fault.with("known_contracts", join(known)));
                }
            },
        };
        let check = self.schemas.check(&contract).map_err(|problem| {
            let field = "contract.json_schema.schema_json";
            schema_fault("the contract's schema", field, &problem)
        })?;
        written.contract(&contract, id.as_deref(), source);
        Ok(FormOf { contract, check, repair })
    }

    fn tools(
        &self,
        tools: Tools,
        prompt: Option<&Prompt>,
        thread: &ThreadDefaults,
        at_root: bool,
        written: &mut Written,
    ) -> Result<Offer, Fault> {
        for (set, field) in [(&tools.asked, "tools"), (&tools.standing, "standing_tools")] {
            if let Some(set) = set {
                self.check_tools(set, field)?;
            }
        }
        let (asked, asked_from) = match (tools.asked, prompt.and_then(|prompt| prompt.tools.clone())) {
            (Some(set), _) => (Some(set), Source::Request),
            (None, of_prompt) => (of_prompt, Source::Prompt),
        };
        // What the thread's defaults let stand goes before what stood in the history (rule 12).
        let (inherited, inherited_from) = match (thread.standing_tools.clone(), tools.inherited) {
            (Some(set), _) => (Some(set), Source::Thread),
            (None, Some(set)) => (Some(set), Source::Inherited),
            // A history without standing tools has none, which is not the same as no history.
            (None, None) if !at_root => (Some(ToolSet::default()), Source::Inherited),
            (None, None) => (None, Source::Default),
        };
        let stands_from = match (&tools.standing, &inherited, &asked) {
            (Some(_), _, _) => Source::Request,
            (None, Some(_), _) => inherited_from,
            (None, None, Some(_)) => asked_from,
            (None, None, None) => Source::Default,
        };
        let offered_from = if asked.is_some() { asked_from } else { stands_from };
        let offer = offer(asked, tools.standing, inherited);
        written.tools(name::TOOLS, &offer.offered, offered_from);
        written.tools(name::STANDING_TOOLS, &offer.standing, stands_from);
        Ok(offer)
    }

    fn check_tools(&self, set: &ToolSet, field: &str) -> Result<(), Fault> {
        for (index, tool) in set.tools.iter().enumerate() {
            if set.tools.iter().take(index).any(|other| other.name == tool.name) {
                return Err(Fault::field(
                    format!("{field}.tools[{index}].name"),
                    "names a tool that the list already has",
                ));
            }
            self.schemas.check_tool(tool).map_err(|problem| {
                let path = format!("{field}.tools[{index}].input_schema_json");
                schema_fault(&format!("the input schema of tool `{}`", tool.name), &path, &problem)
            })?;
        }
        Ok(())
    }
}

/// Tools from the request and the history.
struct Tools {
    asked: Option<ToolSet>,
    standing: Option<ToolSet>,
    inherited: Option<ToolSet>,
}

/// The model. A thread's goes with the thread's profile: where another profile is used, that one's backend would not know it.
fn model(asked: Option<String>, thread: &ThreadDefaults, profile_id: &str, of_profile: &str) -> Chosen<String> {
    if let Some(value) = asked {
        return Chosen { value, source: Source::Request };
    }
    let fits = thread.profile_id.as_deref().is_none_or(|id| id == profile_id);
    match &thread.model {
        Some(value) if fits => Chosen { value: value.clone(), source: Source::Thread },
        _ => Chosen { value: of_profile.to_owned(), source: Source::Profile },
    }
}

fn tool_choice(asked: Option<ToolChoice>, offered: &ToolSet, written: &mut Written) -> Result<ToolChoice, Fault> {
    let (choice, source) = match asked {
        Some(choice) => (choice, Source::Request),
        None => (ToolChoice::default(), Source::Default),
    };
    match &choice {
        ToolChoice::Required if offered.tools.is_empty() => {
            return Err(Fault::field("tool_choice", "requires a tool, and this call offers none: give `tools`"));
        }
        ToolChoice::Named(tool) if offered.find(tool).is_none() => {
            let known = offered.tools.iter().map(|tool| tool.name.as_str());
            let text = format!("names the tool `{tool}`, which this call does not offer{}", hint(tool, known));
            return Err(Fault::field("tool_choice", text));
        }
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Named(_) => {}
    }
    written.tool_choice(&choice, source);
    Ok(choice)
}

fn named(reason: Reason, kind: &'static str, id: &str, text: String) -> Fault {
    let mut fault = Fault::not_found(reason, kind, id);
    fault.message = text;
    fault.with(&format!("{kind}_id"), id)
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(",")
}

fn schema_fault(what: &str, path: &str, problem: &super::contract::SchemaProblem) -> Fault {
    let mut fault = Fault::new(Reason::SchemaInvalid, format!("{what} is not usable: {problem}"));
    fault.fields.push(Field { path: path.to_owned(), message: problem.to_string() });
    fault.with("pointer", &problem.pointer).with("field", path)
}

#[cfg(test)]
mod tests;
