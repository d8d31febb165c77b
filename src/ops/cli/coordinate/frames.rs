//! What each frame of a coordination means here: what is shown of it, who is asked, what is answered. It must not know where frames come
//! from.

use std::time::Duration;

use tonic::Streaming;

use super::super::answer::{Answer, Turn};
use super::super::failure::{Failure, Refusal};
use super::super::json;
use super::super::terminal::Style;
use super::super::words;
use super::callback::{self, Callback, Choice, WHAT_CAN_BE_SAID};
use super::drive::{Done, Drive, End};
use super::shell;
use crate::grpc::pb;
use crate::grpc::pb::coordinate_request::Frame as Say;
use crate::grpc::pb::coordinate_response::Frame as Told;
use crate::grpc::pb::coordination_ended::Outcome;
use crate::grpc::pb::next_action::Action;
use crate::grpc::pb::progress::Event;

impl Drive<'_> {
    /// Takes a frame; tells how it ended when it did so well.
    pub(super) async fn frame(
        &mut self,
        frame: pb::CoordinateResponse,
        rest: &mut Streaming<pb::CoordinateResponse>,
    ) -> Result<Option<End>, Failure> {
        if self.terminal.is_json() {
            self.terminal.json_line(&frame)?;
        }
        let sequence = frame.sequence;
        let Some(told) = frame.frame else { return Ok(None) };
        if let Told::Started(started) = told {
            self.started(&started)?;
            self.last_sequence = self.last_sequence.max(sequence);
            return Ok(None);
        }
        // What was told before this process was there is past, but for what is pending.
        let is_past = sequence > 0 && sequence <= self.began.0;
        let is_news = sequence == 0 || sequence > self.last_sequence;
        self.last_sequence = self.last_sequence.max(sequence);
        // Only what was not there before shows that the stream holds: a server that breaks each one answers each attach.
        if matches!(told, Told::Delta(_) | Told::Heartbeat(_)) || sequence > 0 && is_news {
            self.lost = None;
        }
        let is_pending = |id: &str| !is_past || id == self.began.1;
        match told {
            Told::DecisionNeeded(needed) if is_pending(&needed.decision_id) => self.decision(needed)?,
            Told::ToolsNeeded(needed) if is_pending(&needed.batch_id) => self.batch(needed)?,
            Told::GenerationNeeded(needed) if is_pending(&needed.generation_id) => {
                let why = format!(
                    "the backend `{}` leaves the call to its client, and this one makes none",
                    needed.backend_id
                );
                return Err(self.left(&why));
            }
            Told::Accepted(accepted) => self.accepted(&accepted),
            Told::Rejected(rejected) => self.rejected(&rejected)?,
            Told::Ended(ended) => return self.ended(ended, rest).await.map(Some),
            Told::Detached(detached) => return self.detached(&detached).map(Some),
            Told::Draining(_) => self.note(Style::Odd, "the server is shutting down")?,
            Told::RunStarted(started) if is_news => {
                self.answer = Answer::begin();
                if is_past {
                    // It was claimed while the stream was broken, and has said something since.
                    self.answer.broken();
                }
                self.progress(Event::RunStarted(started))?;
            }
            Told::Attempt(attempt) if is_news => self.progress(Event::AttemptStarted(attempt))?,
            Told::Warning(warning) if is_news => self.progress(Event::Warning(warning))?,
            Told::Delta(delta) if !self.plan.final_only => self.progress(Event::Delta(delta))?,
            _ => {}
        }
        Ok(None)
    }

    fn progress(&mut self, event: Event) -> Result<(), Failure> {
        if self.terminal.is_json() {
            return Ok(());
        }
        Ok(self.answer.progress(pb::Progress { event: Some(event) }, self.terminal)?)
    }

    fn started(&mut self, started: &pb::CoordinationStarted) -> Result<(), Failure> {
        let again = std::mem::replace(&mut self.is_known, true);
        self.began = (started.last_sequence, started.pending_id.clone());
        if !started.attached {
            // Nothing is past: the journal begins with this frame.
            self.began.0 = 0;
        } else if !again {
            self.last_sequence = started.last_sequence;
            // A turn at work has said something already.
            self.answer.broken();
        }
        if self.is_cancelled() {
            self.cancel();
        }
        if again || self.terminal.is_json() || self.plan.callback.is_nobody() {
            return Ok(());
        }
        let id = &started.coordination_id;
        let text = match (started.attached, id.as_str()) {
            (true, id) => format!("coordination {id} is there: {}", words::coordination_state(started.state)),
            (false, "") => "coordination of which nothing is kept".to_owned(),
            (false, id) => format!("coordination {id}"),
        };
        self.note(Style::Dim, &text)
    }

    fn decision(&mut self, needed: pb::DecisionNeeded) -> Result<(), Failure> {
        let id = needed.decision_id.clone();
        if self.shown != id {
            self.shown.clone_from(&id);
            self.present(&needed)?;
            self.result.clone_from(&needed.exchange);
        }
        if self.is_cancelled() || self.at_work.contains(&id) {
            return Ok(());
        }
        if let Some(answer) = self.answers.get(&id) {
            self.say(answer.clone());
            return Ok(());
        }
        self.ask(needed)
    }

    fn present(&mut self, needed: &pb::DecisionNeeded) -> Result<(), Failure> {
        if self.terminal.is_json() {
            return Ok(());
        }
        if !needed.interrupted_run_id.is_empty() {
            let text = format!("run {} was interrupted by a stop of the server", needed.interrupted_run_id);
            self.note(Style::Odd, &text)?;
        }
        let mut exchange = needed.exchange.clone().ok_or_else(|| Failure::incomplete("exchange"))?;
        if self.plan.coordination_id.is_empty() {
            // Its ids lead nowhere.
            (exchange.exchange_id, exchange.run_id) = (String::new(), String::new());
        }
        let all = needed.turns_started.saturating_add(needed.turns_remaining);
        let turns = (all > 0).then(|| format!("turns {} of {all}", needed.turns_started));
        let replayed = needed.starting && !self.plan.begins_with_a_request();
        let turn = Turn { exchange: &exchange, run: needed.run.as_ref(), thread: None, replayed };
        self.answer.result(&turn, turns, self.terminal)?;
        self.answer = Answer::begin();
        Ok(())
    }

    fn ask(&mut self, needed: pb::DecisionNeeded) -> Result<(), Failure> {
        let id = needed.decision_id.clone();
        match &self.plan.callback {
            Callback::Stop => {
                self.decide(id, Choice::act(Action::Stop(pb::StopAction {})));
                return Ok(());
            }
            Callback::Prompt(lines) => {
                let next = lines.clone().next();
                self.begin({
                    let id = id.clone();
                    async move { Done::Typed(id, next.await) }
                });
                if self.terminal.is_json() && self.terminal.input_is_piped() {
                    self.at_work.insert(id);
                    return Ok(());
                }
                let left = words::count(needed.turns_remaining.into(), "turn");
                let prompt = format!("{WHAT_CAN_BE_SAID} ({left} left): ");
                let prompt = self.terminal.paint_err(Style::Bold, &prompt);
                let end = if self.terminal.input_is_piped() { "\n" } else { "" };
                self.terminal.write_err(&format!("{prompt}{end}"))?;
            }
            Callback::Command(command) => {
                let input = json::line(&needed).map_err(|error| Failure::here(error.to_string(), ""))?;
                let (command, errors) = (command.clone(), self.errors.clone());
                let (variables, base) = (self.plan.variables.clone(), self.plan.base.clone());
                let id = id.clone();
                self.begin(async move {
                    let choice = match shell::run(&command, &variables, input, errors).await {
                        Ok(said) => callback::answered(&said, &base),
                        Err(error) => callback::broken(&format!("the command could not be run: {error}")),
                    };
                    Done::Decided(id, choice)
                });
            }
        }
        self.at_work.insert(id);
        Ok(())
    }

    /// Takes what was done beside the stream.
    pub(super) fn done(&mut self, done: Done) -> Result<(), Failure> {
        match done {
            Done::Typed(id, line) => {
                self.at_work.remove(&id);
                let is_kept = !self.plan.coordination_id.is_empty();
                let choice = match line {
                    Some(line) if !is_kept && line.trim() == "/suspend" => {
                        Err("nothing of it is kept, so it cannot wait: /stop or /cancel".to_owned())
                    }
                    Some(line) => callback::typed(&line, &self.plan.base),
                    // The end of the input decides nothing, but what is not kept cannot wait.
                    None if is_kept => Ok(Choice::Suspend),
                    None => Ok(Choice::act(Action::Stop(pb::StopAction {}))),
                };
                match choice {
                    Ok(choice) => self.decide(id, choice),
                    Err(why) => {
                        if !why.is_empty() {
                            self.note(Style::Odd, &why)?;
                        }
                        self.again(id);
                    }
                }
            }
            Done::Decided(id, choice) => {
                self.at_work.remove(&id);
                self.decide(id, choice);
            }
            Done::Called(batch_id, called) => {
                self.at_work.remove(&called.result.call_id);
                if called.interrupted {
                    self.cancel();
                    return Ok(());
                }
                self.called(&called)?;
                let call_id = called.result.call_id.clone();
                let results = vec![called.result];
                let say = Say::ToolResults(pb::BatchResults { batch_id, results, run_id: String::new() });
                self.say(say.clone());
                self.answers.insert(call_id, say);
            }
            Done::Again(id) => {
                if let Some(answer) = self.answers.get(&id) {
                    self.say(answer.clone());
                }
            }
        }
        Ok(())
    }

    fn decide(&mut self, id: String, choice: Choice) {
        match choice {
            Choice::Act(action) => {
                let action = if self.plan.coordination_id.is_empty() {
                    pb::NextAction { decision_id: id.clone(), action: Some(*action) }
                } else {
                    callback::answer(id.clone(), *action)
                };
                self.say(Say::NextAction(action.clone()));
                self.answers.insert(id, Say::NextAction(action));
            }
            Choice::Suspend => {
                self.say(Say::Suspend(pb::CoordinationSuspend {}));
                self.answers.insert(id, Say::Suspend(pb::CoordinationSuspend {}));
            }
            Choice::Cancel => self.cancel(),
        }
    }

    /// Asks the prompt for the same decision once more.
    fn again(&mut self, id: String) {
        if let Callback::Prompt(lines) = &self.plan.callback {
            let next = lines.clone().next();
            self.at_work.insert(id.clone());
            self.begin(async move { Done::Typed(id, next.await) });
        }
    }

    fn rejected(&mut self, rejected: &pb::AnswerRejected) -> Result<(), Failure> {
        let error = rejected.error.clone().unwrap_or_default();
        let mut refusal = Refusal::from(&error);
        refusal.fields = rejected.fields.iter().map(|f| (f.field.clone(), f.message.clone())).collect();
        let wait = rejected.retry_after.and_then(|wait| Duration::try_from(wait).ok());
        let id = rejected.id.clone();
        if let (Some(wait), true) = (wait, self.answers.contains_key(&id)) {
            self.note(Style::Odd, &format!("{}; once more in {}", error.message, words::duration(wait)))?;
            self.begin(async move {
                tokio::time::sleep(wait).await;
                Done::Again(id)
            });
            return Ok(());
        }
        let failure = Failure::Refused(Box::new(refusal));
        // After a cancel, answers come too late and are refused for it; only the end matters.
        if self.is_cancelled() {
            return Ok(());
        }
        let is_prompt = matches!(self.plan.callback, Callback::Prompt(_));
        if !is_prompt || self.answers.remove(&id).is_none() {
            if !self.plan.coordination_id.is_empty() {
                let text = format!("coordination {} still waits", self.plan.coordination_id);
                self.note(Style::Dim, &text)?;
            }
            return Err(failure);
        }
        failure.show(self.terminal)?;
        self.again(id);
        Ok(())
    }

    fn detached(&mut self, detached: &pb::CoordinationDetached) -> Result<End, Failure> {
        use pb::DetachReason::{Draining, HalfClosed, Suspended, TakenOver, Unspecified};
        match detached.reason() {
            Suspended => {}
            TakenOver => return Err(Failure::here("another client has attached to it and goes on with it", "")),
            Draining => return Err(self.left("the server is shutting down; the coordination waits")),
            HalfClosed | Unspecified => return Err(self.left("the server let go of the stream")),
        }
        if !self.terminal.is_json() {
            let id = &self.plan.coordination_id;
            let state = words::coordination_state(detached.state);
            let attach = self.terminal.typed(&format!("antiphon coordinate --attach {id}"));
            let answer = self.terminal.typed(&format!("antiphon coordinations answer {id}"));
            self.note(Style::Dim, &format!("suspended, {state}\nnext: {attach}, or {answer} …"))?;
        }
        Ok(End::Suspended)
    }

    async fn ended(
        &mut self,
        ended: pb::CoordinationEnded,
        rest: &mut Streaming<pb::CoordinateResponse>,
    ) -> Result<End, Failure> {
        if let Some(exchange) = ended.undelivered_exchange.as_ref().filter(|exchange| !exchange.exchange_id.is_empty())
        {
            self.note(Style::Odd, &format!("exchange {} was completed and not delivered", exchange.exchange_id))?;
        }
        let error = match ended.outcome {
            Some(Outcome::Stopped(_)) => return self.good(End::Stopped, "stopped"),
            Some(Outcome::Exhausted(_)) => return self.good(End::Exhausted, "no turn is left"),
            Some(Outcome::Failed(failed)) => failed.error,
            Some(Outcome::Cancelled(cancelled)) => cancelled.error,
            None => return Err(Failure::incomplete("outcome")),
        };
        // The trailers say the same with more details, where they still come.
        if let Err(status) = rest.message().await
            && let Failure::Refused(refusal) = Failure::from(status)
            && !refusal.reason.is_empty()
        {
            return Err(Failure::Refused(refusal));
        }
        Err(Failure::Refused(Box::new(Refusal::from(&error.unwrap_or_default()))))
    }

    fn good(&mut self, end: End, words: &str) -> Result<End, Failure> {
        if !self.terminal.is_json() && !self.plan.callback.is_nobody() {
            self.note(Style::Dim, words)?;
        }
        Ok(end)
    }
}
