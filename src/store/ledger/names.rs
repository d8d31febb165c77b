//! Reading what has a name: runs, threads, heads, requests. It must not know how any of them changes.

use futures::future::try_join_all;

use super::{Ledger, Remembered, Token};
use crate::domain::id::{RequestId, RunId, ThreadId};
use crate::domain::run::Run;
use crate::domain::thread::{Head, Thread};
use crate::domain::tool::ToolSet;
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::{Standing, ThreadRecord, decode};
use crate::store::{Error, Namespace};

impl Ledger {
    /// A run.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn run(&self, ns: &Namespace, id: &RunId) -> Result<Option<(Run, Token)>, Error> {
        self.read_with_token(ns, &Entry::Run(id.clone())).await
    }

    /// Runs in the order of their ids, after one of them.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn runs(&self, ns: &Namespace, after: Option<&RunId>, limit: usize) -> Result<Vec<Run>, Error> {
        let after = after.map(|id| Entry::Run(id.clone()));
        let entries = self.store.scan(ns, layout::all(Kind::Run, after.as_ref(), limit)).await?;
        entries.iter().map(|(key, raw)| decode(&named(key)?, raw)).collect()
    }

    /// A thread, apart from its head.
    ///
    /// # Errors
    /// When the store fails, or the record or its tool set is damaged.
    pub async fn thread(&self, ns: &Namespace, id: &ThreadId) -> Result<Option<(Thread, Token)>, Error> {
        match self.read_with_token(ns, &Entry::Thread(id.clone())).await? {
            Some((record, token)) => Ok(Some((self.whole_thread(ns, record).await?, token))),
            None => Ok(None),
        }
    }

    /// The head of a thread; present whenever the thread is.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn head(&self, ns: &Namespace, id: &ThreadId) -> Result<Option<(Head, Token)>, Error> {
        self.read_with_token(ns, &Entry::Head(id.clone())).await
    }

    /// Threads in the order of their ids, after one of them.
    ///
    /// # Errors
    /// When the store fails, or a record or its tool set is damaged.
    pub async fn threads(&self, ns: &Namespace, after: Option<&ThreadId>, limit: usize) -> Result<Vec<Thread>, Error> {
        let after = after.map(|id| Entry::Thread(id.clone()));
        let entries = self.store.scan(ns, layout::all(Kind::Thread, after.as_ref(), limit)).await?;
        let records = entries.iter().map(|(key, raw)| decode(&named(key)?, raw)).collect::<Result<Vec<_>, _>>()?;
        try_join_all(records.into_iter().map(|record| self.whole_thread(ns, record))).await
    }

    /// What came of a request that was done.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn request(&self, ns: &Namespace, id: &RequestId) -> Result<Option<Remembered>, Error> {
        self.read(ns, &Entry::Request(id.clone())).await
    }

    async fn whole_thread(&self, ns: &Namespace, record: ThreadRecord) -> Result<Thread, Error> {
        let set = match record.standing {
            Standing::Set(hash) => self.tool_set(ns, Some(hash)).await?,
            Standing::Empty | Standing::Unset => ToolSet::default(),
        };
        Ok(record.whole(set))
    }
}

/// What a key of a scan names.
pub(super) fn named(key: &[u8]) -> Result<Entry, Error> {
    Entry::of_key(key).ok_or_else(|| {
        Error::Corrupt(format!(
            "the key {} names nothing; run `antiphon verify` to learn what else is affected",
            layout::hex(key)
        ))
    })
}
