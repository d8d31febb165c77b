//! Pairing of tool calls and results (rule 11): each call of an assistant message is answered by exactly one result before any later
//! message. It must not know how a provider wants results grouped.

use super::id::CallId;
use super::message::{Kind, Message, Part, Role, ToolCall, ToolResult};

/// Why results and calls do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A message, or the end, came before every call was answered.
    #[error("tool calls are not answered: {}", list(call_ids))]
    Unanswered {
        /// The index of the message that came too early; the count of messages for the end.
        index: usize,
        /// The calls without a result.
        call_ids: Vec<CallId>,
    },
    /// A result answers no open call.
    #[error("result for `{call_id}`, which is no open tool call")]
    Unknown {
        /// The index of its message.
        index: usize,
        /// The id that it names.
        call_id: CallId,
    },
    /// A call is answered twice.
    #[error("second result for tool call `{call_id}`")]
    Duplicate {
        /// The index of the second one's message.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// Two calls of one message have the same id, so that results could not be told apart.
    #[error("two tool calls of one message share the id `{call_id}`")]
    SharedId {
        /// The index of the message.
        index: usize,
        /// The id.
        call_id: CallId,
    },
}

fn list(ids: &[CallId]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

/// Calls that wait for results. Results may name them by our id or, where that is unique among them, by the one they came with.
struct Open {
    calls: Vec<(ToolCall, bool)>,
    /// The ids that an inline transcript gave to the calls, before they got ours.
    aliases: Vec<CallId>,
}

impl Open {
    fn new(calls: &[ToolCall]) -> Self {
        Self {
            calls: calls.iter().map(|call| (call.clone(), false)).collect(),
            aliases: calls.iter().map(|call| CallId::new(call.provider_call_id.clone())).collect(),
        }
    }

    fn unanswered(&self) -> Vec<CallId> {
        self.calls.iter().filter(|(_, answered)| !answered).map(|(call, _)| call.call_id.clone()).collect()
    }

    fn answer(&mut self, index: usize, named: &CallId) -> Result<CallId, Error> {
        let by_id = self.calls.iter().position(|(call, _)| call.call_id == *named);
        let mut by_alias = self.aliases.iter().enumerate().filter(|(_, alias)| *alias == named).map(|(at, _)| at);
        let found = by_id.or_else(|| match (by_alias.next(), by_alias.next()) {
            (Some(at), None) => Some(at),
            _ => None,
        });
        match found.and_then(|at| self.calls.get_mut(at)) {
            None => Err(Error::Unknown { index, call_id: named.clone() }),
            Some((call, true)) => Err(Error::Duplicate { index, call_id: call.call_id.clone() }),
            Some((call, answered)) => {
                *answered = true;
                Ok(call.call_id.clone())
            }
        }
    }
}

/// Messages whose calls carry our ids and whose results refer to them, with the calls that are open at their end.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// The messages.
    pub messages: Vec<Message>,
    /// Calls of a last assistant message that nothing answers.
    pub open: Vec<ToolCall>,
}

/// Checks messages that follow an answer with the calls `open`, gives each new call an id of ours (the one it came with is kept for the
/// wire), and lets results refer to that.
///
/// # Errors
/// When a result fits no call or a second one, and when a message comes before every call is answered. Calls of a last assistant message
/// may stay open; results for calls of the parent may not.
pub fn pair(open: &[ToolCall], messages: Vec<Message>, mut new_id: impl FnMut() -> CallId) -> Result<Paired, Error> {
    let mut waiting = Open::new(open);
    let mut paired = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let Message { role, mut parts } = message;
        if role != Role::Tool {
            let call_ids = waiting.unanswered();
            if !call_ids.is_empty() {
                return Err(Error::Unanswered { index, call_ids });
            }
        }
        match role {
            Role::Tool => {
                for part in &mut parts {
                    if let Kind::ToolResult(result) = &mut part.kind {
                        result.call_id = waiting.answer(index, &result.call_id)?;
                    }
                }
            }
            Role::Assistant => waiting = adopt(index, &mut parts, &mut new_id)?,
            Role::System | Role::User => {}
        }
        paired.push(Message { role, parts });
    }
    let ends_in_calls = paired.last().is_some_and(|message| message.role == Role::Assistant);
    let call_ids = waiting.unanswered();
    if !call_ids.is_empty() && !ends_in_calls {
        return Err(Error::Unanswered { index: paired.len(), call_ids });
    }
    let open = if ends_in_calls { waiting.calls.into_iter().map(|(call, _)| call).collect() } else { Vec::new() };
    Ok(Paired { messages: paired, open })
}

fn adopt(index: usize, parts: &mut [Part], new_id: &mut impl FnMut() -> CallId) -> Result<Open, Error> {
    let mut open = Open { calls: Vec::new(), aliases: Vec::new() };
    for part in parts {
        if let Kind::ToolCall(call) = &mut part.kind {
            let given = std::mem::replace(&mut call.call_id, new_id());
            if !given.as_str().is_empty() && open.aliases.contains(&given) {
                return Err(Error::SharedId { index, call_id: given });
            }
            if call.provider_call_id.is_empty() {
                call.provider_call_id = given.as_str().to_owned();
            }
            open.aliases.push(given);
            open.calls.push((call.clone(), false));
        }
    }
    Ok(open)
}

