//! Configured resources in answers. It must not show more of a prompt or contract in a list than in its line.

use super::{execution, id};
use crate::domain::settings::Contract;
use crate::engine::{BackendView, ConfiguredContract, Profile, Prompt, Variable};
use crate::grpc::pb;

/// How much of a resource is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A line of a list.
    Line,
    /// Everything, templates and schemas included.
    Whole,
}

/// A prompt in an answer.
pub fn prompt_to_pb(prompt: &Prompt, detail: Detail, shows: impl Fn(&str) -> bool) -> pb::Prompt {
    let tools = prompt.tools.as_ref().map(|set| set.tools.as_slice()).unwrap_or_default();
    pb::Prompt {
        prompt_id: prompt.id.clone(),
        description: prompt.description.clone(),
        variables: prompt.variables.iter().map(variable_to_pb).collect(),
        // One that is for other namespaces is not told of.
        profile_id: id::text(prompt.profile_id.as_ref().filter(|id| shows(id))),
        contract_id: id::text(prompt.contract_id.as_ref()),
        tool_names: tools.iter().map(|tool| tool.name.clone()).collect(),
        repair_attempts: prompt.repair_attempts,
        template: if detail == Detail::Whole { prompt.template.clone() } else { String::new() },
    }
}

fn variable_to_pb(variable: &Variable) -> pb::PromptVariable {
    pb::PromptVariable {
        name: variable.name.clone(),
        description: variable.description.clone(),
        required: variable.required,
        default_json: id::text(variable.default.as_ref()),
    }
}

/// A profile in an answer.
pub fn profile_to_pb(profile: &Profile, default_profile: Option<&str>) -> pb::Profile {
    pb::Profile {
        profile_id: profile.id.clone(),
        backend_id: profile.backend_id.clone(),
        model: profile.model.clone(),
        parameters: Some(execution::parameters_to_pb(profile.parameters.clone())),
        is_default: default_profile == Some(profile.id.as_str()),
        repair_attempts: profile.repair_attempts,
    }
}

/// A backend in an answer.
pub fn backend_to_pb(backend: BackendView) -> pb::Backend {
    pb::Backend {
        backend_id: backend.id,
        kind: backend.description.kind.to_owned(),
        base_url: backend.description.base_url,
        capacity: backend.limits.capacity,
        queue_limit: backend.limits.queue_limit,
        has_credential: backend.description.has_credential,
        in_use: backend.in_use,
        queued: backend.queued,
        capabilities: backend.description.capabilities.iter().map(|word| (*word).to_owned()).collect(),
    }
}

/// A contract in an answer.
pub fn contract_to_pb(contract: &ConfiguredContract, detail: Detail) -> pb::ConfiguredContract {
    let schema_json = match (&contract.contract, detail) {
        (Contract::JsonSchema { schema_json, .. }, Detail::Whole) => schema_json.clone(),
        (Contract::JsonSchema { .. }, Detail::Line) | (Contract::Text | Contract::Json, _) => String::new(),
    };
    pb::ConfiguredContract {
        contract_id: contract.id.clone(),
        description: contract.description.clone(),
        schema_json,
        repair_attempts: contract.repair_attempts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Parameters;
    use crate::engine::OpenTo;
    use crate::engine::backend::{Description, Limits};

    #[test]
    fn the_default_profile_is_marked() {
        let profile = Profile {
            fallback: Vec::new(),
            id: "fast".to_owned(),
            backend_id: "b".to_owned(),
            model: "m".to_owned(),
            parameters: Parameters { seed: Some(1), ..Parameters::default() },
            prices: None,
            repair_attempts: None,
            open_to: OpenTo::default(),
        };
        let out = profile_to_pb(&profile, Some("fast"));
        assert_eq!((out.is_default, out.parameters.and_then(|p| p.seed)), (true, Some(1)));
        assert!(!profile_to_pb(&profile, None).is_default);
    }

    #[test]
    fn a_schema_is_shown_on_inspection_only() {
        let schema_json = "{\"type\":\"object\"}".to_owned();
        let contract = ConfiguredContract {
            id: "verdict".to_owned(),
            description: "d".to_owned(),
            contract: Contract::JsonSchema { name: "verdict".to_owned(), schema_json: schema_json.clone() },
            repair_attempts: Some(2),
        };
        assert_eq!(contract_to_pb(&contract, Detail::Whole).schema_json, schema_json);
        let line = contract_to_pb(&contract, Detail::Line);
        assert_eq!((line.schema_json.as_str(), line.repair_attempts), ("", Some(2)));
    }

    #[test]
    fn a_backend_tells_its_load() {
        let description = Description {
            kind: "scripted",
            provider: "scripted".to_owned(),
            api: "scripted",
            base_url: String::new(),
            has_credential: false,
            capabilities: vec!["tools"],
        };
        let view = BackendView { id: "b".to_owned(), description, limits: Limits::default(), in_use: 3, queued: 1 };
        let out = backend_to_pb(view);
        assert_eq!((out.kind.as_str(), out.in_use, out.queued), ("scripted", 3, 1));
        assert_eq!((out.capacity, out.capabilities), (Limits::default().capacity, vec!["tools".to_owned()]));
    }
}
