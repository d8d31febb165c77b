//! Where each record lies: the keys inside a namespace, and their way back. It must not know what the records hold.
//!
//! ```text
//!  x branch depth          exchange                    branch 8 bytes, depth 8 bytes, most significant first
//!  i exchange              its place                   16 bytes
//!  h content exchange      its place                   32 and 16 bytes; ids are UUIDv7, so the oldest comes first
//!  b branch                branch                      c hash   bytes of a large part
//!  k branch                block of a branch           s hash   tool set
//!  r run 0                 run                         u hash   tool
//!  t thread 0              thread                      q request 0   a request that was done
//!  d thread 0              head of a thread            o coordination 0   coordination
//!  j coordination 0 first  frames of one write         8 bytes: the number of the first, most significant byte first
//!  l hash                  tools that a path has seen
//!  f branch depth exchange the place of an exchange that follows the one at this place on a branch of its own
//!  g exchange thread 0     a thread whose head was put on an exchange that was not made on it
//!  v                       which of the indexes f and g are complete
//!  p prepared 0            prepared execution
//!  w thread 0              the documents of a thread that writes change
//!  n hash                  node of a version of documents
//!  m thread 0 number       a move of a head that no exchange tells of; 8 bytes, most significant byte first
//!  z pin 0                 pin                         a receipt 0   receipt of an erasure
//!  e time target           expiry, soonest first       y target      when a target expires
//!  A hash   what somebody spent in a day, by the hash of who        B receipt 0   an erasure that is not done yet
//! ```
//!
//! No key is a proper prefix of another: those of one letter have one width, or have a zero that no name has
//! after a name.

use std::fmt;
use std::ops::Bound;

use super::{Key, Range};
use crate::domain::graph::Place;
use crate::domain::id::{BranchId, CoordinationId, ExchangeId, Hash, Moment, PreparedId, RequestId, RunId, ThreadId};

#[cfg(test)]
mod tests;

/// What a key names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Entry {
    /// An exchange.
    Exchange(Place),
    /// The place of an exchange, by its id.
    Id(ExchangeId),
    /// The place of an exchange, by its content.
    Content(Hash, ExchangeId),
    /// A branch.
    Branch(BranchId),
    /// A block of a branch's path.
    Block(BranchId),
    /// A run.
    Run(RunId),
    /// A thread.
    Thread(ThreadId),
    /// The head of a thread.
    Head(ThreadId),
    /// A tool set.
    ToolSet(Hash),
    /// A tool.
    Tool(Hash),
    /// The tools that a path has seen.
    Seen(Hash),
    /// The bytes of a large part.
    Part(Hash),
    /// A request that was done.
    Request(RequestId),
    /// A coordination.
    Coordination(CoordinationId),
    /// The frames of one write, by the number of the first.
    Journal(CoordinationId, u64),
    /// An exchange that follows the one at a place on a branch of its own.
    Departure(Place, ExchangeId),
    /// A thread whose head was put on an exchange that was not made on it.
    Pointer(ExchangeId, ThreadId),
    /// Which indexes are complete.
    Indexes,
    /// A prepared execution.
    Prepared(PreparedId),
    /// The documents of a thread that writes change.
    Workspace(ThreadId),
    /// A node of a version of documents.
    Node(Hash),
    /// A move of a head that no exchange tells of.
    Move(ThreadId, u64),
    /// A pin.
    Pin(String),
    /// What expires at a moment, by the hash of what it is.
    Expiry(Moment, Hash),
    /// When something expires, by the hash of what it is.
    Due(Hash),
    /// The receipt of an erasure.
    Receipt(String),
    /// What somebody spent in a day, by the hash of who.
    Spending(Hash),
    /// An erasure that is not done yet, by the id of its receipt.
    Erasing(String),
}

