//! Lists of runs, and long histories in pages and streams.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::Provider;
use crate::support::server::{Running, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

/// Every run that a query finds, page by page.
async fn all(server: &Running, query: pb::RunServiceListRequest) -> Vec<String> {
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let request = pb::RunServiceListRequest { page_token: token, ..query.clone() };
        let page = server.runs().list(request).await.unwrap().into_inner();
        assert!(page.runs.len() <= usize::try_from(query.page_size).unwrap());
        seen.extend(page.runs.into_iter().map(|run| run.run_id));
        if page.next_page_token.is_empty() {
            return seen;
        }
        token = page.next_page_token;
    }
}

fn labelled(run_id: &str, team: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { labels: [("team".to_owned(), team.to_owned())].into(), ..ask::text_as(run_id, "x") }
}

/// Runs are found by state, thread and labels, each page's token belonging to its query.
#[tokio::test(flavor = "multi_thread")]
async fn runs_are_found_by_state_thread_and_labels() {
    let provider = Provider::start([
        stub::text("a"),
        stub::text("b"),
        stub::status(400, "no"),
        stub::calls(&[("p1", "look", "{}")]),
        stub::text("e"),
    ])
    .await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", labelled("a", "red"))).await.unwrap();
    client.r#continue(ask::on_thread(ask::on("t"), labelled("b", "blue"))).await.unwrap();
    client.capture(ask::capture(labelled("c", "red"))).await.unwrap_err();
    client
        .capture(ask::capture(pb::ExecutionRequest { tools: ask::tools(&["look"]), ..labelled("d", "blue") }))
        .await
        .unwrap();
    client.capture(ask::capture(labelled("e", "red"))).await.unwrap();
    let query = pb::RunServiceListRequest { page_size: 2, ..Default::default() };
    assert_eq!(all(&server, query.clone()).await, ["a", "b", "c", "d", "e"]);
    let red = pb::RunServiceListRequest { labels: [("team".to_owned(), "red".to_owned())].into(), ..query.clone() };
    assert_eq!(all(&server, red.clone()).await, ["a", "c", "e"]);
    let of_thread = pb::RunServiceListRequest { thread_id: "t".into(), ..query.clone() };
    assert_eq!(all(&server, of_thread.clone()).await, ["a", "b"]);
    let states = |states: &[pb::RunState]| pb::RunServiceListRequest {
        states: states.iter().map(|state| (*state).into()).collect(),
        ..query.clone()
    };
    assert_eq!(all(&server, states(&[pb::RunState::Failed, pb::RunState::PendingTools])).await, ["c", "d"]);
    assert_eq!(all(&server, states(&[pb::RunState::Completed])).await, ["a", "b", "e"]);
    let first = server.runs().list(red.clone()).await.unwrap().into_inner();
    assert_eq!(first.runs.len(), 2);
    for other in [of_thread, states(&[pb::RunState::Failed]), query] {
        let elsewhere = pb::RunServiceListRequest { page_token: first.next_page_token.clone(), ..other };
        refused::is(&server.runs().list(elsewhere).await.unwrap_err(), Code::InvalidArgument, Reason::PageTokenInvalid);
    }
    let larger = pb::RunServiceListRequest { page_size: 50, page_token: first.next_page_token, ..red };
    assert_eq!(
        server.runs().list(larger).await.unwrap().into_inner().runs[0].run_id,
        "e",
        "the size may change on the way"
    );
    let unset = pb::RunServiceListRequest { states: vec![0], ..Default::default() };
    assert_eq!(refused::fields(&server.runs().list(unset).await.unwrap_err()), ["states[0]"]);
    assert_eq!(look::run(&server, "d").await.pending_tool_calls.len(), 1);
}

