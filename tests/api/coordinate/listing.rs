//! Listing coordinations: by id, in pages, by what they wait for, since when, by thread and labels.

use antiphon::grpc::pb;
use pb::coordination_service_client::CoordinationServiceClient;
use tonic::Code;
use tonic::transport::Channel;

use super::{asked_on_thread, coordinations, let_go};
use crate::stub;
use crate::support::coordinate::{Loop, start, start_on, start_with, stop};
use crate::support::refused;

type Filter = pb::CoordinationServiceListRequest;

async fn ids(client: &mut CoordinationServiceClient<Channel>, filter: Filter) -> Vec<String> {
    let (mut ids, mut token) = (Vec::new(), String::new());
    loop {
        let page = client.list(Filter { page_token: token, ..filter.clone() }).await.unwrap().into_inner();
        ids.extend(page.coordinations.into_iter().map(|coordination| coordination.coordination_id));
        token = page.next_page_token;
        if token.is_empty() {
            return ids;
        }
    }
}

/// Each filter by itself, and all of them together.
#[tokio::test(flavor = "multi_thread")]
async fn coordinations_are_listed_by_what_is_asked() {
    let (_provider, server, exchange) = asked_on_thread([stub::calls(&[("a", "look", "{}")])], "").await;
    let labelled = |id: &str, start: pb::CoordinationStart, labels: &[(&str, &str)]| pb::CoordinationStart {
        coordination_id: id.to_owned(),
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..start
    };
    let mut waits = Loop::start(&server, labelled("a-waits", start(&exchange, 1), &[("team", "x"), ("k", "1")])).await;
    waits.decision().await;
    let mut follows = Loop::start(&server, labelled("b-follows", start_on("t", 1), &[("team", "x")])).await;
    follows.decision().await;
    let calls = start_with(stub::offering("r", "look"), 1);
    let mut calls = Loop::start(&server, labelled("c-calls", calls, &[("team", "y")])).await;
    calls.tools().await;
    let mut over = Loop::start(&server, labelled("d-over", start(&exchange, 1), &[])).await;
    over.decision().await;
    over.act(stop()).await;
    over.ended().await;
    drop(follows);
    let_go(&server, "b-follows").await;
    let mut client = coordinations(&server);
    let whole = client.list(Filter::default()).await.unwrap().into_inner().coordinations;
    assert!(whole.iter().all(|one| one.pending.is_none()), "a list has no content");
    assert_eq!(whole[2].pending_call_ids.len(), 1);
    let times: Vec<_> = whole.iter().map(|one| (one.create_time.unwrap(), one.state_time.unwrap())).collect();
    let all = ["a-waits", "b-follows", "c-calls", "d-over"];
    let team = |name: &str| [("team".to_owned(), name.to_owned())].into();
    use pb::CoordinationState as State;
    let states = |states: &[State]| states.iter().map(|state| (*state).into()).collect::<Vec<i32>>();
    let cases: Vec<(Filter, &[&str])> = vec![
        (Filter::default(), &all),
        (Filter { states: states(&[State::AwaitingDecision]), ..Default::default() }, &all[..2]),
        (Filter { states: states(&[State::AwaitingTools, State::Stopped]), ..Default::default() }, &all[2..]),
        (Filter { states: states(&[State::Failed]), ..Default::default() }, &[]),
        (Filter { attached: Some(true), ..Default::default() }, &["a-waits", "c-calls"]),
        (Filter { attached: Some(false), ..Default::default() }, &["b-follows", "d-over"]),
        (Filter { thread_id: "t".into(), ..Default::default() }, &["b-follows"]),
        (Filter { labels: team("x"), ..Default::default() }, &all[..2]),
        (Filter { labels: team("z"), ..Default::default() }, &[]),
        (Filter { created_from: Some(times[2].0), ..Default::default() }, &all[2..]),
        (Filter { created_before: Some(times[2].0), ..Default::default() }, &all[..2]),
        (Filter { state_before: Some(times[2].1), ..Default::default() }, &all[..2]),
        (
            Filter {
                states: states(&[State::AwaitingDecision]),
                attached: Some(true),
                labels: team("x"),
                created_before: Some(times[1].0),
                ..Default::default()
            },
            &["a-waits"],
        ),
    ];
    for (filter, wanted) in cases {
        for page_size in [0, 1, 2, 3] {
            assert_eq!(ids(&mut client, Filter { page_size, ..filter.clone() }).await, wanted, "{filter:?}");
        }
    }
}

/// Pages are in order, and a token is of its own list.
#[tokio::test(flavor = "multi_thread")]
async fn pages_go_on_where_the_one_before_ended() {
    let (server, exchange) = super::begun().await;
    let mut made = Vec::new();
    for number in 0..23 {
        let mut stream = Loop::start(&server, start(&exchange, number)).await;
        made.push(stream.started().await.coordination_id);
        stream.decision().await;
        stream.act(stop()).await;
        stream.ended().await;
    }
    made.sort();
    let mut client = coordinations(&server);
    for page_size in [1, 5, 23, 24, 1_000] {
        assert_eq!(ids(&mut client, Filter { page_size, ..Default::default() }).await, made);
    }
    let page = client.list(Filter { page_size: 5, ..Default::default() }).await.unwrap().into_inner();
    let other = Filter { page_size: 5, page_token: page.next_page_token, attached: Some(true), ..Default::default() };
    let refusal = client.list(other).await.unwrap_err();
    assert_eq!((refusal.code(), refused::fields(&refusal)), (Code::InvalidArgument, vec!["page_token".to_owned()]));
    let refusal = client.list(Filter { page_size: -1, ..Default::default() }).await.unwrap_err();
    assert_eq!(refused::fields(&refusal), ["page_size"]);
}
