//! What is configured and what the server is, told without secrets; health and reflection for tools that know nothing else.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::support::server::Running;
use crate::support::{ask, refused, within};

const CONFIG: &str = r#"
default_profile = "b"
[profiles.a]
backend = "remote"
model = "m1"
[profiles.b]
backend = "script"
model = "m2"
parameters = { temperature = 0.5, max_output_tokens = 100 }
[backends.remote]
kind = "openai"
base_url = "http://127.0.0.1:9/v1?key=in-the-address"
api_key_file = "key"
capacity = 3
queue_limit = 7
[backends.script]
kind = "scripted"
[contracts.verdict]
description = "Yes or no."
schema = '{"type":"boolean"}'
"#;

const PROMPT: &str = "---\nid: greeting\ndescription: Greets.\nprofile: a\ncontract: verdict\ntools:\n  - name: look\nvariables:\n  \
                      - name: name\n    description: Whom.\n  - name: tone\n    default: kind\n---\nuser:\nGreet {{ name }}, be {{ tone }}.\n";

async fn configured() -> (Running, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greeting.prompt"), PROMPT).unwrap();
    std::fs::write(folder.path().join("key"), "sk-very-secret-key").unwrap();
    let prompts = format!("prompts_dir = {:?}\n", folder.path().display().to_string());
    let key = format!("{:?}", folder.path().join("key").display().to_string());
    (Running::start(prompts + &CONFIG.replace("\"key\"", &key)).await, folder)
}

/// S4-93: each of the four kinds, as a line in its list and whole when inspected, and none with a secret.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_configured_is_told_without_secrets() {
    let (server, _folder) = configured().await;
    let mut catalog = server.catalog();
    let prompts = catalog.list_prompts(pb::ListPromptsRequest::default()).await.unwrap().into_inner().prompts;
    let profiles = catalog.list_profiles(pb::ListProfilesRequest::default()).await.unwrap().into_inner().profiles;
    let backends = catalog.list_backends(pb::ListBackendsRequest::default()).await.unwrap().into_inner().backends;
    let contracts = catalog.list_contracts(pb::ListContractsRequest::default()).await.unwrap().into_inner().contracts;
    assert_eq!((prompts[0].prompt_id.as_str(), prompts[0].template.as_str()), ("greeting", ""));
    let listed: Vec<_> = contracts.iter().map(|one| (one.contract_id.as_str(), one.schema_json.as_str())).collect();
    assert_eq!(listed, [("json", ""), ("text", ""), ("verdict", "")]);
    let prompt = pb::InspectPromptRequest { prompt_id: "greeting".into() };
    let prompt = catalog.inspect_prompt(prompt).await.unwrap().into_inner().prompt.unwrap();
    assert_eq!(
        (prompt.profile_id.as_str(), prompt.contract_id.as_str(), &prompt.tool_names),
        ("a", "verdict", &vec!["look".to_owned()])
    );
    assert!(prompt.template.contains("Greet {{ name }}, be {{ tone }}."));
    let variables: Vec<_> = prompt
        .variables
        .iter()
        .map(|known| (known.name.as_str(), known.required, known.default_json.as_str()))
        .collect();
    assert_eq!(variables, [("name", true, ""), ("tone", false, "\"kind\"")]);
    let profile = pb::InspectProfileRequest { profile_id: "b".into() };
    let profile = catalog.inspect_profile(profile).await.unwrap().into_inner().profile.unwrap();
    assert_eq!((profile.backend_id.as_str(), profile.model.as_str(), profile.is_default), ("script", "m2", true));
    assert_eq!(profile.parameters.unwrap().max_output_tokens, Some(100));
    assert_eq!(
        profiles.iter().map(|one| (one.profile_id.as_str(), one.is_default)).collect::<Vec<_>>(),
        [("a", false), ("b", true)]
    );
    let backend = pb::InspectBackendRequest { backend_id: "remote".into() };
    let backend = catalog.inspect_backend(backend).await.unwrap().into_inner().backend.unwrap();
    assert_eq!(
        (backend.kind.as_str(), backend.capacity, backend.queue_limit, backend.has_credential),
        ("openai", 3, 7, true)
    );
    assert_eq!((backend.base_url.as_str(), backend.in_use, backend.queued), ("http://127.0.0.1:9/v1", 0, 0));
    let contract = pb::InspectContractRequest { contract_id: "verdict".into() };
    let contract = catalog.inspect_contract(contract).await.unwrap().into_inner().contract.unwrap();
    assert_eq!(
        (contract.description.as_str(), contract.schema_json.as_str()),
        ("Yes or no.", "{\"type\":\"boolean\"}")
    );
    let everything = format!("{prompts:?}{profiles:?}{backends:?}{contracts:?}{prompt:?}{backend:?}");
    assert!(!everything.contains("secret") && !everything.contains("in-the-address"), "{everything}");
}

