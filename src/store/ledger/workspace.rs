//! Versions of documents: reading one by name or in order, making the next out of one, and in what two differ. It must not know whose they
//! are.
//!
//! A change loads the nodes that it falls into, one a level, and makes as many new ones. Each level is the same problem, things with names
//! in order of which some go and some come, so what a level changes is what the one above it is told.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};

use super::Ledger;
use crate::domain::content::Hasher;
use crate::domain::id::Hash;
use crate::domain::workspace::{Child, Content, Document, Node, Root, ends_node};
use crate::store::layout::Entry;
use crate::store::record::{corrupt, pieces_of_list};
use crate::store::{Error, Namespace};

/// More levels than any version has, so that a damaged one does not send a reader round in circles.
const MAX_LEVELS: u32 = 64;

/// A version with the nodes that it has and the one it was made of has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// Its name.
    pub root: Root,
    /// Its new nodes.
    pub nodes: BTreeMap<Hash, Node>,
    /// How many documents it has.
    pub documents: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

/// A document as it is in two versions that differ in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// In the left one.
    pub left: Option<Document>,
    /// In the right one.
    pub right: Option<Document>,
}

impl Pair {
    /// Its name.
    pub fn name(&self) -> &str {
        self.left.as_ref().or(self.right.as_ref()).map_or("", |document| &document.name)
    }
}

impl Ledger {
    /// How many documents a version has and the bytes of their contents; absent where there is no such version.
    ///
    /// # Errors
    /// When the store fails or the node is damaged.
    pub async fn sums(&self, ns: &Namespace, root: Root) -> Result<Option<(u64, u64)>, Error> {
        let Some(hash) = root else { return Ok(Some((0, 0))) };
        let node: Option<Node> = self.read(ns, &Entry::Node(hash)).await?;
        Ok(node.map(|node| node.sums()))
    }

    /// A document of a version that is there.
    ///
    /// # Errors
    /// When the store fails, or a node is missing or damaged.
    pub async fn document(&self, ns: &Namespace, root: Root, name: &str) -> Result<Option<Document>, Error> {
        let found = self.documents(ns, root, name, 1, usize::MAX).await?.into_iter().next();
        Ok(found.filter(|document| document.name == name))
    }

