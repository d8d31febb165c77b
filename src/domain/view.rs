//! Views: which part of a history is sent. A cut goes between turns only, so that no call loses its result, and what was said by the system
//! stays. It must not know who asked for a view, nor what is stored, which is always the whole history.

use std::borrow::Borrow;

use super::exchange::Exchange;
use super::id::ExchangeId;
use super::message::{Kind, Message, Part, Role};

/// Bytes of text that count as one token. Most are longer; counting too many leaves room.
pub const BYTES_OF_A_TOKEN: usize = 3;
/// What a message takes besides its parts, in tokens.
const TOKENS_OF_A_MESSAGE: u64 = 4;
/// What an image or a file counts for, in tokens.
const TOKENS_OF_A_MEDIUM: u64 = 1_000;

/// Which part of a history is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// So many of the last turns; at least one.
    LastTurns(u32),
    /// From this exchange on, with which a turn begins; from what is left after it, where it was erased.
    From(ExchangeId),
    /// As many of the last turns as have at most so many tokens, as [`tokens`] counts them.
    Tokens(u64),
}

/// A history as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewed {
    /// The messages.
    pub messages: Vec<Message>,
    /// What was left out; absent when nothing was.
    pub cut: Option<Cut>,
    /// Exchanges among what is sent that were erased, and have nothing to say.
    pub erased: usize,
}

/// What a view leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Turns that are not sent.
    pub turns: usize,
    /// Turns that there are, the one at work aside.
    pub of_turns: usize,
    /// Messages that are not sent.
    pub messages: usize,
    /// Messages that there are.
    pub of_messages: usize,
}

/// Why a view of a history cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The exchange is not on the path.
    NotOnPath,
    /// The exchange is in the middle of a turn, which begins with the other one.
    InsideTurn(ExchangeId),
}

/// The part of a path that a view shows. What belongs to a turn that is still at work, whose last answer calls tools, is always part of it,
/// and does not count: so a turn is sent with the same history before it in each of its steps. What was erased says nothing, and counts as no turn.
///
/// # Errors
/// When the view names an exchange that no turn on the path begins with.
pub fn view(path: &[impl Borrow<Exchange>], view: Option<View>) -> Result<Viewed, Error> {
    let whole: Vec<&Exchange> = path.iter().map(Borrow::borrow).collect();
    let path: Vec<&Exchange> = whole.iter().copied().filter(|exchange| exchange.erased.is_none()).collect();
    let turns = turns(&path);
    let at_work = usize::from(path.last().is_some_and(|last| last.is_pending()));
    let done = turns.len().saturating_sub(at_work);
    let mut asked_from = None;
    let first = match view {
        None => 0,
        Some(View::LastTurns(count)) => done.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)),
        Some(View::From(id)) => {
            let from = whole.iter().position(|exchange| exchange.id == id).ok_or(Error::NotOnPath)?;
            asked_from = Some(from);
            let index = whole.iter().take(from).filter(|exchange| exchange.erased.is_none()).count();
            match turns.binary_search(&index) {
                Ok(turn) => turn,
                // In the place of what was erased begins what is left after it.
                Err(turn) if whole.get(from).is_some_and(|exchange| exchange.erased.is_some()) => turn,
                Err(turn) => {
                    let begin = turns.get(turn.saturating_sub(1)).and_then(|begin| path.get(*begin));
                    return Err(begin.map_or(Error::NotOnPath, |begin| Error::InsideTurn(begin.id)));
                }
            }
        }
        Some(View::Tokens(budget)) => {
            let ends = turns.iter().skip(1).copied().chain([path.len()]);
            let sizes: Vec<u64> =
                turns.iter().zip(ends).take(done).map(|(begin, end)| size(&path, *begin, end)).collect();
            let mut left = budget;
            let fits = |size: &&u64| left.checked_sub(**size).map(|rest| left = rest).is_some();
            done.saturating_sub(sizes.iter().rev().take_while(fits).count())
        }
    };
    let begin = turns.get(first).copied().unwrap_or(path.len());
    let shown_from = asked_from.unwrap_or_else(|| match path.get(begin) {
        _ if first == 0 => 0,
        Some(first) => whole.iter().position(|exchange| exchange.id == first.id).unwrap_or(0),
        None => whole.len(),
    });
    let gaps = whole.iter().skip(shown_from).filter(|exchange| exchange.erased.is_some()).count();
    let of_messages = path.iter().map(|exchange| exchange.messages.len() + 1).sum();
    let mut messages = Vec::with_capacity(of_messages);
    for (index, exchange) in path.into_iter().enumerate() {
        if index < begin {
            messages.extend(exchange.messages.iter().filter(|message| message.role == Role::System).cloned());
        } else {
            messages.extend(exchange.messages.iter().chain([&exchange.assistant]).cloned());
        }
    }
    let left_out = of_messages - messages.len();
    let cut = (first > 0).then_some(Cut { turns: first, of_turns: done, messages: left_out, of_messages });
    Ok(Viewed { messages, cut, erased: gaps })
}

/// Where each turn begins. A run whose calls were given up is part of the turn that gave them up.
fn turns(path: &[&Exchange]) -> Vec<usize> {
    let begins = |index: &usize| {
        let turn = |at: usize| path.get(at).map(|exchange| exchange.turn);
        *index == 0 || turn(*index) != turn(*index - 1)
    };
    (0..path.len()).filter(begins).collect()
}

fn size(path: &[&Exchange], begin: usize, end: usize) -> u64 {
    let exchanges = path.get(begin..end).unwrap_or_default();
    let messages = exchanges.iter().flat_map(|exchange| exchange.messages.iter().chain([&exchange.assistant]));
    messages.fold(0, |sum, message| sum.saturating_add(tokens(message)))
}

/// How many tokens a message is taken for: no model is asked, and none counts as another does. One for three bytes of text, four for the
/// message, a thousand for an image or a file.
pub fn tokens(message: &Message) -> u64 {
    message.parts.iter().fold(TOKENS_OF_A_MESSAGE, |sum, part| sum.saturating_add(tokens_of(part)))
}

fn tokens_of(part: &Part) -> u64 {
    match &part.kind {
        Kind::Image(..) | Kind::File(..) => TOKENS_OF_A_MEDIUM,
        Kind::ToolResult(result) => result.parts.iter().fold(0, |sum, part| sum.saturating_add(tokens_of(part))),
        _ => u64::try_from(part.content_bytes().div_ceil(BYTES_OF_A_TOKEN)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests;
