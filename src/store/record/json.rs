//! Stored records as JSON and back, for exports: the canonical JSON of their messages in `antiphon.storage.v1`, so that a person or a program can
//! read what was exported without this server. It must not know which records an export has, or where they lie.

use std::sync::OnceLock;

use bytes::Bytes;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use super::twin;

/// The message that a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Exchange,
    Run,
    Thread,
    Head,
    Tool,
    ToolSet,
    Seen,
    Coordination,
    JournalPage,
    Request,
    Prepared,
    WorkspaceNode,
    Workspace,
    Move,
    Pin,
    Expiry,
    Receipt,
    Erasing,
}

/// Calls something with the twin of a form.
macro_rules! with_twin {
    ($form:expr, $call:ident($bytes:expr)) => {
        match $form {
            Form::Exchange => $call::<twin::Exchange>($bytes),
            Form::Run => $call::<twin::Run>($bytes),
            Form::Thread => $call::<twin::Thread>($bytes),
            Form::Head => $call::<twin::Head>($bytes),
            Form::Tool => $call::<twin::Tool>($bytes),
            Form::ToolSet => $call::<twin::ToolSet>($bytes),
            Form::Seen => $call::<twin::Seen>($bytes),
            Form::Coordination => $call::<twin::Coordination>($bytes),
            Form::JournalPage => $call::<twin::JournalPage>($bytes),
            Form::Request => $call::<twin::Request>($bytes),
            Form::Prepared => $call::<twin::Prepared>($bytes),
            Form::WorkspaceNode => $call::<twin::WorkspaceNode>($bytes),
            Form::Workspace => $call::<twin::Workspace>($bytes),
            Form::Move => $call::<twin::Move>($bytes),
            Form::Pin => $call::<twin::Pin>($bytes),
            Form::Expiry => $call::<twin::Expiry>($bytes),
            Form::Receipt => $call::<twin::Receipt>($bytes),
            Form::Erasing => $call::<twin::Erasing>($bytes),
        }
    };
}

impl Form {
    /// The name of its message.
    fn name(self) -> String {
        format!("antiphon.storage.v1.{self:?}")
    }
}

/// Why text is no record, or a record no text. Without what was said: errors of the parser may quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// Not the JSON of the message.
    #[error("its `record` is not in the form of its kind")]
    Form,
    /// The description built into the program does not fit its types, which no input brings about.
    #[error("the built-in description of records does not fit, which is a fault of this program: please report it")]
    Description,
}

fn descriptor(form: Form) -> Result<MessageDescriptor, Unreadable> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    let pool = POOL.get_or_init(|| DescriptorPool::decode(twin::DESCRIPTOR).ok());
    pool.as_ref().and_then(|pool| pool.get_message_by_name(&form.name())).ok_or(Unreadable::Description)
}

/// A record's payload as JSON on one line.
pub(crate) fn of_payload(form: Form, payload: &Bytes) -> Result<String, Unreadable> {
    let message = DynamicMessage::decode(descriptor(form)?, payload.clone()).map_err(|_| Unreadable::Form)?;
    serde_json::to_string(&message).map_err(|_| Unreadable::Form)
}

/// The payload that JSON stands for, in the one encoding that the record has.
pub(crate) fn to_payload(form: Form, text: &str) -> Result<Bytes, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let message = DynamicMessage::deserialize(descriptor(form)?, &mut deserializer).map_err(|_| Unreadable::Form)?;
    deserializer.end().map_err(|_| Unreadable::Form)?;
    let bytes = message.encode_to_vec().into();
    // The message found by its description has its maps in no order.
    with_twin!(form, encoded(bytes))
}

fn encoded<T: Message + Default>(bytes: Bytes) -> Result<Bytes, Unreadable> {
    Ok(T::decode(bytes).map_err(|_| Unreadable::Form)?.encode_to_vec().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::record::{Stored, Twin, bytes_of, sample};

    proptest! {
        /// What is exported comes back byte for byte, maps, floats and text of every kind included.
        #[test]
        fn records_come_back_as_they_were(exchange in sample::exchange(), run in sample::run()) {
            let payload = bytes_of(&twin::Exchange::of(&exchange));
            let text = of_payload(Form::Exchange, &payload).unwrap();
            prop_assert!(!text.contains('\n'));
            prop_assert_eq!(to_payload(Form::Exchange, &text), Ok(payload));
            let payload = run.payload();
            prop_assert_eq!(to_payload(Form::Run, &of_payload(Form::Run, &payload).unwrap()), Ok(payload));
        }

        #[test]
        fn any_text_is_refused_in_peace(text: String) {
            prop_assert!(to_payload(Form::Exchange, &text).is_err());
        }
    }

    #[test]
    fn every_form_is_described() {
        let forms = [Form::Exchange, Form::JournalPage, Form::Prepared, Form::Seen, Form::ToolSet, Form::Request];
        let documents = [Form::WorkspaceNode, Form::Workspace, Form::Move, Form::Pin, Form::Expiry, Form::Receipt];
        for form in forms.into_iter().chain(documents).chain([Form::Erasing]) {
            assert_eq!(to_payload(form, "{}"), Ok(Bytes::new()), "{form:?}");
        }
        assert_eq!(to_payload(Form::Run, r#"{"id":"r","secret":1}"#), Err(Unreadable::Form));
    }
}
