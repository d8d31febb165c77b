//! Stored form of what is kept as content of its own, under the hash of its bytes: messages and plans. Their large media lie apart, as
//! those of an exchange do. It must not know who keeps them.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Malformed, Twin, bytes_of, media, twin, twin_of};
use crate::domain::content::Hasher;
use crate::domain::id::Hash;
use crate::domain::message::Message;

use super::plan::PlanRecord;

/// A value that can be kept as content.
pub(crate) trait Body: Sized {
    /// Its twin.
    type Form: Twin<Self> + prost::Message + Default;

    /// The messages in it.
    fn messages(form: &mut Self::Form) -> &mut [twin::Message];
}

impl Body for Message {
    type Form = twin::Message;

    fn messages(form: &mut twin::Message) -> &mut [twin::Message] {
        std::slice::from_mut(form)
    }
}

impl Body for PlanRecord {
    type Form = twin::Plan;

    fn messages(form: &mut twin::Plan) -> &mut [twin::Message] {
        &mut form.messages
    }
}

/// Makes a value ready to be kept: the hash of its bytes, and every content of its own that it needs, those bytes included.
pub(crate) fn draft_body<T: Body>(value: &T, hasher: &Hasher) -> (Hash, BTreeMap<Hash, Bytes>) {
    let mut form = T::Form::of(value);
    let mut parts = media::take_out(T::messages(&mut form).iter_mut(), hasher);
    let bytes = bytes_of(&form);
    let hash = hasher.part(&bytes);
    parts.insert(hash, bytes);
    (hash, parts)
}

/// A value as it was read, without its large media.
pub(crate) struct LeanBody<T: Body>(T::Form);

impl<T: Body> LeanBody<T> {
    /// From the bytes that were kept.
    pub(crate) fn new(bytes: Bytes) -> Result<Self, Malformed> {
        twin_of(bytes).map(Self)
    }

    /// Hashes of its large media, each once.
    pub(crate) fn parts(&mut self) -> Result<Vec<Hash>, Malformed> {
        media::taken_out(T::messages(&mut self.0).iter_mut())
    }

    /// The value, with its large media in place.
    pub(crate) fn whole(mut self, parts: &BTreeMap<Hash, Bytes>) -> Result<T, Malformed> {
        media::bring_in(T::messages(&mut self.0).iter_mut(), parts)?;
        self.0.value()
    }
}
