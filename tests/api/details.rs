//! What an exchange says of where it came from, and how it is read: its run and its parent, the messages apart from what was observed of the calls, in a
//! form that every encoder takes; and that nothing groups runs but what callers said.

use antiphon::grpc::pb;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use crate::support::coordinate::{Loop, start, stop, turn_of};
use crate::support::provider::Provider;
use crate::support::server::{Running, openai_with};
use crate::support::{ask, documents};
use crate::{look, stub};

fn described(name: &str) -> MessageDescriptor {
    DescriptorPool::decode(pb::DESCRIPTOR).unwrap().get_message_by_name(&format!("antiphon.v1.{name}")).unwrap()
}

async fn inspected(server: &Running, id: &str) -> pb::InspectResponse {
    server.exchanges().inspect(ask::inspect(id)).await.unwrap().into_inner()
}

/// S4-85, S4-88, S4-T9: each exchange keeps the run that it came from and the one right before it, on every branch and whatever follows; its details have the
/// messages in order, the answer last.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_names_its_run_and_its_parent() {
    let provider = Provider::start([
        stub::calls(&[("p1", "look", "{}")]),
        stub::text("it is wet"),
        stub::text("go on"),
        stub::text("elsewhere"),
    ])
    .await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let mut client = server.exchanges();
    let asked = ask::capture_on_new("t", stub::offering("first", "weather?"));
    let one = client.capture(asked).await.unwrap().into_inner().exchange.unwrap();
    let results = ask::on_thread_with("t", vec![ask::result(&one.pending_tool_calls[0].call_id, "wet")]);
    let two = client.r#continue(results).await.unwrap().into_inner().exchange.unwrap();
    let three = ask::on_thread(ask::on("t"), ask::text_as("second", "and now?"));
    let three = client.r#continue(three).await.unwrap().into_inner().exchange.unwrap();
    let branch = ask::branch("side", Some(ask::text_as("beside", "or else?")));
    let forked = client.fork(ask::fork(&two.exchange_id, vec![branch])).await.unwrap().into_inner();
    let side = forked.results[0].exchange.clone().unwrap();
    let expected = [
        (&one, "first", ""),
        (&two, "first", one.exchange_id.as_str()),
        (&three, "second", &two.exchange_id),
        (&side, "beside", &two.exchange_id),
    ];
    for (exchange, run_id, parent) in expected {
        let details = inspected(&server, &exchange.exchange_id).await;
        let read = details.exchange.unwrap();
        assert_eq!((read.run_id.as_str(), read.parent_exchange_id.as_str()), (run_id, parent));
        assert_eq!(details.messages.last(), read.assistant.as_ref(), "the answer is the last");
    }
    let said = ask::texts(&inspected(&server, &side.exchange_id).await.messages);
    assert_eq!(said, ["U:weather?", "A:call look {}", "T:result wet", "A:it is wet", "U:or else?", "A:elsewhere"]);
}

/// S4-15, S4-20: capturing is an option of the ordinary request, and the exchange comes beside the very result that there is without it.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_comes_beside_the_usual_result() {
    let server = Running::echo().await;
    let run = async |run_id: &str, capture| {
        let execution = Some(pb::run_request::Execution::Request(ask::text_as(run_id, "one")));
        let request = pb::RunRequest { execution, capture: Some(capture), ..Default::default() };
        server.exchanges().run(request).await.unwrap().into_inner()
    };
    let (without, with) = (run("without", false).await, run("with", true).await);
    assert_eq!(without.exchange, None);
    let exchange = with.exchange.clone().unwrap();
    assert_eq!((exchange.run_id.as_str(), &exchange.assistant, &exchange.text), ("with", &with.assistant, &with.text));
    let result = |of: pb::RunResponse| {
        (of.assistant, of.text, of.stop_reason, of.validation, of.effective_settings, of.warnings, of.replayed)
    };
    assert_eq!(result(with), result(without));
    assert_eq!(look::run(&server, "without").await.exchange_id, "");
}

/// S3-4, S4-86: no id is asked for. A run has one all the same, its own; there is a thread only where one was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_has_to_be_named() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let one = client.capture(ask::capture(ask::text("one"))).await.unwrap().into_inner();
    let first = one.exchange.unwrap();
    let two = client.r#continue(ask::after(&first.exchange_id, ask::text("two"))).await.unwrap().into_inner();
    let second = two.exchange.unwrap();
    assert!(!first.run_id.is_empty() && !second.run_id.is_empty() && first.run_id != second.run_id);
    assert_eq!((one.thread, two.thread, second.thread_id.as_str()), (None, None, ""));
    assert_eq!(look::threads(&server).await, Vec::<String>::new());
    assert_eq!(look::run(&server, &first.run_id).await.exchange_id, first.exchange_id);
}

