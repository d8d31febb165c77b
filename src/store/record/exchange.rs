//! Stored form of exchanges. Media that are large lie in records of their own, by hash, so that an exchange that says them again does not
//! store them again. It must not know where either lies.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::envelope::Packed;
use super::{
    Malformed, Twin, Word, bytes_of, exchange_id, hash, hash_bytes, id_bytes, media, required, twin, twin_of, twins,
    values, words,
};
use crate::domain::content::Hasher;
use crate::domain::drift::Lineage;
use crate::domain::exchange::{Erased, Exchange, Glance, HeadBefore, Origin, Responder};
use crate::domain::id::{CallId, ExchangeId, Hash, Moment, RunId, ThreadId};
use crate::domain::message::{Message, Role};
use crate::domain::run::StopReason;
use crate::domain::workspace::Around;

words!(Origin, twin::Origin, [Executed, Recorded, Imported]);

/// An exchange ready to be stored.
pub(crate) struct Draft {
    /// The exchange itself.
    pub(crate) packed: Packed,
    /// Its large parts.
    pub(crate) parts: BTreeMap<Hash, Bytes>,
}

/// Makes an exchange ready.
pub(crate) fn draft(exchange: &Exchange, hasher: &Hasher) -> Draft {
    let mut twin = twin::Exchange::of(exchange);
    let parts = media::take_out(messages(&mut twin), hasher);
    Draft { packed: Packed::new(bytes_of(&twin)), parts }
}

/// What an exchange names.
#[derive(Debug)]
pub(crate) struct Naming {
    pub(crate) id: ExchangeId,
    pub(crate) parent: Option<ExchangeId>,
    pub(crate) continues: Option<ExchangeId>,
    pub(crate) run_id: Option<RunId>,
    pub(crate) thread_id: Option<ThreadId>,
    pub(crate) offered: Option<Hash>,
    pub(crate) standing: Option<Hash>,
    pub(crate) lineage: Lineage,
    pub(crate) workspace: Around,
    pub(crate) is_erased: bool,
}

/// An exchange as it was read, without its large parts.
#[derive(Debug)]
pub(crate) struct Lean {
    twin: twin::Exchange,
    /// Length of what was read, decompressed.
    pub(crate) bytes: usize,
}

impl Lean {
    /// From the payload of a record.
    pub(crate) fn new(payload: Bytes) -> Result<Self, Malformed> {
        let bytes = payload.len();
        Ok(Self { twin: twin_of(payload)?, bytes })
    }

    /// Its id.
    pub(crate) fn id(&self) -> Result<ExchangeId, Malformed> {
        exchange_id(&self.twin.id, "id")
    }

    /// Its turn.
    pub(crate) fn turn(&self) -> u64 {
        self.twin.turn
    }

    /// Its content hash.
    pub(crate) fn content_hash(&self) -> Result<Hash, Malformed> {
        hash(&self.twin.content_hash, "content_hash")
    }

    /// What an audit of tools needs of it.
    pub(crate) fn glance(self) -> Result<Glance, Malformed> {
        let parts = self.twin.assistant.map(|assistant| assistant.parts).unwrap_or_default();
        let call = |part: twin::Part| match part.kind {
            Some(twin::part::Kind::ToolCall(call)) => Some((CallId::new(call.call_id), call.name)),
            _ => None,
        };
        Ok(Glance {
            id: exchange_id(&self.twin.id, "id")?,
            depth: self.twin.depth,
            run_id: self.twin.run_id.map(RunId::new),
            thread_id: self.twin.thread_id.map(ThreadId::new),
            offered: self.twin.offered.map(|bytes| hash(&bytes, "offered")).transpose()?,
            lineage: lineage(self.twin.lineage.as_deref())?,
            calls: parts.into_iter().filter_map(call).collect(),
            created_at: Moment(self.twin.created_at_ms),
        })
    }

