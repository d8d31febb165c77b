//! Starts children and listens to them. It must not know what they do.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Long enough for a slow disk on a busy machine; only a deadlock takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A setting of these tests, or an order to a child.
#[expect(clippy::disallowed_methods, reason = "tests have no other way to be told something")]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(format!("ANTIPHON_FAULT_{name}")).ok()
}

/// How often random faults are repeated.
pub(crate) fn rounds() -> u64 {
    setting("ROUNDS").map_or(20, |rounds| rounds.parse().expect("ANTIPHON_FAULT_ROUNDS is a number"))
}

/// A small generator with a printed seed, so that a failure can be repeated with `ANTIPHON_FAULT_SEED`.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(name: &str) -> Self {
        let seed = setting("SEED").map_or_else(|| u64::from(std::process::id()), |seed| seed.parse().unwrap());
        println!("{name}: ANTIPHON_FAULT_SEED={seed}");
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Another one, whose rolls depend on this one's and not on how often it rolls afterwards.
    pub(crate) fn another(&mut self) -> Self {
        Self(self.roll(u64::MAX).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Whether something happens that does so once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// The command for a child in the given role; its settings are added as `ANTIPHON_FAULT_...`.
pub(crate) fn child(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child::child", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("ANTIPHON_FAULT_CHILD", role).env("ANTIPHON_FAULT_DIR", dir);
    command
}

/// A running child and the lines it says, each with a word first.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (say, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            // The test that listened may be over.
            out.lines().map_while(Result::ok).try_for_each(|line| say.send(line)).ok();
        });
        Self { child, lines }
    }

    /// The rest of the next line that begins with `word`; none when the child has ended.
    pub(crate) fn hear(&mut self, word: &str) -> Option<String> {
        loop {
            // Lines of the test runner are mixed in, sometimes without an end of their own.
            if let Some((_, rest)) = self.line()?.split_once(&format!("{word}: ")) {
                return Some(rest.to_owned());
            }
        }
    }

    /// As [`Running::hear`], for a child that must say it.
    pub(crate) fn expect(&mut self, word: &str) -> String {
        match self.hear(word) {
            Some(line) => line,
            None => panic!("the child ended before it said {word:?}: {}", self.errors()),
        }
    }

    /// Every line until it ends.
    pub(crate) fn lines_to_end(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.line()).collect()
    }

    fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().ok();
                panic!("the child has said nothing for {PATIENCE:?}");
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no handler, no destructor, no flush.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end; whether it ended well.
    pub(crate) fn end(&mut self) -> bool {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().success()
    }

    /// Everything it wrote to its standard error.
    pub(crate) fn errors(&mut self) -> String {
        self.end();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
