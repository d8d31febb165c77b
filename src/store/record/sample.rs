//! Values of every shape for tests: strategies that leave out no variant and no field. It must not know how they are stored.

pub(crate) mod coordination;
pub(crate) mod prepared;

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::domain::drift::{Lineage, Seen, Sighting};
use crate::domain::exchange::{Erased, Exchange, HeadBefore, Origin, Responder};
use crate::domain::fault::{Fault, Field, Reason, Resource};
use crate::domain::graph::{Block, Branch, Place, Segment};
use crate::domain::id::{BranchId, CallId, ExchangeId, Hash, Moment, RunId, ThreadId};
use crate::domain::message::{
    CacheMarker, Issuer, Kind, Media, Message, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult,
};
use crate::domain::retention::{Erasing, Expiry, Gone, Mode, Pin, Receipt, Target};
use crate::domain::run::{AttemptKind, Observation, Past, Run, State, Step, StopReason};
use crate::domain::settings::{
    EffectiveSetting, Source, ThreadDefaults, Validation, ValidationStatus, Violation, Warning,
};
use crate::domain::spend::{Amount, Cost, Day, SpendLimit, Spending, Spent};
use crate::domain::thread::{Head, Parent, Thread};
use crate::domain::tool::{Tool, ToolSet};
use crate::domain::usage::{Completeness, Usage};
use crate::domain::workspace::{Around, Child, Content, Document, Live, Move, Node};
use crate::store::Remembered;

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "\\PC{0,12}", Just("The same words again. ".repeat(40))]
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_.:-]{1,16}"
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(text(), text(), 0..3)
}

pub(crate) fn hash() -> impl Strategy<Value = Hash> {
    any::<[u8; 32]>().prop_map(Hash)
}

pub(crate) fn exchange_id() -> impl Strategy<Value = ExchangeId> {
    any::<[u8; 16]>().prop_map(ExchangeId::from_bytes)
}

fn branch_id() -> impl Strategy<Value = BranchId> {
    any::<[u8; 8]>().prop_map(BranchId)
}

fn run_id() -> impl Strategy<Value = RunId> {
    name().prop_map(RunId::new)
}

fn thread_id() -> impl Strategy<Value = ThreadId> {
    name().prop_map(ThreadId::new)
}

fn moment() -> impl Strategy<Value = Moment> {
    any::<u64>().prop_map(Moment)
}

pub(crate) fn place() -> impl Strategy<Value = Place> {
    (branch_id(), any::<u64>()).prop_map(|(branch, depth)| Place { branch, depth })
}

fn segment() -> impl Strategy<Value = Segment> {
    (branch_id(), any::<u64>()).prop_map(|(branch, last)| Segment { branch, last })
}

pub(crate) fn branch() -> impl Strategy<Value = Branch> {
    (branch_id(), of(branch_id()), vec(segment(), 0..64)).prop_map(|(id, block, segments)| Branch {
        id,
        block,
        segments,
    })
}

pub(crate) fn block() -> impl Strategy<Value = Block> {
    (branch_id(), of(branch_id()), vec(segment(), 64)).prop_map(|(id, previous, segments)| Block {
        id,
        previous,
        segments,
    })
}

fn media() -> impl Strategy<Value = Media> {
    prop_oneof![
        // On both sides of the length at which bytes get a record of their own.
        (text(), any::<u8>(), select(vec![0, 1, 4095, 4096, 9000]))
            .prop_map(|(media_type, byte, length)| Media::Inline(media_type, Bytes::from(vec![byte; length]))),
        (text(), text()).prop_map(|(url, media_type)| Media::Link(url, media_type)),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    let leaf = prop_oneof![
        text().prop_map(Kind::Text),
        (media(), text()).prop_map(|(media, detail)| Kind::Image(media, detail)),
        (media(), text()).prop_map(|(media, name)| Kind::File(media, name)),
        (text(), text(), text(), text(), any::<bool>()).prop_map(
            |(id, provider_call_id, name, arguments_json, arguments_invalid)| Kind::ToolCall(ToolCall {
                call_id: CallId::new(id),
                provider_call_id,
                name,
                arguments_json,
                arguments_invalid,
            })
        ),
        (text(), any::<bool>()).prop_map(|(text, is_summary)| Kind::Reasoning(Reasoning { text, is_summary })),
        text().prop_map(Kind::Refusal),
        (text(), text()).prop_map(|(word, json)| Kind::Unknown(word, json)),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        (text(), vec(part_of(inner), 0..3), any::<bool>(), any::<bool>()).prop_map(
            |(id, parts, is_error, interrupted)| {
                Kind::ToolResult(ToolResult { call_id: CallId::new(id), parts, is_error, interrupted })
            },
        )
    })
}

