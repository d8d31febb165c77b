//! Traces: where they go and how many of them. It must not know what is traced.

use std::time::Duration;

use opentelemetry::propagation::text_map_propagator::FieldIter;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use serde::Deserialize;

use crate::ops::environment::Environment;

/// Where the standard looks for the address of a collector.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Where the standard looks for the name of the service.
const SERVICE: &str = "OTEL_SERVICE_NAME";
/// How long a batch may take to be delivered.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where traces go and how many of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The collector's address for OTLP over gRPC; that of the environment when absent, and without either no traces are made.
    pub otlp_endpoint: Option<String>,
    /// The part of the traces that begin here and are sent, 0 to 1. Where a caller brings a trace, it has decided.
    pub sample_ratio: f64,
    /// Providers are told the trace, so that theirs can be joined to it.
    pub pass_to_providers: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { otlp_endpoint: None, sample_ratio: 1.0, pass_to_providers: true }
    }
}

impl Config {
    /// What is wrong with it: the key, and what it must be.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let is_address = |text: &String| text.starts_with("http://") || text.starts_with("https://");
        if self.otlp_endpoint.as_ref().is_some_and(|endpoint| !is_address(endpoint)) {
            problems
                .push(("otlp_endpoint", "must begin with http:// or https://, as in http://127.0.0.1:4317".to_owned()));
        }
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            problems.push(("sample_ratio", "must be 0 to 1".to_owned()));
        }
        problems
    }

    /// The collector's address, if there is one.
    fn endpoint(&self, environment: &dyn Environment) -> Option<String> {
        self.otlp_endpoint.clone().or_else(|| environment.var(ENDPOINT))
    }
}

/// Traces of this process, until they are closed.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Opens the way to the collector that is configured, if one is. It is connected to when there is something to send.
    ///
    /// # Errors
    /// When its address cannot be one.
    pub(super) fn open(config: &Config, environment: &dyn Environment) -> Result<Option<Self>, ExporterBuildError> {
        let Some(endpoint) = config.endpoint(environment) else { return Ok(None) };
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_protocol(Protocol::Grpc)
            .with_timeout(EXPORT_TIMEOUT)
            .build()?;
        let service = environment.var(SERVICE).unwrap_or_else(|| env!("CARGO_PKG_NAME").to_owned());
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name(service).with_attribute(version).build();
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(config.sample_ratio)));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(sampler)
            .with_resource(resource)
            .build();
        global::set_text_map_propagator(Propagation {
            standard: TraceContextPropagator::new(),
            outwards: config.pass_to_providers,
        });
        Ok(Some(Self(provider)))
    }

    /// Takes spans.
    pub(super) fn tracer(&self) -> SdkTracer {
        self.0.tracer(env!("CARGO_PKG_NAME"))
    }

    /// Sends what has not been sent. Blocks for as long as that takes, a few seconds at most.
    pub fn close(self) {
        if let Err(error) = self.0.shutdown_with_timeout(EXPORT_TIMEOUT) {
            tracing::warn!(error = %error, "traces.not_sent");
        }
    }
}

/// The standard headers, perhaps only inwards.
#[derive(Debug)]
struct Propagation {
    standard: TraceContextPropagator,
    outwards: bool,
}

impl TextMapPropagator for Propagation {
    fn inject_context(&self, context: &Context, injector: &mut dyn Injector) {
        if self.outwards {
            self.standard.inject_context(context, injector);
        }
    }

    fn extract_with_context(&self, context: &Context, extractor: &dyn Extractor) -> Context {
        self.standard.extract_with_context(context, extractor)
    }

    fn fields(&self) -> FieldIter<'_> {
        self.standard.fields()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::environment::tests::FakeEnvironment;

    #[test]
    fn an_address_is_one_and_a_ratio_is_a_part() {
        assert!(Config::default().problems().is_empty());
        let wrong = Config { otlp_endpoint: Some("localhost:4317".into()), sample_ratio: 1.5, ..Config::default() };
        let keys: Vec<_> = wrong.problems().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["otlp_endpoint", "sample_ratio"]);
        let nothing = Config { sample_ratio: f64::NAN, ..Config::default() };
        assert_eq!(nothing.problems().len(), 1);
    }

    #[test]
    fn the_configuration_goes_before_the_environment_and_without_either_there_are_none() {
        let with = FakeEnvironment::default().with(ENDPOINT, "http://b:1");
        let config = Config { otlp_endpoint: Some("http://a:1".into()), ..Config::default() };
        assert_eq!(config.endpoint(&with).as_deref(), Some("http://a:1"));
        assert_eq!(Config::default().endpoint(&with).as_deref(), Some("http://b:1"));
        assert_eq!(Config::default().endpoint(&FakeEnvironment::default()), None);
        assert!(Traces::open(&Config::default(), &FakeEnvironment::default()).unwrap().is_none());
    }
}
