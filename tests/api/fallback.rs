//! Profiles that stand in for one whose backend cannot be called, and backends that are left alone after they failed again and again.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::json;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::support::provider::{End, Entry, Gate, Provider};
use crate::support::server::Running;
use crate::support::{ask, refused, within};
use crate::{look, stub};

/// A server with the profiles `a`, `b` and `c`, each with a provider of its own; `b` and `c` stand in for `a`. `more` are further keys of the
/// three backends.
async fn serving(providers: [&Provider; 3], more: [&str; 3]) -> Running {
    let mut config = "default_profile = \"a\"\n".to_owned();
    for ((name, provider), more) in ["a", "b", "c"].into_iter().zip(providers).zip(more) {
        let fallback = if name == "a" { "fallback = [\"b\", \"c\"]\n" } else { "" };
        config.push_str(&format!(
            "[profiles.{name}]\nbackend = \"at-{name}\"\nmodel = \"model-{name}\"\n{fallback}\
             [backends.at-{name}]\nkind = \"openai\"\nbase_url = \"{}\"\n{}{more}",
            provider.base_url(),
            stub::ONCE
        ));
    }
    Running::start(config).await
}

async fn providers(a: Vec<Entry>, b: Vec<Entry>, c: Vec<Entry>) -> [Provider; 3] {
    [Provider::start(a).await, Provider::start(b).await, Provider::start(c).await]
}

async fn started(a: Vec<Entry>, b: Vec<Entry>, c: Vec<Entry>, more: [&str; 3]) -> ([Provider; 3], Running) {
    let providers = providers(a, b, c).await;
    let [one, two, three] = &providers;
    let server = serving([one, two, three], more).await;
    (providers, server)
}

fn counts(providers: &[Provider; 3]) -> [usize; 3] {
    providers.each_ref().map(Provider::count)
}

async fn capture(server: &Running, request: pb::ExecutionRequest) -> Result<pb::CaptureResponse, Status> {
    server.exchanges().capture(ask::capture(request)).await.map(tonic::Response::into_inner)
}

fn setting(exchange: &pb::Exchange, name: &str) -> String {
    exchange.effective_settings.iter().find(|setting| setting.name == name).unwrap().value_json.clone()
}

/// The next one in order answers, says so, and everything that was tried is on record and paid for.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_profile_answers_and_says_so() {
    let usage = r#""usage":{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5}"#;
    let failed = Entry::json(&format!(r#"{{"error":{{"message":"broke","code":502}},{usage}}}"#));
    let (providers, server) =
        started(vec![failed], vec![stub::status(429, "slow")], vec![stub::metered("ok", 7, 3)], [""; 3]).await;
    let mut request = Request::new(ask::capture_on_new("t", ask::text_as("r", "hi")));
    request.metadata_mut().insert("antiphon-provider-credential", "callers-own-key".parse().unwrap());
    let done = server.exchanges().capture(request).await.unwrap().into_inner();
    let (exchange, run) = (done.exchange.unwrap(), done.run.unwrap());
    assert_eq!((exchange.text.as_str(), counts(&providers)), ("ok", [1, 1, 1]));
    let responder = exchange.responder.clone().unwrap();
    assert_eq!((responder.backend_id.as_str(), responder.model.as_str()), ("at-c", "model-c"));
    let settings = ["profile_id", "backend_id", "model"].map(|name| setting(&exchange, name));
    assert_eq!(settings, ["\"c\"", "\"at-c\"", "\"model-c\""]);
    let seen: Vec<_> = run
        .observations
        .iter()
        .map(|seen| (seen.number, seen.backend_id.as_str(), seen.model.as_str(), seen.error_reason.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, "at-a", "model-a", "PROVIDER_UNAVAILABLE"),
            (2, "at-b", "model-b", "PROVIDER_RATE_LIMITED"),
            (3, "at-c", "model-c", ""),
        ]
    );
    assert_eq!(exchange.observations, run.observations);
    assert_eq!(exchange.usage.as_ref().unwrap().input_tokens, Some(7));
    let warning = exchange.warnings.iter().find(|warning| warning.code == "fallback_used").unwrap();
    assert!(warning.message.contains("`a` could not be called (PROVIDER_UNAVAILABLE); `c` answered"), "{warning:?}");
    assert!(warning.message.contains("passed over: b PROVIDER_RATE_LIMITED"), "{warning:?}");
    // The same call to all, each with its own model; a caller's key is for the first one's provider alone.
    let asked = [providers[0].request(0).await, providers[1].request(0).await, providers[2].request(0).await];
    assert_eq!(asked[2].json(), json!({"model": "model-c", "messages": [{"role": "user", "content": "hi"}]}));
    assert_eq!(asked[0].header("authorization"), Some("Bearer callers-own-key"));
    assert_eq!([asked[1].header("authorization"), asked[2].header("authorization")], [None, None]);
    // The next turn begins with the first profile again, with the history as it was said.
    providers[0].script(stub::text("back"));
    let next = server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("and?"))).await.unwrap();
    let next = next.into_inner().exchange.unwrap();
    assert_eq!((next.text.as_str(), setting(&next, "profile_id").as_str()), ("back", "\"a\""));
    assert_eq!(look::thread(&server, "t").await.turn_count, 2);
}

