//! The roof: configuration, command line, telemetry, and how a server is put together. The only floor that reads the environment, settings
//! files, flags and signals. It must not know rules: it asks the floors below.

pub mod cli;
pub mod environment;
