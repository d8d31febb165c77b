//! What a coordination may be agreed to be, and what may be said in it.

use antiphon::grpc::pb;
use pb::next_action::Action;
use tonic::{Code, Status};

use super::{Edge, beyond, kept, object};
use crate::support::ask;
use crate::support::coordinate::{Loop, answer, answer_tools, start, stop};
use crate::support::server::Running;

const NOWHERE: &str = "0190a5c1-7b1e-7000-8000-000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn of_a_start() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::CoordinationStart>] = &[
        ("start.additional_turns", 1_000_000, |turns| start(NOWHERE, turns.try_into().unwrap())),
        ("start.tool_round_limit", 1_000, |rounds| pb::CoordinationStart {
            tool_round_limit: Some(rounds.try_into().unwrap()),
            ..start(NOWHERE, 1)
        }),
        ("start.coordination_id", 128, |characters| pb::CoordinationStart {
            coordination_id: "c".repeat(characters),
            ..start(NOWHERE, 1)
        }),
    ];
    kept(&server, edges, async |start| Loop::start(&server, start).await.next().await).await;
}

fn failing(change: impl FnOnce(&mut pb::FailAction)) -> pb::AnswerRequest {
    let mut fail = pb::FailAction { code: Code::Internal as i32, message: "m".into(), ..Default::default() };
    change(&mut fail);
    answer("c", "d", Action::Fail(fail))
}

async fn said(server: &Running, answer: pb::AnswerRequest) -> Result<pb::AnswerResponse, Status> {
    let channel = server.channel();
    let mut client = pb::coordination_service_client::CoordinationServiceClient::new(channel);
    Ok(client.answer(answer).await?.into_inner())
}

/// What is too long is refused before it is looked for what it answers.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_answer() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::AnswerRequest>] = &[
        ("next_action.decision_id", 128, |characters| answer("c", &"d".repeat(characters), stop())),
        ("next_action.fail.message", 4_096, |bytes| failing(|fail| fail.message = "m".repeat(bytes))),
        ("next_action.fail.reason", 63, |characters| failing(|fail| fail.reason = "R".repeat(characters))),
        ("next_action.fail.domain", 128, |characters| failing(|fail| fail.domain = "é".repeat(characters))),
        ("next_action.fail.details_json", 16_384, |bytes| failing(|fail| fail.details_json = object(bytes))),
        ("next_action.fail.metadata", 64, |count| {
            failing(|fail| fail.metadata = (0..count).map(|number| (format!("k{number}"), "v".into())).collect())
        }),
        (r#"next_action.fail.metadata["k"]"#, 1_024, |characters| {
            failing(|fail| fail.metadata = [("k".to_owned(), "é".repeat(characters))].into())
        }),
        ("tool_results.batch_id", 128, |characters| {
            answer_tools("c", &"b".repeat(characters), vec![ask::result("a", "x")])
        }),
        ("tool_results.results", 128, |count| {
            answer_tools("c", "b", (0..count).map(|number| ask::result(&format!("a{number}"), "x")).collect())
        }),
        ("generated.failure.message", 4_096, |bytes| {
            let failure =
                pb::GenerationFailure { code: Code::Internal as i32, message: "m".repeat(bytes), ..Default::default() };
            let outcome = Some(pb::generated::Outcome::Failure(failure));
            let generated = pb::Generated { generation_id: "g".into(), outcome };
            let answer = Some(pb::answer_request::Answer::Generated(generated));
            pb::AnswerRequest { coordination_id: "c".into(), answer }
        }),
    ];
    kept(&server, edges, async |answer| said(&server, answer).await).await;
    beyond(&said(&server, answer_tools("c", "b", Vec::new())).await.unwrap_err(), "tool_results.results", 128, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_cancel() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::CoordinationServiceCancelRequest>] = &[("message", 1_024, |characters| {
        pb::CoordinationServiceCancelRequest { coordination_id: "c".into(), message: "é".repeat(characters) }
    })];
    let client = pb::coordination_service_client::CoordinationServiceClient::new(server.channel());
    kept(&server, edges, async |request| client.clone().cancel(request).await).await;
}
