//! Generated types of `proto/antiphon/v1`. What is written by hand is elsewhere.

#![allow(missing_docs, reason = "generated; the documentation is in the proto files")]
#![allow(
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::disallowed_methods,
    reason = "generated"
)]

tonic::include_proto!("antiphon.v1");

pub use super::streamed::StreamInspectResponse;

/// The API's descriptors, as reflection serves them.
pub const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));
