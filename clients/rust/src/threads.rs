//! Threads on record: read, listed, made, changed and removed. Knows nothing of how turns are made.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::pb;
use crate::point::{ExchangeRef, NewThread};
use crate::retry::{Limit, fresh};
use crate::thread::{Move, Thread, Turn};

impl Client {
    /// Reads a thread.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn thread(&self, thread_id: &str) -> Result<Thread> {
        let asked = pb::ThreadServiceGetRequest { thread_id: thread_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, threads_service.get)).await?;
        Ok(Thread::from_raw(answer.thread.unwrap_or_default()))
    }

    /// Lists all threads by id, or those that have all these labels.
    pub fn threads(&self, labels: BTreeMap<String, String>) -> Pages<Thread> {
        let asked = pb::ThreadServiceListRequest { labels, ..pb::ThreadServiceListRequest::default() };
        pages!(self, threads_service.list, asked, threads, Thread::from_raw)
    }

    /// Makes a thread, empty, or with its head at an exchange.
    pub fn create_thread(&self, thread: NewThread) -> CreateThread {
        CreateThread { client: self.clone(), thread, head: None, request_id: None }
    }

    /// Changes what is said, and leaves the rest and the head.
    pub fn update_thread(&self, thread_id: impl Into<String>) -> UpdateThread {
        let raw = pb::ThreadServiceUpdateRequest {
            thread_id: thread_id.into(),
            request_id: fresh(),
            ..pb::ThreadServiceUpdateRequest::default()
        };
        UpdateThread { client: self.clone(), raw, wrong: None }
    }

    /// Removes the bookmark; exchanges stay, and so do threads forked from it. With the etag of a thread that was read, one that changed meanwhile is
    /// refused; an empty one is none.
    ///
    /// # Errors
    /// There is none of this id, it changed, or the server cannot be asked.
    pub async fn delete_thread(&self, thread_id: &str, etag: &str) -> Result<()> {
        let asked = pb::ThreadServiceDeleteRequest {
            thread_id: thread_id.to_owned(),
            etag: etag.to_owned(),
            request_id: fresh(),
        };
        call(Limit::default(), asked, method!(self, threads_service.delete)).await.map(drop)
    }

    /// The turns on a thread's path, first to last.
    pub fn turns(&self, thread_id: impl Into<String>) -> Pages<Turn> {
        let asked = pb::ListTurnsRequest { thread_id: thread_id.into(), ..pb::ListTurnsRequest::default() };
        pages!(self, threads_service.list_turns, asked, turns, Turn::from_raw)
    }

    /// Moves a thread's head to an exchange on its path, or one that its head once was, and its documents to those that were there then. Nothing is
    /// lost: the way back is a restore, too, see [`moves`](Self::moves).
    pub fn restore(&self, thread_id: impl Into<String>, to: impl Into<ExchangeRef>) -> Restore {
        let (client, thread_id, to) = (self.clone(), thread_id.into(), to.into());
        Restore { client, thread_id, to, expected_head: None, request_id: None, timeout: None }
    }

    /// Where a thread's head was, the newest move first.
    pub fn moves(&self, thread_id: impl Into<String>) -> Pages<Move> {
        let asked = pb::ListMovesRequest { thread_id: thread_id.into(), ..pb::ListMovesRequest::default() };
        pages!(self, threads_service.list_moves, asked, moves, Move::from_raw)
    }
}

/// A way back for a thread; see [`Client::restore`].
#[must_use = "nothing moves before it is awaited"]
pub struct Restore {
    client: Client,
    thread_id: String,
    to: ExchangeRef,
    expected_head: Option<ExchangeRef>,
    request_id: Option<String>,
    timeout: Option<Duration>,
}

impl Restore {
    /// The head that the caller saw; a thread that others moved from it is refused.
    pub fn expected_head(mut self, exchange: impl Into<ExchangeRef>) -> Self {
        self.expected_head = Some(exchange.into());
        self
    }

