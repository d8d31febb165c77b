//! Single turns: prompts, replies, forks, probes, records, and what is refused before anything is sent.

use antiphon_client::{
    Client, Code, Contract, Decision, Delta, ExchangeId, Facts, JsonSchema, Message, NewThread, OnDisconnect, Request,
    Role, RunState, Stop, StopReason, ThreadPoint, ToolResult, Usage, ValidationStatus,
};
use futures_util::StreamExt;
use serde::Deserialize;

use crate::support::{LONG, fresh, refused, run_state, served, until};
use crate::tools::both;

/// S0-28, S0-38.
#[tokio::test]
async fn a_prompt_keeps_nothing_but_its_run() {
    let (_server, client) = served();
    let answer = client.prompt(Request::new("hello").tools(both())).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.captured, answer.exchange_id.as_str()), ("hello", false, ""));
    assert_eq!(answer.model(), "canned-1");
    let run = client.run(&answer.run_id).await.unwrap();
    assert_eq!((run.state, run.captured, run.exchange_id.as_str()), (RunState::Completed, false, ""));
    let called = client.prompt(Request::new("the forecast").tools(both())).await.unwrap();
    assert_eq!(called.stop_reason, StopReason::ToolCalls);
    let results: Vec<_> = called.tool_calls.iter().map(|call| ToolResult::new(&call.call_id, "fine")).collect();
    assert_eq!(client.reply(&called, results.clone()).await.unwrap().text, "Done.");
    assert!(client.reply(&called, results).keep(true).await.unwrap().captured);
}

/// S0-11, S0-12, S0-T4, S0-5 to S0-7: of what was never captured, too.
#[tokio::test]
async fn a_reply_to_what_was_never_captured_keeps_context_and_tools() {
    let (_server, client) = served();
    let [weather, _] = both();
    let first = client.prompt(Request::new("one").system("Be brief.").tools([weather])).await.unwrap();
    let second = client.reply(&first, Request::new("two").tools([])).await.unwrap();
    let third = client.reply(&second, "three").keep(true).await.unwrap();
    let offered: Vec<_> = third.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["weather"]);
    let found = client.inspect(&third).await.unwrap();
    let said: Vec<_> = found.messages.iter().map(|message| format!("{} {}", message.role, message.text)).collect();
    let whole =
        ["system Be brief.", "user one", "assistant one", "user two", "assistant two", "user three", "assistant three"];
    assert_eq!(said, whole);
    assert_eq!(found.path.len(), 3);
    let other = client.reply(&second, "another").keep(true).await.unwrap();
    assert_eq!(other.parent_exchange_id, third.parent_exchange_id);
    let kept = client.chain("more", []).after(&second).await.unwrap();
    assert_eq!(kept.parent_exchange_id, third.parent_exchange_id);
}

#[tokio::test]
async fn every_turn_can_be_heard() {
    let (_server, client) = served();
    let loose = client.prompt("one").await.unwrap();
    let kept = client.capture("one").await.unwrap();
    for which in 0..6 {
        let mut heard = Vec::new();
        let hear = |delta: Delta| heard.push(delta.text().to_owned());
        let text = match which {
            0 => client.prompt("slow").on_delta(hear).await.unwrap().text,
            1 => client.prompt("slow").keep(true).on_delta(hear).await.unwrap().text,
            2 => client.reply(&loose, "slow").on_delta(hear).await.unwrap().text,
            3 => client.reply(&kept, "slow").on_delta(hear).await.unwrap().text,
            4 => client.chain("slow", []).on_delta(hear).await.unwrap().text,
            _ => client.fork_once(&kept, "slow").on_delta(hear).await.unwrap().text,
        };
        assert_eq!(heard.concat(), text, "{which}");
        assert!(heard.len() > 1, "{which} came in {} pieces", heard.len());
    }
    let gone = || std::io::Error::other("the terminal is gone");
    let failed = client.capture("slow").on_delta(|_| Err::<(), _>(gone())).await.unwrap_err();
    assert_eq!(failed.downcast::<std::io::Error>().unwrap().to_string(), "the terminal is gone");
}

