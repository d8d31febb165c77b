//! The shop front: gRPC services, conversion, status. It must not know stores, engines or configuration; it asks `app`.

use std::sync::Arc;

use tonic::service::Routes;
use tonic_health::pb::health_server::{Health, HealthServer};

use crate::app::App;
use crate::app::access::Door;

mod admin;
mod admit;
mod ask;
mod call;
mod catalog;
pub mod codec;
pub mod convert;
mod coordinate;
mod coordination;
mod exchange;
mod explained;
pub mod fingerprint;
mod graph;
mod metered;
pub mod observe;
mod outcome;
pub mod page;
pub mod pb;
mod position;
mod retention;
mod run;
mod scope;
pub mod status;
pub mod streamed;
mod thread;
mod tool;
pub mod trace;
mod transfer;
pub mod unimplemented;
mod watch;
mod workspace;

pub use admin::Facts;

/// Limits of messages on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Largest request, in bytes.
    pub max_request_bytes: usize,
    /// Largest answer, in bytes.
    pub max_response_bytes: usize,
}

macro_rules! service {
    ($wire:expr, $module:ident :: $server:ident, $service:expr) => {
        explained::Explained::new(
            pb::$module::$server::new($service)
                .max_decoding_message_size($wire.max_request_bytes)
                .max_encoding_message_size($wire.max_response_bytes)
                .accept_compressed(tonic::codec::CompressionEncoding::Gzip)
                .send_compressed(tonic::codec::CompressionEncoding::Gzip),
            $wire.max_request_bytes,
        )
    };
}

/// Every service on one set of routes, with health and reflection (v1 and v1alpha).
///
/// # Errors
/// When the descriptors of the API cannot be read, which is a fault of the build.
pub fn routes(
    app: &Arc<App>,
    door: &Arc<dyn Door>,
    facts: Facts,
    wire: Wire,
    health: HealthServer<impl Health>,
) -> Result<Routes, tonic_reflection::server::Error> {
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(pb::DESCRIPTOR)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // So that generic clients can show the details of errors.
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
    };
    let exchanges = exchange::Exchanges::new(Arc::clone(app));
    let routes = Routes::new(health)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?)
        .add_service(service!(wire, exchange_service_server::ExchangeServiceServer, exchanges))
        .add_service(service!(wire, thread_service_server::ThreadServiceServer, thread::Threads::new(Arc::clone(app))))
        .add_service(service!(wire, run_service_server::RunServiceServer, run::Runs::new(Arc::clone(app))))
        .add_service(service!(
            wire,
            catalog_service_server::CatalogServiceServer,
            catalog::Catalogs::new(Arc::clone(app))
        ))
        .add_service(service!(
            wire,
            admin_service_server::AdminServiceServer,
            admin::Admin::new(Arc::clone(app), Arc::clone(door), facts)
        ))
        .add_service(service!(
            wire,
            coordination_service_server::CoordinationServiceServer,
            coordination::Coordinations::new(Arc::clone(app))
        ))
        .add_service(service!(wire, graph_service_server::GraphServiceServer, graph::Graphs::new(Arc::clone(app))))
        .add_service(service!(wire, tool_service_server::ToolServiceServer, tool::Tools::new(Arc::clone(app))))
        .add_service(service!(
            wire,
            workspace_service_server::WorkspaceServiceServer,
            workspace::Workspaces::new(Arc::clone(app))
        ));
    let admission =
        admit::Admission::new(Arc::clone(door), app.meters().rpcs().clone(), Arc::new(app.limits().bounds()));
    let (max, at_work) = admission.calls_of_nobody();
    app.gauge("health_calls", max, at_work);
    let admitted = axum::middleware::from_fn_with_state(admission, admit::admit);
    Ok(Routes::from(routes.into_axum_router().layer(admitted)))
}
