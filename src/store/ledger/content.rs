//! Content that is kept under the hash of its bytes: large parts of exchanges, and the messages and plans that coordinations name. It must
//! not know what names it.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::{try_join, try_join_all};

use super::{Changes, Ledger};
use crate::domain::content::Hasher;
use crate::domain::coordination::Planned;
use crate::domain::id::Hash;
use crate::domain::message::Message;
use crate::store::layout::Entry;
use crate::store::record::{Body, LeanBody, PlanRecord, corrupt, draft_body, open};
use crate::store::{Error, Namespace};

impl Changes {
    /// Keeps bytes in the namespace that the set will be committed to, unless they are there. Gives their hash.
    pub fn keep_part(&mut self, ns: &Namespace, bytes: Bytes) -> Hash {
        let hash = Hasher::new(ns).part(&bytes);
        self.parts.insert(hash, bytes);
        hash
    }

    /// Keeps bytes whose hash in the namespace that the set will be committed to is known, unless they are there.
    pub(in crate::store) fn keep_bytes(&mut self, hash: Hash, bytes: Bytes) {
        self.parts.insert(hash, bytes);
    }

    /// Keeps a message, such as one with the result of a tool call, in the namespace that the set will be committed to. Equal messages
    /// have equal hashes.
    pub fn keep_message(&mut self, ns: &Namespace, message: &Message) -> Hash {
        self.keep_body(ns, message)
    }

    /// Keeps a plan and its tool sets in the namespace that the set will be committed to.
    pub fn keep_plan(&mut self, ns: &Namespace, plan: &Planned) -> Hash {
        self.tool_set(&plan.offer.offered);
        self.tool_set(&plan.offer.standing);
        self.keep_body(ns, &PlanRecord::new(plan))
    }

    fn keep_body(&mut self, ns: &Namespace, body: &impl Body) -> Hash {
        let (hash, parts) = draft_body(body, &Hasher::new(ns));
        self.parts.extend(parts);
        hash
    }
}

impl Ledger {
    /// Bytes that are kept under their hash.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub(in crate::store) async fn part(&self, ns: &Namespace, hash: Hash) -> Result<Option<Bytes>, Error> {
        let entry = Entry::Part(hash);
        self.raw(ns, &entry).await?.map(|raw| open(&entry, &raw)).transpose()
    }

    /// A message that something names by its hash, so that it must be there.
    ///
    /// # Errors
    /// When the store fails, or the message or one of its parts is missing or damaged.
    pub async fn message(&self, ns: &Namespace, hash: Hash) -> Result<Message, Error> {
        self.body(ns, hash).await
    }

    /// A plan that something names by its hash, so that it must be there.
    ///
    /// # Errors
    /// When the store fails, or the plan, one of its parts or a tool set is missing or damaged.
    pub async fn plan(&self, ns: &Namespace, hash: Hash) -> Result<Planned, Error> {
        let record: PlanRecord = self.body(ns, hash).await?;
        let (offered, standing) =
            try_join(self.tool_set(ns, record.offered), self.tool_set(ns, record.standing)).await?;
        Ok(record.whole(offered, standing))
    }

    /// Parts that something names, so that they must be there.
    pub(super) async fn parts(&self, ns: &Namespace, hashes: Vec<Hash>) -> Result<BTreeMap<Hash, Bytes>, Error> {
        let read = |hash| async move { Ok::<_, Error>((hash, self.present(ns, hash).await?)) };
        Ok(try_join_all(hashes.into_iter().map(read)).await?.into_iter().collect())
    }

    async fn present(&self, ns: &Namespace, hash: Hash) -> Result<Bytes, Error> {
        self.part(ns, hash).await?.ok_or_else(|| corrupt(&Entry::Part(hash), "it is missing"))
    }

    async fn body<T: Body>(&self, ns: &Namespace, hash: Hash) -> Result<T, Error> {
        let entry = Entry::Part(hash);
        let mut lean =
            LeanBody::<T>::new(self.present(ns, hash).await?).map_err(|malformed| corrupt(&entry, malformed))?;
        let hashes = lean.parts().map_err(|malformed| corrupt(&entry, malformed))?;
        let parts = self.parts(ns, hashes).await?;
        lean.whole(&parts).map_err(|malformed| corrupt(&entry, malformed))
    }
}
