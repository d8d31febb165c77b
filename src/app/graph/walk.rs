//! Walking a part of the graph: a path downwards, or a tree with each exchange before those that follow it, page by page. A page remembers
//! nothing but where it ended, so that graphs of any size cost the memory of one. It must not draw.

use std::collections::VecDeque;

use super::{Node, missing};
use crate::app::{App, Caller, store_fault};
use crate::domain::fault::Fault;
use crate::domain::graph::{self, Place, Segment};
use crate::domain::id::{ExchangeId, Namespace, ThreadId};
use crate::domain::thread::Thread;

/// How many exchanges one page looks at. Where few of them are shown, a page has fewer than it may, and another follows.
const LOOKED_AT: usize = 4_096;
/// How many of an exchange's children are read at a time.
const BATCH: usize = 64;

/// A part of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The path to an exchange.
    Path(ExchangeId),
    /// An exchange and what follows from it, so many steps down.
    Subtree(ExchangeId, Option<u64>),
    /// The path to the head of a thread.
    Thread(ThreadId),
    /// The tree that this path is in.
    Tree(ThreadId),
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Every exchange.
    Exchanges,
    /// The last exchange of each turn, and what no turn ends in.
    Turns,
    /// Roots, points where branches part, heads and ends.
    Forks,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Where the walk began: the end of a path, the top of a tree.
    pub scope: ExchangeId,
    /// The exchange that was looked at last.
    pub last: ExchangeId,
    /// The last one that was shown on the path to it, itself included.
    pub shown: Option<ExchangeId>,
    /// How many on that path after it were not.
    pub hidden: u64,
    /// How many times branches parted on the path to it.
    pub level: u32,
}

/// An exchange that is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The exchange.
    pub node: Node,
    /// The nearest exchange before it that is shown.
    pub parent: Option<ExchangeId>,
    /// How many exchanges between the two are not.
    pub hidden: u64,
    /// The threads whose head it is.
    pub heads: Vec<Thread>,
    /// How many times branches parted on the path to it.
    pub level: u32,
    /// It has siblings, so that something parts here.
    pub parts: bool,
}

/// A page of a walk.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// What is shown, each exchange before those that follow it.
    pub shown: Vec<Shown>,
    /// Where to go on, when there may be more.
    pub next: Option<Position>,
}

/// An exchange on the way down, with those of its children that are still to be looked at.
struct Frame {
    id: ExchangeId,
    place: Place,
    level: u32,
    /// Something parts after it.
    parts: bool,
    /// The nearest exchange that is shown, from it upwards, and how many below that are not.
    above: Above,
    after: Option<ExchangeId>,
    ahead: VecDeque<(ExchangeId, Place)>,
    is_read: bool,
}

/// What is shown above an exchange that comes next.
#[derive(Clone, Copy, Debug, Default)]
struct Above {
    shown: Option<ExchangeId>,
    hidden: u64,
}

struct Walk<'a> {
    app: &'a App,
    namespace: &'a Namespace,
    detail: Detail,
    top: Place,
    /// Nothing below this depth is looked at.
    deepest: u64,
    limit: usize,
    looked: usize,
    stack: Vec<Frame>,
    page: Walked,
    /// What was looked at last.
    at: Option<Position>,
}

impl App {
    /// A page of a part of the graph, after a position.
    ///
    /// # Errors
    /// When there is no such exchange or thread.
    pub async fn walk(
        &self,
        caller: &Caller,
        scope: &Scope,
        detail: Detail,
        from: Option<Position>,
        limit: usize,
    ) -> Result<Walked, Fault> {
        let namespace = &caller.namespace;
        self.index(namespace).await?;
        let begin = match &from {
            Some(position) => Some(position.scope),
            None => self.scope_begin(caller, scope).await?,
        };
        let Some(begin) = begin else { return Ok(Walked::default()) };
        let place = self.place_of(namespace, begin).await?;
        match scope {
            Scope::Path(_) | Scope::Thread(_) => {
                self.walk_path(namespace, (begin, place), detail, from.as_ref(), limit).await
            }
            Scope::Subtree(..) | Scope::Tree(_) => {
                let steps = if let Scope::Subtree(_, steps) = scope { steps.unwrap_or(u64::MAX) } else { u64::MAX };
                let mut walk = Walk {
                    app: self,
                    namespace,
                    detail,
                    top: place,
                    deepest: place.depth.saturating_add(steps),
                    limit,
                    looked: 0,
                    stack: Vec::new(),
                    page: Walked::default(),
                    at: None,
                };
                walk.run(begin, from).await?;
                Ok(walk.page)
            }
        }
    }

