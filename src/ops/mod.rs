//! The roof: configuration, command line, telemetry, and how a server is put together. The only floor that reads the environment, settings
//! files, flags and signals. It must not know rules: it asks the floors below.

pub mod access;
pub mod app;
mod cause;
pub mod cli;
pub mod config;
pub mod discover;
pub mod doctor;
pub mod environment;
pub mod shutdown;
pub mod source;
pub mod telemetry;
pub mod tls;
