//! The requests that make, change, remove and list threads. It must not know the threads that are there.

use std::collections::BTreeMap;

use super::inspect::page_size_from_pb;
use super::problem::{absent_if_empty, whole};
use super::{Path, Problems, id, label, moment, problem, thread};
use crate::app::restore::Moved;
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, RequestId, ThreadId};
use crate::domain::thread::{Expected, NewThread};
use crate::domain::tool::ToolSet;
use crate::grpc::page::Sizes;
use crate::grpc::pb;

/// A thread to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// What it is.
    pub thread: NewThread,
    /// Where its head is; empty when absent.
    pub head: Option<ExchangeId>,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
}

/// A change of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The thread.
    pub thread_id: ThreadId,
    /// What changes.
    pub changes: Changes,
    /// The etag that the caller saw.
    pub etag: Option<String>,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
}

/// What changes of a thread; absent fields stay. Within, absent means that the thread has none from now on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The name.
    pub name: Option<String>,
    /// All labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// The metadata.
    pub metadata_json: Option<String>,
    /// The default profile.
    pub profile_id: Option<Option<String>>,
    /// The default model.
    pub model: Option<Option<String>>,
    /// The tools that stand.
    pub standing_tools: Option<Option<ToolSet>>,
}

/// A thread to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The thread.
    pub thread_id: ThreadId,
    /// The etag that the caller saw.
    pub etag: Option<String>,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
}

/// Which threads, or which turns of one, to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<F> {
    /// Which ones.
    pub filter: F,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// A thread to make.
///
/// # Errors
/// What is wrong with the request.
pub fn create_from_pb(request: pb::ThreadServiceCreateRequest) -> Result<Create, Fault> {
    whole(|at, problems| {
        let thread = thread::new_from_pb(request.thread.unwrap_or_default(), &at.field("thread"), problems);
        let head = match request.head {
            None => Some(None),
            Some(point) => thread::exchange_point_from_pb(&point, &at.field("head"), problems).map(Some),
        };
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        Some(Create { thread: thread?, head: head?, request_id: request_id? })
    })
}

