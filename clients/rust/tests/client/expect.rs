//! Results in the words of the scenarios, and whether what is expected is a part of them. Knows nothing of how they came about.

use antiphon_client::{
    CallTools, Change, ChangeKind, ConfiguredBackend, ConfiguredProfile, ConfiguredPrompt, Coordination, Decision,
    Difference, Document, DocumentChange, DocumentContent, Drift, Exchange, Explanation, Hit, Inspection, Message,
    Move, Node, OfferedTool, Outcome, Prepared, Probe, Recorded, Run, Thread, ToolOccurrence, UsageSum,
    WorkspaceVersion, Written,
};
use serde_json::{Map, Value, json};

pub(crate) fn exchange(found: &Exchange) -> Value {
    let calls = found
        .tool_calls
        .iter()
        .map(|call| json!({"call_id": call.call_id, "name": call.name, "arguments_json": call.arguments}));
    json!({
        "exchange_id": found.exchange_id, "parent_exchange_id": found.parent_exchange_id, "run_id": found.run_id,
        "thread_id": found.thread_id, "turn": found.turn, "text": found.text, "stop_reason": found.stop_reason.to_string(),
        "validation": found.validation.to_string(), "captured": found.captured, "tool_calls": calls.collect::<Vec<_>>(),
        "tools": names(&found.tools), "standing_tools": names(&found.standing_tools),
        "warnings": found.warnings.iter().map(|warning| &warning.code).collect::<Vec<_>>(),
        "profile": found.profile(), "model": found.model(), "messages": transcript(&found.messages),
    })
}

pub(crate) fn probe(found: &Probe) -> Value {
    json!({
        "text": found.text, "stop_reason": found.stop_reason.to_string(), "run_id": found.run_id,
        "messages": transcript(&found.messages),
    })
}

pub(crate) fn recorded(found: &Recorded) -> Value {
    json!({
        "exchange_id": found.exchange_id, "exchange_ids": found.exchange_ids, "stored": found.stored,
        "matched": found.matched,
    })
}

pub(crate) fn inspection(found: &Inspection) -> Value {
    json!({"messages": transcript(&found.messages), "path": found.path})
}

pub(crate) fn outcome(found: &Outcome) -> Value {
    json!({
        "state": found.state.to_string(),
        "undelivered": found.undelivered.as_ref().map(|exchange| &exchange.text),
    })
}

pub(crate) fn thread(found: &Thread) -> Value {
    json!({
        "id": found.thread_id, "name": found.name, "head": found.head_exchange_id, "turn_count": found.turn_count,
    })
}

pub(crate) fn run(found: &Run) -> Value {
    json!({
        "id": found.run_id, "state": found.state.to_string(), "exchange_id": found.exchange_id,
        "captured": found.captured, "attempt": found.attempt, "model_calls": found.model_calls,
    })
}

pub(crate) fn coordination(found: &Coordination) -> Value {
    json!({
        "id": found.coordination_id, "state": found.state.to_string(), "exchange_id": found.exchange_id,
        "turns_started": found.turns_started, "turns_remaining": found.turns_remaining,
        "token_limit": found.token_limit, "cost_limit": found.cost_limit,
        "spent": { "tokens": found.spent.tokens, "costs": found.spent.costs },
    })
}

pub(crate) fn decision(found: &Decision) -> Value {
    json!({
        "exchange": exchange(&found.exchange), "starting": found.starting, "stop_reason": found.stop_reason.to_string(),
        "turns_started": found.turns_started, "turns_remaining": found.turns_remaining, "thread_id": found.thread_id,
    })
}

pub(crate) fn node(found: &Node) -> Value {
    json!({
        "exchange_id": found.exchange_id, "turn": found.turn, "user": found.user, "assistant": found.assistant,
    })
}

pub(crate) fn hit(found: &Hit) -> Value {
    let exchange_id = found.exchange.as_ref().map(|node| node.exchange_id.as_str()).unwrap_or_default();
    json!({"exchange_id": exchange_id, "run_id": found.run_id})
}

pub(crate) fn difference(found: &Difference) -> Value {
    let message = |change: &Change<Message>| {
        let mut shown = json!({"kind": change.kind.to_string()});
        for (side, message) in [("left", &change.left), ("right", &change.right)] {
            if let Some(message) = message {
                shown[side] = json!(message.text);
            }
        }
        shown
    };
    let settings = found.settings.iter().map(|change| {
        (change.name.clone(), json!({"kind": change.kind.to_string(), "left": change.left, "right": change.right}))
    });
    json!({
        "common_ancestor_exchange_id": found.common_ancestor_exchange_id, "left_count": found.left_count,
        "right_count": found.right_count, "messages": found.messages.iter().map(message).collect::<Vec<_>>(),
        "settings": settings.collect::<Map<_, _>>(),
        "tools": kinds(found.tools.iter().map(|change| (&change.name, change.kind))),
        "documents": kinds(found.documents.iter().map(|change| (&change.name, change.kind))),
    })
}

fn kinds<'a>(changes: impl Iterator<Item = (&'a String, ChangeKind)>) -> Map<String, Value> {
    changes.map(|(name, kind)| (name.clone(), json!({"kind": kind.to_string()}))).collect()
}

pub(crate) fn document(found: &Document) -> Value {
    let metadata = found.metadata.as_ref().map(|said| serde_json::from_str::<Value>(said.get()).expect("JSON"));
    json!({
        "name": found.name, "media_type": found.media_type, "size_bytes": found.size_bytes,
        "content_blake3": found.content_blake3, "metadata": metadata,
    })
}