#[tokio::test]
async fn a_response_that_is_dropped_ends_its_run_and_one_that_is_cancelled_says_so() {
    let (_server, client) = served();
    let mut left = client.capture("patient").stream().unwrap();
    let run_id = left.run_id().to_owned();
    left.next().await.unwrap().unwrap();
    drop(left);
    until(Some(RunState::Cancelled), async || run_state(&client, &run_id).await).await;

    let mut cancelled = client.capture("patient").stream().unwrap();
    cancelled.next().await.unwrap().unwrap();
    cancelled.cancel().await.unwrap();
    let last = loop {
        if let Err(error) = cancelled.next().await.unwrap() {
            break error;
        }
    };
    assert_eq!((last.code, last.reason.as_str()), (Code::Cancelled, "RUN_CANCELLED"));
    assert!(cancelled.next().await.is_none());
    refused(cancelled.await, Code::Cancelled, "RUN_CANCELLED");
}

#[tokio::test]
async fn a_response_gives_its_pieces_and_then_the_whole() {
    let (_server, client) = served();
    let mut response = client.capture(Request::new("slow").on_disconnect(OnDisconnect::Finish)).stream().unwrap();
    let first = response.next().await.unwrap().unwrap();
    assert_eq!(first, Delta::Text("It t".to_owned()));
    assert_eq!(response.await.unwrap().text, LONG);
    let mut streamed = client.capture("slow").stream().unwrap();
    let pieces: Vec<_> = streamed.deltas().map(|delta| delta.unwrap().text().to_owned()).collect().await;
    assert_eq!(pieces.concat(), LONG);
    let start = client.capture("one").await.unwrap();
    let turn = client.continue_from(&start, "two").stream().unwrap().await.unwrap();
    assert_eq!((turn.text.as_str(), turn.turn), ("two", 2));
}

#[tokio::test]
async fn several_branches_run_at_once_and_one_that_fails_takes_no_other_along() {
    let (_server, client) = served();
    let start = client.capture("one").await.unwrap();
    let branches = client.fork_all(&start, ["two", "down for good"]).await.unwrap();
    assert_eq!(branches[0].exchange.as_ref().unwrap().text, "two");
    assert_eq!(branches[1].exchange.as_ref().unwrap_err().reason, "PROVIDER_UNAVAILABLE");
    let thread = client.thread(&branches[1].thread_id).await.unwrap();
    assert_eq!(thread.head_exchange_id, start.exchange_id);
    let alone = client.fork_all(&start, ["down for good"]).await.unwrap();
    assert_eq!(alone[0].exchange.as_ref().unwrap_err().reason, "PROVIDER_UNAVAILABLE");
}

#[tokio::test]
async fn a_probe_may_be_kept() {
    let (_server, client) = served();
    let start = client.capture("one").await.unwrap();
    let probe = client.fork_once(&start, "aside").await.unwrap();
    refused(client.run(&probe.run_id).await, Code::NotFound, "RUN_NOT_FOUND");
    let recorded = client.record_probe(&probe).await.unwrap();
    assert_eq!(recorded.stored, 1);
    let found = client.inspect(ExchangeId::new(&recorded.exchange_id)).await.unwrap();
    assert_eq!(found.path, [start.exchange_id, recorded.exchange_id]);
}

