//! Coordinations and their journals: reading and changing. It must not know how a coordination goes from state to state.

use super::names::named;
use super::{Changes, Ledger, Lost, Token};
use crate::domain::coordination::{Coordination, Frame};
use crate::domain::id::CoordinationId;
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::{JournalPage, decode};
use crate::store::{Error, Guard, Namespace, Range};

impl Changes {
    /// Stores a new coordination. Its id must be free.
    pub fn create_coordination(&mut self, coordination: &Coordination) -> Token {
        let entry = Entry::Coordination(coordination.id.clone());
        self.guards.push((Guard::Absent(entry.key()), Lost::CoordinationExists(coordination.id.clone())));
        self.put(&entry, coordination)
    }

    /// Stores a coordination in place of the one that was read.
    pub fn replace_coordination(&mut self, coordination: &Coordination, seen: &Token) -> Token {
        let entry = Entry::Coordination(coordination.id.clone());
        let guard = Guard::Is(entry.key(), seen.0.clone());
        self.guards.push((guard, Lost::CoordinationChanged(coordination.id.clone())));
        self.put(&entry, coordination)
    }

    /// Adds frames to the journal of a coordination that is created or replaced in the same set; the first has this number. Numbers only
    /// ascend: the first is greater than any that was journalled before.
    pub fn journal(&mut self, id: &CoordinationId, first: u64, frames: &[Frame]) {
        if frames.is_empty() {
            return;
        }
        let entry = Entry::Journal(id.clone(), first);
        self.guards.push((Guard::Absent(entry.key()), Lost::CoordinationChanged(id.clone())));
        self.put(&entry, &JournalPage { first, frames: frames.to_vec() });
    }
}

impl Ledger {
    /// A coordination.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn coordination(
        &self,
        ns: &Namespace,
        id: &CoordinationId,
    ) -> Result<Option<(Coordination, Token)>, Error> {
        self.read_with_token(ns, &Entry::Coordination(id.clone())).await
    }

    /// Coordinations in the order of their ids, after one of them.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn coordinations(
        &self,
        ns: &Namespace,
        after: Option<&CoordinationId>,
        limit: usize,
    ) -> Result<Vec<Coordination>, Error> {
        let after = after.map(|id| Entry::Coordination(id.clone()));
        let entries = self.store.scan(ns, layout::all(Kind::Coordination, after.as_ref(), limit)).await?;
        entries.iter().map(|(key, raw)| decode(&named(key)?, raw)).collect()
    }

    /// Frames of a journal after a number, in order: those of at most so many writes. Empty when there are no more.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn journal(
        &self,
        ns: &Namespace,
        id: &CoordinationId,
        after_sequence: u64,
        limit_pages: usize,
    ) -> Result<Vec<(u64, Frame)>, Error> {
        let mut frames = Vec::new();
        // The page that the number lies in may go on after it.
        let mut pages = limit_pages;
        if pages > 0
            && let Some(page) = self.pages(ns, layout::page_at(id, after_sequence)).await?.pop()
            && page.last() > after_sequence
        {
            frames.extend(page.numbered().filter(|(number, _)| *number > after_sequence));
            pages -= 1;
        }
        if pages > 0 {
            let later = self.pages(ns, layout::pages_after(id, after_sequence, pages)).await?;
            frames.extend(later.into_iter().flat_map(JournalPage::numbered));
        }
        Ok(frames)
    }

    async fn pages(&self, ns: &Namespace, range: Range) -> Result<Vec<JournalPage>, Error> {
        let entries = self.store.scan(ns, range).await?;
        entries.iter().map(|(key, raw)| decode(&named(key)?, raw)).collect()
    }
}
