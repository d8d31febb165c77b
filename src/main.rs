//! The door: hands the process's arguments, environment and streams to the command line. It must not know any command.

use std::io::{IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use antiphon::ops::cli::{self, Streams};
use antiphon::ops::environment::ProcessEnvironment;

fn main() -> ExitCode {
    let streams = Streams {
        input_is_terminal: stdin().is_terminal(),
        out_is_terminal: stdout().is_terminal(),
        err_is_terminal: stderr().is_terminal(),
        input: Box::new(stdin()),
        out: Box::new(stdout()),
        err: Box::new(stderr()),
    };
    ExitCode::from(cli::run(std::env::args_os(), &ProcessEnvironment, streams))
}
