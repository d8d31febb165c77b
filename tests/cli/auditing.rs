//! Tools under audit from the command line: of one call, of a part of the graph, and where one changed.

use serde_json::Value;

use crate::program::Server;

/// Offers a version of the tool `look` in a turn, and gives the exchange.
fn turn(server: &Server, arguments: &[&str], version: u32) -> String {
    let schema = format!(r#"[{{"name": "look", "input_schema": {{"type": "object", "title": "{version}"}}}}]"#);
    let tools = server.file("tools.json", &schema);
    let told = server.json(&[arguments, &["--tools", tools.to_str().unwrap()]].concat());
    told["exchange"]["exchangeId"].as_str().unwrap().to_owned()
}

fn ids<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().map(|all| all.iter().map(|one| one[field].as_str().unwrap()).collect()).unwrap_or_default()
}

#[test]
fn tools_are_shown_for_a_call_listed_for_a_tree_and_told_where_they_changed() {
    let server = Server::start();
    let root = turn(&server, &["capture", "hello", "--new-thread", "t"], 1);
    let left = turn(&server, &["continue", &root, "more"], 1);
    let right = turn(&server, &["continue", &root, "other"], 2);
    let called = turn(&server, &["capture", "what weather?"], 1);

    let told = server.run(["tools", "get", &right]).out;
    assert!(told.contains("OFFERED") && told.contains("look") && told.contains(&root), "{told}");
    let told = server.json(&["tools", "get", &right]);
    assert_eq!(ids(&told["drifts"], "previousExchangeId"), [root.as_str()]);
    let set = told["tools"]["offered"]["toolSetId"].as_str().unwrap();
    assert!(server.run(["tools", "get", "--set", set]).out.contains("look"));
    let whole = server.json(&["tools", "get", "--set", set]);
    assert!(whole["toolSet"]["tools"][0]["inputSchemaJson"].as_str().unwrap().contains("\"2\""), "{whole}");
    assert!(server.run(["tools", "get", &called]).out.contains("1 time"));

    let told_of = |arguments: &[&str], expected: &[&String]| {
        let all = [&["tools", "occurrences", "look"], arguments].concat();
        let told = server.json(&all);
        assert_eq!(ids(&told["occurrences"], "exchangeId"), expected, "{arguments:?}");
    };
    told_of(&[], &[&called, &right, &left, &root]);
    told_of(&["--below", &root], &[&right, &left, &root]);
    told_of(&["--tree", "t"], &[&right, &left, &root]);
    told_of(&["--exchange", &left], &[&left, &root]);
    told_of(&["--called"], &[&called]);
    told_of(&["--before", "2001-01-01T00:00:00Z"], &[]);
    told_of(&["--from", "2001-01-01T00:00:00Z", "--limit", "1"], &[&called]);
    let schema = told["drifts"][0]["current"]["schemaHash"].as_str().unwrap();
    told_of(&["--schema", schema], &[&right]);
    let cut = server.run(["tools", "occurrences", "look", "--limit", "2"]);
    assert!(cut.out.contains(&called) && cut.err.contains("more than 2"), "{cut:#?}");

    let drifts = server.json(&["tools", "drifts", "--tree", "t"]);
    assert_eq!(ids(&drifts["drifts"], "exchangeId"), [right.as_str()]);
    let drifts = server.run(["tools", "drifts", "--below", &root, "--tool", "look"]).out;
    assert!(drifts.contains(&root) && drifts.contains(&right), "{drifts}");
    assert!(!server.run(["tools", "drifts", "--exchange", &left]).out.contains("look"));

    let nowhere = server.say(["tools", "drifts"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.err.contains("--below"), "{}", nowhere.err);
    let unknown = server.say(["tools", "occurrences", "look", "--thread", "none"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("THREAD_NOT_FOUND"), "{}", unknown.err);
    let malformed = server.say(["tools", "get", "--set", "abc"]);
    assert!(malformed.code == Some(1) && malformed.err.contains("tool_set_id"), "{}", malformed.err);
}
