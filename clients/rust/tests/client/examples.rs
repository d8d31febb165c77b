//! The examples do what they say, as functions and as programs.

use std::process::Command;

use antiphon_client::testing::{Config, Server};
use antiphon_client::{Client, Exchange};

#[path = "../../examples/analysis_loop.rs"]
#[allow(unreachable_pub, reason = "a program of its own")]
mod analysis_loop;
#[path = "../../examples/branching_review.rs"]
#[allow(unreachable_pub, reason = "a program of its own")]
mod branching_review;

const CONFIG: &str = r#"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"
retry = { attempts = 1 }

[[backends.script.rules]]
when = "Analyse this"
text = "The risk is water."

[[backends.script.rules]]
when = "Go on: cost?"
text = "The risk is water, the cost is that of pumps."

[[backends.script.rules]]
when = "Draft"
text = "The archive moves in spring."

[[backends.script.rules]]
when = "By when"
fault = { kind = "status", status = 400, message = "no date" }

[[backends.script.rules]]
text = "{turn}: {last_user}"
"#;

fn served() -> (Server, Client) {
    let server = Config::default().text(CONFIG).start().unwrap();
    let client = Client::connect(server.address()).unwrap();
    (server, client)
}

/// S4-48, S4-49.
#[tokio::test]
async fn the_analysis_is_refined_until_nothing_is_missing() {
    let (_server, client) = served();
    let found = analysis_loop::analyse(&client, "The archive moves.", &["risk", "cost"], 3).await.unwrap();
    let exchange = found.exchange.unwrap();
    assert_eq!((exchange.text.as_str(), exchange.turn), ("The risk is water, the cost is that of pumps.", 2));
    assert!(found.missing.is_empty());
    let never = analysis_loop::analyse(&client, "The archive moves.", &["risk", "joy"], 1).await.unwrap();
    assert_eq!((never.missing, never.exchange.unwrap().turn), (vec!["risk".to_owned()], 2));
}

/// S4-41, S4-42, S4-T6.
#[tokio::test]
async fn reviews_are_branches_of_one_draft() {
    let (_server, client) = served();
    let draft: Exchange = client.capture("Draft a notice.").await.unwrap();
    let questions: [(&str, &[&str]); 2] = [("Ada", &["Who?", "By when?"]), ("Bo", &["Dry?", "Warm?"])];
    let reviews = branching_review::review_all(&client, &draft, &questions).await;
    let [ada, bo] = reviews.as_slice() else { panic!("there are {} reviews", reviews.len()) };
    assert_eq!((ada.reviewer.as_str(), ada.answers.as_slice()), ("Ada", &["2: Ada asks: Who?".to_owned()][..]));
    assert_eq!(ada.error.as_ref().unwrap().reason, "PROVIDER_REFUSED_REQUEST");
    assert_eq!(bo.answers, ["2: Bo asks: Dry?", "3: Bo asks: Warm?"]);
    assert!(bo.error.is_none());
    assert_eq!(ada.head.parent_exchange_id, draft.exchange_id);
}

/// Cargo builds the examples with the tests, unless it is told to build the tests alone.
#[tokio::test]
async fn both_run_as_programs() {
    let (server, _) = served();
    let built = std::env::current_exe().unwrap().with_file_name("").join("../examples");
    for name in ["analysis_loop", "branching_review"] {
        let program = built.join(name);
        assert!(program.exists(), "build it: cargo build --package antiphon-client --example {name}");
        let told = Command::new(program).env("ANTIPHON_SERVER", server.address()).output().unwrap();
        assert!(told.status.success() && told.stderr.is_empty() && !told.stdout.is_empty(), "{told:?}");
    }
}