/// Which kind of record a key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Exchanges.
    Exchange,
    /// The index by id.
    Id,
    /// The index by content.
    Content,
    /// Branches.
    Branch,
    /// Blocks.
    Block,
    /// Runs.
    Run,
    /// Threads.
    Thread,
    /// Heads.
    Head,
    /// Tool sets.
    ToolSet,
    /// Tools.
    Tool,
    /// Tools that paths have seen.
    Seen,
    /// Large parts.
    Part,
    /// Requests.
    Request,
    /// Coordinations.
    Coordination,
    /// Journals of coordinations.
    Journal,
    /// The index of exchanges that follow another on a branch of their own.
    Departure,
    /// The index of threads by where their heads were put.
    Pointer,
    /// Which indexes are complete.
    Indexes,
    /// Prepared executions.
    Prepared,
    /// Documents of threads.
    Workspace,
    /// Nodes of versions of documents.
    Node,
    /// Moves of heads.
    Move,
    /// Pins.
    Pin,
    /// Expiries in the order of their time.
    Expiry,
    /// Expiries by what they are of.
    Due,
    /// Receipts of erasures.
    Receipt,
    /// What was spent in a day.
    Spending,
    /// Erasures that are not done yet.
    Erasing,
}

impl Kind {
    /// Every kind, in the order of their keys.
    pub const ALL: [Self; 28] = [
        Self::Spending,
        Self::Erasing,
        Self::Receipt,
        Self::Branch,
        Self::Part,
        Self::Head,
        Self::Expiry,
        Self::Departure,
        Self::Pointer,
        Self::Content,
        Self::Id,
        Self::Journal,
        Self::Block,
        Self::Seen,
        Self::Move,
        Self::Node,
        Self::Coordination,
        Self::Prepared,
        Self::Request,
        Self::Run,
        Self::ToolSet,
        Self::Thread,
        Self::Tool,
        Self::Indexes,
        Self::Workspace,
        Self::Exchange,
        Self::Due,
        Self::Pin,
    ];

    /// The first byte of its keys.
    pub fn letter(self) -> u8 {
        match self {
            Self::Exchange => b'x',
            Self::Id => b'i',
            Self::Content => b'h',
            Self::Branch => b'b',
            Self::Block => b'k',
            Self::Run => b'r',
            Self::Thread => b't',
            Self::Head => b'd',
            Self::ToolSet => b's',
            Self::Tool => b'u',
            Self::Seen => b'l',
            Self::Part => b'c',
            Self::Request => b'q',
            Self::Coordination => b'o',
            Self::Journal => b'j',
            Self::Departure => b'f',
            Self::Pointer => b'g',
            Self::Indexes => b'v',
            Self::Prepared => b'p',
            Self::Workspace => b'w',
            Self::Node => b'n',
            Self::Move => b'm',
            Self::Pin => b'z',
            Self::Expiry => b'e',
            Self::Due => b'y',
            Self::Receipt => b'a',
            Self::Spending => b'A',
            Self::Erasing => b'B',
        }
    }

    /// The kind of a first byte.
    pub fn of_letter(letter: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    /// Its name for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Id => "index entry by id",
            Self::Content => "index entry by content",
            Self::Branch => "branch",
            Self::Block => "block",
            Self::Run => "run",
            Self::Thread => "thread",
            Self::Head => "head",
            Self::ToolSet => "tool set",
            Self::Tool => "tool",
            Self::Seen => "tools seen",
            Self::Part => "part",
            Self::Request => "request",
            Self::Coordination => "coordination",
            Self::Journal => "journal",
            Self::Departure => "index entry of a departure",
            Self::Pointer => "index entry of a head",
            Self::Indexes => "list of indexes",
            Self::Prepared => "prepared execution",
            Self::Workspace => "workspace",
            Self::Node => "workspace node",
            Self::Move => "move of a head",
            Self::Pin => "pin",
            Self::Expiry => "expiry",
            Self::Due => "index entry of an expiry",
            Self::Receipt => "erase receipt",
            Self::Spending => "spending of a day",
            Self::Erasing => "erasure under way",
        }
    }
}

