//! Lines of documents that are whole in themselves and wrong all the same: whoever writes an export can write hashes of lines too.

use bytes::Bytes;

use super::import::{Importer, Options, Refused};
use super::line::{self, Header, Piece, Record};
use crate::domain::content::Hasher;
use crate::domain::id::{ExchangeId, Hash, Moment, Namespace};
use crate::domain::workspace::{Around, Child, Content, Document, Move, Node};
use crate::store::layout::Kind;
use crate::store::ledger::tests::World;
use crate::store::record::Stored;

fn document(name: &str, content: Content) -> Document {
    Document {
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        size_bytes: 1,
        blake3: Hash([1; 32]),
        metadata_json: String::new(),
        updated_at: Moment(1),
        content,
    }
}

fn leaf(names: &[&str], content: &Content) -> Node {
    Node::Leaf(names.iter().map(|name| document(name, content.clone())).collect())
}

fn hasher() -> Hasher {
    Hasher::new(&Namespace::new("a"))
}

fn line_of(node: &Node) -> String {
    keyed(&hasher().node(node).to_string(), node)
}

fn keyed(key: &str, node: &Node) -> String {
    Record::plain(Kind::Node, key.to_owned(), node.payload()).line().unwrap()
}

fn part(bytes: &'static [u8]) -> (Hash, String) {
    let hash = hasher().part(bytes);
    let piece = Piece { hash, size: bytes.len() as u64, offset: 0, data: Bytes::from_static(bytes) };
    (hash, piece.line().unwrap())
}

/// The code of what is wrong with the last of some lines; those before it are right.
async fn refused(lines: &[String]) -> &'static str {
    let world = World::new();
    let mut importer = Importer::new(&world.ledger, None, Options::default());
    let header = Header {
        snapshot_id: "s".to_owned(),
        created_at_ms: 1,
        namespaces: vec!["a".to_owned()],
        is_without_documents: false,
    };
    let begin = [header.line().unwrap(), line::namespace(&Namespace::new("a")).unwrap()];
    let (last, before) = lines.split_last().unwrap();
    for line in begin.iter().chain(before) {
        importer.line(line).await.unwrap();
    }
    match importer.line(last).await {
        Ok(()) => "",
        Err(Refused::Line(faulty)) => faulty.code,
        Err(Refused::Store(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_node_must_have_its_hash_and_agree_with_what_is_below_it() {
    let (hash, piece) = part(b"x");
    let content = Content::Pieces(vec![hash]);
    let good = leaf(&["a", "b"], &content);
    assert_eq!(refused(&[piece.clone(), line_of(&good)]).await, "");
    assert_eq!(refused(&[line_of(&good)]).await, "missing_reference");
    for key in [Hash([9; 32]).to_string(), String::new(), "nonsense".to_owned()] {
        assert_eq!(refused(&[piece.clone(), keyed(&key, &good)]).await, "hash_mismatch", "{key}");
    }
    for names in [["b", "a"], ["a", "a"]] {
        assert_eq!(refused(&[piece.clone(), line_of(&leaf(&names, &content))]).await, "malformed_record");
    }
    let child = Child { last: "b".to_owned(), hash: hasher().node(&good), documents: 2, bytes: 2 };
    let above = |level, child: Child| Node::Inner { level, children: vec![child] };
    let with = |node: Node| [piece.clone(), line_of(&good), line_of(&node)];
    assert_eq!(refused(&with(above(1, child.clone()))).await, "");
    let wrong = [
        above(2, child.clone()),
        above(1, Child { last: "c".to_owned(), ..child.clone() }),
        above(1, Child { documents: 3, ..child.clone() }),
        above(1, Child { bytes: 3, ..child.clone() }),
    ];
    for node in wrong {
        assert_eq!(refused(&with(node.clone())).await, "hash_mismatch", "{node:?}");
    }
    let nowhere = above(1, Child { hash: Hash([7; 32]), ..child });
    assert_eq!(refused(&with(nowhere)).await, "missing_reference");
}

#[tokio::test]
async fn a_list_of_pieces_must_be_one_and_name_what_is_there() {
    let (short, line) = part(b"no list");
    let node = leaf(&["a"], &Content::List(short));
    assert_eq!(refused(&[line.clone(), line_of(&node)]).await, "malformed_record");
    let (list, line) = part(&[5; 32]);
    let node = leaf(&["a"], &Content::List(list));
    assert_eq!(refused(&[line, line_of(&node)]).await, "missing_reference");
    assert_eq!(refused(&[line_of(&node)]).await, "missing_reference");
}

#[tokio::test]
async fn a_move_names_its_thread_and_what_is_there() {
    let moved = Move { from: None, to: ExchangeId::from_bytes([1; 16]), workspace: Around::default(), at: Moment(1) };
    let line = |key: &str| Record::plain(Kind::Move, key.to_owned(), moved.payload()).line().unwrap();
    for key in ["", "t", "t x", "two words 1", " 1"] {
        assert_eq!(refused(&[line(key)]).await, "malformed_record", "{key}");
    }
    assert_eq!(refused(&[line("t 1")]).await, "missing_reference");
}
