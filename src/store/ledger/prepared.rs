//! Prepared executions: reading, using once, and removing. It must not know when one may be used.

use std::ops::Bound;

use super::names::named;
use super::{Changes, Ledger, Lost, Token};
use crate::domain::id::{Moment, PreparedId};
use crate::domain::prepared::Prepared;
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::PreparedRecord;
use crate::store::{Error, Guard, Namespace};

impl Changes {
    /// Stores a new prepared execution, with its tools. Its id must be free.
    pub fn create_prepared(&mut self, prepared: &Prepared) {
        let entry = Entry::Prepared(prepared.id.clone());
        self.guards.push((Guard::Absent(entry.key()), Lost::PreparedChanged(prepared.id.clone())));
        self.tool_set(&prepared.plan.offer.offered);
        self.tool_set(&prepared.plan.offer.standing);
        self.put(&entry, &PreparedRecord::new(prepared));
    }

    /// Stores a prepared execution in place of the one that was read.
    pub fn replace_prepared(&mut self, prepared: &Prepared, seen: &Token) {
        let entry = Entry::Prepared(prepared.id.clone());
        self.guards.push((Guard::Is(entry.key(), seen.0.clone()), Lost::PreparedChanged(prepared.id.clone())));
        self.put(&entry, &PreparedRecord::new(prepared));
    }

    /// Removes a prepared execution, be it there or not.
    pub fn delete_prepared(&mut self, id: &PreparedId) {
        self.deletes.push(Entry::Prepared(id.clone()).key());
    }
}

impl Ledger {
    /// A prepared execution.
    ///
    /// # Errors
    /// When the store fails, or the record or one of its tool sets is damaged.
    pub async fn prepared(&self, ns: &Namespace, id: &PreparedId) -> Result<Option<(Prepared, Token)>, Error> {
        let entry = Entry::Prepared(id.clone());
        let Some((record, token)) = self.read_with_token::<PreparedRecord>(ns, &entry).await? else {
            return Ok(None);
        };
        let offered = self.tool_set(ns, record.plan.offered).await?;
        let standing = self.tool_set(ns, record.plan.standing).await?;
        Ok(Some((record.whole(offered, standing), token)))
    }

    /// Prepared executions that expired before a moment, the first ones first. Their ids begin with the moment of their end.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn expired_prepared(&self, ns: &Namespace, now: Moment, limit: usize) -> Result<Vec<PreparedId>, Error> {
        let mut range = layout::all(Kind::Prepared, None, limit);
        range.to = Bound::Excluded(layout::prepared_until(now));
        let entries = self.store.scan(ns, range).await?;
        let id = |key: &[u8]| match named(key)? {
            Entry::Prepared(id) => Ok(Some(id)),
            _ => Ok(None),
        };
        let ids: Result<Vec<Option<PreparedId>>, Error> = entries.iter().map(|(key, _)| id(key)).collect();
        Ok(ids?.into_iter().flatten().collect())
    }
}