fn part_of(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Part> {
    let data = (text(), text(), text(), text()).prop_map(|(provider, api, model, data_json)| ProviderData {
        issuer: Issuer { provider, api, model },
        data_json,
    });
    (kind, of(text()), of(data)).prop_map(|(kind, ttl, provider_data)| Part {
        kind,
        cache_marker: ttl.map(|ttl| CacheMarker { ttl }),
        provider_data,
    })
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    (select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]), vec(part_of(kind()), 0..4))
        .prop_map(|(role, parts)| Message { role, parts })
}

fn usage() -> impl Strategy<Value = Usage> {
    (
        [of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), of(any::<u64>())],
        select(vec![Completeness::Complete, Completeness::Partial, Completeness::Unknown]),
        any::<bool>(),
        text(),
    )
        .prop_map(|([input, output, total, cached, written, reasoning], completeness, reported, provider_json)| {
            Usage {
                input_tokens: input,
                output_tokens: output,
                total_tokens: total,
                cached_input_tokens: cached,
                cache_written_tokens: written,
                reasoning_tokens: reasoning,
                completeness,
                reported,
                provider_json,
            }
        })
}

fn attempt_kind() -> impl Strategy<Value = AttemptKind> {
    select(vec![AttemptKind::First, AttemptKind::Retry, AttemptKind::Repair])
}

fn observation() -> impl Strategy<Value = Observation> {
    let words = [text(), text(), text(), text(), text()];
    let wire = (of(any::<u16>()), of(hash()), any::<u64>(), vec(text(), 0..3));
    let times = (of(any::<u64>()), moment(), of(any::<u64>()), any::<u64>());
    (any::<u32>(), attempt_kind(), words, any::<bool>(), wire, usage(), times).prop_map(
        |(number, kind, words, succeeded, wire, usage, times)| {
            let [backend_id, model, error_reason, provider_code, provider_request_id] = words;
            let (http_status, request_hash, request_bytes, adaptations) = wire;
            let (retry_after_ms, started_at, first_byte_ms, duration_ms) = times;
            Observation {
                number,
                kind,
                backend_id,
                model,
                succeeded,
                error_reason,
                http_status,
                provider_code,
                provider_request_id,
                request_hash,
                request_bytes,
                adaptations,
                usage,
                retry_after_ms,
                started_at,
                first_byte_ms,
                duration_ms,
            }
        },
    )
}

fn fault() -> impl Strategy<Value = Fault> {
    let reason = select(vec![Reason::ProviderRateLimited, Reason::Internal, Reason::ProviderTimeout]);
    let fields = vec((text(), text()).prop_map(|(path, message)| Field { path, message }), 0..3);
    let resource = (select(vec!["exchange", "profile", "something else"]), text())
        .prop_map(|(kind, name)| Resource { kind, name });
    (reason, text(), fields, labels(), of(resource), of(any::<u64>())).prop_map(
        |(reason, message, fields, metadata, resource, retry_after_ms)| Fault {
            reason,
            message,
            fields,
            metadata,
            resource,
            retry_after_ms,
        },
    )
}

fn stop_reason() -> impl Strategy<Value = StopReason> {
    select(vec![
        StopReason::Stop,
        StopReason::MaxTokens,
        StopReason::ToolCalls,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::ContentFilter,
        StopReason::ToolRoundLimit,
        StopReason::Other,
    ])
}

