//! The examples, run against the server that they say is to be started (S4-48, S4-T11).

use std::path::Path;

use serde_json::Value;

use crate::program::Server;

#[path = "../../examples/analysis_loop.rs"]
#[allow(dead_code, reason = "its `main` is for the command line")]
mod analysis_loop;
#[path = "../../examples/branching_review.rs"]
#[allow(dead_code, reason = "its `main` is for the command line")]
mod branching_review;

fn server() -> Server {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scripted.toml");
    Server::with(&["--ephemeral", "--config", config.to_str().unwrap()])
}

#[tokio::test]
async fn an_analysis_is_refined_until_its_caller_is_content() {
    let server = server();
    let mut out = Vec::new();
    analysis_loop::run(&server.url, &mut out).await.unwrap();
    let out = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    assert_eq!(
        (lines[1], lines[3], lines[5]),
        ("it lacks a figure", "it lacks a source", "it has all that was wanted")
    );
    assert!(lines[4].contains("according to"), "{out}");
    assert_eq!(lines.len(), 6, "{out}");
    let listed = server.json(&["coordinations"]);
    assert_eq!(listed["coordinations"][0]["turnsStarted"], 2, "{listed:#}");
}

#[tokio::test]
async fn the_branch_that_is_liked_is_kept_and_the_others_are_let_go() {
    let server = server();
    let mut out = Vec::new();
    branching_review::run(&server.url, &mut out).await.unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with("draft: Greetings from Lisbon"), "{out}");
    assert!(out.contains("Make it funnier. Greetings from Lisbon, where even"), "{out}");
    assert!(out.lines().last().unwrap().starts_with("kept: Make it shorter."), "{out}");
    let listed = server.json(&["coordinations"]);
    let states = listed["coordinations"].as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap());
    let mut states: Vec<&str> = states.collect();
    states.sort_unstable();
    let (cancelled, stopped) = ("COORDINATION_STATE_CANCELLED", "COORDINATION_STATE_STOPPED");
    assert_eq!(states, [cancelled, cancelled, stopped]);
    let starts: Vec<&Value> =
        listed["coordinations"].as_array().unwrap().iter().map(|one| &one["startExchangeId"]).collect();
    assert!(starts.iter().all(|start| *start == starts[0]), "{listed:#}");
    assert_eq!(server.json(&["threads"])["threads"][0]["turnCount"], "3");
}
