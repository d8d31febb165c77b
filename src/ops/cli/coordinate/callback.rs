//! Who decides what comes next: a person or a script at the prompt, a command, or nobody. What each can say becomes a choice. It must not
//! know streams.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use tokio::sync::{Mutex, mpsc};
use tonic::Code;

use super::super::json;
use super::shell::Said;
use crate::grpc::pb;
use crate::grpc::pb::next_action::Action;

/// The reason of a caller's failure when its command failed.
const CALLBACK_FAILED: &str = "CALLBACK_FAILED";

/// Longest message of a failure, in bytes.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Longest reason of a failure.
const MAX_REASON: usize = 63;

/// What can be typed at the prompt.
pub(crate) const WHAT_CAN_BE_SAID: &str = "next message, /stop, /fail REASON, /suspend, /cancel";

/// Who decides.
pub(crate) enum Callback {
    /// Whoever types, or pipes in, one line for each decision.
    Prompt(Lines),
    /// A command that is run once for each decision.
    Command(String),
    /// Nobody: the first result is the last.
    Stop,
}

impl Callback {
    /// Nobody is asked.
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(self, Self::Stop)
    }
}

/// What was decided.
#[derive(Debug, PartialEq)]
pub(crate) enum Choice {
    /// An action of the API.
    Act(Box<Action>),
    /// Let go of it for now.
    Suspend,
    /// End it.
    Cancel,
}

impl Choice {
    /// An action.
    pub(crate) fn act(action: Action) -> Self {
        Self::Act(Box::new(action))
    }
}

/// Lines of the input, read when they are asked for, on a thread of their own.
#[derive(Clone)]
pub(crate) struct Lines {
    asks: mpsc::Sender<()>,
    lines: Arc<Mutex<mpsc::Receiver<String>>>,
}

