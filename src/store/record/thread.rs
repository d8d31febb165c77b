//! Stored forms of threads and heads. A thread's standing tools lie in records of their own. It must not know how a head moves.

use bytes::Bytes;

use super::{Malformed, Twin, exchange_id, hash, hash_bytes, id_bytes, stored, twin};
use crate::domain::id::{Hash, Moment, RunId, ThreadId};
use crate::domain::settings::ThreadDefaults;
use crate::domain::thread::{Head, Parent, Thread};
use crate::domain::tool::ToolSet;

stored!(Head, twin::Head);
stored!(ThreadRecord, twin::Thread);

/// Which tools stand on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It says nothing.
    Unset,
    /// None.
    Empty,
    /// Those of this set.
    Set(Hash),
}

/// A thread without its standing tools.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadRecord {
    thread: Thread,
    /// Which tools stand.
    pub(crate) standing: Standing,
}

impl ThreadRecord {
    /// Of a thread.
    pub(crate) fn new(thread: &Thread) -> Self {
        let standing = match &thread.defaults.standing_tools {
            None => Standing::Unset,
            Some(set) => set.hash().map_or(Standing::Empty, Standing::Set),
        };
        let defaults = ThreadDefaults { standing_tools: None, ..thread.defaults.clone() };
        Self { thread: Thread { defaults, ..thread.clone() }, standing }
    }

    /// The thread, given its set when it has one.
    pub(crate) fn whole(self, set: ToolSet) -> Thread {
        let mut thread = self.thread;
        thread.defaults.standing_tools = match self.standing {
            Standing::Unset => None,
            Standing::Empty => Some(ToolSet::default()),
            Standing::Set(_) => Some(set),
        };
        thread
    }

    /// The thread; its standing tools are absent.
    pub(crate) fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl Twin<ThreadRecord> for twin::Thread {
    fn of(record: &ThreadRecord) -> Self {
        let thread = &record.thread;
        Self {
            id: thread.id.as_str().to_owned(),
            name: thread.name.clone(),
            labels: thread.labels.clone(),
            metadata_json: thread.metadata_json.clone(),
            defaults: Some(twin::ThreadDefaults {
                profile_id: thread.defaults.profile_id.clone(),
                model: thread.defaults.model.clone(),
                standing_tools: match &record.standing {
                    Standing::Unset => None,
                    Standing::Empty => Some(Bytes::new()),
                    Standing::Set(hash) => Some(hash_bytes(hash)),
                },
            }),
            parent: thread.parent.as_ref().map(twin::ThreadParent::of),
            created_at_ms: thread.created_at.0,
            updated_at_ms: thread.updated_at.0,
        }
    }

    fn value(self) -> Result<ThreadRecord, Malformed> {
        let defaults = self.defaults.ok_or(Malformed::missing("defaults"))?;
        let standing = match defaults.standing_tools {
            None => Standing::Unset,
            Some(bytes) if bytes.is_empty() => Standing::Empty,
            Some(bytes) => Standing::Set(hash(&bytes, "defaults.standing_tools")?),
        };
        let thread = Thread {
            id: ThreadId::new(self.id),
            name: self.name,
            labels: self.labels,
            metadata_json: self.metadata_json,
            defaults: ThreadDefaults { profile_id: defaults.profile_id, model: defaults.model, standing_tools: None },
            parent: self.parent.map(Twin::value).transpose()?,
            created_at: Moment(self.created_at_ms),
            updated_at: Moment(self.updated_at_ms),
        };
        Ok(ThreadRecord { thread, standing })
    }
}

impl Twin<Parent> for twin::ThreadParent {
    fn of(parent: &Parent) -> Self {
        Self {
            thread_id: parent.thread_id.as_ref().map(|id| id.as_str().to_owned()),
            exchange: id_bytes(&parent.exchange),
            run_id: parent.run_id.as_ref().map(|id| id.as_str().to_owned()),
            turn: parent.turn,
        }
    }

    fn value(self) -> Result<Parent, Malformed> {
        Ok(Parent {
            thread_id: self.thread_id.map(ThreadId::new),
            exchange: exchange_id(&self.exchange, "parent.exchange")?,
            run_id: self.run_id.map(RunId::new),
            turn: self.turn,
        })
    }
}

impl Twin<Head> for twin::Head {
    fn of(head: &Head) -> Self {
        Self {
            exchange: head.exchange.as_ref().map(id_bytes),
            run_id: head.run_id.as_ref().map(|id| id.as_str().to_owned()),
            turn_count: head.turn_count,
            active_run: head.active_run.as_ref().map(|id| id.as_str().to_owned()),
            sequence: head.sequence,
            updated_at_ms: head.updated_at.0,
        }
    }

    fn value(self) -> Result<Head, Malformed> {
        Ok(Head {
            exchange: self.exchange.map(|id| exchange_id(&id, "exchange")).transpose()?,
            run_id: self.run_id.map(RunId::new),
            turn_count: self.turn_count,
            active_run: self.active_run.map(RunId::new),
            sequence: self.sequence,
            updated_at: Moment(self.updated_at_ms),
        })
    }
}
