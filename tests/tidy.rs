//! The rules of the house that a program can check: who may know whom, which words belong where, how a file opens and how
//! long it gets, and that nothing the API promises goes untested. Each rule is a pure function over text in `tidy/`, with a
//! test that shows it fail; here they meet the tree. It must not know what the server does.
//!
//! Where a rule is wrong in one place, the place goes into that rule's list of exceptions, with a reason.

#![allow(clippy::expect_used, clippy::panic, reason = "a check that cannot read the tree has failed")]
#![allow(clippy::print_stdout, reason = "a check that is passed over says so")]

#[path = "tidy/coverage.rs"]
mod coverage;
#[path = "tidy/form.rs"]
mod form;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/protos.rs"]
mod protos;
#[path = "tidy/requirements.rs"]
mod requirements;
#[path = "tidy/rust.rs"]
mod rust;
#[path = "tidy/tree.rs"]
mod tree;

use tree::{Tree, report};

/// Where the server is put together: before it is there, nothing can be asked of an API.
const SERVER: &str = "src/ops/";
/// The reasons and RPCs that the API names and this server does not have yet: a list of string literals.
const UNIMPLEMENTED: &str = "src/grpc/unimplemented.rs";
/// The enum of error reasons.
const REASONS: &str = "proto/antiphon/v1/error.proto";
/// The numbered statements that comments and tests cite.
const REQUIREMENTS: &str = "docs/requirements.md";
/// The API; stored records beside it have rules of their own.
const SERVICES: &str = "proto/antiphon/v1/";

#[test]
fn floors_are_used_downwards_and_rooms_do_not_know_each_other() {
    report(Tree::read().each_rust("src/", layout::floors));
}

#[test]
fn words_stay_on_their_floors() {
    report(Tree::read().each_rust("src/", layout::words));
}

#[test]
fn files_that_are_named_are_read_in_one_place() {
    report(Tree::read().each_rust("src/", layout::reading));
}

#[test]
fn every_file_says_what_it_owns() {
    report(Tree::read().each_rust("", form::opens_with_docs));
}

#[test]
fn files_stay_short() {
    report(Tree::read().each_rust("", form::size));
}

#[test]
fn long_tests_have_their_own_file() {
    report(Tree::read().each_rust("src/", form::inline_tests));
}

#[test]
fn names_say_something() {
    report(Tree::read().each_rust("src/", form::file_name));
}

#[test]
fn the_library_neither_prints_nor_gives_up() {
    report(Tree::read().each_rust("src/", form::macros));
}

#[test]
fn no_file_names_a_registry() {
    report(Tree::read().each("", form::registries));
}

#[test]
fn fields_of_the_api_say_who_sets_them() {
    report(Tree::read().each(SERVICES, protos::fields));
}

#[test]
fn cited_requirements_exist() {
    let tree = Tree::read();
    let stated = requirements::stated(tree.text(REQUIREMENTS));
    assert!(stated.len() > 250, "found only {} numbers in {REQUIREMENTS}: are they read rightly?", stated.len());
    // The checks themselves have made-up numbers.
    let citing = tree.files("", "").filter(|f| f.path != REQUIREMENTS && !f.path.starts_with("tests/tidy"));
    report(citing.flat_map(|f| requirements::unknown(&stated, &f.path, &f.text)).collect());
}

#[test]
fn every_error_reason_is_produced_and_asserted() {
    let tree = Tree::read();
    if !tree.has_folder(SERVER) {
        return;
    }
    let unimplemented = tree.text(UNIMPLEMENTED);
    let reasons = coverage::enum_values(tree.text(REASONS), "ErrorReason", "ERROR_REASON_");
    assert!(reasons.len() > 20, "found only {} reasons in {REASONS}: is it read rightly?", reasons.len());
    let listed = coverage::listed_reasons(unimplemented, &reasons);
    let source = tree.production("src/", &[UNIMPLEMENTED]);
    report(coverage::produced(&reasons, &listed, &source));
    report(coverage::asserted(&reasons, &listed, &tree.literal("tests/", &["tests/tidy"])));
}

#[test]
fn every_rpc_has_an_api_test() {
    let tree = Tree::read();
    if !tree.has_folder(SERVER) {
        return;
    }
    let unimplemented = tree.text(UNIMPLEMENTED);
    let rpcs: Vec<coverage::Rpc> = tree
        .files("", ".proto")
        .filter(|f| f.path.starts_with(SERVICES))
        .flat_map(|f| coverage::rpcs(&f.text))
        .collect();
    assert!(rpcs.len() > 20, "found only {} RPCs under {SERVICES}: are they read rightly?", rpcs.len());
    let listed = coverage::listed_rpcs(unimplemented);
    report(coverage::known(&rpcs, &listed));
    report(coverage::called(&rpcs, &listed, &tree.literal("tests/api/", &[])));
}

#[test]
fn clients_have_the_version_of_the_server() {
    let tree = Tree::read();
    let server = coverage::server_version(tree.text("Cargo.toml")).expect("Cargo.toml has a version");
    let found = tree.clients().map(|(client, files)| (client, coverage::client_version(&files)));
    report(coverage::same_versions(&server, found));
}
