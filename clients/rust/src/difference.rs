//! In what two exchanges with their histories differ. Knows nothing of how they came about.

use serde_json::Value;

use crate::calls::{call, method};
use crate::client::Client;
use crate::document::DocumentChange;
use crate::error::Result;
use crate::message::Message;
use crate::pb;
use crate::point::ExchangeRef;
use crate::retry::Limit;
use crate::tool::OfferedTool;
use crate::word::ChangeKind;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change<Item> {
    /// Of a setting or a tool its name; of a message its place after the common ancestor, counted from 0.
    pub name: String,
    /// How, from left to right.
    pub kind: ChangeKind,
    /// On the left; nothing where it is on the right alone.
    pub left: Option<Item>,
    /// On the right; nothing where it is on the left alone.
    pub right: Option<Item>,
}

impl<Item> Change<Item> {
    pub(crate) fn read<Raw>(
        name: String,
        kind: i32,
        sides: (Option<Raw>, Option<Raw>),
        read: impl Fn(Raw) -> Item,
    ) -> Self {
        let (left, right) = sides;
        Self { name, kind: ChangeKind::from_raw(kind), left: left.map(&read), right: right.map(&read) }
    }
}

/// In what two exchanges and their histories differ; what is the same stays out.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Difference {
    /// The last exchange on both paths; empty where there is none.
    pub common_ancestor_exchange_id: String,
    /// How many exchanges only the left path has.
    pub left_count: u64,
    /// How many exchanges only the right path has.
    pub right_count: u64,
    /// The messages after it that differ, side by side in order.
    pub messages: Vec<Change<Message>>,
    /// The settings that differ, by name.
    pub settings: Vec<Change<Value>>,
    /// The tools that differ, by name.
    pub tools: Vec<Change<OfferedTool>>,
    /// The documents of the workspaces as of the two that differ, by name.
    pub documents: Vec<DocumentChange>,
    raw: Vec<pb::DiffResponse>,
}

impl Difference {
    /// The messages behind it, one for each page that was read.
    pub fn raw(&self) -> &[pb::DiffResponse] {
        &self.raw
    }

    fn add(&mut self, page: pb::DiffResponse) {
        let kept = page.clone();
        self.common_ancestor_exchange_id = page.common_ancestor_exchange_id;
        (self.left_count, self.right_count) = (page.left_count, page.right_count);
        self.messages.extend(
            page.messages.into_iter().map(|diff| {
                Change::read(diff.index.to_string(), diff.kind, (diff.left, diff.right), Message::from_raw)
            }),
        );
        // What is no JSON would be the server's mistake, and no value.
        let value = |raw: pb::EffectiveSetting| serde_json::from_str(&raw.value_json).unwrap_or_default();
        let settings = page.settings.into_iter();
        self.settings.extend(settings.map(|diff| Change::read(diff.name, diff.kind, (diff.left, diff.right), value)));
        let tool = |raw: pb::Tool| OfferedTool::from_raw(&raw);
        let tools = page.tools.into_iter();
        self.tools.extend(tools.map(|diff| Change::read(diff.name, diff.kind, (diff.left, diff.right), tool)));
        self.documents.extend(page.documents.into_iter().map(DocumentChange::from_raw));
        self.raw.push(kept);
    }
}

impl Client {
    /// In what two exchanges with their histories differ; what is the same stays out.
    ///
    /// # Errors
    /// One is not on record, or the server cannot be asked.
    pub async fn diff(&self, left: impl Into<ExchangeRef>, right: impl Into<ExchangeRef>) -> Result<Difference> {
        let mut asked = pb::DiffRequest {
            left: Some(left.into().to_raw()?),
            right: Some(right.into().to_raw()?),
            omit_same_messages: true,
            ..pb::DiffRequest::default()
        };
        let mut found = Difference::default();
        loop {
            let page = call(Limit::default(), asked.clone(), method!(self, graph_service.diff)).await?;
            asked.page_token.clone_from(&page.next_page_token);
            found.add(page);
            if asked.page_token.is_empty() {
                return Ok(found);
            }
        }
    }
}
