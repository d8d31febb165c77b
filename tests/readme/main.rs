//! That the documentation says what is so: the README's calls are made with grpcurl, as pasted, against a real server; the configuration
//! reference is read as a configuration; lists are compared with the server's own. A document that shows something new is checked here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on must stop"
)]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod configuration;
mod links;
mod lists;
mod markdown;
mod reflection;
mod shell;