    /// What it names besides its large parts.
    pub(crate) fn naming(&self) -> Result<Naming, Malformed> {
        let id = |bytes: &Option<Bytes>, field| bytes.as_ref().map(|id| exchange_id(id, field)).transpose();
        let set = |bytes: &Option<Bytes>, field| bytes.as_ref().map(|bytes| hash(bytes, field)).transpose();
        Ok(Naming {
            id: self.id()?,
            parent: id(&self.twin.parent, "parent")?,
            continues: id(&self.twin.continues, "continues")?,
            run_id: self.twin.run_id.clone().map(RunId::new),
            thread_id: self.twin.thread_id.clone().map(ThreadId::new),
            offered: set(&self.twin.offered, "offered")?,
            standing: set(&self.twin.standing, "standing")?,
            lineage: lineage(self.twin.lineage.as_deref())?,
            workspace: around(self.twin.workspace_before.as_deref(), self.twin.workspace_after.as_deref())?,
            is_erased: self.twin.erased.is_some(),
        })
    }

    /// Hashes of its large parts, each once.
    pub(crate) fn parts(&mut self) -> Result<Vec<Hash>, Malformed> {
        media::taken_out(messages(&mut self.twin))
    }

    /// The exchange, with its large parts in place.
    pub(crate) fn whole(mut self, parts: &BTreeMap<Hash, Bytes>) -> Result<Exchange, Malformed> {
        media::bring_in(messages(&mut self.twin), parts)?;
        self.twin.value()
    }
}

/// The payload of an exchange's record without the documents that it names.
pub(crate) fn without_documents(payload: Bytes) -> Result<Bytes, Malformed> {
    let twin: twin::Exchange = twin_of(payload)?;
    Ok(bytes_of(&twin::Exchange { workspace_before: None, workspace_after: None, ..twin }))
}

/// Every message of an exchange.
fn messages(twin: &mut twin::Exchange) -> impl Iterator<Item = &mut twin::Message> {
    twin.messages.iter_mut().chain(twin.assistant.as_mut())
}

impl Twin<Exchange> for twin::Exchange {
    fn of(exchange: &Exchange) -> Self {
        Self {
            id: id_bytes(&exchange.id),
            parent: exchange.parent.as_ref().map(id_bytes),
            continues: exchange.continues.as_ref().map(id_bytes),
            continues_run: exchange.continues_run.as_ref().map(|id| id.as_str().to_owned()),
            run_id: exchange.run_id.as_ref().map(|id| id.as_str().to_owned()),
            depth: exchange.depth,
            turn: exchange.turn,
            thread_id: exchange.thread_id.as_ref().map(|id| id.as_str().to_owned()),
            origin: exchange.origin.number(),
            messages: twins(&exchange.messages),
            // Without it, a version that knows no erasure says that the record cannot be used, instead of showing an empty answer.
            assistant: exchange.erased.is_none().then(|| twin::Message::of(&exchange.assistant)),
            stop_reason: exchange.stop_reason.number(),
            stop_reason_raw: exchange.stop_reason_raw.clone(),
            offered: exchange.offered.as_ref().map(hash_bytes),
            standing: exchange.standing.as_ref().map(hash_bytes),
            settings: twins(&exchange.settings),
            validation: Some(twin::Validation::of(&exchange.validation)),
            usage: Some(twin::Usage::of(&exchange.usage)),
            observations: twins(&exchange.observations),
            warnings: twins(&exchange.warnings),
            responder: Some(twin::Responder::of(&exchange.responder)),
            content_hash: hash_bytes(&exchange.content_hash),
            labels: exchange.labels.clone(),
            created_at_ms: exchange.created_at.0,
            lineage: lineage_bytes(exchange.lineage),
            workspace_before: exchange.workspace.before.as_ref().map(hash_bytes),
            workspace_after: (exchange.workspace.after != exchange.workspace.before)
                .then(|| exchange.workspace.after.as_ref().map(hash_bytes).unwrap_or_default()),
            head_before: match &exchange.head_before {
                HeadBefore::Untold => None,
                HeadBefore::Empty => Some(Bytes::new()),
                HeadBefore::At(id) => Some(id_bytes(id)),
            },
            erased: exchange.erased.as_ref().map(|erased| twin::Erased {
                receipt: erased.receipt.clone(),
                at_ms: erased.at.0,
                by: erased.by.clone(),
            }),
        }
    }

