//! That what the API promises is done and tested: every error reason, every RPC, one version. It must not know the tree.

use std::collections::BTreeMap;

use crate::rust::{is_word, words};

/// A value of the enum of reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    /// As it stands in an error: `HEAD_MOVED`.
    pub(crate) name: String,
    /// As generated code has it: `HeadMoved`.
    pub(crate) variant: String,
}

/// One RPC of the protos.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rpc {
    /// `ExchangeService.Capture`
    pub(crate) name: String,
    /// `capture`
    pub(crate) method: String,
    /// `CaptureRequest`
    pub(crate) request: String,
}

/// The values of an enum in a proto, the zero one aside.
pub(crate) fn enum_values(proto: &str, name: &str, prefix: &str) -> Vec<Reason> {
    let proto = without_line_comments(proto);
    let body =
        proto.split_once(&format!("enum {name} {{")).and_then(|(_, rest)| rest.split_once('}')).map(|(body, _)| body);
    let names = words(body.unwrap_or_default()).filter_map(|(_, word)| word.strip_prefix(prefix));
    names.filter(|n| *n != "UNSPECIFIED").map(|n| Reason { name: n.to_owned(), variant: camel(n) }).collect()
}

/// The RPCs of a proto.
pub(crate) fn rpcs(proto: &str) -> Vec<Rpc> {
    let proto = without_line_comments(proto);
    let words: Vec<&str> = words(&proto).map(|(_, w)| w).collect();
    let mut service = "";
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match (*word, words.get(at + 1)) {
            ("service", Some(name)) => service = name,
            ("rpc", Some(name)) => {
                let request = words.iter().skip(at + 2).find(|w| **w != "stream").copied().unwrap_or_default();
                found.push(Rpc { name: format!("{service}.{name}"), method: snake(name), request: request.to_owned() });
            }
            _ => {}
        }
    }
    found
}

/// Reasons that a list of string literals (or variants) names.
pub(crate) fn listed_reasons(list: &str, reasons: &[Reason]) -> Vec<String> {
    let list = crate::rust::without_comments(list);
    reasons.iter().filter(|r| names_reason(&list, r)).map(|r| r.name.clone()).collect()
}

/// RPCs that a list of string literals names, as `Service.Rpc` or `Service/Rpc`, with or without the package.
pub(crate) fn listed_rpcs(list: &str) -> Vec<String> {
    let list = crate::rust::without_comments(list);
    let literals = list.split('"').skip(1).step_by(2);
    let names = literals.map(|l| l.trim_start_matches('/').trim_start_matches("antiphon.v1.").replace('/', "."));
    names
        .filter(|n| n.split('.').next().is_some_and(|s| s.ends_with("Service")) && n.matches('.').count() == 1)
        .collect()
}

/// Every reason is produced by the source, or listed as not yet; none is both.
pub(crate) fn produced(reasons: &[Reason], listed: &[String], source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for reason in reasons {
        match (names_reason(source, reason), listed.contains(&reason.name)) {
            (false, false) => {
                found.push(format!("{}: no source produces it, and it is not listed as unimplemented", reason.name))
            }
            (true, true) => found.push(format!("{}: is produced, and still listed as unimplemented", reason.name)),
            _ => {}
        }
    }
    found
}

/// Every reason that is produced is asserted by a test.
pub(crate) fn asserted(reasons: &[Reason], listed: &[String], tests: &str) -> Vec<String> {
    let untested = reasons.iter().filter(|r| !listed.contains(&r.name) && !names_reason(tests, r));
    untested.map(|r| format!("{}: no test asserts it", r.name)).collect()
}

/// Every listed RPC is one that the protos have.
pub(crate) fn known(rpcs: &[Rpc], listed: &[String]) -> Vec<String> {
    let unknown = listed.iter().filter(|l| !rpcs.iter().any(|r| r.name == **l));
    unknown.map(|l| format!("{l}: is listed as unimplemented, and no proto has it")).collect()
}

