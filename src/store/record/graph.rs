//! Stored forms of places, branches, blocks and marks. It must not know how a path is found.

use bytes::Bytes;

use super::{Malformed, Twin, branch_id, stored, twin, twins, values};
use crate::domain::graph::{Block, Branch, Place, Segment};
use crate::domain::id::BranchId;

stored!(Place, twin::Place);
stored!(Branch, twin::Branch);
stored!(Block, twin::Block);
stored!(Mark, twin::Mark);

/// That something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Since which version, or up to which.
    pub version: u32,
}

fn bytes(id: &BranchId) -> Bytes {
    Bytes::copy_from_slice(&id.0)
}

impl Twin<Place> for twin::Place {
    fn of(place: &Place) -> Self {
        Self { branch: bytes(&place.branch), depth: place.depth }
    }

    fn value(self) -> Result<Place, Malformed> {
        Ok(Place { branch: branch_id(&self.branch, "branch")?, depth: self.depth })
    }
}

impl Twin<Segment> for twin::Segment {
    fn of(segment: &Segment) -> Self {
        Self { branch: bytes(&segment.branch), last: segment.last }
    }

    fn value(self) -> Result<Segment, Malformed> {
        Ok(Segment { branch: branch_id(&self.branch, "segments.branch")?, last: self.last })
    }
}

impl Twin<Branch> for twin::Branch {
    fn of(branch: &Branch) -> Self {
        Self { id: bytes(&branch.id), block: branch.block.as_ref().map(bytes), segments: twins(&branch.segments) }
    }

    fn value(self) -> Result<Branch, Malformed> {
        Ok(Branch {
            id: branch_id(&self.id, "id")?,
            block: self.block.map(|id| branch_id(&id, "block")).transpose()?,
            segments: values(self.segments)?,
        })
    }
}

impl Twin<Block> for twin::Block {
    fn of(block: &Block) -> Self {
        Self { id: bytes(&block.id), previous: block.previous.as_ref().map(bytes), segments: twins(&block.segments) }
    }

    fn value(self) -> Result<Block, Malformed> {
        Ok(Block {
            id: branch_id(&self.id, "id")?,
            previous: self.previous.map(|id| branch_id(&id, "previous")).transpose()?,
            segments: values(self.segments)?,
        })
    }
}

impl Twin<Mark> for twin::Mark {
    fn of(mark: &Mark) -> Self {
        Self { version: mark.version }
    }

    fn value(self) -> Result<Mark, Malformed> {
        Ok(Mark { version: self.version })
    }
}
