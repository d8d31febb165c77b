//! Record: exchanges that the caller made itself, stored once, and known again by what was said.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::Provider;
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

async fn record(server: &Running, request: pb::RecordRequest) -> Result<pb::RecordResponse, tonic::Status> {
    server.exchanges().record(request).await.map(tonic::Response::into_inner)
}

fn turns(count: usize) -> Vec<pb::Message> {
    (1..=count).flat_map(|turn| [ask::user(&format!("q{turn}")), ask::assistant(&format!("a{turn}"))]).collect()
}

fn on_existing(thread: &str, messages: Vec<pb::Message>) -> pb::RecordRequest {
    pb::RecordRequest {
        thread: Some(pb::record_request::Thread::ExistingThread(ask::on(thread))),
        ..ask::record(messages)
    }
}

fn on_new(thread: &str, messages: Vec<pb::Message>) -> pb::RecordRequest {
    let new = pb::NewThread { thread_id: thread.into(), ..Default::default() };
    pb::RecordRequest { thread: Some(pb::record_request::Thread::NewThread(new)), ..ask::record(messages) }
}

fn after(exchange_id: &str, messages: Vec<pb::Message>) -> pb::RecordRequest {
    pb::RecordRequest {
        start: Some(pb::record_request::Start::AfterExchange(ask::point(exchange_id))),
        ..ask::record(messages)
    }
}

fn after_head(thread: &str, messages: Vec<pb::Message>) -> pb::RecordRequest {
    pb::RecordRequest {
        start: Some(pb::record_request::Start::AfterHead(pb::AfterHead {})),
        ..on_existing(thread, messages)
    }
}

fn ids(recorded: &pb::RecordResponse) -> Vec<&str> {
    recorded.exchanges.iter().map(|exchange| exchange.exchange_id.as_str()).collect()
}

/// One exchange after each assistant message; what is stored is recognised by its content, and what is stored whole writes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_is_cut_and_its_stored_prefix_is_known_again() {
    let server = Running::echo().await;
    let mut system = turns(3);
    system.insert(0, ask::said(pb::Role::System, "be brief"));
    let first = record(&server, ask::record(system[..5].to_vec())).await.unwrap();
    assert_eq!((first.stored_count, first.matched_count, first.exchanges.len()), (2, 0, 2));
    assert_eq!(first.exchanges.iter().map(|exchange| exchange.message_index).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(first.exchange_id, first.exchanges[1].exchange_id);
    assert_eq!(look::history(&server, &first.exchange_id).await, ["S:be brief", "U:q1", "A:a1", "U:q2", "A:a2"]);
    let longer = record(&server, ask::record(system.clone())).await.unwrap();
    assert_eq!((longer.stored_count, longer.matched_count), (1, 2));
    assert_eq!(ids(&longer)[..2], ids(&first));
    assert_eq!(longer.exchanges.iter().map(|exchange| exchange.matched).collect::<Vec<_>>(), [true, true, false]);
    let before = look::runs(&server).await;
    let again = record(&server, ask::record(system.clone())).await.unwrap();
    assert_eq!((again.stored_count, again.matched_count), (0, 3));
    assert_eq!(ids(&again), ids(&longer));
    assert_eq!(look::runs(&server).await, before, "nothing was written");
    system[2] = ask::assistant("another");
    let other = record(&server, ask::record(system)).await.unwrap();
    assert_eq!((other.stored_count, other.matched_count), (3, 0));
}