/// What is not configured is not found by its kind and id, and lists go in pages.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_configured_is_not_found() {
    let (server, _folder) = configured().await;
    let mut catalog = server.catalog();
    let id = || "nope".to_owned();
    let missing = [
        ("prompt", catalog.inspect_prompt(pb::InspectPromptRequest { prompt_id: id() }).await.unwrap_err()),
        ("profile", catalog.inspect_profile(pb::InspectProfileRequest { profile_id: id() }).await.unwrap_err()),
        ("backend", catalog.inspect_backend(pb::InspectBackendRequest { backend_id: id() }).await.unwrap_err()),
        ("contract", catalog.inspect_contract(pb::InspectContractRequest { contract_id: id() }).await.unwrap_err()),
    ];
    for (kind, status) in &missing {
        refused::is(status, Code::NotFound, Reason::ResourceNotFound);
        assert_eq!((refused::fact(status, "kind").as_str(), refused::fact(status, "id")), (*kind, id()));
    }
    let unset = catalog.inspect_prompt(pb::InspectPromptRequest::default()).await.unwrap_err();
    assert_eq!(refused::fields(&unset), ["prompt_id"]);
    let first = pb::ListProfilesRequest { page_size: 1, ..Default::default() };
    let first = catalog.list_profiles(first).await.unwrap().into_inner();
    let next = pb::ListProfilesRequest { page_size: 1, page_token: first.next_page_token.clone() };
    let next = catalog.list_profiles(next).await.unwrap().into_inner();
    assert_eq!((first.profiles[0].profile_id.as_str(), next.profiles[0].profile_id.as_str()), ("a", "b"));
    assert_eq!(next.next_page_token, "");
    let elsewhere = pb::ListBackendsRequest { page_size: 1, page_token: first.next_page_token };
    refused::is(&catalog.list_backends(elsewhere).await.unwrap_err(), Code::InvalidArgument, Reason::PageTokenInvalid);
    let damaged = pb::ListContractsRequest { page_token: "00".into(), ..Default::default() };
    refused::is(&catalog.list_contracts(damaged).await.unwrap_err(), Code::InvalidArgument, Reason::PageTokenInvalid);
}

/// The server says what it is, which limits are in force and what it does not do yet.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_what_it_is() {
    let (server, _folder) = configured().await;
    let info =
        server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner().server_info.unwrap();
    assert_eq!((info.version.as_str(), info.api_version.as_str()), (env!("CARGO_PKG_VERSION"), "antiphon.v1"));
    let store = info.store.unwrap();
    assert_eq!((store.health(), store.ephemeral, store.kind.as_str()), (pb::StoreHealth::Writable, false, "sled"));
    let counts = info.configured.unwrap();
    assert_eq!((counts.prompts, counts.profiles, counts.backends, counts.contracts), (1, 2, 2, 3));
    assert!(info.limits.iter().any(|limit| limit.name == "max_message_bytes" && limit.value == 32 << 20));
    assert_eq!(info.unimplemented_features, antiphon::grpc::unimplemented::features());
    assert!(!info.draining && !info.namespace.is_empty());
}

