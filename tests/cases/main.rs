//! Public fault reports of systems that do part of this job, each as a test that names its case: `b012_...` is case B012 of
//! `cases.jsonl`. Some look at a backend against a stub provider, others at a server with one. A test elsewhere that is about a case says so in
//! its name or its comment; what a case asks for and nothing tests yet is listed in `coverage`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must stop"
)]

#[path = "../support/mod.rs"]
mod support;

mod bench;
mod case;

mod served;

mod answers;
mod anthropic;
mod broken;
mod contracts;
mod coordinations;
mod coverage;
mod durability;
mod encoding;
mod failures;
mod forks;
mod framing;
mod gemini;
mod histories;
mod hop;
mod model;
mod ollama;
mod outcomes;
mod replay;
mod responses;
mod size;
mod tool_calls;
mod transport;
mod usage;
mod waiting;
