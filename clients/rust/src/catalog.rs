//! What is configured at the server: prompts, profiles, backends and contracts. Knows nothing of how it is used.

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::error::Result;
use crate::pb;
use crate::request::Parameters;
use crate::retry::Limit;

macro_rules! configured {
    ($($what:ident: $raw:ident),* $(,)?) => {$(
        impl $what {
            /// The message behind it.
            pub fn raw(&self) -> &pb::$raw {
                &self.raw
            }
        }
    )*};
}
configured!(
    ConfiguredPrompt: Prompt,
    ConfiguredProfile: Profile,
    ConfiguredBackend: Backend,
    ConfiguredContract: ConfiguredContract,
);

/// A template of messages with default settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredPrompt {
    /// Its id.
    pub prompt_id: String,
    /// What it is for.
    pub description: String,
    /// The names of the variables that it declares; what else is known of them is in [`raw`](Self::raw).
    pub variables: Vec<String>,
    /// The names of those that must be given.
    pub required: Vec<String>,
    /// The profile that it asks for; empty for none.
    pub profile_id: String,
    /// The contract that it asks for; empty for none.
    pub contract_id: String,
    /// The names of the tools that it offers.
    pub tool_names: Vec<String>,
    /// Its text; empty in a list.
    pub template: String,
    raw: pb::Prompt,
}

impl ConfiguredPrompt {
    fn from_raw(raw: pb::Prompt) -> Self {
        let required = raw.variables.iter().filter(|variable| variable.required);
        Self {
            prompt_id: raw.prompt_id.clone(),
            description: raw.description.clone(),
            variables: raw.variables.iter().map(|variable| variable.name.clone()).collect(),
            required: required.map(|variable| variable.name.clone()).collect(),
            profile_id: raw.profile_id.clone(),
            contract_id: raw.contract_id.clone(),
            tool_names: raw.tool_names.clone(),
            template: raw.template.clone(),
            raw,
        }
    }
}

/// A backend, a model and parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredProfile {
    /// Its id.
    pub profile_id: String,
    /// Its backend.
    pub backend_id: String,
    /// Its model.
    pub model: String,
    /// Those that are set.
    pub parameters: Parameters,
    /// It is used when nothing else names one.
    pub is_default: bool,
    raw: pb::Profile,
}

impl ConfiguredProfile {
    fn from_raw(raw: pb::Profile) -> Self {
        Self {
            profile_id: raw.profile_id.clone(),
            backend_id: raw.backend_id.clone(),
            model: raw.model.clone(),
            parameters: raw.parameters.clone().map(Parameters::from_raw).unwrap_or_default(),
            is_default: raw.is_default,
            raw,
        }
    }
}

/// A provider's endpoint with a capacity.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredBackend {
    /// Its id.
    pub backend_id: String,
    /// Its kind, such as `openai` or `scripted`.
    pub kind: String,
    /// Its address, without credentials; empty for kinds without one.
    pub base_url: String,
    /// How many calls it takes at once.
    pub capacity: u32,
    /// What it can do, such as `tools` or `json_schema`.
    pub capabilities: Vec<String>,
    /// Calls at work now.
    pub in_use: u32,
    /// Calls that wait now.
    pub queued: u32,
    raw: pb::Backend,
}

impl ConfiguredBackend {
    fn from_raw(raw: pb::Backend) -> Self {
        Self {
            backend_id: raw.backend_id.clone(),
            kind: raw.kind.clone(),
            base_url: raw.base_url.clone(),
            capacity: raw.capacity,
            capabilities: raw.capabilities.clone(),
            in_use: raw.in_use,
            queued: raw.queued,
            raw,
        }
    }
}

/// A form that answers may have to have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredContract {
    /// Its id.
    pub contract_id: String,
    /// What it is for.
    pub description: String,
    /// Its JSON Schema, as text; nothing in a list.
    pub schema: Option<String>,
    raw: pb::ConfiguredContract,
}

impl ConfiguredContract {
    fn from_raw(raw: pb::ConfiguredContract) -> Self {
        Self {
            contract_id: raw.contract_id.clone(),
            description: raw.description.clone(),
            schema: Some(raw.schema_json.clone()).filter(|schema| !schema.is_empty()),
            raw,
        }
    }
}

impl Client {
    /// Prompts by id, without their templates.
    pub fn prompts(&self) -> Pages<ConfiguredPrompt> {
        pages!(self, catalog.list_prompts, pb::ListPromptsRequest::default(), prompts, ConfiguredPrompt::from_raw)
    }

    /// One prompt with its template.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn inspect_prompt(&self, prompt_id: &str) -> Result<ConfiguredPrompt> {
        let asked = pb::InspectPromptRequest { prompt_id: prompt_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, catalog.inspect_prompt)).await?;
        Ok(ConfiguredPrompt::from_raw(answer.prompt.unwrap_or_default()))
    }

    /// Profiles by id.
    pub fn profiles(&self) -> Pages<ConfiguredProfile> {
        pages!(self, catalog.list_profiles, pb::ListProfilesRequest::default(), profiles, ConfiguredProfile::from_raw)
    }

    /// One profile.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn inspect_profile(&self, profile_id: &str) -> Result<ConfiguredProfile> {
        let asked = pb::InspectProfileRequest { profile_id: profile_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, catalog.inspect_profile)).await?;
        Ok(ConfiguredProfile::from_raw(answer.profile.unwrap_or_default()))
    }

    /// Backends by id, with what is at work there.
    pub fn backends(&self) -> Pages<ConfiguredBackend> {
        pages!(self, catalog.list_backends, pb::ListBackendsRequest::default(), backends, ConfiguredBackend::from_raw)
    }

    /// One backend.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn inspect_backend(&self, backend_id: &str) -> Result<ConfiguredBackend> {
        let asked = pb::InspectBackendRequest { backend_id: backend_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, catalog.inspect_backend)).await?;
        Ok(ConfiguredBackend::from_raw(answer.backend.unwrap_or_default()))
    }

    /// Contracts by id, without their schemas.
    pub fn contracts(&self) -> Pages<ConfiguredContract> {
        let asked = pb::ListContractsRequest::default();
        pages!(self, catalog.list_contracts, asked, contracts, ConfiguredContract::from_raw)
    }

    /// One contract with its schema.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn inspect_contract(&self, contract_id: &str) -> Result<ConfiguredContract> {
        let asked = pb::InspectContractRequest { contract_id: contract_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, catalog.inspect_contract)).await?;
        Ok(ConfiguredContract::from_raw(answer.contract.unwrap_or_default()))
    }
}
