//! The answers of GraphService. It must not know how anything was found.

use crate::app::graph::{
    Common, Compared, DiffKind, DiffPage, Difference, Distance, Hit, ModelSum, Node, Shown, Summed,
};
use crate::domain::settings::EffectiveSetting;
use crate::domain::thread::Thread;
use crate::domain::tool::Tool;
use crate::engine::Estimate;
use crate::grpc::convert::{contract, exchange, execution, id, message, moment, run, thread, tool, usage, workspace};
use crate::grpc::pb;

/// An exchange in the graph.
pub fn node_to_pb(node: Node) -> pb::ExchangeNode {
    let one = node.exchange;
    let tombstone = exchange::tombstone_to_pb(&one);
    pb::ExchangeNode {
        exchange_id: one.id.to_string(),
        parent_exchange_id: id::text(one.parent),
        run_id: id::text(one.run_id),
        depth: one.depth,
        turn: one.turn,
        ends_turn: node.ends_turn,
        thread_id: id::text(one.thread_id),
        origin: exchange::origin_to_pb(one.origin).into(),
        run_state: node.run_state.map_or(pb::RunState::Unspecified, run::state_to_pb).into(),
        stop_reason: run::stop_reason_to_pb(one.stop_reason).into(),
        validation: contract::validation_to_pb(one.validation, "").status,
        responder: Some(exchange::responder_to_pb(one.responder)),
        usage: Some(usage::to_pb(one.usage)),
        offered_tool_set_id: id::text(one.offered),
        labels: one.labels,
        user_preview: node.user_preview,
        assistant_preview: node.assistant_preview,
        child_count: node.children,
        content_hash: one.content_hash.to_string(),
        tombstone,
        create_time: Some(moment::to_pb(one.created_at)),
    }
}

/// What exchanges have in common.
pub fn ancestor_to_pb(common: Common) -> pb::GetCommonAncestorResponse {
    let distance = |distance: Distance| pb::BranchDistance {
        exchange_id: distance.exchange.to_string(),
        first_exchange_id: id::text(distance.first),
        exchange_count: distance.exchanges,
        turn_count: distance.turns,
    };
    pb::GetCommonAncestorResponse {
        exchange: common.node.map(node_to_pb),
        branches: common.distances.into_iter().map(distance).collect(),
    }
}

/// An exchange that is shown, with its previews where these are wanted.
pub fn shown_to_pb(shown: Shown, previews: bool) -> pb::GraphNode {
    let heads = shown.heads.iter().map(|thread| thread.id.to_string()).collect();
    let mut node = node_to_pb(shown.node);
    if !previews {
        node.user_preview.clear();
        node.assistant_preview.clear();
    }
    pb::GraphNode {
        exchange: Some(node),
        shown_parent_exchange_id: id::text(shown.parent),
        hidden_count: shown.hidden,
        head_of_thread_ids: heads,
    }
}

/// A thread whose head is shown.
pub fn thread_to_pb(one: Thread, head: String) -> pb::ThreadNode {
    pb::ThreadNode {
        thread_id: one.id.to_string(),
        name: one.name,
        head_exchange_id: head,
        parent: one.parent.map(thread::parent_to_pb),
        labels: one.labels,
    }
}

fn kind_to_pb(kind: DiffKind) -> i32 {
    let kind = match kind {
        DiffKind::Added => pb::ChangeKind::Added,
        DiffKind::Removed => pb::ChangeKind::Removed,
        DiffKind::Changed => pb::ChangeKind::Changed,
        DiffKind::Same => pb::ChangeKind::Same,
    };
    kind.into()
}

fn message_to_pb((index, one): (u64, Difference<Compared>)) -> pb::MessageDiff {
    let exchange = |side: &Option<Compared>| side.as_ref().map(|side| side.exchange.to_string()).unwrap_or_default();
    pb::MessageDiff {
        index,
        kind: kind_to_pb(one.kind),
        left_exchange_id: exchange(&one.left),
        right_exchange_id: exchange(&one.right),
        left: one.left.map(|side| message::to_pb(side.message)),
        right: one.right.filter(|_| one.kind != DiffKind::Same).map(|side| message::to_pb(side.message)),
    }
}

fn setting_to_pb(one: Difference<EffectiveSetting>) -> pb::SettingDiff {
    let name = one.left.as_ref().or(one.right.as_ref()).map(|setting| setting.name.clone()).unwrap_or_default();
    let side = |setting: Option<EffectiveSetting>| execution::settings_to_pb(setting.into_iter().collect()).pop();
    pb::SettingDiff { name, kind: kind_to_pb(one.kind), left: side(one.left), right: side(one.right) }
}

fn tool_to_pb(one: Difference<Tool>) -> pb::ToolDiff {
    let name = one.left.as_ref().or(one.right.as_ref()).map(|tool| tool.name.clone()).unwrap_or_default();
    pb::ToolDiff {
        name,
        kind: kind_to_pb(one.kind),
        left: one.left.map(tool::to_pb),
        right: one.right.map(tool::to_pb),
    }
}

/// A page of a comparison.
pub fn diff_to_pb(page: DiffPage, next_page_token: String) -> pb::DiffResponse {
    let (left_count, right_count) = page.counts;
    pb::DiffResponse {
        common_ancestor_exchange_id: id::text(page.ancestor),
        left_count,
        right_count,
        messages: page.messages.into_iter().map(message_to_pb).collect(),
        settings: page.settings.into_iter().map(setting_to_pb).collect(),
        tools: page.tools.into_iter().map(tool_to_pb).collect(),
        documents: page.documents.into_iter().map(|pair| workspace::pair_to_pb((pair, String::new()))).collect(),
        next_page_token,
    }
}

/// Something that was found.
pub fn hit_to_pb(hit: Hit) -> pb::SearchHit {
    pb::SearchHit {
        run_id: id::text(hit.run),
        run_state: hit.state.map_or(pb::RunState::Unspecified, run::state_to_pb).into(),
        exchange: hit.node.map(node_to_pb),
        snippet: hit.snippet,
        time: Some(moment::to_pb(hit.at)),
    }
}

/// A sum.
pub fn sum_to_pb(sum: Summed) -> pb::SumUsageResponse {
    let [complete_count, partial_count, unknown_count] = sum.runs;
    let model = |model: ModelSum| pb::ModelUsage {
        backend_id: model.backend_id,
        model: model.model,
        usage: Some(usage::to_pb(model.usage)),
        attempt_count: model.attempts,
    };
    pb::SumUsageResponse {
        usage: Some(usage::to_pb(sum.usage)),
        run_count: complete_count + partial_count + unknown_count,
        complete_count,
        partial_count,
        unknown_count,
        models: sum.models.into_iter().map(model).collect(),
        cost_estimates: sum.costs.into_iter().map(cost_to_pb).collect(),
    }
}

fn cost_to_pb(cost: Estimate) -> pb::CostEstimate {
    pb::CostEstimate {
        currency: cost.currency,
        amount: cost.amount,
        completeness: usage::completeness_to_pb(cost.completeness).into(),
    }
}
