//! That no case is forgotten: each is a test here, or listed with what it waits for, or both where a test looks at a part of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;

/// What a case, or the rest of one, waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// The other dialects.
    Dialect,
    /// The engine around a backend: retries, contracts, rendering.
    Engine,
    /// The server's RPCs over a real socket.
    Server,
    /// The coordination stream.
    Coordination,
    /// The store's own tests.
    Store,
}

/// The cases that wait, in order. One that is tested here as well waits with the rest of it alone.
const WAITING: &[(&str, For, &str)] = &[
    ("B001", For::Server, "Inspect shows the same usage"),
    ("B002", For::Server, "totals that count a call whose usage is unknown"),
    ("B004", For::Dialect, "Anthropic"),
    ("B006", For::Dialect, "the Anthropic half"),
    ("B007", For::Dialect, "Gemini"),
    ("B024", For::Engine, "the arguments against the tool's declared schema"),
    ("B025", For::Coordination, "the client is asked for the result"),
    ("B035", For::Server, "the thread's head stays where it was"),
    ("B037", For::Server, "the thread's head stays where it was"),
    ("B039", For::Server, "no exchange comes of it"),
    ("B043", For::Engine, "waits of retries end with the caller's deadline"),
    ("B044", For::Dialect, "the same headers on the Anthropic backend, with bounded retries"),
    ("B045", For::Dialect, "Ollama native"),
    ("B046", For::Dialect, "Ollama native"),
    ("B048", For::Dialect, "arguments are an object on Ollama's native route"),
    ("B049", For::Dialect, "Gemini"),
    ("B050", For::Dialect, "Gemini"),
    ("B052", For::Dialect, "Gemini"),
    ("B053", For::Dialect, "Anthropic"),
    ("B055", For::Dialect, "Anthropic"),
    ("B056", For::Server, "a prompt over unanswered calls"),
    ("B058", For::Server, "two results for one call"),
    ("B059", For::Server, "a result that is missing"),
    ("B060", For::Dialect, "Anthropic: parallel results in one user message"),
    ("B062", For::Server, "history views, cut between turns only"),
    ("B063", For::Server, "Inspect shows both calls with their own results"),
    ("B064", For::Dialect, "Anthropic: ids of other providers"),
    ("B066", For::Dialect, "the Anthropic half"),
    ("B067", For::Dialect, "Anthropic: signed thinking"),
    ("B069", For::Dialect, "Gemini: thought signatures"),
    ("B071", For::Server, "a history after a restart"),
    ("B073", For::Server, "tools that a continuation inherits"),
    ("B074", For::Coordination, "the client is handed the call, which is flagged as undeclared"),
    ("B075", For::Server, "empty results and prompts are refused before the provider is asked"),
    ("B076", For::Engine, "the template is rendered once, strictly"),
    ("B078", For::Server, "forks do not see the branch that they left"),
    ("B080", For::Server, "a hundred forks at once"),
    ("B081", For::Server, "names that are taken"),
    ("B083", For::Server, "the fork point is included"),
    ("B084", For::Server, "the same prompt asks the provider again"),
    ("B085", For::Server, "a continuation after the head was moved back"),
    ("B086", For::Server, "a probe leaves nothing behind"),
    ("B088", For::Server, "a fork while the parent streams"),
    ("B090", For::Store, "order without time stamps"),
    ("B091", For::Server, "forks by id"),
    ("B092", For::Server, "workspace documents as of a turn"),
    ("B094", For::Server, "usage over branches"),
    ("B095", For::Dialect, "Responses"),
    ("B096", For::Server, "a run id used twice"),
    ("B098", For::Server, "one run id fifty times at once"),
    ("B099", For::Server, "a run id after kill -9"),
    ("B101", For::Server, "two continuations of one head"),
    ("B102", For::Server, "many threads at once"),
    ("B103", For::Server, "kill -9 between answer and commit"),
    ("B104", For::Server, "a slow call is not started again"),
    ("B106", For::Coordination, "parallel calls have ids of their own"),
    ("B107", For::Engine, "fenced JSON, found once and kept as said"),
    ("B109", For::Engine, "a cut answer starts no repair that must fail as well"),
    ("B110", For::Engine, "a contract's error names the limit of tokens"),
    ("B111", For::Engine, "repairs are bounded and all paid for"),
    ("B113", For::Dialect, "Gemini: its own form of schemas"),
    ("B114", For::Engine, "references to elsewhere are never fetched"),
    ("B115", For::Engine, "schemas that are none"),
    ("B117", For::Engine, "a refusal starts no repair"),
    ("B118", For::Server, "cancellation and deadlines of callers reach the provider"),
    ("B120", For::Server, "no exchange comes of half an answer"),
    ("B121", For::Server, "one status a stream"),
    ("B122", For::Coordination, "headers come before the first decision"),
    ("B124", For::Coordination, "a first message that is wrong"),
    ("B125", For::Coordination, "the budget is exact"),
    ("B126", For::Coordination, "a callback that never answers"),
    ("B128", For::Server, "slow readers"),
    ("B130", For::Store, "kill -9 under load, and left-over files"),
    ("B132", For::Store, "a second process on the same folder"),
    ("B133", For::Store, "disk use under churn"),
    ("B134", For::Store, "memory against the size of the store"),
    ("B137", For::Server, "messages over four MiB"),
    ("B138", For::Engine, "deep answers against a contract"),
    ("B139", For::Server, "a panic in one call, and a store that fails"),
    ("B140", For::Dialect, "the same cut on the other dialects"),
    ("B142", For::Server, "client text with half characters"),
    ("B143", For::Server, "Inspect and lists work on"),
    ("B145", For::Engine, "large integers against a contract"),
    ("B146", For::Server, "the message as a status of gRPC"),
    ("B147", For::Server, "grpcurl"),
];

/// The cases that tests of this folder name, such as `fn b012_...`.
fn tested() -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut ids = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            let function = line.trim_start_matches("async ").strip_prefix("fn b");
            let number = function.and_then(|rest| rest.split('_').next()).filter(|_| is_test);
            ids.extend(number.filter(|number| number.parse::<u16>().is_ok()).map(|number| format!("B{number}")));
            is_test =
                line.starts_with("#[test]") || line.starts_with("#[tokio::test") || is_test && line.starts_with("#[");
        }
    }
    ids
}

#[test]
fn every_case_is_a_test_or_waits_for_something() {
    let all: BTreeSet<String> = Case::all().iter().map(|case| case.id().to_owned()).collect();
    let tested = tested();
    let waiting: BTreeSet<String> = WAITING.iter().map(|(id, ..)| (*id).to_owned()).collect();
    let known: BTreeSet<String> = tested.union(&waiting).cloned().collect();
    assert_eq!(all.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "forgotten");
    assert_eq!(known.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "no such case");
}

#[test]
fn the_list_of_what_waits_is_in_order_and_says_why() {
    let ids: Vec<&str> = WAITING.iter().map(|(id, ..)| *id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted);
    assert!(WAITING.iter().all(|(_, _, why)| !why.is_empty()));
    let mut waits: BTreeMap<String, usize> = BTreeMap::new();
    for (_, what, _) in WAITING {
        *waits.entry(format!("{what:?}")).or_default() += 1;
    }
    assert_eq!(waits.len(), 5, "each kind is used: {waits:?}");
}
