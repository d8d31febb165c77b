//! The API over a real socket, on a real store, through the same assembly as the program.

#[path = "../support/mod.rs"]
mod support;

mod capture;
mod ends;
mod heads;
mod look;
mod probe;
mod raw;
mod repeats;
mod runs;
mod streams;
mod stub;
mod tools;
