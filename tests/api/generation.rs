//! Models that the client of a coordination calls: keys and rules stay with it, everything else is as for any turn.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordination_ended::Outcome;
use pb::coordination_service_client::CoordinationServiceClient;
use pb::generated::Outcome as Made;
use pb::next_action::Action;
use tonic::Code;

use crate::support::coordinate::{Loop, attach, results, start, start_on, start_with, turn, turn_of};
use crate::support::program::Program;
use crate::support::server::Running;
use crate::support::{ask, look, refused};

const CONFIG: &str = "default_profile = \"mine\"\n\
    [profiles.mine]\nbackend = \"mine\"\nmodel = \"m-1\"\nparameters = { temperature = 0.5 }\n\
    [backends.mine]\nkind = \"client\"\nprovider = \"acme\"\n\
    [profiles.canned]\nbackend = \"script\"\nmodel = \"canned-1\"\n[backends.script]\nkind = \"scripted\"\n";

fn made(generation_id: &str, outcome: Made) -> Say {
    Say::Generated(pb::Generated { generation_id: generation_id.to_owned(), outcome: Some(outcome) })
}

fn answer(message: pb::Message, stop_reason: pb::StopReason) -> Made {
    Made::Answer(pb::GeneratedAnswer {
        assistant: Some(message),
        stop_reason: stop_reason.into(),
        usage: Some(pb::Usage { input_tokens: Some(7), output_tokens: Some(2), ..pb::Usage::default() }),
        response_model: "m-1-2026".into(),
        ..pb::GeneratedAnswer::default()
    })
}

fn said(text: &str) -> Made {
    answer(ask::assistant(text), pb::StopReason::Stop)
}

async fn needed(stream: &mut Loop) -> pb::GenerationNeeded {
    match stream.news().await {
        pb::coordinate_response::Frame::GenerationNeeded(needed) => needed,
        other => panic!("no generation: {other:?}"),
    }
}

async fn canned(server: &Running, thread_id: &str) -> pb::Exchange {
    let request = pb::ExecutionRequest { profile_id: "canned".into(), ..ask::text("begin") };
    server.exchanges().capture(ask::capture_on_new(thread_id, request)).await.unwrap().into_inner().exchange.unwrap()
}

/// The client gets the whole call with its settings, and its answer is the turn's: validated, counted, on record.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_makes_the_call() {
    let server = Running::start(CONFIG).await;
    let first = canned(&server, "t").await;
    let mut stream = Loop::start(&server, start_on("t", 2)).await;
    stream.decision().await;
    stream.act(turn(ask::text_as("r", "and then?"))).await;
    let asked = needed(&mut stream).await;
    assert_eq!((asked.run_id.as_str(), asked.number, asked.kind()), ("r", 1, pb::AttemptKind::First));
    assert_eq!((asked.backend_id.as_str(), asked.model.as_str()), ("mine", "m-1"));
    assert_eq!(asked.parameters.unwrap().temperature, Some(0.5));
    assert_eq!(asked.parent_exchange_id, first.exchange_id);
    assert_eq!(asked.messages.len(), 3, "the whole history, then what is new");
    let run = look::run(&server, "r").await;
    assert_eq!(run.state(), pb::RunState::Running, "it is nobody's to interrupt");
    // Nothing is held, and the thread is busy all the same.
    let busy = server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("me too"))).await.unwrap_err();
    refused::is(&busy, Code::Aborted, Reason::ThreadBusy);
    stream.say(made(&asked.generation_id, said("this"))).await;
    let decision = stream.decision().await;
    let exchange = decision.exchange.unwrap();
    assert_eq!((exchange.text.as_str(), exchange.turn), ("this", 2));
    let usage = exchange.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.reported), (Some(7), true));
    let run = decision.run.unwrap();
    assert_eq!((run.state(), run.observations.len()), (pb::RunState::Completed, 1));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, exchange.exchange_id);
    stream.act(Action::Stop(pb::StopAction {})).await;
    assert!(stream.ended().await.1.is_none());
}

/// A generation waits for whoever comes: over a restart, under the same id.
#[tokio::test(flavor = "multi_thread")]
async fn a_generation_survives_a_restart() {
    let server = Running::start(CONFIG).await;
    let first = canned(&server, "t").await;
    let mut stream = Loop::start(&server, start(&first.exchange_id, 1)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn(ask::text_as("r", "and then?"))).await;
    let asked = needed(&mut stream).await;
    let server = server.restart().await;
    let mut back = Loop::open(&server, attach(&id)).await;
    back.decision().await;
    assert_eq!(needed(&mut back).await, asked);
    back.say(made("", said("this"))).await;
    assert_eq!(back.decision().await.exchange.unwrap().text, "this");
    let run = look::run(&server, "r").await;
    assert_eq!((run.state(), run.attempt), (pb::RunState::Completed, 1));
}

/// A generation is answered without a stream as well, in the program itself, whose workers have the stacks that they have. (The same call
/// through a test's own runtime says nothing of those.)
#[tokio::test(flavor = "multi_thread")]
async fn a_generation_is_answered_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), CONFIG).await;
    let begin = pb::ExecutionRequest { profile_id: "canned".into(), ..ask::text("begin") };
    let first = program.exchanges().capture(ask::capture(begin)).await.unwrap().into_inner().exchange.unwrap();
    let mut stream = Loop::on(program.fresh_channel(), Say::Start(start(&first.exchange_id, 1))).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("and then?")).await;
    let asked = needed(&mut stream).await;
    drop(stream);
    let generated = pb::Generated { generation_id: asked.generation_id, outcome: Some(said("this")) };
    let request = pb::AnswerRequest {
        coordination_id: id.clone(),
        answer: Some(pb::answer_request::Answer::Generated(generated)),
    };
    let mut coordinations = CoordinationServiceClient::new(program.fresh_channel());
    coordinations.answer(request).await.unwrap();
    let mut back = Loop::on(program.fresh_channel(), attach(&id)).await;
    // What was told before is told again first.
    back.until(|told| match told {
        pb::coordinate_response::Frame::DecisionNeeded(needed) => {
            needed.exchange.as_ref().filter(|exchange| exchange.text == "this").map(|_| ())
        }
        _ => None,
    })
    .await;
}