/// S0-12.
#[tokio::test]
async fn a_transcript_is_recorded_once_with_its_facts() {
    let (_server, client) = served();
    let name = fresh();
    let said = [Message::user(&name), Message::assistant("yes"), Message::user("more"), Message::assistant("no")];
    let [weather, _] = both();
    let facts = Facts::new(1).model("theirs-1").stop_reason(StopReason::Stop).usage(&Usage::new(3, 1)).tools([weather]);
    let thread = NewThread::new().id(&name);
    let first = client.record(said.clone()).facts(facts).label("from", "import").on_thread(thread).await.unwrap();
    assert_eq!((first.stored, first.matched, first.thread_id.as_str()), (2, 0, name.as_str()));
    let again = client.record(said[..2].to_vec()).await.unwrap();
    assert_eq!((again.stored, again.matched, &again.exchange_id), (0, 1, &first.exchange_ids[0]));
    let found = client.exchange(&ExchangeId::new(&first.exchange_ids[0])).await.unwrap();
    assert_eq!((found.usage.input_tokens, found.usage.reported), (Some(3), true));
    assert_eq!((found.tools[0].name.as_str(), found.labels["from"].as_str()), ("weather", "import"));
    let more = [Message::user("third"), Message::assistant("maybe")];
    let on = client.record(more).after(ThreadPoint::new(&name)).await.unwrap();
    assert_eq!(client.thread(&name).await.unwrap().head_exchange_id, on.exchange_id);
}

#[tokio::test]
async fn what_cannot_be_is_said_before_any_call() {
    let (_server, client) = served();
    let loose = client.prompt("one").await.unwrap();
    let kept = client.capture("one").await.unwrap();
    refused(client.reply(&kept, "two").keep(false).await, Code::InvalidArgument, "");
    refused(client.reply(&loose, Request::default().prompt_id("greet")).await, Code::InvalidArgument, "");
    let misplaced = client.coordinate(&kept, 1, crate::support::says([]).next()).on_thread(NewThread::new());
    refused(misplaced.await, Code::InvalidArgument, "");
    refused(client.attach("", crate::support::says([]).next()).await, Code::InvalidArgument, "");
    // S0-21, S0-T7: with the way out.
    let told = [
        client.fork(&loose, "two").await.unwrap_err(),
        client.fork_once(&loose, "two").await.unwrap_err(),
        client.continue_from(&loose, "two").await.unwrap_err(),
    ];
    for error in told {
        assert_eq!((error.code, error.reason.as_str()), (Code::FailedPrecondition, "NOT_CAPTURED"));
        assert_eq!(error.metadata["run_id"], loose.run_id);
        assert!(error.to_string().contains("capture it, or reply to it"), "{error}");
    }
}

#[tokio::test]
async fn a_refused_call_says_why() {
    let (_server, client) = served();
    let nowhere = ExchangeId::new("00000000-0000-7000-8000-000000000000");
    let error = refused(client.continue_from(nowhere, "hello").await, Code::NotFound, "EXCHANGE_NOT_FOUND");
    assert!(!error.request_id.is_empty());
    assert!(error.to_string().starts_with("antiphon: NOT_FOUND EXCHANGE_NOT_FOUND: "), "{error}");
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "antiphon_client::schemars")]
struct Verdict {
    good: bool,
}

