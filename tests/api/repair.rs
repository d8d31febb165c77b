//! Repairs: an answer without its form is asked for again, as often as was agreed, and only the last one counts.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame;
use serde_json::{Value, json};
use tonic::Code;

use crate::support::coordinate::{Loop, start, start_with, turn};
use crate::support::provider::{Entry, Gate, Provider};
use crate::support::server::{Running, openai, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

const SCHEMA: &str = r#"{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}"#;
const WRONG: &str = r#"{"answer":"seven"}"#;
const RIGHT: &str = r#"{"answer":7}"#;

fn contract() -> Option<pb::Contract> {
    let form = pb::JsonSchemaContract { schema_json: SCHEMA.into(), name: String::new() };
    Some(pb::Contract { form: Some(pb::contract::Form::JsonSchema(form)) })
}

fn repaired(run_id: &str, attempts: u32) -> pb::ExecutionRequest {
    let repair = Some(pb::Repair { attempts });
    pb::ExecutionRequest { contract: contract(), repair, ..ask::text_as(run_id, "how many?") }
}

async fn served(script: impl IntoIterator<Item = Entry>) -> (Provider, Running) {
    let provider = Provider::start(script).await;
    let server = Running::start(openai(&provider.base_url())).await;
    (provider, server)
}

async fn capture(server: &Running, request: pb::ExecutionRequest) -> pb::Exchange {
    server.exchanges().capture(ask::capture(request)).await.unwrap().into_inner().exchange.unwrap()
}

fn kinds(observations: &[pb::Observation]) -> Vec<pb::AttemptKind> {
    observations.iter().map(pb::Observation::kind).collect()
}

fn status(exchange: &pb::Exchange) -> pb::ValidationStatus {
    exchange.validation.as_ref().unwrap().status()
}

fn setting(exchange: &pb::Exchange) -> Option<(String, pb::SettingSource)> {
    let setting = exchange.effective_settings.iter().find(|setting| setting.name == "repair.attempts")?;
    Some((setting.value_json.clone(), setting.source()))
}

/// An answer that ended for a reason.
fn ended(message: &Value, finish: &str) -> Entry {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30});
    Entry::json(&json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}).to_string())
}

/// B111, S4-8, S4-T1: the second call has the first one's messages, the answer and what is wrong with it; the exchange has the valid answer
/// alone, here and on the wire of the next turn; all calls are paid for, told apart.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_corrected_answer_is_kept_and_every_call_is_paid_for() {
    let answers = [stub::metered(WRONG, 10, 20), stub::metered(RIGHT, 30, 40), stub::text("so it is")];
    let (provider, server) = served(answers).await;
    let kept = server.exchanges().capture(ask::capture_on_new("t", repaired("r", 2))).await.unwrap().into_inner();
    let exchange = kept.exchange.unwrap();
    assert_eq!((exchange.text.as_str(), status(&exchange)), (RIGHT, pb::ValidationStatus::Valid));
    assert_eq!(exchange.validation.as_ref().unwrap().value_json, RIGHT);
    assert_eq!(kinds(&exchange.observations), [pb::AttemptKind::First, pb::AttemptKind::Repair]);
    let spent =
        |usage: &Option<pb::Usage>| usage.as_ref().map(|usage| (usage.input_tokens, usage.output_tokens)).unwrap();
    assert_eq!(spent(&exchange.usage), (Some(40), Some(60)));
    let each: Vec<_> = exchange.observations.iter().map(|observation| spent(&observation.usage)).collect();
    assert_eq!(each, [(Some(10), Some(20)), (Some(30), Some(40))]);
    assert_eq!(exchange.observations.iter().map(|observation| observation.number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(setting(&exchange), Some(("2".into(), pb::SettingSource::Request)));
    let run = look::run(&server, "r").await;
    assert_eq!((spent(&run.usage), run.observations.len()), ((Some(40), Some(60)), 2));

    let (first, second) = (provider.request(0).await, provider.request(1).await);
    let messages = second.json()["messages"].as_array().unwrap().clone();
    assert_eq!((messages.len(), &messages[0]), (3, &first.json()["messages"][0]));
    assert_eq!((messages[1]["role"].as_str(), messages[1]["content"].as_str()), (Some("assistant"), Some(WRONG)));
    let asked = messages[2]["content"].as_str().unwrap();
    assert!(messages[2]["role"] == "user" && asked.contains("/answer") && asked.contains("integer"), "{asked}");
    assert_ne!(exchange.observations[0].request_blake3, exchange.observations[1].request_blake3);
    assert_eq!(exchange.observations[1].request_bytes, second.body.len() as u64);

    let server = server.restart().await;
    assert_eq!(look::history(&server, &exchange.exchange_id).await, ["U:how many?".to_owned(), format!("A:{RIGHT}")]);
    server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("sure?"))).await.unwrap();
    let sent = stub::sent(&provider.request(2).await.json());
    assert_eq!(
        sent,
        ["user:\"how many?\"".to_owned(), format!("assistant:{}", json!(RIGHT)), "user:\"sure?\"".to_owned()]
    );
}

