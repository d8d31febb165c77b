//! What is imported, as lines: an export as it is, chats one a line whatever form they come in, or those of `llm`. It must not judge a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use serde_json::Value;

use super::llm;
use crate::engine::file;
use crate::grpc::pb;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::terminal::Terminal;

/// Lines go together up to so many bytes.
const CHUNK: usize = 128 * 1024;
/// The longest line, in bytes: far beyond what a server takes in one.
const MAX_LINE: u64 = 256 << 20;
/// The longest document with all chats in one, in bytes, which is read as a whole.
const MAX_DOCUMENT: u64 = 1 << 30;
/// How a SQLite database begins.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// What the first line of an export has at its beginning.
const EXPORT: &[u8] = br#"{"kind":"antiphon_export""#;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// What `export` and `backup` write.
    Antiphon,
    /// Chats in the form of OpenAI, as JSON or one a line.
    Openai,
    /// The database of `llm`.
    Llm,
}

/// Lines to send.
pub(super) struct Source {
    native: bool,
    input: Box<dyn BufRead + Send>,
    name: String,
    next: u64,
}

impl Source {
    /// Opens a file, or takes the input, and looks at its beginning.
    pub(super) fn open(file: &Path, format: Option<Format>, terminal: &mut Terminal) -> Result<Self, Failure> {
        let name = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
        let input: Box<dyn Read + Send> = if file.as_os_str() == "-" {
            terminal.take_input()
        } else {
            Box::new(File::open(file).map_err(|error| unreadable(&name, &error))?)
        };
        let mut input: Box<dyn BufRead + Send> = Box::new(BufReader::with_capacity(CHUNK, input));
        let start = input.fill_buf().map_err(|error| unreadable(&name, &error))?;
        let format = format.unwrap_or_else(|| match start {
            start if start.starts_with(SQLITE) => Format::Llm,
            start if start.starts_with(EXPORT) => Format::Antiphon,
            _ => Format::Openai,
        });
        let input = match format {
            Format::Antiphon => input,
            Format::Llm if file.as_os_str() == "-" => {
                return Err(Failure::usage("the database of llm is read from its file: name it"));
            }
            Format::Llm => Box::new(Cursor::new(llm::lines(file)?.into_bytes())),
            Format::Openai if is_by_lines(start) => input,
            Format::Openai => Box::new(Cursor::new(one_a_line(&name, input)?.into_bytes())),
        };
        Ok(Self { native: format == Format::Antiphon, input, name, next: 1 })
    }

    /// It is an export.
    pub(super) fn is_native(&self) -> bool {
        self.native
    }