/// Lets results that name calls by other ids, each given with the call's own, name the calls.
pub fn rename_results(messages: &mut [Message], names: &[(CallId, CallId)]) {
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        if let Kind::ToolResult(result) = &mut part.kind
            && let Some((_, own)) = names.iter().find(|(given, _)| *given == result.call_id)
        {
            result.call_id = own.clone();
        }
    }
}

/// A tool message that marks each call as given up, for a prompt that goes on without its results.
pub fn interruption(calls: &[ToolCall]) -> Message {
    let result = |call: &ToolCall| {
        Part::new(Kind::ToolResult(ToolResult {
            call_id: call.call_id.clone(),
            parts: vec![Part::text("The call was interrupted before it gave a result.")],
            is_error: true,
            interrupted: true,
        }))
    };
    Message { role: Role::Tool, parts: calls.iter().map(result).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, provider: &str) -> ToolCall {
        ToolCall {
            call_id: CallId::new(id),
            provider_call_id: provider.to_owned(),
            name: "w".to_owned(),
            arguments_json: "{}".to_owned(),
            arguments_invalid: false,
        }
    }

    fn asking(calls: &[ToolCall]) -> Message {
        let parts = calls.iter().map(|call| Part::new(Kind::ToolCall(call.clone()))).collect();
        Message { role: Role::Assistant, parts }
    }

    fn answering(ids: &[&str]) -> Message {
        let result = |id: &&str| {
            Part::new(Kind::ToolResult(ToolResult {
                call_id: CallId::new(*id),
                parts: vec![Part::text("42")],
                is_error: false,
                interrupted: false,
            }))
        };
        Message { role: Role::Tool, parts: ids.iter().map(result).collect() }
    }

    fn ids() -> impl FnMut() -> CallId {
        let mut next = 0;
        move || {
            next += 1;
            CallId::new(format!("ours-{next}"))
        }
    }

    #[test]
    fn results_answer_the_parents_calls_in_any_order_and_over_several_messages() {
        let open = [call("a", "p1"), call("b", "p2")];
        let messages = vec![answering(&["p2"]), answering(&["a"]), Message::text(Role::User, "go on")];
        let paired = pair(&open, messages, ids()).unwrap();
        let named: Vec<_> =
            paired.messages.iter().flat_map(Message::tool_results).map(|r| r.call_id.as_str()).collect();
        assert_eq!(named, ["b", "a"]);
    }

    #[test]
    fn a_prompt_over_open_calls_is_refused_with_their_ids() {
        let refused = pair(&[call("a", "")], vec![Message::text(Role::User, "hello")], ids());
        assert_eq!(refused, Err(Error::Unanswered { index: 0, call_ids: vec![CallId::new("a")] }));
    }

    #[test]
    fn one_result_for_two_calls_is_refused() {
        let refused = pair(&[call("a", ""), call("b", "")], vec![answering(&["a"])], ids());
        assert_eq!(refused, Err(Error::Unanswered { index: 1, call_ids: vec![CallId::new("b")] }));
    }

    #[test]
    fn two_results_for_one_call_are_refused() {
        let refused = pair(&[call("a", "")], vec![answering(&["a", "a"])], ids());
        assert_eq!(refused, Err(Error::Duplicate { index: 0, call_id: CallId::new("a") }));
    }

    #[test]
    fn a_result_for_nothing_is_refused() {
        let refused = pair(&[], vec![answering(&["z"])], ids());
        assert_eq!(refused, Err(Error::Unknown { index: 0, call_id: CallId::new("z") }));
    }

    #[test]
    fn ids_that_repeat_in_later_messages_get_their_own_and_keep_the_old_for_the_wire() {
        // Some servers number the calls of each answer from zero.
        let messages = vec![
            asking(&[call("list:0", "")]),
            answering(&["list:0"]),
            asking(&[call("list:0", "")]),
            answering(&["list:0"]),
        ];
        let paired = pair(&[], messages, ids()).unwrap();
        let calls: Vec<_> = paired.messages.iter().flat_map(Message::tool_calls).collect();
        assert_eq!(calls.iter().map(|c| c.call_id.as_str()).collect::<Vec<_>>(), ["ours-1", "ours-2"]);
        assert!(calls.iter().all(|c| c.provider_call_id == "list:0"));
        let results: Vec<_> =
            paired.messages.iter().flat_map(Message::tool_results).map(|r| r.call_id.as_str()).collect();
        assert_eq!(results, ["ours-1", "ours-2"]);
    }

    #[test]
    fn calls_of_a_last_answer_stay_open() {
        let paired = pair(&[], vec![asking(&[call("x", "")])], ids()).unwrap();
        assert_eq!(paired.open.len(), 1);
    }

    #[test]
    fn two_calls_of_one_message_may_not_share_an_id() {
        let refused = pair(&[], vec![asking(&[call("x", ""), call("x", "")])], ids());
        assert_eq!(refused, Err(Error::SharedId { index: 0, call_id: CallId::new("x") }));
    }

    #[test]
    fn given_up_calls_are_each_answered_once() {
        let open = [call("a", ""), call("b", "")];
        assert!(pair(&open, vec![interruption(&open), Message::text(Role::User, "else")], ids()).is_ok());
    }
}