/// B111, S4-10, S4-13: when all are used up the last answer is the result, kept, with what is wrong by its path; that is no error.
#[tokio::test(flavor = "multi_thread")]
async fn when_no_repair_is_left_the_last_answer_is_the_result() {
    let third = r#"{"answer":"still seven"}"#;
    let (provider, server) = served([stub::text(WRONG), stub::text("seven"), stub::text(third)]).await;
    let kept = server.exchanges().capture(ask::capture_on_new("t", repaired("r", 2))).await.unwrap().into_inner();
    let (exchange, run) = (kept.exchange.unwrap(), kept.run.unwrap());
    assert_eq!((provider.count(), run.state()), (3, pb::RunState::Completed));
    let validation = exchange.validation.clone().unwrap();
    assert_eq!((validation.status(), validation.value_json.as_str()), (pb::ValidationStatus::Invalid, ""));
    assert_eq!(validation.violations[0].instance_path, "/answer");
    assert_eq!((exchange.text.as_str(), exchange.observations.len()), (third, 3));
    assert_eq!(exchange.usage.unwrap().input_tokens, Some(21));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, exchange.exchange_id);
    // Each repair is of the last answer only; what is no JSON at all is told as that.
    let messages = provider.request(2).await.json()["messages"].as_array().unwrap().clone();
    assert_eq!((messages.len(), messages[1]["content"].as_str()), (3, Some("seven")));
    assert!(messages[2]["content"].as_str().unwrap().contains("not JSON"), "{messages:?}");
    // A repetition is answered from the record.
    let again = server.exchanges().capture(ask::capture_on_new("t", repaired("r", 2))).await.unwrap().into_inner();
    assert!(again.replayed && provider.count() == 3);
}

/// B109, B110, B117: what was cut would be cut again, and a refusal is an answer; none is asked for again.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_cut_or_refused_is_not_asked_for_again() {
    let said = |content: Value| json!({"role": "assistant", "content": content});
    let refusal = json!({"role": "assistant", "content": null, "refusal": "I cannot"});
    let cases = [
        (ended(&said(json!("{\"answer\": ")), "length"), pb::StopReason::MaxTokens),
        (ended(&said(Value::Null), "length"), pb::StopReason::MaxTokens),
        (ended(&refusal, "stop"), pb::StopReason::Refusal),
        (ended(&said(json!("")), "content_filter"), pb::StopReason::ContentFilter),
    ];
    let (provider, server) = served([]).await;
    for (number, (entry, stop)) in cases.into_iter().enumerate() {
        provider.script(entry);
        let exchange = capture(&server, repaired("", 3)).await;
        assert_eq!((provider.count(), status(&exchange)), (number + 1, pb::ValidationStatus::Invalid), "case {number}");
        let told = exchange.validation.as_ref().unwrap().violations[0].message.clone();
        assert!(!told.contains("JSON"), "case {number}: {told}");
        assert!(exchange.stop_reason() == stop || stop == pb::StopReason::Refusal, "case {number}: {exchange:?}");
        assert_eq!(exchange.usage.unwrap().output_tokens, Some(20));
    }
    // A repair that is cut ends it as well, and is not mended into something valid.
    provider.script(stub::text(WRONG));
    provider.script(ended(&said(json!("{\"answer\": 7")), "length"));
    let exchange = capture(&server, repaired("", 3)).await;
    assert_eq!((provider.count(), status(&exchange)), (6, pb::ValidationStatus::Invalid));
    assert_eq!((exchange.text.as_str(), exchange.stop_reason()), ("{\"answer\": 7", pb::StopReason::MaxTokens));
}