/// Every RPC that is not listed is called by a test: its method where no other RPC has that name, else its request.
pub(crate) fn called(rpcs: &[Rpc], listed: &[String], tests: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rpc in rpcs.iter().filter(|r| !listed.contains(&r.name)) {
        let unique = rpcs.iter().filter(|r| r.method == rpc.method).count() == 1;
        let by_method = unique && tests.contains(&format!(".{}(", rpc.method));
        if !by_method && !has_word(tests, &rpc.request) {
            found.push(format!("{}: no test in tests/api calls it (looked for {})", rpc.name, rpc.request));
        }
    }
    found
}

/// The version in a Cargo.toml.
pub(crate) fn server_version(manifest: &str) -> Option<String> {
    assigned(manifest, "version")
}

/// The version of a client, by whichever manifest its language has.
pub(crate) fn client_version(files: &BTreeMap<String, String>) -> Option<String> {
    let text = |name: &str| files.get(name).map(String::as_str);
    None.or_else(|| assigned(text("Cargo.toml")?, "version"))
        .or_else(|| assigned(text("pyproject.toml")?, "version"))
        .or_else(|| assigned(text("package.json")?, "\"version\""))
        .or_else(|| assigned(text("version.go")?, "const Version"))
        .or_else(|| assigned(text("build.gradle")?, "version"))
        .or_else(|| assigned(text("build.gradle.kts")?, "version"))
        .or_else(|| Some(text("pom.xml")?.split_once("<version>")?.1.split_once("</version>")?.0.trim().to_owned()))
}

/// Server and clients have one version.
pub(crate) fn same_versions(server: &str, clients: impl Iterator<Item = (String, Option<String>)>) -> Vec<String> {
    let found = clients.filter(|(_, version)| version.as_deref() != Some(server));
    found
        .map(|(client, version)| match version {
            Some(version) => format!("clients/{client}: has version {version}, the server {server}"),
            None => format!("clients/{client}: no version found in its manifest"),
        })
        .collect()
}

/// The first line `key = "value"` or `key: "value"`.
fn assigned(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(key)?.trim_start().strip_prefix(['=', ':'])?;
        let value = rest.trim().trim_end_matches(',').trim();
        Some(value.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?.to_owned())
    })
}

/// `Reason::HeadMoved` (by whatever name the enum goes) or the literal `"HEAD_MOVED"`.
fn names_reason(text: &str, reason: &Reason) -> bool {
    let variant = format!("Reason::{}", reason.variant);
    let by_variant = text.match_indices(&variant).any(|(at, _)| {
        let after = text.get(at + variant.len()..).and_then(|t| t.chars().next());
        !after.is_some_and(is_word)
    });
    by_variant || text.contains(&format!("\"{}\"", reason.name))
}

fn has_word(text: &str, word: &str) -> bool {
    words(text).any(|(_, w)| w == word)
}

