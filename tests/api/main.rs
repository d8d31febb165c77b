//! The API over a real socket, on a real store, through the same assembly as the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

#[path = "../support/mod.rs"]
mod support;

pub(crate) use support::{look, raw, stub};

mod access;
mod audit;
mod branches;
mod busy;
mod capture;
mod catalog;
mod coordinate;
mod details;
mod edges;
mod ends;
mod erased;
mod erasing;
mod errors;
mod explain;
mod fallback;
mod foreign;
mod fuzz;
mod generation;
mod graph;
mod heads;
mod imported;
mod isolation;
mod lists;
mod logs;
mod metrics;
mod pending;
mod prepared;
mod probe;
mod providers;
mod record;
mod reload;
mod repair;
mod repeats;
mod restore;
mod retention;
mod runs;
mod secrets;
mod spending;
mod stats;
mod store;
mod streams;
mod threads;
mod tls;
mod tokens;
mod tool_audit;
mod tools;
mod traces;
mod transcripts;
mod transfer;
mod views;
mod watch;
mod workspace;
