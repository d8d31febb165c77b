//! Looking at a record that another one names. It must not judge: what is broken is found under its own key, and its referrers are not
//! blamed for it.

use bytes::Bytes;

use super::Check;
use crate::domain::exchange::Exchange;
use crate::domain::graph::Place;
use crate::domain::id::ExchangeId;
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::exchange::Lean;
use crate::store::record::{Malformed, Stored, envelope};

/// What was seen.
pub(super) enum Look<T> {
    Found(T),
    Missing,
    Broken,
}

/// Why a record is no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error(transparent)]
    Envelope(#[from] envelope::Broken),
    #[error(transparent)]
    Twin(#[from] Malformed),
}

pub(super) fn decode<T: Stored>(entry: &Entry, raw: &Bytes) -> Result<T, Unreadable> {
    Ok(T::from_payload(envelope::open(&entry.key(), raw)?)?)
}

pub(super) fn lean(place: Place, raw: &Bytes) -> Result<Lean, Unreadable> {
    Ok(Lean::new(envelope::open(&Entry::Exchange(place).key(), raw)?)?)
}

impl Check<'_> {
    pub(super) async fn look<T: Stored>(&self, entry: &Entry) -> Result<Look<T>, Error> {
        Ok(match self.ledger.raw(self.ns, entry).await? {
            None => Look::Missing,
            Some(raw) => decode(entry, &raw).map_or(Look::Broken, Look::Found),
        })
    }

    pub(super) async fn look_lean(&self, place: Place) -> Result<Look<Lean>, Error> {
        Ok(match self.ledger.raw(self.ns, &Entry::Exchange(place)).await? {
            None => Look::Missing,
            Some(raw) => lean(place, &raw).map_or(Look::Broken, Look::Found),
        })
    }

    pub(super) async fn look_exchange(&self, place: Place) -> Result<Look<Exchange>, Error> {
        match self.ledger.exchange_at(self.ns, place).await {
            Ok(Some(exchange)) => Ok(Look::Found(exchange)),
            Ok(None) => Ok(Look::Missing),
            Err(Error::Corrupt(_)) => Ok(Look::Broken),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn is_there(&self, entry: &Entry) -> Result<bool, Error> {
        Ok(self.ledger.raw(self.ns, entry).await?.is_some())
    }

    /// Adds a problem when an exchange that is named is not stored.
    pub(super) async fn expect_exchange(
        &self,
        problems: &mut Vec<String>,
        what: &str,
        id: Option<ExchangeId>,
    ) -> Result<(), Error> {
        if let Some(id) = id
            && !self.is_there(&Entry::Id(id)).await?
        {
            problems.push(format!("{what} {id} is not stored"));
        }
        Ok(())
    }
}