pub(crate) fn run() -> impl Strategy<Value = Run> {
    let state = select(vec![
        State::Queued,
        State::Running,
        State::PendingTools,
        State::Completed,
        State::Failed,
        State::Cancelled,
        State::Interrupted,
    ]);
    let step = (exchange_id(), hash(), of(exchange_id())).prop_map(|(calling, fingerprint, exchange)| Step {
        calling,
        fingerprint,
        exchange,
    });
    let graph = (of(exchange_id()), any::<u32>(), of(exchange_id()), of(thread_id()), vec(step, 0..3));
    let end = (vec(observation(), 0..3), of(fault()), of(stop_reason()));
    let rest = (any::<u32>(), hash(), text(), labels(), moment(), moment(), vec(past(), 0..3), of(hash()));
    (run_id(), state, any::<bool>(), graph, end, rest).prop_map(|(id, state, captured, graph, end, rest)| {
        let (exchange, exchange_count, from, thread_id, steps) = graph;
        let (observations, failure, stop_reason) = end;
        let (attempt, fingerprint, owner, labels, created_at, updated_at, past, workspace) = rest;
        Run {
            id,
            state,
            captured,
            exchange,
            exchange_count,
            from,
            thread_id,
            attempt,
            fingerprint,
            steps,
            owner,
            observations,
            failure,
            stop_reason,
            labels,
            created_at,
            updated_at,
            past,
            workspace,
        }
    })
}

fn past() -> impl Strategy<Value = Past> {
    let state = select(vec![State::Running, State::PendingTools, State::Failed, State::Interrupted]);
    let counts = (any::<u32>(), any::<u32>(), any::<u32>());
    (state, moment(), counts, of(exchange_id()), of(fault()), of(stop_reason())).prop_map(
        |(state, updated_at, (attempt, exchange_count, observations), exchange, failure, stop_reason)| Past {
            state,
            updated_at,
            attempt,
            exchange,
            exchange_count,
            observations,
            failure,
            stop_reason,
        },
    )
}

fn validation() -> impl Strategy<Value = Validation> {
    let violation = (text(), text(), text()).prop_map(|(instance_path, schema_path, message)| Violation {
        instance_path,
        schema_path,
        message,
    });
    let status = select(vec![ValidationStatus::NotApplicable, ValidationStatus::Valid, ValidationStatus::Invalid]);
    (status, vec(violation, 0..3)).prop_map(|(status, violations)| Validation { status, violations })
}

fn setting() -> impl Strategy<Value = EffectiveSetting> {
    let source = select(vec![
        Source::Request,
        Source::Prompt,
        Source::Thread,
        Source::Profile,
        Source::Default,
        Source::Inherited,
    ]);
    (text(), text(), source).prop_map(|(name, value_json, source)| EffectiveSetting { name, value_json, source })
}

fn warning() -> impl Strategy<Value = Warning> {
    (text(), text()).prop_map(|(code, message)| Warning { code, message })
}

fn responder() -> impl Strategy<Value = Responder> {
    [text(), text(), text(), text(), text(), text()].prop_map(
        |[backend_id, provider, api, model, response_model, response_id]| Responder {
            backend_id,
            provider,
            api,
            model,
            response_model,
            response_id,
        },
    )
}

pub(crate) fn exchange() -> impl Strategy<Value = Exchange> {
    let graph = (
        (exchange_id(), of(exchange_id()), of(exchange_id()), of(run_id()), of(run_id())),
        (any::<u64>(), any::<u64>(), of(thread_id())),
        select(vec![Origin::Executed, Origin::Recorded, Origin::Imported]),
    );
    let said = (vec(message(), 0..4), message(), stop_reason(), text());
    let used =
        (of(hash()), of(hash()), lineage(), vec(setting(), 0..3), validation(), usage(), vec(observation(), 0..3));
    let rest = (vec(warning(), 0..3), responder(), hash(), labels(), moment(), around(), head_before());
    (graph, said, used, rest).prop_map(|(graph, said, used, rest)| {
        let ((id, parent, continues, continues_run, run_id), (depth, turn, thread_id), origin) = graph;
        let (messages, assistant, stop_reason, stop_reason_raw) = said;
        let (offered, standing, lineage, settings, validation, usage, observations) = used;
        let (warnings, responder, content_hash, labels, created_at, workspace, head_before) = rest;
        Exchange {
            id,
            parent,
            continues,
            continues_run,
            run_id,
            depth,
            turn,
            thread_id,
            origin,
            messages,
            assistant,
            stop_reason,
            stop_reason_raw,
            offered,
            standing,
            lineage,
            settings,
            validation,
            usage,
            observations,
            warnings,
            responder,
            content_hash,
            labels,
            created_at,
            workspace,
            head_before,
            erased: None,
        }
    })
}

