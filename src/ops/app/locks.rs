//! What lets callers in: the door and the certificates of a server, whose files are looked at again while it serves. It must not know what is
//! in the files.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::app::access::Door;
use crate::app::reload::Mistake;
use crate::domain::source::Clock;
use crate::ops::access;
use crate::ops::config::Config;
use crate::ops::tls::Certificates;

/// How often the files are looked at: a key that was revoked is taken for at most this long.
const LOOK: Duration = Duration::from_secs(2);

/// What lets callers in.
#[derive(Clone)]
pub struct Locks {
    /// Where credentials are looked at.
    pub door: Arc<dyn Door>,
    /// What connections are encrypted with; absent where they are not.
    pub certificates: Option<Arc<Certificates>>,
}

impl Locks {
    /// Reads what a configuration names, from the folder `base`.
    ///
    /// # Errors
    /// Every mistake in the files.
    pub(super) fn read(config: &Config, base: &Path, clock: &Arc<dyn Clock>) -> Result<Self, Vec<Mistake>> {
        match (access::door(&config.access, base, clock), Certificates::read(&config.tls, base)) {
            (Ok(door), Ok(certificates)) => Ok(Self { door, certificates }),
            (door, certificates) => Err([door.err(), certificates.err()].into_iter().flatten().flatten().collect()),
        }
    }

    /// Reads the files anew and puts in force what they say, each as a whole or not at all. Blocks.
    fn refresh(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let certificates = self.certificates.as_ref().map(|certificates| certificates.refresh());
        for (what, refreshed) in [("keys", Some(self.door.refresh())), ("certificates", certificates)] {
            match refreshed {
                Some(Ok(true)) => tracing::info!(what, "access.changed"),
                Some(Err(found)) => mistakes.extend(found),
                Some(Ok(false)) | None => {}
            }
        }
        mistakes
    }

    /// Looks at the files for as long as the server serves. Mistakes are told once for as long as they are the same.
    pub(super) async fn look(self) -> Infallible {
        let mut told = Vec::new();
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let locks = self.clone();
            // What broke there is told by the panic itself, and the files are looked at again.
            let Ok(mistakes) = tokio::task::spawn_blocking(move || locks.refresh()).await else { continue };
            if mistakes != told {
                for Mistake { file, place, message } in &mistakes {
                    tracing::warn!(file, place, mistake = message, "access.mistake");
                }
                told = mistakes;
            }
        }
    }
}