impl Entry {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Exchange(_) => Kind::Exchange,
            Self::Id(_) => Kind::Id,
            Self::Content(..) => Kind::Content,
            Self::Branch(_) => Kind::Branch,
            Self::Block(_) => Kind::Block,
            Self::Run(_) => Kind::Run,
            Self::Thread(_) => Kind::Thread,
            Self::Head(_) => Kind::Head,
            Self::ToolSet(_) => Kind::ToolSet,
            Self::Tool(_) => Kind::Tool,
            Self::Seen(_) => Kind::Seen,
            Self::Part(_) => Kind::Part,
            Self::Request(_) => Kind::Request,
            Self::Coordination(_) => Kind::Coordination,
            Self::Journal(..) => Kind::Journal,
            Self::Departure(..) => Kind::Departure,
            Self::Pointer(..) => Kind::Pointer,
            Self::Indexes => Kind::Indexes,
            Self::Prepared(_) => Kind::Prepared,
            Self::Workspace(_) => Kind::Workspace,
            Self::Node(_) => Kind::Node,
            Self::Move(..) => Kind::Move,
            Self::Pin(_) => Kind::Pin,
            Self::Expiry(..) => Kind::Expiry,
            Self::Due(_) => Kind::Due,
            Self::Receipt(_) => Kind::Receipt,
            Self::Spending(_) => Kind::Spending,
            Self::Erasing(_) => Kind::Erasing,
        }
    }

    /// Its key.
    pub fn key(&self) -> Key {
        let letter = self.kind().letter();
        match self {
            Self::Exchange(place) => joined(letter, &place.branch.0, &place.depth.to_be_bytes()),
            Self::Id(id) => joined(letter, id.as_bytes(), &[]),
            Self::Content(hash, id) => joined(letter, &hash.0, id.as_bytes()),
            Self::Branch(id) | Self::Block(id) => joined(letter, &id.0, &[]),
            Self::Run(id) => joined(letter, id.as_str().as_bytes(), &[0]),
            Self::Thread(id) | Self::Head(id) | Self::Workspace(id) => joined(letter, id.as_str().as_bytes(), &[0]),
            Self::Move(id, number) => {
                let mut key = moves_of(id);
                key.extend_from_slice(&number.to_be_bytes());
                key
            }
            Self::Request(id) => joined(letter, id.as_str().as_bytes(), &[0]),
            Self::Coordination(id) => joined(letter, id.as_str().as_bytes(), &[0]),
            Self::Prepared(id) => joined(letter, id.as_str().as_bytes(), &[0]),
            Self::Journal(id, first) => {
                let mut key = journal_of(id);
                key.extend_from_slice(&first.to_be_bytes());
                key
            }
            Self::Pin(id) | Self::Receipt(id) | Self::Erasing(id) => joined(letter, id.as_bytes(), &[0]),
            Self::Expiry(at, hash) => joined(letter, &at.0.to_be_bytes(), &hash.0),
            Self::ToolSet(hash)
            | Self::Tool(hash)
            | Self::Seen(hash)
            | Self::Part(hash)
            | Self::Node(hash)
            | Self::Due(hash)
            | Self::Spending(hash) => joined(letter, &hash.0, &[]),
            Self::Departure(place, id) => {
                let mut key = departures_of(*place);
                key.extend_from_slice(id.as_bytes());
                key
            }
            Self::Pointer(id, thread) => {
                let mut key = joined(letter, id.as_bytes(), thread.as_str().as_bytes());
                key.push(0);
                key
            }
            Self::Indexes => vec![letter],
        }
    }

    /// What a key names; absent when nothing has such a key.
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let (letter, rest) = key.split_first()?;
        Some(match Kind::of_letter(*letter)? {
            Kind::Exchange => {
                let (branch, depth) = rest.split_first_chunk::<8>()?;
                Self::Exchange(Place { branch: BranchId(*branch), depth: u64::from_be_bytes(depth.try_into().ok()?) })
            }
            Kind::Id => Self::Id(ExchangeId::from_bytes(rest.try_into().ok()?)),
            Kind::Content => {
                let (hash, id) = rest.split_first_chunk::<32>()?;
                Self::Content(Hash(*hash), ExchangeId::from_bytes(id.try_into().ok()?))
            }
            Kind::Branch => Self::Branch(BranchId(rest.try_into().ok()?)),
            Kind::Block => Self::Block(BranchId(rest.try_into().ok()?)),
            Kind::Run => Self::Run(name(rest)?.parse().ok()?),
            Kind::Thread => Self::Thread(name(rest)?.parse().ok()?),
            Kind::Head => Self::Head(name(rest)?.parse().ok()?),
            Kind::Request => Self::Request(name(rest)?.parse().ok()?),
            Kind::Coordination => Self::Coordination(name(rest)?.parse().ok()?),
            Kind::Prepared => Self::Prepared(name(rest)?.parse().ok()?),
            Kind::Journal => {
                let (id, first) = rest.split_last_chunk::<8>()?;
                Self::Journal(name(id)?.parse().ok()?, u64::from_be_bytes(*first))
            }
            Kind::Workspace => Self::Workspace(name(rest)?.parse().ok()?),
            Kind::Move => {
                let (id, number) = rest.split_last_chunk::<8>()?;
                Self::Move(name(id)?.parse().ok()?, u64::from_be_bytes(*number))
            }
            Kind::Node => Self::Node(Hash(rest.try_into().ok()?)),
            Kind::ToolSet => Self::ToolSet(Hash(rest.try_into().ok()?)),
            Kind::Tool => Self::Tool(Hash(rest.try_into().ok()?)),
            Kind::Seen => Self::Seen(Hash(rest.try_into().ok()?)),
            Kind::Part => Self::Part(Hash(rest.try_into().ok()?)),
            Kind::Departure => {
                let (branch, rest) = rest.split_first_chunk::<8>()?;
                let (depth, id) = rest.split_first_chunk::<8>()?;
                let place = Place { branch: BranchId(*branch), depth: u64::from_be_bytes(*depth) };
                Self::Departure(place, ExchangeId::from_bytes(id.try_into().ok()?))
            }
            Kind::Pointer => {
                let (id, thread) = rest.split_first_chunk::<16>()?;
                Self::Pointer(ExchangeId::from_bytes(*id), name(thread)?.parse().ok()?)
            }
            Kind::Indexes => rest.is_empty().then_some(Self::Indexes)?,
            Kind::Pin => Self::Pin(plain_name(rest)?),
            Kind::Receipt => Self::Receipt(plain_name(rest)?),
            Kind::Erasing => Self::Erasing(plain_name(rest)?),
            Kind::Expiry => {
                let (at, hash) = rest.split_first_chunk::<8>()?;
                Self::Expiry(Moment(u64::from_be_bytes(*at)), Hash(hash.try_into().ok()?))
            }
            Kind::Due => Self::Due(Hash(rest.try_into().ok()?)),
            Kind::Spending => Self::Spending(Hash(rest.try_into().ok()?)),
        })
    }
}

