//! Batches of tool calls in a coordination: what is run, what is shown of it, and when a person is waited for. It must not know other frames.

use super::super::answer::Answer;
use super::super::failure::Failure;
use super::super::terminal::Style;
use super::super::{width, words};
use super::drive::{Done, Drive};
use super::tools::Called;
use crate::grpc::pb;
use crate::grpc::pb::coordinate_request::Frame as Say;

/// Most characters of a tool's result that are shown.
const RESULT_COLUMNS: usize = 100;

impl Drive<'_> {
    /// Shows a batch and begins the calls that are neither made nor being made.
    pub(super) fn batch(&mut self, needed: pb::ToolsNeeded) -> Result<(), Failure> {
        if self.shown != needed.batch_id && !self.terminal.is_json() {
            let exchange = needed.exchange.as_ref().ok_or_else(|| Failure::incomplete("exchange"))?;
            if self.plan.final_only {
                let text = exchange.text.trim();
                if !text.is_empty() {
                    self.note(Style::Dim, text)?;
                }
                let calls =
                    pb::Exchange { pending_tool_calls: exchange.pending_tool_calls.clone(), ..Default::default() };
                self.answer.step(&calls, self.terminal)?;
            } else {
                self.answer.step(exchange, self.terminal)?;
            }
            self.answer = Answer::begin();
        }
        self.shown.clone_from(&needed.batch_id);
        if self.is_cancelled() {
            return Ok(());
        }
        let mut person_needed = false;
        for call in needed.calls {
            let (call, tool) = (call.call.unwrap_or_default(), call.tool);
            if !self.plan.tools.has(&call.name) && tool.is_some_and(|tool| tool.requires_human) {
                person_needed = true;
            } else if let Some(answer) = self.answers.get(&call.call_id) {
                self.say(answer.clone());
            } else if self.at_work.insert(call.call_id.clone()) {
                let done = self.plan.tools.call(call, self.plan.variables.clone(), self.errors.clone());
                let batch_id = needed.batch_id.clone();
                self.begin(async move { Done::Called(batch_id, done.await) });
            }
        }
        if person_needed && self.at_work.is_empty() {
            self.say(Say::Suspend(pb::CoordinationSuspend {}));
        }
        Ok(())
    }

    /// Shows what a call gave.
    pub(super) fn called(&mut self, called: &Called) -> Result<(), Failure> {
        if self.terminal.is_json() {
            return Ok(());
        }
        let text = width::one_line(&called.text, RESULT_COLUMNS);
        let style = if called.result.is_error { Style::Odd } else { Style::Plain };
        let took = words::duration(called.begun.elapsed());
        let what = if called.result.is_error { " failed" } else { "" };
        self.note(style, &format!("← {}{what}: {text}  ({took})", called.name))
    }

    /// Forgets answers that are on record.
    pub(super) fn accepted(&mut self, accepted: &pb::AnswerAccepted) {
        self.answers.remove(&accepted.id);
        let Some(batch) = &accepted.batch else { return };
        for result in &batch.results {
            self.answers.remove(&result.call_id);
        }
        // All that is done here is on record; what is left needs a person.
        if !batch.pending_call_ids.is_empty() && self.answers.is_empty() && self.at_work.is_empty() {
            self.say(Say::Suspend(pb::CoordinationSuspend {}));
        }
    }
}
