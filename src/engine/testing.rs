//! What tests of the engine share: a still clock, counted ids, a recorder of events, engines with scripted backends. It must not be used
//! outside tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use super::backend::scripted::Scripted;
use super::backend::{Backend, Delta};
use super::{Asked, Catalog, Config, Context, Engine, Events, Executed, Execution, Opened, Plan, Setup};
use crate::domain::id::{Moment, Namespace};
use crate::domain::message::{Message, Role};
use crate::domain::run::AttemptKind;
use crate::domain::settings::Warning;
use crate::domain::source::{Clock, Ids};

/// A clock that stands still.
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Moment {
        Moment(1_700_000_000_000)
    }
}

/// Ids 1, 2, 3, ...
#[derive(Default)]
pub(crate) struct Counted(AtomicU64);

impl Ids for Counted {
    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// Remembers what it was told.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) attempts: Vec<(u32, AttemptKind)>,
    pub(crate) deltas: Vec<Delta>,
    pub(crate) warnings: Vec<String>,
}

impl Recorder {
    /// The text deltas joined.
    pub(crate) fn text(&self) -> String {
        let text = |delta: &Delta| if let Delta::Text(text) = delta { text.clone() } else { String::new() };
        self.deltas.iter().map(text).collect()
    }
}

impl Events for Recorder {
    fn attempt(&mut self, number: u32, kind: AttemptKind, _backend_id: &str, _model: &str) {
        self.attempts.push((number, kind));
    }

    fn delta(&mut self, delta: Delta) {
        self.deltas.push(delta);
    }

    fn warning(&mut self, warning: &Warning) {
        self.warnings.push(warning.code.clone());
    }
}

/// An engine of a configuration in TOML, its paths relative to `base`.
pub(crate) fn engine_in(base: &Path, text: &str) -> Engine {
    let config = Config::from_table(text.parse().unwrap()).unwrap();
    let catalog = Catalog::load(&config, base).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut backends = BTreeMap::new();
    for (id, backend) in &config.backends {
        let settings: super::backend::scripted::Config = backend.settings(id).unwrap();
        assert_eq!(settings.problems(), []);
        let made: Arc<dyn Backend> = Arc::new(Scripted::new(settings));
        let opened = Opened { backend: made, limits: backend.limits.clone(), configuration: None, key: None };
        backends.insert(id.clone(), opened);
    }
    let setup = Setup::new(catalog, backends).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Engine::new(setup, Arc::new(Still), Arc::new(Counted::default()), 1)
}

/// An engine with one profile `main`, the default, on a scripted backend with these settings.
pub(crate) fn scripted(settings: &str) -> Engine {
    let text = format!(
        "default_profile = \"main\"\n[profiles.main]\nbackend = \"demo\"\nmodel = \"m\"\n[backends.demo]\nkind = \"scripted\"\n{settings}"
    );
    engine_in(Path::new("."), &text)
}

/// A request of one user message.
pub(crate) fn say(text: &str) -> Asked {
    Asked { messages: vec![Message::text(Role::User, text)], ..Asked::default() }
}

/// The plan of a request at a root.
pub(crate) fn plan(engine: &Engine, asked: Asked) -> Plan {
    let namespace = Namespace::default_namespace();
    let context = Context { thread: None, inherited_tools: None, at_root: true, namespace };
    engine.resolve(asked, context).unwrap_or_else(|fault| panic!("{fault:?}"))
}

/// Admits and executes.
pub(crate) async fn execute(engine: &Engine, plan: &Plan, call: Execution) -> (Executed, Recorder) {
    let mut events = Recorder::default();
    let permit = engine.admit(plan).await.unwrap();
    let executed = engine.execute(plan, &permit, call, &mut events).await;
    (executed, events)
}
