//! One coordination at work in this process: what is, one transition at a time, and a board from which streams read what is told. It must not
//! know who asks or what a frame says.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::coordination::{Coordination, Frame, PendingId, Planned, State};
use crate::domain::fault::Fault;
use crate::domain::id::{CallId, CoordinationId, ExchangeId, Hash, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::run::{OnDisconnect, Run};
use crate::store::ledger::Token;

use super::super::flight::{Event as Flown, Flight};
use super::super::turn::Detailed;

/// Frames that stay at hand for streams; earlier ones are read from the journal.
const RECENT: usize = 64;
/// Frames that can be told ahead of a step's write. More are not told: nobody retries that often in one step.
const MAX_TOLD: usize = 512;
/// Bytes of an answer that may wait for the client to read before its turn waits for the client.
const MAX_UNREAD: usize = 256 * 1024;
/// By how much the numbers of frames go on after a crash, which may have taken frames with it that were told and not kept.
pub(super) const LOST_NUMBERS: u64 = 1_024;

/// One coordination at work, or with a stream attached.
pub(super) struct Live {
    /// Itself, for what goes on when whoever asked for it is gone.
    me: Weak<Live>,
    pub(super) namespace: Namespace,
    pub(super) id: CoordinationId,
    /// It leaves nothing behind.
    pub(super) ephemeral: bool,
    /// Held while it is read and brought to where it is.
    pub(super) loading: tokio::sync::Mutex<()>,
    /// What is on record, with its token; none where nothing is kept. Held from reading what is to having written what is then, so that transitions follow one another.
    pub(super) record: tokio::sync::Mutex<Option<(Coordination, Option<Token>)>>,
    /// Held by an answer from its checks through admission to its claim: of two answers the second one meets what the first one made.
    pub(super) turnstile: Arc<tokio::sync::Mutex<()>>,
    board: Mutex<Board>,
    changed: watch::Sender<()>,
}

/// What streams read.
#[derive(Default)]
struct Board {
    now: Option<Arc<Coordination>>,
    /// The number of the next frame.
    next: u64,
    /// Every frame up to this number can be read.
    readable: u64,
    /// Transitions that are on their way: asked for, and not over.
    entering: usize,
    /// A transition is being written, whose frames come before those told meanwhile.
    writing: bool,
    /// Told and not kept yet.
    told: Vec<Frame>,
    recent: BTreeMap<u64, Recent>,
    /// The decision whose frame was handed to a stream.
    delivered: Option<PendingId>,
    flight: Option<Arc<Flight>>,
    /// That of the last step, until what it told was told to the stream that listened when it began.
    untold: Option<Arc<Flight>>,
    /// Ends an answer that waits for admission.
    starting: Option<CancellationToken>,
    /// How many steps have begun, be it in vain.
    steps: u64,
    /// What a broken stream does to the turn at work.
    on_disconnect: OnDisconnect,
    /// Bytes of the answer at work that the attached stream has not told, where it tells them at all.
    unread: usize,
    /// Its turn has waited long enough for the client to read, and goes on without.
    impatient: bool,
    /// The attached stream, or the one that is expected, tells the pieces of answers.
    listens: bool,
    /// The stream of whoever began it comes once its first turn has.
    expected: bool,
    /// Counts the streams; the last one is attached unless it has let go.
    streams: u64,
    attached: bool,
    /// Streams that have let go, and when they did is not on record yet.
    leaving: usize,
    /// What happened cannot be kept.
    broken: Option<Fault>,
    /// Exchanges of an ephemeral coordination, which are nowhere else.
    exchanges: Vec<Bodies>,
    /// Results of its tool calls.
    results: HashMap<Hash, Message>,
    /// What its client is to send, with the run.
    generating: Option<(Hash, Planned, Run)>,
}

impl Board {
    /// Whether a turn is at work, or an answer waits for admission.
    fn is_at_work(&self) -> bool {
        let runs = self.now.as_ref().is_some_and(|now| matches!(now.state, State::TurnRunning(_)));
        runs || self.starting.is_some()
    }

    /// Whether the turn at work need not wait for the client to read.
    fn has_room(&self) -> bool {
        !self.attached || !self.listens || self.impatient || self.unread < MAX_UNREAD
    }
}

/// A transition on its way.
pub(super) struct Entering(Arc<Live>);

impl Drop for Entering {
    fn drop(&mut self) {
        let mut board = self.0.board();
        board.entering = board.entering.saturating_sub(1);
        drop(board);
        self.0.changed.send_replace(());
    }
}

/// A frame that is at hand.
#[derive(Clone)]
pub(super) struct Recent {
    pub(super) frame: Frame,
    /// The bodies that it names, where whoever told it had them.
    pub(super) bodies: Option<Arc<Bodies>>,
}

/// What a frame names.
#[derive(Clone)]
pub(super) struct Bodies {
    pub(super) exchange: Detailed,
    pub(super) run: Option<Run>,
}

/// The next frame for a stream.
pub(super) enum Next {
    /// It is at hand.
    Here(u64, Recent),
    /// It is in the journal.
    Journal,
    /// There is none yet.
    None,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    pub(super) fn new(namespace: Namespace, id: CoordinationId, ephemeral: bool) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            namespace,
            id,
            ephemeral,
            loading: tokio::sync::Mutex::default(),
            record: tokio::sync::Mutex::default(),
            turnstile: Arc::default(),
            board: Mutex::new(Board { next: 1, ..Board::default() }),
            changed: watch::Sender::new(()),
        })
    }

    /// Itself. Whoever has it at hand keeps it here.
    pub(super) fn itself(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }

    /// As it is now; absent before it is read or begun.
    pub(super) fn now(&self) -> Option<Arc<Coordination>> {
        self.board().now.clone()
    }

    /// Wakes when anything changes.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// What was read from the store becomes what is.
    pub(super) fn loaded(&self, coordination: &Coordination) {
        let mut board = self.board();
        board.next = coordination.last_sequence.saturating_add(1);
        board.readable = coordination.last_sequence;
        // All of them are in the journal.
        board.recent.clear();
        board.on_disconnect = coordination.terms.on_disconnect;
        board.now = Some(Arc::new(coordination.clone()));
    }

    /// A transition is on its way for as long as this is kept.
    pub(super) fn enters(self: &Arc<Self>) -> Entering {
        self.board().entering += 1;
        Entering(Arc::clone(self))
    }

    /// Makes a transition with the frames that were told ahead of it, and takes their numbers. It must be followed by [`Self::kept`] or
    /// [`Self::dropped`].
    pub(super) fn stepping<T>(&self, make: impl FnOnce(Vec<Frame>, Option<&PendingId>) -> (T, Option<u64>)) -> T {
        let mut board = self.board();
        let told = board.told.clone();
        let (step, last) = make(told, board.delivered.as_ref());
        if let Some(last) = last {
            board.told.clear();
            board.next = last.saturating_add(1);
            board.writing = true;
        }
        step
    }

    /// The transition is kept: it is what is, and its frames can be read.
    pub(super) fn kept(&self, after: &Coordination, frames: Vec<Frame>, bodies: Option<Arc<Bodies>>) {
        let mut board = self.board();
        let count = u64::try_from(frames.len()).unwrap_or(u64::MAX);
        let first = after.last_sequence.saturating_sub(count).saturating_add(1);
        for (number, frame) in (first..).zip(frames) {
            let bodies = bodies.clone().filter(|_| frame.asks());
            board.recent.insert(number, Recent { frame, bodies });
        }
        board.writing = false;
        board.readable = board.next.saturating_sub(1);
        if self.ephemeral
            && let Some(bodies) = bodies
        {
            board.exchanges.push(Bodies::clone(&bodies));
        }
        if !self.ephemeral {
            while board.recent.len() > RECENT {
                board.recent.pop_first();
            }
        }
        let started = matches!(after.state, State::TurnRunning(_))
            && after.state.run_id() != board.now.as_ref().and_then(|now| now.state.run_id());
        if started {
            board.unread = 0;
            board.impatient = false;
        }
        if board.now.is_none() && !started {
            board.on_disconnect = after.terms.on_disconnect;
        }
        board.now = Some(Arc::new(after.clone()));
        drop(board);
        self.changed.send_replace(());
    }

    /// The transition could not be kept. Frames that were told ahead of it stand.
    pub(super) fn dropped(&self, told: Vec<Frame>, last: u64) {
        let mut board = self.board();
        let count = u64::try_from(told.len()).unwrap_or(u64::MAX);
        let meanwhile = std::mem::take(&mut board.told);
        let heard = u64::try_from(meanwhile.len()).unwrap_or(u64::MAX);
        board.next = last.saturating_add(count).saturating_add(heard).saturating_add(1);
        board.told = told.into_iter().chain(meanwhile).collect();
        board.writing = false;
    }

    /// Something on the way of the turn is told, and kept with its next step.
    pub(super) fn hear(&self, event: &Flown) {
        let frame = match event {
            Flown::Attempt { number, kind, backend_id, model } => {
                Frame::Attempt { number: *number, kind: *kind, backend_id: backend_id.clone(), model: model.clone() }
            }
            Flown::Warning(warning) => Frame::Warning(warning.clone()),
            Flown::Delta(delta) => {
                let mut board = self.board();
                board.unread = board.unread.saturating_add(delta.bytes());
                return;
            }
            Flown::Claimed => return,
        };
        let mut board = self.board();
        if board.told.len() == MAX_TOLD {
            return;
        }
        let number = board.next;
        board.next = number.saturating_add(1);
        board.told.push(frame.clone());
        board.recent.insert(number, Recent { frame, bodies: None });
        if !board.writing {
            board.readable = number;
        }
        drop(board);
        self.changed.send_replace(());
    }

    /// The frame after a number.
    pub(super) fn after(&self, number: u64) -> Next {
        let board = self.board();
        if number >= board.readable {
            return Next::None;
        }
        let at_hand = board.recent.first_key_value().is_some_and(|(first, _)| *first <= number.saturating_add(1));
        if !at_hand {
            return Next::Journal;
        }
        match board.recent.range(number.saturating_add(1)..=board.readable).next() {
            Some((number, recent)) => Next::Here(*number, recent.clone()),
            None => Next::Journal,
        }
    }

    /// A stream of an ephemeral coordination has read so far; nobody else will.
    pub(super) fn read_up_to(&self, number: u64) {
        if self.ephemeral {
            let mut board = self.board();
            board.recent = board.recent.split_off(&number.saturating_add(1));
        }
    }

    /// How many frames wait to be read after a number.
    pub(super) fn waiting(&self, number: u64) -> u64 {
        self.board().readable.saturating_sub(number)
    }

    /// The run of the turn at work is in flight.
    pub(super) fn flies(&self, flight: Arc<Flight>) {
        self.board().flight = Some(flight);
        self.changed.send_replace(());
    }

    /// A flight has landed. A newer one stays.
    pub(super) fn landed(&self, flight: &Arc<Flight>) {
        self.board().flight.take_if(|known| Arc::ptr_eq(known, flight));
        self.changed.send_replace(());
    }

    /// The flight of a run, if that is at work.
    pub(super) fn flight(&self, run_id: &RunId) -> Option<Arc<Flight>> {
        self.board().flight.clone().filter(|flight| flight.run_id == *run_id)
    }

    /// A step begins, which may be over before anybody hears of it.
    pub(super) fn takes_off(&self, flight: &Arc<Flight>) {
        let mut board = self.board();
        board.untold = ((board.attached || board.expected) && board.listens).then(|| Arc::clone(flight));
    }

    /// The flight of the last step of a run, at work or over, as long as what it told may not have been told.
    pub(super) fn untold(&self, run_id: &RunId) -> Option<Arc<Flight>> {
        self.board().untold.clone().filter(|flight| flight.run_id == *run_id)
    }

    /// What the last step told was told.
    pub(super) fn told(&self) {
        self.board().untold = None;
    }

    /// The flight of the last step, until it has landed.
    pub(super) fn last_flight(&self) -> Option<Arc<Flight>> {
        self.board().flight.clone()
    }

    /// An answer waits for admission from now on, until [`Self::started`]. What is given here ends it, and is the number of the step that it
    /// begins.
    pub(super) fn starts(&self, on_disconnect: OnDisconnect) -> (CancellationToken, u64) {
        let token = CancellationToken::new();
        let mut board = self.board();
        board.starting = Some(token.clone());
        board.on_disconnect = on_disconnect;
        board.steps += 1;
        let step = board.steps;
        drop(board);
        self.changed.send_replace(());
        (token, step)
    }

    /// Whether no step has begun after that of this number.
    pub(super) fn is_last(&self, step: u64) -> bool {
        self.board().steps == step
    }

    /// No answer waits for admission any more.
    pub(super) fn started(&self) {
        self.board().starting = None;
        self.changed.send_replace(());
    }

    /// Whether an answer waits for admission.
    pub(super) fn is_starting(&self) -> bool {
        self.board().starting.is_some()
    }

    /// Ends an answer that waits for admission.
    pub(super) fn stop_starting(&self) {
        if let Some(starting) = &self.board().starting {
            starting.cancel();
        }
    }

    /// Whether nothing goes on by itself: no turn at work, and no answer that waits for admission.
    pub(super) fn is_quiet(&self) -> bool {
        let board = self.board();
        !board.is_at_work() && board.entering == 0
    }

    /// Whether a broken stream cancels what is at work.
    pub(super) fn breaks_with_stream(&self) -> bool {
        let board = self.board();
        // What is only being written, such as that a stream before this one went, is no turn.
        board.is_at_work() && board.on_disconnect == OnDisconnect::Cancel
    }

    /// Waits until the attached stream has told enough of the answer at work, or the patience is over: a client that does not read makes its
    /// own turn wait, which keeps its place at the backend meanwhile. Without a stream that tells the answer there is nothing to wait for.
    pub(super) async fn has_room(&self, patience: Duration) {
        let mut changes = self.changed.subscribe();
        let read = async {
            loop {
                changes.borrow_and_update();
                if self.board().has_room() || changes.changed().await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(patience, read).await.is_err() {
            self.board().impatient = true;
        }
    }

    /// Whether a stream is attached that tells the pieces of answers.
    pub(super) fn is_listened(&self) -> bool {
        let board = self.board();
        board.attached && board.listens
    }

    /// The attached stream has told some bytes of the answer at work.
    pub(super) fn told_bytes(&self, count: usize) {
        let mut board = self.board();
        let full = board.unread >= MAX_UNREAD;
        board.unread = board.unread.saturating_sub(count);
        board.impatient &= board.unread >= MAX_UNREAD;
        drop(board);
        if full {
            self.changed.send_replace(());
        }
    }

    /// A stream comes once the first turn has begun, which may be over by then. It tells the pieces of answers where it `listens`.
    pub(super) fn expects(&self, listens: bool) {
        let mut board = self.board();
        board.expected = true;
        board.listens = listens;
    }

    /// A new stream takes over; gives its number. It tells the pieces of answers where it `listens`.
    pub(super) fn attach(&self, listens: bool) -> u64 {
        let mut board = self.board();
        board.streams = board.streams.saturating_add(1);
        board.attached = true;
        board.expected = false;
        board.listens = listens;
        let stream = board.streams;
        drop(board);
        self.changed.send_replace(());
        stream
    }

    /// A stream lets go. Says whether it was the one attached.
    pub(super) fn detach(&self, stream: u64) -> bool {
        let mut board = self.board();
        let was = board.attached && board.streams == stream;
        if was {
            board.attached = false;
            board.untold = None;
            board.leaving += 1;
        }
        drop(board);
        self.changed.send_replace(());
        was
    }

    /// Whether a stream is the one attached.
    pub(super) fn is_attached_as(&self, stream: u64) -> bool {
        let board = self.board();
        board.attached && board.streams == stream
    }

    /// When a stream let go is on record, or will not be.
    pub(super) fn has_left(&self) {
        let mut board = self.board();
        board.leaving = board.leaving.saturating_sub(1);
    }

    /// Whether it is left alone, as far as its record knows since when.
    pub(super) fn is_alone(&self) -> bool {
        let board = self.board();
        !board.attached && board.leaving == 0
    }

    /// Whether a stream is attached.
    pub(super) fn is_attached(&self) -> bool {
        self.board().attached
    }

    /// The frame of a decision was handed to a stream.
    pub(super) fn delivers(&self, id: &PendingId) {
        self.board().delivered = Some(id.clone());
    }

    /// What happened cannot be kept, which ends every stream.
    pub(super) fn breaks(&self, fault: Fault) {
        self.board().broken.get_or_insert(fault);
        self.changed.send_replace(());
    }

    /// Why nothing more can be told.
    pub(super) fn broken(&self) -> Option<Fault> {
        self.board().broken.clone()
    }

    /// The exchanges that an ephemeral coordination made so far, the first one first.
    pub(super) fn made(&self) -> Vec<Bodies> {
        self.board().exchanges.clone()
    }

    /// An exchange that an ephemeral coordination made.
    pub(super) fn made_one(&self, id: ExchangeId) -> Option<Bodies> {
        self.board().exchanges.iter().find(|bodies| bodies.exchange.exchange.id == id).cloned()
    }

    /// Keeps results of tool calls of an ephemeral coordination.
    pub(super) fn keep_results(&self, given: &[(CallId, Hash, Message)]) {
        let results = given.iter().map(|(_, hash, message)| (*hash, message.clone()));
        self.board().results.extend(results);
    }

    /// A result of a tool call of an ephemeral coordination.
    pub(super) fn result(&self, hash: &Hash) -> Option<Message> {
        self.board().results.get(hash).cloned()
    }

    /// Keeps what the client of an ephemeral coordination is to send.
    pub(super) fn generates(&self, hash: Hash, plan: Planned, run: Run) {
        self.board().generating = Some((hash, plan, run));
    }

    /// What the client of an ephemeral coordination is to send, with the run.
    pub(super) fn generating(&self, hash: &Hash) -> Option<(Planned, Run)> {
        let board = self.board();
        board.generating.as_ref().filter(|(kept, ..)| kept == hash).map(|(_, plan, run)| (plan.clone(), run.clone()))
    }

    /// Wakes whoever waits for a client to have read.
    pub(super) fn was_read(&self) {
        self.changed.send_replace(());
    }
}
