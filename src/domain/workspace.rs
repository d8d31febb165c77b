//! Workspaces: named documents in immutable versions, and how a version is cut into nodes. It must not know how nodes are stored.
//!
//! A version is a tree of nodes, each known by the hash of what it holds: documents in the order of their names at the bottom, above them
//! the nodes below. Where a node ends is decided by the hash of its last name alone, so the same documents make the same nodes however they
//! came to be there, a change makes one new node a level, and two versions share all in which they agree.

use super::id::{ExchangeId, Hash, Moment};
use super::thread::Thread;

/// A version of a workspace by its name, the hash of its topmost node; none for the one without documents.
pub type Root = Option<Hash>;

/// One in so many names ends a node, by chance.
const FANOUT_BITS: usize = 5;

/// A document of one version, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its name, unique in its version.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// The length of its content in bytes.
    pub size_bytes: u64,
    /// BLAKE3 of its content.
    pub blake3: Hash,
    /// The caller's own data: a JSON object in text; empty for none.
    pub metadata_json: String,
    /// When it was written.
    pub updated_at: Moment,
    /// Where its content is.
    pub content: Content,
}

impl Document {
    /// Whether two are the same but for when they were written.
    pub fn is_same(&self, other: &Self) -> bool {
        self.blake3 == other.blake3
            && self.size_bytes == other.size_bytes
            && self.media_type == other.media_type
            && self.metadata_json == other.metadata_json
    }
}

/// The pieces that the content of a document is cut into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These, in order; none for an empty document.
    Pieces(Vec<Hash>),
    /// Those of the list that is kept under this hash.
    List(Hash),
}

/// A part of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Documents, by name.
    Leaf(Vec<Document>),
    /// Nodes of the level below, by their last names.
    Inner {
        /// How many levels are below it.
        level: u32,
        /// Those nodes.
        children: Vec<Child>,
    },
}

/// A node as the one above it names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The last name in it.
    pub last: String,
    /// Its hash.
    pub hash: Hash,
    /// How many documents are below it.
    pub documents: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

impl Node {
    /// How many levels are below it.
    pub fn level(&self) -> u32 {
        match self {
            Self::Leaf(_) => 0,
            Self::Inner { level, .. } => *level,
        }
    }

    /// How many documents are in it or below it, and the bytes of their contents.
    pub fn sums(&self) -> (u64, u64) {
        let add = |(count, bytes): (u64, u64), (more, size): (u64, u64)| {
            (count.saturating_add(more), bytes.saturating_add(size))
        };
        match self {
            Self::Leaf(documents) => {
                documents.iter().fold((0, 0), |sums, document| add(sums, (1, document.size_bytes)))
            }
            Self::Inner { children, .. } => {
                children.iter().fold((0, 0), |sums, child| add(sums, (child.documents, child.bytes)))
            }
        }
    }
}

/// Whether a node of a level ends with a name. Depends on nothing else, so that equal versions have equal nodes.
pub fn ends_node(level: u32, name: &str) -> bool {
    let hash = blake3::hash(name.as_bytes());
    let first = usize::try_from(level).unwrap_or(usize::MAX).saturating_mul(FANOUT_BITS);
    let bit = |at: usize| hash.as_bytes().get(at / 8).map(|byte| (byte >> (at % 8)) & 1);
    // Beyond the hash, so many levels up that no chance leads there, a node takes all.
    (first..first.saturating_add(FANOUT_BITS)).all(|at| bit(at) == Some(0))
}

/// The versions that an exchange stands between: what its run started from, and what was there when it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Around {
    /// What its run started from.
    pub before: Root,
    /// What was there when it was complete.
    pub after: Root,
}

impl Around {
    /// Nothing changed.
    pub fn still(root: Root) -> Self {
        Self { before: root, after: root }
    }
}

/// The state of a thread's documents that writes change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Live {
    /// The version.
    pub root: Root,
    /// Counts the changes, so that a state that comes back is not taken for the one that was seen.
    pub sequence: u64,
    /// When it last changed.
    pub updated_at: Moment,
}

/// Changes with every write of a thread's documents, and with the thread itself where one of the same id takes its place.
pub fn etag(thread: &Thread, live: &Live) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("antiphon workspace etag 1");
    hasher.update(thread.id.as_str().as_bytes());
    hasher.update(&thread.created_at.0.to_be_bytes());
    hasher.update(&live.sequence.to_be_bytes());
    hasher.update(live.root.as_ref().map_or(&[][..], |root| &root.0));
    let mut short = [0; 8];
    hasher.finalize_xof().fill(&mut short);
    short.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A move of a head that no exchange tells of: a restore, or a record that found all of its exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The head before.
    pub from: Option<ExchangeId>,
    /// The head after.
    pub to: ExchangeId,
    /// The documents before and after.
    pub workspace: Around,
    /// When.
    pub at: Moment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_in_about_thirty_two_ends_a_node_of_each_level() {
        for level in [0, 1, 7] {
            let ends = (0..32_000).filter(|number| ends_node(level, &format!("document-{number}"))).count();
            assert!((800..1_200).contains(&ends), "{ends} at level {level}");
        }
        assert!((0..1_000).all(|number| !ends_node(60, &number.to_string())));
    }
}
