//! Verifying workspaces: nodes of versions and what they name, what is live on a thread, moves of heads. It must not know how a version is
//! made.

use bytes::Bytes;

use super::Check;
use super::look::{Look, decode};
use crate::domain::id::{Hash, ThreadId};
use crate::domain::workspace::{Around, Child, Content, Document, Live, Move, Node, Root};
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::pieces_of_list;

/// So many versions are remembered as being there; more are looked up again.
const REMEMBERED_VERSIONS: usize = 4096;

impl Check<'_> {
    pub(super) async fn node(&self, hash: Hash, raw: &Bytes) -> Result<Vec<String>, Error> {
        let node: Node = match decode(&Entry::Node(hash), raw) {
            Ok(node) => node,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if self.hasher.node(&node) != hash {
            problems.push("it does not have its hash".to_owned());
        }
        let names: Vec<&str> = match &node {
            Node::Leaf(documents) => documents.iter().map(|document| document.name.as_str()).collect(),
            Node::Inner { children, .. } => children.iter().map(|child| child.last.as_str()).collect(),
        };
        if !names.is_sorted_by(|one, next| one < next) {
            problems.push("its names do not ascend".to_owned());
        }
        match &node {
            Node::Leaf(documents) => {
                for document in documents {
                    self.content_of(&mut problems, document).await?;
                }
            }
            Node::Inner { level, children } => {
                for child in children {
                    self.child(&mut problems, *level, child).await?;
                }
            }
        }
        Ok(problems)
    }

    async fn child(&self, problems: &mut Vec<String>, level: u32, child: &Child) -> Result<(), Error> {
        let below = match self.look::<Node>(&Entry::Node(child.hash)).await? {
            Look::Found(below) => below,
            Look::Missing => {
                problems.push(format!("the node {} below it is missing", child.hash));
                return Ok(());
            }
            Look::Broken => return Ok(()),
        };
        let last = match &below {
            Node::Leaf(documents) => documents.last().map(|document| document.name.as_str()),
            Node::Inner { children, .. } => children.last().map(|child| child.last.as_str()),
        };
        if below.level().saturating_add(1) != level
            || last != Some(child.last.as_str())
            || below.sums() != (child.documents, child.bytes)
        {
            problems.push(format!("the node {} below it is not as it says", child.hash));
        }
        Ok(())
    }

    async fn content_of(&self, problems: &mut Vec<String>, document: &Document) -> Result<(), Error> {
        let pieces = match &document.content {
            Content::Pieces(pieces) => pieces.clone(),
            Content::List(list) => match self.ledger.part(self.ns, *list).await {
                Ok(Some(bytes)) => match pieces_of_list(&bytes) {
                    Some(pieces) => pieces,
                    None => {
                        problems.push(format!("the list {list} of a document's pieces is none"));
                        return Ok(());
                    }
                },
                Ok(None) => {
                    problems.push(format!("the list {list} of a document's pieces is missing"));
                    return Ok(());
                }
                // It is found under its own key.
                Err(Error::Corrupt(_)) => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        for piece in pieces {
            if !self.is_there(&Entry::Part(piece)).await? {
                problems.push(format!("the piece {piece} of a document is missing"));
            }
        }
        Ok(())
    }

    pub(super) async fn workspace(&mut self, id: &ThreadId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let live: Live = match decode(&Entry::Workspace(id.clone()), raw) {
            Ok(live) => live,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if !self.is_there(&Entry::Thread(id.clone())).await? {
            problems.push("its thread is missing".to_owned());
        }
        self.version(&mut problems, live.root).await?;
        Ok(problems)
    }

    pub(super) async fn moved(&mut self, id: &ThreadId, number: u64, raw: &Bytes) -> Result<Vec<String>, Error> {
        let moved: Move = match decode(&Entry::Move(id.clone(), number), raw) {
            Ok(moved) => moved,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if !self.is_there(&Entry::Thread(id.clone())).await? {
            problems.push("its thread is missing".to_owned());
        }
        self.expect_exchange(&mut problems, "the head before it,", moved.from).await?;
        self.expect_exchange(&mut problems, "the head after it,", Some(moved.to)).await?;
        self.versions(&mut problems, &moved.workspace).await?;
        Ok(problems)
    }

    pub(super) async fn versions(&mut self, problems: &mut Vec<String>, around: &Around) -> Result<(), Error> {
        self.version(problems, around.before).await?;
        if around.after != around.before {
            self.version(problems, around.after).await?;
        }
        Ok(())
    }

    /// A version that is named is there.
    pub(super) async fn version(&mut self, problems: &mut Vec<String>, root: Root) -> Result<(), Error> {
        let Some(hash) = root.filter(|hash| !self.roots.contains(hash)) else { return Ok(()) };
        if !self.is_there(&Entry::Node(hash)).await? {
            problems.push(format!("the documents {hash} that it names are missing"));
            return Ok(());
        }
        if self.roots.len() >= REMEMBERED_VERSIONS {
            self.roots.clear();
        }
        self.roots.insert(hash);
        Ok(())
    }
}
