//! Credentials, the server's own and a caller's: they go to the provider that they are for, and nowhere else. Whatever a provider does with them,
//! they are in no answer, no error, no record, no log, no trace and no metric.

use std::path::Path;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::{Code, Request};

use crate::support::program::{LOG, Program};
use crate::support::provider::{Entry, Provider};
use crate::support::{ask, refused};
use crate::{stub, traces};

const OURS: &str = "sk-canary-of-the-server-0123456789";
const THEIRS: &str = "sk-canary-of-the-caller-9876543210";

/// No key is in it, whole or in part.
#[track_caller]
fn clean(what: &str, said: &[u8]) {
    for word in ["canary-of-the", "0123456789", "9876543210"] {
        let found = said.windows(word.len()).position(|window| window == word.as_bytes());
        let around =
            found.map(|at| String::from_utf8_lossy(&said[at.saturating_sub(80)..said.len().min(at + 80)]).into_owned());
        assert_eq!(around, None, "{what} has `{word}`");
    }
}

fn clean_folder(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += clean_folder(&path);
        } else if path.file_name().is_some_and(|name| name != "key") {
            clean(&path.display().to_string(), &std::fs::read(&path).unwrap());
            files += 1;
        }
    }
    files
}

/// What a provider says that repeats a key wherever it can.
fn leaks(key: &str) -> Vec<Entry> {
    let said = format!("Incorrect API key provided: {key}, that is {key}.");
    let broken = format!("data: {{\"error\":{{\"message\":\"{said}\",\"code\":\"{key}\"}}}}\n\n");
    vec![
        stub::refusal(401, &said, key),
        stub::refusal(403, &said, "forbidden"),
        stub::status(500, &said).header("x-request-id", key),
        Entry::new(502, "text/plain", &[&said]),
        stub::status(429, &said).header("retry-after", key),
        stub::refusal(400, &said, "invalid_request_error"),
        Entry::json(&format!("{{\"error\":{{\"message\":\"{said}\"}}}}")),
        Entry::json(&format!("not JSON at all: {said}")),
        Entry::events(&[&stub::event(&serde_json::json!({"content": "begun"}), None), &broken]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_nowhere_but_in_the_request_that_they_are_for() {
    let (endpoint, mut batches) = traces::collector().await;
    // In turns: with the server's key, and with the caller's own.
    let (ours, theirs) = (leaks(OURS), leaks(THEIRS));
    let count = ours.len();
    let script = ours.into_iter().zip(theirs).enumerate();
    let script = script.map(|(number, (ours, theirs))| if number % 2 == 0 { ours } else { theirs });
    let provider = Provider::start(script.chain([stub::text("fine")])).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), OURS).unwrap();
    let config = format!(
        "default_profile = \"stub\"\n[profiles.stub]\nbackend = \"stub\"\nmodel = \"m\"\n[backends.stub]\nkind = \"openai\"\n\
         base_url = {:?}\napi_key_file = \"key\"\n{}[traces]\notlp_endpoint = {endpoint:?}\n[log]\nlevel = \"trace\"\nformat = \"json\"\n",
        provider.base_url(),
        stub::ONCE
    );
    let mut program = Program::start(folder.path(), &config).await;
    let mut told = String::new();
    for number in 0..=count {
        let capture = ask::capture_on_new(&format!("t{number}"), ask::text_as(&format!("r{number}"), "hi"));
        let is_streamed = number + 1 == count;
        let theirs = number % 2 == 1;
        macro_rules! with_key {
            ($message:expr) => {{
                let mut request = Request::new($message);
                if theirs {
                    request.metadata_mut().insert("antiphon-provider-credential", THEIRS.parse().unwrap());
                }
                request
            }};
        }
        let ended = if is_streamed {
            let request = with_key!(pb::StreamCaptureRequest { capture: Some(capture) });
            let mut stream = program.exchanges().stream_capture(request).await.unwrap().into_inner();
            let mut last = Ok(());
            while let Some(message) = stream.message().await.transpose() {
                told.push_str(&format!("{message:?}"));
                last = message.map(|_| ());
            }
            last
        } else {
            let answer = program.exchanges().capture(with_key!(capture)).await;
            told.push_str(&format!("{answer:?}"));
            answer.map(|_| ())
        };
        let sent = provider.request(number).await;
        assert_eq!(sent.header("authorization").unwrap(), format!("Bearer {}", if theirs { THEIRS } else { OURS }));
        clean("the body that was sent", &sent.body);
        match ended {
            Ok(()) => assert_eq!(number, count),
            Err(status) if number < 2 => {
                refused::is(&status, Code::FailedPrecondition, Reason::ProviderRefusedCredential);
                let source = refused::fact(&status, "credential_source");
                assert_eq!(source, if theirs { "CALLER" } else { "SERVER" });
            }
            Err(status) => assert!(!status.message().is_empty()),
        }
        let run = program.runs().get(pb::RunServiceGetRequest { run_id: format!("r{number}") }).await.unwrap();
        told.push_str(&format!("{:?}", run.into_inner()));
    }
    // The rest of what the provider said comes through.
    assert!(told.contains("Incorrect API key provided"), "{told}");
    clean("what callers are told", told.as_bytes());
    clean("the metrics", crate::metrics::get(program.address(), "/metrics").await.as_bytes());
    program.terminate().await;
    let mut traced = String::new();
    while let Ok(batch) = batches.try_recv() {
        traced.push_str(&format!("{batch:?}"));
    }
    assert!(traced.contains("chat m"), "{traced}");
    clean("the traces", traced.as_bytes());
    let log = std::fs::read_to_string(folder.path().join(LOG)).unwrap();
    assert!(log.contains("call.refused") && log.contains("r0"), "{log}");
    assert!(clean_folder(folder.path()) > 3);
}
