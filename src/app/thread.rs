//! Threads: make, read, list, change and remove bookmarks, and list the turns on their paths. It must not know how a turn is executed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Segment;
use crate::domain::id::{ExchangeId, Hash, Namespace, RequestId, ThreadId};
use crate::domain::settings::ThreadDefaults;
use crate::domain::thread::{Head, NewThread, Thread, etag};
use crate::domain::workspace::Live;
use crate::store::ledger::{Changes, Lost, Remembered};

use super::access::AUDIT;
use super::base::{forked_from, head_at};
use super::turn::ThreadState;
use super::{App, Caller, store_fault};

/// A mutation that the caller may repeat safely.
#[derive(Clone, Debug)]
pub struct Repeatable {
    /// The caller's id for it.
    pub request_id: Option<RequestId>,
    /// Hash of the request as received.
    pub fingerprint: Hash,
}

/// What to change of a thread. Absent fields stay.
#[derive(Clone, Debug, Default)]
pub struct ThreadChange {
    /// The name.
    pub name: Option<String>,
    /// The labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// The caller's own data.
    pub metadata_json: Option<String>,
    /// The profile of the defaults.
    pub profile_id: Option<Option<String>>,
    /// The model of the defaults.
    pub model: Option<Option<String>>,
    /// The tools of the defaults.
    pub standing_tools: Option<Option<crate::domain::tool::ToolSet>>,
}

/// One turn on a thread's path: its last exchange and how many it has.
#[derive(Clone, Debug)]
pub struct TurnSummary {
    /// Its last exchange.
    pub last: Exchange,
    /// How many exchanges it has.
    pub exchange_count: u32,
    /// The text of its last user message.
    pub user_text: String,
    /// An exchange of it was erased.
    pub is_erased: bool,
}

/// The id is taken.
pub(super) fn exists(id: &ThreadId) -> Fault {
    let message = format!("thread `{id}` is there already: take another id, or go on from it with Continue");
    Fault::new(Reason::ThreadExists, message).with("thread_id", id)
}

impl App {
    /// The record of a thread to make at a root.
    pub(super) async fn make_thread(&self, namespace: &Namespace, new: &NewThread) -> Result<Thread, Fault> {
        let id = new.id.clone().unwrap_or_else(|| self.new_thread_id());
        if self.ledger.thread(namespace, &id).await.map_err(store_fault)?.is_some() {
            return Err(exists(&id));
        }
        let now = self.clock.now();
        Ok(Thread {
            id,
            name: new.name.clone(),
            labels: new.labels.clone(),
            metadata_json: new.metadata_json.clone(),
            defaults: new.defaults.clone(),
            parent: None,
            created_at: now,
            updated_at: now,
        })
    }

    /// The record of a thread to make at a fork point. It takes the source's defaults where the caller gives none (S0-19), nothing else (S0-23).
    pub(super) async fn fork_thread(
        &self,
        namespace: &Namespace,
        new: &NewThread,
        source: Option<&Thread>,
        exchange: &Exchange,
    ) -> Result<Thread, Fault> {
        let thread = self.make_thread(namespace, new).await?;
        let inherited = source.map(|source| source.defaults.clone()).unwrap_or_default();
        let defaults = ThreadDefaults {
            profile_id: thread.defaults.profile_id.clone().or(inherited.profile_id),
            model: thread.defaults.model.clone().or(inherited.model),
            standing_tools: thread.defaults.standing_tools.clone().or(inherited.standing_tools),
        };
        Ok(Thread { defaults, parent: Some(forked_from(source, exchange)), ..thread })
    }

