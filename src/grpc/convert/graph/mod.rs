//! The requests of GraphService. It must not know what is stored.

mod told;

use super::inspect::page_size_from_pb;
use super::problem::{self, absent_if_empty, whole};
use super::{Path, Problems, id, label, limit, message, moment, run, scope, thread};
use crate::app::graph::{Aspects, Detail, Scope, UsageScope, Wanted};
use crate::domain::exchange::Origin;
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, RunId};
use crate::grpc::page::{Of, Sizes};
use crate::grpc::pb;

pub use self::told::{ancestor_to_pb, diff_to_pb, hit_to_pb, node_to_pb, shown_to_pb, sum_to_pb, thread_to_pb};

/// Sizes of the pages of a graph.
const GRAPH: Sizes = Sizes { default: 1_000, of: Of::Graph };
/// Sizes of the pages of a comparison.
const DIFF: Sizes = Sizes { default: 100, of: Of::List };
/// Fewest and most exchanges that have an ancestor in common.
const RELATED: std::ops::RangeInclusive<usize> = 2..=64;
/// Most names in a condition of a search.
const MAX_NAMES: usize = 64;
/// Longest text that is searched for, in characters.
const MAX_TEXT: usize = 255;
/// Most scopes of a sum.
const MAX_SCOPES: usize = 64;
/// Most ids in one of them.
const MAX_IDS: usize = 10_000;

/// One exchange's neighbours, a page of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// The exchange.
    pub exchange: ExchangeId,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// One exchange.
    pub left: ExchangeId,
    /// The other.
    pub right: ExchangeId,
    /// In what.
    pub aspects: Aspects,
    /// At most so many messages in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// The form of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nodes and threads.
    Data,
    /// Lines for a terminal.
    Text,
    /// For Graphviz.
    Dot,
    /// Mermaid.
    Mermaid,
}

/// A graph to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Which part.
    pub scope: Scope,
    /// In which form.
    pub form: Form,
    /// How much of it.
    pub detail: Detail,
    /// With the beginnings of messages.
    pub previews: bool,
    /// At most so many nodes in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// A search.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// What to find.
    pub wanted: Wanted,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// A page of what follows an exchange, or of what comes before it.
///
/// # Errors
/// What is wrong with the request.
pub fn neighbours_from_pb(exchange_id: &str, page_size: i32, page_token: String) -> Result<Neighbours, Fault> {
    whole(|at, problems| {
        let exchange = id::required(exchange_id, &at.field("exchange_id"), problems);
        let page_size = page_size_from_pb(page_size, Sizes::LIST, at, problems);
        Some(Neighbours { exchange: exchange?, page_size: page_size?, page_token })
    })
}

/// The exchanges whose common ancestor is wanted.
///
/// # Errors
/// What is wrong with the request.
pub fn related_from_pb(request: pb::GetCommonAncestorRequest) -> Result<Vec<ExchangeId>, Fault> {
    whole(|at, problems| {
        let at = at.field("exchanges");
        let count = request.exchanges.len();
        if !RELATED.contains(&count) {
            problems.add(&at, format!("has {count} exchanges: give {} to {}", RELATED.start(), RELATED.end()));
            return None;
        }
        message::all(request.exchanges, &at, problems, |point, at, problems| {
            thread::exchange_point_from_pb(&point, at, problems)
        })
    })
}

/// A comparison.
///
/// # Errors
/// What is wrong with the request.
pub fn diff_from_pb(request: pb::DiffRequest) -> Result<Compare, Fault> {
    whole(|at, problems| {
        let side = |point: Option<pb::ExchangePoint>, name: &str, problems: &mut Problems| {
            let at = at.field(name);
            let point = problem::required(point, "an exchange", &at, problems)?;
            thread::exchange_point_from_pb(&point, &at, problems)
        };
        let left = side(request.left, "left", problems);
        let right = side(request.right, "right", problems);
        let aspects = aspects_from_pb(request.aspects, request.omit_same_messages, &at.field("aspects"), problems);
        let page_size = page_size_from_pb(request.page_size, DIFF, at, problems);
        Some(Compare {
            left: left?,
            right: right?,
            aspects: aspects?,
            page_size: page_size?,
            page_token: request.page_token,
        })
    })
}

