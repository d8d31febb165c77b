//! Callers that drive a loop: its headers, its first message, its budget, its tools, and what happens when nobody answers.

use std::time::{Duration, Instant, SystemTime};

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame as Told;
use pb::coordination_ended::Outcome;
use pb::exchange_service_client::ExchangeServiceClient;
use pb::next_action::Action;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use crate::case::Case;
use crate::served::Served;
use crate::support::coordinate::{Loop, fail, results, start, start_on, start_with, stop, turn, turn_of};
use crate::support::program::Program;
use crate::support::provider::Provider;
use crate::support::server::{openai, openai_with};
use crate::support::{ask, look, refused, stub, within};

type Frame = pb::coordinate_request::Frame;

/// A served script whose first answer is `zero`, on a thread `t`; with that exchange.
async fn begun(script: impl IntoIterator<Item = crate::support::provider::Entry>, more: &str) -> (Served, String) {
    let served = Served::with_more([stub::text("zero")].into_iter().chain(script), more).await;
    let exchange = served.capture(ask::capture_on_new("t", ask::text("begin"))).await.exchange_id;
    (served, exchange)
}

#[tokio::test(flavor = "multi_thread")]
async fn b025_the_client_is_asked_for_the_result_whatever_the_word_says() {
    let script = Case::load("B025").script(SystemTime::now()).into_iter().chain([stub::streamed(&["done"])]);
    let served = Served::with(script).await;
    let request = pb::ExecutionRequest { tools: ask::tools(&["w"]), ..ask::text_as("r", "x") };
    let begin = pb::CoordinationStart { deltas: true, ..start_with(request, 0) };
    let mut stream = Loop::start(&served.server, begin).await;
    let needed = stream.tools().await;
    let exchange = needed.exchange.unwrap();
    assert_eq!((exchange.stop_reason(), exchange.stop_reason_raw.as_str()), (pb::StopReason::ToolCalls, "stop"));
    let call = needed.calls[0].call.clone().unwrap();
    assert_eq!((call.provider_call_id.as_str(), call.name.as_str(), call.arguments_json.as_str()), ("c1", "w", "{}"));
    assert!(needed.calls[0].tool.is_some());
    stream.say(results("", vec![ask::result(&call.call_id, "5")])).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "done");
}

