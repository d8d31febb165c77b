//! Stored forms of pins, expiries and receipts. It must not know what comes of them.

use super::{Malformed, Twin, Word, bytes_of, exchange_id, id_bytes, required, stored, twin, twins, values, words};
use crate::domain::id::{Hash, Moment, RunId, ThreadId};
use crate::domain::retention::{Erasing, Expiry, Gone, Mode, Pin, Receipt, Target};

stored!(Pin, twin::Pin);
stored!(Expiry, twin::Expiry);
stored!(Receipt, twin::Receipt);
stored!(Erasing, twin::Erasing);

words!(Mode, twin::EraseMode, [Refuse, Cascade, Tombstone]);

/// What a target is called in a key.
pub(crate) fn hash_of(target: &Target) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key("antiphon retention target 1");
    hasher.update(&bytes_of(&twin::Target::of(target)));
    Hash(*hasher.finalize().as_bytes())
}

impl Twin<Target> for twin::Target {
    fn of(target: &Target) -> Self {
        use twin::target::Target as Kind;
        let kind = match target {
            Target::Exchange(id) => Kind::Exchange(id_bytes(id)),
            Target::Thread(id) => Kind::Thread(id.as_str().to_owned()),
            Target::Run(id) => Kind::Run(id.as_str().to_owned()),
            Target::Subtree(id, max_steps) => {
                Kind::Subtree(twin::Subtree { exchange: id_bytes(id), max_steps: *max_steps })
            }
        };
        Self { target: Some(kind) }
    }

    fn value(self) -> Result<Target, Malformed> {
        use twin::target::Target as Kind;
        Ok(match self.target.ok_or(Malformed::missing("target"))? {
            Kind::Exchange(id) => Target::Exchange(exchange_id(&id, "target.exchange")?),
            Kind::Thread(id) => Target::Thread(ThreadId::new(id)),
            Kind::Run(id) => Target::Run(RunId::new(id)),
            Kind::Subtree(subtree) => {
                Target::Subtree(exchange_id(&subtree.exchange, "target.subtree.exchange")?, subtree.max_steps)
            }
        })
    }
}

impl Twin<Pin> for twin::Pin {
    fn of(pin: &Pin) -> Self {
        Self {
            id: pin.id.clone(),
            target: Some(twin::Target::of(&pin.target)),
            note: pin.note.clone(),
            created_at_ms: pin.created_at.0,
        }
    }

    fn value(self) -> Result<Pin, Malformed> {
        let target = required(self.target, "target")?;
        Ok(Pin { id: self.id, target, note: self.note, created_at: Moment(self.created_at_ms) })
    }
}

impl Twin<Expiry> for twin::Expiry {
    fn of(expiry: &Expiry) -> Self {
        Self { target: Some(twin::Target::of(&expiry.target)), at_ms: expiry.at.0 }
    }

    fn value(self) -> Result<Expiry, Malformed> {
        Ok(Expiry { target: required(self.target, "target")?, at: Moment(self.at_ms) })
    }
}

impl Twin<Gone> for twin::Gone {
    fn of(gone: &Gone) -> Self {
        Self { letter: gone.letter.into(), count: gone.count, bytes: gone.bytes }
    }

    fn value(self) -> Result<Gone, Malformed> {
        let letter = u8::try_from(self.letter).map_err(|_| Malformed::new("gone.letter", "is no letter"))?;
        Ok(Gone { letter, count: self.count, bytes: self.bytes })
    }
}

impl Twin<Receipt> for twin::Receipt {
    fn of(receipt: &Receipt) -> Self {
        Self {
            id: receipt.id.clone(),
            target: Some(twin::Target::of(&receipt.target)),
            mode: receipt.mode.number(),
            note: receipt.note.clone(),
            tombstones: receipt.tombstones,
            gone: twins(&receipt.gone),
            shared: receipt.shared,
            exchanges: receipt.exchanges.iter().map(id_bytes).collect(),
            at_ms: receipt.at.0,
            by: receipt.by.clone(),
            made_at_ms: receipt.made_at.map(|made_at| made_at.0),
        }
    }

    fn value(self) -> Result<Receipt, Malformed> {
        Ok(Receipt {
            id: self.id,
            target: required(self.target, "target")?,
            mode: Mode::of_number(self.mode, "mode")?,
            note: self.note,
            tombstones: self.tombstones,
            gone: values(self.gone)?,
            shared: self.shared,
            exchanges: self.exchanges.iter().map(|id| exchange_id(id, "exchanges")).collect::<Result<_, _>>()?,
            at: Moment(self.at_ms),
            by: self.by,
            made_at: self.made_at_ms.map(Moment),
        })
    }
}

impl Twin<Erasing> for twin::Erasing {
    fn of(erasing: &Erasing) -> Self {
        Self {
            receipt: Some(twin::Receipt::of(&erasing.receipt)),
            takes_drafts: erasing.takes_drafts,
            end: erasing.end.as_ref().map(id_bytes),
        }
    }

    fn value(self) -> Result<Erasing, Malformed> {
        Ok(Erasing {
            receipt: required(self.receipt, "receipt")?,
            takes_drafts: self.takes_drafts,
            end: self.end.map(|id| exchange_id(&id, "end")).transpose()?,
        })
    }
}
