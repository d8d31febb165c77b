//! Coordinations and conversations, and what is on record of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use antiphon_client::{
    Action, Client, Code, Continue, CoordinationQuery, CoordinationState, Decision, Error, ExchangeId, Fail, Message,
    NewThread, OnBusy, OutcomeState, Request, RunEventKind, RunQuery, RunState, Stop, StopReason, Suspend, ThreadPoint,
    ToolCall, ToolResult, UsageQuery, pb,
};

use crate::support::{fresh, more, refused, says, served, until_cancelled};
use crate::tools::both;

#[derive(Debug)]
struct ReviewerGone;

impl fmt::Display for ReviewerGone {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the reviewer has left")
    }
}

impl std::error::Error for ReviewerGone {}

/// S4-60, S4-73, S4-77.
#[tokio::test]
async fn what_the_callback_gives_as_an_error_comes_back_as_itself() {
    let (_server, client) = served();
    let name = fresh();
    let leaves = async |_| Err::<Action, _>(ReviewerGone);
    let told = client.coordinate("zero", 2, leaves).coordination_id(&name).await.unwrap_err();
    assert_eq!(told.to_string(), "the reviewer has left");
    told.downcast::<ReviewerGone>().unwrap();
    let ended = client.coordination(&name).await.unwrap().raw().ended.clone().unwrap();
    let Some(pb::coordination_ended::Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    let failure = failed.caller_failure.unwrap();
    assert_eq!((failure.reason.as_str(), failure.message.as_str()), ("REVIEWER_GONE", "the reviewer has left"));
    // One of this package is that itself, with all that it says.
    let said = || Error::new(Code::Aborted, "no").with_reason("NO").with_metadata("a", "b");
    let told = client.coordinate("zero", 2, async |_| Err::<Stop, _>(said())).await;
    assert_eq!(refused(told, Code::Aborted, "NO").metadata["a"], "b");
    let failing = async |_| Fail::new("no").code(Code::Aborted).reason("NO").metadata("a", "b");
    assert_eq!(refused(client.coordinate("zero", 2, failing).await, Code::Aborted, "NO").metadata["a"], "b");
}

/// S4-43, S4-45, S4-46.
#[tokio::test]
async fn a_callback_may_call_the_same_backend_at_capacity_one() {
    let (_server, client) = served();
    let narrow = |said: &str| Request::new(said).profile("narrow");
    let start = client.capture(narrow("zero")).await.unwrap();
    let asking = |decision: Decision| {
        let client = client.clone();
        async move {
            client.reply(&decision.exchange, "good?").await?;
            Ok::<_, Error>(Continue::new(narrow("more")))
        }
    };
    assert_eq!(client.coordinate(&start, 2, asking).await.unwrap().state, OutcomeState::Exhausted);
}

#[tokio::test]
async fn an_answer_that_meets_a_full_queue_is_given_again() {
    let (_server, client) = served();
    let narrow = |said: &str| Request::new(said).profile("narrow");
    let mut seen = Vec::new();
    let mut holding = Vec::new();
    let filling = |decision: Decision| {
        let mut names = Vec::new();
        if decision.starting {
            for name in [fresh(), fresh()] {
                holding.push(tokio::spawn(client.capture(narrow("hold").run_id(&name)).into_future()));
                names.push(name);
            }
        }
        seen.push(decision.exchange.text);
        let (client, action) = (client.clone(), Continue::new(narrow("through")));
        async move {
            // One is at work and the other in the queue.
            for name in names {
                while client.run(&name).await.is_err() {}
            }
            action
        }
    };
    let start = client.capture("zero").await.unwrap();
    assert_eq!(client.coordinate(&start, 1, filling).await.unwrap().state, OutcomeState::Exhausted);
    assert_eq!(seen.len(), 2);
    for held in holding {
        assert_eq!(held.await.unwrap().unwrap().text, "held");
    }
}

#[tokio::test]
async fn whoever_is_overtaken_is_told() {
    let (server, client) = served();
    let other = Client::connect(server.address()).unwrap();
    let name = fresh();
    let overtaken = |_| {
        let (other, name) = (other.clone(), name.clone());
        async move { other.attach(name, says([Suspend.into()]).next()).await.map(|_| Stop) }
    };
    let told = client.coordinate("zero", 1, overtaken).coordination_id(&name).await;
    refused(told, Code::Aborted, "TAKEN_OVER");
}

/// S4-71: the answer of a callback that was too late starts nothing.
#[tokio::test]
async fn time_runs_out_for_a_decision_and_for_the_whole() {
    let (_server, client) = served();
    let late = |decision: Decision| {
        let client = client.clone();
        async move {
            until_cancelled(&client, &decision.coordination_id).await;
            more("too late")
        }
    };
    let timeout = client.coordinate("zero", 1, late).decision_timeout(Duration::from_millis(100)).await;
    assert_eq!(timeout.unwrap_err().code, Code::DeadlineExceeded);
    let whole = client.coordinate("zero", 1, late).deadline(soon()).await;
    assert_eq!(whole.unwrap_err().code, Code::DeadlineExceeded);
}

#[expect(clippy::disallowed_methods, reason = "a deadline is by the clock on the wall")]
fn soon() -> SystemTime {
    SystemTime::now() + Duration::from_secs(1)
}

/// S0-1, S0-2, S0-3, S0-5, S0-7, S0-13.
#[tokio::test]
async fn a_conversation_goes_on_with_its_tools_and_hooks() {
    let (_server, client) = served();
    let called = Arc::new(Mutex::new(Vec::new()));
    let names = called.clone();
    let hook = move |call: ToolCall| {
        names.lock().unwrap().push(call.name);
        async {}
    };
    let talk = client.conversation(NewThread::new().name("a talk")).tools(both()).before_call(hook).await.unwrap();
    let first = talk.prompt("one").await.unwrap();
    let second = talk.chain("the forecast").await.unwrap();
    assert_eq!((second.text.as_str(), second.turn, called.lock().unwrap().len()), ("Done.", 2, 2));
    refused(talk.prompt("late").expected_head(&first.exchange_id).await, Code::Aborted, "HEAD_MOVED");
    let asked = talk.prompt("the forecast").await.unwrap();
    let results: Vec<_> = asked.tool_calls.iter().map(|call| ToolResult::new(&call.call_id, "by hand")).collect();
    assert_eq!(talk.prompt(results).await.unwrap().text, "Done.");
    let once = talk.chain("hello").tools([]).await.unwrap();
    assert_eq!((once.tools.len(), once.standing_tools.len()), (0, 2));
    let [_, tide] = both();
    let again = client.conversation(ThreadPoint::new(&talk.thread_id)).tools([tide]).await.unwrap();
    let offered = again.prompt("hello").await.unwrap().tools;
    assert_eq!((offered.len(), offered[0].name.as_str()), (1, "tide"));
    let turns = client.turns(&talk.thread_id).all().await.unwrap();
    assert_eq!((turns[0].user.as_str(), turns[0].assistant.as_str()), ("one", "one"));
    assert_eq!(turns[0].stop_reason, StopReason::Stop);
    let branch = talk.fork_after(1, NewThread::new().name("another way")).await.unwrap();
    assert_eq!(branch.prompt("three").await.unwrap().parent_exchange_id, first.exchange_id);
    assert_eq!(talk.fork_once("aside").await.unwrap().text, "aside");
}

#[tokio::test]
async fn threads_are_made_changed_listed_and_removed() {
    let (_server, client) = served();
    let name = fresh();
    let start = client.capture("one").await.unwrap();
    let new = NewThread::new().id(&name).label("kind", &name).metadata(&BTreeMap::from([("a", 1)]));
    let made = client.create_thread(new).head(&start).await.unwrap();
    assert_eq!(made.head_exchange_id, start.exchange_id);
    let big: Box<serde_json::value::RawValue> = serde_json::from_str(r#"{"b":12345678901234567890}"#).unwrap();
    let change = || client.update_thread(&name).name("new").metadata(&big).etag(&made.etag);
    let changed = change().await.unwrap();
    assert_eq!((changed.name.as_str(), changed.metadata.as_ref().unwrap().get()), ("new", big.get()));
    assert_eq!(changed.labels["kind"], name);
    refused(change().await, Code::Aborted, "ETAG_MISMATCH");
    client.update_thread(&name).profile("narrow").await.unwrap();
    let at = ThreadPoint::new(&name).expected_head(&start.exchange_id).on_busy(OnBusy::Enqueue);
    assert_eq!(client.continue_from(at, "two").await.unwrap().profile(), "narrow");
    let labels = BTreeMap::from([("kind".to_owned(), name.clone())]);
    assert_eq!(client.threads(labels).all().await.unwrap().len(), 1);
    client.delete_thread(&name, "").await.unwrap();
    refused(client.thread(&name).await, Code::NotFound, "THREAD_NOT_FOUND");
}

#[tokio::test]
async fn runs_are_read_listed_watched_and_ended() {
    let (_server, client) = served();
    let name = fresh();
    let labels = BTreeMap::from([("kind".to_owned(), name.clone())]);
    let done = client.capture(Request::new("slow").label("kind", &name)).await.unwrap();
    let down = client.capture(Request::new("down for good").label("kind", &name)).await;
    refused(down, Code::Unavailable, "PROVIDER_UNAVAILABLE");
    let query = RunQuery::all().state(RunState::Failed).labels(labels.clone());
    let failed = client.runs(query).all().await.unwrap();
    assert_eq!(failed[0].error.as_ref().unwrap().reason, "PROVIDER_UNAVAILABLE");
    let query = RunQuery::all().labels(labels.clone());
    assert_eq!(client.runs(query).all().await.unwrap().len(), 2);
    let events = client.watch(&done.run_id, 0).all().await.unwrap();
    let states: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            RunEventKind::State(run) => Some(run.state),
            _ => None,
        })
        .collect();
    assert_eq!((states.first(), states.last()), (Some(&RunState::Running), Some(&RunState::Completed)));
    assert_eq!(client.watch(&done.run_id, events[0].sequence).all().await.unwrap().len(), 1);
    let called = client.capture(Request::new("the forecast").tools(both())).await.unwrap();
    assert_eq!(client.cancel_run(&called.run_id).await.unwrap().state, RunState::Cancelled);
    let sum = client.usage(UsageQuery::labels(labels).and_runs([&done.run_id])).await.unwrap();
    assert_eq!(sum.run_count, 2);
}

