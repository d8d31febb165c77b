//! Answers that change nothing: malformed, out of order, stale, or not startable as things are. What was pending still is, and no turn is
//! consumed.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::next_action::Action;
use prost::Message;
use tonic::Code;

use super::{asked, begun, coordinations, got, let_go};
use crate::stub;
use crate::support::coordinate::{
    Loop, action, answer, answer_tools, attach, fail, results, start, start_with, stop, turn, turn_of,
};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai_with};
use crate::support::{ask, raw, refused, within};

/// That the decision is still the pending one, and nothing was consumed.
async fn is_pending(server: &Running, id: &str, decision_id: &str, started: u32) {
    let now = got(server, id).await;
    assert_eq!((now.state(), now.turns_started), (pb::CoordinationState::AwaitingDecision, started));
    assert_eq!(now.pending_id, decision_id);
}

/// S4-64: a full queue is no start: the turn is not consumed, and can be asked for again.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_consumes_nothing() {
    let gate = Gate::closed();
    let script = [stub::text("other").wait(&gate), stub::text("one")];
    let (provider, server, exchange) = asked(script, "capacity = 1\nqueue_limit = 0\n").await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    let mut other = server.exchanges();
    let other = tokio::spawn(async move { other.capture(ask::capture(ask::text("other"))).await });
    provider.request(1).await;
    stream.act(turn(ask::text_as("r", "go on"))).await;
    let rejected = stream.rejected().await;
    assert_eq!(rejected.id, pending);
    assert!(rejected.retry_after.is_some(), "waiting helps");
    let error = rejected.error.unwrap();
    assert_eq!((error.code, error.reason.as_str()), (Code::ResourceExhausted as i32, "BACKEND_QUEUE_FULL"));
    is_pending(&server, &id, &pending, 0).await;
    refused::is(&crate::look::no_run(&server, "r").await, Code::NotFound, Reason::RunNotFound);
    gate.open();
    other.await.unwrap().unwrap();
    stream.act(turn(ask::text_as("r", "go on"))).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "one");
}

/// A turn whose backend wants a credential that nobody brought is rejected; a stream that brings one goes on at the same decision.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_credential_consumes_nothing() {
    let provider = Provider::start([stub::text("one")]).await;
    let server = Running::start(openai_with(&provider.base_url(), "requires_credential = true\n")).await;
    let recorded = server.exchanges().record(ask::record(vec![ask::user("hi"), ask::assistant("ho")])).await.unwrap();
    let exchange = recorded.into_inner().exchanges.last().unwrap().exchange_id.clone();
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    stream.act(turn_of("go on")).await;
    let error = stream.rejected().await.error.unwrap();
    assert_eq!((error.code, error.reason.as_str()), (Code::FailedPrecondition as i32, "CREDENTIAL_MISSING"));
    is_pending(&server, &id, &pending, 0).await;
    let header = [("antiphon-provider-credential", "sk-of-the-caller")];
    let mut stream = Loop::on_with(server.fresh_channel(), &header, attach(&id)).await;
    assert_eq!(stream.decision().await.decision_id, pending);
    stream.act(turn_of("go on")).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "one");
    assert_eq!(provider.request(0).await.header("authorization"), Some("Bearer sk-of-the-caller"));
}

/// A run id is of one run: not of one that was before, not of one of this coordination, not even when the turn reads the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_id_that_was_used_consumes_nothing() {
    let (server, exchange) = begun().await;
    server.exchanges().capture(ask::capture(ask::text_as("used", "x"))).await.unwrap();
    let mut stream = Loop::start(&server, start(&exchange, 3)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn(ask::text_as("mine", "x"))).await;
    let pending = stream.decision().await.decision_id;
    for run_id in ["used", "mine"] {
        stream.act(turn(ask::text_as(run_id, "x"))).await;
        let error = stream.rejected().await.error.unwrap();
        assert_eq!((error.code, error.reason.as_str()), (Code::AlreadyExists as i32, "RUN_ID_CONFLICT"), "{run_id}");
    }
    is_pending(&server, &id, &pending, 1).await;
}

