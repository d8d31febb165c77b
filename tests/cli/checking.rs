//! The figures that a configuration may have, at their edges: `check` takes the most, and tells of one more with its key, the most and the figure.

use crate::program::{Said, binary};

/// A configuration with the most of everything, and so much more.
fn config(more: usize) -> String {
    let (id, stops) = ("i".repeat(64 + more), vec!["\"s\""; 16 + more].join(", "));
    let spares: Vec<String> = (0..8 + more).map(|number| format!("s{number}")).collect();
    let fallback: Vec<String> = spares.iter().map(|spare| format!("\"{spare}\"")).collect();
    let mut text = format!(
        "[profiles.{id}]\nbackend = \"b\"\nmodel = \"m\"\n\
         [profiles.main]\nbackend = \"b\"\nmodel = \"m\"\nfallback = [{}]\nrepair = {{ attempts = {} }}\n\
         parameters = {{ stop_sequences = [{stops}] }}\n\
         [backends.b]\nkind = \"scripted\"\ncapacity = {}\nretry = {{ attempts = {} }}\n\
         rate = {{ requests_per_minute = {}, burst = {} }}\n",
        fallback.join(", "),
        5 + more,
        100_000 + more,
        100 + more,
        1_000_000 + more,
        1_000_000 + more,
    );
    for spare in spares {
        text.push_str(&format!("[profiles.{spare}]\nbackend = \"b\"\nmodel = \"m\"\n"));
    }
    text
}

fn check(more: usize) -> Said {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("antiphon.toml"), config(more)).unwrap();
    Said::of(binary(home.path()).arg("check").output().unwrap())
}

#[test]
fn the_most_is_taken_and_one_more_is_told_with_its_key() {
    let most = check(0);
    assert_eq!(most.code, Some(0), "{most:#?}");
    let more = check(1);
    assert_eq!(more.code, Some(1), "{more:#?}");
    for said in [
        "must have 1 to 64 of A-Z, a-z, 0-9, `_`, `-` and `.`, and has 65 characters",
        "profiles.main.fallback: has 9 profiles: at most 8 are taken; name fewer",
        "profiles.main.repair.attempts: is 6; at most 5 are made; take fewer, or raise `max_repair_attempts`",
        "profiles.main.parameters.stop_sequences: has 17 stop sequences: at most 16 are taken; give fewer",
        "backends.b.capacity: is 100001: it must be 1 to 100000",
        "backends.b.retry.attempts: is 101: it must be 1 to 100",
        "backends.b.rate.requests_per_minute: is 1000001: it must be 1 to 1000000",
        "backends.b.rate.burst: is 1000001: it must be 1 to 1000000",
    ] {
        assert!(more.err.contains(said), "{said}\nis not in\n{}", more.err);
    }
}

#[test]
fn the_name_of_a_key_is_no_longer_than_it_may_be() {
    let home = tempfile::tempdir().unwrap();
    let create = |length: usize| {
        let name = "n".repeat(length);
        Said::of(binary(home.path()).args(["keys", "create", &name, "--file", "k.toml"]).output().unwrap())
    };
    let long = create(129);
    assert_eq!(long.code, Some(2), "{long:#?}");
    assert!(long.err.contains("NAME is 129 bytes long: at most 128 are taken"), "{}", long.err);
    assert!(!home.path().join("k.toml").exists());
    assert_eq!(create(128).code, Some(0));
}