#[tokio::test]
async fn coordinations_are_listed_by_what_they_wait_for() {
    let (_server, client) = served();
    let name = fresh();
    for (number, action) in [Action::Suspend, Action::Stop].into_iter().enumerate() {
        let loops = client.coordinate("one", 1, says([action]).next());
        loops.coordination_id(format!("{name}-{number}")).label("kind", &name).await.unwrap();
    }
    let query = CoordinationQuery::all()
        .state(CoordinationState::AwaitingDecision)
        .attached(false)
        .labels(BTreeMap::from([("kind".to_owned(), name.clone())]));
    let waiting = client.coordinations(query).all().await.unwrap();
    assert_eq!(waiting.len(), 1);
    let first = format!("{name}-0");
    assert_eq!((&waiting[0].coordination_id, waiting[0].turns_remaining), (&first, 1));
    client.cancel(&first, "no longer needed").await.unwrap();
    assert_eq!(client.attach(&first, says([]).next()).await.unwrap_err().code, Code::Cancelled);
}

#[tokio::test]
async fn a_long_history_comes_whole() {
    let (_server, client) = served();
    let said = (0..250).flat_map(|number| [Message::user(number.to_string()), Message::assistant("yes")]);
    let recorded = client.record(said).await.unwrap();
    let found = client.inspect(ExchangeId::new(&recorded.exchange_id)).await.unwrap();
    assert_eq!((found.messages.len(), found.path.len(), found.exchange.turn), (500, 250, 250));
    assert_eq!(found.messages[498].text, "249");
}
