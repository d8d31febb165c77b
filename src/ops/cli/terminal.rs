//! Where the command line reads and writes: streams that its caller hands in, what is known of them, colours, JSON or text. It must not
//! know commands.

use std::io::{self, Read, Write};

use super::json;
use crate::engine::file;

/// The most that is read of what is said in a file or on the input, in bytes: as long as the longest answer that is taken.
pub(crate) const MAX_INPUT_BYTES: u64 = 256 << 20;

/// What the process was given to read and write.
pub struct Streams {
    /// Standard input.
    pub input: Box<dyn Read + Send>,
    /// Standard output.
    pub out: Box<dyn Write + Send>,
    /// Standard error.
    pub err: Box<dyn Write + Send>,
    /// A person types the input.
    pub input_is_terminal: bool,
    /// A person reads the output.
    pub out_is_terminal: bool,
    /// A person reads the errors.
    pub err_is_terminal: bool,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As it is.
    Plain,
    /// What stands out.
    Bold,
    /// What may be passed over.
    Dim,
    /// Names that can be typed again.
    Name,
    /// What went well.
    Good,
    /// What needs a look.
    Odd,
    /// What went wrong.
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\u{1b}[1m",
            Self::Dim => "\u{1b}[2m",
            Self::Name => "\u{1b}[36m",
            Self::Good => "\u{1b}[32m",
            Self::Odd => "\u{1b}[33m",
            Self::Bad => "\u{1b}[1;31m",
        }
    }
}

/// The streams with how they are used.
pub(crate) struct Terminal {
    streams: Streams,
    colour: Colour,
    no_colour: bool,
    json: bool,
    program: String,
}

impl Terminal {
    /// Puts streams to use. `no_colour` is what the environment wishes.
    pub(crate) fn new(streams: Streams, no_colour: bool) -> Self {
        Self { streams, colour: Colour::Auto, no_colour, json: false, program: "antiphon".to_owned() }
    }

    /// What the command line said about output.
    pub(crate) fn configure(&mut self, colour: Colour, json: bool) {
        self.colour = colour;
        self.json = json;
    }

    /// Commands to type next must name this server too.
    pub(crate) fn name_server(&mut self, server: &str) {
        self.program = format!("antiphon --server {server}");
    }

    /// A command to type next, as it must be typed here.
    pub(crate) fn typed(&self, command: &str) -> String {
        command.replace("antiphon ", &format!("{} ", self.program))
    }

    /// Answers are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A person reads the output.
    pub(crate) fn out_is_terminal(&self) -> bool {
        self.streams.out_is_terminal
    }

    /// A person reads the errors.
    pub(crate) fn err_is_terminal(&self) -> bool {
        self.streams.err_is_terminal
    }

    fn colours(&self, is_terminal: bool) -> bool {
        match self.colour {
            Colour::Auto => is_terminal && !self.no_colour,
            Colour::Always => true,
            Colour::Never => false,
        }
    }

    /// The errors are shown in colours.
    pub(crate) fn err_has_colours(&self) -> bool {
        self.colours(self.streams.err_is_terminal)
    }