/// What is left of an exchange that was erased.
pub(crate) fn tombstone() -> impl Strategy<Value = Exchange> {
    let erased = (text(), moment(), text()).prop_map(|(receipt, at, by)| Erased { receipt, at, by });
    (exchange(), erased).prop_map(|(exchange, erased)| exchange.erased(erased))
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        exchange_id().prop_map(Target::Exchange),
        name().prop_map(|id| Target::Thread(ThreadId::new(id))),
        name().prop_map(|id| Target::Run(RunId::new(id))),
        (exchange_id(), of(any::<u64>())).prop_map(|(id, steps)| Target::Subtree(id, steps)),
    ]
}

pub(crate) fn pin() -> impl Strategy<Value = Pin> {
    (name(), target(), text(), moment()).prop_map(|(id, target, note, created_at)| Pin { id, target, note, created_at })
}

pub(crate) fn expiry() -> impl Strategy<Value = Expiry> {
    (target(), moment()).prop_map(|(target, at)| Expiry { target, at })
}

fn amount() -> impl Strategy<Value = Amount> {
    any::<u128>().prop_map(Amount)
}

fn currency() -> impl Strategy<Value = String> {
    select(vec!["EUR".to_owned(), "USD".to_owned()])
}

fn spent() -> impl Strategy<Value = Spent> {
    (any::<u64>(), btree_map(currency(), amount(), 0..3)).prop_map(|(tokens, costs)| Spent { tokens, costs })
}

fn spend_limit() -> impl Strategy<Value = SpendLimit> {
    let cost = (amount(), currency()).prop_map(|(amount, currency)| Cost { amount, currency });
    (of(any::<u64>()), of(cost)).prop_map(|(tokens, cost)| SpendLimit { tokens, cost })
}

pub(crate) fn spending() -> impl Strategy<Value = Spending> {
    (any::<u64>().prop_map(Day), spent()).prop_map(|(day, spent)| Spending { day, spent })
}

pub(crate) fn receipt() -> impl Strategy<Value = Receipt> {
    let mode = prop_oneof![Just(Mode::Refuse), Just(Mode::Cascade), Just(Mode::Tombstone)];
    let gone =
        (any::<u8>(), any::<u64>(), any::<u64>()).prop_map(|(letter, count, bytes)| Gone { letter, count, bytes });
    let asked = (name(), target(), mode, text());
    let done = (any::<u64>(), vec(gone, 0..3), any::<u64>(), vec(exchange_id(), 0..3));
    (asked, done, moment(), text(), of(moment())).prop_map(|(asked, done, at, by, made_at)| {
        let (id, target, mode, note) = asked;
        let (tombstones, gone, shared, exchanges) = done;
        Receipt { id, target, mode, note, tombstones, gone, shared, exchanges, at, by, made_at }
    })
}

pub(crate) fn erasing() -> impl Strategy<Value = Erasing> {
    (receipt(), any::<bool>(), of(exchange_id())).prop_map(|(receipt, takes_drafts, end)| Erasing {
        receipt,
        takes_drafts,
        end,
    })
}

fn around() -> impl Strategy<Value = Around> {
    (of(hash()), of(hash())).prop_map(|(before, after)| Around { before, after })
}