fn joined(letter: u8, first: &[u8], second: &[u8]) -> Key {
    let mut key = Vec::with_capacity(1 + first.len() + second.len());
    key.push(letter);
    key.extend_from_slice(first);
    key.extend_from_slice(second);
    key
}

/// What the keys of a coordination's journal begin with.
fn journal_of(id: &CoordinationId) -> Key {
    joined(Kind::Journal.letter(), id.as_str().as_bytes(), &[0])
}

/// What the keys of the moves of a thread's head begin with.
fn moves_of(id: &ThreadId) -> Key {
    joined(Kind::Move.letter(), id.as_str().as_bytes(), &[0])
}

/// What the keys of the departures after a place begin with.
fn departures_of(place: Place) -> Key {
    joined(Kind::Departure.letter(), &place.branch.0, &place.depth.to_be_bytes())
}

/// A name of the same form as those of requests.
fn plain_name(bytes: &[u8]) -> Option<String> {
    let id: RequestId = name(bytes)?.parse().ok()?;
    Some(id.to_string())
}

fn name(bytes: &[u8]) -> Option<&str> {
    match bytes.split_last() {
        Some((0, name)) => std::str::from_utf8(name).ok(),
        _ => None,
    }
}

/// For people: the kind and the names in the key, which are ids and hashes and never content.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.kind().word();
        match self {
            Self::Exchange(place) => write!(f, "{word} at depth {} of branch {}", place.depth, hex(&place.branch.0)),
            Self::Id(id) => write!(f, "{word} {id}"),
            Self::Content(hash, id) => write!(f, "{word} {hash} {id}"),
            Self::Branch(id) | Self::Block(id) => write!(f, "{word} {}", hex(&id.0)),
            Self::Run(id) => write!(f, "{word} `{id}`"),
            Self::Thread(id) | Self::Head(id) | Self::Workspace(id) => write!(f, "{word} `{id}`"),
            Self::Move(id, number) => write!(f, "{word} of thread `{id}` at {number}"),
            Self::Request(id) => write!(f, "{word} `{id}`"),
            Self::Coordination(id) => write!(f, "{word} `{id}`"),
            Self::Prepared(id) => write!(f, "{word} `{id}`"),
            Self::Journal(id, first) => write!(f, "{word} of coordination `{id}` from frame {first} on"),
            Self::ToolSet(hash) | Self::Tool(hash) | Self::Seen(hash) | Self::Part(hash) | Self::Node(hash) => {
                write!(f, "{word} {hash}")
            }
            Self::Departure(place, id) => {
                write!(f, "{word} of {id} after depth {} of branch {}", place.depth, hex(&place.branch.0))
            }
            Self::Pointer(id, thread) => write!(f, "{word} of thread `{thread}` at {id}"),
            Self::Indexes => f.write_str(word),
            Self::Pin(id) | Self::Receipt(id) | Self::Erasing(id) => write!(f, "{word} `{id}`"),
            Self::Spending(hash) => write!(f, "{word} of {hash}"),
            Self::Expiry(at, hash) => write!(f, "{word} of {hash} at {}", at.0),
            Self::Due(hash) => write!(f, "{word} of {hash}"),
        }
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Exchanges of one branch, from a depth to a depth, both included.
pub(crate) fn stretch(branch: BranchId, from: u64, to: u64, limit: usize) -> Range {
    let key = |depth| Bound::Included(Entry::Exchange(Place { branch, depth }).key());
    Range { from: key(from), to: key(to), limit, reverse: false }
}

