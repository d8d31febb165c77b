//! Stored forms of workspaces: nodes of versions, what is live on a thread, moves of heads. It must not know how a version is cut into nodes.

use bytes::Bytes;

use super::{Malformed, Twin, exchange_id, hash, hash_bytes, id_bytes, stored, twin, twins, values};
use crate::domain::id::{Hash, Moment};
use crate::domain::workspace::{Around, Child, Content, Document, Live, Move, Node, Root};

stored!(Node, twin::WorkspaceNode);
stored!(Live, twin::Workspace);
stored!(Move, twin::Move);

fn root_bytes(root: Root) -> Option<Bytes> {
    root.as_ref().map(hash_bytes)
}

fn root(bytes: Option<Bytes>, field: &'static str) -> Result<Root, Malformed> {
    bytes.map(|bytes| hash(&bytes, field)).transpose()
}

/// A list of pieces as the part that it is kept as.
pub(crate) fn list_of_pieces(pieces: &[Hash]) -> Bytes {
    pieces.iter().flat_map(|piece| piece.0).collect()
}

/// The pieces of such a part; absent when it is none.
pub(crate) fn pieces_of_list(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (pieces, rest) = bytes.as_chunks::<32>();
    rest.is_empty().then(|| pieces.iter().map(|piece| Hash(*piece)).collect())
}

impl Twin<Document> for twin::Document {
    fn of(document: &Document) -> Self {
        let (pieces, list) = match &document.content {
            Content::Pieces(pieces) => (pieces.iter().map(hash_bytes).collect(), None),
            Content::List(list) => (Vec::new(), Some(hash_bytes(list))),
        };
        Self {
            name: document.name.clone(),
            media_type: document.media_type.clone(),
            size_bytes: document.size_bytes,
            blake3: hash_bytes(&document.blake3),
            metadata_json: document.metadata_json.clone(),
            updated_at_ms: document.updated_at.0,
            pieces,
            list,
        }
    }

    fn value(self) -> Result<Document, Malformed> {
        let pieces = self.pieces.iter().map(|bytes| hash(bytes, "documents.pieces")).collect::<Result<Vec<_>, _>>()?;
        Ok(Document {
            name: self.name,
            media_type: self.media_type,
            size_bytes: self.size_bytes,
            blake3: hash(&self.blake3, "documents.blake3")?,
            metadata_json: self.metadata_json,
            updated_at: Moment(self.updated_at_ms),
            content: match self.list {
                None => Content::Pieces(pieces),
                Some(list) => Content::List(hash(&list, "documents.list")?),
            },
        })
    }
}

impl Twin<Child> for twin::WorkspaceChild {
    fn of(child: &Child) -> Self {
        Self {
            last: child.last.clone(),
            hash: hash_bytes(&child.hash),
            documents: child.documents,
            size_bytes: child.bytes,
        }
    }

    fn value(self) -> Result<Child, Malformed> {
        let hash = hash(&self.hash, "children.hash")?;
        Ok(Child { last: self.last, hash, documents: self.documents, bytes: self.size_bytes })
    }
}

impl Twin<Node> for twin::WorkspaceNode {
    fn of(node: &Node) -> Self {
        match node {
            Node::Leaf(documents) => Self { level: 0, documents: twins(documents), children: Vec::new() },
            Node::Inner { level, children } => Self { level: *level, documents: Vec::new(), children: twins(children) },
        }
    }

    fn value(self) -> Result<Node, Malformed> {
        match (self.level, self.documents.is_empty(), self.children.is_empty()) {
            (0, false, true) => Ok(Node::Leaf(values(self.documents)?)),
            (level @ 1.., true, false) => Ok(Node::Inner { level, children: values(self.children)? }),
            _ => Err(Malformed::new("level", "does not fit what the node holds")),
        }
    }
}

impl Twin<Live> for twin::Workspace {
    fn of(live: &Live) -> Self {
        Self { root: root_bytes(live.root), sequence: live.sequence, updated_at_ms: live.updated_at.0 }
    }

    fn value(self) -> Result<Live, Malformed> {
        let root = root(self.root, "root")?;
        Ok(Live { root, sequence: self.sequence, updated_at: Moment(self.updated_at_ms) })
    }
}

impl Twin<Move> for twin::Move {
    fn of(moved: &Move) -> Self {
        Self {
            from: moved.from.as_ref().map(id_bytes),
            to: id_bytes(&moved.to),
            workspace_before: root_bytes(moved.workspace.before),
            workspace_after: root_bytes(moved.workspace.after),
            at_ms: moved.at.0,
        }
    }

    fn value(self) -> Result<Move, Malformed> {
        Ok(Move {
            from: self.from.map(|id| exchange_id(&id, "from")).transpose()?,
            to: exchange_id(&self.to, "to")?,
            workspace: Around {
                before: root(self.workspace_before, "workspace_before")?,
                after: root(self.workspace_after, "workspace_after")?,
            },
            at: Moment(self.at_ms),
        })
    }
}
