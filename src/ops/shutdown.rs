//! Being told to stop: the first SIGTERM or SIGINT asks for a shutdown in good order, a second one for an end at once, unless it is the first
//! one arriving twice; SIGHUP asks for the configuration to be read anew. It must not know what has to be done then.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// A signal that comes so soon after the first is the same wish. A terminal sends Ctrl-C to every process of the job, and a program that
/// started the server and heard it too passes it on; nobody types twice so fast.
const SAME_WITHIN: Duration = Duration::from_millis(100);

/// The signals that end a server.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals over: from now on they end nothing by themselves.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn take() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one; tells its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for another one after one that came now, and tells its name.
    pub async fn another(&mut self) -> &'static str {
        after_the_first(async || self.next().await).await
    }
}

/// The signal that asks for the configuration to be read anew.
pub struct Hangups(Signal);

impl Hangups {
    /// Takes the signal over, so that it ends nothing by itself.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn take() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::hangup())?))
    }

    /// Calls this for each one, for ever.
    pub async fn each(mut self, reload: impl Fn()) -> Infallible {
        loop {
            match self.0.recv().await {
                Some(()) => reload(),
                // The system brings no more of them.
                None => std::future::pending().await,
            }
        }
    }
}

async fn after_the_first(mut next: impl AsyncFnMut() -> &'static str) -> &'static str {
    let first = Instant::now();
    loop {
        let signal = next().await;
        if first.elapsed() >= SAME_WITHIN {
            return signal;
        }
        tracing::debug!(signal, "shutdown.asked_twice");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_signal_that_arrives_twice_is_one() {
        let mut waits = [0, 5, 94, 1].into_iter();
        let begun = Instant::now();
        let signal = after_the_first(async || {
            tokio::time::sleep(Duration::from_millis(waits.next().unwrap())).await;
            if waits.len() == 0 { "the last" } else { "too soon" }
        });
        assert_eq!(signal.await, "the last");
        assert_eq!(begun.elapsed(), Duration::from_millis(100));
    }
}
