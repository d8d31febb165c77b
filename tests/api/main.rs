//! The API over a real socket, on a real store, through the same assembly as the program.

#[path = "../support/mod.rs"]
mod support;

mod capture;
mod catalog;
mod ends;
mod errors;
mod heads;
mod lists;
mod look;
mod pending;
mod probe;
mod providers;
mod raw;
mod record;
mod repeats;
mod runs;
mod streams;
mod stub;
mod threads;
mod tools;
mod unimplemented;
