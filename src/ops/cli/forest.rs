//! Drawing a forest of exchanges as text, newest first, the way version control draws commits. It must not know where paths come from, nor
//! colours.
//!
//! Each path goes from a root to a tip. Paths share what they have in common; where they part, the longest goes straight on (of equals the
//! first one given) and each other one has a lane to its right, which ends where it parted. So a history that forks at every turn stays
//! narrow:
//!
//! ```text
//! * d  (main)
//! * c
//! | * f  (other)
//! | * e
//! |/
//! * b
//! * a
//! ```

use std::collections::HashMap;

/// One exchange on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its id.
    pub(crate) exchange_id: String,
    /// Its run; empty for none.
    pub(crate) run_id: String,
    /// Its turn.
    pub(crate) turn: u64,
    /// What was asked, on one line.
    pub(crate) user: String,
    /// What was answered, on one line.
    pub(crate) assistant: String,
    /// It was erased.
    pub(crate) erased: bool,
}

/// One exchange in the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// What is known of it.
    pub(crate) step: Step,
    /// Names that point at it.
    pub(crate) names: Vec<String>,
    /// The exchange before it.
    pub(crate) parent: Option<usize>,
    children: Vec<usize>,
    tip: bool,
}

/// A line of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The lanes, without a blank at the end.
    pub(crate) lanes: String,
    /// The exchange on this line, if there is one.
    pub(crate) node: Option<usize>,
}

/// Exchanges and how they follow from one another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forest {
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    roots: Vec<usize>,
}

impl Forest {
    /// Adds a path from a root to its tip.
    pub(crate) fn add(&mut self, path: impl IntoIterator<Item = Step>) {
        let mut parent = None;
        for step in path {
            let index = match self.by_id.get(&step.exchange_id) {
                Some(known) => *known,
                None => self.insert(step, parent),
            };
            parent = Some(index);
        }
        if let Some(tip) = parent.and_then(|tip| self.nodes.get_mut(tip)) {
            tip.tip = true;
        }
    }

    fn insert(&mut self, step: Step, parent: Option<usize>) -> usize {
        let index = self.nodes.len();
        self.by_id.insert(step.exchange_id.clone(), index);
        self.nodes.push(Node { step, names: Vec::new(), parent, children: Vec::new(), tip: false });
        match parent.and_then(|parent| self.nodes.get_mut(parent)) {
            Some(parent) => parent.children.push(index),
            None => self.roots.push(index),
        }
        index
    }

    /// Ends a path at an exchange that is here already; tells whether it is.
    pub(crate) fn end_at(&mut self, exchange_id: &str) -> bool {
        let Some(node) = self.by_id.get(exchange_id).and_then(|index| self.nodes.get_mut(*index)) else { return false };
        node.tip = true;
        true
    }

    /// Names an exchange; tells whether it is here.
    pub(crate) fn name(&mut self, exchange_id: &str, name: impl Into<String>) -> bool {
        let Some(node) = self.by_id.get(exchange_id).and_then(|index| self.nodes.get_mut(*index)) else { return false };
        node.names.push(name.into());
        true
    }

