//! First contact: what grpcurl finds out with no file at hand, and how it takes what people type (case B147).

use std::collections::BTreeSet;

use crate::shell::{self, DOCUMENTED};
use crate::support::server::{Running, scripted};

const SERVICES: [&str; 9] =
    ["Admin", "Catalog", "Coordination", "Exchange", "Graph", "Run", "Thread", "Tool", "Workspace"];

async fn printed(script: &str, server: &Running) -> String {
    let done = shell::run(script, server.address()).await;
    assert!(done.succeeded, "{script}\n{}", done.printed);
    done.printed
}

/// Runs one call; the body is in single quotes.
async fn call(rpc: &str, body: &str, server: &Running) -> shell::Done {
    shell::run(&format!("grpcurl -plaintext -d '{body}' {DOCUMENTED} antiphon.v1.{rpc}"), server.address()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_service_is_listed_and_described_with_its_comments() {
    let server = Running::echo().await;
    let listed = printed(&format!("grpcurl -plaintext {DOCUMENTED} list"), &server).await;
    let ours = SERVICES.map(|name| format!("antiphon.v1.{name}Service"));
    let others = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"].map(str::to_owned);
    let expected: BTreeSet<&str> = ours.iter().chain(&others).map(String::as_str).collect();
    assert_eq!(listed.lines().collect::<BTreeSet<_>>(), expected);
    for service in &ours {
        let rpcs = printed(&format!("grpcurl -plaintext {DOCUMENTED} list {service}"), &server).await;
        let described = printed(&format!("grpcurl -plaintext {DOCUMENTED} describe {service}"), &server).await;
        assert!(described.contains("\n  // "), "{service} has no comments: {described}");
        for rpc in rpcs.lines() {
            let name = rpc.rsplit('.').next().unwrap();
            assert!(described.contains(&format!("rpc {name} (")), "{service} does not describe {rpc}");
        }
    }
    // The fields of a message, for those who type one.
    let template = format!("grpcurl -plaintext -msg-template {DOCUMENTED} describe antiphon.v1.CaptureRequest");
    let template = printed(&template, &server).await;
    assert!(template.contains("Message template:") && template.contains("\"runId\": \"\""), "{template}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b147_grpcurl_takes_text_as_text_and_shows_what_it_got() {
    let server = Running::start(scripted("")).await;
    // Text is a string, umlauts and all; counters are 64 bits wide, which JSON has as strings.
    let captured =
        call("ExchangeService/Capture", r#"{"request": {"run_id": "one", "text": "Grüße, 你好"}}"#, &server).await;
    assert!(captured.succeeded, "{}", captured.printed);
    assert!(captured.printed.contains(r#""text": "Grüße, 你好""#), "{}", captured.printed);
    assert!(captured.printed.contains(r#""depth": "1""#) && captured.printed.contains(r#""inputTokens": ""#));
    // Bytes are base64, in both directions.
    let image = r#"{"request": {"messages": [{"role": "ROLE_USER", "parts": [{"image": {"source": {"inline": {"media_type": "image/png", "data": "iVBORw0KGgo="}}}}]}]}}"#;
    let with_image = call("ExchangeService/Capture", image, &server).await;
    assert!(with_image.printed.contains(r#""data": "iVBORw0KGgo=""#), "{}", with_image.printed);
    // An enum goes by number as well as by name, and both are the same request.
    let by = |role: &str| {
        format!(
            r#"{{"request": {{"run_id": "two", "messages": [{{"role": {role}, "parts": [{{"text": {{"text": "Hi"}}}}]}}]}}}}"#
        )
    };
    let by_name = call("ExchangeService/Capture", &by(r#""ROLE_USER""#), &server).await;
    let by_number = call("ExchangeService/Capture", &by("2"), &server).await;
    assert!(by_name.succeeded && by_number.printed.contains(r#""replayed": true"#), "{}", by_number.printed);
    // A number that is no role is refused by its path, not taken for something else.
    let unknown = call("ExchangeService/Capture", &by("9").replace("two", "three"), &server).await;
    assert!(unknown.printed.contains("request.messages[0].role"), "{}", unknown.printed);
    // A misspelt field never reaches the server.
    let misspelt = call("ExchangeService/Capture", r#"{"request": {"txt": "Hi"}}"#, &server).await;
    assert!(!misspelt.succeeded && misspelt.printed.contains("no known field named txt"), "{}", misspelt.printed);
}

/// Several messages on standard input drive a loop; when the input ends, so does the call, well: at the end of the loop, or detached from it.
#[tokio::test(flavor = "multi_thread")]
async fn b147_grpcurl_drives_a_loop_from_standard_input() {
    let server = Running::echo().await;
    let start = r#"{"start": {"initialRequest": {"request": {"text": "Grüße"}}, "additionalTurns": 2}}"#;
    let turn = r#"{"nextAction": {"turn": {"request": {"text": "more"}}}}"#;
    let stop = r#"{"nextAction": {"stop": {}}}"#;
    let coordinate = async |messages: &[&str]| {
        let said: Vec<String> = messages.iter().map(|message| format!("'{message}'")).collect();
        let script = format!(
            "printf '%s\\n' {} | grpcurl -plaintext -d @ {DOCUMENTED} antiphon.v1.ExchangeService/Coordinate",
            said.join(" ")
        );
        let done = shell::run(&script, server.address()).await;
        assert!(done.succeeded, "{}", done.printed);
        done.printed
    };
    let whole = coordinate(&[start, turn, stop]).await;
    assert_eq!(whole.matches("\"decisionNeeded\": {").count(), 2, "{whole}");
    assert!(whole.contains("Grüße") && whole.contains("\"stopped\": {}"), "{whole}");
    let half = coordinate(&[start, turn]).await;
    assert_eq!(half.matches("\"decisionNeeded\": {").count(), 2, "{half}");
    assert!(half.contains("\"reason\": \"DETACH_REASON_HALF_CLOSED\""), "{half}");
    // Attached to by its id, which is in what was printed.
    let detached = half.split("\"detached\": {").nth(1).unwrap();
    let id = detached.split("\"coordinationId\": \"").nth(1).unwrap().split('"').next().unwrap();
    let attach = format!(r#"{{"attach": {{"coordinationId": "{id}"}}}}"#);
    let again = coordinate(&[&attach, stop]).await;
    assert!(again.contains("\"attached\": true") && again.contains("\"stopped\": {}"), "{again}");
}

/// Details of errors once came as base64, since reflection did not know their types.
#[tokio::test(flavor = "multi_thread")]
async fn details_of_errors_can_be_read() {
    let server = Running::echo().await;
    let body = r#"{"request": {"text": "Hi", "parameters": {"temperature": 3}}}"#;
    let refused = call("ExchangeService/Capture", body, &server).await;
    assert!(!refused.succeeded);
    for part in [r#""reason": "INVALID_FIELDS""#, r#""field": "request.parameters.temperature""#, r#""requestId": ""#] {
        assert!(refused.printed.contains(part), "{part} is missing: {}", refused.printed);
    }
}
