//! The body of a request as it is written: its fields, what was changed on the way, and the caller's own fields. It must not know what any
//! field means.

use serde_json::Number;

use super::reader::{self, Object, Value};
use super::writer::Writer;
use super::{Adaptations, unsupported};
use crate::engine::backend::{Failure, Outbound};

/// A body under way: an object whose beginning is written.
pub(crate) struct Body<'a> {
    pub(crate) out: Writer,
    pub(crate) adapted: Adaptations,
    set: Vec<&'a str>,
}

impl<'a> Body<'a> {
    /// With the fields that always come from the call, so that no caller sets one of them.
    pub(crate) fn new(ours: &[&'a str]) -> Self {
        let mut out = Writer::new();
        out.open(b'{');
        Self { out, adapted: Adaptations::default(), set: ours.to_vec() }
    }

    /// The name of the next value.
    pub(crate) fn key(&mut self, key: &'a str) -> &mut Writer {
        self.set.push(key);
        self.out.key(key)
    }

    /// The caller's own fields, verbatim. One that the call sets as well is refused: neither of the two may be ignored.
    pub(crate) fn extra(&mut self, extra: Option<&str>) -> Result<(), Failure> {
        self.extra_except(extra, &[])
    }

    /// The same, without fields that were taken from it before.
    pub(crate) fn extra_except(&mut self, extra: Option<&str>, taken: &[&str]) -> Result<(), Failure> {
        let Some(fields) = extra_fields(extra)? else { return Ok(()) };
        for (key, value) in fields.fields().filter(|(key, _)| !taken.contains(key)) {
            if self.set.contains(&key) {
                let message = format!("`extra_json` must not set `{key}`: the call does");
                return Err(unsupported(format!("extra_json.{key}"), message));
            }
            self.out.key(key).json(value.raw());
        }
        Ok(())
    }

    /// The whole body.
    pub(crate) fn finish(mut self, stream: bool, model: &str) -> Outbound {
        self.out.close(b'}');
        if self.out.has_mended() {
            self.adapted.add("replaced_invalid_unicode");
        }
        let (body, Adaptations(adaptations)) = (self.out.into_bytes().into(), self.adapted);
        Outbound { body, adaptations, stream, model: model.to_owned() }
    }
}

/// The caller's own fields.
pub(crate) fn extra_fields(extra: Option<&str>) -> Result<Option<Object<'_>>, Failure> {
    let Some(extra) = extra else { return Ok(None) };
    let malformed = || unsupported("extra_json", "`extra_json` must be a JSON object, and not nested too deeply");
    if !reader::is_object(extra) {
        return Err(malformed());
    }
    Value::parse(extra).and_then(Value::object).ok_or_else(malformed).map(Some)
}

/// A number as JSON has it.
pub(crate) fn number(name: &str, value: f64) -> Result<Number, Failure> {
    Number::from_f64(value).ok_or_else(|| unsupported(name, format!("`{name}` is not a number that JSON has")))
}
