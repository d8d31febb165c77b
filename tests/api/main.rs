//! The API over a real socket, on a real store, through the same assembly as the program.

#[path = "../support/mod.rs"]
mod support;

mod capture;
mod heads;
mod tools;