    /// Documents of a version that is there, by name, from a name on, which need not be one of them: at most `limit`, and no more once they
    /// take `max_bytes`, but at least one while there are any.
    ///
    /// # Errors
    /// When the store fails, or a node is missing or damaged.
    pub async fn documents(
        &self,
        ns: &Namespace,
        root: Root,
        from: &str,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Document>, Error> {
        let mut walk = Walk::new(root, from);
        let mut found = Vec::new();
        let mut bytes = 0_usize;
        while found.len() < limit && bytes < max_bytes {
            match walk.next(self, ns).await? {
                Some(document) => {
                    bytes = bytes.saturating_add(document.name.len() + document.metadata_json.len() + 256);
                    found.push(document);
                }
                None => break,
            }
        }
        Ok(found)
    }

    /// The pieces of a document's content, in order.
    ///
    /// # Errors
    /// When the store fails, or the list of them is missing or damaged.
    pub async fn pieces(&self, ns: &Namespace, document: &Document) -> Result<Vec<Hash>, Error> {
        match &document.content {
            Content::Pieces(pieces) => Ok(pieces.clone()),
            Content::List(list) => {
                let entry = Entry::Part(*list);
                let bytes = self.piece(ns, *list).await?;
                pieces_of_list(&bytes).ok_or_else(|| corrupt(&entry, "it is no list of pieces"))
            }
        }
    }

    /// A piece of content that something names, so that it must be there.
    ///
    /// # Errors
    /// When the store fails, or the piece is missing or damaged.
    pub async fn piece(&self, ns: &Namespace, hash: Hash) -> Result<Bytes, Error> {
        self.part(ns, hash).await?.ok_or_else(|| corrupt(&Entry::Part(hash), "it is missing"))
    }

    /// Adds what a version is made of: its nodes, and the content of its documents. What was found already is not looked into again.
    ///
    /// # Errors
    /// When the store fails, or a node or a list of pieces is missing or damaged.
    pub async fn add_version(&self, ns: &Namespace, root: Root, found: &mut HashSet<Entry>) -> Result<(), Error> {
        let mut ahead: Vec<Hash> = root.into_iter().collect();
        while let Some(hash) = ahead.pop() {
            if !found.insert(Entry::Node(hash)) {
                continue;
            }
            match self.node(ns, hash).await? {
                Node::Leaf(documents) => {
                    for document in &documents {
                        found.extend(self.content_of(ns, document).await?.into_iter().map(Entry::Part));
                    }
                }
                Node::Inner { children, .. } => ahead.extend(children.iter().map(|child| child.hash)),
            }
        }
        Ok(())
    }

    /// All that is kept of a document's content: its pieces, and the list of them where there is one, which comes last.
    pub(in crate::store) async fn content_of(&self, ns: &Namespace, document: &Document) -> Result<Vec<Hash>, Error> {
        let mut content = self.pieces(ns, document).await?;
        if let Content::List(list) = &document.content {
            content.push(*list);
        }
        Ok(content)
    }

    /// Documents in which two versions differ, by name, from a name on: at most `limit`. What they share is not read.
    ///
    /// # Errors
    /// When the store fails, or a node is missing or damaged.
    pub async fn differences(
        &self,
        ns: &Namespace,
        left: Root,
        right: Root,
        from: &str,
        limit: usize,
    ) -> Result<Vec<Pair>, Error> {
        let (mut left, mut right) = (Walk::new(left, from), Walk::new(right, from));
        let mut found = Vec::new();
        while found.len() < limit {
            while left.skip_shared(&mut right) {}
            let (one, other) = (Step::level(left.peek()), Step::level(right.peek()));
            if one > 0 || other > 0 {
                // Whichever hides more is opened first, so that equal nodes come to stand side by side.
                if one >= other {
                    left.open(self, ns).await?
                } else {
                    right.open(self, ns).await?
                };
                continue;
            }
            let (is_left, is_right) = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(one), Some(other)) => (one.name() <= other.name(), other.name() <= one.name()),
                (one, other) => (one.is_some(), other.is_some()),
            };
            let pair = Pair {
                left: if is_left { left.take() } else { None },
                right: if is_right { right.take() } else { None },
            };
            if pair.left != pair.right {
                found.push(pair);
            }
        }
        Ok(found)
    }

    /// A version made of one that is there: each name gets the document or loses the one that it has. Nothing is stored.
    ///
    /// # Errors
    /// When the store fails, or a node is missing or damaged.
    pub async fn edited(
        &self,
        ns: &Namespace,
        root: Root,
        edits: BTreeMap<String, Option<Document>>,
    ) -> Result<Edited, Error> {
        if edits.is_empty() {
            let (documents, bytes) = self.sums(ns, root).await?.unwrap_or_default();
            return Ok(Edited { root, nodes: BTreeMap::new(), documents, bytes });
        }
        let mut making = Making { ledger: self, ns, hasher: Hasher::new(ns), root, read: BTreeMap::new() };
        let mut nodes = BTreeMap::new();
        let mut edits: BTreeMap<String, Option<Item>> =
            edits.into_iter().map(|(name, document)| (name, document.map(Item::Document))).collect();
        let height = match root {
            Some(hash) => making.node(hash).await?.level(),
            None => 0,
        };
        for level in 0..MAX_LEVELS {
            let above = making.level(level, height, edits, &mut nodes).await?;
            let left: Vec<&Child> = above.values().flatten().collect();
            if level >= height
                && let [] | [_] = left.as_slice()
            {
                let top = left.first().map(|child| child.hash);
                let root = making.lowest(top, &nodes).await?;
                let (documents, bytes) = left.first().map_or((0, 0), |child| (child.documents, child.bytes));
                // A node that a lower one took the place of is no part of the version.
                let nodes = reachable(root, nodes);
                return Ok(Edited { root, nodes, documents, bytes });
            }
            edits = above.into_iter().map(|(last, child)| (last, child.map(Item::Child))).collect();
        }
        Err(Error::Corrupt("a version of documents has more levels than any can have".to_owned()))
    }
}

fn reachable(root: Root, mut nodes: BTreeMap<Hash, Node>) -> BTreeMap<Hash, Node> {
    let mut kept = BTreeMap::new();
    let mut open: Vec<Hash> = root.into_iter().collect();
    while let Some(hash) = open.pop() {
        if let Some(node) = nodes.remove(&hash) {
            if let Node::Inner { children, .. } = &node {
                open.extend(children.iter().map(|child| child.hash));
            }
            kept.insert(hash, node);
        }
    }
    kept
}

/// What a node holds one of.
#[derive(Clone)]
enum Item {
    Document(Document),
    Child(Child),
}