/// Verify walks what is stored and finds nothing wrong with it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_is_verified() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    client.r#continue(ask::on_thread(ask::on("t"), ask::text("2"))).await.unwrap();
    client.fork(ask::fork(&first.exchange_id, vec![ask::branch("f", Some(ask::text("3")))])).await.unwrap();
    let mut stream = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    let mut summary = None;
    while let Some(message) = stream.message().await.unwrap() {
        assert!(summary.is_none(), "nothing follows the summary");
        match message.event.unwrap() {
            pb::verify_response::Event::Progress(_) => {}
            pb::verify_response::Event::Finding(finding) => panic!("{finding:?}"),
            pb::verify_response::Event::Completed(completed) => summary = Some(completed),
        }
    }
    let summary = summary.unwrap();
    assert_eq!((summary.finding_count, summary.stopped_early), (0, false));
    let exchanges = summary.checked.iter().find(|count| count.kind.starts_with("exchange")).unwrap();
    assert_eq!(exchanges.count, 3, "{summary:?}");
    let many = pb::VerifyRequest { max_findings: u32::MAX, scope: None };
    assert_eq!(refused::fields(&server.admin().verify(many).await.unwrap_err()), ["max_findings"]);
}

/// Health turns NOT_SERVING when the server is told to stop, before it stops.
#[tokio::test(flavor = "multi_thread")]
async fn health_says_when_the_server_stops() {
    let mut server = Running::echo().await;
    let mut health = HealthClient::new(server.channel());
    let checked = health.check(HealthCheckRequest { service: String::new() }).await.unwrap().into_inner();
    assert_eq!(checked.status(), ServingStatus::Serving);
    let mut watch = health.watch(HealthCheckRequest { service: String::new() }).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let told = within("health to change", async { watch.message().await.unwrap().unwrap().status() });
    let (told, ()) = tokio::join!(told, async {
        // Only watched: nothing is at work, and the server does not wait for who merely looks on.
        server.stop().await;
    });
    assert_eq!(told, ServingStatus::NotServing);
}

/// C-6: reflection in both versions lists every service, and finds a file by its symbol.
#[tokio::test(flavor = "multi_thread")]
async fn reflection_lists_every_service() {
    let server = Running::echo().await;
    let mut expected: Vec<String> =
        ["Admin", "Catalog", "Coordination", "Exchange", "Graph", "Run", "Thread", "Tool", "Workspace"]
            .iter()
            .map(|name| format!("antiphon.v1.{name}Service"))
            .collect();
    expected.push("grpc.health.v1.Health".to_owned());
    macro_rules! listed {
        ($version:ident) => {{
            use tonic_reflection::pb::$version::ServerReflectionRequest;
            use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
            use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
            use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;
            let ask = |message_request| ServerReflectionRequest {
                host: String::new(),
                message_request: Some(message_request),
            };
            let requests = vec![
                ask(MessageRequest::ListServices(String::new())),
                ask(MessageRequest::FileContainingSymbol("antiphon.v1.ExchangeService.Capture".to_owned())),
            ];
            let mut client = ServerReflectionClient::new(server.channel());
            let mut answers =
                client.server_reflection_info(futures::stream::iter(requests)).await.unwrap().into_inner();
            let services = answers.message().await.unwrap().unwrap().message_response.unwrap();
            let MessageResponse::ListServicesResponse(services) = services else { panic!("{services:?}") };
            let file = answers.message().await.unwrap().unwrap().message_response.unwrap();
            assert!(matches!(file, MessageResponse::FileDescriptorResponse(_)), "{file:?}");
            services.service.into_iter().map(|service| service.name).collect::<Vec<_>>()
        }};
    }
    for services in [listed!(v1), listed!(v1alpha)] {
        for service in &expected {
            assert!(services.contains(service), "{service} is not in {services:?}");
        }
        assert!(!services.iter().any(|service| service.contains("storage")), "{services:?}");
    }
}
