//! The client against the real server: each test has one of its own, which echoes or says what its script says.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]

mod branching;
mod breaks;
mod cancel;
mod connection;
mod documents;
mod examples;
mod expect;
mod library;
mod looks;
mod proxy;
mod readme;
mod record;
mod said;
mod scenarios;
mod support;
mod tools;
mod turns;
mod workspace;
