//! Questions about the graph: how two exchanges differ, and what a set of runs consumed. Knows nothing of how they came about.

use std::collections::BTreeMap;

use crate::calls::{call, method};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::message::Message;
use crate::pb;
use crate::point::{Source, on_record};
use crate::retry::Limit;
use crate::usage::Usage;
use crate::word::ChangeKind;

/// How two exchanges differ.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diff {
    /// The last exchange on both paths; empty when there is none.
    pub common_ancestor_exchange_id: String,
    /// How many exchanges are on the left path after it.
    pub left_count: u64,
    /// How many exchanges are on the right path after it.
    pub right_count: u64,
    /// The messages after it, side by side in order.
    pub messages: Vec<MessageDiff>,
    /// The settings that differ, by name.
    pub settings: Vec<Change>,
    /// The tools that differ, by name.
    pub tools: Vec<Change>,
}

/// Two messages at one place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageDiff {
    /// Counted from 0 at the first message after the common ancestor.
    pub index: u64,
    /// How they differ.
    pub kind: ChangeKind,
    /// On the left.
    pub left: Option<Message>,
    /// On the right, where it is not the same.
    pub right: Option<Message>,
}

/// A setting, as JSON, or a tool, by its schema, on both sides.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// What it is called.
    pub name: String,
    /// How it differs.
    pub kind: ChangeKind,
    /// On the left.
    pub left: Option<String>,
    /// On the right.
    pub right: Option<String>,
}

/// Runs whose usage is summed: all that any part names, each counted once.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct UsageOf(Vec<pb::UsageScope>);

impl UsageOf {
    /// These runs.
    pub fn runs<I: Into<String>>(ids: impl IntoIterator<Item = I>) -> Self {
        let run_ids = ids.into_iter().map(Into::into).collect();
        Self::default().with(pb::usage_scope::Runs::RunSet(pb::RunSet { run_ids }))
    }

    /// The runs of these exchanges, whole.
    pub fn exchanges<I: Into<String>>(ids: impl IntoIterator<Item = I>) -> Self {
        let exchange_ids = ids.into_iter().map(Into::into).collect();
        Self::default().with(pb::usage_scope::Runs::ExchangeSet(pb::ExchangeSet { exchange_ids }))
    }

    /// The runs that have all these labels.
    pub fn labels(labels: BTreeMap<String, String>) -> Self {
        Self::default().with(pb::usage_scope::Runs::LabelSet(pb::LabelSet { labels }))
    }

    /// These and those.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn with(mut self, runs: pb::usage_scope::Runs) -> Self {
        self.0.push(pb::UsageScope { runs: Some(runs) });
        self
    }
}

/// What a set of runs consumed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UsageSum {
    /// Over all attempts, those of runs that failed included.
    pub usage: Usage,
    /// How many runs were counted.
    pub runs: u64,
    raw: pb::SumUsageResponse,
}

impl UsageSum {
    /// The message behind it, which has the sum by backend and model, too.
    pub fn raw(&self) -> &pb::SumUsageResponse {
        &self.raw
    }
}

impl Client {
    /// How two exchanges differ: in messages after their common ancestor, in settings and in tools.
    ///
    /// # Errors
    /// One is not on record, or the server cannot be asked.
    pub async fn diff(&self, left: impl Into<Source>, right: impl Into<Source>) -> Result<Diff> {
        let mut asked = pb::DiffRequest {
            left: Some(exchange_of(left.into())?),
            right: Some(exchange_of(right.into())?),
            aspects: vec![
                pb::DiffAspect::Messages as i32,
                pb::DiffAspect::Settings as i32,
                pb::DiffAspect::Tools as i32,
            ],
            ..pb::DiffRequest::default()
        };
        let mut found = Diff::default();
        loop {
            let page = call(Limit::default(), asked.clone(), method!(self, graph.diff)).await?;
            found.common_ancestor_exchange_id = page.common_ancestor_exchange_id;
            found.left_count = page.left_count;
            found.right_count = page.right_count;
            found.messages.extend(page.messages.into_iter().map(|diff| MessageDiff {
                index: diff.index,
                kind: ChangeKind::from_raw(diff.kind),
                left: diff.left.map(Message::from_raw),
                right: diff.right.map(Message::from_raw),
            }));
            found.settings.extend(page.settings.into_iter().map(|diff| Change {
                name: diff.name,
                kind: ChangeKind::from_raw(diff.kind),
                left: diff.left.map(|setting| setting.value_json),
                right: diff.right.map(|setting| setting.value_json),
            }));
            found.tools.extend(page.tools.into_iter().map(|diff| Change {
                name: diff.name,
                kind: ChangeKind::from_raw(diff.kind),
                left: diff.left.map(|tool| tool.input_schema_json),
                right: diff.right.map(|tool| tool.input_schema_json),
            }));
            if page.next_page_token.is_empty() {
                return Ok(found);
            }
            asked.page_token = page.next_page_token;
        }
    }

    /// What a set of runs consumed, each counted once.
    ///
    /// # Errors
    /// A run is not on record, or the server cannot be asked.
    pub async fn usage(&self, of: UsageOf) -> Result<UsageSum> {
        let asked = pb::SumUsageRequest { scopes: of.0 };
        let raw = call(Limit::default(), asked, method!(self, graph.sum_usage)).await?;
        Ok(UsageSum { usage: Usage::from_raw(raw.usage.as_ref()), runs: raw.run_count, raw })
    }
}

fn exchange_of(at: Source) -> Result<pb::ExchangePoint> {
    match at {
        Source::Exchange(exchange) => on_record(&exchange),
        Source::Id(id) => Ok(id.to_raw()),
        Source::Turn(_) => Err(Error::invalid("a diff is of two exchanges, or their ids")),
    }
}
