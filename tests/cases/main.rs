//! Public fault reports of systems that do part of this job, each as a test that names its case: `b012_...` is case B012 of
//! `cases.jsonl`. Most look at a backend against a stub provider; what else a case asks for is listed in `waiting`.
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

mod answers;
mod coverage;
mod encoding;
mod failures;
mod framing;
mod replay;
mod tool_calls;
mod transport;
mod usage;
