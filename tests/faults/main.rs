//! What survives when things go wrong: kill -9, power cuts, a full, slow or failing disk, a damaged file, a second process, strangers, more work
//! than there is room for, and many of these at once. Children are this same binary, started again with their orders in the environment. A new kind of
//! fault is a module here.
//!
//! `ANTIPHON_FAULT_ROUNDS` sets how often the random ones are repeated (20), `ANTIPHON_SOAK_SECONDS` how long all of them go on at once (20).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a test that meets the unexpected fails, in its helpers too"
)]

#[path = "../support/mod.rs"]
mod support;

mod backup;
mod branches;
mod child;
mod coordination_memory;
mod coordinations;
mod damage;
mod disk;
mod erasing;
mod flips;
mod frames;
mod harness;
mod kill;
mod load;
mod overload;
mod power;
mod rest;
mod server;
mod slow;
mod soak;
mod strangers;