/// A failure where another attempt may help is asked again, as the backend's policy says; any other one ends it.
#[tokio::test(flavor = "multi_thread")]
async fn failures_are_asked_again_or_end_it() {
    let server = Running::start(CONFIG).await;
    let first = canned(&server, "t").await;
    let mut stream = Loop::start(&server, start(&first.exchange_id, 1)).await;
    stream.decision().await;
    stream.act(turn_of("x")).await;
    let asked = needed(&mut stream).await;
    let failure = |code| Made::Failure(pb::GenerationFailure { code, message: "no".into(), ..Default::default() });
    stream.say(made(&asked.generation_id, failure(14))).await;
    let again = needed(&mut stream).await;
    assert_eq!((again.number, again.kind()), (2, pb::AttemptKind::Retry));
    assert_ne!(again.generation_id, asked.generation_id);
    stream.say(made(&again.generation_id, failure(3))).await;
    let (ended, status) = stream.ended().await;
    let Some(Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(failed.error.unwrap().reason, "PROVIDER_REFUSED_REQUEST");
    refused::is(&status.unwrap(), Code::InvalidArgument, Reason::ProviderRefusedRequest);
    let run = look::run(&server, &again.run_id).await;
    assert_eq!((run.state(), run.observations.len()), (pb::RunState::Failed, 2));
}

/// Tools, and an ephemeral coordination that leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_generation_are_the_clients_as_well() {
    let server = Running::start(CONFIG).await;
    for ephemeral in [false, true] {
        let request = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text("look") };
        let begin = pb::CoordinationStart { ephemeral, ..start_with(request, 0) };
        let mut stream = Loop::start(&server, begin).await;
        let asked = needed(&mut stream).await;
        assert_eq!(asked.tools.unwrap().tools.len(), 1);
        let calls = answer(ask::calling("c1", "look", "{}"), pb::StopReason::ToolCalls);
        stream.say(made(&asked.generation_id, calls)).await;
        let tools = stream.tools().await;
        let call = tools.calls[0].call.clone().unwrap();
        assert_eq!(call.provider_call_id, "c1");
        stream.say(results("", vec![ask::result(&call.call_id, "seen")])).await;
        let second = needed(&mut stream).await;
        assert_eq!((second.run_id, second.messages.len()), (asked.run_id, 3));
        stream.say(made(&second.generation_id, said("done"))).await;
        let decision = stream.decision().await;
        let exchange = decision.exchange.unwrap();
        assert_eq!((exchange.text.as_str(), decision.starting), ("done", true));
        let inspect = pb::InspectRequest { exchange_id: exchange.exchange_id, ..Default::default() };
        assert_eq!(server.exchanges().inspect(inspect).await.is_ok(), !ephemeral);
        stream.act(Action::Stop(pb::StopAction {})).await;
        assert!(stream.ended().await.1.is_none());
    }
}

/// A cancelled coordination takes the run with it, and a run that was cancelled by itself ends the coordination.
#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_a_generation() {
    let server = Running::start(CONFIG).await;
    canned(&server, "t").await;
    let mut stream = Loop::start(&server, start_on("t", 1)).await;
    stream.decision().await;
    stream.act(turn(ask::text_as("r", "x"))).await;
    needed(&mut stream).await;
    stream.say(Say::Cancel(pb::CoordinationCancel::default())).await;
    assert!(matches!(stream.ended().await.0.outcome, Some(Outcome::Cancelled(_))));
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::Cancelled);
    assert_eq!(look::thread(&server, "t").await.active_run_id, "");
    let mut stream = Loop::start(&server, start_on("t", 1)).await;
    stream.decision().await;
    stream.act(turn(ask::text_as("s", "x"))).await;
    let asked = needed(&mut stream).await;
    server.runs().cancel(pb::RunServiceCancelRequest { run_id: "s".into() }).await.unwrap();
    stream.say(made(&asked.generation_id, said("late"))).await;
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Failed(_))), "{ended:?}");
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
}

/// Elsewhere there is no client that could make the call.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_coordination_has_such_a_client() {
    let server = Running::start(CONFIG).await;
    let first = canned(&server, "t").await;
    let refusals = [
        server.exchanges().capture(ask::capture(ask::text_as("r", "x"))).await.unwrap_err(),
        server.exchanges().r#continue(ask::after(&first.exchange_id, ask::text("x"))).await.unwrap_err(),
        server.exchanges().probe(ask::probe(&first.exchange_id, ask::text("x"))).await.unwrap_err(),
    ];
    for status in refusals {
        refused::is(&status, Code::FailedPrecondition, Reason::ClientBackendOnlyInCoordinate);
        assert_eq!(refused::fact(&status, "backend_id"), "mine");
    }
    let run = server.runs().get(pb::RunServiceGetRequest { run_id: "r".into() }).await.unwrap_err();
    assert_eq!(run.code(), Code::NotFound, "the id is free");
}
