//! Where exchanges lie: branches that are extended in place and departed from, so that nothing is ever copied and a history is one range
//! for each branch on its path. It must not know keys or stored forms.

use super::id::BranchId;

/// How many segments a branch keeps in its own record before it moves them into a block.
pub const BLOCK: usize = 64;

/// The place of an exchange. Depth counts the model calls on the whole path, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Its branch.
    pub branch: BranchId,
    /// Its depth.
    pub depth: u64,
}

/// A stretch of a path: the exchanges of one branch up to and including a depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The branch.
    pub branch: BranchId,
    /// The last depth on it.
    pub last: u64,
}

/// A branch: where its path comes from. It begins at the depth after its last segment's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its id.
    pub id: BranchId,
    /// The block with the segments before `segments`; absent when these are all.
    pub block: Option<BranchId>,
    /// The last segments of the path before it, root first; fewer than [`BLOCK`].
    pub segments: Vec<Segment>,
}

/// Segments that moved out of branch records; immutable and shared by every branch that comes after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its id, that of the branch which filled it.
    pub id: BranchId,
    /// The block before.
    pub previous: Option<BranchId>,
    /// Exactly [`BLOCK`] segments, root first.
    pub segments: Vec<Segment>,
}

impl Branch {
    /// A branch at a root.
    pub fn root(id: BranchId) -> Self {
        Self { id, block: None, segments: Vec::new() }
    }

    /// A branch that departs from `parent` after the exchange at `depth`; with the block that this fills, if it does.
    pub fn depart(id: BranchId, parent: &Branch, depth: u64) -> (Self, Option<Block>) {
        // A departure before the parent has an exchange of its own is one from where the parent departed.
        let mut segments: Vec<Segment> = parent.segments.clone();
        segments.push(Segment { branch: parent.id, last: depth });
        if segments.len() < BLOCK {
            return (Self { id, block: parent.block, segments }, None);
        }
        let block = Block { id, previous: parent.block, segments };
        (Self { id, block: Some(id), segments: Vec::new() }, Some(block))
    }
}

/// The path to a place, root first, from the segments before its branch.
pub fn path(before: &[Segment], place: Place) -> Vec<Segment> {
    let mut path = before.to_vec();
    path.push(Segment { branch: place.branch, last: place.depth });
    path
}

/// The place at a depth of a path; absent beyond its end.
pub fn at_depth(path: &[Segment], depth: u64) -> Option<Place> {
    let at = path.partition_point(|segment| segment.last < depth);
    path.get(at).filter(|_| depth > 0).map(|segment| Place { branch: segment.branch, depth })
}

/// Whether a place lies on a path.
pub fn contains(path: &[Segment], place: Place) -> bool {
    at_depth(path, place.depth) == Some(place)
}

/// The last place that lies on both paths; absent when they have none in common.
pub fn common(one: &[Segment], other: &[Segment]) -> Option<Place> {
    let last = |path: &[Segment]| path.last().map_or(0, |segment| segment.last);
    // Up to some depth the two are the same, and nowhere after it.
    let (mut low, mut high) = (0, last(one).min(last(other)));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if at_depth(one, middle) == at_depth(other, middle) { low = middle } else { high = middle - 1 }
    }
    at_depth(one, low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(n: u64) -> BranchId {
        BranchId(n.to_be_bytes())
    }

    #[test]
    fn a_path_names_the_branch_of_each_depth() {
        let trunk = Branch::root(id(1));
        let (fork, block) = Branch::depart(id(2), &trunk, 3);
        assert_eq!(block, None);
        let path = path(&fork.segments, Place { branch: id(2), depth: 5 });
        assert_eq!(at_depth(&path, 3), Some(Place { branch: id(1), depth: 3 }));
        assert_eq!(at_depth(&path, 4), Some(Place { branch: id(2), depth: 4 }));
        assert_eq!((at_depth(&path, 0), at_depth(&path, 6)), (None, None));
        assert!(!contains(&path, Place { branch: id(1), depth: 4 }));
    }

    #[test]
    fn paths_have_in_common_what_comes_before_they_part() {
        let path = |turns: &[(u64, u64)]| -> Vec<Segment> {
            turns.iter().map(|(branch, last)| Segment { branch: id(*branch), last: *last }).collect()
        };
        let at = |branch, depth| Some(Place { branch: id(branch), depth });
        let trunk = path(&[(1, 9)]);
        assert_eq!(common(&trunk, &path(&[(1, 3), (2, 7)])), at(1, 3));
        assert_eq!(common(&trunk, &path(&[(1, 4)])), at(1, 4));
        assert_eq!(common(&path(&[(1, 3), (2, 7), (4, 8)]), &path(&[(1, 3), (2, 5), (3, 6)])), at(2, 5));
        assert_eq!(common(&trunk, &path(&[(5, 9)])), None);
        assert_eq!(common(&trunk, &[]), None);
    }

    proptest! {
        /// However often a path turns, blocks and records together give back each departure, in order.
        #[test]
        fn blocks_keep_every_segment(steps in proptest::collection::vec(1u64..3, 1..400)) {
            let mut branch = Branch::root(id(0));
            let (mut blocks, mut expected, mut depth) = (Vec::new(), Vec::new(), 0);
            for (n, step) in steps.iter().enumerate() {
                depth += step;
                expected.push(Segment { branch: branch.id, last: depth });
                let (next, block) = Branch::depart(id(n as u64 + 1), &branch, depth);
                blocks.extend(block);
                branch = next;
            }
            let mut found = branch.segments.clone();
            let mut block = branch.block;
            while let Some(at) = block.and_then(|wanted| blocks.iter().find(|b: &&Block| b.id == wanted)) {
                prop_assert_eq!(at.segments.len(), BLOCK);
                found.splice(0..0, at.segments.iter().copied());
                block = at.previous;
            }
            prop_assert_eq!(found, expected);
            prop_assert!(branch.segments.len() < BLOCK);
        }
    }
}
