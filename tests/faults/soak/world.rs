//! What everybody in the soak shares: where the server is at the moment, what it acknowledged, and whether it is over. It must not know what
//! clients do, nor who stops the server.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use antiphon::grpc::pb;
use tokio::sync::watch;
use tonic::transport::Channel;

use crate::harness::Dice;

/// A kept exchange, as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The run that made it; empty where none did.
    pub(super) run: String,
    /// The exchange before it.
    pub(super) parent: String,
    /// The thread that the caller put it on; empty when on none.
    pub(super) thread: String,
    /// What was answered.
    pub(super) text: String,
}

/// Everything that was acknowledged.
#[derive(Default)]
pub(super) struct Book {
    pub(super) exchanges: BTreeMap<String, Kept>,
    ids: Vec<String>,
    /// The exchange that answered each question, by the question's mark.
    answered: HashMap<String, String>,
    /// Threads of one owner, with their heads.
    pub(super) heads: BTreeMap<String, String>,
    /// Threads that several clients moved.
    pub(super) crowded: BTreeSet<String>,
    /// Live documents by thread and name.
    pub(super) documents: BTreeMap<String, BTreeMap<String, String>>,
    /// How each coordination was left.
    pub(super) coordinations: BTreeMap<String, pb::CoordinationState>,
    /// Runs that were left waiting for results of tools.
    pub(super) left: BTreeSet<String>,
    /// How often the provider was asked each question.
    pub(super) asked: HashMap<String, u64>,
    /// Questions that the provider was asked although their answer had been acknowledged.
    pub(super) twice: Vec<String>,
}

pub(super) struct World {
    server: watch::Sender<Option<Channel>>,
    told: watch::Sender<u64>,
    calls: AtomicU64,
    over: AtomicBool,
    calm: AtomicBool,
    book: Mutex<Book>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            server: watch::Sender::new(None),
            told: watch::Sender::new(0),
            calls: AtomicU64::new(0),
            over: AtomicBool::new(false),
            calm: AtomicBool::new(false),
            book: Mutex::default(),
        }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// A connection to the server, once there is one.
    pub(super) async fn server(&self) -> Channel {
        let mut server = self.server.subscribe();
        let up = server.wait_for(Option::is_some).await.unwrap().clone();
        self.calls.fetch_add(1, Ordering::Relaxed);
        up.unwrap()
    }

    /// The server is here now, or nowhere.
    pub(super) fn moves(&self, server: Option<Channel>) {
        self.server.send_replace(server);
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Clients are to come to an end.
    pub(super) fn end(&self, over: bool) {
        self.over.store(over, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The provider behaves from now on.
    pub(super) fn calm(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Writes that were acknowledged so far, to wait for more.
    pub(super) fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// A write was acknowledged.
    pub(super) fn tell(&self) {
        self.told.send_modify(|told| *told += 1);
    }

    /// The provider is asked.
    pub(super) fn ask(&self, mark: &str) {
        let mut book = self.book();
        *book.asked.entry(mark.to_owned()).or_default() += 1;
        if book.answered.contains_key(mark) {
            book.twice.push(mark.to_owned());
        }
    }

    /// The question of a mark was answered with an exchange, as it must be, and in no other way before.
    pub(super) fn note(&self, mark: &str, thread: &str, text: &str, exchange: &pb::Exchange) {
        assert_eq!(exchange.text, text, "the answer to {mark}");
        let id = exchange.exchange_id.clone();
        let kept = Kept {
            run: exchange.run_id.clone(),
            parent: exchange.parent_exchange_id.clone(),
            thread: thread.to_owned(),
            text: text.to_owned(),
        };
        let mut book = self.book();
        let before = book.answered.entry(mark.to_owned()).or_insert_with(|| id.clone()).clone();
        assert_eq!(before, id, "{mark} is one exchange");
        match book.exchanges.insert(id.clone(), kept.clone()) {
            Some(before) => assert_eq!(before, kept, "an exchange never changes"),
            None => book.ids.push(id),
        }
        drop(book);
        self.tell();
    }

    /// A thread of one owner has this head.
    pub(super) fn head(&self, thread: &str, exchange: &pb::Exchange) {
        self.book().heads.insert(thread.to_owned(), exchange.exchange_id.clone());
    }

    /// One of the exchanges that were acknowledged.
    pub(super) fn pick(&self, dice: &mut Dice) -> Option<(String, Kept)> {
        let book = self.book();
        let count = u64::try_from(book.ids.len()).unwrap();
        let id = book.ids.get(usize::try_from(dice.roll(count.max(1))).unwrap())?;
        Some((id.clone(), book.exchanges[id].clone()))
    }
}
