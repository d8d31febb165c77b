//! Paths: which branches lead to a place. It must not know what lies there.

use std::collections::VecDeque;

use super::Ledger;
use crate::domain::graph::{self, Block, Branch, Place, Segment};
use crate::domain::id::BranchId;
use crate::store::layout::Entry;
use crate::store::record::corrupt;
use crate::store::{Error, Namespace};

impl Ledger {
    /// The whole path to a place, root first; ends with the place. Costs one read, and one more for every 64 turns of the path from one
    /// branch to another. Whether an exchange lies at the place is not looked at.
    ///
    /// # Errors
    /// When the store fails, or a branch or block on the path is missing or damaged.
    pub async fn path(&self, ns: &Namespace, place: Place) -> Result<Vec<Segment>, Error> {
        let branch = self.branch(ns, place.branch).await?;
        let mut blocks = VecDeque::new();
        let mut next = branch.block;
        while let Some(id) = next {
            let block = self.block(ns, id).await?;
            next = block.previous;
            blocks.push_front(block.segments);
        }
        let before: Vec<Segment> = blocks.into_iter().flatten().chain(branch.segments).collect();
        let path = graph::path(&before, place);
        // A path that does not go down would send readers in circles.
        if path.windows(2).any(|pair| matches!(pair, [one, other] if one.last >= other.last)) {
            return Err(corrupt(&Entry::Branch(place.branch), "the depths of its path do not ascend"));
        }
        Ok(path)
    }

    /// A branch that something names, so that it must be there.
    pub(super) async fn branch(&self, ns: &Namespace, id: BranchId) -> Result<Branch, Error> {
        let entry = Entry::Branch(id);
        self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))
    }

    async fn block(&self, ns: &Namespace, id: BranchId) -> Result<Block, Error> {
        let entry = Entry::Block(id);
        self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))
    }
}
