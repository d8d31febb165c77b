//! The requests and answers of the audit of tools. It must not know what is stored.

use super::inspect::page_size_from_pb;
use super::problem::{self, absent_if_empty, filled, whole};
use super::{Path, Problems, id, moment, scope, tool};
use crate::app::graph::Scope;
use crate::app::tool::{CallTools, Drifted, Kind, Occurrence, Wanted};
use crate::domain::fault::Fault;
use crate::grpc::page::Sizes;
use crate::grpc::pb;

/// Which calls to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrences {
    /// What to look for.
    pub wanted: Wanted,
    /// Where; absent for the whole namespace.
    pub scope: Option<Scope>,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// Which drifts to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drifts {
    /// Where.
    pub scope: Scope,
    /// Only of this tool.
    pub name: Option<String>,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// Which calls to list.
///
/// # Errors
/// What is wrong with the request.
pub fn occurrences_from_pb(request: pb::ListToolOccurrencesRequest) -> Result<Occurrences, Fault> {
    whole(|at, problems| {
        let name = filled(request.name, &at.field("name"), problems);
        let schema = id::optional(&request.schema_hash, &at.field("schema_hash"), problems);
        let kind = kind_from_pb(request.kind, &at.field("kind"), problems);
        let scope = match request.scope {
            None => Some(None),
            Some(scope) => scope::from_pb(scope, &at.field("scope"), problems).map(Some),
        };
        let from = moment::optional_from_pb(request.from_time, &at.field("from_time"), problems);
        let before = moment::optional_from_pb(request.before_time, &at.field("before_time"), problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        let wanted = Wanted { name: name?, schema: schema?, kind: kind?, from: from?, before: before? };
        Some(Occurrences { wanted, scope: scope?, page_size: page_size?, page_token: request.page_token })
    })
}

/// Which drifts to list.
///
/// # Errors
/// What is wrong with the request.
pub fn drifts_from_pb(request: pb::ListToolDriftsRequest) -> Result<Drifts, Fault> {
    whole(|at, problems| {
        let scope = problem::required(request.scope, "where to look", &at.field("scope"), problems)
            .and_then(|scope| scope::from_pb(scope, &at.field("scope"), problems));
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        let name = absent_if_empty(request.name);
        Some(Drifts { scope: scope?, name, page_size: page_size?, page_token: request.page_token })
    })
}

fn kind_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Option<Kind>> {
    match pb::ToolOccurrenceKind::try_from(number) {
        Ok(pb::ToolOccurrenceKind::Unspecified) => Some(None),
        Ok(pb::ToolOccurrenceKind::Offered) => Some(Some(Kind::Offered)),
        Ok(pb::ToolOccurrenceKind::Called) => Some(Some(Kind::Called)),
        Err(_) => {
            let words = "TOOL_OCCURRENCE_KIND_OFFERED, TOOL_OCCURRENCE_KIND_CALLED or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

/// The tools of one call.
pub fn call_tools_to_pb(tools: CallTools) -> pb::GetCallToolsResponse {
    let called = tools.call.exchange.calls().into_iter().map(|call| call.name.clone()).collect();
    pb::GetCallToolsResponse {
        tools: Some(tool::use_to_pb(tools.call.offered, tools.call.standing)),
        tool_choice: tool::choice_to_pb(tools.choice),
        called_tools: called,
        drifts: drifts_to_pb(tools.drifts),
    }
}

/// Tools that drifted.
pub fn drifts_to_pb(drifts: Vec<Drifted>) -> Vec<pb::ToolDrift> {
    let to_pb = |drift: Drifted| pb::ToolDrift {
        name: drift.now.name.clone(),
        previous_exchange_id: drift.since.to_string(),
        previous: drift.before.map(tool::to_pb),
        exchange_id: drift.exchange.to_string(),
        current: Some(tool::to_pb(drift.now)),
    };
    drifts.into_iter().map(to_pb).collect()
}

/// A call that had a tool.
pub fn occurrence_to_pb(occurrence: Occurrence) -> pb::ToolOccurrence {
    pb::ToolOccurrence {
        exchange_id: occurrence.exchange.to_string(),
        run_id: id::text(occurrence.run_id),
        thread_id: id::text(occurrence.thread_id),
        tool_set_id: id::text(occurrence.offered),
        offered: occurrence.schema.is_some(),
        schema_hash: id::text(occurrence.schema),
        call_ids: occurrence.calls.iter().map(ToString::to_string).collect(),
        create_time: Some(moment::to_pb(occurrence.created_at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(fault: &Fault) -> Vec<&str> {
        fault.fields.iter().map(|field| field.path.as_str()).collect()
    }

    fn scope(scope: Option<pb::graph_scope::Scope>) -> Option<pb::GraphScope> {
        Some(pb::GraphScope { scope })
    }

    #[test]
    fn everything_wrong_is_named() {
        let request = pb::ListToolOccurrencesRequest {
            schema_hash: "abc".to_owned(),
            kind: 7,
            scope: scope(None),
            before_time: Some(prost_types::Timestamp { seconds: -1, nanos: 0 }),
            page_size: -1,
            ..pb::ListToolOccurrencesRequest::default()
        };
        let fault = occurrences_from_pb(request).unwrap_err();
        assert_eq!(paths(&fault), ["name", "schema_hash", "kind", "scope", "before_time", "page_size"]);
        let fault = drifts_from_pb(pb::ListToolDriftsRequest::default()).unwrap_err();
        assert_eq!(paths(&fault), ["scope"]);
        let nowhere = pb::graph_scope::Scope::Path(pb::PathScope { exchange_id: "e".to_owned() });
        let fault = drifts_from_pb(pb::ListToolDriftsRequest { scope: scope(Some(nowhere)), ..Default::default() });
        assert_eq!(paths(&fault.unwrap_err()), ["scope.path.exchange_id"]);
    }
}
