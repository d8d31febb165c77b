//! Tools as plain functions, and models of the caller's own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use antiphon_client::{
    AttemptKind, BoxError, Code, CoordinationState, Error, Exchange, Generated, JsonSchema, Pause, Request, Stop,
    Suspend, Tool, ToolCall, ToolResult, Usage,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

use crate::support::{coordination_state, fresh, refused, says, served, until};

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "antiphon_client::schemars")]
pub(crate) struct Place {
    pub(crate) city: String,
}

#[derive(Serialize)]
struct Tide {
    city: String,
    high: Vec<u32>,
}

async fn weather(place: Place) -> Result<String, BoxError> {
    Ok(format!("22 degrees in {}", place.city))
}

fn tide(place: Place) -> Result<Tide, BoxError> {
    Ok(Tide { city: place.city, high: vec![3, 15] })
}

pub(crate) fn both() -> [Tool; 2] {
    [Tool::new("weather", "The weather in a city.", weather), Tool::plain("tide", "High water there.", tide)]
}

fn broken(name: &str, why: &'static str) -> Tool {
    Tool::plain(name, "", move |_: Place| Err::<String, BoxError>(why.into()))
}

/// The results that an exchange's call was made with: of the weather, then of the tide.
fn results_of(exchange: &Exchange) -> Vec<ToolResult> {
    let found: Vec<_> = exchange.messages.iter().flat_map(|message| message.tool_results.clone()).collect();
    assert_eq!(found.len(), 2);
    found
}

fn fails(results: &[ToolResult]) -> Vec<bool> {
    results.iter().map(|result| result.is_error).collect()
}

