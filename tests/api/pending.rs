//! Tool calls that wait: what goes on over them, and how a fork or a person's answer finds its run.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

/// A thread `t` with one turn, whose next run `r` waits for one result. Gives the head and the exchange with the call.
async fn waiting(rest: impl IntoIterator<Item = Entry>) -> (Provider, Running, String, pb::Exchange) {
    let first = [stub::text("a1"), stub::calls(&[("p1", "look", "{}")])];
    let provider = Provider::start(first.into_iter().chain(rest)).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let head = client
        .capture(ask::capture_on_new("t", ask::text_as("r0", "q1")))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap();
    let asked = client.r#continue(ask::on_thread(ask::on("t"), stub::offering("r", "q2"))).await.unwrap().into_inner();
    (provider, server, head.exchange_id, asked.exchange.unwrap())
}

fn over(unanswered: pb::UnansweredTools, request: pb::ExecutionRequest) -> pb::ContinueRequest {
    ask::on_thread(pb::ThreadPoint { unanswered_tools: unanswered.into(), ..ask::on("t") }, request)
}

fn roles(body: &serde_json::Value) -> Vec<String> {
    body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// A prompt over pending calls is refused with their ids, and the thread says what it waits for.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_over_pending_calls_is_refused() {
    let (provider, server, head, asked) = waiting([]).await;
    let thread = look::thread(&server, "t").await;
    let pending = thread.pending.unwrap();
    assert_eq!((pending.run_id.as_str(), &pending.exchange_id), ("r", &asked.exchange_id));
    assert_eq!((&thread.head_exchange_id, thread.active_run_id.as_str(), thread.turn_count), (&head, "r", 1));
    assert_eq!(look::run(&server, "r").await.pending_tool_calls, asked.pending_tool_calls);
    let refusal =
        server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("never mind"))).await.unwrap_err();
    refused::is(&refusal, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    assert_eq!(refused::fact(&refusal, "call_ids"), asked.pending_tool_calls[0].call_id);
    assert_eq!(
        (refused::fact(&refusal, "run_id"), refused::fact(&refusal, "exchange_id")),
        ("r".into(), asked.exchange_id.clone())
    );
    let none = server.exchanges().r#continue(ask::after_with(&head, vec![ask::result("c", "x")])).await.unwrap_err();
    refused::is(&none, Code::FailedPrecondition, Reason::NoPendingToolCalls);
    assert_eq!(refused::fact(&none, "exchange_id"), head);
    assert_eq!(provider.count(), 2);
}

/// INTERRUPT: marked results are part of the new exchange, the old run is CANCELLED, and the turn goes out whole.
#[tokio::test(flavor = "multi_thread")]
async fn interrupting_answers_each_call_with_a_marked_result() {
    let (provider, server, _, asked) = waiting([stub::text("a2")]).await;
    let next = server
        .exchanges()
        .r#continue(over(pb::UnansweredTools::Interrupt, ask::text_as("n", "never mind")))
        .await
        .unwrap();
    let next = next.into_inner();
    let exchange = next.exchange.unwrap();
    assert_eq!(
        (&exchange.parent_exchange_id, exchange.turn, next.thread.unwrap().turn_count),
        (&asked.exchange_id, 2, 2)
    );
    let Some(pb::part::Kind::ToolResult(result)) = &exchange.messages[0].parts[0].kind else { panic!("{exchange:?}") };
    assert_eq!(
        (&result.call_id, result.interrupted, result.is_error),
        (&asked.pending_tool_calls[0].call_id, true, true)
    );
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::Cancelled);
    let body = provider.request(2).await.json();
    assert_eq!(roles(&body), ["user", "assistant", "user", "assistant", "tool", "user"]);
    assert_eq!(body["messages"][4]["tool_call_id"], "p1");
    let late = server
        .exchanges()
        .r#continue(ask::on_thread_with("t", vec![ask::result(&result.call_id, "late")]))
        .await
        .unwrap_err();
    refused::is(&late, Code::FailedPrecondition, Reason::NoPendingToolCalls);
}

