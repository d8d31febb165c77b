//! Who may know whom, and which words belong where. It must not know how files look inside.

use crate::rust::{code, is_test_file, module_of, used_paths, without_tests, words as words_of};
use crate::tree::line;

/// The floors, and those that each may use. `engine` and `store` do not know each other: `app` brings them together.
const FLOORS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("store", &["domain"]),
    ("engine", &["domain"]),
    ("app", &["domain", "store", "engine"]),
    ("grpc", &["domain", "store", "engine", "app"]),
    ("web", &["domain", "store", "engine", "app"]),
    ("ops", &["domain", "store", "engine", "app", "grpc", "web"]),
];

/// Files above all floors.
const DOORS: &[&str] = &["src/lib.rs", "src/main.rs"];

/// A folder of rooms that stand side by side and do not know each other.
struct Rooms {
    folder: &'static [&'static str],
    names: Names,
}

/// Which modules of a folder are rooms.
enum Names {
    /// These.
    Only(&'static [&'static str]),
    /// Every one but these, which the rooms share.
    AllBut(&'static [&'static str]),
}

/// The stores and the backends.
const ROOMS: &[Rooms] = &[
    Rooms { folder: &["store"], names: Names::Only(&["sled", "postgres"]) },
    Rooms { folder: &["engine", "backend"], names: Names::AllBut(&["limits", "wire"]) },
];

/// A word (or all words that start with it), where it may stand, and why only there.
struct Word {
    word: &'static str,
    family: bool,
    /// Paths start with one of these; empty: the word may stand nowhere in `within`.
    allowed: &'static [&'static str],
    within: &'static str,
    why: &'static str,
}

const SHOP_FRONT: &str = "the wire is known to grpc and to what starts and calls it";
const BEDROCK: &str = "domain says only what can be said without async, clock, network, storage or encoding";

const fn word(word: &'static str, family: bool, allowed: &'static [&'static str], why: &'static str) -> Word {
    Word { word, family, allowed, within: "src/", why }
}

const fn not_in_domain(word: &'static str, family: bool) -> Word {
    Word { word, family, allowed: &[], within: "src/domain/", why: BEDROCK }
}

const WORDS: &[Word] = &[
    word("tonic", true, &["src/grpc/", "src/ops/cli", "src/ops/app"], SHOP_FRONT),
    word("pb", false, &["src/grpc/", "src/ops/cli", "src/ops/app"], SHOP_FRONT),
    word(
        "prost",
        true,
        &["src/grpc/", "src/ops/cli", "src/ops/app", "src/store/record"],
        "protobuf is known to the wire and to stored records",
    ),
    word(
        "sled",
        false,
        &["src/store/sled/", "src/ops/app"],
        "a store's engine is known in its own room and where it is chosen",
    ),
    word("tokio_postgres", false, &["src/store/postgres/", "src/ops/app"], "a store's engine is known in its own room"),
    not_in_domain("tokio", true),
    not_in_domain("futures", true),
    not_in_domain("async", false),
    not_in_domain("await", false),
    not_in_domain("serde", true),
    not_in_domain("SystemTime", false),
    not_in_domain("Instant", false),
    not_in_domain("reqwest", false),
];

/// Modules of the standard library that `domain` does without.
const STD_NOT_IN_DOMAIN: &[&str] = &["std::env", "std::fs", "std::net", "std::process", "std::thread"];

/// A floor uses the floors below it, and rooms side by side do not use each other.
pub(crate) fn floors(path: &str, text: &str) -> Vec<String> {
    if DOORS.contains(&path) || is_test_file(path) {
        return Vec::new();
    }
    let module = module_of(path);
    let Some((floor, below)) = module.first().and_then(|m| FLOORS.iter().find(|(floor, _)| floor == m)) else {
        return vec![format!("{path}: stands on no floor; a new one goes into FLOORS with what it may use")];
    };
    let code = without_tests(&code(text));
    let mut found = Vec::new();
    for used in used_paths(&code, &module) {
        let at = line(&code, used.offset);
        let name = used.path.join("::");
        let is_floor = |f: &&str| FLOORS.iter().any(|(floor, _)| floor == f);
        let target = used.path.first().map(String::as_str).filter(is_floor);
        if let Some(target) = target.filter(|t| t != floor && !below.contains(t)) {
            found.push(format!("{path}:{at}: {floor} must not know {target} ({name})"));
        }
        for rooms in ROOMS {
            if let (Some(mine), Some(other)) = (room(&module, rooms), room(&used.path, rooms))
                && mine != other
            {
                found.push(format!("{path}:{at}: {mine} must not know {other}, its neighbour ({name})"));
            }
            if let (Some(mine), Some(other)) = (shared(&module, rooms), room(&used.path, rooms)) {
                found.push(format!("{path}:{at}: {mine}, which all rooms share, must not know {other} ({name})"));
            }
        }
    }
    found
}

/// The room that a path leads into. Names that start with a capital are items of the folder's front door.
fn room<'a>(path: &'a [String], rooms: &Rooms) -> Option<&'a str> {
    let inside = path.iter().zip(rooms.folder).all(|(a, b)| a == b);
    let name = path.get(rooms.folder.len()).filter(|_| inside)?;
    let is_room = match rooms.names {
        Names::Only(names) => names.contains(&name.as_str()),
        Names::AllBut(shared) => name.starts_with(char::is_lowercase) && !shared.contains(&name.as_str()),
    };
    is_room.then_some(name.as_str())
}