/// The attempt of a repair begins the streamed answer anew; what is whole at the end is the last one.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_begins_anew_with_each_repair() {
    let (provider, server) =
        served([stub::streamed(&["{\"answer\":", "\"seven\"}"]), stub::streamed(&["{\"answer\":", "7}"])]).await;
    let request = pb::StreamCaptureRequest { capture: Some(ask::capture(repaired("r", 1))) };
    let mut stream = server.exchanges().stream_capture(request).await.unwrap().into_inner();
    let (mut text, mut attempts, mut completed) = (String::new(), Vec::new(), None);
    while let Some(part) = stream.message().await.unwrap() {
        match part.event.unwrap() {
            pb::stream_capture_response::Event::Progress(progress) => match progress.event.unwrap() {
                pb::progress::Event::AttemptStarted(attempt) => {
                    attempts.push((attempt.number, attempt.kind(), std::mem::take(&mut text)));
                }
                pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(more)) }) => {
                    text.push_str(&more.text);
                }
                _ => {}
            },
            pb::stream_capture_response::Event::Completed(done) => completed = done.exchange,
        }
    }
    let expected = [(1, pb::AttemptKind::First, String::new()), (2, pb::AttemptKind::Repair, WRONG.to_owned())];
    assert_eq!(attempts, expected);
    assert_eq!((text.as_str(), completed.unwrap().text.as_str()), (RIGHT, RIGHT));
    assert_eq!(provider.request(1).await.json()["stream"], true);
}

/// The request goes before the prompt, that before the profile, that before the contract; each is told with its source.
#[tokio::test(flavor = "multi_thread")]
async fn repairs_are_resolved_like_every_setting() {
    let folder = tempfile::tempdir().unwrap();
    let prompt = "---\nrepair: { attempts: 3 }\n---\nuser:\nhow many?\n";
    std::fs::write(folder.path().join("count.prompt"), prompt).unwrap();
    let provider = Provider::start([]).await;
    let config = format!(
        "prompts_dir = {:?}\n{}[profiles.careful]\nbackend = \"stub\"\nmodel = \"stub-1\"\nrepair = {{ attempts = 2 }}\n\
         [contracts.count]\nschema = '{SCHEMA}'\nrepair = {{ attempts = 1 }}\n",
        folder.path().display().to_string(),
        openai(&provider.base_url())
    );
    let server = Running::start(config).await;
    let named =
        pb::Contract { form: Some(pb::contract::Form::Named(pb::NamedContract { contract_id: "count".into() })) };
    let prompt = Some(pb::PromptInput { prompt_id: "count".into(), ..Default::default() });
    let by_contract = pb::ExecutionRequest { contract: Some(named), ..ask::text("x") };
    let by_profile = pb::ExecutionRequest { profile_id: "careful".into(), ..by_contract.clone() };
    let by_prompt = pb::ExecutionRequest { prompt, ..by_profile.clone() };
    let by_request = pb::ExecutionRequest { repair: Some(pb::Repair { attempts: 0 }), ..by_prompt.clone() };
    let mut calls = 0;
    for (request, attempts, source) in [
        (by_contract, 1, pb::SettingSource::Default),
        (by_profile, 2, pb::SettingSource::Profile),
        (by_prompt, 3, pb::SettingSource::Prompt),
        (by_request, 0, pb::SettingSource::Request),
    ] {
        (0..=attempts).for_each(|_| provider.script(stub::text("no")));
        let exchange = capture(&server, request).await;
        assert_eq!(setting(&exchange), Some((attempts.to_string(), source)));
        calls += attempts + 1;
        assert_eq!(provider.count(), calls);
    }
    // Where there is nothing to repair, a default says nothing.
    provider.script(stub::text("no"));
    let exchange = capture(&server, pb::ExecutionRequest { profile_id: "careful".into(), ..ask::text("x") }).await;
    assert_eq!((setting(&exchange), provider.count()), (None, calls + 1));
    let mut catalog = server.catalog();
    let profile = catalog.inspect_profile(pb::InspectProfileRequest { profile_id: "careful".into() }).await.unwrap();
    let count = catalog.inspect_contract(pb::InspectContractRequest { contract_id: "count".into() }).await.unwrap();
    let prompt = catalog.inspect_prompt(pb::InspectPromptRequest { prompt_id: "count".into() }).await.unwrap();
    let told = (
        profile.into_inner().profile.unwrap().repair_attempts,
        count.into_inner().contract.unwrap().repair_attempts,
        prompt.into_inner().prompt.unwrap().repair_attempts,
    );
    assert_eq!(told, (Some(2), Some(1), Some(3)));
}