/// Each has a COMPLETED run of origin RECORDED with its facts; facts of what was there are not used, and this is said.
#[tokio::test(flavor = "multi_thread")]
async fn facts_are_kept_with_what_is_new() {
    let server = Running::echo().await;
    let facts = |index, run: &str| pb::RecordedFacts {
        message_index: index,
        run_id: run.into(),
        provider: "elsewhere".into(),
        model: "m1".into(),
        stop_reason: pb::StopReason::MaxTokens.into(),
        usage: Some(pb::Usage { input_tokens: Some(5), output_tokens: Some(2), ..Default::default() }),
        tools: ask::tools(&["look"]),
    };
    let labels = [("team".to_owned(), "red".to_owned())];
    let request =
        pb::RecordRequest { facts: vec![facts(1, "mine")], labels: labels.clone().into(), ..ask::record(turns(1)) };
    let recorded = record(&server, request).await.unwrap();
    assert_eq!(recorded.exchanges[0].run_id, "mine");
    let page = server.exchanges().inspect(ask::inspect(&recorded.exchange_id)).await.unwrap().into_inner();
    let exchange = page.exchange.unwrap();
    assert_eq!((exchange.origin(), exchange.stop_reason()), (pb::ExchangeOrigin::Recorded, pb::StopReason::MaxTokens));
    let responder = exchange.responder.unwrap();
    assert_eq!((responder.provider.as_str(), responder.model.as_str()), ("elsewhere", "m1"));
    let usage = exchange.usage.unwrap();
    assert_eq!(
        (usage.reported, usage.input_tokens, usage.completeness()),
        (true, Some(5), pb::UsageCompleteness::Complete)
    );
    assert_eq!(exchange.tools.unwrap().offered.unwrap().tools[0].name, "look");
    assert_eq!(exchange.labels, labels.clone().into());
    let run = look::run(&server, "mine").await;
    assert_eq!(
        (run.state(), run.captured, run.exchange_id.as_str()),
        (pb::RunState::Completed, true, recorded.exchange_id.as_str())
    );
    assert_eq!(run.labels, labels.into());
    let usage = run.usage.unwrap();
    assert_eq!((usage.reported, usage.input_tokens), (true, Some(5)), "usage belongs to the run that spent it (S4-80)");
    let later = pb::RecordRequest { facts: vec![facts(1, "other"), facts(3, "second")], ..ask::record(turns(2)) };
    let later = record(&server, later).await.unwrap();
    assert_eq!(later.ignored_facts.len(), 1);
    assert_eq!(later.ignored_facts[0].message_index, 1);
    assert_eq!(later.ignored_facts[0].fields, ["run_id", "provider", "model", "stop_reason", "usage", "tools"]);
    assert_eq!((later.exchanges[0].run_id.as_str(), later.exchanges[1].run_id.as_str()), ("mine", "second"));
    let taken =
        pb::RecordRequest { facts: vec![facts(1, "mine")], ..ask::record(vec![ask::user("new"), ask::assistant("b")]) };
    refused::is(&record(&server, taken).await.unwrap_err(), Code::AlreadyExists, Reason::RunIdConflict);
    let twice =
        pb::RecordRequest { facts: vec![facts(1, "dup"), facts(3, "dup")], ..after(&later.exchange_id, turns(2)) };
    let twice = record(&server, twice).await.unwrap_err();
    assert_eq!(twice.code(), Code::InvalidArgument, "two turns are two runs: {twice:?}");
    refused::is(&look::no_run(&server, "dup").await, Code::NotFound, Reason::RunNotFound);
}

/// What cannot be cut is refused with the index of the message.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_cut_is_named_by_its_index() {
    let server = Running::echo().await;
    let trailing = [turns(1), vec![ask::user("more"), ask::user("still more")]].concat();
    let unanswered =
        vec![ask::user("q"), ask::calling("c", "look", "{}"), ask::user("never mind"), ask::assistant("a")];
    let open = vec![ask::user("q"), ask::assistant("a"), ask::user("r"), ask::calling("c", "look", "{}")];
    let unknown = vec![ask::user("q"), ask::answering("c", "x"), ask::assistant("a")];
    let twice = vec![
        ask::user("q"),
        ask::calling("c", "look", "{}"),
        ask::answering("c", "x"),
        ask::answering("c", "y"),
        ask::assistant("a"),
    ];
    for (messages, index) in [(trailing, 2), (unanswered, 2), (open, 3), (unknown, 1), (twice, 3)] {
        let refusal = record(&server, ask::record(messages)).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::TranscriptMalformed);
        assert_eq!(refused::fact(&refusal, "message_index"), index.to_string(), "{refusal:?}");
        assert_eq!(refused::fields(&refusal), [format!("messages[{index}]")]);
    }
    assert!(look::runs(&server).await.is_empty());
}

