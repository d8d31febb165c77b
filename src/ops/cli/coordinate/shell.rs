//! Commands of the caller's own: one is run in a shell with some input, and what it says is taken. It must not know what it is asked for.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedSender;

/// How a shell ends that Ctrl-C reached.
const INTERRUPTED: i32 = 130;

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its output, without the line end that a program adds.
    pub(crate) out: String,
    /// The last line of its errors that is not empty.
    pub(crate) last_error: String,
    /// All of its errors.
    pub(crate) errors: String,
    /// Its exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Ctrl-C ended it.
    pub(crate) interrupted: bool,
}

impl Said {
    /// It did what it should.
    pub(crate) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in words.
    pub(crate) fn ending(&self) -> String {
        self.code.map_or_else(|| "it was ended by a signal".to_owned(), |code| format!("its exit code is {code}"))
    }
}

/// Runs a command with this input and these variables. The lines of its errors are passed on as they come. It ends with whoever waits for it.
pub(crate) async fn run(
    command: &str,
    variables: &[(&'static str, String)],
    input: String,
    errors: UnboundedSender<String>,
) -> io::Result<Said> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let missing = || io::Error::other("a pipe of the command is missing");
    let mut stdin = child.stdin.take().ok_or_else(missing)?;
    let mut stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    let feed = async move {
        match stdin.write_all(input.as_bytes()).await {
            // Whoever does not want its input need not read it.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    };
    let listen = async move {
        let mut out = Vec::new();
        stdout.read_to_end(&mut out).await.map(|_| out)
    };
    let watch = async move {
        let mut all = String::new();
        let mut lines = BufReader::new(stderr).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            let line = String::from_utf8_lossy(&line).into_owned();
            all.push_str(&line);
            all.push('\n');
            // Nobody listens only where nobody waits either.
            errors.send(line).ok();
        }
        Ok::<_, io::Error>(all)
    };
    let ((), out, errors, status) = tokio::try_join!(feed, listen, watch, child.wait())?;
    let out = String::from_utf8_lossy(&out).into_owned();
    let interrupted = status.signal() == Some(libc::SIGINT) || status.code() == Some(INTERRUPTED);
    Ok(Said {
        out: out.strip_suffix('\n').unwrap_or(&out).to_owned(),
        last_error: errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned(),
        errors: errors.trim_end().to_owned(),
        code: status.code(),
        interrupted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn said(command: &str, input: &str) -> (Said, Vec<String>) {
        let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
        let variables = [("ANTIPHON_TEST", "x".to_owned())];
        let said = run(command, &variables, input.to_owned(), send).await.unwrap();
        let mut lines = Vec::new();
        while let Some(line) = receive.recv().await {
            lines.push(line);
        }
        (said, lines)
    }

    #[tokio::test]
    async fn a_command_reads_its_input_and_its_output_is_taken() {
        let (said, lines) = said("cat; echo $ANTIPHON_TEST; echo one >&2; echo two >&2; echo >&2; exit 3", "in ").await;
        assert_eq!((said.out.as_str(), said.last_error.as_str(), said.code), ("in x", "two", Some(3)));
        assert!(!said.succeeded() && !said.interrupted);
        assert_eq!(lines, ["one", "two", ""]);
    }

    #[tokio::test]
    async fn a_command_need_not_read_its_input() {
        let (said, _) = said("exec 0<&-; echo done", &"x".repeat(1 << 20)).await;
        assert!(said.succeeded());
        assert_eq!(said.out, "done");
    }

    #[tokio::test]
    async fn ctrl_c_is_told_from_other_ends() {
        assert!(said("kill -INT $$", "").await.0.interrupted);
        assert!(said("exit 130", "").await.0.interrupted);
        let (killed, _) = said("kill -KILL $$", "").await;
        assert!(!killed.interrupted && killed.ending().contains("signal"));
    }
}