/// A long history comes in pages or as a stream, whole and in order, and each page fits what a client takes by default.
#[tokio::test(flavor = "multi_thread")]
async fn long_histories_page_and_stream() {
    let server = Running::echo().await;
    let half = "0123456789abcdef".repeat(32 * 1024);
    let messages: Vec<_> =
        (0..12).flat_map(|turn| [ask::user(&format!("q{turn} {half}")), ask::assistant(&format!("a{turn}"))]).collect();
    let recorded = server.exchanges().record(ask::record(messages.clone())).await.unwrap().into_inner();
    let last = recorded.exchange_id;
    let whole = ask::texts(&messages);
    // A client with its default limits.
    let mut client = pb::exchange_service_client::ExchangeServiceClient::new(server.channel());
    let (mut seen, mut path, mut token, mut pages) = (Vec::new(), Vec::new(), String::new(), 0);
    loop {
        let request = pb::InspectRequest { page_size: 5, page_token: token, ..ask::inspect(&last) };
        let page = client.inspect(request).await.unwrap().into_inner();
        assert_eq!(page.exchange.is_some(), pages == 0, "the exchange itself is on the first page");
        seen.extend(ask::texts(&page.messages));
        path.extend(page.path);
        pages += 1;
        if page.next_page_token.is_empty() {
            break;
        }
        token = page.next_page_token;
    }
    assert!(pages >= 3, "{pages}");
    assert!(seen == whole, "{} of {} messages", seen.len(), whole.len());
    assert_eq!(
        path.iter().map(|step| (step.turn, step.message_count)).collect::<Vec<_>>(),
        (1..=12).map(|turn| (turn, 2)).collect::<Vec<_>>()
    );
    let request = pb::StreamInspectRequest { exchange_id: last.clone(), history: pb::HistoryScope::Full.into() };
    let mut stream = client.stream_inspect(request).await.unwrap().into_inner();
    let mut streamed = Vec::new();
    while let Some(message) = stream.message().await.unwrap() {
        streamed.extend(ask::texts(&message.page.unwrap().messages));
    }
    assert!(streamed == whole);
    let alone = pb::InspectRequest { history: pb::HistoryScope::None.into(), ..ask::inspect(&last) };
    let alone = client.inspect(alone).await.unwrap().into_inner();
    assert_eq!((alone.messages.len(), alone.path.len(), alone.exchange.unwrap().messages.len()), (0, 0, 1));
    let elsewhere = recorded.exchanges[3].exchange_id.as_str();
    let first = client.inspect(pb::InspectRequest { page_size: 1, ..ask::inspect(&last) }).await.unwrap().into_inner();
    let other = pb::InspectRequest { page_token: first.next_page_token, ..ask::inspect(elsewhere) };
    refused::is(&client.inspect(other).await.unwrap_err(), Code::InvalidArgument, Reason::PageTokenInvalid);
}

/// B102, S1-9..11: sixty-four threads from one shared parent at once, each with its own path and nothing lost.
#[tokio::test(flavor = "multi_thread")]
async fn many_threads_at_once_lose_nothing() {
    let server = Running::echo().await;
    let first = server
        .exchanges()
        .capture(ask::capture(ask::text("shared")))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap()
        .exchange_id;
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let (mut client, first) = (server.exchanges(), first.clone());
            tokio::spawn(async move {
                let id = format!("t{number:02}");
                client.fork(ask::fork(&first, vec![ask::branch(&id, Some(ask::text("0")))])).await.unwrap();
                for turn in 1..20 {
                    client.r#continue(ask::on_thread(ask::on(&id), ask::text(&turn.to_string()))).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for id in (0..64).map(|number| format!("t{number:02}")) {
        let thread = look::thread(&server, &id).await;
        let history = look::history(&server, &thread.head_exchange_id).await;
        let asked: Vec<_> = history.iter().filter_map(|text| text.strip_prefix("U:")).collect();
        let own = (0..20).map(|turn| turn.to_string());
        assert_eq!(asked, ["shared".to_owned()].into_iter().chain(own).collect::<Vec<_>>(), "{id}");
    }
    let runs = all(&server, pb::RunServiceListRequest { page_size: 50, ..Default::default() }).await;
    assert_eq!(runs.len(), 1 + 64 * 20);
}
