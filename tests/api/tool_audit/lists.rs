//! ToolService: the tools of a call, sets by their id, drifts of a path, calls that had a tool.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::graph_scope::Scope;
use tonic::Code;

use super::{begin, go_on, offering, version};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};

pub(super) fn path(exchange: &pb::Exchange) -> Option<pb::GraphScope> {
    let exchange_id = exchange.exchange_id.clone();
    Some(pb::GraphScope { scope: Some(Scope::Path(pb::PathScope { exchange_id })) })
}

fn thread(thread_id: &str) -> Option<pb::GraphScope> {
    let thread_id = thread_id.to_owned();
    Some(pb::GraphScope { scope: Some(Scope::ThreadPath(pb::ThreadPathScope { thread_id })) })
}

pub(super) async fn call_tools(server: &Running, exchange: &pb::Exchange) -> pb::GetCallToolsResponse {
    let request = pb::GetCallToolsRequest { exchange_id: exchange.exchange_id.clone() };
    server.tools().get_call_tools(request).await.unwrap().into_inner()
}

/// Pages of a list, each of at most so many, until the last.
pub(super) async fn drifts(
    server: &Running,
    scope: Option<pb::GraphScope>,
    name: &str,
    page_size: i32,
) -> Vec<pb::ToolDrift> {
    let mut request = pb::ListToolDriftsRequest { scope, name: name.into(), page_size, ..Default::default() };
    let mut all = Vec::new();
    loop {
        let page = server.tools().list_tool_drifts(request.clone()).await.unwrap().into_inner();
        assert!(page.drifts.len() <= usize::try_from(page_size).unwrap());
        all.extend(page.drifts);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

pub(super) async fn occurrences(server: &Running, request: pb::ListToolOccurrencesRequest) -> Vec<pb::ToolOccurrence> {
    let mut request = request;
    let mut all = Vec::new();
    loop {
        let page = server.tools().list_tool_occurrences(request.clone()).await.unwrap().into_inner();
        all.extend(page.occurrences);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

pub(super) fn wanted(name: &str) -> pb::ListToolOccurrencesRequest {
    pb::ListToolOccurrencesRequest { name: name.into(), page_size: 2, ..Default::default() }
}

pub(super) fn ids(occurrences: &[pb::ToolOccurrence]) -> Vec<&str> {
    occurrences.iter().map(|occurrence| occurrence.exchange_id.as_str()).collect()
}

/// What drifted, each as `name: since -> exchange`.
pub(super) fn lines(drifts: &[pb::ToolDrift]) -> Vec<(String, String, String)> {
    let line = |d: &pb::ToolDrift| (d.name.clone(), d.previous_exchange_id.clone(), d.exchange_id.clone());
    drifts.iter().map(line).collect()
}

/// S0-32 to S0-35: exactly the tools of this call, by its id alone, and what became of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_tells_its_tools() {
    let call = serde_json::json!({"id": "p1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let alien = serde_json::json!({"id": "p2", "type": "function", "function": {"name": "alien", "arguments": "{}"}});
    let calling = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [call, alien]}, "finish_reason": "tool_calls"}],
    });
    let provider = Provider::start([Entry::json(&calling.to_string())]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let choice = pb::tool_choice::Choice::Required(pb::ToolChoiceRequired {});
    let request = pb::ExecutionRequest {
        tool_choice: Some(pb::ToolChoice { choice: Some(choice.clone()) }),
        standing_tools: Some(pb::ToolList { tools: vec![version("stands", 1)] }),
        ..offering(&[("look", 1), ("unused", 1)])
    };
    let exchange = server.exchanges().capture(ask::capture(request)).await.unwrap().into_inner().exchange.unwrap();
    let tools = call_tools(&server, &exchange).await;
    assert_eq!(tools.called_tools, ["look", "alien"]);
    assert_eq!(tools.tool_choice.unwrap().choice, Some(choice));
    assert_eq!((tools.tools.clone(), tools.drifts), (exchange.tools.clone(), vec![]));
    let offered = tools.tools.unwrap().offered.unwrap();
    assert_eq!(offered.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look", "unused"]);
    let request = pb::GetToolSetRequest { tool_set_id: offered.tool_set_id.clone() };
    assert_eq!(server.tools().get_tool_set(request).await.unwrap().into_inner().tool_set, Some(offered));
    // Of a tool that was called and not offered there is no schema.
    let found = occurrences(&server, wanted("alien")).await;
    assert_eq!((found.len(), found[0].offered, found[0].schema_hash.as_str()), (1, false, ""));
    assert_eq!(found[0].call_ids, [exchange.pending_tool_calls[1].call_id.clone()]);
}

/// S0-36: each change of a path once, with the tool before and after, whatever the size of the pages; a way back is one too.
#[tokio::test(flavor = "multi_thread")]
async fn drifts_are_listed_along_a_path() {
    let server = Running::echo().await;
    let one = begin(&server, &[("a", 1), ("b", 1)]).await;
    let two = go_on(&server, &one, &[("b", 2), ("a", 2)]).await;
    let three = go_on(&server, &two, &[]).await;
    let four = go_on(&server, &three, &[("c", 1), ("a", 1)]).await;
    let left = go_on(&server, &two, &[("b", 3)]).await;
    let id = |exchange: &pb::Exchange| exchange.exchange_id.clone();
    let line = |name: &str, from: &pb::Exchange, to: &pb::Exchange| (name.to_owned(), id(from), id(to));
    let expected = [line("b", &one, &two), line("a", &one, &two), line("a", &two, &four)];
    for size in [1, 2, 50] {
        assert_eq!(lines(&drifts(&server, path(&four), "", size).await), expected, "pages of {size}");
    }
    assert_eq!(lines(&drifts(&server, path(&four), "a", 1).await), expected[1..]);
    assert_eq!(lines(&drifts(&server, path(&left), "b", 1).await), [line("b", &one, &two), line("b", &two, &left)]);
    assert_eq!(drifts(&server, path(&one), "", 50).await, []);
    let told = call_tools(&server, &four).await.drifts;
    assert_eq!(told, drifts(&server, path(&four), "", 50).await[2..]);
    assert_eq!(told[0].previous.as_ref().unwrap().input_schema_json, version("a", 2).input_schema_json);
    assert_eq!(told[0].current.as_ref().unwrap().input_schema_json, version("a", 1).input_schema_json);
}

/// A thread is the path to its head; a page goes on along the path that the first one had, wherever the head is since.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_its_path() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", offering(&[("a", 1)]))).await.unwrap();
    for number in [2, 3] {
        client.r#continue(ask::on_thread(ask::on("t"), offering(&[("a", number)]))).await.unwrap();
    }
    let request = pb::ListToolDriftsRequest { scope: thread("t"), page_size: 1, ..Default::default() };
    let first = server.tools().list_tool_drifts(request.clone()).await.unwrap().into_inner();
    client.r#continue(ask::on_thread(ask::on("t"), offering(&[("a", 4)]))).await.unwrap();
    let next = pb::ListToolDriftsRequest { page_token: first.next_page_token.clone(), ..request.clone() };
    let second = server.tools().list_tool_drifts(next).await.unwrap().into_inner();
    assert_eq!((first.drifts.len(), second.drifts.len(), second.next_page_token.as_str()), (1, 1, ""));
    assert_eq!(drifts(&server, thread("t"), "", 50).await.len(), 3);
    let request = pb::ListToolOccurrencesRequest { scope: thread("t"), ..wanted("a") };
    let found = occurrences(&server, request).await;
    assert_eq!(found.iter().map(|occurrence| occurrence.thread_id.as_str()).collect::<Vec<_>>(), ["t"; 4]);
    // A thread without an exchange has nothing to list.
    let new = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { thread_id: "bare".into(), ..Default::default() }),
        ..Default::default()
    };
    server.threads().create(new).await.unwrap();
    assert_eq!(drifts(&server, thread("bare"), "", 50).await, []);
    assert_eq!(occurrences(&server, pb::ListToolOccurrencesRequest { scope: thread("bare"), ..wanted("a") }).await, []);
}