/// A change of a thread.
///
/// # Errors
/// What is wrong with the request.
pub fn update_from_pb(request: pb::ThreadServiceUpdateRequest) -> Result<Update, Fault> {
    whole(|at, problems| {
        let thread_id = id::required(&request.thread_id, &at.field("thread_id"), problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        let fields = at.field("update_mask");
        let mask = problem::required(request.update_mask, MASK, &fields, problems).filter(|mask| {
            if mask.paths.is_empty() {
                problems.add(&fields, format!("names no field: use {MASK}"));
            }
            !mask.paths.is_empty()
        });
        let values = problem::required(request.thread, "the new values", &at.field("thread"), problems);
        let (mask, values) = (mask?, values?);
        if !values.thread_id.is_empty() && values.thread_id != request.thread_id {
            problems.add(&at.field("thread").field("thread_id"), "is not `thread_id`, and ids do not change");
        }
        let changes = changes_from_pb(&mask.paths, values, at, problems);
        Some(Update {
            thread_id: thread_id?,
            changes: changes?,
            etag: absent_if_empty(request.etag),
            request_id: request_id?,
        })
    })
}

const MASK: &str = "`name`, `labels`, `metadata_json`, `defaults`, `defaults.profile_id`, `defaults.model` or \
                    `defaults.standing_tools`";

fn changes_from_pb(paths: &[String], values: pb::NewThread, at: &Path<'_>, problems: &mut Problems) -> Option<Changes> {
    let (mask, thread) = (at.field("update_mask"), at.field("thread"));
    let mut good = true;
    // What the mask does not name is not looked at, as it changes nothing.
    let names = |path: &str| paths.iter().any(|named| named == path);
    let mut changes = Changes::default();
    for (index, path) in paths.iter().enumerate() {
        let known = ["name", "labels", "metadata_json", "defaults"].contains(&path.as_str())
            || ["defaults.profile_id", "defaults.model", "defaults.standing_tools"].contains(&path.as_str());
        if !known {
            problems.add(&mask.index(index), format!("is no field that changes: use {MASK}"));
            good = false;
        }
    }
    if names("name") {
        changes.name = thread::name_from_pb(values.name, &thread.field("name"), problems);
        good &= changes.name.is_some();
    }
    if names("labels") {
        changes.labels = label::from_pb(values.labels, &thread.field("labels"), problems);
        good &= changes.labels.is_some();
    }
    if names("metadata_json") {
        let at = thread.field("metadata_json");
        changes.metadata_json = thread::metadata_from_pb(values.metadata_json, &at, problems);
        good &= changes.metadata_json.is_some();
    }
    let all = names("defaults");
    if all || paths.iter().any(|path| path.starts_with("defaults.")) {
        let mut given = values.defaults.unwrap_or_default();
        let tools = all || names("defaults.standing_tools");
        if !tools {
            given.standing_tools = None;
        }
        let defaults = thread::defaults_from_pb(given, &thread.field("defaults"), problems)?;
        changes.profile_id = (all || names("defaults.profile_id")).then_some(defaults.profile_id);
        changes.model = (all || names("defaults.model")).then_some(defaults.model);
        changes.standing_tools = tools.then_some(defaults.standing_tools);
    }
    good.then_some(changes)
}

/// A thread to remove.
///
/// # Errors
/// What is wrong with the request.
pub fn delete_from_pb(request: pb::ThreadServiceDeleteRequest) -> Result<Delete, Fault> {
    whole(|at, problems| {
        let thread_id = id::required(&request.thread_id, &at.field("thread_id"), problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        Some(Delete { thread_id: thread_id?, etag: absent_if_empty(request.etag), request_id: request_id? })
    })
}

/// Which threads to list: those that have all of some labels.
///
/// # Errors
/// What is wrong with the request.
pub fn list_from_pb(request: pb::ThreadServiceListRequest) -> Result<List<BTreeMap<String, String>>, Fault> {
    whole(|at, problems| {
        let filter = label::from_pb(request.labels, &at.field("labels"), problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        Some(List { filter: filter?, page_size: page_size?, page_token: request.page_token })
    })
}

/// Which turns to list: those of a thread.
///
/// # Errors
/// What is wrong with the request.
pub fn turns_from_pb(request: pb::ListTurnsRequest) -> Result<List<ThreadId>, Fault> {
    whole(|at, problems| {
        let filter = id::required(&request.thread_id, &at.field("thread_id"), problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        Some(List { filter: filter?, page_size: page_size?, page_token: request.page_token })
    })
}

/// Which moves to list: those of a thread.
///
/// # Errors
/// What is wrong with the request.
pub fn moves_from_pb(request: pb::ListMovesRequest) -> Result<List<ThreadId>, Fault> {
    let pb::ListMovesRequest { thread_id, page_size, page_token } = request;
    turns_from_pb(pb::ListTurnsRequest { thread_id, page_size, page_token })
}

/// A restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The thread.
    pub thread_id: ThreadId,
    /// Where its head is moved.
    pub to: ExchangeId,
    /// The head that the caller saw.
    pub expected: Expected,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
}

/// A restore.
///
/// # Errors
/// What is wrong with the request.
pub fn restore_from_pb(request: pb::RestoreRequest) -> Result<Restore, Fault> {
    whole(|at, problems| {
        let thread_id = id::required(&request.thread_id, &at.field("thread_id"), problems);
        let to = problem::required(request.to, "an exchange", &at.field("to"), problems)
            .and_then(|point| thread::exchange_point_from_pb(&point, &at.field("to"), problems));
        let expected = thread::expected_from_pb(request.expected_head, &at.field("expected_head"), problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        Some(Restore { thread_id: thread_id?, to: to?, expected: expected?, request_id: request_id? })
    })
}

/// A move in an answer.
pub fn move_to_pb(moved: Moved) -> pb::ThreadMove {
    pb::ThreadMove {
        from_exchange_id: id::text(moved.from),
        to_exchange_id: moved.to.to_string(),
        run_id: id::text(moved.run_id),
        time: Some(moment::to_pb(moved.at)),
        from_workspace_root: id::text(moved.workspace.before),
        to_workspace_root: id::text(moved.workspace.after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(paths: &[&str], thread: pb::NewThread) -> Result<Update, Fault> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        update_from_pb(pb::ThreadServiceUpdateRequest {
            thread_id: "t".to_owned(),
            update_mask: Some(prost_types::FieldMask { paths }),
            thread: Some(thread),
            ..pb::ThreadServiceUpdateRequest::default()
        })
    }

    fn paths(fault: Fault) -> Vec<String> {
        fault.fields.into_iter().map(|field| field.path).collect()
    }

    fn values() -> pb::NewThread {
        pb::NewThread {
            name: "new".to_owned(),
            labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
            defaults: Some(pb::ThreadDefaults { model: "m".to_owned(), ..pb::ThreadDefaults::default() }),
            ..pb::NewThread::default()
        }
    }

    #[test]
    fn only_what_the_mask_names_changes() {
        let changes = update(&["name"], values()).unwrap().changes;
        assert_eq!(changes, Changes { name: Some("new".to_owned()), ..Changes::default() });
        let changes = update(&["defaults.model"], values()).unwrap().changes;
        assert_eq!(changes, Changes { model: Some(Some("m".to_owned())), ..Changes::default() });
        let changes = update(&["defaults"], values()).unwrap().changes;
        let expected = Changes {
            profile_id: Some(None),
            model: Some(Some("m".to_owned())),
            standing_tools: Some(None),
            ..Changes::default()
        };
        assert_eq!(changes, expected);
        assert_eq!(update(&["labels"], pb::NewThread::default()).unwrap().changes.labels, Some(BTreeMap::new()));
    }

    #[test]
    fn what_is_wrong_with_a_change_is_named() {
        let fault = update_from_pb(pb::ThreadServiceUpdateRequest::default()).unwrap_err();
        assert_eq!(paths(fault), ["thread_id", "update_mask", "thread"]);
        assert_eq!(paths(update(&[], values()).unwrap_err()), ["update_mask"]);
        let wrong = pb::NewThread {
            thread_id: "other".to_owned(),
            name: "x".repeat(256),
            metadata_json: "1".to_owned(),
            ..values()
        };
        let fault = update(&["name", "head", "metadata_json"], wrong).unwrap_err();
        assert_eq!(paths(fault), ["thread.thread_id", "update_mask[1]", "thread.name", "thread.metadata_json"]);
    }

    #[test]
    fn what_the_mask_leaves_out_may_be_anything() {
        let other = pb::NewThread { metadata_json: "1".to_owned(), name: "x".repeat(256), ..values() };
        assert!(update(&["labels"], other).is_ok());
    }

    #[test]
    fn create_delete_and_lists_are_read() {
        let create = create_from_pb(pb::ThreadServiceCreateRequest::default()).unwrap();
        assert_eq!(create, Create { thread: NewThread::default(), head: None, request_id: None });
        let wrong = pb::ThreadServiceCreateRequest {
            head: Some(pb::ExchangePoint::default()),
            request_id: "a b".to_owned(),
            thread: None,
        };
        assert_eq!(paths(create_from_pb(wrong).unwrap_err()), ["head.exchange_id", "request_id"]);
        let delete = pb::ThreadServiceDeleteRequest {
            thread_id: "t".to_owned(),
            etag: "e".to_owned(),
            ..pb::ThreadServiceDeleteRequest::default()
        };
        assert_eq!(delete_from_pb(delete).unwrap().etag, Some("e".to_owned()));
        let list = list_from_pb(pb::ThreadServiceListRequest { page_size: 7, ..Default::default() }).unwrap();
        assert_eq!((list.page_size, list.filter), (7, BTreeMap::new()));
        let restore = pb::RestoreRequest { expected_head: Some(Default::default()), ..Default::default() };
        assert_eq!(paths(restore_from_pb(restore).unwrap_err()), ["thread_id", "to", "expected_head"]);
        let turns = pb::ListTurnsRequest { page_size: -1, ..pb::ListTurnsRequest::default() };
        assert_eq!(paths(turns_from_pb(turns).unwrap_err()), ["thread_id", "page_size"]);
    }
}
