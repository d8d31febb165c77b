//! What lets callers in: the door and the certificates of a server, whose files are looked at again while it serves, and whether what keys may
//! spend can be told by the prices there are. It must not know how the files are read.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::app::access::Door;
use crate::app::reload::Mistake;
use crate::domain::source::Clock;
use crate::domain::spend::Cost;
use crate::engine::Setup;
use crate::ops::access;
use crate::ops::config::Config;
use crate::ops::tls::Certificates;

/// How often the files are looked at: a key that was revoked is taken for at most this long.
const LOOK: Duration = Duration::from_secs(2);
/// Keys that a note names at most.
const MAX_NAMED: usize = 8;

/// What lets callers in.
#[derive(Clone)]
pub struct Locks {
    /// Where credentials are looked at.
    pub door: Arc<dyn Door>,
    /// What connections are encrypted with; absent where they are not.
    pub certificates: Option<Arc<Certificates>>,
    /// What everybody may spend in a day who has no limit of their own to that.
    cost_per_day: Option<Cost>,
}

impl Locks {
    /// Reads what a configuration names, from the folder `base`.
    ///
    /// # Errors
    /// Every mistake in the files.
    pub(super) fn read(config: &Config, base: &Path, clock: &Arc<dyn Clock>) -> Result<Self, Vec<Mistake>> {
        match (access::door(&config.access, base, clock), Certificates::read(&config.tls, base)) {
            (Ok(door), Ok(certificates)) => {
                Ok(Self { door, certificates, cost_per_day: config.access.limits.cost_per_day.clone() })
            }
            (door, certificates) => Err([door.err(), certificates.err()].into_iter().flatten().flatten().collect()),
        }
    }

    /// Limits to what may be spent in a day, in a currency that no profile has prices in, so that every call to a model is refused; a sentence
    /// for each currency.
    pub(super) fn unpriced(&self, setup: &Setup) -> Vec<String> {
        let priced = setup.currencies();
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |whose: String, cost: Cost| {
            if !priced.contains(cost.currency.as_str()) {
                found.entry(cost.currency).or_default().push(whose);
            }
        };
        if let Some(cost) = &self.cost_per_day {
            add("`[access.limits]`".to_owned(), cost.clone());
        }
        for somebody in self.door.at_work(None) {
            let own = somebody.principal.limits.cost_per_day.filter(|own| Some(own) != self.cost_per_day.as_ref());
            if let Some(own) = own {
                add(format!("key `{}`", somebody.principal.name), own);
            }
        }
        let others: Vec<&str> = priced.into_iter().collect();
        let instead =
            if others.is_empty() { String::new() } else { format!("limit it in {}, or ", others.join(" or ")) };
        let told = |(currency, mut whose): (String, Vec<String>)| {
            let more = whose.len().saturating_sub(MAX_NAMED);
            whose.truncate(MAX_NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!(
                "cost_per_day of {}{more} is in {currency}, in which no profile has prices, so every call to a model is refused: give profiles \
                 `prices` in {currency}, which may be 0, or {instead}limit tokens_per_day instead",
                whose.join(", ")
            )
        };
        found.into_iter().map(told).collect()
    }

    /// Reads the files anew and puts in force what they say, each as a whole or not at all; tells the mistakes, and whether keys may be
    /// otherwise. Blocks.
    fn refresh(&self) -> (Vec<Mistake>, bool) {
        let mut mistakes = Vec::new();
        let certificates = self.certificates.as_ref().map(|certificates| certificates.refresh());
        let keys = self.door.refresh();
        let otherwise = !matches!(keys, Ok(false));
        for (what, refreshed) in [("keys", Some(keys)), ("certificates", certificates)] {
            match refreshed {
                Some(Ok(true)) => tracing::info!(what, "access.changed"),
                Some(Err(found)) => mistakes.extend(found),
                Some(Ok(false)) | None => {}
            }
        }
        (mistakes, otherwise)
    }

    /// Looks at the files for as long as the server serves. Mistakes, and notes by what is configured then, are told once for as long as they
    /// are the same.
    pub(super) async fn look(self, setup: impl Fn() -> Arc<Setup>) -> Infallible {
        let (mut told, mut noted) = (Vec::new(), None);
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let locks = self.clone();
            // What broke there is told by the panic itself, and the files are looked at again.
            let Ok((mistakes, otherwise)) = tokio::task::spawn_blocking(move || locks.refresh()).await else {
                continue;
            };
            if otherwise || noted.is_none() {
                let notes = self.unpriced(&setup());
                if noted.as_ref() != Some(&notes) {
                    for note in &notes {
                        tracing::warn!(note, "access.note");
                    }
                    noted = Some(notes);
                }
            }
            if mistakes != told {
                for Mistake { file, place, message } in &mistakes {
                    tracing::warn!(file, place, mistake = message, "access.mistake");
                }
                told = mistakes;
            }
        }
    }
}