/// Which calls had a tool: along a path from its end, in the namespace newest first; by schema, kind and time.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_had_a_tool_are_listed() {
    let server = Running::echo().await;
    let root = begin(&server, &[("a", 1)]).await;
    let bare = go_on(&server, &root, &[]).await;
    let again = go_on(&server, &bare, &[("b", 1), ("a", 1)]).await;
    let other = go_on(&server, &root, &[("a", 2)]).await;
    let elsewhere = begin(&server, &[("a", 1)]).await;
    let all = [&elsewhere, &other, &again, &root].map(|exchange| exchange.exchange_id.as_str());
    assert_eq!(ids(&occurrences(&server, wanted("a")).await), all);
    let on_path = pb::ListToolOccurrencesRequest { scope: path(&again), page_size: 1, ..wanted("a") };
    assert_eq!(ids(&occurrences(&server, on_path.clone()).await), all[2..]);
    let called = pb::ListToolOccurrencesRequest { kind: pb::ToolOccurrenceKind::Called.into(), ..on_path };
    assert_eq!(occurrences(&server, called).await, []);
    let found = occurrences(&server, wanted("a")).await;
    let by_schema = pb::ListToolOccurrencesRequest { schema_hash: found[1].schema_hash.clone(), ..wanted("a") };
    assert_eq!(ids(&occurrences(&server, by_schema).await), [all[1]]);
    let past = pb::ListToolOccurrencesRequest { before_time: root.create_time, ..wanted("a") };
    assert_eq!(occurrences(&server, past).await, []);
    let since = pb::ListToolOccurrencesRequest { from_time: root.create_time, ..wanted("a") };
    assert_eq!(occurrences(&server, since).await.len(), 4);
    assert_eq!(occurrences(&server, wanted("nobody")).await, []);
    let first = server.tools().list_tool_occurrences(wanted("a")).await.unwrap().into_inner();
    let mixed = pb::ListToolOccurrencesRequest { page_token: first.next_page_token, ..wanted("b") };
    let mixed = server.tools().list_tool_occurrences(mixed).await.unwrap_err();
    refused::is(&mixed, Code::InvalidArgument, Reason::PageTokenInvalid);
}

