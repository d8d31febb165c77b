//! The `options` of a call: what it sets itself, then what the caller adds, then what is configured; each once. It must not know other fields.

use serde_json::{Map, Value as Json};

use crate::domain::settings::Parameters;
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Body, Value, Writer, number, reader, unsupported};

/// The field of the body, and of the caller's own fields.
pub(super) const FIELD: &str = "options";

/// Writes them, if there are any.
pub(super) fn write(
    configured: &Map<String, Json>,
    parameters: &Parameters,
    extra: Option<&str>,
    body: &mut Body<'_>,
) -> Result<(), Failure> {
    let mut out = Writer::new();
    let mut set = Vec::new();
    out.open(b'{');
    if let Some(temperature) = parameters.temperature {
        set.push("temperature");
        out.key("temperature").number(number("temperature", temperature)?);
    }
    if let Some(top_p) = parameters.top_p {
        set.push("top_p");
        out.key("top_p").number(number("top_p", top_p)?);
    }
    if let Some(limit) = parameters.max_output_tokens {
        set.push("num_predict");
        out.key("num_predict").number(limit);
    }
    if !parameters.stop_sequences.is_empty() {
        set.push("stop");
        out.key("stop").array(|out| parameters.stop_sequences.iter().for_each(|stop| out.text(stop)));
    }
    if let Some(seed) = parameters.seed {
        set.push("seed");
        out.key("seed").number(seed);
    }
    let added = added(extra)?;
    for (key, value) in added.iter().map(|(key, value)| (key.as_str(), value)) {
        if set.contains(&key) {
            let message = format!("`extra_json` must not set `options.{key}`: the call does");
            return Err(unsupported(format!("extra_json.options.{key}"), message));
        }
        out.key(key).json(value);
    }
    set.extend(added.iter().map(|(key, _)| key.as_str()));
    for (key, value) in configured.iter().filter(|(key, _)| !set.contains(&key.as_str())) {
        out.key(key).json(&value.to_string());
    }
    out.close(b'}');
    if out.len() > "{}".len() {
        body.out.key(FIELD).value_of(out);
    }
    Ok(())
}

/// The caller's own options, each as it was written.
fn added(extra: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
    let Some(extra) = extra.filter(|extra| reader::is_object(extra)) else { return Ok(Vec::new()) };
    let options = Value::parse(extra).and_then(Value::object).and_then(|extra| extra.get(FIELD));
    let Some(options) = options else { return Ok(Vec::new()) };
    let object = options.object().ok_or_else(|| {
        unsupported("extra_json.options", "`options` in `extra_json` must be an object, such as { \"num_ctx\": 8192 }")
    })?;
    Ok(object.fields().map(|(key, value)| (key.to_owned(), value.raw().to_owned())).collect())
}
