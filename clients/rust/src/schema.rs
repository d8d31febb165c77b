//! JSON Schemas of types, always in the same bytes. Knows nothing of tools.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// The schema of a type that is an object; else what is wrong with it.
pub(crate) fn schema_of<T: JsonSchema>() -> Result<String, String> {
    let found = schemars::schema_for!(T).to_value();
    // A reference is one to an object where the type of the arguments contains itself.
    let object = found.get("type").is_some_and(|kind| kind == "object") || found.get("$ref").is_some();
    if !object {
        return Err(format!("{} is no struct: give its arguments as the fields of one", std::any::type_name::<T>()));
    }
    Ok(sorted(found).to_string())
}

/// A value with its keys in order, whether or not some other crate of the program has serde_json keep theirs: equal schemas are equal bytes.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(fields.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
