//! Between the API's messages and the domain: one file a noun or a verb. Reading a request checks everything that can be checked without
//! looking anything up, and names every problem at once. It must not know what is stored or configured,
//! but for the bounds that the server has.
//!
//! Every reader takes the path of what it reads and the list of [`Problems`]; it answers `None` exactly when it added one. The readers of
//! whole requests answer a [`Fault`](crate::domain::fault::Fault).

pub mod admin;
pub mod bounds;
pub mod capture;
pub mod catalog;
pub mod chat;
pub mod continuation;
pub mod contract;
pub mod coordination;
pub mod exchange;
pub mod execution;
pub mod fault;
pub mod fork;
pub mod graph;
pub mod id;
pub mod inspect;
pub mod json;
pub mod label;
pub mod limit;
pub mod message;
pub mod moment;
pub mod prepare;
pub mod problem;
pub mod progress;
pub mod record;
pub mod retention;
pub mod run;
pub mod scope;
pub mod spend;
pub mod thread;
pub mod thread_service;
pub mod tool;
pub mod tool_service;
pub mod transcript;
pub mod transfer;
pub mod usage;
pub mod workspace;

pub use problem::{Path, Problems};