    /// Names the change, so that saying it twice makes it once.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// How long it may take, its repetitions included.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    async fn run(self) -> Result<Thread> {
        let head = self.expected_head.map(|head| head.to_raw()).transpose()?;
        let asked = pb::RestoreRequest {
            thread_id: self.thread_id,
            to: Some(self.to.to_raw()?),
            expected_head: head.map(|head| pb::ExpectedHead { head: Some(pb::expected_head::Head::Exchange(head)) }),
            request_id: self.request_id.unwrap_or_else(fresh),
        };
        let answer = call(Limit::after(self.timeout), asked, method!(self.client, threads_service.restore)).await?;
        Ok(Thread::from_raw(answer.thread.unwrap_or_default()))
    }
}

/// A thread to make; see [`Client::create_thread`].
#[must_use = "nothing is made before it is awaited"]
pub struct CreateThread {
    client: Client,
    thread: NewThread,
    head: Option<ExchangeRef>,
    request_id: Option<String>,
}

impl CreateThread {
    /// The exchange that its head is at.
    pub fn head(mut self, exchange: impl Into<ExchangeRef>) -> Self {
        self.head = Some(exchange.into());
        self
    }

    /// Names the change, so that saying it twice makes it once.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    async fn run(self) -> Result<Thread> {
        let head = self.head.map(|head| head.to_raw()).transpose()?;
        let asked = pb::ThreadServiceCreateRequest {
            thread: Some(self.thread.into_raw()?),
            head,
            request_id: self.request_id.unwrap_or_else(fresh),
        };
        let answer = call(Limit::default(), asked, method!(self.client, threads_service.create)).await?;
        Ok(Thread::from_raw(answer.thread.unwrap_or_default()))
    }
}

/// What changes of a thread; see [`Client::update_thread`].
#[must_use = "nothing is changed before it is awaited"]
pub struct UpdateThread {
    client: Client,
    raw: pb::ThreadServiceUpdateRequest,
    wrong: Option<Error>,
}

impl UpdateThread {
    fn changed(mut self, path: &str, change: impl FnOnce(&mut pb::NewThread)) -> Self {
        self.raw.update_mask.get_or_insert_default().paths.push(path.to_owned());
        change(self.raw.thread.get_or_insert_default());
        self
    }

    /// Its name.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.changed("name", |thread| thread.name = name.into())
    }

    /// Its labels, in place of all that it has.
    pub fn labels(self, labels: BTreeMap<String, String>) -> Self {
        self.changed("labels", |thread| thread.labels = labels)
    }

    /// The caller's own data, which becomes a JSON object.
    pub fn metadata(mut self, metadata: &impl Serialize) -> Self {
        match serde_json::to_string(metadata) {
            Ok(json) => self.changed("metadata_json", |thread| thread.metadata_json = json),
            Err(error) => {
                self.wrong = Some(Error::invalid(format!("metadata: {error}")));
                self
            }
        }
    }

    /// The profile that its turns use unless they say otherwise.
    pub fn profile(self, id: impl Into<String>) -> Self {
        self.changed("defaults.profile_id", |thread| thread.defaults.get_or_insert_default().profile_id = id.into())
    }

    /// The model that its turns use unless they say otherwise.
    pub fn model(self, model: impl Into<String>) -> Self {
        self.changed("defaults.model", |thread| thread.defaults.get_or_insert_default().model = model.into())
    }

    /// The etag of the thread as it was read refuses the change where others made one meanwhile.
    pub fn etag(mut self, etag: impl Into<String>) -> Self {
        self.raw.etag = etag.into();
        self
    }

    async fn run(self) -> Result<Thread> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let answer = call(Limit::default(), self.raw, method!(self.client, threads_service.update)).await?;
        Ok(Thread::from_raw(answer.thread.unwrap_or_default()))
    }
}

macro_rules! changes {
    ($($change:ident -> $given:ty),*) => {$(
        impl IntoFuture for $change {
            type Output = Result<$given>;
            type IntoFuture = BoxFuture<'static, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    )*};
}
changes!(CreateThread -> Thread, UpdateThread -> Thread, Restore -> Thread);