/// S3-28: a tool that needs a person wants a run that its caller can name; the turn that has one is taken, and its answer comes late.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_needs_a_person_needs_a_run_id() {
    let script = [stub::calls(&[("p", "sign", "{}")]), stub::text("signed")];
    let (provider, server, exchange) = asked(script, "").await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    let sign = pb::Tool { requires_human: true, ..ask::tool("sign") };
    let offering = |run_id: &str| pb::ExecutionRequest {
        tools: Some(pb::ToolList { tools: vec![sign.clone()] }),
        ..ask::text_as(run_id, "have it signed")
    };
    stream.act(turn(offering(""))).await;
    let error = stream.rejected().await.error.unwrap();
    assert_eq!((error.reason.as_str(), error.metadata["tool"].as_str()), ("RUN_ID_REQUIRED", "sign"));
    is_pending(&server, &id, &pending, 0).await;
    stream.act(turn(offering("r"))).await;
    let batch = stream.tools().await;
    assert!(batch.calls[0].tool.as_ref().unwrap().requires_human);
    let call = batch.calls[0].call.clone().unwrap().call_id;
    stream.say(Say::Suspend(pb::CoordinationSuspend {})).await;
    assert_eq!(stream.detached().await.pending_call_ids, std::slice::from_ref(&call));
    // Days later, from another place, for the run that is named (S3-27, S3-29, S3-30).
    let server = server.restart().await;
    let mut late = answer_tools(&id, &batch.batch_id, vec![ask::result(&call, "yes")]);
    let Some(pb::answer_request::Answer::ToolResults(named)) = &mut late.answer else { panic!() };
    named.run_id = "another".into();
    let refusal = coordinations(&server).answer(late.clone()).await.unwrap_err();
    refused::is(&refusal, Code::InvalidArgument, Reason::ToolResultsMismatch);
    let both = (refused::fact(&refusal, "run_id"), refused::fact(&refusal, "expected_run_id"));
    assert_eq!(both, ("another".into(), "r".into()));
    let Some(pb::answer_request::Answer::ToolResults(named)) = &mut late.answer else { panic!() };
    named.run_id = "r".into();
    let accepted = coordinations(&server).answer(late).await.unwrap().into_inner().accepted.unwrap();
    assert_eq!(accepted.run_id, "r");
    let mut back = Loop::open(&server, attach(&id)).await;
    let decision = back
        .until(|told| match told {
            pb::coordinate_response::Frame::DecisionNeeded(needed) if !needed.starting => Some(needed.clone()),
            _ => None,
        })
        .await;
    assert_eq!((decision.exchange.unwrap().text.as_str(), provider.count()), ("signed", 3));
}

/// An answer of the wrong kind is out of order, by stream and beside it, and says what is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn answers_of_the_wrong_kind_are_out_of_order() {
    let (_provider, server, _) = asked([stub::calls(&[("a", "look", "{}")]), stub::text("done")], "").await;
    let mut stream = Loop::start(&server, start_with(stub::offering("r", "look"), 1)).await;
    let id = stream.started().await.coordination_id;
    let generated = |generation_id: &str| {
        let failure = pb::GenerationFailure { code: 14, ..Default::default() };
        let outcome = Some(pb::generated::Outcome::Failure(failure));
        Say::Generated(pb::Generated { generation_id: generation_id.to_owned(), outcome })
    };
    let batch = stream.tools().await;
    let call = batch.calls[0].call.clone().unwrap().call_id;
    for wrong in [action("", stop()), action(&batch.batch_id, turn_of("no")), generated(""), generated(&batch.batch_id)]
    {
        stream.say(wrong).await;
        let rejected = stream.rejected().await;
        let error = rejected.error.unwrap();
        assert_eq!((&rejected.id, error.reason.as_str()), (&batch.batch_id, "OUT_OF_ORDER"));
        assert_eq!(error.metadata["pending_id"], batch.batch_id);
    }
    let beside = coordinations(&server).answer(answer(&id, &batch.batch_id, stop())).await.unwrap_err();
    refused::is(&beside, Code::FailedPrecondition, Reason::OutOfOrder);
    stream.say(results("", vec![ask::result(&call, "seen")])).await;
    let pending = stream.decision().await.decision_id;
    for wrong in
        [results("", vec![ask::result(&call, "seen")]), results(&pending, vec![ask::result("x", "y")]), generated("")]
    {
        stream.say(wrong).await;
        let rejected = stream.rejected().await;
        assert_eq!((&rejected.id, rejected.error.unwrap().reason.as_str()), (&pending, "OUT_OF_ORDER"));
    }
    is_pending(&server, &id, &pending, 0).await;
}

