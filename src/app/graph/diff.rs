//! Comparing two exchanges: what was said after their paths parted, side by side, and what they were told to do. It must not judge.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::app::base::whole;
use crate::app::{App, Caller, store_fault};
use crate::domain::fault::Fault;
use crate::domain::graph::{self, Segment};
use crate::domain::id::{CallId, ExchangeId, Namespace};
use crate::domain::message::{Kind as PartKind, Message};
use crate::domain::settings::EffectiveSetting;
use crate::domain::tool::Tool;
use crate::store::ledger::Pair;

/// How many exchanges of a side are read at a time.
const BATCH: usize = 16;

/// In what to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aspects {
    /// Messages.
    pub messages: bool,
    /// Settings.
    pub settings: bool,
    /// Tools.
    pub tools: bool,
    /// Documents.
    pub documents: bool,
    /// The caller named what to compare; else everything is compared that can be.
    pub by_name: bool,
    /// Messages that are the same are left out.
    pub omit_same: bool,
}

/// How two sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only the right one has it.
    Added,
    /// Only the left one has it.
    Removed,
    /// Both have it, and it is not the same.
    Changed,
    /// Both have it, and it is the same.
    Same,
}

/// Something as it is on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<T> {
    /// How they differ.
    pub kind: Kind,
    /// On the left.
    pub left: Option<T>,
    /// On the right.
    pub right: Option<T>,
}

/// A message and the exchange that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The message.
    pub message: Message,
    /// Its exchange.
    pub exchange: ExchangeId,
}

/// Where a page begins: the place after the common ancestor, and for each side the depth of an exchange and how many of its messages come
/// before; once all messages were told, the name of the last document that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffPosition {
    /// The place.
    pub index: u64,
    /// On the left.
    pub left: (u64, u32),
    /// On the right.
    pub right: (u64, u32),
    /// The last document that was told; empty before the first one.
    pub after_document: Option<String>,
}

/// A page of a comparison.
#[derive(Clone, Debug, Default)]
pub struct DiffPage {
    /// The last exchange on both paths.
    pub ancestor: Option<ExchangeId>,
    /// How many exchanges are on each path after it.
    pub counts: (u64, u64),
    /// Messages, with the place of each.
    pub messages: Vec<(u64, Difference<Compared>)>,
    /// Settings that differ; on the first page.
    pub settings: Vec<Difference<EffectiveSetting>>,
    /// Tools that differ; on the first page.
    pub tools: Vec<Difference<Tool>>,
    /// Documents that differ.
    pub documents: Vec<Pair>,
    /// Where the next page begins.
    pub next: Option<DiffPosition>,
}

/// One side's messages, read as they are needed.
struct Side<'a> {
    app: &'a App,
    namespace: &'a Namespace,
    path: &'a [Segment],
    last: u64,
    /// The depth to read next.
    depth: u64,
    /// Messages of that exchange that come before the position.
    skip: u32,
    /// Read, with the depth and the number of each in its exchange.
    ahead: VecDeque<(Compared, (u64, u32))>,
}

impl Side<'_> {
    async fn next(&mut self) -> Result<Option<Compared>, Fault> {
        while self.ahead.is_empty() && self.depth <= self.last {
            let page = self
                .app
                .ledger
                .exchanges(self.namespace, self.path, self.depth, BATCH, self.app.limits.max_page_bytes)
                .await
                .map_err(store_fault)?;
            if page.is_empty() {
                break;
            }
            for exchange in page {
                if exchange.depth > self.last {
                    break;
                }
                let (id, depth) = (exchange.id, exchange.depth);
                let skip = std::mem::take(&mut self.skip);
                let messages = exchange.messages.iter().chain([&exchange.assistant]).zip(0..);
                let after = messages.filter(|(_, number)| *number >= skip);
                let compared = after
                    .map(|(message, number)| (Compared { message: message.clone(), exchange: id }, (depth, number)));
                self.ahead.extend(compared);
                self.depth = depth.saturating_add(1);
            }
        }
        Ok(self.ahead.pop_front().map(|(compared, _)| compared))
    }

    fn at(&self) -> (u64, u32) {
        self.ahead.front().map_or((self.depth, self.skip), |(_, at)| *at)
    }
}