fn head_before() -> impl Strategy<Value = HeadBefore> {
    prop_oneof![Just(HeadBefore::Untold), Just(HeadBefore::Empty), exchange_id().prop_map(HeadBefore::At)]
}

pub(crate) fn live() -> impl Strategy<Value = Live> {
    (of(hash()), any::<u64>(), moment()).prop_map(|(root, sequence, updated_at)| Live { root, sequence, updated_at })
}

pub(crate) fn moved() -> impl Strategy<Value = Move> {
    (of(exchange_id()), exchange_id(), around(), moment()).prop_map(|(from, to, workspace, at)| Move {
        from,
        to,
        workspace,
        at,
    })
}

fn document() -> impl Strategy<Value = Document> {
    let content = prop_oneof![vec(hash(), 0..4).prop_map(Content::Pieces), hash().prop_map(Content::List)];
    (text(), text(), any::<u64>(), hash(), text(), moment(), content).prop_map(
        |(name, media_type, size_bytes, blake3, metadata_json, updated_at, content)| Document {
            name,
            media_type,
            size_bytes,
            blake3,
            metadata_json,
            updated_at,
            content,
        },
    )
}

pub(crate) fn node() -> impl Strategy<Value = Node> {
    let child = (text(), hash(), any::<u64>(), any::<u64>()).prop_map(|(last, hash, documents, bytes)| Child {
        last,
        hash,
        documents,
        bytes,
    });
    prop_oneof![
        vec(document(), 1..4).prop_map(Node::Leaf),
        (1..9_u32, vec(child, 1..4)).prop_map(|(level, children)| Node::Inner { level, children }),
    ]
}

fn lineage() -> impl Strategy<Value = Lineage> {
    prop_oneof![Just(Lineage::Unknown), Just(Lineage::Nothing), hash().prop_map(Lineage::Seen)]
}

pub(crate) fn seen() -> impl Strategy<Value = Seen> {
    let sighting = (hash(), exchange_id()).prop_map(|(schema, since)| Sighting { schema, since });
    btree_map(text(), sighting, 0..4).prop_map(Seen::new)
}

pub(crate) fn tool() -> impl Strategy<Value = Tool> {
    (text(), text(), text(), any::<bool>(), any::<bool>()).prop_map(
        |(name, description, input_schema_json, side_effects, requires_human)| Tool {
            name,
            description,
            input_schema_json,
            side_effects,
            requires_human,
        },
    )
}

pub(crate) fn tool_set() -> impl Strategy<Value = ToolSet> {
    vec(tool(), 0..4).prop_map(|tools| ToolSet { tools })
}

pub(crate) fn thread() -> impl Strategy<Value = Thread> {
    let defaults = (of(text()), of(text()), of(tool_set()))
        .prop_map(|(profile_id, model, standing_tools)| ThreadDefaults { profile_id, model, standing_tools });
    let parent = (of(thread_id()), exchange_id(), of(run_id()), any::<u64>())
        .prop_map(|(thread_id, exchange, run_id, turn)| Parent { thread_id, exchange, run_id, turn });
    (thread_id(), text(), labels(), text(), defaults, of(parent), moment(), moment()).prop_map(
        |(id, name, labels, metadata_json, defaults, parent, created_at, updated_at)| Thread {
            id,
            name,
            labels,
            metadata_json,
            defaults,
            parent,
            created_at,
            updated_at,
        },
    )
}

pub(crate) fn head() -> impl Strategy<Value = Head> {
    (of(exchange_id()), of(run_id()), any::<u64>(), of(run_id()), any::<u64>(), moment()).prop_map(
        |(exchange, run_id, turn_count, active_run, sequence, updated_at)| Head {
            exchange,
            run_id,
            turn_count,
            active_run,
            sequence,
            updated_at,
        },
    )
}

pub(crate) fn remembered() -> impl Strategy<Value = Remembered> {
    (text(), hash(), vec(any::<u8>(), 0..64), moment()).prop_map(|(kind, fingerprint, result, done_at)| Remembered {
        kind,
        fingerprint,
        result: result.into(),
        done_at,
    })
}