fn aspects_from_pb(numbers: Vec<i32>, omit_same: bool, at: &Path<'_>, problems: &mut Problems) -> Option<Aspects> {
    let words = "DIFF_ASPECT_MESSAGES, DIFF_ASPECT_SETTINGS, DIFF_ASPECT_TOOLS or DIFF_ASPECT_DOCUMENTS";
    let given = message::all(numbers, at, problems, |number, at, problems| {
        problem::chosen::<pb::DiffAspect>(number, words, at, problems)
    })?;
    let has = |aspect| given.is_empty() || given.contains(&aspect);
    Some(Aspects {
        messages: has(pb::DiffAspect::Messages),
        settings: has(pb::DiffAspect::Settings),
        tools: has(pb::DiffAspect::Tools),
        documents: has(pb::DiffAspect::Documents),
        by_name: !given.is_empty(),
        omit_same,
    })
}

/// A graph to show.
///
/// # Errors
/// What is wrong with the request.
pub fn graph_from_pb(request: pb::GetGraphRequest) -> Result<Draw, Fault> {
    whole(|at, problems| {
        let scope = problem::required(request.scope, "a part of the graph", &at.field("scope"), problems)
            .and_then(|scope| scope::from_pb(scope, &at.field("scope"), problems));
        let form = form_from_pb(request.format, &at.field("format"), problems);
        let detail = detail_from_pb(request.detail, &at.field("detail"), problems);
        let page_size = page_size_from_pb(request.page_size, GRAPH, at, problems);
        Some(Draw {
            scope: scope?,
            form: form?,
            detail: detail?,
            previews: request.include_previews,
            page_size: page_size?,
            page_token: request.page_token,
        })
    })
}

