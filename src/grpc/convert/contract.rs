//! Output contracts and what validation found. It must not compile a schema: whether one is of use, the engine decides.

use super::problem::{self, filled};
use super::{Path, Problems, json, limit};
use crate::domain::json::depth;
use crate::domain::settings::{Contract, ContractChoice, Validation, ValidationStatus};
use crate::engine::json_in;
use crate::grpc::pb;

/// Longest name, in characters.
const MAX_NAME: usize = 64;
/// The name of a schema that has none.
const DEFAULT_NAME: &str = "answer";

/// What form an answer must have.
pub fn from_pb(contract: pb::Contract, at: &Path<'_>, problems: &mut Problems) -> Option<ContractChoice> {
    match problem::required(contract.form, "`text`, `json`, `json_schema` or `named`", at, problems)? {
        pb::contract::Form::Text(pb::TextContract {}) => Some(ContractChoice::Inline(Contract::Text)),
        pb::contract::Form::Json(pb::JsonContract {}) => Some(ContractChoice::Inline(Contract::Json)),
        pb::contract::Form::JsonSchema(schema) => {
            schema_from_pb(schema, &at.field("json_schema"), problems).map(ContractChoice::Inline)
        }
        pb::contract::Form::Named(named) => {
            filled(named.contract_id, &at.field("named").field("contract_id"), problems).map(ContractChoice::Named)
        }
    }
}

fn schema_from_pb(schema: pb::JsonSchemaContract, at: &Path<'_>, problems: &mut Problems) -> Option<Contract> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = if schema.name.is_empty() { DEFAULT_NAME.to_owned() } else { schema.name };
    let mut good = true;
    let length = name.chars().count();
    if length > MAX_NAME || !name.chars().all(allowed) {
        let message = format!("must be 1 to {MAX_NAME} characters of A-Z, a-z, 0-9, `_` and `-`, and has {length}");
        problems.add(&at.field("name"), message);
        good = false;
    }
    let (at, text) = (&at.field("schema_json"), schema.schema_json);
    if text.is_empty() {
        problems.add(at, "must not be empty: use the `json` contract for any JSON value");
        return None;
    }
    let bounds = problems.bounds();
    if !limit::bytes(&text, bounds.contract_schema, at, problems) {
        return None;
    }
    match json::kind(&text, bounds.schema_levels.max) {
        Ok(json::Kind::Object) => {}
        // The schemas `true` and `false` are JSON Schema as well.
        Ok(json::Kind::Scalar) if matches!(text.trim(), "true" | "false") => {}
        Ok(json::Kind::Array | json::Kind::Scalar) => {
            problems.schema(at, "must be a JSON Schema: an object, `true` or `false`");
            return None;
        }
        Err(why) => {
            problems.beyond(bounds.schema_levels.beyond(depth(&text)));
            problems.schema(at, why);
            return None;
        }
    }
    good.then_some(Contract::JsonSchema { name, schema_json: text })
}

/// A contract in an answer.
pub fn to_pb(contract: ContractChoice) -> pb::Contract {
    let form = match contract {
        ContractChoice::Inline(Contract::Text) => pb::contract::Form::Text(pb::TextContract {}),
        ContractChoice::Inline(Contract::Json) => pb::contract::Form::Json(pb::JsonContract {}),
        ContractChoice::Inline(Contract::JsonSchema { name, schema_json }) => {
            pb::contract::Form::JsonSchema(pb::JsonSchemaContract { schema_json, name })
        }
        ContractChoice::Named(contract_id) => pb::contract::Form::Named(pb::NamedContract { contract_id }),
    };
    pb::Contract { form: Some(form) }
}

/// What validation found in an answer of this text.
pub fn validation_to_pb(validation: Validation, text: &str) -> pb::Validation {
    let status = match validation.status {
        ValidationStatus::NotApplicable => pb::ValidationStatus::NotApplicable,
        ValidationStatus::Valid => pb::ValidationStatus::Valid,
        ValidationStatus::Invalid => pb::ValidationStatus::Invalid,
    };
    let violations = validation.violations.into_iter().map(|violation| pb::Violation {
        instance_path: violation.instance_path,
        schema_path: violation.schema_path,
        message: violation.message,
    });
    // The text stays as the model said it, fences and all; the value is what was found valid in it.
    let value = if status == pb::ValidationStatus::Valid { json_in(text) } else { None };
    let value_json = value.unwrap_or_default().to_owned();
    pb::Validation { status: status.into(), violations: violations.collect(), value_json }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::{Fault, Reason};
    use crate::domain::settings::Violation;
    use crate::grpc::convert::problem::whole;

    fn read(contract: pb::Contract) -> Result<ContractChoice, Fault> {
        whole(|at, problems| from_pb(contract, &at.field("contract"), problems))
    }

    fn schema(schema_json: &str, name: &str) -> pb::Contract {
        let form = pb::JsonSchemaContract { schema_json: schema_json.to_owned(), name: name.to_owned() };
        pb::Contract { form: Some(pb::contract::Form::JsonSchema(form)) }
    }

    #[test]
    fn contracts_come_back_as_they_went_out() {
        let json_schema = Contract::JsonSchema { name: "a-b".to_owned(), schema_json: "{ }".to_owned() };
        for contract in [
            ContractChoice::Inline(Contract::Text),
            ContractChoice::Inline(Contract::Json),
            ContractChoice::Inline(json_schema),
            ContractChoice::Named("verdict".to_owned()),
        ] {
            assert_eq!(read(to_pb(contract.clone())), Ok(contract));
        }
    }

    #[test]
    fn a_schema_without_a_name_gets_one() {
        let expected = Contract::JsonSchema { name: "answer".to_owned(), schema_json: "true".to_owned() };
        assert_eq!(read(schema("true", "")), Ok(ContractChoice::Inline(expected)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let path = |contract| read(contract).unwrap_err().fields.remove(0).path;
        assert_eq!(path(pb::Contract { form: None }), "contract");
        assert_eq!(path(schema("", "")), "contract.json_schema.schema_json");
        assert_eq!(path(schema("{}", "a b")), "contract.json_schema.name");
        assert_eq!(path(schema(&format!("\"{}\"", "x".repeat(256 * 1024)), "")), "contract.json_schema.schema_json");
        let named = pb::contract::Form::Named(pb::NamedContract::default());
        assert_eq!(path(pb::Contract { form: Some(named) }), "contract.named.contract_id");
        for text in ["text", "7", "[]"] {
            assert_eq!(read(schema(text, "")).unwrap_err().reason, Reason::SchemaInvalid, "{text}");
        }
    }

    #[test]
    fn violations_keep_their_places() {
        let violation = Violation {
            instance_path: "/a".to_owned(),
            schema_path: "/properties/a".to_owned(),
            message: "m".to_owned(),
        };
        let invalid = Validation { status: ValidationStatus::Invalid, violations: vec![violation] };
        let found = validation_to_pb(invalid, "{}");
        assert_eq!(found.status(), pb::ValidationStatus::Invalid);
        assert_eq!((found.violations[0].instance_path.as_str(), found.value_json.as_str()), ("/a", ""));
        let valid = Validation { status: ValidationStatus::Valid, violations: Vec::new() };
        assert_eq!(validation_to_pb(valid, "So:\n```json\n{\"a\": 1}\n```").value_json, "{\"a\": 1}");
    }
}
