//! The documents of a thread that writes change, the moves of its head that no exchange tells of, and what a version needs to be named: reading
//! and changing. It must not know how a version is put together.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Changes, Ledger, Lost, Token};
use crate::domain::id::{Hash, ThreadId};
use crate::domain::workspace::{Content, Live, Move, Node, Root};
use crate::store::layout::{self, Entry};
use crate::store::record::{decode, list_of_pieces};
use crate::store::{Error, Guard, Namespace};

/// So many pieces stand in a document itself; more are a list of their own, so that a node stays small.
const PIECES_INLINE: usize = 4;

impl Changes {
    /// How a document names its pieces, with what has to be kept for that.
    pub fn keep_pieces(&mut self, ns: &Namespace, pieces: Vec<Hash>) -> Content {
        if pieces.len() <= PIECES_INLINE {
            return Content::Pieces(pieces);
        }
        Content::List(self.keep_part(ns, list_of_pieces(&pieces)))
    }

    /// Nothing is applied unless a piece of content is still there.
    pub fn hold_piece(&mut self, piece: Hash, thread: &ThreadId) {
        self.guards.push((Guard::Present(Entry::Part(piece).key()), Lost::WorkspaceChanged(thread.clone())));
    }

    /// Nothing is applied unless a version that was read is still there, and with it all that is below its topmost node: whoever removes
    /// versions begins at the top.
    pub fn hold_version(&mut self, root: Root) {
        let hold = |hash| (Guard::Present(Entry::Node(hash).key()), Lost::VersionGone(hash));
        self.guards.extend(root.map(hold));
    }

    /// Stores the nodes of a version.
    pub fn keep_nodes(&mut self, nodes: BTreeMap<Hash, Node>) {
        self.nodes.extend(nodes);
    }

    /// Gives a thread that is imported its documents as they were, with a version that is stored by now or with it.
    pub(in crate::store) fn keep_workspace(&mut self, thread: &ThreadId, live: &Live) {
        self.roots.extend(live.root);
        self.put(&Entry::Workspace(thread.clone()), live);
    }

    /// Gives a new thread its documents.
    pub fn begin_workspace(&mut self, thread: &ThreadId, live: &Live) {
        if live.root.is_some() {
            self.hold_version(live.root);
            self.roots.extend(live.root);
            self.put(&Entry::Workspace(thread.clone()), live);
        }
    }

    /// Replaces the documents of a thread, which must be there and have those that were read; none when there was no record of them.
    pub fn replace_workspace(&mut self, thread: &ThreadId, live: &Live, seen: Option<&Token>) {
        let guard = Guard::Present(Entry::Thread(thread.clone()).key());
        self.guards.push((guard, Lost::ThreadChanged(thread.clone())));
        self.hold_workspace(thread, seen);
        self.roots.extend(live.root);
        self.put(&Entry::Workspace(thread.clone()), live);
    }

    /// Nothing is applied unless the documents of a thread are those that were read.
    pub fn hold_workspace(&mut self, thread: &ThreadId, seen: Option<&Token>) {
        let key = Entry::Workspace(thread.clone()).key();
        let guard = match seen {
            Some(token) => Guard::Is(key, token.0.clone()),
            None => Guard::Absent(key),
        };
        self.guards.push((guard, Lost::WorkspaceChanged(thread.clone())));
    }

    /// Keeps a move of a head, under the number of the head after it.
    pub fn add_move(&mut self, thread: &ThreadId, number: u64, moved: &Move) {
        self.roots.extend([moved.workspace.before, moved.workspace.after].into_iter().flatten());
        self.put(&Entry::Move(thread.clone(), number), moved);
    }

    /// Forgets moves of a head.
    pub fn remove_moves(&mut self, thread: &ThreadId, numbers: impl IntoIterator<Item = u64>) {
        self.deletes.extend(numbers.into_iter().map(|number| Entry::Move(thread.clone(), number).key()));
    }
}

impl Ledger {
    /// The documents of a thread that writes change, with the token of their record where there is one.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn workspace(&self, ns: &Namespace, thread: &ThreadId) -> Result<(Live, Option<Token>), Error> {
        let read = self.read_with_token(ns, &Entry::Workspace(thread.clone())).await?;
        Ok(read.map_or((Live::default(), None), |(live, token)| (live, Some(token))))
    }

    /// Moves of a thread's head that no exchange tells of, the last first, before a number.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn moves(
        &self,
        ns: &Namespace,
        thread: &ThreadId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Move)>, Error> {
        let entries = self.store.scan(ns, layout::moves_before(thread, before, limit)).await?;
        let read = |(key, raw): &(crate::store::Key, Bytes)| {
            let entry = super::names::named(key)?;
            let number = if let Entry::Move(_, number) = &entry { *number } else { 0 };
            Ok((number, decode(&entry, raw)?))
        };
        entries.iter().map(read).collect()
    }

    /// The numbers of such moves alone, the last first, before a number: also of those that cannot be read.
    ///
    /// # Errors
    /// When the store fails.
    pub(in crate::store) async fn numbers_of_moves(
        &self,
        ns: &Namespace,
        thread: &ThreadId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<u64>, Error> {
        let entries = self.store.scan(ns, layout::moves_before(thread, before, limit)).await?;
        let number = |entry| if let Entry::Move(_, number) = entry { Some(number) } else { None };
        Ok(entries.iter().filter_map(|(key, _)| Entry::of_key(key)).filter_map(number).collect())
    }
}