    /// The end of a path, or the top of a tree; absent for a thread without exchanges.
    ///
    /// # Errors
    /// When there is no such exchange or thread.
    pub async fn scope_begin(&self, caller: &Caller, scope: &Scope) -> Result<Option<ExchangeId>, Fault> {
        let namespace = &caller.namespace;
        let (Scope::Thread(thread) | Scope::Tree(thread)) = scope else {
            let (Scope::Path(id) | Scope::Subtree(id, _)) = scope else { return Ok(None) };
            self.place_of(namespace, *id).await?;
            return Ok(Some(*id));
        };
        let (_, head, _) = self.read_thread(namespace, thread).await?;
        match (scope, self.head_path(namespace, &head).await?) {
            (Scope::Tree(_), Some(path)) => Ok(Some(self.exchange_on(namespace, &path, 1).await?.0.id)),
            _ => Ok(head.exchange),
        }
    }

    async fn walk_path(
        &self,
        namespace: &Namespace,
        (end, place): (ExchangeId, Place),
        detail: Detail,
        from: Option<&Position>,
        limit: usize,
    ) -> Result<Walked, Fault> {
        let path = self.path_down_to(namespace, place).await?;
        let mut page = Walked::default();
        let (mut depth, mut above) = match from {
            None => (1, Above::default()),
            Some(position) => {
                let last = self.place_of(namespace, position.last).await?;
                (last.depth + 1, Above { shown: position.shown, hidden: position.hidden })
            }
        };
        for _ in 0..LOOKED_AT {
            if depth > place.depth {
                return Ok(page);
            }
            let node = self.node_on(namespace, &path, depth).await?;
            let id = node.exchange.id;
            let is_end = depth == 1 || depth == place.depth;
            above = self.show(namespace, node, detail, is_end, (above, 0, false), &mut page).await?;
            depth += 1;
            page.next = (depth <= place.depth).then(|| position(end, id, above, 0));
            if page.shown.len() == limit {
                break;
            }
        }
        Ok(page)
    }

    /// Adds an exchange to a page if it is shown; what is above whatever follows it.
    async fn show(
        &self,
        namespace: &Namespace,
        node: Node,
        detail: Detail,
        is_end: bool,
        (above, level, parts): (Above, u32, bool),
        page: &mut Walked,
    ) -> Result<Above, Fault> {
        let id = node.exchange.id;
        let is_leaf = node.children == 0;
        let mut heads = None;
        let is_shown = is_end
            || match detail {
                Detail::Exchanges => true,
                Detail::Turns => node.ends_turn || is_leaf,
                Detail::Forks => {
                    node.children != 1 || {
                        let found = self.heads_at(namespace, &node.exchange).await?;
                        !heads.insert(found).is_empty()
                    }
                }
            };
        if !is_shown {
            return Ok(Above { shown: above.shown, hidden: above.hidden.saturating_add(1) });
        }
        let heads = match heads {
            Some(heads) => heads,
            None => self.heads_at(namespace, &node.exchange).await?,
        };
        page.shown.push(Shown { node, parent: above.shown, hidden: above.hidden, heads, level, parts });
        Ok(Above { shown: Some(id), hidden: 0 })
    }
}

fn position(scope: ExchangeId, last: ExchangeId, above: Above, level: u32) -> Position {
    Position { scope, last, shown: above.shown, hidden: above.hidden, level }
}

