//! The shop front: gRPC services, conversion, status. It must not know stores, engines or configuration; it asks `app`.

pub mod convert;
pub mod fingerprint;
pub mod page;
pub mod pb;
pub mod status;
pub mod unimplemented;