/// ABANDON: the new turn goes on from the head; the calls are left hanging below it, and late results no longer move the thread.
#[tokio::test(flavor = "multi_thread")]
async fn abandoning_goes_on_from_the_head() {
    let (provider, server, head, asked) = waiting([stub::text("a2"), stub::text("late")]).await;
    let next = server
        .exchanges()
        .r#continue(over(pb::UnansweredTools::Abandon, ask::text_as("n", "never mind")))
        .await
        .unwrap();
    let next = next.into_inner().exchange.unwrap();
    assert_eq!((&next.parent_exchange_id, next.turn), (&head, 2));
    assert_eq!(roles(&provider.request(2).await.json()), ["user", "assistant", "user"]);
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::PendingTools);
    let late = vec![ask::result(&asked.pending_tool_calls[0].call_id, "late")];
    let late = server.exchanges().r#continue(ask::after_with(&asked.exchange_id, late)).await.unwrap().into_inner();
    assert_eq!(late.run.unwrap().state(), pb::RunState::Completed);
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, next.exchange_id);
}

/// The first turn of an empty thread may wait as well, and what is said about that holds for Capture too.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_thread_may_wait() {
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("again"), stub::text("x")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", stub::offering("r", "q"))).await.unwrap();
    let onto = |unanswered: pb::UnansweredTools| {
        let point = pb::ThreadPoint { unanswered_tools: unanswered.into(), ..ask::on("t") };
        pb::CaptureRequest {
            thread: Some(pb::capture_request::Thread::ExistingThread(point)),
            ..ask::capture(ask::text("other"))
        }
    };
    let refusal = client.capture(onto(pb::UnansweredTools::Reject)).await.unwrap_err();
    refused::is(&refusal, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    let abandoned = client.capture(onto(pb::UnansweredTools::Abandon)).await.unwrap().into_inner();
    let exchange = abandoned.exchange.unwrap();
    assert_eq!((exchange.depth, exchange.text.as_str()), (1, "again"));
    assert_eq!(abandoned.thread.unwrap().head_exchange_id, exchange.exchange_id);
    assert_eq!(roles(&provider.request(1).await.json()), ["user"]);
}

/// S3x-7: at an exchange with pending calls a fork's first turn brings their results; each fork answers them for itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_at_pending_calls_brings_results() {
    let (provider, server, head, asked) = waiting([stub::text("left"), stub::text("own")]).await;
    let mut client = server.exchanges();
    let prompted =
        client.fork(ask::fork(&asked.exchange_id, vec![ask::branch("f", Some(ask::text("x")))])).await.unwrap_err();
    refused::is(&prompted, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    let results = || vec![ask::result(&asked.pending_tool_calls[0].call_id, "seen")];
    let branch = pb::ForkBranch {
        input: Some(pb::fork_branch::Input::ToolResults(ask::results(results()))),
        ..ask::branch("f", None)
    };
    let forked = client.fork(ask::fork(&asked.exchange_id, vec![branch])).await.unwrap().into_inner().results.remove(0);
    let exchange = forked.exchange.unwrap();
    assert_eq!((&exchange.parent_exchange_id, exchange.text.as_str()), (&asked.exchange_id, "left"));
    assert_ne!(forked.run.unwrap().run_id, "r", "a fork starts a run of its own");
    assert_eq!(forked.thread.unwrap().head_exchange_id, exchange.exchange_id);
    let thread = look::thread(&server, "t").await;
    assert_eq!((&thread.head_exchange_id, thread.pending.is_some()), (&head, true), "the source still waits");
    let own = client.r#continue(ask::on_thread_with("t", results())).await.unwrap().into_inner();
    assert_eq!((own.run.unwrap().run_id.as_str(), own.exchange.unwrap().text.as_str()), ("r", "own"));
    assert_eq!(provider.count(), 4);
}