/// With a history, streamed, uncaptured and in a probe: the whole of it goes to whoever stands in.
#[tokio::test(flavor = "multi_thread")]
async fn every_way_of_calling_falls_back() {
    let down = || stub::status(503, "down");
    let (providers, server) = started(
        vec![stub::text("one"), down(), down(), down()],
        vec![stub::streamed(&["t", "wo"]), stub::text("three"), stub::text("four")],
        vec![],
        [""; 3],
    )
    .await;
    let first = capture(&server, ask::text("1")).await.unwrap().exchange.unwrap();
    let turn = Some(ask::after(&first.exchange_id, ask::text("2")));
    let request = pb::StreamContinueRequest { turn };
    let mut stream = server.exchanges().stream_continue(request).await.unwrap().into_inner();
    let mut told = String::new();
    while let Some(message) = stream.message().await.unwrap() {
        told.push_str(&format!("{message:?}"));
    }
    assert!(told.contains("fallback_used") && told.contains("at-b"), "{told}");
    assert_eq!(stub::sent(&providers[1].request(0).await.json()), ["user:\"1\"", "assistant:\"one\"", "user:\"2\""]);
    let probe = server.exchanges().probe(ask::probe(&first.exchange_id, ask::text("3"))).await.unwrap().into_inner();
    assert!(format!("{probe:?}").contains("fallback_used"), "{probe:?}");
    assert_eq!(stub::sent(&providers[1].request(1).await.json()), ["user:\"1\"", "assistant:\"one\"", "user:\"3\""]);
    let execution = Some(pb::run_request::Execution::Request(ask::text("4")));
    let run = pb::RunRequest { execution, ..Default::default() };
    let run = server.exchanges().run(run).await.unwrap().into_inner();
    assert!(format!("{run:?}").contains("fallback_used"), "{run:?}");
    assert_eq!((counts(&providers), providers[2].count()), ([4, 3, 0], 0));
}

/// What is no failure of the call, or no longer one that could be hidden, stays what it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_a_begun_answer_and_a_named_model_stay_with_the_first() {
    let begun = stub::begun("Hel").end(End::Reset);
    let script = vec![stub::status(400, "no"), begun, stub::status(503, "down")];
    let (providers, server) = started(script, vec![], vec![], [""; 3]).await;
    let failed = capture(&server, ask::text("x")).await.unwrap_err();
    refused::is(&failed, Code::InvalidArgument, Reason::ProviderRefusedRequest);
    let request = pb::StreamCaptureRequest { capture: Some(ask::capture(ask::text("x"))) };
    let mut stream = server.exchanges().stream_capture(request).await.unwrap().into_inner();
    let failed = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "it ends with an error"),
            Err(status) => break status,
        }
    };
    assert_eq!(refused::fact(&failed, "partly_delivered"), "true");
    let failed =
        capture(&server, pb::ExecutionRequest { model: "mine".to_owned(), ..ask::text("x") }).await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    assert_eq!(counts(&providers), [3, 0, 0]);
}

