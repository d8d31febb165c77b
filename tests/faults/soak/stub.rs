//! A provider on its bad days: it answers what it was asked, or resets, stalls, refuses, drips, breaks off or talks nonsense. It must not know
//! who asks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::world::World;
use crate::harness::Dice;
use crate::support::provider::{End, Entry, Provider, Request, Step};
use crate::support::stub;

/// A question with a mark that is its own; questions of many sizes.
pub(super) fn question(mark: &str, dice: &mut Dice) -> String {
    let longer = if dice.once_in(12) { dice.roll(600) } else { dice.roll(6) };
    format!("#{mark}# {}", "and so on, ".repeat(usize::try_from(longer).unwrap()))
}

/// The same, to which the model calls the tool `look` before it answers.
pub(super) fn tool_question(mark: &str) -> String {
    format!("#{mark}# look it up")
}

/// What answers a question.
pub(super) fn answer(question: &str) -> String {
    format!("re: {question}")
}

/// The mark of what comes after the results of tools.
pub(super) fn with_results(mark: &str) -> String {
    format!("{mark}/1")
}

/// What answers after the results of tools.
pub(super) fn found(mark: &str) -> String {
    format!("found for {mark}")
}

/// What a request asks, as it is to be answered.
struct Asked {
    mark: String,
    answer: Option<String>,
    streams: bool,
}

fn asked(request: &Request) -> Asked {
    let body = request.json();
    let messages = body["messages"].as_array().expect("messages");
    let said = messages.iter().rev().find(|message| message["role"] == "user").expect("a user's message");
    let said = match &said["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().expect("text").to_owned(),
    };
    let mark = said.split('#').nth(1).expect("a mark").to_owned();
    let streams = body["stream"] == true;
    if messages.last().is_some_and(|last| last["role"] == "tool") {
        let answer = Some(found(&mark));
        return Asked { mark: with_results(&mark), answer, streams };
    }
    let answer = (said != tool_question(&mark)).then(|| answer(&said));
    Asked { mark, answer, streams }
}

/// A right answer.
fn right(asked: &Asked) -> Entry {
    match (&asked.answer, asked.streams) {
        (Some(text), false) => stub::text(text),
        (None, false) => stub::calls(&[("p1", "look", "{}")]),
        (Some(text), true) => {
            let half = text.len() / 2;
            stub::streamed(&[&text[..half], &text[half..]])
        }
        (None, true) => {
            let function = json!({"name": "look", "arguments": "{}"});
            let call = json!({"tool_calls": [{"index": 0, "id": "p1", "type": "function", "function": function}]});
            Entry::events(&[&stub::event(&call, None), &stub::end("tool_calls")])
        }
    }
}

/// The first half of an answer, which ends in this way.
fn half(entry: Entry, end: End) -> Entry {
    let count = entry.steps.len();
    let mut steps = entry.steps;
    match &mut steps[..] {
        [Step::Write(only)] => *only = only.slice(..only.len() / 2),
        _ => steps.truncate(count / 2),
    }
    Entry { steps, end, ..entry }
}

/// In small pieces with a little time between them.
fn dripping(entry: Entry, dice: &mut Dice) -> Entry {
    let mut steps = Vec::new();
    for step in entry.steps {
        let Step::Write(bytes) = step else { continue };
        let piece = bytes.len() / 6 + 1;
        for at in (0..bytes.len()).step_by(piece) {
            steps.push(Step::Write(bytes.slice(at..bytes.len().min(at + piece))));
            steps.push(Step::Gap(Duration::from_millis(dice.roll(30))));
        }
    }
    Entry { steps, ..entry }
}

fn behave(dice: &mut Dice, asked: &Asked) -> Entry {
    let entry = right(asked);
    match dice.roll(48) {
        0 => half(entry, End::Silence),
        1 => half(entry, End::Hold),
        2 => Entry { steps: Vec::new(), end: End::Reset, ..entry },
        3 => half(entry, End::Reset),
        4 => half(entry, End::Cut),
        5 => half(entry, End::Close),
        6 => stub::status(500, "out of order"),
        7 => stub::status(503, "overloaded"),
        8 => stub::status(429, "slow down").header("retry-after", "1"),
        9 => stub::status(429, "slow down"),
        10 => Entry::json("{\"choices\": [{\"message\": {\"content\": "),
        11 => Entry::json("<html>Bad gateway</html>"),
        12..=16 => dripping(entry, dice),
        _ => entry,
    }
}

/// Starts it; it tells the world what it is asked.
pub(super) async fn start(world: Arc<World>, dice: Dice) -> Provider {
    let dice = Mutex::new(dice);
    Provider::deciding(move |request| {
        let asked = asked(request);
        world.ask(&asked.mark);
        if world.is_calm() {
            return right(&asked);
        }
        behave(&mut dice.lock().unwrap(), &asked)
    })
    .await
}
