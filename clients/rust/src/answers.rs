//! What a coordination is answered: decisions, results of tools, generations, and answers that were refused. Knows nothing of the stream's end.

use crate::callback::Raised;
use crate::coordination::Decision;
use crate::coordinator::{Driver, HOOK_FAILED};
use crate::error::{Code, Error, Result};
use crate::exchange::{Delta, Exchange, Warning};
use crate::frame::{self, cancel_frame, suspend_frame};
use crate::generation::Generation;
use crate::pb;
use crate::pb::coordinate_request::Frame as Said;
use crate::stream::Wire;
use crate::tool::listed;

/// What comes of some work of the caller's, while the stream is heard.
async fn beside<T>(wire: &mut Option<Wire>, work: impl Future<Output = T>) -> T {
    let done = match wire {
        Some(wire) => wire.beside(work).await,
        None => work.await,
    };
    // The work itself may have cancelled the loop; then what it said is not sent any more.
    tokio::task::yield_now().await;
    done
}

impl Driver<'_> {
    pub(crate) async fn decide(&mut self, needed: pb::DecisionNeeded) {
        let id = needed.decision_id.clone();
        if let Some(answer) = self.memory.answer(&id) {
            return self.send(answer);
        }
        if self.failure.is_some() {
            return self.send(cancel_frame(HOOK_FAILED));
        }
        let exchange = self.presented(&needed);
        let deciding = (self.next)(Decision::from_raw(needed, &self.id, exchange));
        let decided = beside(&mut self.wire, deciding).await;
        let written = decided.and_then(|action| {
            frame::next_action(&id, action, |request| self.offers.offered(request)).map_err(Raised::of)
        });
        let answer = match written {
            Ok(Some(answer)) => answer,
            Ok(None) => return self.send(suspend_frame()),
            Err(raised) => {
                let answer = frame::failure(&id, &raised);
                self.failure = Some(raised);
                answer
            }
        };
        let answer = frame::frame(Said::NextAction(answer));
        self.memory.keep(&id, answer.clone());
        self.send(answer);
    }

    /// The result with what is known of it beside its record.
    fn presented(&mut self, needed: &pb::DecisionNeeded) -> Exchange {
        let raw = needed.exchange.clone().unwrap_or_default();
        let mut made = if self.ephemeral && (!needed.starting || self.history.is_some()) {
            let standing = listed(raw.tools.as_ref().and_then(|tools| tools.standing.as_ref()));
            let made = Exchange::loose(raw.clone(), self.history.clone(), Some(standing));
            self.remember(raw);
            made
        } else {
            Exchange::from_raw(raw)
        };
        // Those of calls before it in its turn come first.
        let own: Vec<Warning> = std::mem::replace(&mut made.warnings, std::mem::take(&mut self.told));
        let before = std::mem::take(&mut made.warnings);
        made.warn(before);
        made.warn(own);
        made
    }

    /// Keeps what was said where no record does.
    fn remember(&mut self, raw: pb::Exchange) {
        if let Some(history) = &mut self.history {
            history.extend(raw.messages);
            history.extend(raw.assistant);
        }
    }

    pub(crate) async fn run_tools(&mut self, needed: pb::ToolsNeeded) {
        let known = self.batch.as_ref().is_some_and(|batch| batch.batch_id == needed.batch_id);
        if let (false, true, Some(exchange)) = (known, self.ephemeral, &needed.exchange) {
            self.remember(exchange.clone());
        }
        let batch = self.batch.insert(needed);
        if self.failure.is_none()
            && let Some(mouth) = self.wire.as_ref().map(Wire::mouth)
        {
            beside(&mut self.wire, self.offers.run(batch, &mouth)).await;
            self.failure = self.offers.failure();
        }
        if self.failure.is_some() {
            self.send(cancel_frame(HOOK_FAILED));
        } else if self.offers.paused() {
            self.send(suspend_frame());
        }
    }

    pub(crate) async fn generate_for(&mut self, needed: pb::GenerationNeeded) {
        let id = needed.generation_id.clone();
        if let Some(answer) = self.memory.answer(&id) {
            return self.send(answer);
        }
        if self.failure.is_some() {
            return self.send(cancel_frame(HOOK_FAILED));
        }
        let said = match &mut self.generate {
            Some(generate) => {
                let saying = generate(Generation::from_raw(needed, &self.id));
                beside(&mut self.wire, saying).await
            }
            None => {
                let message = "this client does not call models itself: give it generate, or use another backend";
                Err(Raised::of(Error::new(Code::Unimplemented, message)))
            }
        };
        let answer = match said {
            Ok(answer) => {
                self.generation = None;
                frame::generated(&id, answer)
            }
            Err(raised) => {
                let answer = frame::generation_failed(&id, &raised);
                self.generation = Some(raised);
                answer
            }
        };
        let answer = frame::frame(Said::Generated(answer));
        self.memory.keep(&id, answer.clone());
        self.send(answer);
    }

    pub(crate) fn hear_delta(&mut self, delta: Delta) {
        if self.failure.is_some() {
            return;
        }
        if let Some(Err(raised)) = self.on_delta.as_mut().map(|hear| hear(delta)) {
            self.failure = Some(raised);
            self.send(cancel_frame(HOOK_FAILED));
        }
    }

    /// An answer changed nothing. It is given again where waiting helps; else the caller is told, and the decision stays pending.
    pub(crate) async fn rejected(&mut self, rejected: pb::AnswerRejected) -> Result<()> {
        let id = rejected.id.clone();
        let refused = frame::rejection(rejected, &self.id);
        let answer = self.memory.answer(&id);
        if self.failure.is_some() && answer.is_none() {
            // It is being cancelled, and the end is on its way.
            return Ok(());
        }
        let generated = matches!(answer.as_ref().and_then(|answer| answer.frame.as_ref()), Some(Said::Generated(_)));
        if refused.reason == "ANSWER_STALE" && generated {
            // The attempt had timed out by then. What comes of that, another one or the end, is told next.
            return Ok(());
        }
        if self.failure.is_some() || !refused.can_retry() {
            self.memory.take_back(&id);
            return Err(self.or_failure(refused));
        }
        self.rest(refused).await?;
        match &self.batch {
            Some(batch) if batch.batch_id == id => self.send(self.results_again(batch)),
            _ => answer.into_iter().for_each(|answer| self.send(answer)),
        }
        Ok(())
    }

    /// Every result of a batch that is known.
    fn results_again(&self, batch: &pb::ToolsNeeded) -> pb::CoordinateRequest {
        let calls = batch.calls.iter().filter_map(|needed| needed.call.as_ref());
        frame::results(batch, calls.filter_map(|call| self.memory.result(&call.call_id)).collect())
    }
}
