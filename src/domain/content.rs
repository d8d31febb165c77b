//! Content hashes: what makes two exchanges say the same. It must not know stored forms, so that these can change without the hashes.
//!
//! Ids of calls differ between a transcript and what is kept of it, so a call is known by its place in its message.

use super::id::{CallId, Hash, Namespace};
use super::message::{Kind, Media, Message, Part, Role};
use super::workspace::{Content, Document, Node};

/// Hashes content for one namespace; equal content in two namespaces has unrelated hashes.
pub struct Hasher {
    key: [u8; 32],
}

impl Hasher {
    /// For a namespace.
    pub fn new(namespace: &Namespace) -> Self {
        Self { key: blake3::derive_key("antiphon content 1", namespace.as_str().as_bytes()) }
    }

    /// Of an exchange: its parent's hash, the messages it added and its answer. `open` are the ids of the parent's calls, in order.
    pub fn exchange(&self, parent: Option<&Hash>, open: &[CallId], messages: &[Message], assistant: &Message) -> Hash {
        let mut out = Canonical { hasher: blake3::Hasher::new_keyed(&self.key), open: open.to_vec() };
        match parent {
            Some(hash) => out.bytes(&hash.0),
            None => out.bytes(&[]),
        }
        out.count(messages.len());
        messages.iter().for_each(|message| out.message(message));
        out.message(assistant);
        Hash(*out.hasher.finalize().as_bytes())
    }

    /// Of the bytes of a large part.
    pub fn part(&self, bytes: &[u8]) -> Hash {
        Hash(*blake3::keyed_hash(&self.key, bytes).as_bytes())
    }

    /// Of a node of a version of documents. Never that of a part, so that no content that a caller writes passes for a node.
    pub fn node(&self, node: &Node) -> Hash {
        let key = blake3::derive_key("antiphon workspace node 1", &self.key);
        let mut out = Canonical { hasher: blake3::Hasher::new_keyed(&key), open: Vec::new() };
        match node {
            Node::Leaf(documents) => {
                out.tag(1);
                documents.iter().for_each(|document| out.document(document));
            }
            Node::Inner { level, children } => {
                out.tag(2);
                out.hasher.update(&level.to_be_bytes());
                for child in children {
                    out.text(&child.last);
                    out.bytes(&child.hash.0);
                    out.hasher.update(&child.documents.to_be_bytes());
                    out.hasher.update(&child.bytes.to_be_bytes());
                }
            }
        }
        Hash(*out.hasher.finalize().as_bytes())
    }
}

struct Canonical {
    hasher: blake3::Hasher,
    open: Vec<CallId>,
}

impl Canonical {
    fn tag(&mut self, tag: u8) {
        self.hasher.update(&[tag]);
    }