impl Lines {
    /// Reads from here.
    pub(crate) fn of(input: Box<dyn Read + Send>) -> Self {
        let (asks, mut asked) = mpsc::channel::<()>(1);
        let (send, lines) = mpsc::channel(1);
        // Nobody joins it: a read cannot be called off, and the process ends without it.
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while asked.blocking_recv().is_some() {
                let mut line = Vec::new();
                match input.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if send.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
        Self { asks, lines: Arc::new(Mutex::new(lines)) }
    }

    /// The next line; none at the end of the input.
    pub(crate) async fn next(self) -> Option<String> {
        self.asks.send(()).await.ok()?;
        self.lines.lock().await.recv().await
    }
}

/// What a line at the prompt means; what is wrong with it, or nothing at all, where it is to be asked for again.
pub(crate) fn typed(line: &str, base: &pb::ExecutionRequest) -> Result<Choice, String> {
    let line = line.trim();
    let Some(command) = line.strip_prefix('/') else {
        return if line.is_empty() { Err(String::new()) } else { Ok(Choice::act(say(line, base))) };
    };
    // A message that begins with a stroke has two.
    if command.starts_with('/') {
        return Ok(Choice::act(say(command, base)));
    }
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match (word, rest.trim()) {
        ("stop", "") => Ok(Choice::act(Action::Stop(pb::StopAction {}))),
        ("suspend", "") => Ok(Choice::Suspend),
        ("cancel", "") => Ok(Choice::Cancel),
        ("fail", why) => Ok(Choice::act(Action::Fail(failure(why)))),
        ("stop" | "suspend" | "cancel", _) => Err(format!("/{word} takes nothing after it")),
        _ => Err(format!("/{word} is not known: {WHAT_CAN_BE_SAID}; a message that begins with / has two")),
    }
}

/// The action of another turn with this text.
pub(crate) fn say(text: &str, base: &pb::ExecutionRequest) -> Action {
    let request = pb::ExecutionRequest { text: text.to_owned(), ..base.clone() };
    let input = Some(pb::next_turn::Input::Request(request));
    Action::Turn(pb::NextTurn { input, ..pb::NextTurn::default() })
}

/// The answer to a decision. A turn whose run has no name is named after the decision: so the answer can be repeated unchanged, and a tool that
/// needs a person finds the run again.
pub(crate) fn answer(decision_id: String, mut action: Action) -> pb::NextAction {
    if let Action::Turn(pb::NextTurn { input: Some(pb::next_turn::Input::Request(request)), .. }) = &mut action
        && request.run_id.is_empty()
    {
        request.run_id.clone_from(&decision_id);
    }
    pb::NextAction { decision_id, action: Some(action) }
}

/// A failure in a person's words: the reason where the first word looks like one, then the message.
pub(crate) fn failure(why: &str) -> pb::FailAction {
    let (first, rest) = why.split_once(char::is_whitespace).unwrap_or((why, ""));
    let is_reason = !first.is_empty()
        && first.len() <= MAX_REASON
        && first.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let (reason, message) = if is_reason { (first, rest.trim()) } else { ("", why) };
    pb::FailAction {
        code: Code::Aborted.into(),
        reason: reason.to_owned(),
        message: cut(if message.is_empty() { reason } else { message }),
        ..pb::FailAction::default()
    }
}

/// What a command that was asked decided. One that failed, or whose answer makes no sense, is the caller's failure.
pub(crate) fn answered(said: &Said, base: &pb::ExecutionRequest) -> Choice {
    if said.interrupted {
        return Choice::Cancel;
    }
    let why = if said.succeeded() {
        match read(&said.out, base) {
            Ok(choice) => return choice,
            Err(why) => format!("the command's output is no action: {why}"),
        }
    } else if said.last_error.is_empty() {
        format!("the command failed: {}", said.ending())
    } else {
        said.last_error.clone()
    };
    broken(&why)
}

/// The failure of a command.
pub(crate) fn broken(why: &str) -> Choice {
    Choice::act(Action::Fail(pb::FailAction {
        code: Code::Unknown.into(),
        reason: CALLBACK_FAILED.to_owned(),
        message: cut(why),
        ..pb::FailAction::default()
    }))
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or(text).to_owned()
}

/// Reads an action as a command writes it.
fn read(text: &str, base: &pb::ExecutionRequest) -> Result<Choice, String> {
    let actions: IndexMap<String, Box<RawValue>> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut actions = actions.into_iter();
    let (Some((name, body)), None) = (actions.next(), actions.next()) else {
        return Err("it must have one of `continue`, `stop`, `fail`, `suspend`".to_owned());
    };
    let fields: IndexMap<String, Box<RawValue>> =
        serde_json::from_str(body.get()).map_err(|error| format!("{name}: {error}"))?;
    match name.as_str() {
        "continue" => turn(fields, base).map(Choice::act).map_err(|why| format!("continue: {why}")),
        "fail" => {
            let mut fail: pb::FailAction = json::parse(body.get()).map_err(|error| format!("fail: {error}"))?;
            if fail.code == 0 {
                fail.code = Code::Aborted.into();
            }
            Ok(Choice::act(Action::Fail(fail)))
        }
        "stop" | "suspend" if !fields.is_empty() => Err(format!("{name}: has no fields")),
        "stop" => Ok(Choice::act(Action::Stop(pb::StopAction {}))),
        "suspend" => Ok(Choice::Suspend),
        _ => Err(format!("`{name}` is none of `continue`, `stop`, `fail`, `suspend`")),
    }
}

/// Another turn: `text` with the options of the command line, or the fields of the API's own message.
fn turn(mut fields: IndexMap<String, Box<RawValue>>, base: &pb::ExecutionRequest) -> Result<Action, String> {
    let text = fields.shift_remove("text");
    let rest = serde_json::to_string(&fields).map_err(|error| error.to_string())?;
    let mut turn: pb::NextTurn = json::parse(&rest).map_err(|error| error.to_string())?;
    match (text, &turn.input) {
        (Some(_), Some(_)) => return Err("has a `text` and also what would stand in its place".to_owned()),
        (None, None) => return Err("has neither a `text` nor a `request`".to_owned()),
        (Some(text), None) => {
            let text: String = serde_json::from_str(text.get()).map_err(|error| format!("text: {error}"))?;
            turn.input = Some(pb::next_turn::Input::Request(pb::ExecutionRequest { text, ..base.clone() }));
        }
        (None, Some(_)) => {}
    }
    Ok(Action::Turn(turn))
}

#[cfg(test)]
mod tests;
