//! The command line through the real binary, against a real server of the same binary with canned answers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must stop"
)]

mod auditing;
mod branching;
mod checking;
mod coordinating;
mod doctor;
mod documents;
mod examples;
mod files;
mod keeping;
mod keys;
mod line;
mod measuring;
mod moving;
mod preparing;
mod program;
mod serving;
mod talking;
mod telling;
mod verifying;