/// The module that rooms share which a path leads into.
fn shared<'a>(path: &'a [String], rooms: &Rooms) -> Option<&'a str> {
    let inside = path.iter().zip(rooms.folder).all(|(a, b)| a == b);
    let name = path.get(rooms.folder.len()).filter(|_| inside)?;
    matches!(rooms.names, Names::AllBut(shared) if shared.contains(&name.as_str())).then_some(name.as_str())
}

/// Words stay on their floors.
pub(crate) fn words(path: &str, text: &str) -> Vec<String> {
    if is_test_file(path) {
        return Vec::new();
    }
    let code = without_tests(&code(text));
    let mut found = Vec::new();
    for (offset, seen) in words_of(&code) {
        for rule in WORDS.iter().filter(|rule| path.starts_with(rule.within)) {
            let matches = seen == rule.word || rule.family && seen.starts_with(&format!("{}_", rule.word));
            let allowed = rule.allowed.iter().any(|a| path.starts_with(a)) || declares_module(&code, offset);
            if matches && !allowed {
                found.push(format!("{path}:{}: `{seen}` does not belong here: {}", line(&code, offset), rule.why));
            }
        }
    }
    if path.starts_with("src/domain/") {
        let used = used_paths(&code, &module_of(path)).into_iter();
        let banned = used
            .filter(|u| STD_NOT_IN_DOMAIN.iter().any(|b| u.path.iter().map(String::as_str).take(2).eq(b.split("::"))));
        found.extend(banned.map(|u| {
            format!("{path}:{}: `{}` does not belong here: {BEDROCK}", line(&code, u.offset), u.path.join("::"))
        }));
    }
    found
}

/// Where files are read as a whole: the one place that bounds them, and what is no file that somebody names.
const READERS: &[&str] = &["src/engine/file.rs", "src/ops/cli/bench/", "src/store/"];

/// A file that somebody names may be a pipe or have no end: it is read in the one place that sees to that.
pub(crate) fn reading(path: &str, text: &str) -> Vec<String> {
    if is_test_file(path) || READERS.iter().any(|reader| path.starts_with(reader)) {
        return Vec::new();
    }
    let code = without_tests(&code(text));
    let read = ["fs::read(", "fs::read_to_string("].into_iter().flat_map(|read| code.match_indices(read));
    read.map(|(offset, read)| format!("{path}:{}: `{read}…)`: engine::file reads what is named", line(&code, offset)))
        .collect()
}

