//! Results of tools in the order of their calls, for dialects in which a result is known by its place. It must not know any of them.

use crate::domain::id::CallId;
use crate::domain::message::{Kind, Message, Part, Role};

/// The messages with the results of each batch in the order of its calls; absent when they are in that order already.
pub(crate) fn in_order_of_calls(messages: &[Message]) -> Option<Vec<Message>> {
    let mut ordered: Option<Vec<Message>> = None;
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        at += 1;
        if message.role != Role::Assistant {
            continue;
        }
        let calls: Vec<&CallId> = message.tool_calls().map(|call| &call.call_id).collect();
        let rest = messages.get(at..).unwrap_or_default();
        let batch =
            rest.get(..rest.iter().take_while(|message| message.role == Role::Tool).count()).unwrap_or_default();
        let place = |part: &&Part| match &part.kind {
            Kind::ToolResult(result) => calls.iter().position(|call| **call == result.call_id),
            _ => None,
        };
        let parts: Vec<&Part> = batch.iter().flat_map(|message| &message.parts).collect();
        if !parts.is_sorted_by_key(place) {
            let mut sorted = parts;
            sorted.sort_by_key(place);
            let mut sorted = sorted.into_iter().cloned();
            let copy = ordered.get_or_insert_with(|| messages.to_vec());
            for part in copy.iter_mut().skip(at).take(batch.len()).flat_map(|message| &mut message.parts) {
                if let Some(next) = sorted.next() {
                    *part = next;
                }
            }
        }
        at += batch.len();
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::wire::sample::{result, said, tool_call, user};

    fn answered(results: &[&str]) -> Vec<Message> {
        let calls = ["a", "b", "c"].map(|id| Part::new(tool_call(id, "", "w", "{}")));
        let mut messages = vec![user("x"), said(Role::Assistant, calls.to_vec())];
        messages.extend(results.iter().map(|id| result(id, vec![Part::text(*id)])));
        messages.push(user("y"));
        messages
    }

    #[test]
    fn results_come_in_the_order_of_their_calls() {
        assert_eq!(in_order_of_calls(&answered(&["a", "b", "c"])), None);
        assert_eq!(in_order_of_calls(&answered(&["c", "a", "b"])), Some(answered(&["a", "b", "c"])));
    }

    #[test]
    fn each_batch_is_by_itself_and_may_be_one_message() {
        let mut messages = answered(&["a", "b", "c"]);
        let mut reversed = answered(&["c", "b", "a"]);
        let parts: Vec<Part> = reversed.drain(2..5).flat_map(|message| message.parts).collect();
        reversed.insert(2, said(Role::Tool, parts));
        messages.extend(reversed);
        let ordered = in_order_of_calls(&messages).unwrap();
        assert_eq!(ordered[..6], messages[..6]);
        let ids: Vec<&str> = ordered[8].tool_results().map(|result| result.call_id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}