/// S4-11: an operational error in a repair ends the run, since there was a whole answer before it. Nobody stands in, streamed or not, be it the
/// first profile's repair or that of one who stands in.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_fails_ends_the_run() {
    let down = || stub::status(500, "down");
    let script = vec![stub::text("seven"), down(), stub::streamed(&["se", "ven"]), down(), down()];
    let (providers, server) = started(script, vec![stub::text("seven"), down()], vec![], [""; 3]).await;
    let contract = Some(pb::Contract { form: Some(pb::contract::Form::Json(Default::default())) });
    let repair = Some(pb::Repair { attempts: 2 });
    let request =
        |run_id: &str| pb::ExecutionRequest { contract: contract.clone(), repair, ..ask::text_as(run_id, "x") };
    let whole = capture(&server, request("whole")).await.unwrap_err();
    let capture_of = pb::StreamCaptureRequest { capture: Some(ask::capture(request("streamed"))) };
    let mut stream = server.exchanges().stream_capture(capture_of).await.unwrap().into_inner();
    let streamed = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "it ends with an error"),
            Err(status) => break status,
        }
    };
    let stood_in = capture(&server, request("other")).await.unwrap_err();
    for (run_id, failed, backend_id, attempts) in
        [("whole", whole, "at-a", 2), ("streamed", streamed, "at-a", 2), ("other", stood_in, "at-b", 3)]
    {
        refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
        assert_eq!(
            (refused::fact(&failed, "backend_id"), refused::fact(&failed, "repair")),
            (backend_id.into(), "1".into())
        );
        let run = look::run(&server, run_id).await;
        assert_eq!((run.state(), run.exchange_id.as_str()), (pb::RunState::Failed, ""));
        assert_eq!(run.observations.len(), attempts);
        assert_eq!(run.observations[attempts - 1].kind(), pb::AttemptKind::Repair);
    }
    assert_eq!(counts(&providers), [5, 2, 0]);
}

/// One that cannot do what the call asks is passed over, and one that cannot be told its schema says so.
#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_do_what_is_asked_is_passed_over_or_says_so() {
    let down = || stub::status(503, "down");
    let more = ["", "quirks = { tools = false }\n", "quirks = { structured_output = \"none\" }\n"];
    let (providers, server) = started(vec![down(), down(), down()], vec![], vec![stub::text("{}"), down()], more).await;
    let contract = Some(pb::Contract { form: Some(pb::contract::Form::Json(Default::default())) });
    let request = pb::ExecutionRequest { contract, ..stub::offering("r", "x") };
    let exchange = capture(&server, request).await.unwrap().exchange.unwrap();
    let warning = exchange.warnings.iter().find(|warning| warning.code == "fallback_used").unwrap();
    assert!(
        warning.message.contains("adapted to it: contract_not_sent; passed over: b BACKEND_UNSUPPORTED"),
        "{warning:?}"
    );
    assert_eq!(exchange.validation.unwrap().status(), pb::ValidationStatus::Valid);
    // When nobody can stand in, the first one's error says what became of the others.
    let failed = capture(&server, stub::offering("s", "x")).await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    let others = refused::fact(&failed, "fallbacks");
    assert_eq!(
        (refused::fact(&failed, "backend_id").as_str(), others.as_str()),
        ("at-a", "b BACKEND_UNSUPPORTED, c PROVIDER_UNAVAILABLE")
    );
    let backends: Vec<_> = look::run(&server, "s").await.observations.into_iter().map(|seen| seen.backend_id).collect();
    assert_eq!((backends, counts(&providers)), (vec!["at-a".to_owned(), "at-c".to_owned()], [2, 0, 2]));
}

/// A run that goes on with results stays with the profile that called the tools.
#[tokio::test(flavor = "multi_thread")]
async fn results_of_tools_go_to_who_called_them() {
    let script = vec![stub::calls(&[("c1", "look", "{}")]), stub::text("seen")];
    let (providers, server) = started(vec![stub::status(503, "down")], script, vec![], [""; 3]).await;
    let asked = capture(&server, stub::offering("r", "x")).await.unwrap().exchange.unwrap();
    let result = ask::result(&asked.pending_tool_calls[0].call_id, "it");
    let done = server.exchanges().r#continue(ask::after_with(&asked.exchange_id, vec![result])).await.unwrap();
    assert_eq!((done.into_inner().exchange.unwrap().text.as_str(), counts(&providers)), ("seen", [1, 2, 0]));
}