fn without_line_comments(text: &str) -> String {
    text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// `HEAD_MOVED` as `HeadMoved`.
fn camel(name: &str) -> String {
    let part = |p: &str| p.chars().take(1).chain(p.chars().skip(1).map(|c| c.to_ascii_lowercase())).collect::<String>();
    name.split('_').map(part).collect()
}

/// `StreamCapture` as `stream_capture`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTO: &str = "
        // enum ErrorReason { ERROR_REASON_OLD = 9; }
        enum ErrorReason {
          // Not set.
          ERROR_REASON_UNSPECIFIED = 0;
          // ABORTED: see ERROR_REASON_NOTHING.
          ERROR_REASON_HEAD_MOVED = 1;
          ERROR_REASON_HEAD = 2;
        }
        service RunService {
          // rpc Nothing
          rpc Get(RunServiceGetRequest) returns (RunServiceGetResponse);
          rpc StreamWatch(WatchRequest) returns (stream WatchResponse);
        }
        service ThreadService {
          rpc Get(ThreadServiceGetRequest) returns (ThreadServiceGetResponse);
          rpc Coordinate(stream CoordinateRequest) returns (stream CoordinateResponse);
        }";

    fn reasons() -> Vec<Reason> {
        enum_values(PROTO, "ErrorReason", "ERROR_REASON_")
    }

    #[test]
    fn protos_are_read() {
        assert_eq!(reasons().iter().map(|r| r.variant.as_str()).collect::<Vec<_>>(), ["HeadMoved", "Head"]);
        let seen = rpcs(PROTO).into_iter().map(|r| [r.name, r.method, r.request].join(" ")).collect::<Vec<_>>();
        let expected = [
            "RunService.Get get RunServiceGetRequest",
            "RunService.StreamWatch stream_watch WatchRequest",
            "ThreadService.Get get ThreadServiceGetRequest",
            "ThreadService.Coordinate coordinate CoordinateRequest",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_reason_that_nobody_produces_is_found() {
        let source = "Err(pb::ErrorReason::HeadMoved)";
        let found = produced(&reasons(), &[], source);
        assert_eq!(
            found,
            ["HEAD: no source produces it, and it is not listed as unimplemented"],
            "HeadMoved is not Head"
        );
        let listed = listed_reasons("pub const REASONS: &[&str] = &[\"HEAD\"]; // \"HEAD_MOVED\"", &reasons());
        assert!(produced(&reasons(), &listed, source).is_empty());
        assert_eq!(
            produced(&reasons(), &["HEAD_MOVED".to_owned(), "HEAD".to_owned()], source).len(),
            1,
            "a stale entry"
        );
    }

    #[test]
    fn a_reason_that_no_test_asserts_is_found() {
        assert_eq!(asserted(&reasons(), &["HEAD".to_owned()], "x"), ["HEAD_MOVED: no test asserts it"]);
        assert!(asserted(&reasons(), &["HEAD".to_owned()], "assert_eq!(reason, \"HEAD_MOVED\")").is_empty());
    }

    #[test]
    fn an_rpc_that_no_test_calls_is_found() {
        let tests = "client.stream_watch(x); client.get(pb::RunServiceGetRequest {})";
        let found = called(&rpcs(PROTO), &["ThreadService.Coordinate".to_owned()], tests);
        let expected = "ThreadService.Get: no test in tests/api calls it (looked for ThreadServiceGetRequest)";
        assert_eq!(found, [expected], "`get` is the name of two RPCs and proves neither");
    }

    #[test]
    fn an_unknown_entry_of_the_list_is_found() {
        let listed = listed_rpcs(
            "&[\"RunService.StreamWatch\", \"/antiphon.v1.RunService/Gone\", \"prepared_id\"] // \"RunService.X\"",
        );
        assert_eq!(listed, ["RunService.StreamWatch", "RunService.Gone"]);
        assert_eq!(known(&rpcs(PROTO), &listed), ["RunService.Gone: is listed as unimplemented, and no proto has it"]);
    }

    #[test]
    fn another_version_is_found() {
        let files = |name: &str, text: &str| BTreeMap::from([(name.to_owned(), text.to_owned())]);
        let of = |name, text| client_version(&files(name, text));
        assert_eq!(of("pyproject.toml", "[project]\nname = \"a\"\nversion = \"0.1.0\"\n").as_deref(), Some("0.1.0"));
        assert_eq!(of("package.json", "{\n  \"version\": \"0.1.0\",\n}").as_deref(), Some("0.1.0"));
        assert_eq!(of("version.go", "package x\nconst Version = \"0.1.0\"\n").as_deref(), Some("0.1.0"));
        assert_eq!(of("pom.xml", "<project><version>0.1.0</version></project>").as_deref(), Some("0.1.0"));
        assert_eq!(
            server_version("[package]\nname = \"a\"\nversion = \"0.1.0\"\nrust-version = \"1\"").as_deref(),
            Some("0.1.0")
        );
        let clients = [("go", Some("0.1.0")), ("java", Some("0.2.0")), ("rust", None)];
        let found = same_versions("0.1.0", clients.into_iter().map(|(c, v)| (c.to_owned(), v.map(str::to_owned))));
        let expected =
            ["clients/java: has version 0.2.0, the server 0.1.0", "clients/rust: no version found in its manifest"];
        assert_eq!(found, expected);
    }
}