/// S3-8..11: only a COMPLETED captured run on the path can be forked after, and each refusal names the way out.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_after_a_run_needs_a_completed_one_on_the_path() {
    let (_provider, server, head, asked) =
        waiting([stub::text("beside"), stub::text("loose"), stub::status(400, "no")]).await;
    let mut client = server.exchanges();
    client.r#continue(ask::after(&head, ask::text_as("beside", "x"))).await.unwrap();
    let execution = Some(pb::run_request::Execution::Request(ask::text_as("loose", "x")));
    client.run(pb::RunRequest { execution, ..Default::default() }).await.unwrap();
    client.r#continue(ask::after(&head, ask::text_as("failed", "x"))).await.unwrap_err();
    let after = |run: &str| {
        let at = Some(pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: run.into() }));
        let source = pb::fork_request::Source::Thread(pb::ThreadTurnPoint { thread_id: "t".into(), at });
        pb::ForkRequest { source: Some(source), ..Default::default() }
    };
    let pending = client.fork(after("r")).await.unwrap_err();
    refused::is(&pending, Code::FailedPrecondition, Reason::RunNotCompleted);
    let facts = ["run_id", "run_state", "exchange_id"].map(|key| refused::fact(&pending, key));
    assert_eq!(facts, ["r", "PENDING_TOOLS", &asked.exchange_id]);
    assert!(pending.message().contains("answer its tool calls"), "{pending:?}");
    let failed = client.fork(after("failed")).await.unwrap_err();
    refused::is(&failed, Code::FailedPrecondition, Reason::RunNotCompleted);
    assert!(failed.message().contains("`retry`"), "{failed:?}");
    let elsewhere = client.fork(after("beside")).await.unwrap_err();
    refused::is(&elsewhere, Code::FailedPrecondition, Reason::RunNotOnPath);
    assert!(elsewhere.message().contains("fork at its exchange"), "{elsewhere:?}");
    let loose = client.fork(after("loose")).await.unwrap_err();
    refused::is(&loose, Code::FailedPrecondition, Reason::NotCaptured);
    assert!(loose.message().contains("uncaptured_prefix"), "S0-21: {loose:?}");
    assert!(client.fork(after("r0")).await.is_ok());
    let probe = pb::ProbeRequest {
        from: Some(pb::probe_request::From::Thread(pb::ThreadTurnPoint {
            thread_id: "t".into(),
            at: Some(pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: "r".into() })),
        })),
        ..ask::probe(&head, ask::text("x"))
    };
    refused::is(&client.probe(probe).await.unwrap_err(), Code::FailedPrecondition, Reason::RunNotCompleted);
    let at = Some(pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn: 2 }));
    let source = Some(pb::fork_request::Source::Thread(pb::ThreadTurnPoint { thread_id: "t".into(), at }));
    let beyond = client.fork(pb::ForkRequest { source, ..Default::default() }).await.unwrap_err();
    assert_eq!(refused::fields(&beyond), ["thread.after_turn.turn"]);
}

/// S3-28: a tool that needs a person is answered later, so its run must have an id that the caller knows; it is never made up.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_needs_a_run_id() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let tool = pb::Tool { requires_human: true, ..ask::tool("ask") };
    let request = |run_id: &str| pb::ExecutionRequest {
        tools: Some(pb::ToolList { tools: vec![tool.clone()] }),
        ..ask::text_as(run_id, "x")
    };
    let first = client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let refusals = [
        client.capture(ask::capture(request(""))).await.unwrap_err(),
        client.r#continue(ask::after(&first, request(""))).await.unwrap_err(),
        client.fork(ask::fork(&first, vec![ask::branch("f", Some(request("")))])).await.unwrap_err(),
    ];
    for refusal in &refusals {
        refused::is(refusal, Code::FailedPrecondition, Reason::RunIdRequired);
        assert_eq!(refused::fact(refusal, "tool"), "ask");
    }
    assert_eq!(look::threads(&server).await.len(), 0);
    let named = client.capture(ask::capture(request("mine"))).await.unwrap().into_inner();
    assert_eq!(named.run.unwrap().run_id, "mine", "S3-30");
    let loose =
        pb::RunRequest { execution: Some(pb::run_request::Execution::Request(request(""))), ..Default::default() };
    assert!(client.run(loose).await.is_ok(), "what is not kept cannot be answered later");
}

