//! Which tools calls had, which calls had a tool, and where its schema changed. Knows nothing of tools that are called now.

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::error::Result;
use crate::graph::Scope;
use crate::pb;
use crate::point::ExchangeRef;
use crate::request::ToolChoice;
use crate::retry::Limit;
use crate::tool::OfferedTool;
use crate::word::OccurrenceKind;

/// A tool whose input schema is another one than before on the same path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Drift {
    /// The tool's name.
    pub name: String,
    /// The first exchange with the schema that was the last before.
    pub previous_exchange_id: String,
    /// The tool as it was there.
    pub previous: OfferedTool,
    /// The exchange that has it otherwise.
    pub exchange_id: String,
    /// The tool as it is there.
    pub current: OfferedTool,
}

impl Drift {
    fn from_raw(raw: pb::ToolDrift) -> Self {
        let tool = |tool: Option<pb::Tool>| OfferedTool::from_raw(&tool.unwrap_or_default());
        Self {
            name: raw.name,
            previous_exchange_id: raw.previous_exchange_id,
            previous: tool(raw.previous),
            exchange_id: raw.exchange_id,
            current: tool(raw.current),
        }
    }
}

/// The tools of one call to a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallTools {
    /// Those that it could use.
    pub offered: Vec<OfferedTool>,
    /// Those that the next call offers when it says nothing.
    pub standing: Vec<OfferedTool>,
    /// How freely they could be called; nothing where that was left to the model.
    pub tool_choice: Option<ToolChoice>,
    /// Those that the answer called, in order.
    pub called: Vec<String>,
    /// Those of the offered ones whose schema is another one than before.
    pub drifts: Vec<Drift>,
    raw: pb::GetCallToolsResponse,
}

impl CallTools {
    /// The message behind it.
    pub fn raw(&self) -> &pb::GetCallToolsResponse {
        &self.raw
    }

    fn from_raw(raw: pb::GetCallToolsResponse) -> Self {
        let tools = raw.tools.as_ref();
        Self {
            offered: OfferedTool::all(tools.and_then(|tools| tools.offered.as_ref())),
            standing: OfferedTool::all(tools.and_then(|tools| tools.standing.as_ref())),
            tool_choice: ToolChoice::from_raw(raw.tool_choice.clone()),
            called: raw.called_tools.clone(),
            drifts: raw.drifts.iter().cloned().map(Drift::from_raw).collect(),
            raw,
        }
    }
}

/// Which calls that had a tool.
#[derive(Clone, Debug)]
#[must_use]
pub struct ToolQuery {
    raw: pb::ListToolOccurrencesRequest,
    scope: Option<Scope>,
}

impl ToolQuery {
    /// Those that offered or called the tool with this name.
    pub fn new(name: impl Into<String>) -> Self {
        let raw = pb::ListToolOccurrencesRequest { name: name.into(), ..pb::ListToolOccurrencesRequest::default() };
        Self { raw, scope: None }
    }

    /// Only those that offered it, or only those that called it.
    pub fn kind(mut self, kind: OccurrenceKind) -> Self {
        self.raw.kind = kind.to_raw();
        self
    }

    /// Only with this input schema.
    pub fn schema_hash(mut self, hash: impl Into<String>) -> Self {
        self.raw.schema_hash = hash.into();
        self
    }

    /// Only in this part of the graph.
    pub fn scope(mut self, scope: impl Into<Scope>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    fn into_raw(self) -> Result<pb::ListToolOccurrencesRequest> {
        Ok(pb::ListToolOccurrencesRequest { scope: self.scope.map(Scope::into_raw).transpose()?, ..self.raw })
    }
}

/// A call to a model that had a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOccurrence {
    /// The exchange.
    pub exchange_id: String,
    /// Its run.
    pub run_id: String,
    /// The thread that the exchange was made on; empty without one.
    pub thread_id: String,
    /// Whether the tool was offered.
    pub offered: bool,
    /// Tells its input schema there from others; empty where it was not offered.
    pub schema_hash: String,
    /// The calls of it in the answer.
    pub call_ids: Vec<String>,
}

impl ToolOccurrence {
    fn from_raw(raw: pb::ToolOccurrence) -> Self {
        Self {
            exchange_id: raw.exchange_id,
            run_id: raw.run_id,
            thread_id: raw.thread_id,
            offered: raw.offered,
            schema_hash: raw.schema_hash,
            call_ids: raw.call_ids,
        }
    }
}

impl Client {
    /// The tools of the call that made an exchange: offered, standing and called.
    ///
    /// # Errors
    /// It is not on record, or the server cannot be asked.
    pub async fn call_tools(&self, exchange: impl Into<ExchangeRef>) -> Result<CallTools> {
        let asked = pb::GetCallToolsRequest { exchange_id: exchange.into().to_raw()?.exchange_id };
        call(Limit::default(), asked, method!(self, tools_service.get_call_tools)).await.map(CallTools::from_raw)
    }

    /// The calls that had a tool, newest first.
    pub fn tool_occurrences(&self, query: ToolQuery) -> Pages<ToolOccurrence> {
        let asked = query.into_raw();
        pages!(self, tools_service.list_tool_occurrences, try asked, occurrences, ToolOccurrence::from_raw)
    }

    /// Where on a path a tool's schema is another one than before, nearest to the root first; of one tool, or of all where the name is empty.
    pub fn tool_drifts(&self, scope: impl Into<Scope>, name: &str) -> Pages<Drift> {
        let asked = scope.into().into_raw().map(|scope| pb::ListToolDriftsRequest {
            scope: Some(scope),
            name: name.to_owned(),
            ..pb::ListToolDriftsRequest::default()
        });
        pages!(self, tools_service.list_tool_drifts, try asked, drifts, Drift::from_raw)
    }
}