/// What does not name a call of the batch is refused with the calls that are open; the others stay open.
#[tokio::test(flavor = "multi_thread")]
async fn results_are_of_calls_of_the_batch() {
    let script = [stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]), stub::text("done")];
    let (_provider, server, _) = asked(script, "").await;
    let mut stream = Loop::start(&server, start_with(stub::offering("r", "look"), 0)).await;
    let batch = stream.tools().await;
    let calls: Vec<String> = batch.calls.iter().map(|call| call.call.clone().unwrap().call_id).collect();
    for wrong in [
        vec![ask::result("nobody", "x")],
        vec![ask::result(&calls[0], "x"), ask::result("nobody", "x")],
        vec![ask::result(&calls[0], "x"), ask::result(&calls[0], "x")],
        vec![],
    ] {
        stream.say(results("", wrong)).await;
        let error = stream.rejected().await.error.unwrap();
        assert!(["TOOL_RESULTS_MISMATCH", "INVALID_FIELDS"].contains(&error.reason.as_str()), "{error:?}");
        assert_eq!(error.code, Code::InvalidArgument as i32);
    }
    let both = vec![ask::result("a", "by the provider's id"), ask::result(&calls[1], "by ours")];
    stream.say(results("", both)).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "done");
}

/// Whatever is said of a coordination that there is not, it is not found.
#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_not_is_not_found() {
    let (server, _) = begun().await;
    let id = || "nobody".to_owned();
    let mut client = coordinations(&server);
    let get = client.get(pb::CoordinationServiceGetRequest { coordination_id: id() }).await.unwrap_err();
    let cancel = pb::CoordinationServiceCancelRequest { coordination_id: id(), message: String::new() };
    let cancel = client.cancel(cancel).await.unwrap_err();
    let answered = client.answer(answer("nobody", "d1", stop())).await.unwrap_err();
    let attached = Loop::open(&server, attach("nobody")).await.refused().await;
    for refusal in [get, cancel, answered, attached] {
        refused::is(&refusal, Code::NotFound, Reason::CoordinationNotFound);
    }
    let refusal = Loop::start(&server, start("nothing", 1)).await.refused().await;
    assert!([Code::NotFound, Code::InvalidArgument].contains(&refusal.code()), "{refusal:?}");
    let refusal = Loop::start(&server, crate::support::coordinate::start_on("nobody", 1)).await.refused().await;
    refused::is(&refusal, Code::NotFound, Reason::ThreadNotFound);
}