/// Index entries of one content, oldest first.
pub(crate) fn same_content(hash: &Hash, limit: usize) -> Range {
    Range::prefix(&joined(Kind::Content.letter(), &hash.0, &[]), limit)
}

/// Index entries by id, the last first, before one of them.
pub(crate) fn ids_before(before: Option<ExchangeId>, limit: usize) -> Range {
    let mut range = Range { reverse: true, ..Range::prefix(&[Kind::Id.letter()], limit) };
    if let Some(id) = before {
        range.to = Bound::Excluded(Entry::Id(id).key());
    }
    range
}

/// The last page of a journal that begins with a frame or before it.
pub(crate) fn page_at(id: &CoordinationId, sequence: u64) -> Range {
    let key = |first| Bound::Included(Entry::Journal(id.clone(), first).key());
    Range { from: key(0), to: key(sequence), limit: 1, reverse: true }
}

/// Pages of a journal that begin after a frame.
pub(crate) fn pages_after(id: &CoordinationId, sequence: u64, limit: usize) -> Range {
    let from = Bound::Excluded(Entry::Journal(id.clone(), sequence).key());
    Range { from, ..Range::prefix(&journal_of(id), limit) }
}

/// Exchanges that follow the one at a place on branches of their own, oldest first, after one of them.
pub(crate) fn departures(place: Place, after: Option<ExchangeId>, limit: usize) -> Range {
    let mut range = Range::prefix(&departures_of(place), limit);
    if let Some(id) = after {
        range.from = Bound::Excluded(Entry::Departure(place, id).key());
    }
    range
}

/// Threads whose heads were put on an exchange, after one of them.
pub(crate) fn pointers(exchange: ExchangeId, after: Option<&ThreadId>, limit: usize) -> Range {
    let mut range = Range::prefix(&joined(Kind::Pointer.letter(), exchange.as_bytes(), &[]), limit);
    if let Some(thread) = after {
        range.from = Bound::Excluded(Entry::Pointer(exchange, thread.clone()).key());
    }
    range
}

/// Moves of a thread's head, the last first, before one of them.
pub(crate) fn moves_before(thread: &ThreadId, number: u64, limit: usize) -> Range {
    let to = Bound::Excluded(Entry::Move(thread.clone(), number).key());
    Range { to, reverse: true, ..Range::prefix(&moves_of(thread), limit) }
}

/// Where the keys of prepared executions that end at a moment begin.
pub(crate) fn prepared_until(moment: Moment) -> Key {
    joined(Kind::Prepared.letter(), PreparedId::beginning(moment).as_bytes(), &[])
}

/// Every record of a kind, after one of them.
pub(crate) fn all(kind: Kind, after: Option<&Entry>, limit: usize) -> Range {
    let mut range = Range::prefix(&[kind.letter()], limit);
    if let Some(entry) = after {
        range.from = Bound::Excluded(entry.key());
    }
    range
}
