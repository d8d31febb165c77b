//! The command line through the real binary, against a real server of the same binary with canned answers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected fails, in its helpers too"
)]

mod program;
mod serving;
mod talking;
mod telling;
