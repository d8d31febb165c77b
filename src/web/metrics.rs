//! Metrics in the text form of Prometheus and OpenMetrics. It must not count anything itself.

use axum::http::{HeaderName, StatusCode, header};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::app::App;
use crate::engine::BackendView;
use crate::store::Health;

/// What the form is called on the wire.
const FORM: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything as it is now.
pub(super) fn answer(app: &App) -> (StatusCode, [(HeaderName, &'static str); 1], String) {
    let mut registry = Registry::with_prefix("antiphon");
    app.meters().register(&mut registry);
    let stats = app.ledger().store().stats();
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let size = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let is_writable = matches!(app.health(), Health::Writable);
    let mut gauge = |name: &str, help: &str, unit: Option<Unit>, value: i64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, gauge),
            None => registry.register(name, help, gauge),
        }
    };
    gauge("runs_at_work", "Runs at work or queued", None, size(app.runs_at_work()));
    gauge("coordination_streams", "Streams of coordinations that are attached", None, size(app.coordination_streams()));
    gauge("store_writable", "Whether the store takes writes", None, i64::from(is_writable));
    gauge("store_disk", "What the store takes on disk", Some(Unit::Bytes), whole(stats.disk_bytes));
    gauge("draining", "Whether the server is shutting down", None, i64::from(app.is_draining()));
    let backend = |name: &str, help: &str, registry: &mut Registry, of: fn(&BackendView) -> u32| {
        let family: Family<[(&str, String); 1], Gauge> = Family::default();
        for view in app.engine().setup().backends() {
            family.get_or_create(&[("backend", view.id.clone())]).set(i64::from(of(&view)));
        }
        registry.register(name, help, family);
    };
    backend("backend_at_work", "Calls at work at a backend", &mut registry, |view| view.in_use);
    backend("backend_queued", "Calls that wait for a backend", &mut registry, |view| view.queued);
    backend("backend_capacity", "Calls that a backend takes at once", &mut registry, |view| view.limits.capacity);
    let mut counter = |name: &str, help: &str, unit: Option<Unit>, value: u64| {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, counter),
            None => registry.register(name, help, counter),
        }
    };
    counter("store_writes", "Writes acknowledged since the store was opened", None, stats.commits);
    counter(
        "store_groups",
        "Groups in which they were made durable, each with one sync of the disk",
        None,
        stats.groups,
    );
    counter("store_written", "Keys and values in those groups", Some(Unit::Bytes), stats.written_bytes);
    let mut conventional = Registry::default();
    app.meters().register_conventional(&mut conventional);
    let mut out = String::new();
    let written = text::encode_registry(&mut out, &conventional).and_then(|()| text::encode(&mut out, &registry));
    match written {
        Ok(()) => (StatusCode::OK, [(header::CONTENT_TYPE, FORM)], out),
        Err(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            [(header::CONTENT_TYPE, "text/plain")],
            "the metrics could not be written".to_owned(),
        ),
    }
}