impl App {
    /// Compares two exchanges, a page at a time.
    ///
    /// # Errors
    /// When one of them is not there.
    pub async fn diff(
        &self,
        caller: &Caller,
        (left, right): (ExchangeId, ExchangeId),
        aspects: Aspects,
        from: Option<DiffPosition>,
        limit: usize,
    ) -> Result<DiffPage, Fault> {
        let namespace = &caller.namespace;
        let (left, left_place) = self.stored_exchange(namespace, left).await?;
        let (right, right_place) = self.stored_exchange(namespace, right).await?;
        let left_path = self.path_down_to(namespace, left_place).await?;
        let right_path = self.path_down_to(namespace, right_place).await?;
        let common = graph::common(&left_path, &right_path);
        let depth = common.map_or(0, |place| place.depth);
        let ancestor = match common {
            Some(place) => Some(self.exchange_at(namespace, place).await?.id),
            None => None,
        };
        let mut page = DiffPage {
            ancestor,
            counts: (left.depth.saturating_sub(depth), right.depth.saturating_sub(depth)),
            ..DiffPage::default()
        };
        if from.is_none() && aspects.settings {
            page.settings = differences(
                &left.settings,
                &right.settings,
                |setting| &setting.name,
                |one, other| one.value_json == other.value_json,
            );
        }
        if from.is_none() && aspects.tools && left.offered != right.offered {
            let left = self.ledger.tool_set(namespace, left.offered).await.map_err(store_fault)?;
            let right = self.ledger.tool_set(namespace, right.offered).await.map_err(store_fault)?;
            page.tools = differences(&left.tools, &right.tools, |tool| &tool.name, |one, other| one == other);
        }
        let first = depth.saturating_add(1);
        let start = DiffPosition { index: 0, left: (first, 0), right: (first, 0), after_document: None };
        let at = from.unwrap_or(start);
        let is_erased = left.erased.is_some() || right.erased.is_some();
        if is_erased && aspects.documents && aspects.by_name {
            whole(left)?;
            whole(right)?;
            return Ok(page);
        }
        let roots = (left.workspace.after, right.workspace.after);
        if aspects.messages && at.after_document.is_none() {
            let side = |path, last, (depth, skip)| Side {
                app: self,
                namespace,
                path,
                last,
                depth,
                skip,
                ahead: VecDeque::new(),
            };
            let left = side(&left_path, left.depth, at.left);
            let right = side(&right_path, right.depth, at.right);
            self.compare(&mut page, left, right, at.index, (aspects.omit_same, limit)).await?;
        }
        let room = limit.saturating_sub(page.messages.len());
        if aspects.documents && !is_erased && page.next.is_none() && roots.0 != roots.1 {
            let after = at.after_document.as_deref().filter(|name| !name.is_empty());
            let told = self.differing(namespace, roots, "", after, false, room).await?;
            page.documents = told.pairs.into_iter().map(|(pair, _)| pair).collect();
            page.next = told.next.map(|name| DiffPosition { after_document: Some(name), ..at });
        }
        Ok(page)
    }

    async fn compare(
        &self,
        page: &mut DiffPage,
        mut left: Side<'_>,
        mut right: Side<'_>,
        mut index: u64,
        (omit_same, limit): (bool, usize),
    ) -> Result<(), Fault> {
        let mut bytes = 0_usize;
        loop {
            let at = DiffPosition { index, left: left.at(), right: right.at(), after_document: None };
            let (one, other) = (left.next().await?, right.next().await?);
            if one.is_none() && other.is_none() {
                return Ok(());
            }
            if page.messages.len() == limit || bytes >= self.limits.max_page_bytes {
                page.next = Some(at);
                return Ok(());
            }
            let mut found = difference(one, other, |one, other| is_same(&one.message, &other.message));
            for side in [&found.left, &found.right].into_iter().flatten() {
                bytes = bytes.saturating_add(side.message.content_bytes());
            }
            if found.kind == Kind::Same {
                // Which exchange it is of is said for both sides; what it says, once.
                if let Some(right) = &mut found.right {
                    right.message.parts.clear();
                }
            }
            if !(omit_same && found.kind == Kind::Same) {
                page.messages.push((index, found));
            }
            index = index.saturating_add(1);
        }
    }
}

fn difference<T>(left: Option<T>, right: Option<T>, is_same: impl Fn(&T, &T) -> bool) -> Difference<T> {
    let kind = match (&left, &right) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Removed,
        (Some(one), Some(other)) if is_same(one, other) => Kind::Same,
        _ => Kind::Changed,
    };
    Difference { kind, left, right }
}

/// What differs of two lists of things with names, by name.
fn differences<T: Clone>(
    left: &[T],
    right: &[T],
    name: impl Fn(&T) -> &str,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<Difference<T>> {
    let by_name =
        |list: &[T]| -> BTreeMap<String, T> { list.iter().map(|one| (name(one).to_owned(), one.clone())).collect() };
    let (mut left, mut right) = (by_name(left), by_name(right));
    let names: BTreeSet<String> = left.keys().chain(right.keys()).cloned().collect();
    let all = names.iter().map(|name| difference(left.remove(name), right.remove(name), &is_same));
    all.filter(|one| one.kind != Kind::Same).collect()
}

/// Whether two messages say the same. The ids of calls are ours, another one for each call, and say nothing.
fn is_same(one: &Message, other: &Message) -> bool {
    without_ids(one) == without_ids(other)
}

fn without_ids(message: &Message) -> Message {
    let mut message = message.clone();
    for part in &mut message.parts {
        match &mut part.kind {
            PartKind::ToolCall(call) => {
                call.call_id = CallId::new("");
                call.provider_call_id = String::new();
            }
            PartKind::ToolResult(result) => result.call_id = CallId::new(""),
            _ => {}
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::{Part, Role, ToolCall};

    #[test]
    fn names_on_one_side_are_added_or_removed_and_equal_ones_are_left_out() {
        let found = differences(&["a1", "b1", "c1"], &["b1", "c2", "d1"], |text| &text[..1], |one, other| one == other);
        let kinds: Vec<(Kind, Option<&str>, Option<&str>)> =
            found.into_iter().map(|one| (one.kind, one.left, one.right)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Removed, Some("a1"), None),
                (Kind::Changed, Some("c1"), Some("c2")),
                (Kind::Added, None, Some("d1"))
            ]
        );
    }

    #[test]
    fn the_ids_of_calls_make_no_difference_and_their_arguments_do() {
        let call = |id: &str, arguments: &str| {
            let call = ToolCall {
                call_id: CallId::new(id),
                provider_call_id: id.to_owned(),
                name: "look".to_owned(),
                arguments_json: arguments.to_owned(),
                arguments_invalid: false,
            };
            Message { role: Role::Assistant, parts: vec![Part::new(PartKind::ToolCall(call))] }
        };
        assert!(is_same(&call("1", "{}"), &call("2", "{}")));
        assert!(!is_same(&call("1", "{}"), &call("1", "{\"a\":1}")));
    }
}
