//! Antiphon keeps conversations with language models as an immutable, branching graph of exchanges, runs
//! the turns, and lets the calling program decide what happens next.
//!
//! The floors, from the roof down; each uses only those below it:
//!
//! ```text
//!  ops      configuration, command line, telemetry, assembly
//!  grpc | web         services, conversion, status; metrics
//!  app      the verbs: capture, continue, fork, probe, record, inspect, threads, runs
//!  engine | store     one execution | what is remembered
//!  domain   values and rules
//! ```

pub mod app;
pub mod domain;
pub mod engine;
pub mod grpc;
pub mod ops;
pub mod store;
pub mod web;