/// Ids that were never given, or of what is over, are stale; beside the stream an answer must name what it answers.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_pending_is_stale() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    let unnamed = coordinations(&server).answer(answer(&id, "", stop())).await.unwrap_err();
    assert_eq!(refused::fields(&unnamed), ["next_action.decision_id"]);
    for made_up in ["x", "d2", "d999999999", "d2-0123", "t2", &pending[..pending.len() - 1]] {
        stream.say(action(made_up, stop())).await;
        let rejected = stream.rejected().await;
        let error = rejected.error.unwrap();
        assert_eq!((rejected.id.as_str(), error.reason.as_str()), (made_up, "ANSWER_STALE"));
        assert_eq!(error.metadata["pending_id"], pending);
    }
    is_pending(&server, &id, &pending, 0).await;
    stream.act(stop()).await;
    stream.ended().await;
    let late = coordinations(&server).answer(answer(&id, &pending, turn_of("late"))).await.unwrap_err();
    refused::is(&late, Code::Aborted, Reason::AnswerStale);
}

/// A stream is opened once, by its first frame; what is malformed later is rejected with the fields that are wrong, and it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_malformed_is_rejected_by_field() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    for again in [Say::Start(start(&exchange, 1)), attach(&id)] {
        stream.say(again).await;
        assert_eq!(stream.rejected().await.error.unwrap().reason, "OUT_OF_ORDER");
    }
    let with = |request: pb::ExecutionRequest| Some(turn(request));
    for (wrong, field) in [
        (None, "next_action.action"),
        (with(pb::ExecutionRequest { retry: true, ..ask::text("x") }), "next_action.turn.request.retry"),
        (with(ask::text_as("no spaces", "x")), "next_action.turn.request.run_id"),
        (Some(Action::Turn(pb::NextTurn::default())), "next_action.turn.input"),
        (Some(fail(0, "", "all is well")), "next_action.fail.code"),
        (Some(fail(17, "", "too far")), "next_action.fail.code"),
        (Some(fail(2, "lower case", "x")), "next_action.fail.reason"),
    ] {
        let next = pb::NextAction { decision_id: String::new(), action: wrong };
        stream.say(Say::NextAction(next)).await;
        let rejected = stream.rejected().await;
        let fields: Vec<_> = rejected.fields.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!((fields, rejected.error.unwrap().code), (vec![field], Code::InvalidArgument as i32));
    }
    let empty = pb::CoordinateRequest { frame: None };
    stream.send(empty).await;
    assert_eq!(stream.rejected().await.error.unwrap().code, Code::InvalidArgument as i32);
    is_pending(&server, &id, &pending, 0).await;
    stream.act(turn_of("go on")).await;
    assert_eq!(stream.decision().await.turns_started, 1);
}

/// Bytes that are no message, and a message that is too large, end the stream with what is wrong, as they do any other call. Whoever sent them would
/// wait for ever, for an answer to what was never read. The coordination waits for the next stream.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_ends_the_stream() {
    let (server, exchange) = begun().await;
    let first = pb::CoordinateRequest { frame: Some(Say::Start(start(&exchange, 1))) }.encode_to_vec();
    let garbage = vec![0xff; 9];
    for (said, made) in [(vec![garbage.clone()], 0), (vec![first, garbage], 1)] {
        let call = raw::call(server.fresh_channel(), "ExchangeService/Coordinate", said, &[]);
        let status = within("the end of the stream", call).await.unwrap_err();
        refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
        assert!(status.message().contains("no request of this RPC"), "{status:?}");
        let list = coordinations(&server).list(pb::CoordinationServiceListRequest::default()).await.unwrap();
        assert_eq!(list.into_inner().coordinations.len(), made);
    }
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    stream.act(turn_of(&"x".repeat(33 << 20))).await;
    let status = stream.next().await.unwrap_err();
    refused::is(&status, Code::ResourceExhausted, Reason::LimitExceeded);
    let facts = ["limit", "max"].map(|fact| refused::fact(&status, fact));
    assert_eq!(facts, ["max_message_bytes", "33554432"]);
    let_go(&server, &id).await;
    is_pending(&server, &id, &pending, 0).await;
    let mut back = Loop::open(&server, attach(&id)).await;
    back.decision().await;
    back.act(stop()).await;
    back.ended().await;
}
