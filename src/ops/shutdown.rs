//! Being told to stop: the first SIGTERM or SIGINT asks for a shutdown in good order, a second one for an end at once. It must not know what
//! has to be done then.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

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
}