/// A backend that fails again and again is left alone: refused at once, with the time that is left and nothing stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_circuit_opens_and_refuses_at_once() {
    let down = || stub::status(500, "down");
    let script = [down(), stub::status(429, "slow"), down(), down(), stub::text("never")];
    let provider = Provider::start(script).await;
    let more = format!("{}circuit = {{ failures = 2, open_ms = 60_000 }}\n", stub::ONCE);
    let server = Running::start(crate::support::server::openai_with(&provider.base_url(), &more)).await;
    for (number, reason) in
        ["PROVIDER_UNAVAILABLE", "PROVIDER_RATE_LIMITED", "PROVIDER_UNAVAILABLE", "PROVIDER_UNAVAILABLE"]
            .into_iter()
            .enumerate()
    {
        let failed = capture(&server, ask::text_as(&format!("r{number}"), "x")).await.unwrap_err();
        assert_eq!(refused::reason(&failed), reason);
        assert!(!failed.get_details_error_info().unwrap().metadata.contains_key("circuit"));
    }
    let failed = capture(&server, ask::text_as("r4", "x")).await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    assert_eq!((refused::fact(&failed, "circuit").as_str(), provider.count()), ("open", 4));
    let delay = failed.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert!((30..=60).contains(&delay.as_secs()), "{delay:?}");
    refused::is(&look::no_run(&server, "r4").await, Code::NotFound, Reason::RunNotFound);
}

/// A call whose own attempts open the circuit makes no more of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_opens_the_circuit_ends() {
    let provider = Provider::start([stub::status(500, "down"), stub::status(500, "down")]).await;
    let more = "retry = { attempts = 9, base_ms = 1, max_ms = 1 }\ncircuit = { failures = 2, open_ms = 60_000 }\n";
    let server = Running::start(crate::support::server::openai_with(&provider.base_url(), more)).await;
    let failed = capture(&server, ask::text("x")).await.unwrap_err();
    assert_eq!((refused::fact(&failed, "attempts").as_str(), provider.count()), ("2", 2));
}

/// When its time is over one call tries and all others are refused; it decides.
#[tokio::test(flavor = "multi_thread")]
async fn one_call_tries_and_decides() {
    let gate = Gate::closed();
    let script = [stub::status(500, "down"), stub::text("up").wait(&gate), stub::text("after")];
    let provider = Provider::start(script).await;
    let more = format!("{}circuit = {{ failures = 1, open_ms = 50 }}\n", stub::ONCE);
    let server = Running::start(crate::support::server::openai_with(&provider.base_url(), &more)).await;
    capture(&server, ask::text("x")).await.unwrap_err();
    let mut client = server.exchanges();
    let trial = tokio::spawn(async move {
        within("the circuit to let one try", async {
            loop {
                if let Ok(done) = client.capture(ask::capture(ask::text("trial"))).await {
                    return done.into_inner().exchange.unwrap().text;
                }
            }
        })
        .await
    });
    provider.request(1).await;
    let failed = capture(&server, ask::text("x")).await.unwrap_err();
    assert_eq!((refused::fact(&failed, "circuit").as_str(), provider.count()), ("open", 2));
    gate.open();
    assert_eq!(trial.await.unwrap(), "up");
    assert_eq!(capture(&server, ask::text("x")).await.unwrap().exchange.unwrap().text, "after");
}

/// Where somebody stands in, a backend that is left alone is not even asked.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_circuit_goes_to_the_fallback() {
    let circuit = "circuit = { failures = 1, open_ms = 60_000 }\n";
    let script = vec![stub::text("one"), stub::text("two")];
    let (providers, server) = started(vec![stub::status(500, "down")], script, vec![], [circuit, "", ""]).await;
    for (text, observed) in [("one", 2), ("two", 1)] {
        let exchange = capture(&server, ask::text("x")).await.unwrap().exchange.unwrap();
        assert_eq!((exchange.text.as_str(), exchange.observations.len()), (text, observed));
    }
    assert_eq!(counts(&providers), [1, 2, 0]);
}
