//! Stored form of faults. It must not know how a fault is answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Malformed, Twin, twin, twins, values};
use crate::domain::fault::{Fault, Field, Reason, Resource};

impl Twin<Fault> for twin::Fault {
    fn of(fault: &Fault) -> Self {
        Self {
            reason: fault.reason.word().to_owned(),
            message: fault.message.clone(),
            fields: twins(&fault.fields),
            metadata: fault.metadata.clone(),
            resource: fault
                .resource
                .as_ref()
                .map(|resource| twin::Resource { kind: resource.kind.to_owned(), name: resource.name.clone() }),
            retry_after_ms: fault.retry_after_ms,
        }
    }

    fn value(self) -> Result<Fault, Malformed> {
        let reason =
            Reason::from_word(&self.reason).ok_or(Malformed::new("failure.reason", "is a word of a newer version"))?;
        let resource = match self.resource {
            Some(resource) => Some(Resource { kind: kind(&resource.kind)?, name: resource.name }),
            None => None,
        };
        Ok(Fault {
            reason,
            message: self.message,
            fields: values(self.fields)?,
            metadata: self.metadata,
            resource,
            retry_after_ms: self.retry_after_ms,
        })
    }
}

impl Twin<Field> for twin::Field {
    fn of(field: &Field) -> Self {
        Self { path: field.path.clone(), message: field.message.clone() }
    }

    fn value(self) -> Result<Field, Malformed> {
        Ok(Field { path: self.path, message: self.message })
    }
}

/// How many kinds of resources there can be; the API has about a dozen.
const MAX_KINDS: usize = 256;

/// Kinds that were read so far. In the domain a kind is a word of the program and lives as long as it does; so does one that was read,
/// once for each word.
static KINDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

fn kind(word: &str) -> Result<&'static str, Malformed> {
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kinds.get(word) {
        return Ok(known);
    }
    if kinds.len() >= MAX_KINDS {
        return Err(Malformed::new("failure.resource.kind", "is one of too many"));
    }
    let known: &'static str = Box::leak(word.to_owned().into_boxed_str());
    kinds.insert(known);
    Ok(known)
}
