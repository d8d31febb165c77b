//! What has happened since the server started, counted for whoever watches it: numbers, with words of this program and names of what is
//! configured. Never content, nor anything that a caller chose. It must not know how the counts are shown.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::domain::drift::Drift;
use crate::domain::run::{Observation, State};

/// Upper bounds of the times of calls to providers, in seconds.
const BOUNDS: [f64; 11] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

type Label = (&'static str, String);
type Times = Family<[Label; 1], Histogram, fn() -> Histogram>;

/// Counts for the whole server.
#[derive(Debug)]
pub struct Meters {
    drifts: Counter,
    steps: Family<[Label; 1], Counter>,
    calls: Family<[Label; 2], Counter>,
    times: Times,
    tokens: Family<[Label; 2], Counter>,
}

fn times() -> Histogram {
    Histogram::new(BOUNDS)
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            drifts: Counter::default(),
            steps: Family::default(),
            calls: Family::default(),
            times: Family::new_with_constructor(times),
            tokens: Family::default(),
        }
    }
}

impl Meters {
    /// Adds them to what is shown.
    pub fn register(&self, registry: &mut Registry) {
        let drifts = "Tools offered with another input schema than before on the same path";
        registry.register("tool_schema_drifts", drifts, self.drifts.clone());
        registry.register("run_steps", "Steps of runs that ended, by the state of the run", self.steps.clone());
        registry.register("provider_calls", "Calls to providers, by backend and outcome", self.calls.clone());
        let help = "How long calls to providers took, by backend";
        registry.register_with_unit("provider_call_duration", help, Unit::Seconds, self.times.clone());
        let tokens = "Tokens that calls are known to have consumed, by backend and kind";
        registry.register("provider_tokens", tokens, self.tokens.clone());
    }

    /// Tools drifted.
    pub(super) fn drifted(&self, drifts: &[Drift]) {
        self.drifts.inc_by(u64::try_from(drifts.len()).unwrap_or(u64::MAX));
    }

    /// A step of a run ended, and left the run in a state.
    pub(super) fn stepped(&self, state: State) {
        self.steps.get_or_create(&[("state", state.word().to_owned())]).inc();
    }

    /// Calls to providers ended.
    pub(super) fn called(&self, observations: &[Observation]) {
        for observation in observations {
            let backend = || ("backend", observation.backend_id.clone());
            // A reason is a word of the API's list.
            let outcome = if observation.succeeded { "OK" } else { &observation.error_reason };
            self.calls.get_or_create(&[backend(), ("outcome", outcome.to_owned())]).inc();
            self.times.get_or_create(&[backend()]).observe(observation.duration_ms as f64 / 1e3);
            let usage = &observation.usage;
            for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                if let Some(tokens) = tokens {
                    self.tokens.get_or_create(&[backend(), ("kind", kind.to_owned())]).inc_by(tokens);
                }
            }
        }
    }
}