/// S4-87, S4-T8: what is called while a coordination waits for its decision is no part of it: other runs, other exchanges, nothing of the budget. What belongs
/// together is said, by labels, for calls at once as well.
#[tokio::test(flavor = "multi_thread")]
async fn runs_belong_together_only_where_that_was_said() {
    let answers = (0..6).map(|_| stub::metered("answer", 10, 1));
    let provider = Provider::start(answers).await;
    let server = Running::start(openai_with(&provider.base_url(), "")).await;
    let first = documents::began(&server, "t").await;
    let mut talk = Loop::start(&server, start(&first.exchange_id, 1)).await;
    talk.decision().await;
    let call = |team: &str| {
        let labels = [("team".to_owned(), team.to_owned())].into();
        let request = pb::ExecutionRequest { labels, ..ask::text("assess it") };
        let mut client = server.exchanges();
        let request = ask::after(&first.exchange_id, request);
        async move { client.r#continue(request).await.unwrap().into_inner().exchange.unwrap() }
    };
    let assessed = futures::future::join_all(["red", "red", "blue", "red"].map(call)).await;
    talk.act(turn_of("go on")).await;
    let decision = talk.decision().await;
    let delivered = decision.exchange.clone().unwrap();
    assert_eq!((delivered.parent_exchange_id.as_str(), decision.turns_remaining), (first.exchange_id.as_str(), 0));
    assert!(assessed.iter().all(|exchange| exchange.exchange_id != delivered.exchange_id));
    talk.act(stop()).await;
    talk.ended().await;
    let counted = async |runs| {
        let scopes = vec![pb::UsageScope { runs: Some(runs) }];
        let sum = server.graphs().sum_usage(pb::SumUsageRequest { scopes }).await.unwrap().into_inner();
        (sum.run_count, sum.usage.unwrap().input_tokens)
    };
    for (team, runs) in [("red", 3), ("blue", 1)] {
        let labels = [("team".to_owned(), team.to_owned())].into();
        let label_set = pb::usage_scope::Runs::LabelSet(pb::LabelSet { labels });
        assert_eq!(counted(label_set).await, (runs, Some(runs * 10)), "{team}");
    }
    let own = pb::usage_scope::Runs::ExchangeSet(pb::ExchangeSet { exchange_ids: vec![delivered.exchange_id] });
    assert_eq!(counted(own).await, (1, Some(10)), "a turn counts what it spent itself");
}

/// S4-89, S4-90, S4-T10: details are messages like any other, which an encoder that knows nothing but their description writes and reads; to alter what was
/// read alters nothing.
#[tokio::test(flavor = "multi_thread")]
async fn details_are_written_by_any_encoder() {
    let server = Running::echo().await;
    let tools = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text("one") };
    let made = server.exchanges().capture(ask::capture(tools)).await.unwrap().into_inner().exchange.unwrap();
    let mut details = inspected(&server, &made.exchange_id).await;
    let described = described("InspectResponse");
    let message = DynamicMessage::decode(described.clone(), details.encode_to_vec().as_slice()).unwrap();
    assert_eq!(message.unknown_fields().count(), 0);
    let text = serde_json::to_string(&message).unwrap();
    assert!(text.contains(r#""text":"one""#) && text.contains(&made.run_id), "{text}");
    let mut read = serde_json::Deserializer::from_str(&text);
    let read = DynamicMessage::deserialize(described, &mut read).unwrap();
    assert_eq!(pb::InspectResponse::decode(read.encode_to_vec().as_slice()).unwrap(), details);
    let before = details.clone();
    details.messages.clear();
    details.exchange.as_mut().unwrap().text = "altered".into();
    assert_eq!(inspected(&server, &made.exchange_id).await, before);
}

/// S4-92: what was observed of calls is kept apart from what was said, and says nothing of it.
#[tokio::test(flavor = "multi_thread")]
async fn observations_have_no_content() {
    const CANARY: &str = "canary";
    let provider =
        Provider::start([stub::status(503, "canary of an outage"), stub::metered("canary of an answer", 7, 3)]).await;
    let retry = "retry = { base_ms = 1, max_ms = 1 }\n";
    let server = Running::start(openai_with(&provider.base_url(), retry)).await;
    let request = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as("r", "canary of a question") };
    let made = server.exchanges().capture(ask::capture(request)).await.unwrap().into_inner().exchange.unwrap();
    let run = look::run(&server, "r").await;
    assert_eq!(run.observations.len(), 2);
    assert_eq!(run.observations, made.observations);
    for observation in &run.observations {
        let bytes = observation.encode_to_vec();
        assert!(!bytes.windows(CANARY.len()).any(|word| word == CANARY.as_bytes()), "{observation:?}");
        assert!(!observation.request_blake3.is_empty() && observation.request_bytes > 0, "{observation:?}");
    }
    let bytes = run.encode_to_vec();
    assert!(!bytes.windows(CANARY.len()).any(|word| word == CANARY.as_bytes()), "nor does the run: {run:?}");
    let said = ask::texts(&inspected(&server, &made.exchange_id).await.messages);
    assert_eq!(said, ["U:canary of a question", "A:canary of an answer"]);
}
