//! Coordinations, frames and plans of every shape for tests. It must not know how they are stored.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::{
    attempt_kind, exchange_id, fault, hash, labels, message, moment, name, run_id, setting, spend_limit, spent, text,
    thread_id, tool_set, warning,
};
use crate::domain::coordination::{
    Answered, Batch, BatchProgress, CallerFailure, Coordination, Decision, End, Failure, Frame, Generation, Outcome,
    PendingId, Planned, State, Terms, Turn,
};
use crate::domain::id::{CallId, CoordinationId};
use crate::domain::run::OnDisconnect;
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::thread::{OnBusy, Unanswered};
use crate::domain::tool::Offer;
use crate::store::record::JournalPage;

fn pending_id() -> impl Strategy<Value = PendingId> {
    text().prop_map(PendingId::given)
}

fn call_id() -> impl Strategy<Value = CallId> {
    text().prop_map(CallId::new)
}

fn terms() -> impl Strategy<Value = Terms> {
    let limits = (any::<u32>(), any::<u32>(), any::<bool>(), any::<bool>());
    let times = (of(moment()), of(any::<u64>()), of(any::<u64>()));
    let choices = (
        select(vec![OnDisconnect::Cancel, OnDisconnect::Finish]),
        select(vec![OnBusy::Reject, OnBusy::Fork, OnBusy::Enqueue, OnBusy::Interrupt]),
        select(vec![Unanswered::Reject, Unanswered::Interrupt, Unanswered::Abandon]),
    );
    (limits, times, choices, spend_limit()).prop_map(|(limits, times, choices, spend_limit)| {
        let (additional_turns, tool_round_limit, deltas, omit_generation_history) = limits;
        let (deadline, decision_timeout_ms, expiry_ms) = times;
        let (on_disconnect, on_busy, unanswered) = choices;
        Terms {
            additional_turns,
            tool_round_limit,
            deltas,
            deadline,
            decision_timeout_ms,
            expiry_ms,
            on_disconnect,
            on_busy,
            unanswered,
            omit_generation_history,
            spend_limit,
        }
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    (run_id(), any::<bool>(), any::<u32>(), of(fault())).prop_map(|(run_id, initial, rounds, cancelled)| Turn {
        run_id,
        initial,
        rounds,
        cancelled,
    })
}

fn caller_failure() -> impl Strategy<Value = CallerFailure> {
    (any::<i32>(), [text(), text(), text(), text()], labels()).prop_map(
        |(code, [message, reason, domain, details_json], metadata)| CallerFailure {
            code,
            message,
            reason,
            domain,
            metadata,
            details_json,
        },
    )
}

fn end() -> impl Strategy<Value = End> {
    let outcome = prop_oneof![
        Just(Outcome::Stopped),
        Just(Outcome::Exhausted),
        fault().prop_map(|fault| Outcome::Failed(Failure::Execution(fault))),
        caller_failure().prop_map(|failure| Outcome::Failed(Failure::Caller(failure))),
        fault().prop_map(Outcome::Cancelled),
    ];
    (outcome, of(exchange_id())).prop_map(|(outcome, undelivered)| End { outcome, undelivered })
}

fn state() -> impl Strategy<Value = State> {
    let decision = (pending_id(), any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(id, starting, result, delivered)| Decision { id, starting, result, delivered });
    let results = btree_map(call_id(), hash(), 0..3);
    let batch = (pending_id(), turn(), exchange_id(), vec(call_id(), 0..3), results)
        .prop_map(|(id, turn, exchange, calls, results)| Batch { id, turn, exchange, calls, results });
    let generation = (pending_id(), turn(), any::<u32>(), attempt_kind(), hash(), moment())
        .prop_map(|(id, turn, number, kind, plan, asked_at)| Generation { id, turn, number, kind, plan, asked_at });
    prop_oneof![
        turn().prop_map(State::TurnRunning),
        decision.prop_map(State::AwaitingDecision),
        batch.prop_map(State::AwaitingTools),
        generation.prop_map(State::AwaitingGeneration),
        end().prop_map(State::Ended),
    ]
}

pub(crate) fn coordination() -> impl Strategy<Value = Coordination> {
    let names = (name().prop_map(CoordinationId::new), hash(), terms(), labels());
    let place = (of(exchange_id()), of(exchange_id()), of(thread_id()), any::<u32>());
    let rest = (state(), of(run_id()), any::<u64>());
    let times = (of(moment()), moment(), moment(), moment());
    (names, place, rest, times, spent()).prop_map(|(names, place, rest, times, spent)| {
        let (id, fingerprint, terms, labels) = names;
        let (start, exchange, thread, turns_started) = place;
        let (state, interrupted, last_sequence) = rest;
        let (detached_at, created_at, state_at, updated_at) = times;
        Coordination {
            id,
            fingerprint,
            terms,
            labels,
            start,
            exchange,
            thread,
            turns_started,
            state,
            interrupted,
            last_sequence,
            detached_at,
            created_at,
            state_at,
            updated_at,
            spent,
        }
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    let decision =
        (pending_id(), exchange_id(), any::<bool>(), any::<u32>(), of(thread_id()), of(run_id()), of(moment()))
            .prop_map(|(id, exchange, starting, turns_started, thread, interrupted, expires_at)| {
                Frame::DecisionNeeded { id, exchange, starting, turns_started, thread, interrupted, expires_at }
            });
    let tools = (pending_id(), run_id(), exchange_id(), any::<u32>())
        .prop_map(|(id, run_id, exchange, round)| Frame::ToolsNeeded { id, run_id, exchange, round });
    let generation = (pending_id(), run_id(), any::<u32>(), attempt_kind(), hash(), moment()).prop_map(
        |(id, run_id, number, kind, plan, asked_at)| Frame::GenerationNeeded {
            id,
            run_id,
            number,
            kind,
            plan,
            asked_at,
        },
    );
    let answered = (text(), hash()).prop_map(|(id, fingerprint)| Answered { id, fingerprint });
    let batch = (vec((call_id(), hash()), 0..3), vec(call_id(), 0..3))
        .prop_map(|(results, open)| BatchProgress { results, open });
    let accepted =
        (answered, of(run_id()), any::<u32>(), of(batch)).prop_map(|(answered, run_id, turns_started, batch)| {
            Frame::Accepted { answered, run_id, turns_started, batch }
        });
    let attempt = (any::<u32>(), attempt_kind(), text(), text())
        .prop_map(|(number, kind, backend_id, model)| Frame::Attempt { number, kind, backend_id, model });
    prop_oneof![
        Just(Frame::Started),
        decision,
        tools,
        generation,
        accepted,
        run_id().prop_map(|run_id| Frame::RunStarted { run_id }),
        attempt,
        warning().prop_map(Frame::Warning),
        end().prop_map(Frame::Ended),
    ]
}

pub(crate) fn page() -> impl Strategy<Value = JournalPage> {
    (0..u64::MAX / 2, vec(frame(), 1..6)).prop_map(|(first, frames)| JournalPage { first, frames })
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let numbers = (of(-9.0..9.0), of(0.0..1.0), of(any::<u32>()), of(any::<i64>()));
    (numbers, vec(text(), 0..3), of(text()), of(any::<bool>()), of(text())).prop_map(
        |(numbers, stop_sequences, reasoning_effort, parallel_tool_calls, extra_json)| {
            let (temperature, top_p, max_output_tokens, seed) = numbers;
            Parameters {
                temperature,
                top_p,
                max_output_tokens,
                stop_sequences,
                seed,
                reasoning_effort,
                parallel_tool_calls,
                extra_json,
            }
        },
    )
}

pub(crate) fn plan() -> impl Strategy<Value = Planned> {
    let contract = prop_oneof![
        Just(Contract::Text),
        Just(Contract::Json),
        (text(), text()).prop_map(|(name, schema_json)| Contract::JsonSchema { name, schema_json }),
    ];
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        text().prop_map(ToolChoice::Named),
    ];
    let offer = (tool_set(), tool_set()).prop_map(|(offered, standing)| Offer { offered, standing });
    let said = (vec(message(), 0..3), vec(setting(), 0..3), vec(warning(), 0..3));
    ([text(), text(), text()], parameters(), contract, offer, choice, of(text()), said).prop_map(
        |(names, parameters, contract, offer, tool_choice, session_id, said)| {
            let [profile_id, backend_id, model] = names;
            let (messages, settings, warnings) = said;
            Planned {
                profile_id,
                backend_id,
                model,
                parameters,
                contract,
                offer,
                tool_choice,
                session_id,
                messages,
                settings,
                warnings,
            }
        },
    )
}
