//! Generated types of `proto/antiphon/storage/v1`. Nothing is written by hand here.

#![allow(missing_docs, reason = "generated; the documentation is in the proto files")]
#![allow(unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/antiphon.storage.v1.rs"));

/// The descriptors of the records.
pub(super) const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/storage.bin"));
