use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::domain::drift::Lineage;
use crate::domain::exchange::{Erased, Origin, Responder};
use crate::domain::id::{CallId, Hash, Moment};
use crate::domain::message::{Media, ToolCall, ToolResult};
use crate::domain::run::StopReason;
use crate::domain::settings::Validation;
use crate::domain::usage::Usage;

fn id(number: usize) -> ExchangeId {
    ExchangeId::from_bytes([u8::try_from(number).unwrap(); 16])
}

fn exchange(number: usize, turn: u64, messages: Vec<Message>, assistant: Message) -> Exchange {
    Exchange {
        id: id(number),
        parent: None,
        continues: None,
        continues_run: None,
        run_id: None,
        depth: 1,
        turn,
        thread_id: None,
        origin: Origin::Executed,
        messages,
        assistant,
        stop_reason: StopReason::Stop,
        stop_reason_raw: String::new(),
        offered: None,
        standing: None,
        workspace: Default::default(),
        head_before: Default::default(),
        lineage: Lineage::Unknown,
        settings: Vec::new(),
        validation: Validation::default(),
        usage: Usage::default(),
        observations: Vec::new(),
        warnings: Vec::new(),
        responder: Responder::default(),
        content_hash: Hash([0; 32]),
        labels: BTreeMap::new(),
        created_at: Moment(0),
        erased: None,
    }
}

fn gone(exchange: Exchange) -> Exchange {
    let erased = Erased { receipt: "receipt".to_owned(), at: Moment(0), by: String::new() };
    Exchange { erased: Some(erased), messages: Vec::new(), ..exchange }
}

fn calling(number: usize) -> Message {
    let call = ToolCall {
        call_id: CallId::new(format!("c{number}")),
        provider_call_id: String::new(),
        name: "look".to_owned(),
        arguments_json: "{}".to_owned(),
        arguments_invalid: false,
    };
    Message { role: Role::Assistant, parts: vec![Part::new(Kind::ToolCall(call))] }
}

fn result(number: usize) -> Message {
    let call_id = CallId::new(format!("c{number}"));
    let result = ToolResult { call_id, parts: vec![Part::text("seen")], is_error: false, interrupted: false };
    Message { role: Role::Tool, parts: vec![Part::new(Kind::ToolResult(result))] }
}

/// A turn for each count of rounds of tools; the first one begins with a word of the system. The last one is still at work when told so.
fn path(rounds: &[usize], at_work: bool) -> Vec<Exchange> {
    let mut path = Vec::new();
    for (index, rounds) in rounds.iter().enumerate() {
        let turn = u64::try_from(index).unwrap() + 1;
        let brief = Message::text(Role::System, "brief");
        let mut messages: Vec<Message> = (index == 0).then_some(brief).into_iter().collect();
        messages.push(Message::text(Role::User, format!("q{turn}")));
        for _ in 0..*rounds {
            let number = path.len() + 1;
            let asked = std::mem::replace(&mut messages, vec![result(number)]);
            path.push(exchange(number, turn, asked, calling(number)));
        }
        let answer = Message::text(Role::Assistant, format!("a{turn}"));
        path.push(exchange(path.len() + 1, turn, messages, answer));
    }
    // The last answer is not there yet, where one was to come after calls.
    if at_work && rounds.last().is_some_and(|rounds| *rounds > 0) {
        path.pop();
    }
    path
}

fn texts(viewed: &Viewed) -> Vec<String> {
    viewed.messages.iter().map(|message| format!("{:?} {}", message.role, message.joined_text())).collect()
}

#[test]
fn nothing_is_left_out_unasked_nor_where_all_fits() {
    let whole = view(&path(&[1, 0, 2], false), None).unwrap();
    assert_eq!((whole.messages.len(), whole.cut), (13, None));
    for asked in [View::LastTurns(3), View::LastTurns(u32::MAX), View::Tokens(u64::MAX), View::From(id(1))] {
        assert_eq!(view(&path(&[1, 0, 2], false), Some(asked)).unwrap(), whole, "{asked:?}");
    }
    assert_eq!(view(&path(&[], false), Some(View::LastTurns(1))).unwrap().messages, []);
}

#[test]
fn the_last_turns_stay_whole_and_the_system_is_heard() {
    let viewed = view(&path(&[1, 0, 1], false), Some(View::LastTurns(2))).unwrap();
    assert_eq!(texts(&viewed)[..3], ["System brief", "User q2", "Assistant a2"]);
    assert_eq!(viewed.messages.len(), 7);
    assert_eq!(viewed.cut, Some(Cut { turns: 1, of_turns: 3, messages: 4, of_messages: 11 }));
}