    /// Text in a style, for the output.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        painted(self.colours(self.streams.out_is_terminal), style, text)
    }

    /// Text in a style, for the errors.
    pub(crate) fn paint_err(&self, style: Style, text: &str) -> String {
        painted(self.colours(self.streams.err_is_terminal), style, text)
    }

    /// Text of somebody else, fit for the output: verbatim for a program, and for a person without what would steer the terminal.
    pub(crate) fn foreign(&self, text: &str) -> String {
        if self.streams.out_is_terminal { harmless(text) } else { text.to_owned() }
    }

    /// Writes to the output and passes it on at once.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.streams.out.write_all(text.as_bytes())?;
        self.streams.out.flush()
    }

    /// Writes bytes to the output as they are, unless a person reads it whose terminal they would steer.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.streams.out_is_terminal {
            let text = harmless(&String::from_utf8_lossy(bytes));
            return self.write(&text);
        }
        self.streams.out.write_all(bytes)
    }

    /// Writes a line to the output.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.streams.out.write_all(text.as_bytes())?;
        self.streams.out.write_all(b"\n")
    }

    /// Writes lines to the output.
    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(&line))
    }

    /// Writes a message of the API to the output as JSON.
    pub(crate) fn json<M: json::Named>(&mut self, message: &M) -> io::Result<()> {
        let text = json::pretty(message).map_err(io::Error::other)?;
        self.line(&text)
    }

    /// Writes a message of the API to the output as one line of JSON, and passes it on at once.
    pub(crate) fn json_line<M: json::Named>(&mut self, message: &M) -> io::Result<()> {
        let text = json::line(message).map_err(io::Error::other)?;
        self.line(&text)?;
        self.flush()
    }

    /// Passes on what was written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.streams.out.flush()
    }

    /// Writes to the errors and passes it on at once.
    pub(crate) fn write_err(&mut self, text: &str) -> io::Result<()> {
        self.streams.err.write_all(text.as_bytes())?;
        self.streams.err.flush()
    }

    /// Writes a line to the errors.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.write_err(&format!("{text}\n"))
    }

    /// Reads all input as text.
    pub(crate) fn read_input(&mut self) -> io::Result<String> {
        file::bounded(&mut self.streams.input, MAX_INPUT_BYTES).and_then(file::text)
    }

    /// The input, to be read elsewhere; nothing is left of it here.
    pub(crate) fn take_input(&mut self) -> Box<dyn Read + Send> {
        std::mem::replace(&mut self.streams.input, Box::new(io::empty()))
    }

    /// Input comes from a program or a file.
    pub(crate) fn input_is_piped(&self) -> bool {
        !self.streams.input_is_terminal
    }
}

fn painted(colours: bool, style: Style, text: &str) -> String {
    if colours && style != Style::Plain && !text.is_empty() {
        format!("{}{text}\u{1b}[0m", style.code())
    } else {
        text.to_owned()
    }
}

/// Text without control characters, except for line ends and tabs.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
impl Terminal {
    /// A terminal that nobody reads.
    pub(crate) fn for_test() -> Self {
        Self::captured().0
    }

    /// A terminal whose output and errors can be looked at.
    pub(crate) fn captured() -> (Self, tests::Captured, tests::Captured) {
        let (out, err) = (tests::Captured::default(), tests::Captured::default());
        let streams = Streams {
            input: Box::new(io::empty()),
            out: Box::new(out.clone()),
            err: Box::new(err.clone()),
            input_is_terminal: true,
            out_is_terminal: false,
            err_is_terminal: false,
        };
        (Self::new(streams, false), out, err)
    }

    pub(crate) fn set_colour(&mut self, on: bool) {
        self.colour = if on { Colour::Always } else { Colour::Never };
    }

    pub(crate) fn set_input(&mut self, text: &str) {
        self.streams.input = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
        self.streams.input_is_terminal = false;
    }

    pub(crate) fn set_err_is_terminal(&mut self, yes: bool) {
        self.streams.err_is_terminal = yes;
    }

    pub(crate) fn set_out_is_terminal(&mut self, yes: bool) {
        self.streams.out_is_terminal = yes;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A writer whose content can be looked at.
    #[derive(Clone, Default)]
    pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Captured {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn colours_follow_the_terminal_the_flag_and_the_environment() {
        let mut terminal = Terminal::for_test();
        assert_eq!(terminal.paint(Style::Bold, "x"), "x");
        terminal.set_out_is_terminal(true);
        assert_eq!(terminal.paint(Style::Bold, "x"), "\u{1b}[1mx\u{1b}[0m");
        terminal.no_colour = true;
        assert_eq!(terminal.paint(Style::Bold, "x"), "x");
        terminal.configure(Colour::Always, false);
        assert_eq!(terminal.paint(Style::Bold, "x"), "\u{1b}[1mx\u{1b}[0m");
        assert_eq!(terminal.paint(Style::Bold, ""), "");
    }

    #[test]
    fn a_models_text_cannot_steer_a_terminal_and_reaches_a_program_verbatim() {
        let mut terminal = Terminal::for_test();
        let text = "a\u{1b}]0;title\u{7}\nb\tc\u{9b}2J";
        assert_eq!(terminal.foreign(text), text);
        terminal.set_out_is_terminal(true);
        assert_eq!(terminal.foreign(text), "a]0;title\nb\tc2J");
    }
}
