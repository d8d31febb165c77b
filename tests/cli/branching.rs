//! The graph from the command line: drawn, compared, searched, summed.

use serde_json::Value;

use crate::program::Server;

fn turn(server: &Server, arguments: &[&str]) -> String {
    let said = server.json(arguments);
    said["exchange"]["exchangeId"].as_str().unwrap().to_owned()
}

#[test]
fn a_tree_is_drawn_compared_searched_and_summed() {
    let server = Server::start();
    let one = turn(&server, &["capture", "first question", "--run-id", "one"]);
    let left = turn(&server, &["continue", &one, "to the left", "--run-id", "left"]);
    let right = turn(&server, &["continue", &one, "to the right", "--run-id", "right"]);
    let drawn = server.run(["graph", "--below", &one, "--previews"]).out;
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines.len(), 3, "{drawn}");
    assert!(lines[0].starts_with(&format!("● {one}  turn 1  first question")), "{drawn}");
    assert!(lines[1].starts_with(&format!("├─● {left}")) && lines[2].starts_with(&format!("├─● {right}")), "{drawn}");
    let path = server.run(["graph", "--exchange", &right, "--format", "mermaid"]).out;
    assert!(path.starts_with("graph TD\n") && path.contains(&format!("x{one} --> x{right}")), "{path}");
    let dot = server.run(["graph", "--below", &one, "--format", "dot", "--detail", "forks"]).out;
    assert!(dot.starts_with("digraph") && dot.ends_with("}\n"), "{dot}");
    let data: Value = server.json(&["graph", "--below", &one]);
    assert_eq!(data["nodes"].as_array().unwrap().len(), 3, "{data}");
    let diff = server.run(["diff", &left, &right]).out;
    assert!(diff.contains(&format!("both follow from {one}; after it 1 on the left, 1 on the right")), "{diff}");
    assert!(diff.contains("- message 0  to the left") && diff.contains("+ message 0  to the right"), "{diff}");
    let found = server.run(["search", "THE LEFT", "--below", &one]).out;
    assert!(found.contains(&left) && !found.contains(&right), "{found}");
    let usage = server.run(["usage", "--below", &one, "--run", "left"]).out;
    assert!(
        usage.contains("runs")
            && usage.lines().any(|line| line.trim_start().starts_with("runs") && line.ends_with('3')),
        "{usage}"
    );
    for (arguments, wanted) in
        [(["graph", "--detail", "turns"], "--exchange"), (["usage", "--server", &server.url], "--label")]
    {
        let said = server.say(arguments);
        assert!(said.code == Some(2) && said.err.contains(wanted), "{said:#?}");
    }
}
