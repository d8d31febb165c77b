//! The bedrock: values and rules of conversations, exchanges, runs, threads and tools. It must not know async,
//! clocks, networks, storage, encodings or any provider.

pub mod bounds;
pub mod content;
pub mod coordination;
pub mod drift;
pub mod exchange;
pub mod fault;
pub mod graph;
pub mod id;
pub mod json;
pub mod message;
pub mod pairing;
pub mod prepared;
pub mod retention;
pub mod run;
pub mod settings;
pub mod source;
pub mod spend;
pub mod thread;
pub mod tool;
pub mod transcript;
pub mod usage;
pub mod view;
pub mod workspace;