/// What makes no sense is refused before any work, by its field.
#[tokio::test(flavor = "multi_thread")]
async fn repairs_that_cannot_be_are_refused() {
    let provider = Provider::start([]).await;
    let more = "[profiles.mine]\nbackend = \"mine\"\nmodel = \"m\"\n[backends.mine]\nkind = \"client\"\n";
    let server = Running::start(format!("max_repair_attempts = 2\n{}{more}", openai(&provider.base_url()))).await;
    let refusal = |request| {
        let mut client = server.exchanges();
        async move { client.capture(ask::capture(request)).await.unwrap_err() }
    };
    let many = refusal(repaired("r", 3)).await;
    refused::is(&many, Code::InvalidArgument, Reason::LimitExceeded);
    let facts = ["limit", "max", "value"].map(|key| refused::fact(&many, key));
    assert_eq!(
        (facts.join(" "), refused::fields(&many)),
        ("max_repair_attempts 2 3".into(), vec!["request.repair.attempts".into()])
    );
    let text = refusal(pb::ExecutionRequest { contract: None, ..repaired("r", 1) }).await;
    refused::is(&text, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&text), ["request.repair.attempts"]);
    let clients = refusal(pb::ExecutionRequest { profile_id: "mine".into(), ..repaired("r", 1) }).await;
    refused::is(&clients, Code::InvalidArgument, Reason::BackendUnsupported);
    assert_eq!(refused::fact(&clients, "feature"), "repair");
    assert_eq!((provider.count(), look::runs(&server).await.len()), (0, 0));
    let info = server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner();
    let limits = info.server_info.unwrap().limits;
    assert!(limits.iter().any(|limit| limit.name == "max_repair_attempts" && limit.value == 2), "{limits:?}");
}

/// S4-11: an operational error in a repair is one of the run. Nothing is kept, and what was spent is on record.
#[tokio::test(flavor = "multi_thread")]
async fn an_operational_error_in_a_repair_ends_the_run() {
    let provider = Provider::start([stub::text("before"), stub::text(WRONG), stub::status(500, "broken")]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let first = server.exchanges().capture(ask::capture_on_new("t", ask::text("x"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    let request = || ask::on_thread(ask::on("t"), repaired("r", 2));
    let failed = server.exchanges().r#continue(request()).await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    let run = look::run(&server, "r").await;
    assert_eq!((run.state(), run.exchange_id.as_str()), (pb::RunState::Failed, ""));
    assert_eq!(kinds(&run.observations), [pb::AttemptKind::First, pb::AttemptKind::Repair]);
    assert_eq!(run.usage.unwrap().input_tokens, Some(7));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first);
    provider.script(stub::text(RIGHT));
    let mut again = request();
    if let Some(pb::continue_request::Input::Request(request)) = &mut again.input {
        request.retry = true;
    }
    let exchange = server.exchanges().r#continue(again).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(
        (exchange.text.as_str(), kinds(&exchange.observations).as_slice()),
        (RIGHT, &[pb::AttemptKind::First][..])
    );
}

/// A correction that does not fit the model ends the repairs, not the run: the answer is whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_correction_that_does_not_fit_ends_the_repairs() {
    let overflow = stub::refusal(400, "maximum context length is 10 tokens", "context_length_exceeded");
    let (provider, server) = served([stub::text(WRONG), overflow]).await;
    let exchange = capture(&server, repaired("r", 3)).await;
    assert_eq!((exchange.text.as_str(), status(&exchange)), (WRONG, pb::ValidationStatus::Invalid));
    assert_eq!((provider.count(), exchange.observations[1].error_reason.as_str()), (2, "CONTEXT_OVERFLOW"));
    assert_eq!(exchange.usage.unwrap().input_tokens, Some(7));
}

/// Nobody waits any more: the repair is given up, and so is the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_in_a_repair_is_cancelled() {
    let gate = Gate::closed();
    let (provider, server) = served([stub::text(WRONG), Entry::new(200, "application/json", &[]).wait(&gate)]).await;
    let mut client = server.exchanges();
    let waiting = tokio::spawn(async move { client.capture(ask::capture(repaired("r", 2))).await });
    provider.request(1).await;
    server.runs().cancel(pb::RunServiceCancelRequest { run_id: "r".into() }).await.unwrap();
    let cancelled = waiting.await.unwrap().unwrap_err();
    refused::is(&cancelled, Code::Cancelled, Reason::RunCancelled);
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::Cancelled);
    assert_eq!(look::run(&server, "r").await.observations.len(), 2);
}

