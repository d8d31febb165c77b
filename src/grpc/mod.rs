//! The shop front: gRPC services, conversion, status. It must not know stores, engines or configuration; it asks `app`.

pub mod pb;