/// `mod sled;` is how a folder opens the door of a room, not a use of it.
fn declares_module(code: &str, offset: usize) -> bool {
    code.get(..offset).is_some_and(|before| before.trim_end().ends_with(" mod") || before.trim() == "mod")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_may_look_down_only() {
        assert!(floors("src/app/fork.rs", "use crate::{domain::run, engine, store::Store};").is_empty());
        let up = floors("src/store/mod.rs", "\nuse crate::app::fork;");
        assert_eq!(up, ["src/store/mod.rs:2: store must not know app (app::fork)"]);
        assert_eq!(floors("src/domain/run.rs", "fn f() { crate::grpc::status::x() }").len(), 1);
        assert_eq!(floors("src/web/mod.rs", "use crate::grpc::pb;").len(), 1, "grpc and web stand side by side");
    }

    #[test]
    fn engine_and_store_do_not_know_each_other() {
        assert_eq!(floors("src/engine/mod.rs", "use crate::store::Store;").len(), 1);
        assert_eq!(floors("src/store/mod.rs", "use super::engine::Outcome;").len(), 1);
    }

    #[test]
    fn neighbours_do_not_know_each_other() {
        let found = floors("src/engine/backend/openai.rs", "use super::scripted::Fault;");
        let expected = "openai must not know scripted, its neighbour (engine::backend::scripted::Fault)";
        assert_eq!(found, [format!("src/engine/backend/openai.rs:1: {expected}")]);
        assert_eq!(floors("src/store/sled/keys.rs", "use crate::store::{postgres, Error};").len(), 1);
        assert!(floors("src/engine/backend/openai.rs", "use super::{wire, Backend};").is_empty(), "shared by all");
        let found = floors("src/engine/backend/wire/remote.rs", "use crate::engine::backend::{Backend, openai::Chat};");
        let expected = "wire, which all rooms share, must not know openai (engine::backend::openai::Chat)";
        assert_eq!(found, [format!("src/engine/backend/wire/remote.rs:1: {expected}")]);
        assert!(floors("src/engine/backend/openai/wire.rs", "use crate::engine::backend::openai::Config;").is_empty());
        assert!(floors("src/engine/backend/mod.rs", "pub use self::openai::OpenAi;").is_empty(), "the front door");
    }

    #[test]
    fn an_unknown_floor_is_found() {
        assert_eq!(floors("src/helpers/mod.rs", "").len(), 1);
        assert!(floors("src/lib.rs", "pub mod app;").is_empty());
    }

    #[test]
    fn words_are_kept_to_their_floors() {
        assert!(words("src/grpc/status.rs", "use tonic::Status; use tonic_types::X; fn f(x: pb::Y) {}").is_empty());
        let found = words("src/app/fork.rs", "use tonic_types::X;");
        assert_eq!(found, [format!("src/app/fork.rs:1: `tonic_types` does not belong here: {SHOP_FRONT}")]);
        assert_eq!(words("src/engine/mod.rs", "fn f(x: pb::Y) {}").len(), 1);
        assert_eq!(words("src/store/mod.rs", "use prost::Message;").len(), 1);
        assert!(words("src/store/record/mod.rs", "use prost::Message;").is_empty());
        assert_eq!(words("src/app/mod.rs", "use sled::Db;").len(), 1);
        assert_eq!(words("src/store/mod.rs", "pub mod sled;\nuse self::sled::Store;").len(), 1, "a use, not the door");
        assert!(words("src/store/mod.rs", "pub mod sled;").is_empty());
    }

    #[test]
    fn files_are_read_where_they_are_bounded() {
        let read = "fn f() { std::fs::read(p); }\nfn g() { fs::read_to_string(p); }";
        let found = reading("src/ops/tls.rs", read);
        assert_eq!(found[0], "src/ops/tls.rs:1: `fs::read(…)`: engine::file reads what is named");
        assert_eq!((found.len(), reading("src/store/sled/mark.rs", read).len()), (2, 0));
        assert!(
            reading("src/ops/tls.rs", "fn f() { fs::read_dir(p); x.read_to_string(t); file::read(p); }").is_empty()
        );
    }

    #[test]
    fn domain_is_kept_plain() {
        let bad = ["use tokio::sync::Mutex;", "use serde::Serialize;", "async fn f() {}", "use std::{env, fmt};"];
        for bad in bad.into_iter().chain(["use std::time::SystemTime;", "fn f() { std::env::var(\"X\"); }"]) {
            assert_eq!(words("src/domain/run.rs", bad).len(), 1, "{bad}");
        }
        assert!(words("src/domain/run.rs", "/// serde, tokio\nfn f() -> &'static str { \"async\" }").is_empty());
        assert!(words("src/domain/run.rs", "#[cfg(test)]\nmod tests { use serde::Serialize; }").is_empty());
    }
}
