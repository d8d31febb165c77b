//! What goes out of a history: all of it, in order, paired, from the store alone, and nothing rendered twice.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::{Value, json};
use tonic::Code;

use crate::served::Served;
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused, stub};

fn offering(names: &[&str], text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { tools: ask::tools(names), ..ask::text(text) }
}

/// What the provider calls, the texts of the results, and then an answer.
async fn pending(calls: &[(&str, &str, &str)], rest: impl IntoIterator<Item = Entry>) -> (Served, pb::Exchange) {
    let served = Served::with([stub::calls(calls)].into_iter().chain(rest)).await;
    let names: Vec<&str> = calls.iter().map(|(_, name, _)| *name).collect();
    let asked = served.capture(ask::capture(offering(&names[..1], "rain today?"))).await;
    (served, asked)
}

fn call_id(asked: &pb::Exchange, number: usize) -> &str {
    &asked.pending_tool_calls[number].call_id
}

async fn refusal(served: &Served, request: pb::ContinueRequest) -> tonic::Status {
    served.server.exchanges().r#continue(request).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn b056_a_prompt_over_an_unanswered_call_is_refused_and_bricks_nothing() {
    let answers = [stub::text("dry"), stub::text("welcome")];
    let (served, asked) = pending(&[("t1", "get_forecast", r#"{"place":"Oslo"}"#)], answers).await;
    let over = refusal(&served, ask::after(&asked.exchange_id, ask::text("never mind"))).await;
    refused::is(&over, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    assert_eq!((refused::fact(&over, "call_ids"), served.provider.count()), (call_id(&asked, 0).to_owned(), 1));
    let answered =
        served.go_on(ask::after_with(&asked.exchange_id, vec![ask::result(call_id(&asked, 0), "none")])).await;
    let next = served.go_on(ask::after(&answered.exchange_id, ask::text("never mind"))).await;
    assert_eq!(next.text, "welcome");
    let sent = served.messages(2).await;
    let roles: Vec<_> = sent.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!((&sent[1]["tool_calls"][0]["id"], &sent[2]["tool_call_id"]), (&json!("t1"), &json!("t1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn b058_one_result_a_call_on_each_path() {
    let (served, asked) = pending(&[("t1", "w", "{}")], [stub::text("a"), stub::text("b")]).await;
    let with = |texts: &[&str]| {
        let results = texts.iter().map(|text| ask::result(call_id(&asked, 0), text)).collect();
        ask::after_with(&asked.exchange_id, results)
    };
    let twice = refusal(&served, with(&["A", "B"])).await;
    refused::is(&twice, Code::InvalidArgument, Reason::ToolResultsMismatch);
    assert_eq!((refused::fact(&twice, "duplicate"), served.provider.count()), (call_id(&asked, 0).to_owned(), 1));
    let first = served.go_on(with(&["A"])).await;
    // The step of the run that called is one; another result for it is another path, which a fork or a new run begins.
    let other = refusal(&served, with(&["B"])).await;
    refused::is(&other, Code::AlreadyExists, Reason::RunIdConflict);
    let results = ask::results(vec![ask::result(call_id(&asked, 0), "B")]);
    let branch = pb::ForkBranch { input: Some(pb::fork_branch::Input::ToolResults(results)), ..ask::branch("f", None) };
    let forked =
        served.server.exchanges().fork(ask::fork(&asked.exchange_id, vec![branch])).await.unwrap().into_inner();
    let second = forked.results[0].exchange.clone().unwrap();
    for (exchange, result) in [(&first, "T:result A"), (&second, "T:result B")] {
        assert_eq!(exchange.parent_exchange_id, asked.exchange_id);
        assert_eq!(served.history(&exchange.exchange_id).await[2], result);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b059_a_missing_result_is_named_and_nobody_is_asked() {
    let (served, asked) = pending(&[("a", "w", "{}"), ("b", "w", "{}")], [stub::text("done")]).await;
    let one = refusal(&served, ask::after_with(&asked.exchange_id, vec![ask::result(call_id(&asked, 0), "x")])).await;
    refused::is(&one, Code::InvalidArgument, Reason::ToolResultsMismatch);
    assert_eq!((refused::fact(&one, "missing"), served.provider.count()), (call_id(&asked, 1).to_owned(), 1));
    let both = (0..2).map(|number| ask::result(call_id(&asked, number), "x")).collect();
    assert_eq!(served.go_on(ask::after_with(&asked.exchange_id, both)).await.text, "done");
}

/// No limit is applied unasked: all of two turns with their tool rounds goes out.
#[tokio::test(flavor = "multi_thread")]
async fn b062_nothing_is_cut_off_unasked() {
    let served = Served::with([stub::text("ok")]).await;
    let turn = |number: usize| {
        let id = format!("c{number}");
        vec![
            ask::user(&format!("q{number}")),
            ask::calling(&id, "w", "{}"),
            ask::answering(&id, "x"),
            ask::assistant(&format!("a{number}")),
        ]
    };
    let transcript = ask::record([vec![ask::said(pb::Role::System, "brief")], turn(1), turn(2)].concat());
    let last = served.server.exchanges().record(transcript).await.unwrap().into_inner().exchange_id;
    served.go_on(ask::after(&last, ask::text("q3"))).await;
    let sent = served.messages(0).await;
    let roles: Vec<_> = sent.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    let round = ["user", "assistant", "tool", "assistant"];
    assert_eq!(roles, [&["system"], &round[..], &round[..], &["user"]].concat());
}

async fn rain(restarted: bool) -> Vec<u8> {
    let answers = [stub::text("It is 20 C"), stub::text("the same")];
    let (served, asked) = pending(&[("t1", "w", r#"{"place":"Oslo"}"#)], answers).await;
    let results = vec![ask::result(call_id(&asked, 0), "20")];
    let told = served.go_on(ask::after_with(&asked.exchange_id, results)).await;
    let served = if restarted { served.restart().await } else { served };
    served.go_on(ask::after(&told.exchange_id, ask::text("and tomorrow?"))).await;
    let body = served.provider.request(2).await.body;
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["messages"].as_array().unwrap().len(), 5);
    body.to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn b071_a_history_from_disk_goes_out_byte_for_byte() {
    let (live, read) = tokio::join!(rain(false), rain(true));
    assert_eq!(String::from_utf8(live).unwrap(), String::from_utf8(read).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn b073_a_continuation_inherits_the_tools() {
    let (served, asked) = pending(&[("t1", "w", "{}")], [stub::text("done")]).await;
    let done = served.go_on(ask::after_with(&asked.exchange_id, vec![ask::result(call_id(&asked, 0), "x")])).await;
    let tools = |number| {
        let provider = &served.provider;
        async move { provider.request(number).await.json()["tools"].clone() }
    };
    assert!(tools(0).await.is_array());
    assert_eq!(tools(0).await, tools(1).await);
    for id in [&asked.exchange_id, &done.exchange_id] {
        let offered = served.inspect(id).await.tools.unwrap().offered.unwrap();
        assert_eq!(offered.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["w"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b075_a_turn_that_says_nothing_is_refused_and_a_result_may() {
    let (served, asked) = pending(&[("t1", "w", "{}")], [stub::text("done")]).await;
    let nothing = [
        ask::after_with(&asked.exchange_id, vec![]),
        ask::after(&asked.exchange_id, ask::text("")),
        ask::after(&asked.exchange_id, pb::ExecutionRequest { messages: vec![ask::user("")], ..Default::default() }),
        ask::after(
            &asked.exchange_id,
            pb::ExecutionRequest {
                messages: vec![pb::Message { role: pb::Role::User.into(), parts: vec![] }],
                ..Default::default()
            },
        ),
    ];
    for request in nothing {
        refused::is(&refusal(&served, request).await, Code::InvalidArgument, Reason::InvalidFields);
    }
    assert_eq!(served.provider.count(), 1);
    served.go_on(ask::after_with(&asked.exchange_id, vec![ask::result(call_id(&asked, 0), "")])).await;
    assert_eq!(served.messages(1).await[2], json!({"role": "tool", "tool_call_id": "t1", "content": ""}));
}

#[tokio::test(flavor = "multi_thread")]
async fn b076_a_template_is_rendered_once_and_what_was_said_never() {
    let folder = tempfile::tempdir().unwrap();
    let prompt = "---\nid: ask\nvariables:\n  - name: q\n---\nuser:\nQ: {{ q }}\n";
    std::fs::write(folder.path().join("ask.prompt.md"), prompt).unwrap();
    let said = "{{q}} {\"a\":1} {% raw %}";
    let provider = Provider::start([stub::text(said), stub::text("2"), stub::text("3")]).await;
    let prompts = format!("prompts_dir = {:?}\n", folder.path().display().to_string());
    let server = Running::start(prompts + &openai(&provider.base_url())).await;
    let served = Served { provider, server };
    let with = |vars: &str| pb::ExecutionRequest {
        prompt: Some(pb::PromptInput { prompt_id: "ask".into(), vars_json: vars.into(), vars: None }),
        ..Default::default()
    };
    let first = served.capture(ask::capture(with(r#"{"q":"show {{secret}} and {x}"}"#))).await;
    let second = served.go_on(ask::after(&first.exchange_id, ask::text("{{ q }}"))).await;
    served.go_on(ask::after(&second.exchange_id, with(r#"{"q":"{% raw %}"}"#))).await;
    let sent = served.messages(2).await;
    let contents: Vec<_> =
        sent.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(contents, ["Q: show {{secret}} and {x}", said, "{{ q }}", "2", "Q: {% raw %}"]);
    for vars in ["{}", r#"{"q":"x","secret":"y"}"#] {
        let refusal = served.server.exchanges().capture(ask::capture(with(vars))).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::PromptVariables);
    }
    assert_eq!(served.provider.count(), 3);
}
