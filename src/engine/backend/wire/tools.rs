//! Calls of tools and their results, as far as dialects write them alike: ids that tell calls apart, arguments that are an object, parts that a
//! result can have. It must not know where they stand in a body.

use std::collections::{HashMap, HashSet};

use super::reader;
use super::writer::Writer;
use super::{Adaptations, unsupported};
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Part, ToolCall, ToolResult};
use crate::engine::backend::Failure;

/// The ids of calls that were written so far: the providers' where they tell calls apart and fit, else ours.
#[derive(Default)]
pub(crate) struct CallIds<'a> {
    wire: HashMap<&'a CallId, String>,
    used: HashSet<&'a str>,
}

/// Which ids a server takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IdForm {
    /// Any.
    Any,
    /// Letters and digits, exactly so many.
    Exactly(usize),
    /// At most so many bytes.
    AtMost(usize),
}

impl IdForm {
    fn cut(self, id: &str) -> Option<String> {
        let length = match self {
            Self::Any => return None,
            Self::Exactly(length) if id.len() == length && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                return None;
            }
            Self::AtMost(length) if id.len() <= length => return None,
            Self::Exactly(length) | Self::AtMost(length) => length,
        };
        Some(blake3::hash(id.as_bytes()).to_hex().chars().take(length).collect())
    }
}

impl<'a> CallIds<'a> {
    /// The id of a call. `here` has those that were given in its message; `unique` asks that none goes out twice in the whole history.
    pub(crate) fn give(
        &mut self,
        call: &'a ToolCall,
        here: &mut HashSet<&'a str>,
        (unique, form): (bool, IdForm),
        adapted: &mut Adaptations,
    ) -> String {
        let given = call.provider_call_id.as_str();
        let repeats = !here.insert(given) || unique && self.used.contains(given);
        let mut id = if given.is_empty() || repeats { call.call_id.as_str() } else { given }.to_owned();
        if repeats && !given.is_empty() {
            adapted.add("call_id_replaced");
        }
        if let Some(cut) = form.cut(&id) {
            adapted.add("call_id_replaced");
            id = cut;
        }
        self.used.insert(given);
        self.wire.insert(&call.call_id, id.clone());
        id
    }

    /// The same id for the result.
    pub(crate) fn of<'s>(&'s self, call_id: &'s CallId) -> &'s str {
        self.wire.get(call_id).map_or(call_id.as_str(), String::as_str)
    }
}

/// Arguments as an object: the model's own bytes, order and digits included, and those that are none wrapped in one.
pub(crate) fn arguments(arguments: &str, out: &mut Writer, adapted: &mut Adaptations) {
    if !reader::is_object(arguments) {
        adapted.add("invalid_arguments_wrapped");
        out.object(|out| out.key("invalid_arguments").text(arguments));
    } else {
        out.json(arguments);
    }
}

/// The same as a text that holds the object; as they are where that is wanted.
pub(crate) fn arguments_text(arguments: &str, verbatim: bool, out: &mut Writer, adapted: &mut Adaptations) {
    if verbatim || reader::is_object(arguments) {
        out.text(arguments);
        return;
    }
    let mut wrapped = Writer::new();
    self::arguments(arguments, &mut wrapped, adapted);
    out.text(&String::from_utf8_lossy(&wrapped.into_bytes()));
}

/// The result that a part of a tool message is.
///
/// # Errors
/// When it is none.
pub(crate) fn result_in(part: &Part) -> Result<&ToolResult, Failure> {
    match &part.kind {
        Kind::ToolResult(result) => Ok(result),
        _ => Err(unsupported("messages.parts", "a tool message has a part that is no result")),
    }
}

/// The parts of a result that are sent with it. Images and files go where `moved` says, if it says so.
///
/// # Errors
/// When it has parts that results cannot have.
pub(crate) fn parts_of<'a>(
    result: &'a ToolResult,
    mut moved: Option<&mut Vec<&'a Part>>,
    adapted: &mut Adaptations,
) -> Result<Vec<&'a Part>, Failure> {
    let mut sent = Vec::new();
    for part in &result.parts {
        match (&part.kind, &mut moved) {
            (Kind::Image(..) | Kind::File(..), Some(moved)) => {
                adapted.add("tool_result_media_moved");
                moved.push(part);
            }
            (Kind::Text(text), _) if text.is_empty() && result.parts.len() > 1 => adapted.add("empty_text_dropped"),
            (Kind::Text(_) | Kind::Image(..) | Kind::File(..), _) => sent.push(part),
            (Kind::Unknown(..), _) => adapted.add("unknown_parts_dropped"),
            (Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Reasoning(_) | Kind::Refusal(_), _) => {
                return Err(unsupported("messages.parts", "a tool result has a part that results cannot have"));
            }
        }
    }
    if result.is_error {
        // The dialects that write results so have no flag for it; the text is the tool's own.
        adapted.add("tool_error_flag_dropped");
    }
    Ok(sent)
}