pub(crate) fn version(found: &WorkspaceVersion) -> Value {
    json!({
        "root": found.root, "document_count": found.document_count, "size_bytes": found.size_bytes, "etag": found.etag,
    })
}

pub(crate) fn content(found: &DocumentContent) -> Value {
    let text = found.text().expect("a text");
    json!({"text": text, "document": document(&found.document), "version": version(&found.version)})
}

pub(crate) fn written(found: &Written) -> Value {
    let documents: Vec<Value> = found.documents.iter().map(document).collect();
    json!({"version": version(&found.version), "documents": documents, "replayed": found.replayed})
}

pub(crate) fn change(found: &DocumentChange) -> Value {
    json!({
        "name": found.name, "kind": found.kind.to_string(), "left": found.left.as_ref().map(document),
        "right": found.right.as_ref().map(document), "unified_diff": found.unified_diff,
    })
}

pub(crate) fn moved(found: &Move) -> Value {
    json!({
        "from": found.from_exchange_id, "to": found.to_exchange_id, "run_id": found.run_id,
        "from_root": found.from_root, "to_root": found.to_root,
    })
}

pub(crate) fn usage(found: &UsageSum) -> Value {
    json!({
        "run_count": found.run_count, "input_tokens": found.usage.input_tokens,
        "output_tokens": found.usage.output_tokens,
    })
}

pub(crate) fn explanation(found: &Explanation) -> Value {
    let settings = found.settings.iter().map(|(name, setting)| (name.clone(), setting.value.clone()));
    json!({
        "messages": transcript(&found.messages), "settings": settings.collect::<Map<_, _>>(),
        "tools": names(&found.tools), "matches": found.matches,
    })
}

pub(crate) fn prepared(found: &Prepared) -> Value {
    json!({"run_id": found.run_id, "messages": transcript(&found.explanation.messages)})
}

pub(crate) fn call_tools(found: &CallTools) -> Value {
    json!({
        "offered": names(&found.offered), "standing": names(&found.standing), "called": found.called,
        "drifts": found.drifts.iter().map(|drift| &drift.name).collect::<Vec<_>>(),
    })
}

pub(crate) fn occurrence(found: &ToolOccurrence) -> Value {
    json!({"exchange_id": found.exchange_id, "offered": found.offered})
}

pub(crate) fn drift(found: &Drift) -> Value {
    json!({
        "name": found.name, "previous_exchange_id": found.previous_exchange_id, "exchange_id": found.exchange_id,
    })
}

pub(crate) fn configured_prompt(found: &ConfiguredPrompt) -> Value {
    json!({
        "id": found.prompt_id, "description": found.description, "variables": found.variables,
        "required": found.required,
    })
}

pub(crate) fn configured_profile(found: &ConfiguredProfile) -> Value {
    json!({
        "id": found.profile_id, "backend": found.backend_id, "model": found.model, "default": found.is_default,
    })
}

pub(crate) fn configured_backend(found: &ConfiguredBackend) -> Value {
    json!({"id": found.backend_id, "kind": found.kind, "capacity": found.capacity})
}

fn names(tools: &[OfferedTool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn transcript(messages: &[Message]) -> Vec<Value> {
    let shown = |message: &Message| {
        let results: String = message.tool_results.iter().map(|result| result.text.as_str()).collect();
        json!({"role": message.role.to_string(), "text": format!("{}{results}", message.text)})
    };
    messages.iter().map(shown).collect()
}

/// Whether what is expected is a part of what was found.
pub(crate) fn part(expected: &Value, found: &Value, place: &str) -> Result<(), String> {
    match expected {
        Value::Object(fields) => match fields.iter().next() {
            Some((key, value)) if fields.len() == 1 && key == "contains" => contains(value, found, place),
            Some((key, value)) if fields.len() == 1 && key == "length" => {
                let count = found.as_array().map(Vec::len);
                agree(count.map(Value::from).as_ref() == Some(value), || {
                    format!("{place}: {found} has not {value} items")
                })
            }
            Some((key, value)) if fields.len() == 1 && key == "differs" => {
                agree(value != found, || format!("{place}: it is {found}"))
            }
            None => agree(found.as_object().is_some_and(Map::is_empty), || format!("{place}: {found} is not empty")),
            Some(_) => fields.iter().try_for_each(|(name, value)| match found.get(name) {
                Some(one) => part(value, one, &format!("{place}.{name}")),
                None => Err(format!("{place}: there is no {name} in {found}")),
            }),
        },
        Value::Array(items) => {
            let there = found.as_array().filter(|there| there.len() == items.len());
            let there = there.ok_or_else(|| format!("{place}: {found} has not {} items", items.len()))?;
            let pairs = items.iter().zip(there).enumerate();
            pairs.into_iter().try_for_each(|(at, (item, one))| part(item, one, &format!("{place}.{at}")))
        }
        _ => agree(expected == found, || format!("{place}: it is {found}, not {expected}")),
    }
}

fn contains(wanted: &Value, found: &Value, place: &str) -> Result<(), String> {
    let there = match found {
        Value::String(text) => wanted.as_str().is_some_and(|wanted| text.contains(wanted)),
        Value::Array(items) => items.contains(wanted),
        _ => false,
    };
    agree(there, || format!("{place}: {found} has no {wanted}"))
}

fn agree(holds: bool, else_say: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(else_say()) }
}