/// A version that is being made out of another.
struct Making<'a> {
    ledger: &'a Ledger,
    ns: &'a Namespace,
    hasher: Hasher,
    root: Root,
    read: BTreeMap<Hash, Arc<Node>>,
}

impl Making<'_> {
    async fn node(&mut self, hash: Hash) -> Result<Arc<Node>, Error> {
        if let Some(node) = self.read.get(&hash) {
            return Ok(Arc::clone(node));
        }
        let node = Arc::new(self.ledger.node(self.ns, hash).await?);
        self.read.insert(hash, Arc::clone(&node));
        Ok(node)
    }

    /// The node of a level that a name falls into: the first one whose last name is not before it, else the last one. With `after`, the one
    /// that follows the node that ends with the name.
    async fn find(&mut self, level: u32, height: u32, name: &str, after: bool) -> Result<Option<Arc<Node>>, Error> {
        let (Some(root), true) = (self.root, level <= height) else { return Ok(None) };
        let mut node = self.node(root).await?;
        while node.level() > level {
            let Node::Inner { children, .. } = node.as_ref() else { break };
            let at = children
                .partition_point(|child| if after { child.last.as_str() <= name } else { child.last.as_str() < name });
            let child = match children.get(at) {
                Some(child) => child.hash,
                None if after => return Ok(None),
                None => match children.last() {
                    Some(child) => child.hash,
                    None => return Ok(None),
                },
            };
            node = self.node(child).await?;
        }
        let is_after = !after || last_of(&node).is_some_and(|last| last > name);
        Ok(Some(node).filter(|_| is_after))
    }

    /// Applies what changes on a level; gives what changes on the one above, by the last names of its nodes.
    async fn level(
        &mut self,
        level: u32,
        height: u32,
        edits: BTreeMap<String, Option<Item>>,
        made: &mut BTreeMap<Hash, Node>,
    ) -> Result<BTreeMap<String, Option<Child>>, Error> {
        let mut above: BTreeMap<String, Option<Child>> = BTreeMap::new();
        let mut edits = edits.into_iter().peekable();
        while let Some((first, _)) = edits.peek() {
            let first = first.clone();
            let mut items: BTreeMap<String, Option<Item>> = BTreeMap::new();
            let mut node = self.find(level, height, &first, false).await?;
            loop {
                let last = node.as_deref().and_then(last_of).map(str::to_owned);
                if let Some(node) = &node {
                    items.extend(items_of(node));
                }
                if let Some(last) = &last {
                    above.insert(last.clone(), None);
                }
                let next = match &last {
                    Some(last) => self.find(level, height, last, true).await?,
                    None => None,
                };
                // What comes after the last node of all is of that node.
                while let Some((name, item)) =
                    edits.next_if(|(name, _)| next.is_none() || last.as_ref().is_none_or(|last| name <= last))
                {
                    items.insert(name, item);
                }
                items.retain(|_, item| item.is_some());
                let is_open = items.last_key_value().is_some_and(|(name, _)| !ends_node(level, name));
                match next {
                    Some(next) if is_open => node = Some(next),
                    _ => break,
                }
            }
            for (last, child, node) in self.cut(level, items) {
                made.insert(child.hash, node);
                above.insert(last, Some(child));
            }
        }
        Ok(above)
    }

    /// Cuts what is on a level, in order, into nodes.
    fn cut(&self, level: u32, items: BTreeMap<String, Option<Item>>) -> Vec<(String, Child, Node)> {
        let mut cut = Vec::new();
        let (mut documents, mut children) = (Vec::new(), Vec::new());
        let count = items.len();
        for (index, (name, item)) in items.into_iter().enumerate() {
            match item {
                Some(Item::Document(document)) => documents.push(document),
                Some(Item::Child(child)) => children.push(child),
                None => {}
            }
            if index + 1 == count || ends_node(level, &name) {
                let node = if level == 0 {
                    Node::Leaf(std::mem::take(&mut documents))
                } else {
                    Node::Inner { level, children: std::mem::take(&mut children) }
                };
                let (count, bytes) = node.sums();
                let child = Child { last: name.clone(), hash: self.hasher.node(&node), documents: count, bytes };
                cut.push((name, child, node));
            }
        }
        cut
    }

    /// The topmost node is the lowest that holds everything, so that the same documents have one name.
    async fn lowest(&mut self, top: Root, made: &BTreeMap<Hash, Node>) -> Result<Root, Error> {
        let Some(mut hash) = top else { return Ok(None) };
        loop {
            let only = |node: &Node| match node {
                Node::Inner { children, .. } => match children.as_slice() {
                    [only] => Some(only.hash),
                    _ => None,
                },
                Node::Leaf(_) => None,
            };
            let only = match made.get(&hash) {
                Some(node) => only(node),
                None => only(self.node(hash).await?.as_ref()),
            };
            match only {
                Some(below) => hash = below,
                None => return Ok(Some(hash)),
            }
        }
    }
}

