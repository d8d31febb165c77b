//! `antiphon coordinations`: lists, shows, cancels and answers coordinations. It must not know how they are driven.

use super::Context;
use super::coordinate::{answer, failure, say};
use super::failure::Failure;
use super::remote::{Remote, pages};
use super::request::{self, RequestOptions, ResultOptions, RunOptions, pair, pairs};
use super::table::{Cell, Table};
use super::terminal::Style;
use super::words;
use crate::grpc::pb;
use crate::grpc::pb::answer_request::Answer;
use crate::grpc::pb::coordination::Pending;
use crate::grpc::pb::coordination_ended::Outcome;
use crate::grpc::pb::next_action::Action;

/// What can be typed after `coordinations`.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: List,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// List coordinations by id
    List(List),
    /// Show one coordination, with what it waits for
    Get {
        /// The coordination
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End a coordination
    Cancel {
        /// The coordination
        #[arg(value_name = "ID")]
        id: String,
        /// Why, for people
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        message: String,
    },
    /// Give the answer that a coordination waits for
    Answer(Box<Given>),
}

#[derive(clap::Args, Debug)]
struct List {
    /// Only those in this state; may be given again
    #[arg(long = "state", value_name = "STATE", value_enum)]
    states: Vec<State>,
    /// Only those that follow this thread
    #[arg(long, short = 't', value_name = "ID")]
    thread: Option<String>,
    /// Only those with this label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
    /// Only those that no client is attached to
    #[arg(long)]
    alone: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum State {
    TurnRunning,
    AwaitingDecision,
    AwaitingTools,
    AwaitingGeneration,
    Stopped,
    Exhausted,
    Failed,
    Cancelled,
}

impl From<State> for pb::CoordinationState {
    fn from(state: State) -> Self {
        match state {
            State::TurnRunning => Self::TurnRunning,
            State::AwaitingDecision => Self::AwaitingDecision,
            State::AwaitingTools => Self::AwaitingTools,
            State::AwaitingGeneration => Self::AwaitingGeneration,
            State::Stopped => Self::Stopped,
            State::Exhausted => Self::Exhausted,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }
}

/// An answer.
#[derive(clap::Args, Debug)]
struct Given {
    /// The coordination
    #[arg(value_name = "ID")]
    id: String,
    /// What to say next; - reads standard input
    #[arg(conflicts_with_all = ["stop", "fail", "results", "result"])]
    text: Option<String>,
    /// It is good
    #[arg(long, conflicts_with = "fail")]
    stop: bool,
    /// It fails: REASON in capitals, or a message, or both
    #[arg(long, value_name = "REASON MESSAGE")]
    fail: Option<String>,
    /// Answer only this decision or batch, which makes the command safe to repeat
    #[arg(long, value_name = "ID")]
    pending: Option<String>,
    #[command(flatten)]
    results: ResultOptions,
    #[command(flatten)]
    request: RequestOptions,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let what = arguments.what.unwrap_or(What::List(arguments.list));
    if let What::Answer(given) = what {
        return given.give(context).await;
    }
    let remote = context.remote().await?;
    match what {
        What::List(list) => show_list(list, &remote, context).await,
        What::Get { id } => {
            let response = get(&remote, id).await?;
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            let coordination = response.coordination.ok_or_else(|| Failure::incomplete("coordination"))?;
            let lines = facts(&coordination).lines(context.terminal);
            Ok(context.terminal.lines(lines)?)
        }
        What::Cancel { id, message } => {
            let request = pb::CoordinationServiceCancelRequest { coordination_id: id, message };
            let call = async { Ok(remote.coordinations().cancel(remote.request(request)).await?) };
            let response = remote.within(call).await?.into_inner();
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            line(response.coordination.as_ref(), context)
        }
        What::Answer(_) => Ok(()),
    }
}

async fn get(remote: &Remote, coordination_id: String) -> Result<pb::CoordinationServiceGetResponse, Failure> {
    let request = pb::CoordinationServiceGetRequest { coordination_id };
    let call = async { Ok(remote.coordinations().get(remote.request(request)).await?) };
    Ok(remote.within(call).await?.into_inner())
}

/// One coordination and its state, a line that a script can take apart.
fn line(coordination: Option<&pb::Coordination>, context: &mut Context<'_>) -> Result<(), Failure> {
    let coordination = coordination.ok_or_else(|| Failure::incomplete("coordination"))?;
    let id = context.terminal.foreign(&coordination.coordination_id);
    Ok(context.terminal.line(&format!("{id}  {}", words::coordination_state(coordination.state)))?)
}

impl Given {
    async fn give(self, context: &mut Context<'_>) -> Result<(), Failure> {
        let run = RunOptions::default();
        let results = self.results.build(&self.request, &run, context.terminal)?;
        let speaks = self.text.is_some() || self.request.speaks();
        let given = [speaks, self.stop, self.fail.is_some(), results.is_some()].into_iter().filter(|is| *is).count();
        if given != 1 {
            return Err(Failure::usage("give one answer: a TEXT, --stop, --fail REASON, or results of tool calls"));
        }
        let action = if self.stop {
            Some(Action::Stop(pb::StopAction {}))
        } else if let Some(why) = &self.fail {
            Some(Action::Fail(failure(why)))
        } else if speaks {
            let text = self
                .text
                .map(|text| request::text(Some(text), true, "--pending", context.terminal))
                .transpose()?
                .flatten();
            let base = self.request.build(None, &run, context.terminal)?;
            Some(say(&text.unwrap_or_default(), &base))
        } else {
            None
        };
        let remote = context.remote().await?;
        let waits = get(&remote, self.id.clone()).await?.coordination.unwrap_or_default();
        let pending_id = self.pending.unwrap_or_else(|| waits.pending_id.clone());
        if pending_id.is_empty() {
            let state = words::coordination_state(waits.state);
            return Err(Failure::here(format!("coordination {} waits for no answer: it is {state}", self.id), ""));
        }
        let given = match (action, results) {
            (Some(action), _) => Answer::NextAction(answer(pending_id, action)),
            // What the presented exchange left unanswered is another turn; the batch of a turn at work goes on with it.
            (None, Some(results)) if waits.state() == pb::CoordinationState::AwaitingDecision => {
                let input = Some(pb::next_turn::Input::ToolResults(results));
                let action = Some(Action::Turn(pb::NextTurn { input, ..pb::NextTurn::default() }));
                Answer::NextAction(pb::NextAction { decision_id: pending_id, action })
            }
            (None, results) => {
                let pb::ToolResults { results, run_id, .. } = results.unwrap_or_default();
                Answer::ToolResults(pb::BatchResults { batch_id: pending_id, results, run_id })
            }
        };
        let request = pb::AnswerRequest { coordination_id: self.id, answer: Some(given) };
        let call = async { Ok(remote.coordinations().answer(remote.request(request)).await?) };
        let response = remote.within(call).await?.into_inner();
        if context.terminal.is_json() {
            return Ok(context.terminal.json(&response)?);
        }
        line(response.coordination.as_ref(), context)
    }
}

async fn show_list(arguments: List, remote: &Remote, context: &mut Context<'_>) -> Result<(), Failure> {
    let labels: std::collections::BTreeMap<String, String> = pairs(&arguments.labels, "--label")?.into_iter().collect();
    let states: Vec<i32> = arguments.states.iter().map(|state| pb::CoordinationState::from(*state).into()).collect();
    let fetch = async |page_size, page_token| {
        let request = pb::CoordinationServiceListRequest {
            page_size,
            page_token,
            states: states.clone(),
            attached: arguments.alone.then_some(false),
            thread_id: arguments.thread.clone().unwrap_or_default(),
            labels: labels.clone(),
            ..pb::CoordinationServiceListRequest::default()
        };
        let page = remote.coordinations().list(remote.request(request)).await?.into_inner();
        Ok((page.coordinations, page.next_page_token))
    };
    let (coordinations, more) = remote.within(pages(arguments.limit, fetch)).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let response = pb::CoordinationServiceListResponse { coordinations, next_page_token: String::new() };
        return Ok(terminal.json(&response)?);
    }
    let mut table = Table::new(&["COORDINATION", "STATE", "CLIENT", "TURNS", "THREAD", "EXCHANGE", "SINCE"]);
    for coordination in &coordinations {
        table.row(vec![
            Cell::new(&coordination.coordination_id, Style::Name),
            Cell::new(words::coordination_state(coordination.state), style(coordination.state())),
            (if coordination.attached { "attached" } else { "" }).into(),
            turns(coordination).into(),
            (&coordination.thread_id).into(),
            words::short_id(&coordination.exchange_id).into(),
            words::time(coordination.state_time.as_ref()).into(),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if more {
        terminal.note(&format!("there are more than {}; --limit shows more", arguments.limit))?;
    }
    Ok(())
}

fn style(state: pb::CoordinationState) -> Style {
    use pb::CoordinationState::{
        AwaitingDecision, AwaitingGeneration, AwaitingTools, Cancelled, Exhausted, Failed, Stopped, TurnRunning,
        Unspecified,
    };
    match state {
        Stopped | Exhausted => Style::Good,
        Failed => Style::Bad,
        AwaitingDecision | AwaitingTools | AwaitingGeneration | Cancelled => Style::Odd,
        TurnRunning | Unspecified => Style::Plain,
    }
}

fn turns(coordination: &pb::Coordination) -> String {
    format!("{} of {}", coordination.turns_started, coordination.additional_turns)
}

fn facts(coordination: &pb::Coordination) -> Table {
    let mut table = Table::facts();
    table.row(vec![Cell::new("coordination", Style::Dim), Cell::new(&coordination.coordination_id, Style::Name)]);
    let state = words::coordination_state(coordination.state);
    table.row(vec![Cell::new("state", Style::Dim), Cell::new(state, style(coordination.state()))]);
    table.fact("client", if coordination.attached { "attached" } else { "none" });
    table.fact("waits for", &coordination.pending_id);
    match &coordination.pending {
        Some(Pending::DecisionNeeded(needed)) => {
            table
                .fact("presented", needed.exchange.as_ref().map(|exchange| exchange.text.as_str()).unwrap_or_default());
        }
        Some(Pending::ToolsNeeded(needed)) => {
            for call in needed.calls.iter().filter_map(|needed| needed.call.as_ref()) {
                table.fact("pending call", format!("{}({})  {}", call.name, call.arguments_json, call.call_id));
            }
        }
        Some(Pending::GenerationNeeded(needed)) => {
            table.fact("to call", format!("{} / {}", needed.backend_id, needed.model))
        }
        None => {}
    }
    table.fact("turns", turns(coordination));
    table.fact("tool rounds", format!("at most {} in a turn", coordination.tool_round_limit));
    table.fact("started from", &coordination.start_exchange_id);
    table.fact("exchange", &coordination.exchange_id);
    table.fact("thread", &coordination.thread_id);
    table.fact("active run", &coordination.active_run_id);
    table.fact("interrupted run", &coordination.interrupted_run_id);
    table.fact("decisions", words::api_duration(coordination.decision_timeout.as_ref()));
    table.fact("deadline", words::time(coordination.deadline.as_ref()));
    table.fact("runs out", words::time(coordination.expire_time.as_ref()));
    if let Some(ended) = &coordination.ended {
        let error = match &ended.outcome {
            Some(Outcome::Failed(failed)) => failed.error.as_ref(),
            Some(Outcome::Cancelled(cancelled)) => cancelled.error.as_ref(),
            Some(Outcome::Stopped(_) | Outcome::Exhausted(_)) | None => None,
        };
        table.fact("error", error.map(|error| format!("{} ({})", error.message, error.reason)).unwrap_or_default());
        let undelivered = ended.undelivered_exchange.as_ref().map(|exchange| exchange.exchange_id.as_str());
        table.fact("not delivered", undelivered.unwrap_or_default());
    }
    for (key, value) in &coordination.labels {
        table.fact("label", format!("{key}={value}"));
    }
    table.fact("started", words::time(coordination.create_time.as_ref()));
    table.fact("since", words::time(coordination.state_time.as_ref()));
    table
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Terminal;
    use super::*;

    #[test]
    fn a_coordination_says_what_it_waits_for_and_how_it_ended() {
        let exchange = pb::Exchange { text: "Hello".into(), ..Default::default() };
        let needed = pb::DecisionNeeded { exchange: Some(exchange), ..Default::default() };
        let waits = pb::Coordination {
            coordination_id: "c".into(),
            state: pb::CoordinationState::AwaitingDecision.into(),
            pending_id: "d".into(),
            pending: Some(Pending::DecisionNeeded(needed)),
            additional_turns: 3,
            turns_started: 1,
            ..Default::default()
        };
        let lines = facts(&waits).lines(&Terminal::for_test()).join("\n");
        for expected in ["awaiting decision", "waits for     d", "presented     Hello", "turns         1 of 3"] {
            assert!(lines.contains(expected), "{expected} is missing in {lines}");
        }
        let error = pb::ErrorStatus { message: "thin".into(), reason: "TOO_THIN".into(), ..Default::default() };
        let failed = pb::CoordinationFailed { error: Some(error), caller_failure: None };
        let ended = pb::CoordinationEnded { outcome: Some(Outcome::Failed(failed)), undelivered_exchange: None };
        let ended = pb::Coordination { ended: Some(ended), ..waits };
        let lines = facts(&ended).lines(&Terminal::for_test()).join("\n");
        assert!(lines.contains("thin (TOO_THIN)"), "{lines}");
    }
}
