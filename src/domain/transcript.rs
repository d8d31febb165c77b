//! Cutting a transcript into exchanges, one after each assistant message. It must not know what is stored.

use std::ops::Range;

use super::message::{Message, Role};

/// Why a transcript cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing in it.
    #[error("there are no messages")]
    Empty,
    /// Messages after the last answer belong to no exchange.
    #[error(
        "messages from index {0} on come after the last assistant message: leave them out, or send them with Continue"
    )]
    Trailing(usize),
    /// The last answer calls tools, and the transcript has no results.
    #[error("the last assistant message, at index {0}, calls tools and the transcript has no results for them")]
    Unanswered(usize),
}

/// One exchange of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The messages that it added.
    pub messages: Range<usize>,
    /// The index of its answer.
    pub assistant: usize,
}

/// Cuts after each assistant message.
///
/// # Errors
/// When messages follow the last assistant message, or it calls tools.
pub fn cut(messages: &[Message]) -> Result<Vec<Cut>, Error> {
    if messages.is_empty() {
        return Err(Error::Empty);
    }
    let mut cuts = Vec::new();
    let mut start = 0;
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            cuts.push(Cut { messages: start..index, assistant: index });
            start = index + 1;
        }
    }
    if start < messages.len() {
        return Err(Error::Trailing(start));
    }
    match messages.last() {
        Some(last) if last.tool_calls().next().is_some() => Err(Error::Unanswered(messages.len() - 1)),
        _ => Ok(cuts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role) -> Message {
        Message::text(role, "x")
    }

    #[test]
    fn cuts_after_each_answer() {
        let messages =
            [said(Role::System), said(Role::User), said(Role::Assistant), said(Role::User), said(Role::Assistant)];
        let cuts = cut(&messages).unwrap();
        assert_eq!(cuts, [Cut { messages: 0..2, assistant: 2 }, Cut { messages: 3..4, assistant: 4 }]);
    }

    #[test]
    fn trailing_messages_are_named_by_index() {
        assert_eq!(cut(&[said(Role::User), said(Role::Assistant), said(Role::User)]), Err(Error::Trailing(2)));
        assert_eq!(cut(&[said(Role::User)]), Err(Error::Trailing(0)));
        assert_eq!(cut(&[]), Err(Error::Empty));
    }
}