    /// The next lines.
    pub(super) fn next(&mut self) -> Result<Option<pb::TransferChunk>, Failure> {
        let first_line = self.next;
        let mut bytes = Vec::new();
        while bytes.len() < CHUNK {
            let mut line = self.input.by_ref().take(MAX_LINE);
            let length = line.read_until(b'\n', &mut bytes).map_err(|error| unreadable(&self.name, &error))?;
            if length == 0 {
                break;
            }
            if line.limit() == 0 {
                let what = format!("{}: line {} is longer than {MAX_LINE} bytes", self.name, self.next);
                return Err(Failure::here(what, "look whether it is what was meant to be imported"));
            }
            self.next += 1;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let lines_json = String::from_utf8(bytes).map_err(|error| {
            let before = error.as_bytes().iter().take(error.utf8_error().valid_up_to()).filter(|byte| **byte == b'\n');
            let line = first_line + before.count() as u64;
            Failure::here(format!("{}: line {line} is not UTF-8", self.name), "convert it to UTF-8, or export it again")
        })?;
        Ok(Some(pb::TransferChunk { lines_json, first_line }))
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let (what, remedy) = match error.kind() {
        ErrorKind::NotFound => ("there is no such file", "name one that is there; `antiphon export FILE` writes one"),
        ErrorKind::PermissionDenied => ("you may not read it", "have its owner let you read it, or pipe it in"),
        ErrorKind::IsADirectory => ("is a folder", "name a file in it"),
        // What is read as text and is none.
        ErrorKind::InvalidData => (
            "is not text",
            "unpack it first if it is compressed; what can be read is an export or a backup, chats as JSON, and the database of `llm`",
        ),
        _ => {
            return Failure::here(
                format!("{name}: {error}"),
                "look whether it can be read otherwise, and run the command again",
            );
        }
    };
    Failure::here(format!("{name}: {what}"), remedy)
}

/// Whether chats come one a line: the first line is a whole object.
fn is_by_lines(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    // One that does not end in what was read is longer than any line over which a document is spread.
    let is_cut = !start.contains(&b'\n') && start.len() >= CHUNK;
    line.starts_with(b"{") && (is_cut || serde_json::from_slice::<Value>(line).is_ok())
}

/// Chats of one JSON document: a chat, the messages of one, or a list of chats.
fn one_a_line(name: &str, input: Box<dyn BufRead + Send>) -> Result<String, Failure> {
    let read = file::bounded(input, MAX_DOCUMENT).and_then(file::text);
    let text = read.map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => {
            let what = format!("{name}: a document of all chats in one has at most {MAX_DOCUMENT} bytes");
            Failure::here(what, "give them one a line, of which there may be any number")
        }
        _ => unreadable(name, &error),
    })?;
    let document: Value = serde_json::from_str(&text).map_err(|error| {
        let what =
            format!("{name} is neither JSON nor JSON by lines: line {}, column {}", error.line(), error.column());
        Failure::here(what, "give a list of {\"messages\": [...]}, or one a line")
    })?;
    let chats = match document {
        Value::Array(items) if items.iter().all(|item| item.get("role").is_some()) => {
            vec![serde_json::json!({ "messages": items })]
        }
        Value::Array(items) => items,
        other => vec![other],
    };
    Ok(chats.iter().map(|chat| format!("{chat}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> String {
        let mut terminal = Terminal::for_test();
        terminal.set_input(text);
        let mut source = Source::open(Path::new("-"), None, &mut terminal).unwrap();
        assert!(!source.is_native());
        source.next().unwrap().map(|chunk| chunk.lines_json).unwrap_or_default()
    }

    #[test]
    fn chats_come_one_a_line_whatever_form_they_are_in() {
        let chat = r#"{"messages":[{"role":"user","content":"q"}]}"#;
        let by_lines = format!("{chat}\n{chat}\n");
        assert_eq!(lines(&by_lines), by_lines);
        assert_eq!(lines(&format!("[{chat},\n {chat}]")), by_lines);
        assert_eq!(lines("{\n \"messages\": [\n{\"role\":\"user\",\"content\":\"q\"}]\n}\n"), format!("{chat}\n"));
        assert_eq!(lines(r#"[{"role":"user","content":"q"}]"#), format!("{chat}\n"));
    }

    #[test]
    fn an_export_is_known_by_its_first_line_and_stays_as_it_is() {
        let mut terminal = Terminal::for_test();
        terminal.set_input("{\"kind\":\"antiphon_export\",\"format\":1}\nx\ny");
        let mut source = Source::open(Path::new("-"), None, &mut terminal).unwrap();
        assert!(source.is_native());
        let chunk = source.next().unwrap().unwrap();
        assert_eq!((chunk.first_line, chunk.lines_json.ends_with("x\ny")), (1, true));
        assert!(source.next().unwrap().is_none());
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_their_line() {
        let mut source =
            Source { native: true, input: Box::new(Cursor::new(b"a\nb\xff\n".to_vec())), name: "f".into(), next: 1 };
        let failure = source.next().unwrap_err();
        assert!(failure.to_string().contains("line 2 is not UTF-8"), "{failure}");
    }
}
