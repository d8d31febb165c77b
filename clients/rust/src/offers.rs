//! The tools of a loop: what is offered, and the calls of them. Knows nothing of decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::callback::{AfterCall, BeforeCall, Raised};
use crate::error::Result;
use crate::frame;
use crate::memory::Memory;
use crate::pb;
use crate::request::Request;
use crate::retry::fresh;
use crate::stream::Mouth;
use crate::tool::{Function, Tool, ToolResult, tool_list};
use crate::tool_call::{Pause, ToolCall};
use crate::word::OnToolDrift;

/// The tools of a coordination, and what came of their calls so far.
pub(crate) struct Offers<'a> {
    tools: Option<Vec<Tool>>,
    /// They stand at the server already: they are called when the model says so, and not offered anew.
    standing: bool,
    on_tool_drift: OnToolDrift,
    functions: BTreeMap<String, Tool>,
    before_call: Option<BeforeCall<'a>>,
    after_call: Option<AfterCall<'a>>,
    memory: Arc<Memory>,
    /// The calls of one answer run at once, and each may set these.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    paused: BTreeSet<String>,
    failure: Option<Raised>,
}

impl<'a> Offers<'a> {
    pub(crate) fn new(
        tools: Option<Vec<Tool>>,
        standing: bool,
        on_tool_drift: OnToolDrift,
        hooks: (Option<BeforeCall<'a>>, Option<AfterCall<'a>>),
        memory: Arc<Memory>,
    ) -> Self {
        let mut made = Self {
            tools,
            standing,
            on_tool_drift,
            functions: BTreeMap::new(),
            before_call: hooks.0,
            after_call: hooks.1,
            memory,
            kept: Mutex::default(),
        };
        let tools = made.tools.clone().unwrap_or_default();
        made.learn(&tools);
        made
    }

    fn learn(&mut self, tools: &[Tool]) {
        for tool in tools {
            self.functions.insert(tool.name.clone(), tool.clone());
        }
    }

    /// A request with the tools of the coordination, unless it has its own.
    pub(crate) fn offered(&mut self, request: &Request) -> Result<pb::ExecutionRequest> {
        let mut raw = request.to_raw()?;
        if let Some(tools) = &request.tools {
            self.learn(tools);
        } else if let Some(tools) = &self.tools
            && !self.standing
        {
            raw.tools = Some(tool_list(tools)?);
        }
        if raw.on_tool_drift == 0 {
            raw.on_tool_drift = self.on_tool_drift.to_raw();
        }
        let offered = raw.tools.as_ref().map(|list| list.tools.as_slice()).unwrap_or_default();
        if raw.run_id.is_empty() && offered.iter().any(|tool| tool.requires_human) {
            // The answer of a person is waited for by this name, so it is not left to the server.
            raw.run_id = fresh();
        }
        Ok(raw)
    }

    /// Runs the calls of a batch, all at once, and says each result when it is there, so that a slow sibling puts no finished call at risk.
    pub(crate) async fn run(&self, needed: &pb::ToolsNeeded, mouth: &Mouth) {
        let calls = needed.calls.iter().map(|call| async move {
            if let Some(result) = self.result_of(call).await {
                // A tool may have cancelled the loop; then what it said is not sent any more.
                tokio::task::yield_now().await;
                mouth.say(frame::results(needed, vec![result]));
            }
        });
        let mut calls: FuturesUnordered<_> = calls.collect();
        while calls.next().await.is_some() {}
    }

    /// What a hook failed with, if one did.
    pub(crate) fn failure(&self) -> Option<Raised> {
        self.with(|kept| kept.failure.take())
    }

    /// Whether there are calls whose answer comes later.
    pub(crate) fn paused(&self) -> bool {
        self.with(|kept| !kept.paused.is_empty())
    }

    /// What came of a call, now or before; nothing where the answer comes later or a hook failed.
    async fn result_of(&self, needed: &pb::NeededToolCall) -> Option<pb::ToolResult> {
        let call = ToolCall::from_raw(&needed.call.clone().unwrap_or_default());
        if let Some(known) = self.memory.result(&call.call_id) {
            return Some(known);
        }
        if self.with(|kept| kept.paused.contains(&call.call_id)) {
            return None;
        }
        let result = match self.invoke(needed, &call).await {
            Ok(text) => ToolResult::new(&call.call_id, text),
            Err(raised) if raised.cause.is::<Pause>() => {
                self.with(|kept| kept.paused.insert(call.call_id.clone()));
                return None;
            }
            // What a failed call says is for the model, which may do better; its siblings keep their results.
            Err(raised) => ToolResult::error(&call.call_id, raised.cause.to_string()),
        };
        if let Some(after_call) = &self.after_call
            && let Err(raised) = after_call(call, result.clone()).await
        {
            self.with(|kept| kept.failure.get_or_insert(raised).kind);
            return None;
        }
        let raw = result.to_raw();
        self.memory.keep_result(raw.clone());
        Some(raw)
    }

    async fn invoke(&self, needed: &pb::NeededToolCall, call: &ToolCall) -> Result<String, Raised> {
        let Some(function) = self.function(needed, &call.name) else {
            return Err(Raised::of(format!("there is no tool {:?}", call.name)));
        };
        if let Some(before_call) = &self.before_call {
            before_call(call.clone()).await?;
        }
        function(call.arguments.clone()).await
    }

    /// The function of a tool that was offered and is here.
    fn function(&self, needed: &pb::NeededToolCall, name: &str) -> Option<Function> {
        needed.tool.as_ref()?;
        self.functions.get(name)?.function.clone()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        // Nothing here fails half way, so that a panic elsewhere leaves it whole.
        act(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