    /// Makes a thread, empty or at an exchange.
    ///
    /// # Errors
    /// When the id is taken, or there is no such exchange.
    pub async fn create_thread(
        &self,
        caller: &Caller,
        new: &NewThread,
        at: Option<ExchangeId>,
        repeat: &Repeatable,
    ) -> Result<ThreadState, Fault> {
        let namespace = &caller.namespace;
        if let Some(id) = self.repeated(namespace, repeat).await? {
            return self.get_thread(caller, &ThreadId::new(id)).await;
        }
        self.accept_work()?;
        let (thread, head, root) = match at {
            Some(id) => {
                let exchange = self.parent(namespace, id).await?.exchange;
                let thread = self.fork_thread(namespace, new, None, &exchange).await?;
                (thread, head_at(&exchange), exchange.workspace.after)
            }
            None => (self.make_thread(namespace, new).await?, Head::default(), None),
        };
        let head = Head { updated_at: thread.created_at, ..head };
        let mut changes = Changes::new();
        changes.begin_workspace(&thread.id, &Live { root, sequence: 0, updated_at: thread.created_at });
        changes.create_thread(&thread, &head);
        self.remember(&mut changes, repeat, "thread", thread.id.as_str());
        let _footing = match head.exchange {
            Some(id) => Some(self.stand_on(namespace, id, None).await?),
            None => None,
        };
        self.commit_thread(namespace, &changes).await?;
        self.get_thread(caller, &thread.id).await
    }