/// S0-26, S0-T8.
#[tokio::test]
async fn a_chain_runs_what_the_model_calls() {
    let (_server, client) = served();
    let before = Mutex::new(Vec::new());
    let after = Mutex::new(Vec::new());
    let answer = client
        .chain("the forecast", both())
        .before_call(async |call: ToolCall| before.lock().unwrap().push(call.name))
        .after_call(async |call: ToolCall, result: ToolResult| {
            after.lock().unwrap().push(format!("{}: {}", call.name, result.text));
        })
        .await
        .unwrap();
    assert_eq!(answer.text, "Done.");
    let (mut before, mut after) = (before.into_inner().unwrap(), after.into_inner().unwrap());
    before.sort();
    after.sort();
    assert_eq!(before, ["tide", "weather"]);
    assert_eq!(after, [r#"tide: {"city":"Lisbon","high":[3,15]}"#, "weather: 22 degrees in Lisbon"]);
}

#[tokio::test]
async fn the_calls_of_one_answer_run_at_once() {
    let (_server, client) = served();
    let meet = Arc::new(Barrier::new(2));
    let one = |name: &str| {
        let meet = meet.clone();
        Tool::new(name, "", move |place: Place| {
            let meet = meet.clone();
            async move {
                meet.wait().await;
                Ok::<_, BoxError>(place.city)
            }
        })
    };
    let answer = client.chain("the forecast", [one("weather"), one("tide")]).await.unwrap();
    assert_eq!(fails(&results_of(&answer)), [false, false]);
}

/// S3x-13: its siblings keep theirs.
#[tokio::test]
async fn a_failing_or_unknown_or_refused_call_is_an_error_result() {
    let (_server, client) = served();
    let [_, tide] = both();
    let chain = client.chain("the forecast", [broken("weather", "no barometer"), tide.clone()]);
    let failed = results_of(&chain.await.unwrap());
    assert_eq!((failed[0].text.as_str(), fails(&failed)), ("no barometer", vec![true, false]));

    let unknown = results_of(&client.chain("the forecast", [tide]).await.unwrap());
    assert_eq!((unknown[0].text.as_str(), fails(&unknown)), (r#"there is no tool "weather""#, vec![true, false]));

    let hook = |call: ToolCall| async move { if call.name == "tide" { Err("not today") } else { Ok(()) } };
    let hooked = results_of(&client.chain("the forecast", both()).before_call(hook).await.unwrap());
    assert_eq!((hooked[1].text.as_str(), fails(&hooked)), ("not today", vec![false, true]));
}

#[tokio::test]
async fn a_hook_that_fails_afterwards_comes_back_as_itself() {
    let (_server, client) = served();
    let name = fresh();
    let audit = |_, _| async { Err::<(), _>(std::io::Error::other("the audit log is full")) };
    let told = client.chain("the forecast", both()).after_call(audit).coordination_id(&name).await.unwrap_err();
    assert_eq!(told.downcast::<std::io::Error>().unwrap().to_string(), "the audit log is full");
    assert_eq!(coordination_state(&client, &name).await, CoordinationState::Cancelled);
}

/// S3-27 to S3-31: the answer comes later, and what is done is not done again.
#[tokio::test]
async fn a_chain_waits_for_a_person_and_goes_on_elsewhere() {
    let (_server, client) = served();
    let name = fresh();
    let called = Arc::new(Mutex::new(BTreeMap::<&str, u32>::new()));
    let count = |name: &'static str, pauses: bool| {
        let called = called.clone();
        Tool::plain(name, "", move |_: Place| {
            *called.lock().unwrap().entry(name).or_default() += 1;
            if pauses { Err(Pause::new()) } else { Ok("high") }
        })
    };
    let tools = [count("weather", true).requires_human(), count("tide", false)];
    let told = client.chain("the forecast", tools).coordination_id(&name).await.unwrap_err();
    let pause = told.pause().expect("a pause");
    assert_eq!((&pause.coordination_id, pause.calls.len(), pause.calls[0].name.as_str()), (&name, 1, "weather"));
    let waiting = client.coordination(&name).await.unwrap();
    assert_eq!(waiting.state, CoordinationState::AwaitingTools);
    assert_eq!(waiting.tool_calls[0].name, "weather");
    let [weather, _] = both();
    let result = client.resume(&name, [weather, count("tide", false)]).await.unwrap();
    assert_eq!(result.text, "Done.");
    assert_eq!(*called.lock().unwrap(), BTreeMap::from([("weather", 1), ("tide", 1)]));
}

/// S3-29.
#[tokio::test]
async fn an_answer_by_id_needs_no_stream() {
    let (_server, client) = served();
    let name = fresh();
    let later = async |_| Err(Pause::new());
    let told = client.chain("the forecast", both()).before_call(later).coordination_id(&name).await.unwrap_err();
    let calls = &told.pause().expect("a pause").calls;
    let batch = client.coordination(&name).await.unwrap().pending_id;
    let results: Vec<_> = calls.iter().map(|call| ToolResult::new(&call.call_id, "fine")).collect();
    client.answer(&name, results[..1].to_vec()).pending_id(batch).await.unwrap();
    client.answer(&name, results[1..].to_vec()).await.unwrap();
    until(CoordinationState::AwaitingDecision, async || coordination_state(&client, &name).await).await;
    assert_eq!(client.resume(&name, []).await.unwrap().text, "Done.");

    let (other, start) = (fresh(), client.capture("one").await.unwrap());
    client.coordinate(&start, 1, says([Suspend.into()]).next()).coordination_id(&other).await.unwrap();
    assert_eq!(client.answer(&other, Stop).await.unwrap().state, CoordinationState::Stopped);
    refused(client.answer(&other, Suspend).pending_id("any").await, Code::InvalidArgument, "");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "antiphon_client::schemars")]
#[serde(deny_unknown_fields)]
struct Stay {
    #[serde(rename = "where")]
    place: Option<String>,
    /// How many
    nights: u32,
    #[serde(default)]
    guests: Vec<String>,
}

#[tokio::test]
async fn a_schema_comes_from_the_type_in_the_same_bytes() {
    let (_server, client) = served();
    let tool = Tool::plain("book", "Books a stay.", |stay: Stay| {
        Ok::<_, BoxError>(format!("{} nights, {} guests, {:?}", stay.nights, stay.guests.len(), stay.place))
    });
    let expected = concat!(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","additionalProperties":false,"properties":{"#,
        r#""guests":{"default":[],"items":{"type":"string"},"type":"array"},"#,
        r#""nights":{"description":"How many","format":"uint32","minimum":0,"type":"integer"},"#,
        r#""where":{"type":["string","null"]}},"required":["nights"],"title":"Stay","type":"object"}"#
    );
    assert_eq!(tool.schema().unwrap(), expected);
    let generate = |arguments: &'static str| {
        let mut calls = vec![ToolCall::new("call", "book", arguments)];
        move |generation: antiphon_client::Generation| {
            let said = generation.messages.last().unwrap().tool_results.first().map(|result| result.text.clone());
            let answer = Generated::new(said.unwrap_or_default()).tool_calls(calls.pop());
            async move { answer }
        }
    };
    let mut answers = Vec::new();
    for arguments in [r#"{"nights": 2, "where": "Lisbon"}"#, r#"{"nights": "two"}"#, r#"{"nights": 2, "pets": 1}"#] {
        let chain = client.chain(Request::new("book").profile("mine"), [tool.clone()]);
        answers.push(chain.generate(generate(arguments)).await.unwrap().text);
    }
    assert_eq!(answers[0], r#"2 nights, 0 guests, Some("Lisbon")"#);
    assert!(answers[1..].iter().all(|answer| answer.starts_with("the arguments of book do not fit")), "{answers:?}");
}

#[tokio::test]
async fn a_type_that_is_no_object_is_refused_before_any_call() {
    let (_server, client) = served();
    let tool = Tool::plain("say", "", Ok::<String, BoxError>);
    refused(client.chain("hello", [tool]).await, Code::InvalidArgument, "");
}

#[tokio::test]
async fn a_plain_function_is_the_model() {
    let (_server, client) = served();
    let mut asked = Vec::new();
    let mut said = vec![
        Generated::new("It is fine.").usage(Usage::new(7, 2)).provider("acme", "chat"),
        Generated::new("").tool_calls([ToolCall::new("provider-1", "weather", r#"{"city": "Lisbon"}"#)]),
    ];
    let request = Request::new("weather?").system("Be brief.").profile("mine");
    let chain = client.chain(request, both()).generate(|generation| {
        asked.push(generation);
        std::future::ready(said.pop().expect("asked once more"))
    });
    let answer = chain.await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.input_tokens), ("It is fine.", Some(7)));
    assert_eq!((asked[0].kind, asked[0].tools[0].name.as_str()), (AttemptKind::First, "weather"));
    assert_eq!(asked[1].messages.last().unwrap().tool_results[0].text, "22 degrees in Lisbon");
}

#[tokio::test]
async fn what_the_model_fails_with_comes_back_and_is_told_to_nobody() {
    let (_server, client) = served();
    let name = fresh();
    let request = || Request::new("zero").profile("mine");
    let leak = |_| async { Err(std::io::Error::other("sk-secret is wrong")) };
    let told =
        client.coordinate(request(), 0, says([]).next()).generate(leak).coordination_id(&name).await.unwrap_err();
    assert_eq!(told.downcast::<std::io::Error>().unwrap().to_string(), "sk-secret is wrong");
    let found = client.coordination(&name).await.unwrap();
    assert!(!format!("{:?}", found.raw()).contains("sk-secret"));

    let nobody = client.coordinate(request(), 0, says([]).next()).await.unwrap_err();
    assert_eq!(nobody.reason, "PROVIDER_REFUSED_REQUEST");
    assert!(nobody.to_string().contains("does not call models"), "{nobody}");

    let mut tries = 0;
    let busy = |_| {
        tries += 1;
        let loading = Error::new(Code::Unavailable, "the model is loading");
        std::future::ready(if tries == 1 { Err(loading) } else { Ok(Generated::new("here")) })
    };
    assert_eq!(client.chain(request(), []).generate(busy).await.unwrap().text, "here");
    assert_eq!(tries, 2);
}