/// S0-11, S0-12: an uncaptured answer with calls goes on with their results, named by the ids that the answer gave them.
#[tokio::test(flavor = "multi_thread")]
async fn an_uncaptured_call_is_answered() {
    let provider =
        Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("done"), stub::text("again")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let execution = Some(pb::run_request::Execution::Request(stub::offering("r", "q")));
    let run = pb::RunRequest { execution, include_rendered_messages: true, ..Default::default() };
    let ran = client.run(run).await.unwrap().into_inner();
    assert_eq!(
        (ran.run.unwrap().state(), ran.stop_reason),
        (pb::RunState::Completed, pb::StopReason::ToolCalls.into())
    );
    let Some(pb::part::Kind::ToolCall(call)) = &ran.assistant.as_ref().unwrap().parts[0].kind else {
        panic!("{:?}", ran.assistant)
    };
    let prefix = pb::UncapturedPrefix {
        rendered_messages: ran.rendered_messages.clone(),
        assistant: ran.assistant.clone(),
        run_id: "r".into(),
        facts: None,
    };
    let follow = |text: &str| pb::ContinueRequest {
        from: Some(pb::continue_request::From::UncapturedPrefix(prefix.clone())),
        input: Some(pb::continue_request::Input::Request(pb::ExecutionRequest {
            messages: vec![ask::answering(&call.call_id, text)],
            ..Default::default()
        })),
    };
    let done = client.r#continue(follow("seen")).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!((done.text.as_str(), done.depth), ("done", 2));
    let body = provider.request(1).await.json();
    assert_eq!(
        (roles(&body), &body["messages"][2]["tool_call_id"]),
        (vec!["user".into(), "assistant".into(), "tool".into()], &"p1".into())
    );
    let again = client.r#continue(follow("seen otherwise")).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(again.parent_exchange_id, done.parent_exchange_id, "the prefix is stored once");
}

/// S0-12: one uncaptured prefix, continued twice at once, is stored once, and both turns are.
#[tokio::test(flavor = "multi_thread")]
async fn one_prefix_continued_twice_at_once_is_stored_once() {
    let gate = crate::support::provider::Gate::closed();
    let provider = Provider::start([stub::text("a"), stub::text("b").wait(&gate), stub::text("c").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let execution = Some(pb::run_request::Execution::Request(ask::text_as("r", "q")));
    let run = pb::RunRequest { execution, include_rendered_messages: true, ..Default::default() };
    let ran = server.exchanges().run(run).await.unwrap().into_inner();
    let follow = |run_id: &str, text: &str| pb::ContinueRequest {
        from: Some(pb::continue_request::From::UncapturedPrefix(pb::UncapturedPrefix {
            rendered_messages: ran.rendered_messages.clone(),
            assistant: ran.assistant.clone(),
            run_id: "r".into(),
            facts: None,
        })),
        input: Some(pb::continue_request::Input::Request(ask::text_as(run_id, text))),
    };
    let same = server.exchanges().r#continue(follow("r", "x")).await.unwrap_err();
    refused::is(&same, Code::AlreadyExists, Reason::RunIdConflict);
    let mut new = follow("new", "x");
    if let Some(pb::continue_request::From::UncapturedPrefix(prefix)) = &mut new.from {
        prefix.run_id = "new".into();
    }
    let same = server.exchanges().r#continue(new).await.unwrap_err();
    assert_eq!(refused::fields(&same), ["uncaptured_prefix.run_id"], "one id cannot name both");
    assert_eq!(provider.count(), 1);
    let calls = [follow("r1", "left"), follow("r2", "right")].map(|request| {
        let mut client = server.exchanges();
        tokio::spawn(async move { client.r#continue(request).await.unwrap().into_inner().exchange.unwrap() })
    });
    provider.request(2).await;
    gate.open();
    let mut parents = Vec::new();
    for call in calls {
        parents.push(call.await.unwrap().parent_exchange_id);
    }
    assert_eq!(parents[0], parents[1]);
    let run = look::run(&server, "r").await;
    assert_eq!((run.captured, &run.exchange_id), (true, &parents[0]));
}