    fn value(self) -> Result<Exchange, Malformed> {
        Ok(Exchange {
            id: exchange_id(&self.id, "id")?,
            parent: self.parent.map(|id| exchange_id(&id, "parent")).transpose()?,
            continues: self.continues.map(|id| exchange_id(&id, "continues")).transpose()?,
            continues_run: self.continues_run.map(RunId::new),
            run_id: self.run_id.map(RunId::new),
            depth: self.depth,
            turn: self.turn,
            thread_id: self.thread_id.map(ThreadId::new),
            origin: Origin::of_number(self.origin, "origin")?,
            messages: values(self.messages)?,
            assistant: match (self.assistant, &self.erased) {
                (None, Some(_)) => Message { role: Role::Assistant, parts: Vec::new() },
                (assistant, _) => required(assistant, "assistant")?,
            },
            stop_reason: StopReason::of_number(self.stop_reason, "stop_reason")?,
            stop_reason_raw: self.stop_reason_raw,
            offered: self.offered.map(|bytes| hash(&bytes, "offered")).transpose()?,
            standing: self.standing.map(|bytes| hash(&bytes, "standing")).transpose()?,
            lineage: lineage(self.lineage.as_deref())?,
            settings: values(self.settings)?,
            validation: required(self.validation, "validation")?,
            usage: required(self.usage, "usage")?,
            observations: values(self.observations)?,
            warnings: values(self.warnings)?,
            responder: required(self.responder, "responder")?,
            content_hash: hash(&self.content_hash, "content_hash")?,
            labels: self.labels,
            created_at: Moment(self.created_at_ms),
            workspace: around(self.workspace_before.as_deref(), self.workspace_after.as_deref())?,
            head_before: match self.head_before.as_deref() {
                None => HeadBefore::Untold,
                Some([]) => HeadBefore::Empty,
                Some(id) => HeadBefore::At(exchange_id(id, "head_before")?),
            },
            erased: self.erased.map(|erased| Erased {
                receipt: erased.receipt,
                at: Moment(erased.at_ms),
                by: erased.by,
            }),
        })
    }
}

fn around(before: Option<&[u8]>, after: Option<&[u8]>) -> Result<Around, Malformed> {
    let before = before.map(|bytes| hash(bytes, "workspace_before")).transpose()?;
    let after = match after {
        None => before,
        Some([]) => None,
        Some(bytes) => Some(hash(bytes, "workspace_after")?),
    };
    Ok(Around { before, after })
}

fn lineage_bytes(lineage: Lineage) -> Option<Bytes> {
    match lineage {
        Lineage::Unknown => None,
        Lineage::Nothing => Some(Bytes::new()),
        Lineage::Seen(hash) => Some(hash_bytes(&hash)),
    }
}

fn lineage(bytes: Option<&[u8]>) -> Result<Lineage, Malformed> {
    Ok(match bytes {
        None => Lineage::Unknown,
        Some([]) => Lineage::Nothing,
        Some(bytes) => Lineage::Seen(hash(bytes, "lineage")?),
    })
}

impl Twin<Responder> for twin::Responder {
    fn of(responder: &Responder) -> Self {
        Self {
            backend_id: responder.backend_id.clone(),
            provider: responder.provider.clone(),
            api: responder.api.clone(),
            model: responder.model.clone(),
            response_model: responder.response_model.clone(),
            response_id: responder.response_id.clone(),
        }
    }

    fn value(self) -> Result<Responder, Malformed> {
        Ok(Responder {
            backend_id: self.backend_id,
            provider: self.provider,
            api: self.api,
            model: self.model,
            response_model: self.response_model,
            response_id: self.response_id,
        })
    }
}
