//! Exchanges in answers. It must not know how they are stored or looked up.

use super::{contract, execution, id, message, moment, run, tool, usage};
use crate::domain::exchange::{Exchange, Origin, Responder};
use crate::domain::tool::ToolSet;
use crate::grpc::pb;

/// An exchange in an answer, with the tool sets that it names by their hashes.
pub fn to_pb(exchange: Exchange, offered: ToolSet, standing: ToolSet) -> pb::Exchange {
    let text = exchange.assistant.joined_text();
    pb::Exchange {
        exchange_id: exchange.id.to_string(),
        parent_exchange_id: id::text(exchange.parent),
        continues_exchange_id: id::text(exchange.continues),
        continues_run_id: id::text(exchange.continues_run),
        run_id: id::text(exchange.run_id),
        depth: exchange.depth,
        turn: exchange.turn,
        thread_id: id::text(exchange.thread_id),
        origin: origin_to_pb(exchange.origin).into(),
        messages: message::list_to_pb(exchange.messages),
        pending_tool_calls: message::calls_to_pb(exchange.assistant.tool_calls().cloned()),
        assistant: Some(message::to_pb(exchange.assistant)),
        stop_reason: run::stop_reason_to_pb(exchange.stop_reason).into(),
        stop_reason_raw: exchange.stop_reason_raw,
        tools: Some(tool::use_to_pb(offered, standing)),
        effective_settings: execution::settings_to_pb(exchange.settings),
        validation: Some(contract::validation_to_pb(exchange.validation, &text)),
        text,
        usage: Some(usage::to_pb(exchange.usage)),
        observations: run::observations_to_pb(exchange.observations),
        warnings: execution::warnings_to_pb(exchange.warnings),
        responder: Some(responder_to_pb(exchange.responder)),
        content_hash: exchange.content_hash.to_string(),
        labels: exchange.labels,
        create_time: Some(moment::to_pb(exchange.created_at)),
    }
}

pub(super) fn origin_to_pb(origin: Origin) -> pb::ExchangeOrigin {
    match origin {
        Origin::Executed => pb::ExchangeOrigin::Executed,
        Origin::Recorded => pb::ExchangeOrigin::Recorded,
        Origin::Imported => pb::ExchangeOrigin::Imported,
    }
}

pub(super) fn responder_to_pb(responder: Responder) -> pb::Responder {
    pb::Responder {
        backend_id: responder.backend_id,
        provider: responder.provider,
        api: responder.api,
        model: responder.model,
        response_model: responder.response_model,
        response_id: responder.response_id,
    }
}

/// What is left of an exchange; absent when it was not erased.
pub fn tombstone_to_pb(exchange: &Exchange) -> Option<pb::Tombstone> {
    let erased = exchange.erased.as_ref()?;
    Some(pb::Tombstone {
        exchange_id: exchange.id.to_string(),
        parent_exchange_id: id::text(exchange.parent),
        run_id: id::text(exchange.run_id.as_ref()),
        content_hash: exchange.content_hash.to_string(),
        usage: Some(usage::to_pb(exchange.usage.clone())),
        erase_time: Some(moment::to_pb(erased.at)),
        erased_by: erased.by.clone(),
        receipt_id: erased.receipt.clone(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use uuid::Uuid;

    use super::*;
    use crate::domain::drift::Lineage;
    use crate::domain::id::{CallId, ExchangeId, Hash, Moment, RunId, ThreadId};
    use crate::domain::message::{Kind, Message, Part, Role, ToolCall};
    use crate::domain::run::StopReason;
    use crate::domain::settings::{EffectiveSetting, Source, Validation, Warning};
    use crate::domain::tool::Tool;
    use crate::domain::usage::Usage;
    use crate::grpc::convert::run::tests::observation;

    fn id(number: u128) -> ExchangeId {
        ExchangeId::new(Uuid::from_u128(number))
    }

    /// One that calls a tool, with the tools that it offered.
    pub(crate) fn calling() -> (Exchange, ToolSet) {
        let call = ToolCall {
            call_id: CallId::new("c"),
            provider_call_id: "p".to_owned(),
            name: "look".to_owned(),
            arguments_json: "{}".to_owned(),
            arguments_invalid: false,
        };
        let tool = Tool {
            name: "look".to_owned(),
            description: String::new(),
            input_schema_json: "{}".to_owned(),
            side_effects: false,
            requires_human: false,
        };
        let offered = ToolSet { tools: vec![tool] };
        let exchange = Exchange {
            id: id(2),
            parent: Some(id(1)),
            continues: None,
            continues_run: Some(RunId::new("r0")),
            run_id: Some(RunId::new("r")),
            depth: 2,
            turn: 1,
            thread_id: Some(ThreadId::new("t")),
            origin: Origin::Recorded,
            messages: vec![Message::text(Role::User, "q")],
            assistant: Message {
                role: Role::Assistant,
                parts: vec![Part::text("a"), Part::new(Kind::ToolCall(call)), Part::text("b")],
            },
            stop_reason: StopReason::ToolCalls,
            stop_reason_raw: "tool_use".to_owned(),
            offered: offered.hash(),
            standing: None,
            lineage: Lineage::Unknown,
            workspace: Default::default(),
            head_before: Default::default(),
            settings: vec![EffectiveSetting {
                name: "model".to_owned(),
                value_json: "\"m\"".to_owned(),
                source: Source::Profile,
            }],
            validation: Validation::default(),
            usage: Usage { input_tokens: Some(0), ..Usage::default() },
            observations: vec![observation()],
            warnings: vec![Warning { code: "w".to_owned(), message: "m".to_owned() }],
            responder: Responder { backend_id: "b".to_owned(), ..Responder::default() },
            content_hash: Hash([7; 32]),
            labels: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
            created_at: Moment(1_000),
            erased: None,
        };
        (exchange, offered)
    }

    #[test]
    fn an_exchange_goes_out_whole() {
        let (exchange, offered) = calling();
        let out = to_pb(exchange, offered.clone(), ToolSet::default());
        assert_eq!((out.exchange_id, out.parent_exchange_id), (id(2).to_string(), id(1).to_string()));
        assert_eq!((out.continues_exchange_id.as_str(), out.continues_run_id.as_str()), ("", "r0"));
        assert_eq!((out.text.as_str(), out.pending_tool_calls.len(), out.messages.len()), ("ab", 1, 1));
        let tools = out.tools.unwrap();
        assert_eq!(tools.offered.unwrap().tool_set_id, offered.hash().unwrap().to_string());
        assert_eq!(tools.standing, Some(pb::ToolSet::default()));
        assert_eq!(out.usage.and_then(|usage| usage.input_tokens), Some(0), "zero is not absent");
        assert_eq!(out.origin, i32::from(pb::ExchangeOrigin::Recorded));
        assert_eq!(out.validation.map(|v| v.status()), Some(pb::ValidationStatus::NotApplicable));
        assert_eq!((out.content_hash, out.observations.len(), out.warnings.len()), ("07".repeat(32), 1, 1));
    }
}