/// B063: ids of calls that repeat in later turns are their own calls, each with its own result; exchanges that results join are one run.
#[tokio::test(flavor = "multi_thread")]
async fn calls_whose_ids_repeat_are_kept_apart() {
    let provider = Provider::start([stub::text("next")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let messages = vec![
        ask::user("list"),
        ask::calling("list_dir:0", "list_dir", "{\"path\":\".\"}"),
        ask::answering("list_dir:0", "here"),
        ask::calling("list_dir:0", "list_dir", "{\"path\":\"/\"}"),
        ask::answering("list_dir:0", "root"),
        ask::assistant("done"),
        ask::user("thanks"),
        ask::assistant("welcome"),
    ];
    let recorded = record(&server, ask::record(messages.clone())).await.unwrap();
    let runs: Vec<_> = recorded.exchanges.iter().map(|exchange| exchange.run_id.as_str()).collect();
    assert_eq!((runs.len(), runs[0] == runs[1], runs[1] == runs[2], runs[2] == runs[3]), (4, true, true, false));
    let run = look::run(&server, runs[0]).await;
    assert_eq!(
        (run.state(), run.exchange_count, run.exchange_id.as_str()),
        (pb::RunState::Completed, 3, ids(&recorded)[2])
    );
    let page = server.exchanges().inspect(ask::inspect(&recorded.exchange_id)).await.unwrap().into_inner();
    assert_eq!(page.path.iter().map(|step| step.turn).collect::<Vec<_>>(), [1, 1, 1, 2]);
    assert_eq!(
        ask::texts(&page.messages)[1..5],
        ["A:call list_dir {\"path\":\".\"}", "T:result here", "A:call list_dir {\"path\":\"/\"}", "T:result root",]
    );
    server.exchanges().r#continue(ask::after(&recorded.exchange_id, ask::text("go on"))).await.unwrap();
    let body = provider.request(0).await.json();
    let sent: Vec<_> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(sent, ["user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant", "user"]);
    for (call, result) in [(1, 2), (3, 4)] {
        assert_eq!(body["messages"][call]["tool_calls"][0]["id"], body["messages"][result]["tool_call_id"]);
    }
    assert_eq!(body["messages"][4]["content"], "root");
    let again = record(&server, ask::record(messages)).await.unwrap();
    assert_eq!((again.stored_count, again.matched_count), (0, 4), "ids of ours do not hide what was said");
}

/// A stored call is found again when the results come later, and they are paired with it.
#[tokio::test(flavor = "multi_thread")]
async fn results_may_begin_what_is_new() {
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let asked = server
        .exchanges()
        .capture(ask::capture(stub::offering("r", "q")))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap();
    let whole =
        vec![ask::user("q"), ask::calling("p1", "look", "{}"), ask::answering("p1", "seen"), ask::assistant("a")];
    let recorded = record(&server, ask::record(whole)).await.unwrap();
    assert_eq!((recorded.stored_count, recorded.matched_count, ids(&recorded)[0]), (1, 1, asked.exchange_id.as_str()));
    let call_id = asked.pending_tool_calls[0].call_id.as_str();
    let messages = server.exchanges().inspect(ask::inspect(&recorded.exchange_id)).await.unwrap().into_inner().messages;
    let Some(pb::part::Kind::ToolResult(result)) = &messages[2].parts[0].kind else { panic!("{messages:?}") };
    assert_eq!(result.call_id, call_id);
    let rest = vec![ask::answering(call_id, "seen"), ask::assistant("a")];
    let matched = record(&server, after(&asked.exchange_id, rest)).await.unwrap();
    assert_eq!(matched.exchange_id, recorded.exchange_id);
}

/// A transcript goes after an exchange, or after the head of a thread, which moves to its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_goes_on_from_an_exchange_or_a_head() {
    let server = Running::echo().await;
    let first = record(&server, on_new("t", turns(1))).await.unwrap();
    assert_eq!(first.thread.as_ref().unwrap().head_exchange_id, first.exchange_id);
    assert_eq!(look::thread(&server, "t").await, first.thread.unwrap());
    let second = record(&server, after_head("t", vec![ask::user("q2"), ask::assistant("a2")])).await.unwrap();
    let thread = look::thread(&server, "t").await;
    assert_eq!((&thread.head_exchange_id, thread.turn_count), (&second.exchange_id, 2));
    assert_eq!(look::history(&server, &second.exchange_id).await, ["U:q1", "A:a1", "U:q2", "A:a2"]);
    let whole = record(&server, on_existing("t", turns(3))).await.unwrap();
    assert_eq!((whole.matched_count, whole.stored_count), (2, 1));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, whole.exchange_id);
    let beside =
        record(&server, after(&first.exchange_id, vec![ask::user("else"), ask::assistant("b")])).await.unwrap();
    let exchange =
        server.exchanges().inspect(ask::inspect(&beside.exchange_id)).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(
        (exchange.parent_exchange_id, exchange.turn, exchange.thread_id),
        (first.exchange_id.clone(), 2, String::new())
    );
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, whole.exchange_id, "no head moved");
    let nowhere = record(&server, pb::RecordRequest { thread: None, ..after_head("t", turns(1)) }).await.unwrap_err();
    assert_eq!(refused::fields(&nowhere), ["after_head"]);
    server
        .threads()
        .create(pb::ThreadServiceCreateRequest {
            thread: Some(pb::NewThread { thread_id: "empty".into(), ..Default::default() }),
            ..Default::default()
        })
        .await
        .unwrap();
    refused::is(
        &record(&server, after_head("empty", turns(1))).await.unwrap_err(),
        Code::FailedPrecondition,
        Reason::ThreadEmpty,
    );
    let begun = record(&server, on_existing("empty", turns(1))).await.unwrap();
    assert_eq!((begun.matched_count, &begun.exchange_id), (1, &first.exchange_id), "content is stored once");
    assert_eq!(look::thread(&server, "empty").await.head_exchange_id, first.exchange_id);
    let taken = record(&server, on_new("t", turns(1))).await.unwrap_err();
    refused::is(&taken, Code::AlreadyExists, Reason::ThreadExists);
}