    /// The exchange at an index of a row.
    pub(crate) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// All exchanges; each comes after its parent.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The drawing. Where a run took several exchanges to answer, only the last is drawn, unless paths part or end inside.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let heights = self.heights();
        let mut rows = Vec::new();
        for (count, root) in self.roots.iter().enumerate() {
            if count > 0 {
                rows.push(Row { lanes: String::new(), node: None });
            }
            self.draw(*root, &heights, &mut rows);
        }
        rows
    }

    /// How many exchanges follow one another from each, itself included.
    fn heights(&self) -> Vec<usize> {
        let mut heights = vec![1; self.nodes.len()];
        // Children come after their parents, so each height is whole before it is passed on.
        for index in (0..self.nodes.len()).rev() {
            let below = heights.get(index).copied().unwrap_or(1) + 1;
            let parent = self.nodes.get(index).and_then(|node| node.parent);
            if let Some(height) = parent.and_then(|parent| heights.get_mut(parent)) {
                *height = below.max(*height);
            }
        }
        heights
    }

    /// Draws a tree. Histories are long, so what is left to draw is kept here and not on the call stack.
    fn draw(&self, root: usize, heights: &[usize], rows: &mut Vec<Row>) {
        enum Task {
            Tree { index: usize, lane: usize },
            Node { index: usize, lane: usize },
            Join { lane: usize },
        }
        let mut tasks = vec![Task::Tree { index: root, lane: 0 }];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Tree { index, lane } => {
                    if !self.is_folded(index) {
                        tasks.push(Task::Node { index, lane });
                    }
                    let children = self.nodes.get(index).map(|node| node.children.as_slice()).unwrap_or_default();
                    // Of equals the last one wins, which from behind is the first.
                    let straight = children.iter().rev().max_by_key(|child| heights.get(**child));
                    // The last task pushed is done first: the child that goes straight on, then each other one and its lane's end.
                    for child in children.iter().rev().filter(|child| Some(*child) != straight) {
                        tasks.push(Task::Join { lane });
                        tasks.push(Task::Tree { index: *child, lane: lane + 1 });
                    }
                    tasks.extend(straight.map(|child| Task::Tree { index: *child, lane }));
                }
                Task::Node { index, lane } => rows.push(Row { lanes: "| ".repeat(lane) + "*", node: Some(index) }),
                Task::Join { lane } => rows.push(Row { lanes: "| ".repeat(lane) + "|/", node: None }),
            }
        }
    }

    /// Inside of a run that went on: nothing parts, ends or is named here.
    fn is_folded(&self, index: usize) -> bool {
        let Some(node) = self.nodes.get(index) else { return false };
        let [only] = node.children.as_slice() else { return false };
        let same_run = self.nodes.get(*only).is_some_and(|child| child.step.run_id == node.step.run_id);
        same_run && !node.step.run_id.is_empty() && !node.tip && node.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path whose exchanges are named by letters; each is a run of its own.
    fn path(ids: &str) -> Vec<Step> {
        let step = |id: char| Step { exchange_id: id.into(), run_id: id.into(), ..Default::default() };
        ids.chars().map(step).collect()
    }

    fn drawn(forest: &Forest) -> String {
        let rows = forest.rows().into_iter().map(|row| {
            let node = row.node.and_then(|index| forest.node(index));
            let name =
                node.map(|node| format!(" {} {}", node.step.exchange_id, node.names.join(","))).unwrap_or_default();
            format!("{}{name}", row.lanes).trim_end().to_owned()
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    fn forest(paths: &[&str]) -> Forest {
        let mut forest = Forest::default();
        paths.iter().for_each(|ids| forest.add(path(ids)));
        forest
    }

    #[test]
    fn a_straight_history_is_a_line() {
        assert_eq!(drawn(&forest(&["abc"])), "* c\n* b\n* a");
        assert_eq!(drawn(&forest(&[])), "");
    }

    #[test]
    fn branches_leave_to_the_right_and_end_above_where_they_parted() {
        let mut forest = forest(&["abcd", "abef", "abg"]);
        assert!(forest.name("d", "main"));
        assert!(forest.name("b", "start"));
        assert!(!forest.name("z", "nowhere"));
        let expected = "* d main\n* c\n| * f\n| * e\n|/\n| * g\n|/\n* b start\n* a";
        assert_eq!(drawn(&forest), expected);
    }

    #[test]
    fn branches_of_branches_take_another_lane() {
        let forest = forest(&["abc", "ade", "adf", "adfg", "abh"]);
        let expected = "* g\n* f\n| * e\n|/\n* d\n| * c\n| | * h\n| |/\n| * b\n|/\n* a";
        assert_eq!(drawn(&forest), expected);
    }

    #[test]
    fn trees_with_nothing_in_common_stand_apart() {
        assert_eq!(drawn(&forest(&["ab", "xy", "ac"])), "* b\n| * c\n|/\n* a\n\n* y\n* x");
    }

    #[test]
    fn a_path_inside_another_adds_nothing_and_keeps_its_name() {
        let mut forest = forest(&["abc", "ab", "abc"]);
        forest.name("b", "old");
        forest.name("c", "one");
        forest.name("c", "two");
        assert_eq!(drawn(&forest), "* c one,two\n* b old\n* a");
    }

    #[test]
    fn the_inside_of_a_run_is_folded_unless_something_parts_there() {
        let run = |ids: &str, run: &str| {
            let step = |id: char| Step { exchange_id: id.into(), run_id: run.into(), ..Default::default() };
            ids.chars().map(step).collect::<Vec<_>>()
        };
        let mut straight = Forest::default();
        straight.add([path("a"), run("bcd", "r"), path("e")].concat());
        assert_eq!(drawn(&straight), "* e\n* d\n* a");
        straight.add([path("a"), run("b", "r"), path("x")].concat());
        assert_eq!(drawn(&straight), "* e\n* d\n| * x\n|/\n* b\n* a");
        let mut pending = Forest::default();
        pending.add([path("a"), run("b", "r")].concat());
        pending.add([path("a"), run("bc", "r")].concat());
        assert_eq!(drawn(&pending), "* c\n* b\n* a", "a tip is drawn");
    }

    #[test]
    fn deep_and_wide_histories_are_drawn() {
        let step = |id: String| Step { exchange_id: id.clone(), run_id: id, ..Default::default() };
        let mut deep = Forest::default();
        deep.add((0..200_000).map(|n| step(n.to_string())));
        assert_eq!(deep.rows().len(), 200_000);
        let mut star = Forest::default();
        for n in 0..1_000 {
            star.add([step("root".into()), step(n.to_string())]);
        }
        let rows = star.rows();
        assert_eq!(rows.len(), 1_000 + 999 + 1);
        assert!(rows.iter().all(|row| row.lanes.len() <= 3), "each branch ends before the next begins");
        let mut zigzag = Forest::default();
        for n in 1..500 {
            zigzag.add((0..n).map(|m| step(m.to_string())).chain([step(format!("side-{n}"))]));
        }
        let rows = zigzag.rows();
        assert_eq!(rows.iter().filter(|row| row.node.is_some()).count(), 499 + 499);
        assert!(rows.iter().all(|row| row.lanes.len() <= 3), "the history goes straight on, whoever was named first");
    }
}