/// What is not there is named; what is malformed too.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_ids_are_named() {
    let server = Running::echo().await;
    let mut client = server.tools();
    let nowhere = "01890000-0000-7000-8000-000000000000".to_owned();
    let unknown = client.get_call_tools(pb::GetCallToolsRequest { exchange_id: nowhere.clone() }).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::ExchangeNotFound);
    let set = |tool_set_id: &str| pb::GetToolSetRequest { tool_set_id: tool_set_id.to_owned() };
    let unknown = client.get_tool_set(set(&"ab".repeat(32))).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::ResourceNotFound);
    for malformed in ["", "abc"] {
        let malformed = client.get_tool_set(set(malformed)).await.unwrap_err();
        assert_eq!(refused::fields(&malformed), ["tool_set_id"]);
    }
    let scope = path(&pb::Exchange { exchange_id: nowhere, ..Default::default() });
    let request = pb::ListToolDriftsRequest { scope: scope.clone(), ..Default::default() };
    refused::is(&client.list_tool_drifts(request).await.unwrap_err(), Code::NotFound, Reason::ExchangeNotFound);
    let request = pb::ListToolOccurrencesRequest { scope, ..wanted("a") };
    refused::is(&client.list_tool_occurrences(request).await.unwrap_err(), Code::NotFound, Reason::ExchangeNotFound);
    let request = pb::ListToolDriftsRequest { scope: thread("none"), ..Default::default() };
    refused::is(&client.list_tool_drifts(request).await.unwrap_err(), Code::NotFound, Reason::ThreadNotFound);
}
