use super::*;
use crate::domain::message::{Kind, Role};
use crate::domain::run::StopReason;
use crate::domain::settings::{Contract, ContractChoice, ValidationStatus};
use crate::domain::tool::{Tool, ToolSet};
use crate::domain::usage::Completeness;
use crate::engine::Asked;
use crate::engine::testing::{Recorder, execute, plan, say, scripted};

fn streamed() -> Execution {
    Execution { stream: true, ..Execution::default() }
}

fn tools(names: &[&str]) -> ToolSet {
    let tool = |name: &&str| Tool {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
        side_effects: false,
        requires_human: false,
    };
    ToolSet { tools: names.iter().map(tool).collect() }
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_with_its_observation_and_the_pieces_add_up_to_it() {
    let engine = scripted("");
    let plan = plan(&engine, say("hello"));
    let history = vec![Message::text(Role::User, "before"), Message::text(Role::Assistant, "yes")];
    let (executed, events) = execute(&engine, &plan, Execution { history: history.clone(), ..streamed() }).await;
    let answer = executed.outcome.unwrap();
    assert_eq!(answer.assistant.joined_text(), "You said: hello (message 3 of the history)");
    assert_eq!(events.text(), answer.assistant.joined_text());
    assert!(events.deltas.len() > 1);
    assert_eq!((answer.stop_reason, answer.stop_reason_raw.as_str()), (StopReason::Stop, "stop"));
    assert_eq!(answer.responder.backend_id, "demo");
    assert_eq!(answer.usage.completeness, Completeness::Complete);
    let [observation] = executed.observations.as_slice() else { panic!("one attempt") };
    let body = engine.outbound(&plan, history.clone(), true).unwrap().body;
    assert_eq!(observation.request_hash, Some(Hash::of(&body)));
    assert_eq!(observation.request_bytes, body.len() as u64);
    assert_eq!((observation.number, observation.kind, observation.succeeded), (1, AttemptKind::First, true));
    assert_eq!((observation.http_status, observation.usage == answer.usage), (Some(200), true));
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_again_and_both_attempts_are_on_record() {
    let engine =
        scripted("[[backends.demo.rules]]\ntimes = 1\nfault = { kind = \"status\", status = 503, code = \"busy\" }");
    let plan = plan(&engine, say("hello"));
    let (executed, events) = execute(&engine, &plan, Execution { first_number: 4, ..streamed() }).await;
    assert!(executed.outcome.is_ok());
    assert_eq!(events.attempts, [(5, AttemptKind::First), (6, AttemptKind::Retry)]);
    let [failed, succeeded] = executed.observations.as_slice() else { panic!("two attempts") };
    assert_eq!((failed.succeeded, failed.error_reason.as_str()), (false, "PROVIDER_UNAVAILABLE"));
    assert_eq!((failed.http_status, failed.provider_code.as_str()), (Some(503), "busy"));
    assert_eq!(failed.request_hash, succeeded.request_hash);
    assert!(succeeded.succeeded);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded_and_the_last_failure_is_told() {
    let engine = scripted("retry = { attempts = 2 }\n[[backends.demo.rules]]\nfault = { kind = \"malformed\" }");
    let plan = plan(&engine, say("hello"));
    let (executed, _) = execute(&engine, &plan, Execution::default()).await;
    let fault = executed.outcome.unwrap_err();
    assert_eq!((fault.reason, fault.metadata["attempts"].as_str()), (Reason::ProviderBadAnswer, "2"));
    assert_eq!(executed.observations.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn b043_the_providers_delay_is_waited_for() {
    let engine = scripted(
        "[[backends.demo.rules]]\ntimes = 1\nfault = { kind = \"status\", status = 429, retry_after_ms = 2000 }",
    );
    let plan = plan(&engine, say("hello"));
    let began = Instant::now();
    let (executed, _) = execute(&engine, &plan, Execution::default()).await;
    assert!(executed.outcome.is_ok());
    assert!(began.elapsed() >= Duration::from_secs(2) && began.elapsed() < Duration::from_secs(3));
    assert_eq!(executed.observations[0].retry_after_ms, Some(2_000));
}

#[tokio::test(start_paused = true)]
async fn b043_an_absurd_delay_or_one_beyond_the_deadline_fails_at_once_with_the_hint() {
    for (delay, deadline) in [(86_400_000_u64, None), (20_000, Some(Duration::from_secs(10)))] {
        let engine = scripted(&format!(
            "[[backends.demo.rules]]\nfault = {{ kind = \"status\", status = 429, retry_after_ms = {delay} }}"
        ));
        let plan = plan(&engine, say("hello"));
        let began = Instant::now();
        let deadline = Some(watch::Sender::new(deadline.map(|after| began + after)).subscribe());
        let (executed, _) = execute(&engine, &plan, Execution { deadline, ..Execution::default() }).await;
        let fault = executed.outcome.unwrap_err();
        assert_eq!((fault.reason, fault.retry_after_ms), (Reason::ProviderRateLimited, Some(delay)));
        assert_eq!((began.elapsed(), executed.observations.len()), (Duration::ZERO, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn b044_a_rate_limit_without_a_hint_makes_no_hot_loop() {
    let engine = scripted("[[backends.demo.rules]]\nfault = { kind = \"status\", status = 429 }");
    let plan = plan(&engine, say("hello"));
    let began = Instant::now();
    let (executed, _) = execute(&engine, &plan, Execution::default()).await;
    assert_eq!(executed.outcome.unwrap_err().reason, Reason::ProviderRateLimited);
    assert_eq!(executed.observations.len(), 3);
    assert!(began.elapsed() >= Duration::from_millis(750));
}

#[tokio::test(start_paused = true)]
async fn b120_nothing_is_repeated_once_a_piece_was_delivered() {
    let cut = "[[backends.demo.rules]]\ntimes = 1\ntext = \"Hello world\"\nfault = { kind = \"cut\", after_chars = 9 }";
    let engine = scripted(cut);
    let streamed_plan = plan(&engine, say("hello"));
    let (executed, events) = execute(&engine, &streamed_plan, streamed()).await;
    let fault = executed.outcome.unwrap_err();
    assert_eq!((fault.reason, fault.metadata["partly_delivered"].as_str()), (Reason::ProviderUnavailable, "true"));
    assert_eq!((events.text().as_str(), executed.observations.len()), ("Hello wor", 1));
    // A caller who gets the whole answer only has seen nothing yet.
    let engine = scripted(cut);
    let (executed, events) = execute(&engine, &plan(&engine, say("hello")), Execution::default()).await;
    assert!(executed.outcome.is_ok() && events.deltas.is_empty());
    assert_eq!(executed.observations.len(), 2);
    // Nor has one whose stream broke before the first piece.
    let engine = scripted(&cut.replace("after_chars = 9", "after_chars = 0"));
    let (executed, events) = execute(&engine, &plan(&engine, say("hello")), streamed()).await;
    assert_eq!(events.text(), executed.outcome.unwrap().assistant.joined_text());
}

#[tokio::test(start_paused = true)]
async fn what_waiting_does_not_help_is_not_repeated() {
    for (status, reason) in [(400, Reason::ProviderRefusedRequest), (401, Reason::ProviderRefusedCredential)] {
        let engine = scripted(&format!("[[backends.demo.rules]]\nfault = {{ kind = \"status\", status = {status} }}"));
        let (executed, _) = execute(&engine, &plan(&engine, say("hello")), Execution::default()).await;
        assert_eq!((executed.outcome.unwrap_err().reason, executed.observations.len()), (reason, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn whose_credential_was_refused_is_told() {
    let engine = scripted("[[backends.demo.rules]]\nfault = { kind = \"status\", status = 401 }");
    let plan = plan(&engine, say("hello"));
    let (executed, _) = execute(&engine, &plan, Execution::default()).await;
    assert_eq!(executed.outcome.unwrap_err().metadata["credential_source"], "SERVER");
    let credential = Some(SecretString::from("hush-hush"));
    let (executed, _) = execute(&engine, &plan, Execution { credential, ..Execution::default() }).await;
    let told = format!("{executed:?}");
    assert!(told.contains("CALLER") && !told.contains("hush-hush"));
}

#[tokio::test(start_paused = true)]
async fn the_total_time_bounds_all_attempts_and_waits() {
    let stall = "total_timeout_ms = 5000\n[[backends.demo.rules]]\nfault = { kind = \"stall\" }";
    let engine = scripted(stall);
    let plan = plan(&engine, say("hello"));
    let began = Instant::now();
    let (executed, _) = execute(&engine, &plan, streamed()).await;
    let fault = executed.outcome.unwrap_err();
    assert_eq!((fault.reason, fault.metadata["timeout"].as_str()), (Reason::ProviderTimeout, "total"));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!((executed.observations.len(), executed.observations[0].duration_ms), (1, 5_000));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_was_put_off_leaves_time_for_another_attempt() {
    let engine = scripted(
        "[[backends.demo.rules]]\ntimes = 1\ndelay_ms = 1000\nfault = { kind = \"status\", status = 429, retry_after_ms = 20000 }",
    );
    let plan = plan(&engine, say("hello"));
    let began = Instant::now();
    let deadline = watch::Sender::new(Some(began + Duration::from_secs(5)));
    let call = Execution { deadline: Some(deadline.subscribe()), ..Execution::default() };
    let joined = async {
        // The test's clock stands still until all wait, and then jumps: nobody waits for this.
        tokio::time::sleep(Duration::from_millis(500)).await;
        deadline.send_replace(Some(began + Duration::from_secs(60)));
    };
    let ((), (executed, _)) = tokio::join!(joined, execute(&engine, &plan, call));
    assert!(executed.outcome.is_ok(), "{executed:?}");
    assert_eq!((began.elapsed(), executed.observations.len()), (Duration::from_secs(21), 2));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_leaves_its_observation() {
    let engine = scripted("[[backends.demo.rules]]\nfault = { kind = \"stall\" }");
    let plan = plan(&engine, say("hello"));
    let cancel = CancellationToken::new();
    let permit = engine.admit(&plan).await.unwrap();
    let mut events = Recorder::default();
    let call = Execution { cancel: Some(cancel.clone()), ..streamed() };
    let running = engine.execute(&plan, &permit, call, &mut events);
    let ((), executed) = tokio::join!(async { cancel.cancel() }, running);
    assert_eq!(executed.outcome.unwrap_err().reason, Reason::RunCancelled);
    assert_eq!(executed.observations[0].error_reason, "RUN_CANCELLED");
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_wait_between_attempts() {
    let engine =
        scripted("[[backends.demo.rules]]\nfault = { kind = \"status\", status = 429, retry_after_ms = 20000 }");
    let plan = plan(&engine, say("hello"));
    let cancel = CancellationToken::new();
    let call = Execution { cancel: Some(cancel.clone()), ..Execution::default() };
    let began = Instant::now();
    let later = async {
        // As above: a time of the test's own clock, in the middle of the wait.
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let ((), (executed, _)) = tokio::join!(later, execute(&engine, &plan, call));
    assert_eq!(executed.outcome.unwrap_err().reason, Reason::RunCancelled);
    assert_eq!((began.elapsed(), executed.observations.len()), (Duration::from_secs(1), 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_whole_counts_though_the_caller_has_gone() {
    let engine = scripted("");
    let plan = plan(&engine, say("hello"));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (executed, _) = execute(&engine, &plan, Execution { cancel: Some(cancel), ..Execution::default() }).await;
    assert!(executed.outcome.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_first_byte_is_timed() {
    let engine = scripted("delay_ms = 40\nchunk_gap_ms = 10\nchunk_chars = 1\n[[backends.demo.rules]]\ntext = \"abc\"");
    let (executed, _) = execute(&engine, &plan(&engine, say("hello")), streamed()).await;
    let observation = &executed.observations[0];
    assert_eq!((observation.first_byte_ms, observation.duration_ms), (Some(40), 60));
}

#[tokio::test(start_paused = true)]
async fn b022_b023_arguments_are_kept_and_judged() {
    let engine = scripted(
        r#"
        [[backends.demo.rules]]
        tool_calls = [
            { name = "now", arguments_json = "" },
            { name = "now", arguments_json = "  \n" },
            { name = "now", arguments_json = '{"path":"/tmp/a"' },
            { name = "now", arguments_json = '"{\"a\":1}"' },
            { name = "now", arguments = { n = 1 } },
        ]
        "#,
    );
    let asked = Asked { tools: Some(tools(&["now"])), ..say("what time is it") };
    let (executed, events) = execute(&engine, &plan(&engine, asked), Execution::default()).await;
    let answer = executed.outcome.unwrap();
    let calls: Vec<_> =
        answer.assistant.tool_calls().map(|c| (c.arguments_json.as_str(), c.arguments_invalid)).collect();
    assert_eq!(
        calls,
        [
            ("{}", false),
            ("{}", false),
            ("{\"path\":\"/tmp/a\"", true),
            ("\"{\\\"a\\\":1}\"", true),
            ("{\"n\":1}", false)
        ]
    );
    assert_eq!(events.warnings, ["tool_arguments_invalid", "tool_arguments_invalid"]);
    assert_eq!(answer.stop_reason, StopReason::ToolCalls);
}

#[tokio::test(start_paused = true)]
async fn b138_deep_arguments_are_kept_as_text() {
    for (levels, invalid) in [(126, false), (129, true), (100_000, true)] {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        let engine =
            scripted(&format!("[[backends.demo.rules]]\ntool_calls = [{{ name = \"t\", arguments_json = '{deep}' }}]"));
        let asked = Asked { tools: Some(tools(&["t"])), ..say("x") };
        let (executed, _) = execute(&engine, &plan(&engine, asked), Execution::default()).await;
        let answer = executed.outcome.unwrap();
        let call = answer.assistant.tool_calls().next().unwrap();
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (deep.as_str(), invalid));
    }
}

#[tokio::test(start_paused = true)]
async fn b074_a_call_of_an_undeclared_tool_is_kept_and_flagged() {
    let engine = scripted("[[backends.demo.rules]]\ntool_calls = [{ name = \"execute_python\" }]");
    let asked = Asked { tools: Some(tools(&["get_weather"])), ..say("x") };
    let (executed, events) = execute(&engine, &plan(&engine, asked), Execution::default()).await;
    let answer = executed.outcome.unwrap();
    assert_eq!(answer.assistant.tool_calls().next().unwrap().name, "execute_python");
    assert_eq!((events.warnings.as_slice(), answer.warnings.len()), (&["unknown_tool_called".to_owned()][..], 1));
}

#[tokio::test(start_paused = true)]
async fn b106_equal_calls_get_ids_of_their_own_and_keep_the_providers() {
    let engine = scripted(
        "[[backends.demo.rules]]\ntool_calls = [{ name = \"t\", id = \"x\" }, { name = \"t\", id = \"x\" }, { name = \"t\", id = \"x\" }]",
    );
    let (executed, _) = execute(&engine, &plan(&engine, say("x")), Execution::default()).await;
    let answer = executed.outcome.unwrap();
    let ids: std::collections::BTreeSet<_> = answer.assistant.tool_calls().map(|call| call.call_id.as_str()).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| id.starts_with("call_")));
    assert!(answer.assistant.tool_calls().all(|call| call.provider_call_id == "x"));
}

#[tokio::test(start_paused = true)]
async fn b025_calls_are_the_surer_sign_and_the_raw_word_is_kept() {
    let engine = scripted("[[backends.demo.rules]]\ntool_calls = [{ name = \"t\" }]\nstop_reason = \"stop\"");
    let (executed, _) = execute(&engine, &plan(&engine, say("x")), Execution::default()).await;
    let answer = executed.outcome.unwrap();
    assert_eq!((answer.stop_reason, answer.stop_reason_raw.as_str()), (StopReason::ToolCalls, "stop"));
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_kept_and_flagged() {
    let engine = scripted("[[backends.demo.rules]]\ntext = \"\"");
    let (executed, events) = execute(&engine, &plan(&engine, say("x")), streamed()).await;
    let answer = executed.outcome.unwrap();
    assert_eq!((answer.assistant.parts.len(), answer.stop_reason), (0, StopReason::Stop));
    assert_eq!(events.warnings, ["empty_answer"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_validation_is_a_result_and_no_error() {
    let schema = r#"{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}"#;
    let contract = Contract::JsonSchema { name: "a".to_owned(), schema_json: schema.to_owned() };
    let asked = |text: &str| Asked { contract: Some(ContractChoice::Inline(contract.clone())), ..say(text) };
    let engine = scripted(
        "[[backends.demo.rules]]\nwhen = \"good\"\njson = { answer = 7 }\n[[backends.demo.rules]]\njson = { answer = \"seven\" }",
    );
    let (executed, _) = execute(&engine, &plan(&engine, asked("good")), Execution::default()).await;
    assert_eq!(executed.outcome.unwrap().validation.status, ValidationStatus::Valid);
    let (executed, _) = execute(&engine, &plan(&engine, asked("bad")), Execution::default()).await;
    let answer = executed.outcome.unwrap();
    assert_eq!(answer.validation.status, ValidationStatus::Invalid);
    assert_eq!(answer.validation.violations[0].instance_path, "/answer");
    assert!(matches!(&answer.assistant.parts[0].kind, Kind::Text(text) if text == "{\"answer\":\"seven\"}"));
}

#[tokio::test(start_paused = true)]
async fn a_permit_for_another_backend_is_refused() {
    let engine =
        scripted("[backends.other]\nkind = \"scripted\"\n[profiles.other]\nbackend = \"other\"\nmodel = \"m\"");
    let main = plan(&engine, say("x"));
    let other = plan(&engine, Asked { profile_id: Some("other".to_owned()), ..say("x") });
    let permit = engine.admit(&other).await.unwrap();
    let executed = engine.execute(&main, &permit, Execution::default(), &mut Recorder::default()).await;
    assert_eq!(executed.outcome.unwrap_err().reason, Reason::Internal);
}

#[tokio::test(start_paused = true)]
async fn a_place_is_given_back_after_the_call() {
    let engine = scripted("capacity = 1");
    let plan = plan(&engine, say("x"));
    let permit = engine.admit(&plan).await.unwrap();
    assert_eq!(engine.setup().backend("demo").unwrap().in_use, 1);
    drop(permit);
    assert_eq!(engine.setup().backends().next().unwrap().in_use, 0);
}