#[tokio::test]
async fn a_form_is_checked_and_read() {
    let (_server, client) = served();
    let contract = Contract::of::<Verdict>();
    let found = client.capture(Request::new(r#"{"good": true}"#).contract(contract.clone())).await.unwrap();
    assert_eq!(found.validation, ValidationStatus::Valid);
    assert!(found.decode::<Verdict>().unwrap().good);
    let missed = client.capture(Request::new("well").contract(contract)).await.unwrap();
    assert_eq!(missed.validation, ValidationStatus::Invalid);
    refused(client.capture(Request::new("x").contract(Contract::of::<String>())).await, Code::InvalidArgument, "");
}

#[tokio::test]
async fn an_answer_that_missed_its_form_is_told_anew_however_it_is_asked_for() {
    let (_server, client) = served();
    let start = client.capture("one").await.unwrap();
    let form = || Request::new("in its form").contract(Contract::Json).repair(1);
    for which in 0..6 {
        let (mut said, mut attempts, mut coordinated) = (String::new(), 0, String::new());
        let hear = |delta: Delta| match delta {
            Delta::Attempt => {
                attempts += 1;
                said.clear();
            }
            other => said.push_str(other.text()),
        };
        let text = match which {
            0 => client.capture(form()).on_delta(hear).await.unwrap().text,
            1 => client.prompt(form()).on_delta(hear).await.unwrap().text,
            2 => client.reply(&start, form()).on_delta(hear).await.unwrap().text,
            3 => client.chain(form(), []).on_delta(hear).await.unwrap().text,
            4 => client.fork_once(&start, form()).on_delta(hear).await.unwrap().text,
            _ => {
                let stops = |decision: Decision| {
                    coordinated = decision.exchange.text;
                    std::future::ready(Stop)
                };
                assert!(!client.coordinate(form(), 0, stops).on_delta(hear).await.unwrap().exhausted());
                coordinated
            }
        };
        assert_eq!((said.as_str(), attempts, text.as_str()), (r#"{"good": true}"#, 1, r#"{"good": true}"#), "{which}");
    }
    let mut response = client.capture(form()).stream().unwrap();
    let pieces: Vec<_> = response.deltas().map(Result::unwrap).collect().await;
    assert_eq!(pieces.iter().filter(|delta| **delta == Delta::Attempt).count(), 1);
    let found = response.await.unwrap();
    assert!(found.decode::<Verdict>().unwrap().good && found.violations.is_empty());
    assert_eq!(client.run(&found.run_id).await.unwrap().model_calls, 2);
    refused(client.capture(form().repair(1000)).await, Code::InvalidArgument, "LIMIT_EXCEEDED");
}

#[tokio::test]
async fn a_cost_that_is_none_is_refused_before_any_call() {
    let (_server, client) = served();
    let talk = client.conversation(NewThread::new()).await.unwrap();
    let none = [
        "",
        "2.50",
        "USD 2.50",
        "2,50 USD",
        "1e3 USD",
        "0.00 USD",
        "-1 USD",
        "1 usd",
        "1  USD",
        "1 USD\n",
        ".5 USD",
        "1.0000000001 USD",
    ];
    for cost in none {
        let stops = |_| std::future::ready(Stop);
        let coordinated = client.coordinate("one", 1, stops).cost_limit(cost).coordination_id("none");
        refused(coordinated.await, Code::InvalidArgument, "");
        refused(client.chain("one", []).cost_limit(cost).coordination_id("none").await, Code::InvalidArgument, "");
        refused(talk.chain("one").cost_limit(cost).coordination_id("none").await, Code::InvalidArgument, "");
    }
    refused(client.coordination("none").await, Code::NotFound, "COORDINATION_NOT_FOUND");
    assert_eq!(talk.chain("one").token_limit(1000).await.unwrap().text, "one");
    refused(talk.chain("two").token_limit(0).await, Code::InvalidArgument, "INVALID_FIELDS");
    // The model of these tests has no prices.
    refused(talk.chain("two").cost_limit("1 USD").await, Code::ResourceExhausted, "SPEND_LIMIT");
}

#[tokio::test]
async fn a_history_may_be_narrowed() {
    let (_server, client) = served();
    let first = client.capture("one").await.unwrap();
    let second = client.reply(&first, "two").await.unwrap();
    let three = || Request::new("three");
    for request in [three().last_turns(1), three().from_exchange(&second.exchange_id), three().token_budget(1)] {
        let third = client.reply(&second, request).await.unwrap();
        assert_eq!((third.turn, third.warnings[0].code.as_str()), (3, "history_narrowed"));
    }
}

/// A message may have parts that this package has no words for; what was read goes out as it came.
#[tokio::test]
async fn what_was_read_goes_out_as_it_came() {
    let (_server, client): (_, Client) = served();
    let start = client.capture("one").await.unwrap();
    let said = client.inspect(&start).await.unwrap().messages;
    assert!(said.iter().all(|message| message.raw().is_some()));
    assert_eq!(client.record(said).await.unwrap().matched, 1);
    assert_eq!(start.assistant.role, Role::Assistant);
}