/// A model that calls a tool instead of correcting itself has answered; what comes of the results has its form checked, and repaired, too.
#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_a_run_keep_its_repairs() {
    let (provider, server) = served([stub::text(WRONG), stub::calls(&[("c", "look", "{}")])]).await;
    let request = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..repaired("r", 2) };
    let asked = capture(&server, request).await;
    assert_eq!((status(&asked), asked.observations.len()), (pb::ValidationStatus::NotApplicable, 2));
    provider.script(stub::text("seven"));
    provider.script(stub::text(RIGHT));
    let results = vec![ask::result(&asked.pending_tool_calls[0].call_id, "7")];
    let server = server.restart().await;
    let done = server.exchanges().r#continue(ask::after_with(&asked.exchange_id, results)).await.unwrap().into_inner();
    let exchange = done.exchange.unwrap();
    assert_eq!((exchange.text.as_str(), status(&exchange)), (RIGHT, pb::ValidationStatus::Valid));
    let run = done.run.unwrap();
    let expected = [pb::AttemptKind::First, pb::AttemptKind::Repair, pb::AttemptKind::First, pb::AttemptKind::Repair];
    assert_eq!((kinds(&run.observations).as_slice(), run.state()), (&expected[..], pb::RunState::Completed));
    let roles: Vec<String> = stub::sent(&provider.request(3).await.json())
        .iter()
        .map(|sent| sent.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

/// The same in what keeps nothing, and in the turns of a coordination, where a repair asks nobody for a decision (S4-56, S4-65).
#[tokio::test(flavor = "multi_thread")]
async fn probes_runs_and_coordinations_repair_as_well() {
    let pair = || [stub::text(WRONG), stub::text(RIGHT)];
    let (provider, server) = served(pair()).await;
    let run = pb::RunRequest {
        execution: Some(pb::run_request::Execution::Request(repaired("", 1))),
        include_rendered_messages: true,
        ..Default::default()
    };
    let ran = server.exchanges().run(run).await.unwrap().into_inner();
    assert_eq!((ran.text.as_str(), ran.run.unwrap().observations.len()), (RIGHT, 2));
    assert_eq!(ask::texts(&ran.rendered_messages), ["U:how many?"]);
    pair().into_iter().for_each(|entry| provider.script(entry));
    let exchange = capture(&server, repaired("", 1)).await;
    pair().into_iter().for_each(|entry| provider.script(entry));
    let probed =
        server.exchanges().probe(ask::probe(&exchange.exchange_id, repaired("", 1))).await.unwrap().into_inner();
    assert_eq!((probed.text.as_str(), kinds(&probed.observations).len()), (RIGHT, 2));
    assert_eq!(ask::texts(&probed.messages), ["U:how many?".to_owned(), format!("A:{RIGHT}")]);
    let plain = start(&exchange.exchange_id, 1);
    let ephemeral = pb::CoordinationStart { ephemeral: true, ..start(&exchange.exchange_id, 1) };
    for begin in [plain, ephemeral] {
        let mut stream = Loop::start(&server, begin).await;
        stream.decision().await;
        pair().into_iter().for_each(|entry| provider.script(entry));
        stream.act(turn(repaired("", 1))).await;
        let decision = stream.decision().await;
        assert_eq!(decision.exchange.unwrap().text, RIGHT);
        assert_eq!((decision.turns_started, decision.turns_remaining), (1, 0));
    }
    pair().into_iter().for_each(|entry| provider.script(entry));
    let mut stream = Loop::start(&server, start_with(repaired("", 1), 0)).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, RIGHT);
    assert_eq!((provider.count(), provider.unscripted()), (12, 0));
}

/// In a coordination as well, what an attempt said is told before the next one begins, and all of it before the decision is asked for, however
/// quick the answers are.
#[tokio::test(flavor = "multi_thread")]
async fn pieces_are_told_between_the_attempts_that_they_are_of() {
    const TURNS: usize = 20;
    let streamed = |text: &str| stub::streamed(&[&text[..4], &text[4..]]);
    let turns = (0..TURNS).flat_map(|_| [streamed(WRONG), streamed(RIGHT)]);
    let (_provider, server) = served(std::iter::once(stub::text("begin")).chain(turns)).await;
    let first = capture(&server, ask::text("begin")).await;
    for ephemeral in [false, true] {
        let turns = u32::try_from(TURNS / 2).unwrap();
        let begin = pb::CoordinationStart { deltas: true, ephemeral, ..start(&first.exchange_id, turns) };
        let mut stream = Loop::start(&server, begin).await;
        stream.decision().await;
        for _ in 0..turns {
            let from = stream.seen.len();
            stream.act(turn(repaired("", 1))).await;
            assert_eq!(stream.decision().await.exchange.unwrap().text, RIGHT);
            let (mut attempt, mut said) = (0, [String::new(), String::new(), String::new()]);
            for frame in &stream.seen[from..] {
                match &frame.frame {
                    Some(Frame::Attempt(begun)) => attempt = begun.number as usize,
                    Some(Frame::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(piece)) })) => {
                        said[attempt].push_str(&piece.text);
                    }
                    _ => {}
                }
            }
            assert_eq!(said, ["", WRONG, RIGHT], "ephemeral: {ephemeral}");
        }
    }
}