fn last_of(node: &Node) -> Option<&str> {
    match node {
        Node::Leaf(documents) => documents.last().map(|document| document.name.as_str()),
        Node::Inner { children, .. } => children.last().map(|child| child.last.as_str()),
    }
}

fn items_of(node: &Node) -> Vec<(String, Option<Item>)> {
    match node {
        Node::Leaf(documents) => {
            documents.iter().map(|document| (document.name.clone(), Some(Item::Document(document.clone())))).collect()
        }
        Node::Inner { children, .. } => {
            children.iter().map(|child| (child.last.clone(), Some(Item::Child(child.clone())))).collect()
        }
    }
}

/// The next thing on a walk: a document, or a node that was not opened yet.
enum Step {
    Document(Document),
    Below { level: u32, hash: Hash },
}

impl Step {
    /// One more than the level of a node that was not opened, and nothing for a document.
    fn level(step: Option<&Self>) -> u32 {
        match step {
            Some(Self::Below { level, .. }) => level.saturating_add(1),
            Some(Self::Document(_)) | None => 0,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Document(document) => &document.name,
            Self::Below { .. } => "",
        }
    }
}

/// A walk through a version, by name.
struct Walk {
    from: String,
    /// The last one comes next.
    ahead: Vec<Step>,
}

impl Walk {
    fn new(root: Root, from: &str) -> Self {
        // How many levels there are is known once the topmost node is read.
        let ahead = root.into_iter().map(|hash| Step::Below { level: MAX_LEVELS, hash }).collect();
        Self { from: from.to_owned(), ahead }
    }

    fn peek(&self) -> Option<&Step> {
        self.ahead.last()
    }

    fn take(&mut self) -> Option<Document> {
        match self.ahead.pop() {
            Some(Step::Document(document)) => Some(document),
            Some(Step::Below { .. }) | None => None,
        }
    }

    /// Leaves out a node that comes next on both sides; says whether there was one.
    fn skip_shared(&mut self, other: &mut Self) -> bool {
        let is_shared = match (self.peek(), other.peek()) {
            (Some(Step::Below { hash: one, .. }), Some(Step::Below { hash: other, .. })) => one == other,
            _ => false,
        };
        if is_shared {
            self.ahead.pop();
            other.ahead.pop();
        }
        is_shared
    }

    /// Puts what a node holds in its place, without what comes before the beginning. Says whether there was a node.
    fn open<'a>(&'a mut self, ledger: &'a Ledger, ns: &'a Namespace) -> BoxFuture<'a, Result<bool, Error>> {
        async move {
            let Some(Step::Below { level, hash }) = self.ahead.pop_if(|step| matches!(step, Step::Below { .. })) else {
                return Ok(false);
            };
            let node = ledger.node(ns, hash).await?;
            if level != MAX_LEVELS && node.level() != level {
                return Err(corrupt(&Entry::Node(hash), "it is on another level than the node above it says"));
            }
            match node {
                Node::Leaf(documents) => {
                    let wanted = documents.into_iter().rev().filter(|document| document.name >= self.from);
                    self.ahead.extend(wanted.map(Step::Document));
                }
                Node::Inner { level, children } => {
                    let wanted = children.into_iter().rev().filter(|child| child.last >= self.from);
                    self.ahead
                        .extend(wanted.map(|child| Step::Below { level: level.saturating_sub(1), hash: child.hash }));
                }
            }
            Ok(true)
        }
        .boxed()
    }

    async fn next(&mut self, ledger: &Ledger, ns: &Namespace) -> Result<Option<Document>, Error> {
        while self.open(ledger, ns).await? {}
        Ok(self.take())
    }
}

impl Ledger {
    /// A node that something names, so that it must be there.
    pub(in crate::store) async fn node(&self, ns: &Namespace, hash: Hash) -> Result<Node, Error> {
        let entry = Entry::Node(hash);
        self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))
    }
}
