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
    /// What is counted.
    thing: &'static str,
    shown: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    /// Of what is being done with lines, such as `exported`.
    pub(crate) fn new(verb: &'static str) -> Self {
        Self::of(verb, "line")
    }

    /// Of what is being done with something else.
    pub(crate) fn of(verb: &'static str, thing: &'static str) -> Self {
        Self { verb, thing, shown: None, is_shown: false }
    }

    /// So much is done; no bytes where they are not known. Nothing is shown but to a person.
    pub(crate) fn show(&mut self, count: u64, bytes: u64, terminal: &mut Terminal) -> io::Result<()> {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= EVERY);
        if !is_due || terminal.is_json() || !terminal.err_is_terminal() {
            return Ok(());
        }
        (self.shown, self.is_shown) = (Some(Instant::now()), true);
        let (verb, count) = (self.verb, words::count(count, self.thing));
        let bytes = if bytes == 0 { String::new() } else { format!(", {}", words::bytes(bytes)) };
        terminal.write_err(&format!("\r\u{1b}[K{verb} {count}{bytes}"))
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self, terminal: &mut Terminal) -> io::Result<()> {
        if std::mem::take(&mut self.is_shown) { terminal.write_err("\r\u{1b}[K") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Colour;
    use super::*;

    #[test]
    fn a_person_sees_one_line_that_changes_and_goes() {
        let (mut terminal, out, err) = Terminal::captured();
        terminal.set_err_is_terminal(true);
        let mut progress = Progress::new("stored");
        progress.show(1, 0, &mut terminal).unwrap();
        progress.show(2, 0, &mut terminal).unwrap();
        progress.end(&mut terminal).unwrap();
        progress.end(&mut terminal).unwrap();
        assert_eq!(err.text(), "\r\u{1b}[Kstored 1 line\r\u{1b}[K", "not more often than it can be read");
        Progress::of("filled", "exchange").show(7, 2_048, &mut terminal).unwrap();
        assert!(err.text().ends_with("filled 7 exchanges, 2.0 KiB"), "{}", err.text());
        assert_eq!(out.text(), "");
    }

    #[test]
    fn a_program_that_reads_sees_nothing() {
        for (is_terminal, is_json) in [(false, false), (true, true)] {
            let (mut terminal, _, err) = Terminal::captured();
            terminal.set_err_is_terminal(is_terminal);
            terminal.configure(Colour::Auto, is_json);
            let mut progress = Progress::new("stored");
            progress.show(1, 1, &mut terminal).unwrap();
            progress.end(&mut terminal).unwrap();
            assert_eq!(err.text(), "");
        }
    }
}
