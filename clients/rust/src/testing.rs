//! Starts a real server for tests and tells its address. Knows nothing of the client.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A configuration with which whatever is said is echoed.
pub const ECHO: &str = r#"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"
"#;

/// What kind of server to start.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Config {
    binary: Option<PathBuf>,
    text: Option<String>,
    files: BTreeMap<PathBuf, String>,
    data: Option<PathBuf>,
    listen: Option<String>,
}

impl Config {
    /// The program; else what ANTIPHON_BINARY names, else `antiphon` on the PATH.
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// The text of its configuration; [`ECHO`] when absent.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// A file beside its configuration.
    pub fn file(mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }

    /// Keeps the store in this folder, so that another server can go on with it; else it is gone with the server.
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// The address to listen on; a free port when absent.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// Starts it and waits until it listens.
    ///
    /// # Errors
    /// There is no program, or it did not start; then the error has what it said.
    pub fn start(self) -> Result<Server> {
        let folder = TempDir::with_prefix("antiphon-")?;
        let binary = self.binary.unwrap_or_else(named);
        for (name, text) in self.files {
            write(&folder.path().join(name), &text)?;
        }
        let config = folder.path().join("antiphon.toml");
        write(&config, self.text.as_deref().unwrap_or(ECHO))?;
        let mut command = Command::new(&binary);
        command.arg("serve").arg("--config").arg(config);
        command.args(["--listen", self.listen.as_deref().unwrap_or("127.0.0.1:0")]);
        match self.data {
            Some(data) => command.arg("--data").arg(data),
            None => command.arg("--ephemeral"),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(std::fs::File::create(folder.path().join("log"))?);
        let process = command.spawn().map_err(|error| {
            let why = "name it, set ANTIPHON_BINARY, or put it on the PATH";
            Error::new(error.kind(), format!("no antiphon binary at {}: {why}: {error}", binary.display()))
        })?;
        let mut server = Server { address: String::new(), process: Some(process), folder };
        server.address = server.said()?;
        Ok(server)
    }
}

#[expect(clippy::disallowed_methods, reason = "ANTIPHON_BINARY names the program for the tests of every client")]
fn named() -> PathBuf {
    std::env::var_os("ANTIPHON_BINARY").filter(|path| !path.is_empty()).unwrap_or_else(|| "antiphon".into()).into()
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// A server of its own. It is killed when it is dropped; close clients before it is stopped, since an open connection holds up its end.
#[derive(Debug)]
pub struct Server {
    address: String,
    process: Option<Child>,
    folder: TempDir,
}

impl Server {
    /// One that echoes.
    ///
    /// # Errors
    /// There is no program, or it did not start.
    pub fn start() -> Result<Self> {
        Config::default().start()
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it said on standard error.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn log(&self) -> Result<String> {
        std::fs::read_to_string(self.folder.path().join("log"))
    }

    /// Stops it in good order.
    ///
    /// # Errors
    /// It is gone already.
    pub fn stop(&mut self) -> Result<()> {
        self.end(Signal::TERM)
    }

    /// Stops it as a crash would.
    ///
    /// # Errors
    /// It is gone already.
    pub fn kill(&mut self) -> Result<()> {
        self.end(Signal::KILL)
    }

    fn end(&mut self, how: Signal) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
            kill_process(id.ok_or(ErrorKind::NotFound)?, how)?;
            process.wait()?;
        }
        Ok(())
    }

    /// The address that it says it listens on.
    fn said(&mut self) -> Result<String> {
        let mut line = String::new();
        // It is kept open, so that the server may say more.
        if let Some(out) = self.process.as_mut().and_then(|process| process.stdout.as_mut()) {
            BufReader::new(out).read_line(&mut line)?;
        }
        match line.trim().strip_prefix("listening on ") {
            Some(address) => Ok(address.to_owned()),
            None => Err(Error::other(format!("the server did not start: it said {line:?}\n{}", self.log()?))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that is gone already needs no killing.
        let _gone = self.kill().is_err();
    }
}
