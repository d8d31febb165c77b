//! Running the binary: a server that is up, and commands against it, with nothing of the tester's own environment. It must not know what is
//! tested.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Whatever a test waits for comes within this, or never.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Canned answers for every test.
const CONFIG: &str = r#"
default_profile = "canned"

[server]
drain_grace_seconds = 20

[store]
min_free_mebibytes = 0

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"

[[backends.script.rules]]
when = "weather"
on = "user"
tool_calls = [{ name = "look", arguments = { where = "sea" } }]

[[backends.script.rules]]
when = "weather"
on = "tool"
text = "it is {last_tool}"

[[backends.script.rules]]
when = "both of them"
on = "user"
tool_calls = [{ name = "look", arguments = {} }, { name = "count", arguments = {} }]

[[backends.script.rules]]
when = "endlessly"
on = "user"
tool_calls = [{ name = "look", arguments = {} }]

[[backends.script.rules]]
when = "endlessly"
on = "tool"
tool_calls = [{ name = "look", arguments = {} }]

[[backends.script.rules]]
when = "slowly"
text = "one two three"
chunk_chars = 4
chunk_gap_ms = 300

[[backends.script.rules]]
when = "wait for me"
text = "done"
delay_ms = 2000

[[backends.script.rules]]
when = "never"
text = "done"
delay_ms = 600000

[[backends.script.rules]]
when = "escape"
text = "a\u001b[2Jb"

[[backends.script.rules]]
when = "break"
fault = { kind = "status", status = 400, message = "no such thing" }
"#;

/// A command without anything of the tester's environment but where programs are found.
pub(crate) fn binary(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_antiphon"));
    let path = std::env::vars_os().find(|(name, _)| name == "PATH");
    command.env_clear().envs(path).env("HOME", home).current_dir(home).stdin(Stdio::null());
    command
}

/// A server that is up until it is dropped.
pub(crate) struct Server {
    pub(crate) home: TempDir,
    child: Child,
    pub(crate) url: String,
    /// What it said on the errors, once it has ended.
    log: mpsc::Receiver<String>,
}

impl Server {
    /// With canned answers and a store that is not kept.
    pub(crate) fn start() -> Self {
        Self::with(&["--ephemeral"])
    }

    /// With canned answers and these options.
    pub(crate) fn with(options: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("antiphon.toml"), CONFIG).unwrap();
        Self::at(home, options)
    }

    /// In a folder that may have been used before.
    pub(crate) fn at(home: TempDir, options: &[&str]) -> Self {
        let command = binary(home.path());
        Self::of(home, command, options)
    }

    /// With a store that is not kept, in this folder for temporary files.
    pub(crate) fn at_temporary(folder: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("antiphon.toml"), CONFIG).unwrap();
        let mut command = binary(home.path());
        command.env("TMPDIR", folder);
        Self::of(home, command, &["--ephemeral"])
    }

    fn of(home: TempDir, mut command: Command, options: &[&str]) -> Self {
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = reader(child.stderr.take().unwrap(), |mut stream| {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        });
        let first = reader(child.stdout.take().unwrap(), |stream| {
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line
        });
        let line = first.recv_timeout(PATIENCE).expect("the server says where it listens");
        let Some(address) = line.trim_end().strip_prefix("listening on ") else {
            child.kill().ok();
            panic!("it said {line:?} and {:?}", log.recv_timeout(PATIENCE));
        };
        Self { url: format!("http://{address}"), home, child, log }
    }

    /// A command against it.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = binary(self.home.path());
        command.env("ANTIPHON_SERVER", &self.url).args(["--timeout", "20s"]).args(arguments);
        command
    }

    /// What a command says, whatever comes of it.
    pub(crate) fn say<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// What a command says that must succeed.
    pub(crate) fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Said {
        let said = self.say(arguments);
        assert_eq!(said.code, Some(0), "{said:#?}");
        said
    }

    /// The JSON that a command answers.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let said = self.run(arguments.iter().chain(&["--json"]));
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:#?}"))
    }

    /// What a command says that is given some input.
    pub(crate) fn feed(&self, arguments: &[&str], input: &str) -> Said {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Said::of(child.wait_with_output().unwrap())
    }

    /// A file in its folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Sends signals one right after the other.
    pub(crate) fn signals(&self, names: &[&str]) {
        let id = self.child.id();
        let script: Vec<String> = names.iter().map(|name| format!("kill -{name} {id}")).collect();
        assert!(Command::new("sh").args(["-c", &script.join("; ")]).status().unwrap().success());
    }

    /// Sends a signal over and over until it has ended.
    pub(crate) fn signal_until_ended(&self, name: &str) {
        let id = self.child.id().to_string();
        // Its state is Z from its end until it is waited for.
        let has_ended = || {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z') || rest.is_empty())
        };
        until("its end", || {
            Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
            has_ended()
        });
    }

    /// Waits for its end; gives its status, what it logged, and its folder.
    pub(crate) fn ended(mut self) -> (ExitStatus, String, TempDir) {
        let log = self.log.recv_timeout(PATIENCE).expect("the server ends");
        let status = self.child.wait().unwrap();
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().unwrap());
        (status, log, home)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads a stream on a thread of its own.
fn reader<S: Send + 'static, T: Send + 'static>(
    stream: S,
    read: impl FnOnce(S) -> T + Send + 'static,
) -> mpsc::Receiver<T> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(read(stream)));
    receive
}

/// Waits until something holds that has no event to wait for, such as another process's state.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The word after a word on the errors, such as the id after `exchange`.
    pub(crate) fn after(&self, word: &str) -> String {
        let mut words = self.err.split_whitespace().skip_while(|w| *w != word);
        words.nth(1).unwrap_or_else(|| panic!("{word} is missing in {self:#?}")).to_owned()
    }
}