impl Walk<'_> {
    async fn run(&mut self, top: ExchangeId, from: Option<Position>) -> Result<(), Fault> {
        match from {
            None => self.visit((top, self.top), 0, false, Above::default()).await?,
            Some(at) => {
                let place = self.app.place_of(self.namespace, at.last).await?;
                let above = Above { shown: at.shown, hidden: at.hidden };
                let ahead = self.ahead(place).await?;
                self.enter((at.last, place), at.level, above, ahead);
            }
        }
        while let Some((child, level, parts, above)) = self.next().await? {
            if self.page.shown.len() >= self.limit || self.looked >= LOOKED_AT {
                self.page.next = self.at.take().map(|at| Position { scope: top, ..at });
                return Ok(());
            }
            self.visit(child, level, parts, above).await?;
        }
        Ok(())
    }

    async fn visit(
        &mut self,
        (id, place): (ExchangeId, Place),
        level: u32,
        parts: bool,
        above: Above,
    ) -> Result<(), Fault> {
        self.looked += 1;
        let ahead = self.ahead(place).await?;
        // Where not all that follow were read, or none, they are counted.
        let children = match ahead.len() {
            read if read < BATCH && place.depth < self.deepest => read as u64,
            _ => self.app.children_of(self.namespace, place).await?,
        };
        let exchange = self.app.exchange_at(self.namespace, place).await?;
        let node = self.app.node(self.namespace, exchange, children).await?;
        let is_end = place == self.top || place.depth >= self.deepest;
        let above =
            self.app.show(self.namespace, node, self.detail, is_end, (above, level, parts), &mut self.page).await?;
        self.at = Some(position(id, id, above, level));
        self.enter((id, place), level, above, ahead);
        Ok(())
    }

    /// The first of what follows an exchange, as far as that is looked at.
    async fn ahead(&self, place: Place) -> Result<Vec<(ExchangeId, Place)>, Fault> {
        if place.depth < self.deepest { self.children(place, None, BATCH).await } else { Ok(Vec::new()) }
    }

    /// Puts an exchange on the way down, with the first of its children.
    fn enter(&mut self, (id, place): (ExchangeId, Place), level: u32, above: Above, ahead: Vec<(ExchangeId, Place)>) {
        self.stack.push(Frame {
            id,
            place,
            level,
            parts: ahead.len() > 1,
            above,
            after: None,
            is_read: ahead.len() < BATCH,
            ahead: ahead.into(),
        });
    }

    async fn children(
        &self,
        place: Place,
        after: Option<ExchangeId>,
        limit: usize,
    ) -> Result<Vec<(ExchangeId, Place)>, Fault> {
        self.app.ledger.children(self.namespace, place, after, limit).await.map_err(store_fault)
    }

    /// What comes next, its level, whether it has siblings, and what is shown above it.
    async fn next(&mut self) -> Result<Option<((ExchangeId, Place), u32, bool, Above)>, Fault> {
        loop {
            let Some(frame) = self.stack.last() else { return Ok(None) };
            if frame.ahead.is_empty() && !frame.is_read {
                let more = self.children(frame.place, frame.after, BATCH).await?;
                if let Some(frame) = self.stack.last_mut() {
                    frame.is_read = more.len() < BATCH;
                    frame.ahead.extend(more);
                }
            }
            let Some(frame) = self.stack.last_mut() else { return Ok(None) };
            if let Some(child) = frame.ahead.pop_front() {
                frame.after = Some(child.0);
                let level = frame.level.saturating_add(u32::from(frame.parts));
                return Ok(Some((child, level, frame.parts, frame.above)));
            }
            let Some(done) = self.stack.pop() else { return Ok(None) };
            if done.place == self.top {
                return Ok(None);
            }
            if self.stack.is_empty() {
                self.climb(&done).await?;
            }
        }
    }

    /// After a page that began in the middle: the nearest exchange upwards that more follows from, with what does. What is shown above it is
    /// looked for there alone, and not at each step of a long way.
    async fn climb(&mut self, done: &Frame) -> Result<(), Fault> {
        let path = self.app.path_down_to(self.namespace, done.place).await?;
        let (mut id, mut level) = (done.id, done.level);
        for depth in (self.top.depth..done.place.depth).rev() {
            let place = place_on(&path, depth)?;
            let ahead = self.children(place, Some(id), BATCH).await?;
            let first = self.children(place, None, 1).await?;
            let parts = !ahead.is_empty() || first.first().is_some_and(|(first, _)| *first != id);
            level = level.saturating_sub(u32::from(parts));
            if !ahead.is_empty() {
                let above = self.above(&path, depth).await?;
                let (after, is_read, ahead) = (Some(id), ahead.len() < BATCH, ahead.into());
                id = self.id_at(place).await?;
                self.stack.push(Frame { id, place, level, parts, above, after, is_read, ahead });
                return Ok(());
            }
            id = self.id_at(place).await?;
        }
        Ok(())
    }

    async fn id_at(&self, place: Place) -> Result<ExchangeId, Fault> {
        let found = self.app.ledger.id_at(self.namespace, place).await.map_err(store_fault)?;
        found.ok_or_else(missing)
    }

    /// The nearest exchange that is shown on a path, from a depth upwards.
    async fn above(&self, path: &[Segment], from: u64) -> Result<Above, Fault> {
        for (depth, hidden) in (self.top.depth..=from).rev().zip(0..) {
            let place = place_on(path, depth)?;
            let node = self.app.node_at(self.namespace, place).await?;
            let (id, is_end) = (node.exchange.id, place == self.top);
            let mut page = Walked::default();
            let no_more = (Above::default(), 0, false);
            let shown = self.app.show(self.namespace, node, self.detail, is_end, no_more, &mut page).await?;
            if shown.shown == Some(id) {
                return Ok(Above { shown: Some(id), hidden });
            }
        }
        Ok(Above::default())
    }
}

fn place_on(path: &[Segment], depth: u64) -> Result<Place, Fault> {
    graph::at_depth(path, depth).ok_or_else(missing)
}

/// How a scope is named in the token of a page.
impl Scope {
    /// Its parts as text.
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::Path(id) => vec!["path".to_owned(), id.to_string()],
            Self::Subtree(id, steps) => {
                vec!["subtree".to_owned(), id.to_string(), steps.map(|steps| steps.to_string()).unwrap_or_default()]
            }
            Self::Thread(id) => vec!["thread".to_owned(), id.to_string()],
            Self::Tree(id) => vec!["tree".to_owned(), id.to_string()],
        }
    }
}
