//! Opaque data that providers attach to what they say and want back as it was: to whom it goes back, and how it is written. It must not know
//! what any of it means.

use serde::Deserialize;

use super::reader::{self, Value};
use super::writer::Writer;
use super::{Adaptations, unsupported};
use crate::domain::message::{Kind, Message, Part, ProviderData};
use crate::engine::backend::Failure;

/// What becomes of opaque data that was issued to another provider, dialect or model than the one that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForeignData {
    /// It stays in the history and is not sent.
    #[default]
    Drop,
    /// The call is refused.
    Fail,
    /// It is sent where it is of the same dialect, whichever provider and model it was issued by. In another dialect it has no form.
    Keep,
}

/// Who must have issued opaque data for it to be sent back.
#[derive(Clone, Copy, Debug)]
pub struct Recipient<'a> {
    /// The provider.
    pub provider: &'a str,
    /// The dialect.
    pub api: &'a str,
    /// The model.
    pub model: &'a str,
    /// What becomes of what others issued.
    pub foreign: ForeignData,
}

impl Recipient<'_> {
    /// It may be sent.
    pub fn takes(&self, data: &ProviderData) -> bool {
        let issuer = &data.issuer;
        issuer.api == self.api && (self.foreign == ForeignData::Keep || self.issued(data))
    }

    fn issued(&self, data: &ProviderData) -> bool {
        let issuer = &data.issuer;
        issuer.provider == self.provider && issuer.api == self.api && issuer.model == self.model
    }

    /// Looks for what must not be left out in silence.
    ///
    /// # Errors
    /// When a message has opaque data of others, and that is to fail.
    pub fn check(&self, messages: &[Message]) -> Result<(), Failure> {
        if self.foreign != ForeignData::Fail {
            return Ok(());
        }
        for (index, message) in messages.iter().enumerate() {
            if let Some(data) = message.parts.iter().find_map(|part| self.foreign_in(part)) {
                let issuer = &data.issuer;
                let message = format!(
                    "message {index} has data that the model `{}` of `{}` issued, and `foreign_data = \"fail\"` wants \
                     none left out",
                    issuer.model, issuer.provider
                );
                return Err(unsupported("foreign_data", message));
            }
        }
        Ok(())
    }

    fn foreign_in<'p>(&self, part: &'p Part) -> Option<&'p ProviderData> {
        let inner = match &part.kind {
            Kind::ToolResult(result) => result.parts.iter().find_map(|part| self.foreign_in(part)),
            _ => None,
        };
        part.provider_data.as_ref().filter(|data| !self.issued(data)).or(inner)
    }
}

/// The fields that a provider wants back where it put them.
pub(crate) fn put_back(data: &ProviderData, out: &mut Writer, adapted: &mut Adaptations) {
    let object = Value::parse(&data.data_json).and_then(Value::object);
    let Some(object) = object.filter(|_| reader::is_json(&data.data_json)) else {
        adapted.add("foreign_data_dropped");
        return;
    };
    for (key, value) in object.fields() {
        out.key(key).json(value.raw());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::{Issuer, Role};

    fn data(provider: &str, api: &str, model: &str) -> ProviderData {
        let issuer = Issuer { provider: provider.to_owned(), api: api.to_owned(), model: model.to_owned() };
        ProviderData { issuer, data_json: "{}".to_owned() }
    }

    fn to(foreign: ForeignData) -> Recipient<'static> {
        Recipient { provider: "p", api: "a", model: "m", foreign }
    }

    #[test]
    fn what_others_issued_goes_nowhere_unless_it_is_to_be_kept_within_its_dialect() {
        for (issued, dropped, kept) in [
            (data("p", "a", "m"), true, true),
            (data("p", "a", "n"), false, true),
            (data("q", "a", "m"), false, true),
            (data("p", "b", "m"), false, false),
        ] {
            assert_eq!(to(ForeignData::Drop).takes(&issued), dropped, "{issued:?}");
            assert_eq!(to(ForeignData::Keep).takes(&issued), kept, "{issued:?}");
        }
    }

    #[test]
    fn where_nothing_may_be_left_out_the_message_is_named() {
        let own = Part { provider_data: Some(data("p", "a", "m")), ..Part::text("x") };
        let other = Part { provider_data: Some(data("q", "a", "m")), ..Part::text("x") };
        let said = |parts: Vec<Part>| vec![Message::text(Role::User, "hi"), Message { role: Role::Assistant, parts }];
        assert!(to(ForeignData::Fail).check(&said(vec![own.clone()])).is_ok());
        assert!(to(ForeignData::Drop).check(&said(vec![other.clone()])).is_ok());
        let failure = to(ForeignData::Fail).check(&said(vec![own, other])).unwrap_err();
        assert!(failure.message.starts_with("message 1 has data that the model `m` of `q` issued"), "{failure:?}");
    }
}