fn form_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Form> {
    match pb::GraphFormat::try_from(number) {
        Ok(pb::GraphFormat::Unspecified | pb::GraphFormat::Data) => Some(Form::Data),
        Ok(pb::GraphFormat::Text) => Some(Form::Text),
        Ok(pb::GraphFormat::Dot) => Some(Form::Dot),
        Ok(pb::GraphFormat::Mermaid) => Some(Form::Mermaid),
        Err(_) => {
            let words = "GRAPH_FORMAT_DATA, GRAPH_FORMAT_TEXT, GRAPH_FORMAT_DOT, GRAPH_FORMAT_MERMAID or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

fn detail_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Detail> {
    match pb::GraphDetail::try_from(number) {
        Ok(pb::GraphDetail::Unspecified | pb::GraphDetail::Turns) => Some(Detail::Turns),
        Ok(pb::GraphDetail::Exchanges) => Some(Detail::Exchanges),
        Ok(pb::GraphDetail::Forks) => Some(Detail::Forks),
        Err(_) => {
            let words = "GRAPH_DETAIL_EXCHANGES, GRAPH_DETAIL_TURNS, GRAPH_DETAIL_FORKS or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

/// A search.
///
/// # Errors
/// What is wrong with the request.
pub fn search_from_pb(request: pb::SearchRequest) -> Result<Search, Fault> {
    whole(|at, problems| {
        let scope = scope::optional_from_pb(request.scope, &at.field("scope"), problems);
        let labels = label::from_pb(request.labels, &at.field("labels"), problems);
        let models = names_from_pb(request.models, &at.field("models"), problems);
        let backends = names_from_pb(request.backend_ids, &at.field("backend_ids"), problems);
        let offered = names_from_pb(request.offered_tools, &at.field("offered_tools"), problems);
        let called = names_from_pb(request.called_tools, &at.field("called_tools"), problems);
        let states = message::all(request.run_states, &at.field("run_states"), problems, run::state_from_pb);
        let origin = origin_from_pb(request.origin, &at.field("origin"), problems);
        let from = moment::optional_from_pb(request.from_time, &at.field("from_time"), problems);
        let before = moment::optional_from_pb(request.before_time, &at.field("before_time"), problems);
        let text = text_from_pb(request.text, &at.field("text"), problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        let wanted = Wanted {
            scope: scope?,
            labels: labels?,
            models: models?,
            backends: backends?,
            offered: offered?,
            called: called?,
            states: states?,
            origin: origin?,
            roots_only: request.roots_only,
            from: from?,
            before: before?,
            text: text?,
        };
        Some(Search { wanted, page_size: page_size?, page_token: request.page_token })
    })
}

fn names_from_pb(names: Vec<String>, at: &Path<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    if !limit::count(names.len(), MAX_NAMES, "names", "search several times", at, problems) {
        return None;
    }
    message::all(names, at, problems, problem::filled)
}

fn text_from_pb(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<Option<String>> {
    if !limit::characters(&text, MAX_TEXT, at, problems) {
        return None;
    }
    Some(absent_if_empty(text).map(|text| text.chars().flat_map(char::to_lowercase).collect()))
}

fn origin_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Option<Origin>> {
    match pb::ExchangeOrigin::try_from(number) {
        Ok(pb::ExchangeOrigin::Unspecified) => Some(None),
        Ok(pb::ExchangeOrigin::Executed) => Some(Some(Origin::Executed)),
        Ok(pb::ExchangeOrigin::Recorded) => Some(Some(Origin::Recorded)),
        Ok(pb::ExchangeOrigin::Imported) => Some(Some(Origin::Imported)),
        Err(_) => {
            let words = "EXCHANGE_ORIGIN_EXECUTED, EXCHANGE_ORIGIN_RECORDED, EXCHANGE_ORIGIN_IMPORTED or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

/// Whose usage to sum.
///
/// # Errors
/// What is wrong with the request.
pub fn scopes_from_pb(request: pb::SumUsageRequest) -> Result<Vec<UsageScope>, Fault> {
    whole(|at, problems| {
        let at = at.field("scopes");
        let count = request.scopes.len();
        if count == 0 || count > MAX_SCOPES {
            problems.add(&at, format!("has {count} scopes: give 1 to {MAX_SCOPES}"));
            return None;
        }
        message::all(request.scopes, &at, problems, usage_scope_from_pb)
    })
}

fn usage_scope_from_pb(scope: pb::UsageScope, at: &Path<'_>, problems: &mut Problems) -> Option<UsageScope> {
    use pb::usage_scope::Runs;
    match problem::required(scope.runs, "`run_set`, `exchange_set`, `graph` or `label_set`", at, problems)? {
        Runs::RunSet(set) => {
            let at = at.field("run_set");
            let ids: Vec<RunId> = ids_from_pb(set.run_ids, &at.field("run_ids"), problems)?;
            Some(UsageScope::Runs(ids))
        }
        Runs::ExchangeSet(set) => {
            let at = at.field("exchange_set");
            ids_from_pb(set.exchange_ids, &at.field("exchange_ids"), problems).map(UsageScope::Exchanges)
        }
        Runs::Graph(part) => scope::from_pb(part, &at.field("graph"), problems).map(UsageScope::Graph),
        Runs::LabelSet(set) => {
            let at = at.field("label_set");
            let at = at.field("labels");
            if set.labels.is_empty() {
                problems.add(&at, "is empty: give at least one label");
                return None;
            }
            label::from_pb(set.labels, &at, problems).map(UsageScope::Labels)
        }
    }
}

fn ids_from_pb<T: std::str::FromStr<Err = crate::domain::id::Error>>(
    ids: Vec<String>,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Vec<T>> {
    if ids.is_empty() || ids.len() > MAX_IDS {
        problems.add(at, format!("has {} ids: give 1 to {MAX_IDS}", ids.len()));
        return None;
    }
    message::all(ids, at, problems, |text, at, problems| id::required(&text, at, problems))
}