#[test]
fn an_exchange_must_begin_a_turn_of_the_path() {
    let from = |number| view(&path(&[1, 0, 1], false), Some(View::From(id(number))));
    assert_eq!(texts(&from(3).unwrap())[..2], ["System brief", "User q2"]);
    assert_eq!(from(2), Err(Error::InsideTurn(id(1))));
    assert_eq!(from(9), Err(Error::NotOnPath));
}

#[test]
fn what_was_erased_is_a_gap_that_a_view_can_begin_in() {
    let with_gaps = |rounds: &[usize], numbers: &[usize]| -> Vec<Exchange> {
        let gap =
            |exchange: Exchange| if numbers.iter().any(|n| id(*n) == exchange.id) { gone(exchange) } else { exchange };
        path(rounds, false).into_iter().map(gap).collect()
    };
    let seen = |path: &[Exchange], from| {
        let viewed = view(path, Some(View::From(id(from)))).unwrap();
        let asked: Vec<String> = texts(&viewed).into_iter().filter(|text| text.starts_with("User")).collect();
        (asked, viewed.erased, viewed.cut.map(|cut| cut.turns))
    };
    let turns = with_gaps(&[0, 0, 0, 0], &[2, 4]);
    assert_eq!(seen(&turns, 1), (vec!["User q1".to_owned(), "User q3".to_owned()], 2, None));
    assert_eq!(seen(&turns, 2), (vec!["User q3".to_owned()], 2, Some(1)));
    assert_eq!(seen(&turns, 3), (vec!["User q3".to_owned()], 1, Some(1)));
    assert_eq!(seen(&turns, 4), (Vec::new(), 1, Some(2)), "nothing is left after it");
    let last = view(&turns, Some(View::LastTurns(1))).unwrap();
    assert_eq!((last.erased, last.cut.map(|cut| cut.turns)), (1, Some(1)));
    // In the middle of a turn, the next one is the first that is whole.
    let turns = with_gaps(&[2, 0], &[2]);
    assert_eq!(seen(&turns, 2), (vec!["User q2".to_owned()], 1, Some(1)));
}

#[test]
fn a_budget_takes_whole_turns_from_the_end() {
    // Two messages of two bytes: one token each, and four for each message.
    let of_turn = 10;
    let fitting = |budget| {
        let viewed = view(&path(&[0, 0, 0], false), Some(View::Tokens(budget))).unwrap();
        viewed.messages.iter().filter(|message| message.role == Role::User).count()
    };
    assert_eq!([of_turn - 1, of_turn, 2 * of_turn, 3 * of_turn].map(fitting), [0, 1, 2, 2]);
    assert_eq!(fitting(3 * of_turn + 6), 3, "the first one has the system's word as well");
}

#[test]
fn media_count_by_the_piece() {
    let image = Part::new(Kind::Image(Media::Inline("image/png".to_owned(), vec![0; 90_000].into()), String::new()));
    let message = Message { role: Role::User, parts: vec![image, Part::text("abcd")] };
    assert_eq!(tokens(&message), 4 + 1_000 + 2);
}

#[test]
fn the_turn_at_work_is_never_cut_and_does_not_count() {
    let viewed = view(&path(&[0, 0, 2], true), Some(View::LastTurns(1))).unwrap();
    let expected = ["System brief", "User q2", "Assistant a2", "User q3", "Assistant ", "Tool ", "Assistant "];
    assert_eq!(texts(&viewed), expected);
    let viewed = view(&path(&[0, 0, 2], true), Some(View::Tokens(1))).unwrap();
    assert_eq!(texts(&viewed)[..2], ["System brief", "User q3"]);
}

proptest! {
    /// B062, for paths of every shape: a call is followed by its result, a result follows its call, nobody but the system or the user begins,
    /// and what is sent ends with what the whole ends with.
    #[test]
    fn no_pair_is_cut(rounds in prop::collection::vec(0..3_usize, 1..8), count in 1..9_u32, budget: u8, at_work: bool) {
        let whole = view(&path(&rounds, at_work), None).unwrap().messages;
        for asked in [View::LastTurns(count), View::Tokens(budget.into())] {
            let sent = view(&path(&rounds, at_work), Some(asked)).unwrap().messages;
            for (at, message) in sent.iter().enumerate() {
                let calls: Vec<_> = message.tool_calls().map(|call| call.call_id.clone()).collect();
                if let Some(next) = sent.get(at + 1) {
                    prop_assert_eq!(calls, next.tool_results().map(|result| result.call_id.clone()).collect::<Vec<_>>());
                }
            }
            prop_assert!(sent.first().is_none_or(|first| matches!(first.role, Role::System | Role::User)));
            let spoken: Vec<&Message> = sent.iter().skip_while(|message| message.role == Role::System).collect();
            prop_assert!(whole.iter().rev().zip(spoken.iter().rev()).all(|(one, other)| one == *other));
        }
    }
}