/// A new thread without an id of the caller's is on record with what was recorded onto it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_onto_a_new_thread_names_it() {
    let server = Running::echo().await;
    let recorded = record(&server, on_new("", turns(1))).await.unwrap();
    let thread = recorded.thread.unwrap().thread_id;
    assert_eq!(look::run(&server, &recorded.exchanges[0].run_id).await.thread_id, thread);
    let exchange =
        server.exchanges().inspect(ask::inspect(&recorded.exchange_id)).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(exchange.thread_id, thread);
}

/// Rule 6: a transcript that does not go through the head is refused, and so is one over a head that the caller did not see.
#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_goes_through_the_head() {
    let server = Running::echo().await;
    let first = record(&server, on_new("t", turns(2))).await.unwrap();
    let elsewhere = vec![ask::user("q1"), ask::assistant("a1"), ask::user("other"), ask::assistant("b")];
    let diverged = record(&server, on_existing("t", elsewhere.clone())).await.unwrap_err();
    refused::is(&diverged, Code::FailedPrecondition, Reason::ThreadDiverged);
    assert_eq!(refused::fact(&diverged, "head_exchange_id"), first.exchange_id);
    let shorter = record(&server, on_existing("t", turns(1))).await.unwrap_err();
    refused::is(&shorter, Code::FailedPrecondition, Reason::ThreadDiverged);
    let stale = pb::RecordRequest {
        thread: Some(pb::record_request::Thread::ExistingThread(ask::expecting("t", ids(&first)[0]))),
        ..after_head("t", turns(1))
    };
    let stale = record(&server, stale).await.unwrap_err();
    refused::is(&stale, Code::Aborted, Reason::HeadMoved);
    assert_eq!(refused::fact(&stale, "head_exchange_id"), first.exchange_id);
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first.exchange_id);
    assert_eq!(
        record(&server, on_new("f", elsewhere)).await.unwrap().matched_count,
        1,
        "a new thread may go elsewhere"
    );
}

/// A repeated request id brings the same answer, and another request under it conflicts.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_id_brings_what_it_brought() {
    let server = Running::echo().await;
    let request = || pb::RecordRequest { request_id: "once".into(), ..on_new("t", turns(2)) };
    let first = record(&server, request()).await.unwrap();
    let again = record(&server, pb::RecordRequest { labels: [("a".to_owned(), "b".to_owned())].into(), ..request() })
        .await
        .unwrap();
    assert_eq!(again, pb::RecordResponse { replayed: true, ..first.clone() });
    let server = server.restart().await;
    assert_eq!(record(&server, request()).await.unwrap(), again);
    let other = pb::RecordRequest { request_id: "once".into(), ..ask::record(turns(1)) };
    let conflict = record(&server, other).await.unwrap_err();
    refused::is(&conflict, Code::AlreadyExists, Reason::RequestIdConflict);
    assert_ne!(refused::fact(&conflict, "fingerprint"), refused::fact(&conflict, "stored_fingerprint"));
    assert_eq!(refused::fact(&conflict, "request_id"), "once");
}

/// What was recorded is continued as if it had been executed: all of it goes out.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_is_continued_whole() {
    let provider = Provider::start([stub::text("a3")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    record(&server, on_new("t", turns(2))).await.unwrap();
    let next = server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("q3"))).await.unwrap().into_inner();
    assert_eq!(next.exchange.unwrap().turn, 3);
    let sent = stub::sent(&provider.request(0).await.json());
    assert_eq!(sent, ["user:\"q1\"", "assistant:\"a1\"", "user:\"q2\"", "assistant:\"a2\"", "user:\"q3\""]);
}

/// A run that waits for results on the thread is not brushed aside.
#[tokio::test(flavor = "multi_thread")]
async fn a_pending_run_is_not_recorded_over() {
    let provider = Provider::start([stub::text("a1"), stub::calls(&[("p1", "look", "{}")])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap();
    let asked = client.r#continue(ask::on_thread(ask::on("t"), stub::offering("r", "q2"))).await.unwrap().into_inner();
    let asked = asked.exchange.unwrap();
    let over = vec![ask::user("never mind"), ask::assistant("ok")];
    let refusal = record(&server, after_head("t", over.clone())).await.unwrap_err();
    refused::is(&refusal, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    assert_eq!(look::thread(&server, "t").await.active_run_id, "r");
    let through = [
        turns(1),
        vec![ask::user("q2"), ask::calling("p1", "look", "{}"), ask::answering("p1", "x"), ask::assistant("a")],
    ]
    .concat();
    let through = record(&server, on_existing("t", through)).await.unwrap();
    assert_eq!((through.matched_count, ids(&through)[1]), (2, asked.exchange_id.as_str()));
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id, thread.pending), (through.exchange_id, None));
}
