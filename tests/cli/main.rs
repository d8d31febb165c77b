//! The command line through the real binary, against a real server of the same binary with canned answers.

mod program;
mod serving;
mod talking;
mod telling;
