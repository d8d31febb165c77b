//! How far something is that takes long, on one line that a person watches. It must not know what it is.

use std::io;
use std::time::{Duration, Instant};

use super::terminal::Terminal;
use super::words;

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(200);

/// A line that changes.
pub(crate) struct Progress {
    verb: &'static str,
    shown: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    /// Of what is being done, such as `exported`.
    pub(crate) fn new(verb: &'static str) -> Self {
        Self { verb, shown: None, is_shown: false }
    }

    /// So much is done. Nothing is shown but to a person.
    pub(crate) fn show(&mut self, lines: u64, bytes: u64, terminal: &mut Terminal) -> io::Result<()> {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= EVERY);
        if !is_due || terminal.is_json() || !terminal.err_is_terminal() {
            return Ok(());
        }
        (self.shown, self.is_shown) = (Some(Instant::now()), true);
        let verb = self.verb;
        terminal.write_err(&format!("\r\u{1b}[K{verb} {}, {}", words::count(lines, "line"), words::bytes(bytes)))
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self, terminal: &mut Terminal) -> io::Result<()> {
        if std::mem::take(&mut self.is_shown) { terminal.write_err("\r\u{1b}[K") } else { Ok(()) }
    }
}
