//! What has happened since the server started, counted for whoever watches it: numbers, with words of this program and names of what is
//! configured. Never content, nor anything that a caller chose. It must not know how the counts are shown.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::watch;

use crate::domain::drift::Drift;
use crate::domain::run::{Observation, State};
use crate::engine::{Setup, provider};

/// Upper bounds of the times of calls to providers, in seconds, as OpenTelemetry's conventions for generative AI have them.
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Upper bounds of the tokens of a call, from there as well.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// Stands for every model that no profile names: callers may name any.
const OTHER_MODEL: &str = "_OTHER";

type Label = (&'static str, String);
type Histograms = Family<Vec<Label>, Histogram, fn() -> Histogram>;

/// Upper bounds of the times of RPCs, in seconds: from a read out of the cache to a coordination of a day.
const RPC_SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0, 3_600.0, 86_400.0];

/// Counts of RPCs; cheap to share.
#[derive(Clone, Debug)]
pub struct Rpcs {
    at_work: Family<[Label; 1], Gauge>,
    /// How many there are at work that the end of the server waits for.
    all: Arc<watch::Sender<usize>>,
    ended: Family<[Label; 2], Counter>,
    times: Family<[Label; 1], Histogram, fn() -> Histogram>,
}

impl Default for Rpcs {
    fn default() -> Self {
        let times: Family<_, _, fn() -> Histogram> = Family::new_with_constructor(|| Histogram::new(RPC_SECONDS));
        Self { at_work: Family::default(), all: Arc::default(), ended: Family::default(), times }
    }
}

/// The name of all calls that are not of the API: of the health service, of reflection, and of what is not there.
pub const OTHER_RPC: &str = "other";

impl Rpcs {
    /// A call began. `method` must be a name of the API, or [`OTHER_RPC`].
    pub fn began(&self, method: &str) {
        self.at_work.get_or_create(&[("method", method.to_owned())]).inc();
        if method != OTHER_RPC {
            self.all.send_modify(|count| *count += 1);
        }
    }

    /// Waits until no call of the API is at work: the health of the server is watched for as long as it is there.
    pub async fn none_at_work(&self) {
        // It ends with what counts, which is here.
        self.all.subscribe().wait_for(|count| *count == 0).await.ok();
    }

    /// It ended, with a code by its word.
    pub fn ended(&self, method: &str, code: &'static str, took: Duration) {
        let label = || ("method", method.to_owned());
        self.at_work.get_or_create(&[label()]).dec();
        if method != OTHER_RPC {
            self.all.send_modify(|count| *count = count.saturating_sub(1));
        }
        self.ended.get_or_create(&[label(), ("code", code.to_owned())]).inc();
        self.times.get_or_create(&[label()]).observe(took.as_secs_f64());
    }

    fn register(&self, registry: &mut Registry) {
        registry.register("rpcs_at_work", "Calls at work, by RPC", self.at_work.clone());
        registry.register("rpcs", "Calls that ended, by RPC and code", self.ended.clone());
        let help = "How long calls took, streams to their end";
        registry.register_with_unit("rpc_duration", help, Unit::Seconds, self.times.clone());
    }
}

/// Counts for the whole server.
#[derive(Debug)]
pub struct Meters {
    rpcs: Rpcs,
    drifts: Counter,
    steps: Family<[Label; 1], Counter>,
    calls: Family<[Label; 2], Counter>,
    times: Histograms,
    tokens: Histograms,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            rpcs: Rpcs::default(),
            drifts: Counter::default(),
            steps: Family::default(),
            calls: Family::default(),
            times: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            tokens: Family::new_with_constructor(|| Histogram::new(TOKENS)),
        }
    }
}

impl Meters {
    /// Adds them to what is shown.
    pub fn register(&self, registry: &mut Registry) {
        self.rpcs.register(registry);
        let drifts = "Tools offered with another input schema than before on the same path";
        registry.register("tool_schema_drifts", drifts, self.drifts.clone());
        registry.register("run_steps", "Steps of runs that ended, by the state of the run", self.steps.clone());
        registry.register("provider_calls", "Calls to providers, by backend and outcome", self.calls.clone());
    }

    /// Those of RPCs.
    pub fn rpcs(&self) -> &Rpcs {
        &self.rpcs
    }

    /// Adds those that have the names of OpenTelemetry's conventions for generative AI.
    pub fn register_conventional(&self, registry: &mut Registry) {
        let help = "How long calls to providers took";
        registry.register_with_unit("gen_ai_client_operation_duration", help, Unit::Seconds, self.times.clone());
        let help = "Tokens that calls to providers are known to have consumed";
        registry.register("gen_ai_client_token_usage", help, self.tokens.clone());
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
    pub(super) fn called(&self, setup: &Setup, observations: &[Observation]) {
        for observation in observations {
            let backend = || ("backend", observation.backend_id.clone());
            let labels = |more: Option<Label>| -> Vec<Label> {
                let kind = setup.backend(&observation.backend_id).map_or("", |view| view.description.kind);
                let model = if setup.names(&observation.model) { observation.model.as_str() } else { OTHER_MODEL };
                let all = [
                    ("gen_ai_operation_name", "chat".to_owned()),
                    ("gen_ai_provider_name", provider(kind).to_owned()),
                    ("gen_ai_request_model", model.to_owned()),
                    backend(),
                ];
                all.into_iter().chain(more).collect()
            };
            // A reason is a word of the API's list.
            let outcome = if observation.succeeded { "OK" } else { &observation.error_reason };
            self.calls.get_or_create(&[backend(), ("outcome", outcome.to_owned())]).inc();
            let error = (!observation.succeeded).then(|| ("error_type", observation.error_reason.clone()));
            self.times.get_or_create(&labels(error)).observe(observation.duration_ms as f64 / 1e3);
            let usage = &observation.usage;
            for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                if let Some(tokens) = tokens {
                    let labels = labels(Some(("gen_ai_token_type", kind.to_owned())));
                    self.tokens.get_or_create(&labels).observe(tokens as f64);
                }
            }
        }
    }
}
