//! Measuring from the command line: a store that is filled, and what is looked up in it.

use serde_json::Value;

use crate::program::Server;

fn exchanges(server: &Server) -> String {
    let stats = server.json(&["stats"]);
    let records = stats["records"].as_array().unwrap();
    let exchanges = records.iter().find(|record| record["kind"] == "exchange").unwrap();
    exchanges["count"].as_str().unwrap().to_owned()
}

/// As many as were asked for are there, everything that was stored is found, and filling again stores nothing.
#[test]
fn a_store_is_filled_once_and_looked_through() {
    let server = Server::with(&["--data", "kept"]);
    let data = server.home.path().join("kept");
    let filling = ["bench", "--fill", "1000", "--time", "10ms", "--bytes", "40", "--turns", "120", "--deep", "80"];
    let fill = || {
        let disk = ["--disk", data.to_str().unwrap(), "--callers", "4"];
        server.json(&[&filling[..], &disk].concat())
    };
    let told: Value = fill();
    let rows = told.as_array().unwrap();
    let row = |words: &str| rows.iter().find(|row| row["what"].as_str().unwrap().contains(words)).unwrap();
    // Eight conversations of a hundred, a long one, and one that others follow.
    assert_eq!(exchanges(&server), (800 + 120 + 1 + 80).to_string());
    assert_eq!(row("fill with")["what"], "fill with 1001 exchanges, of each");
    assert!(row("fill with")["diskBytes"].as_f64().unwrap() > 0.0, "{told}");
    for words in ["GetGraph, a page of a conv", "ListChildren", "by a label", "of the oldest, through", "StreamInspect"]
    {
        assert!(row(words)["p50Ms"].as_f64().unwrap() > 0.0, "{words} in {told}");
    }
    assert_eq!(row("StreamInspect")["p50MostMs"], Value::Null, "the target is for a thousand turns");
    assert_eq!(server.json(&["threads"])["threads"].as_array().unwrap().len(), 8);
    fill();
    assert_eq!(exchanges(&server), "1001");
    let both = server.say(["bench", "--fill", "1000", "--only", "record"]);
    assert!(both.code == Some(2) && both.err.contains("--only"), "{both:#?}");
}