    fn count(&mut self, count: usize) {
        self.hasher.update(&(count as u64).to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.hasher.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn document(&mut self, document: &Document) {
        self.text(&document.name);
        self.text(&document.media_type);
        self.hasher.update(&document.size_bytes.to_be_bytes());
        self.bytes(&document.blake3.0);
        self.text(&document.metadata_json);
        self.hasher.update(&document.updated_at.0.to_be_bytes());
        match &document.content {
            Content::Pieces(pieces) => {
                self.count(pieces.len());
                pieces.iter().for_each(|piece| self.bytes(&piece.0));
            }
            Content::List(list) => {
                self.tag(1);
                self.bytes(&list.0);
            }
        }
    }

    fn message(&mut self, message: &Message) {
        self.tag(match message.role {
            Role::System => 1,
            Role::User => 2,
            Role::Assistant => 3,
            Role::Tool => 4,
        });
        if message.role == Role::Assistant {
            self.open = message.tool_calls().map(|call| call.call_id.clone()).collect();
        }
        self.count(message.parts.len());
        message.parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match &part.kind {
            Kind::Text(text) => {
                self.tag(1);
                self.text(text);
            }
            Kind::Image(media, detail) => {
                self.tag(2);
                self.media(media);
                self.text(detail);
            }
            Kind::File(media, name) => {
                self.tag(3);
                self.media(media);
                self.text(name);
            }
            Kind::ToolCall(call) => {
                self.tag(4);
                self.text(&call.name);
                self.text(&call.arguments_json);
            }
            Kind::ToolResult(result) => {
                self.tag(5);
                let place = self.open.iter().position(|id| *id == result.call_id);
                self.count(place.map_or(0, |place| place + 1));
                self.tag(u8::from(result.is_error) | u8::from(result.interrupted) << 1);
                self.count(result.parts.len());
                result.parts.iter().for_each(|part| self.part(part));
            }
            Kind::Reasoning(reasoning) => {
                self.tag(6);
                self.text(&reasoning.text);
                self.tag(u8::from(reasoning.is_summary));
            }
            Kind::Refusal(text) => {
                self.tag(7);
                self.text(text);
            }
            Kind::Unknown(word, json) => {
                self.tag(8);
                self.text(word);
                self.text(json);
            }
        }
        match &part.cache_marker {
            None => self.tag(0),
            Some(marker) => {
                self.tag(1);
                self.text(&marker.ttl);
            }
        }
        match &part.provider_data {
            None => self.tag(0),
            Some(data) => {
                self.tag(1);
                self.text(&data.issuer.provider);
                self.text(&data.issuer.api);
                self.text(&data.issuer.model);
                self.text(&data.data_json);
            }
        }
    }

    fn media(&mut self, media: &Media) {
        match media {
            Media::Inline(media_type, bytes) => {
                self.tag(1);
                self.text(media_type);
                self.bytes(bytes);
            }
            Media::Link(url, media_type) => {
                self.tag(2);
                self.text(url);
                self.text(media_type);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::{ToolCall, ToolResult};

    fn hasher() -> Hasher {
        Hasher::new(&Namespace::new("a"))
    }

    fn answer() -> Message {
        Message::text(Role::Assistant, "yes")
    }

    #[test]
    fn the_same_words_in_another_order_or_split_are_other_content() {
        let one = [Message::text(Role::User, "ab"), Message::text(Role::User, "c")];
        let other = [Message::text(Role::User, "a"), Message::text(Role::User, "bc")];
        assert_ne!(hasher().exchange(None, &[], &one, &answer()), hasher().exchange(None, &[], &other, &answer()));
    }

    #[test]
    fn the_parent_and_the_namespace_count() {
        let asked = [Message::text(Role::User, "q")];
        let root = hasher().exchange(None, &[], &asked, &answer());
        assert_ne!(root, hasher().exchange(Some(&root), &[], &asked, &answer()));
        assert_ne!(root, Hasher::new(&Namespace::new("b")).exchange(None, &[], &asked, &answer()));
    }

    #[test]
    fn ids_of_calls_do_not_count_but_which_call_a_result_answers_does() {
        let calls = |ids: [&str; 2]| Message {
            role: Role::Assistant,
            parts: ids
                .iter()
                .map(|id| {
                    Part::new(Kind::ToolCall(ToolCall {
                        call_id: CallId::new(*id),
                        provider_call_id: String::new(),
                        name: "w".to_owned(),
                        arguments_json: "{}".to_owned(),
                        arguments_invalid: false,
                    }))
                })
                .collect(),
        };
        let results = |ids: [&str; 2]| Message {
            role: Role::Tool,
            parts: ids
                .iter()
                .map(|id| {
                    Part::new(Kind::ToolResult(ToolResult {
                        call_id: CallId::new(*id),
                        parts: vec![Part::text("r")],
                        is_error: false,
                        interrupted: false,
                    }))
                })
                .collect(),
        };
        let of = |messages: &[Message]| hasher().exchange(None, &[], messages, &answer());
        assert_eq!(of(&[calls(["a", "b"]), results(["a", "b"])]), of(&[calls(["x", "y"]), results(["x", "y"])]));
        assert_ne!(of(&[calls(["a", "b"]), results(["a", "b"])]), of(&[calls(["a", "b"]), results(["b", "a"])]));
    }
}
