//! Stored form of plans. Their tool sets lie in records of their own. It must not know how a plan is made.

use super::{Malformed, Twin, hash, hash_bytes, required, twin, twins, values};
use crate::domain::coordination::Planned;
use crate::domain::id::Hash;
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::{Offer, ToolSet};

/// A plan without its tool sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlanRecord {
    planned: Planned,
    /// The set that is offered; absent for the empty one.
    pub(crate) offered: Option<Hash>,
    /// The set that stands from now on; absent for the empty one.
    pub(crate) standing: Option<Hash>,
}

impl PlanRecord {
    /// Of a plan.
    pub(crate) fn new(planned: &Planned) -> Self {
        let (offered, standing) = (planned.offer.offered.hash(), planned.offer.standing.hash());
        let offer = Offer { offered: ToolSet::default(), standing: ToolSet::default() };
        Self { planned: Planned { offer, ..planned.clone() }, offered, standing }
    }

    /// The plan, given its sets.
    pub(crate) fn whole(self, offered: ToolSet, standing: ToolSet) -> Planned {
        Planned { offer: Offer { offered, standing }, ..self.planned }
    }
}

impl Twin<PlanRecord> for twin::Plan {
    fn of(record: &PlanRecord) -> Self {
        let planned = &record.planned;
        Self {
            profile_id: planned.profile_id.clone(),
            backend_id: planned.backend_id.clone(),
            model: planned.model.clone(),
            parameters: Some(twin::Parameters::of(&planned.parameters)),
            contract: Some(twin::Contract::of(&planned.contract)),
            offered: record.offered.as_ref().map(hash_bytes),
            standing: record.standing.as_ref().map(hash_bytes),
            tool_choice: Some(twin::ToolChoice::of(&planned.tool_choice)),
            session_id: planned.session_id.clone(),
            messages: twins(&planned.messages),
            settings: twins(&planned.settings),
            warnings: twins(&planned.warnings),
        }
    }

    fn value(self) -> Result<PlanRecord, Malformed> {
        let planned = Planned {
            profile_id: self.profile_id,
            backend_id: self.backend_id,
            model: self.model,
            parameters: required(self.parameters, "parameters")?,
            contract: required(self.contract, "contract")?,
            offer: Offer { offered: ToolSet::default(), standing: ToolSet::default() },
            tool_choice: required(self.tool_choice, "tool_choice")?,
            session_id: self.session_id,
            messages: values(self.messages)?,
            settings: values(self.settings)?,
            warnings: values(self.warnings)?,
        };
        Ok(PlanRecord {
            planned,
            offered: self.offered.map(|bytes| hash(&bytes, "offered")).transpose()?,
            standing: self.standing.map(|bytes| hash(&bytes, "standing")).transpose()?,
        })
    }
}

impl Twin<Parameters> for twin::Parameters {
    fn of(parameters: &Parameters) -> Self {
        Self {
            temperature: parameters.temperature,
            top_p: parameters.top_p,
            max_output_tokens: parameters.max_output_tokens,
            stop_sequences: parameters.stop_sequences.clone(),
            seed: parameters.seed,
            reasoning_effort: parameters.reasoning_effort.clone(),
            parallel_tool_calls: parameters.parallel_tool_calls,
            extra_json: parameters.extra_json.clone(),
        }
    }

    fn value(self) -> Result<Parameters, Malformed> {
        Ok(Parameters {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            stop_sequences: self.stop_sequences,
            seed: self.seed,
            reasoning_effort: self.reasoning_effort,
            parallel_tool_calls: self.parallel_tool_calls,
            extra_json: self.extra_json,
        })
    }
}

impl Twin<Contract> for twin::Contract {
    fn of(contract: &Contract) -> Self {
        use twin::contract::Form;
        let form = match contract {
            Contract::Text => Form::Text(twin::Nothing {}),
            Contract::Json => Form::Json(twin::Nothing {}),
            Contract::JsonSchema { name, schema_json } => {
                Form::JsonSchema(twin::JsonSchema { name: name.clone(), schema_json: schema_json.clone() })
            }
        };
        Self { form: Some(form) }
    }

    fn value(self) -> Result<Contract, Malformed> {
        use twin::contract::Form;
        Ok(match self.form.ok_or(Malformed::missing("contract.form"))? {
            Form::Text(_) => Contract::Text,
            Form::Json(_) => Contract::Json,
            Form::JsonSchema(schema) => Contract::JsonSchema { name: schema.name, schema_json: schema.schema_json },
        })
    }
}

impl Twin<ToolChoice> for twin::ToolChoice {
    fn of(choice: &ToolChoice) -> Self {
        use twin::tool_choice::Choice;
        let choice = match choice {
            ToolChoice::Auto => Choice::Auto(twin::Nothing {}),
            ToolChoice::None => Choice::None(twin::Nothing {}),
            ToolChoice::Required => Choice::Required(twin::Nothing {}),
            ToolChoice::Named(name) => Choice::Named(name.clone()),
        };
        Self { choice: Some(choice) }
    }

    fn value(self) -> Result<ToolChoice, Malformed> {
        use twin::tool_choice::Choice;
        Ok(match self.choice.ok_or(Malformed::missing("tool_choice.choice"))? {
            Choice::Auto(_) => ToolChoice::Auto,
            Choice::None(_) => ToolChoice::None,
            Choice::Required(_) => ToolChoice::Required,
            Choice::Named(name) => ToolChoice::Named(name),
        })
    }
}