/// The call is handed to the client as the model made it, marked by the absence of the tool; an error result is taken, and the turn goes on.
#[tokio::test(flavor = "multi_thread")]
async fn b074_the_client_is_handed_a_call_to_an_undeclared_tool() {
    let calls = [("c1", "execute_python", "{\"code\":1}"), ("c2", "get_weather", "{}")];
    let served = Served::with([stub::calls(&calls), stub::text("sorry")]).await;
    let request = pb::ExecutionRequest { tools: ask::tools(&["get_weather"]), ..ask::text_as("r", "x") };
    let mut stream = Loop::start(&served.server, start_with(request, 0)).await;
    let needed = stream.tools().await;
    let told: Vec<_> =
        needed.calls.iter().map(|one| (one.call.as_ref().unwrap().name.as_str(), one.tool.is_some())).collect();
    assert_eq!(told, [("execute_python", false), ("get_weather", true)]);
    let recorded = served.inspect(&needed.exchange.unwrap().exchange_id).await;
    assert_eq!(recorded.pending_tool_calls.len(), 2, "nothing is removed in silence");
    let refusal = pb::ToolResult { is_error: true, ..ask::result("c1", "there is no such tool") };
    stream.say(results("", vec![refusal, ask::result("c2", "rain")])).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "sorry");
    assert_eq!(served.sent(1).await[2..], [r#"tool:"there is no such tool""#, r#"tool:"rain""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b106_parallel_calls_have_ids_of_their_own() {
    // Equal in everything, the provider's id included where it has none of its own.
    let calls = [("a", "look", "{}"), ("b", "look", "{}"), ("c", "look", "{}")];
    let served = Served::with([stub::calls(&calls), stub::text("done")]).await;
    let mut stream = Loop::start(&served.server, start_with(stub::offering("r", "look"), 0)).await;
    let needed = stream.tools().await;
    let ids: Vec<String> = needed.calls.iter().map(|call| call.call.clone().unwrap().call_id).collect();
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 3);
    for (number, id) in ids.iter().enumerate().rev() {
        stream.say(results(&needed.batch_id, vec![ask::result(id, &format!("result {number}"))])).await;
    }
    assert_eq!(stream.decision().await.exchange.unwrap().text, "done");
    assert_eq!(served.sent(1).await[2..], [r#"tool:"result 0""#, r#"tool:"result 1""#, r#"tool:"result 2""#]);
}

/// Headers come to a client that says nothing, and to one that says its first word when the call has returned; the second gets to its end.
#[tokio::test(flavor = "multi_thread")]
async fn b122_headers_come_before_anything_is_said() {
    let (served, exchange) = begun([], "").await;
    let began = Instant::now();
    let (say, said) = mpsc::channel::<pb::CoordinateRequest>(1);
    let mut client = ExchangeServiceClient::new(served.server.fresh_channel());
    let opened = within("the headers", client.coordinate(ReceiverStream::new(said))).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(opened.metadata().get("antiphon-request-id").is_some(), "{:?}", opened.metadata());
    // It says its first word in its own time.
    say.send(pb::CoordinateRequest { frame: Some(Frame::Start(start(&exchange, 0))) }).await.unwrap();
    let mut frames = opened.into_inner();
    let mut told = Vec::new();
    while told.len() < 2 {
        told.push(frames.message().await.unwrap().unwrap().frame.unwrap());
    }
    let Told::DecisionNeeded(needed) = &told[1] else { panic!("{told:?}") };
    let next = pb::NextAction { decision_id: needed.decision_id.clone(), action: Some(stop()) };
    say.send(pb::CoordinateRequest { frame: Some(Frame::NextAction(next)) }).await.unwrap();
    while let Some(frame) = frames.message().await.unwrap() {
        told.push(frame.frame.unwrap());
    }
    assert!(matches!(told.last(), Some(Told::Ended(_))), "{told:?}");
}

/// Opens a stream with a first message and goes on talking, whatever it is told; what it is told.
async fn talking(channel: Channel, first: pb::CoordinateRequest) -> (Status, Duration) {
    const MESSAGES: usize = 10_000;
    let (say, said) = mpsc::channel(16);
    let mut client = ExchangeServiceClient::new(channel);
    let began = Instant::now();
    let talk = tokio::spawn(async move {
        let mut sent = say.send(first).await.is_ok();
        for number in 0..MESSAGES {
            let next =
                pb::NextAction { decision_id: String::new(), action: Some(turn_of(&"x".repeat(1_000 + number % 7))) };
            // The server has hung up, which is right.
            sent = sent && say.send(pb::CoordinateRequest { frame: Some(Frame::NextAction(next)) }).await.is_ok();
        }
    });
    let mut frames = client.coordinate(ReceiverStream::new(said)).await.unwrap().into_inner();
    let status = within("the refusal", frames.message()).await.unwrap_err();
    let took = began.elapsed();
    within("the client to be done", talk).await.unwrap();
    (status, took)
}

#[tokio::test(flavor = "multi_thread")]
async fn b124_a_first_message_that_is_wrong_is_refused_at_once() {
    const ROUNDS: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start([stub::text("zero")]).await;
    let program = Program::start(folder.path(), &openai(&provider.base_url())).await;
    let captured = program.exchanges().capture(ask::capture(ask::text("begin"))).await.unwrap().into_inner();
    let exchange = captured.exchange.unwrap().exchange_id;
    let unknown = "01900000-0000-7000-8000-000000000000";
    let wrong = || {
        [
            (None, Code::InvalidArgument),
            (Some(Frame::Start(pb::CoordinationStart::default())), Code::InvalidArgument),
            (Some(Frame::Start(start(unknown, 1))), Code::NotFound),
            // -1 as a client writes it into the field.
            (Some(Frame::Start(start(&exchange, u32::MAX))), Code::InvalidArgument),
            (
                Some(Frame::NextAction(pb::NextAction { decision_id: "d1".into(), action: Some(stop()) })),
                Code::FailedPrecondition,
            ),
            (Some(Frame::Cancel(pb::CoordinationCancel::default())), Code::FailedPrecondition),
        ]
    };
    let mut memory = Vec::new();
    for _ in 0..ROUNDS {
        for (frame, code) in wrong() {
            let (status, took) = talking(program.fresh_channel(), pb::CoordinateRequest { frame: frame.clone() }).await;
            assert_eq!(status.code(), code, "{frame:?}: {status:?}");
            assert!(took < Duration::from_secs(1), "{frame:?}: {took:?}");
        }
        memory.push(program.memory());
    }
    let more = memory[ROUNDS - 1].saturating_sub(memory[0]);
    assert!(more < 8 << 20, "{memory:?}");
    // A budget of zero is right: one decision, with the exchange that it started from, and nothing is called.
    let mut stream = Loop::on(program.fresh_channel(), Frame::Start(start(&exchange, 0))).await;
    let needed = stream.decision().await;
    assert_eq!((needed.exchange.unwrap().exchange_id, needed.turns_remaining), (exchange, 0));
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
    assert_eq!(provider.count(), 1);
}

/// The start's own calls, answered on the way: as many turns as were allowed, each with a tool inside.
async fn always_on(budget: u32) {
    let turns = (0..budget + 1).flat_map(|_| [stub::calls(&[("c", "look", "{}")]), stub::text("seen")]);
    let (served, first) = begun(turns, "").await;
    let mut stream = Loop::start(&served.server, start_on("t", budget)).await;
    let id = stream.started().await.coordination_id;
    let mut delivered = Vec::new();
    let (ended, status) = loop {
        match stream.news().await {
            Told::DecisionNeeded(needed) => {
                delivered.push(needed.exchange.unwrap().exchange_id);
                stream.act(turn(stub::offering("", "go on"))).await;
            }
            Told::ToolsNeeded(needed) => {
                let call = needed.calls[0].call.clone().unwrap().call_id;
                stream.say(results("", vec![ask::result(&call, "there")])).await;
            }
            Told::Ended(ended) => break (ended, stream.next().await.err()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ended.outcome, Some(Outcome::Exhausted(pb::CoordinationExhausted {})));
    assert!(status.is_none(), "{status:?}");
    assert_eq!(delivered[0], first);
    assert_eq!(delivered.len(), budget as usize + 1, "the last permitted result too");
    assert_eq!(served.provider.count(), 1 + 2 * budget as usize);
    let request = pb::CoordinationServiceGetRequest { coordination_id: id };
    let mut client = pb::coordination_service_client::CoordinationServiceClient::new(served.server.fresh_channel());
    let whole = client.get(request).await.unwrap().into_inner().coordination.unwrap();
    assert_eq!((&whole.exchange_id, whole.turns_started), (delivered.last().unwrap(), budget));
    let summary = served.go_on(ask::on_thread(ask::on("t"), ask::text("summarise"))).await;
    assert_eq!(&summary.parent_exchange_id, delivered.last().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn b125_the_budget_is_exact() {
    for budget in [0, 1, 3] {
        always_on(budget).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b125_an_error_in_the_second_turn_is_the_end() {
    let script = [stub::text("one"), stub::status(500, "broken"), stub::text("summary")];
    let (served, _) = begun(script, stub::ONCE).await;
    let mut stream = Loop::start(&served.server, start_on("t", 3)).await;
    stream.decision().await;
    stream.act(turn_of("first")).await;
    let last = stream.decision().await.exchange.unwrap().exchange_id;
    stream.act(turn_of("second")).await;
    let (ended, status) = stream.ended().await;
    let Some(Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    refused::is(&status.unwrap(), Code::Unavailable, Reason::ProviderUnavailable);
    assert_eq!((failed.error.unwrap().reason.as_str(), served.provider.count()), ("PROVIDER_UNAVAILABLE", 3));
    assert_eq!(served.head("t").await, last, "the result before it stands");
    assert_eq!(served.go_on(ask::on_thread(ask::on("t"), ask::text("summarise"))).await.text, "summary");
}

/// Stopping with nothing left is completion. Calls that the last result left open are closed by rule, and the thread takes the next turn.
#[tokio::test(flavor = "multi_thread")]
async fn b125_what_ends_with_open_calls_can_be_gone_on_from() {
    for answered in [true, false] {
        let script = [stub::calls(&[("c", "look", "{}")]), stub::text("summary")];
        let (served, _) = begun(script, "").await;
        let begin = pb::CoordinationStart { tool_round_limit: Some(0), ..start_on("t", 1) };
        let mut stream = Loop::start(&served.server, begin).await;
        stream.decision().await;
        stream.act(turn(stub::offering("r", "first"))).await;
        let last = stream.decision().await;
        assert_eq!((last.turns_remaining, last.run.unwrap().stop_reason()), (0, pb::StopReason::ToolRoundLimit));
        let open = last.exchange.unwrap();
        stream.act(stop()).await;
        let (ended, status) = stream.ended().await;
        assert_eq!(ended.outcome, Some(Outcome::Stopped(pb::CoordinationStopped {})));
        assert!(status.is_none());
        assert_eq!(
            (served.head("t").await, look::thread(&served.server, "t").await.active_run_id.as_str()),
            (open.exchange_id, "")
        );
        let said = if answered {
            let call = open.pending_tool_calls[0].call_id.clone();
            served.go_on(ask::on_thread_with("t", vec![ask::result(&call, "seen")])).await
        } else {
            let bare = ask::on_thread(ask::on("t"), ask::text("summarise"));
            let refusal = served.server.exchanges().r#continue(bare).await.unwrap_err();
            refused::is(&refusal, Code::FailedPrecondition, Reason::UnansweredToolCalls);
            let closing = pb::ThreadPoint { unanswered_tools: pb::UnansweredTools::Interrupt.into(), ..ask::on("t") };
            served.go_on(ask::on_thread(closing, ask::text("summarise"))).await
        };
        assert_eq!((said.text.as_str(), served.provider.count()), ("summary", 3));
    }
}

/// Stands between client and server, and cuts connections on which the server has said nothing for so long. Counts those that it cut.
async fn impatient(server: std::net::SocketAddr, patience: Duration) -> (String, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (cut, cuts) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (server, cut) = (TcpStream::connect(server).await.unwrap(), cut.clone());
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let up = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await.ok() });
                let mut bytes = vec![0; 16 << 10];
                loop {
                    match tokio::time::timeout(patience, from_server.read(&mut bytes)).await {
                        Ok(Ok(count @ 1..)) if to_client.write_all(&bytes[..count]).await.is_ok() => {}
                        Ok(_) => break,
                        Err(_) => {
                            cut.send(()).ok();
                            break;
                        }
                    }
                }
                up.abort();
            });
        }
    });
    (address, cuts)
}

/// The hours of the case in seconds: a decision is held over many times the patience of what is between, while a client without pings is kept
/// by heartbeats, and one that pings far more often than allowed elsewhere is not sent away; others use the backend meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn b126_a_decision_may_take_its_time() {
    const PATIENCE: Duration = Duration::from_millis(2_500);
    let provider = Provider::start(["zero", "other", "one", "other", "one"].map(stub::text)).await;
    let config = openai_with(&provider.base_url(), "capacity = 1\nqueue_limit = 0\n");
    let config = format!("{config}[limits]\ncoordination_heartbeat_seconds = 1\n");
    let server = crate::support::server::Running::start(config).await;
    let captured = server.exchanges().capture(ask::capture(ask::text("begin"))).await.unwrap().into_inner();
    let exchange = captured.exchange.unwrap().exchange_id;
    let (proxy, mut cuts) = impatient(server.address(), PATIENCE).await;
    let silent = Endpoint::from_shared(proxy).unwrap().connect_lazy();
    let pinging = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
    let pinging =
        pinging.http2_keep_alive_interval(Duration::from_millis(50)).keep_alive_while_idle(true).connect_lazy();
    for channel in [silent, pinging] {
        let mut stream = Loop::on(channel, Frame::Start(start(&exchange, 1))).await;
        stream.decision().await;
        let other = server.exchanges().capture(ask::capture(ask::text("other"))).await.unwrap().into_inner();
        assert_eq!(other.exchange.unwrap().text, "other", "nothing is held");
        for _ in 0..4 {
            stream.until(|told| matches!(told, Told::Heartbeat(_)).then_some(())).await;
        }
        stream.act(turn_of("at last")).await;
        assert_eq!(stream.decision().await.exchange.unwrap().text, "one");
        stream.act(stop()).await;
        assert!(stream.ended().await.1.is_none());
    }
    assert!(cuts.try_recv().is_err(), "a silent stream was cut");
}

/// For ever: it ends with the time of its decision, or waits without holding anything; who fails in between is told so.
#[tokio::test(flavor = "multi_thread")]
async fn b126_a_callback_that_never_answers_ends_in_time() {
    let (served, exchange) = begun([stub::text("other")], "capacity = 1\nqueue_limit = 0\n").await;
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 300_000_000 });
    let begin = pb::CoordinationStart { decision_timeout: timeout, ..start_on("t", 1) };
    let mut stream = Loop::start(&served.server, begin).await;
    stream.decision().await;
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))));
    refused::is(&status.unwrap(), Code::DeadlineExceeded, Reason::Deadline);
    let thread = look::thread(&served.server, "t").await;
    assert_eq!((thread.head_exchange_id.as_str(), thread.active_run_id.as_str()), (exchange.as_str(), ""));
    assert_eq!(look::runs(&served.server).await.len(), 1, "no run is left held");
    assert_eq!(served.capture(ask::capture(ask::text("other"))).await.text, "other");
    let mut stream = Loop::start(&served.server, start(&exchange, 1)).await;
    stream.decision().await;
    let failing: Action = fail(4, "GAVE_UP", "nobody came");
    stream.act(failing).await;
    assert_eq!(stream.ended().await.1.unwrap().message(), "nobody came");
}