    /// Reads a thread.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get_thread(&self, caller: &Caller, id: &ThreadId) -> Result<ThreadState, Fault> {
        match self.thread_state(&caller.namespace, id).await? {
            Some(state) => Ok(state),
            None => Err(Fault::not_found(Reason::ThreadNotFound, "thread", id.as_str())),
        }
    }

    /// A thread with its head and what it waits for, if it is there.
    pub(super) async fn thread_state(
        &self,
        namespace: &Namespace,
        id: &ThreadId,
    ) -> Result<Option<ThreadState>, Fault> {
        let thread = self.ledger.thread(namespace, id).await.map_err(store_fault)?;
        let head = self.ledger.head(namespace, id).await.map_err(store_fault)?;
        let (Some((thread, _)), Some((head, _))) = (thread, head) else {
            return Ok(None);
        };
        let pending =
            self.pending(namespace, &head).await?.map(|(_, exchange, run)| (run.map(|(run, _)| run.id), exchange));
        Ok(Some(ThreadState { thread, head, pending }))
    }

    /// Threads by id, after one, that have all of some labels; with the id to go on after, when there may be more.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_threads(
        &self,
        caller: &Caller,
        after: Option<ThreadId>,
        limit: usize,
        labels: &BTreeMap<String, String>,
    ) -> Result<(Vec<ThreadState>, Option<ThreadId>), Fault> {
        let namespace = &caller.namespace;
        let mut found = Vec::new();
        let mut after = after;
        // A page looks at a bounded number of threads, so that a rare label does not hold the store.
        for _ in 0..SCANS_FOR_A_PAGE {
            let page = self.ledger.threads(namespace, after.as_ref(), limit).await.map_err(store_fault)?;
            let full = page.len() == limit;
            for thread in page {
                after = Some(thread.id.clone());
                if labels.iter().all(|(key, value)| thread.labels.get(key) == Some(value)) {
                    found.extend(self.thread_state(namespace, &thread.id).await?);
                }
                if found.len() == limit {
                    return Ok((found, after));
                }
            }
            if !full {
                return Ok((found, None));
            }
        }
        Ok((found, after))
    }

    /// Changes a thread, never its head.
    ///
    /// # Errors
    /// When there is none, or its etag is another one.
    pub async fn update_thread(
        &self,
        caller: &Caller,
        id: &ThreadId,
        change: ThreadChange,
        expected_etag: Option<&str>,
        repeat: &Repeatable,
    ) -> Result<ThreadState, Fault> {
        let namespace = &caller.namespace;
        if self.repeated(namespace, repeat).await?.is_some() {
            return self.get_thread(caller, id).await;
        }
        self.accept_work()?;
        let (thread, token) = self.thread_for_change(namespace, id, expected_etag).await?;
        let defaults = ThreadDefaults {
            profile_id: change.profile_id.unwrap_or(thread.defaults.profile_id),
            model: change.model.unwrap_or(thread.defaults.model),
            standing_tools: change.standing_tools.unwrap_or(thread.defaults.standing_tools),
        };
        let thread = Thread {
            name: change.name.unwrap_or(thread.name),
            labels: change.labels.unwrap_or(thread.labels),
            metadata_json: change.metadata_json.unwrap_or(thread.metadata_json),
            defaults,
            updated_at: self.clock.now(),
            ..thread
        };
        let mut changes = Changes::new();
        changes.replace_thread(&thread, &token);
        self.remember(&mut changes, repeat, "thread", thread.id.as_str());
        self.commit_thread(namespace, &changes).await?;
        self.get_thread(caller, id).await
    }

    /// Removes the bookmark; exchanges stay.
    ///
    /// # Errors
    /// When there is none, its etag is another one, or a run is at work on it.
    pub async fn delete_thread(
        &self,
        caller: &Caller,
        id: &ThreadId,
        expected_etag: Option<&str>,
        repeat: &Repeatable,
    ) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        if self.repeated(namespace, repeat).await?.is_some() {
            return Ok(());
        }
        self.accept_work()?;
        if let Some(busy) = self.threads.busy_with(namespace, id) {
            let message = format!("run `{busy}` is at work on thread `{id}`: cancel it first, or wait for it");
            return Err(Fault::new(Reason::ThreadBusy, message).with("thread_id", id).with("active_run_id", busy));
        }
        let (_, token) = self.thread_for_change(namespace, id, expected_etag).await?;
        let (_, _, head) = self.read_thread(namespace, id).await?;
        let mut changes = Changes::new();
        changes.delete_thread(id, &token, &head);
        changes.remove_moves(id, self.numbers_of_moves(namespace, id).await?);
        self.remember(&mut changes, repeat, "thread", id.as_str());
        self.commit_thread(namespace, &changes).await?;
        tracing::info!(target: AUDIT, caller = caller.name(), namespace = namespace.as_str(), thread = %id, "thread.deleted");
        Ok(())
    }

    async fn thread_for_change(
        &self,
        namespace: &Namespace,
        id: &ThreadId,
        expected_etag: Option<&str>,
    ) -> Result<(Thread, crate::store::ledger::Token), Fault> {
        let Some((thread, token)) = self.ledger.thread(namespace, id).await.map_err(store_fault)? else {
            return Err(Fault::not_found(Reason::ThreadNotFound, "thread", id.as_str()));
        };
        if let Some(expected) = expected_etag {
            let (_, head, _) = self.read_thread(namespace, id).await?;
            let current = etag(&thread, &head);
            if current != expected {
                return Err(changed(id, &current));
            }
        }
        Ok((thread, token))
    }

    pub(super) async fn commit_thread(&self, namespace: &Namespace, changes: &Changes) -> Result<(), Fault> {
        match self.commit(namespace, changes).await.map_err(store_fault)? {
            Ok(()) => Ok(()),
            Err(Lost::ThreadExists(id)) => Err(exists(&id)),
            Err(Lost::ThreadChanged(id) | Lost::HeadMoved(id) | Lost::WorkspaceChanged(id)) => Err(changed(&id, "")),
            Err(Lost::RequestExists(id)) => {
                let message = format!("request id `{id}` is used by another call at this moment: repeat this one");
                Err(Fault::new(Reason::RequestIdConflict, message).with("request_id", id))
            }
            Err(Lost::VersionGone(_)) => Err(super::workspace::version_gone()),
            Err(Lost::ExchangeExists(id) | Lost::ParentMissing(id)) => Err(super::misplaced(id)),
            Err(Lost::RunExists(id) | Lost::RunChanged(id)) => {
                Err(Fault::new(Reason::Internal, format!("run `{id}` is in the way of a change of threads")))
            }
            Err(Lost::PreparedChanged(id)) => Err(Fault::new(
                Reason::Internal,
                format!("prepared execution `{id}` is in the way of a change of threads"),
            )),
            Err(Lost::CoordinationExists(id) | Lost::CoordinationChanged(id)) => {
                Err(Fault::new(Reason::Internal, format!("coordination `{id}` is in the way of a change of threads")))
            }
        }
    }

    /// What the same mutation brought before; absent when it is new.
    pub(super) async fn repeated(&self, namespace: &Namespace, repeat: &Repeatable) -> Result<Option<String>, Fault> {
        let Some(id) = &repeat.request_id else {
            return Ok(None);
        };
        let Some(remembered) = self.ledger.request(namespace, id).await.map_err(store_fault)? else {
            return Ok(None);
        };
        if remembered.fingerprint != repeat.fingerprint {
            let message =
                format!("request id `{id}` was used with another request: repeat that one unchanged, or take a new id");
            return Err(Fault::new(Reason::RequestIdConflict, message)
                .with("request_id", id)
                .with("fingerprint", repeat.fingerprint)
                .with("stored_fingerprint", remembered.fingerprint));
        }
        Ok(Some(String::from_utf8_lossy(&remembered.result).into_owned()))
    }

    pub(super) fn remember(&self, changes: &mut Changes, repeat: &Repeatable, kind: &str, result: &str) {
        if let Some(id) = &repeat.request_id {
            let result = bytes::Bytes::copy_from_slice(result.as_bytes());
            changes.remember(
                id,
                &Remembered {
                    kind: kind.to_owned(),
                    fingerprint: repeat.fingerprint,
                    result,
                    done_at: self.clock.now(),
                },
            );
        }
    }

    /// Whether there is a thread.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_thread(&self, caller: &Caller, id: &ThreadId) -> Result<bool, Fault> {
        Ok(self.ledger.head(&caller.namespace, id).await.map_err(store_fault)?.is_some())
    }

    /// Turns on a thread's path from one number on; with the number to go on from, when there may be more.
    ///
    /// # Errors
    /// When there is no such thread.
    pub async fn list_turns(
        &self,
        caller: &Caller,
        id: &ThreadId,
        from_depth: u64,
        limit: usize,
    ) -> Result<(Vec<TurnSummary>, Option<u64>), Fault> {
        let namespace = &caller.namespace;
        let (_, head, _) = self.read_thread(namespace, id).await?;
        let Some(path) = self.head_path(namespace, &head).await? else {
            return Ok((Vec::new(), None));
        };
        let mut turns: Vec<TurnSummary> = Vec::new();
        let mut depth = from_depth.max(1);
        loop {
            // One more than asked for, so that the last turn is known to be whole.
            let page = self
                .ledger
                .exchanges(namespace, &path, depth, limit.saturating_add(1), self.limits.max_page_bytes)
                .await
                .map_err(store_fault)?;
            if page.is_empty() {
                return Ok((turns, None));
            }
            for exchange in page {
                let same = turns.last().is_some_and(|turn| turn.last.turn == exchange.turn);
                if !same && turns.len() == limit {
                    return Ok((turns, Some(exchange.depth)));
                }
                depth = exchange.depth.saturating_add(1);
                add_turn(&mut turns, Arc::unwrap_or_clone(exchange), same);
            }
        }
    }

    /// The path to a head; absent for an empty one.
    pub(super) async fn head_path(&self, namespace: &Namespace, head: &Head) -> Result<Option<Vec<Segment>>, Fault> {
        let Some(id) = head.exchange else {
            return Ok(None);
        };
        let Some(place) = self.ledger.place(namespace, id).await.map_err(store_fault)? else {
            return Err(Fault::new(Reason::StoreCorrupt, format!("exchange {id} is missing: run `antiphon verify`")));
        };
        Ok(Some(self.ledger.path(namespace, place).await.map_err(store_fault)?))
    }
}

/// How many scans one page of a filtered list may cost.
const SCANS_FOR_A_PAGE: usize = 64;

fn add_turn(turns: &mut Vec<TurnSummary>, exchange: Exchange, same: bool) {
    match turns.last_mut() {
        Some(turn) if same => {
            turn.exchange_count = turn.exchange_count.saturating_add(1);
            turn.is_erased |= exchange.erased.is_some();
            turn.last = exchange;
        }
        _ => {
            let (user_text, is_erased) = (exchange.asked(), exchange.erased.is_some());
            turns.push(TurnSummary { user_text, is_erased, last: exchange, exchange_count: 1 });
        }
    }
}

fn changed(id: &ThreadId, current: &str) -> Fault {
    let message = format!("thread `{id}` was changed since it was read: read it again and repeat the change");
    let fault = Fault::new(Reason::EtagMismatch, message).with("thread_id", id);
    if current.is_empty() { fault } else { fault.with("etag", current) }
}
