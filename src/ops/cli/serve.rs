//! `antiphon serve`: finds out what to use, says it, and runs a server until it is told to stop. It must not know how a server is put
//! together.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};

use super::Context;
use super::failure::Failure;
use super::terminal::{Style, Terminal};
use crate::app::reload::{Configuration, Nowhere};
use crate::domain::source::{Clock, Ids};
use crate::engine::ConfigProblem;
use crate::ops::app::{self, ConfigFile, Furnished, Place, Server};
use crate::ops::config::{self, Config, Problem, Source};
use crate::ops::environment::{Environment, ProcessEnvironment};
use crate::ops::shutdown::{Hangups, Signals};
use crate::ops::source::{RandomIds, SystemClock};
use crate::ops::{discover, telemetry};

/// What can be typed after `serve`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// The configuration; else ./antiphon.toml, else that of the user, else what can be found without one
    #[arg(long, short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address to listen on; port 0 takes any that is free
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The folder of the store
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    data: Option<PathBuf>,
    /// Keep the store in a temporary folder that is gone when the server stops
    #[arg(long)]
    ephemeral: bool,
    /// Bring a store of an older format to this version's, after a backup; older versions cannot open it afterwards
    #[arg(long, conflicts_with = "ephemeral")]
    migrate: bool,
    /// Listen beyond this machine although nobody is asked for a key or a certificate
    #[arg(long)]
    insecure_listen_anywhere: bool,
}

/// What a server is started with.
pub(super) struct Settings {
    /// Everything that is configured.
    pub(super) config: Config,
    /// The file it came from.
    pub(super) source: Option<Source>,
    /// What there is to say about it.
    pub(super) said: Vec<String>,
    /// What is wrong with the text.
    mistakes: Vec<ConfigProblem>,
}

/// Serves.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut settings = settings(arguments.config.clone(), context.environment)
        .await
        .map_err(|problems| refused(&problems, context.terminal))?;
    let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
    let Furnished { setup, locks, notes } =
        settings.setup(context.environment, &clock).map_err(|problems| refused(&problems, context.terminal))?;
    let configuration: Arc<dyn Configuration> = match &settings.source {
        Some(source) => {
            let environment = Arc::new(ProcessEnvironment);
            Arc::new(ConfigFile::new(source, settings.config.clone(), environment, Arc::clone(&clock)))
        }
        None => Arc::new(Nowhere),
    };
    if let Some(listen) = arguments.listen {
        settings.config.server.listen = listen;
    }
    let listen = settings.config.server.listen;
    let asks = settings.config.access.asks() || settings.config.tls.client_ca_file.is_some();
    if !listen.ip().is_loopback() && !asks && !arguments.insecure_listen_anywhere {
        return Err(Failure::here(
            format!("{listen} can be reached from other machines, and nobody is asked who they are"),
            "make a key with `antiphon keys create` and name its file under `[access]`, listen on 127.0.0.1, or say \
             --insecure-listen-anywhere",
        ));
    }
    let place = place(&arguments, &settings.config, context.environment)?;
    let migrate = arguments.migrate;
    let mut signals = Signals::take()?;
    // Where a person started it by hand, this signal says that the terminal was closed, and ends it as it ends everything there.
    let hangups = if context.terminal.err_is_terminal() { None } else { Some(Hangups::take()?) };
    let colours = context.terminal.err_has_colours();
    let (log, traces) = (&settings.config.log, &settings.config.traces);
    let traces = telemetry::start(log, &settings.config.base, traces, context.environment, colours)
        .map_err(|error| Failure::here(error.to_string(), error.remedy()))?;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        let remedy = format!(
            "is another server there? `antiphon info --server http://{listen}` tells; else choose another --listen"
        );
        Failure::here(format!("cannot listen on {listen}: {error}"), remedy)
    })?;
    let address = listener.local_addr()?;
    say(&settings, &notes, &place, context.terminal)?;
    let reload: Arc<Notify> = Arc::default();
    let server_reload = Arc::clone(&reload);
    let server = Server {
        config: settings.config,
        setup,
        locks,
        configuration,
        reload: server_reload,
        place,
        migrate,
        clock,
        ids,
    };
    let mut announced = Ok(());
    let terminal = &mut *context.terminal;
    let (tell, told) = oneshot::channel::<()>();
    let running = server.run(listener, || announced = terminal.write(&format!("listening on {address}\n")), async {
        // A sender that is gone cannot ask for anything.
        if told.await.is_err() {
            std::future::pending().await
        }
    });
    let forced = async {
        let signal = signals.next().await;
        tracing::info!(signal, "shutdown.asked");
        // Only the second one is for us. Nobody listens when the server has ended meanwhile.
        tell.send(()).ok();
        signals.another().await
    };
    let reloads = async {
        match hangups {
            Some(hangups) => hangups.each(|| reload.notify_one()).await,
            None => std::future::pending().await,
        }
    };
    let served = tokio::select! {
        served = running => served,
        never = reloads => match never {},
        signal = forced => return Err(Failure::here(format!("stopped at once by a second {signal}"), "")),
    };
    if let Some(traces) = traces {
        // What has ended and not been sent; the collector may be slow.
        tokio::task::spawn_blocking(move || traces.close()).await.ok();
    }
    // Whoever started it need not read on: the server serves all the same.
    announced.ok();
    served.map_err(|error| Failure::here(error.to_string(), ""))
}

/// The configuration, or what stands in for it.
pub(super) async fn settings(named: Option<PathBuf>, environment: &dyn Environment) -> Result<Settings, Vec<Problem>> {
    let here = std::env::current_dir().unwrap_or_default();
    match config::find(named.as_deref(), &here, environment).map_err(|problem| vec![problem])? {
        Some(path) => {
            let config::Read { config, source, mistakes } = config::read(&path)?;
            let said = vec![format!("using {}", path.display())];
            Ok(Settings { config, source: Some(source), said, mistakes })
        }
        None => {
            let found = discover::find(environment, &discover::LOCAL).await;
            let config = Config { engine: found.engine, base: here, ..Config::default() };
            Ok(Settings { config, source: None, said: found.said, mistakes: Vec::new() })
        }
    }
}

impl Settings {
    /// What is configured.
    ///
    /// # Errors
    /// Every mistake, in the text and in what comes of it.
    pub(super) fn setup(
        &self,
        environment: &dyn Environment,
        clock: &Arc<dyn Clock>,
    ) -> Result<Furnished, Vec<Problem>> {
        match app::setup(&self.config, environment, clock) {
            Ok(furnished) if self.mistakes.is_empty() => Ok(furnished),
            Ok(_) => Err(self.problems(self.mistakes.clone())),
            Err(found) => Err(self.problems([self.mistakes.clone(), found].concat())),
        }
    }

    /// Mistakes with their places.
    fn problems(&self, found: Vec<ConfigProblem>) -> Vec<Problem> {
        match &self.source {
            Some(source) => source.problems(found),
            None => config::without_file(found),
        }
    }
}

/// Where the store is.
fn place(arguments: &Arguments, config: &Config, environment: &dyn Environment) -> Result<Place, Failure> {
    if arguments.ephemeral {
        return Ok(Place::Temporary(std::env::temp_dir()));
    }
    let configured = config.server.data_dir.as_ref().map(|dir| config.base.join(dir));
    let dir = arguments.data.clone().or(configured).or_else(|| config::default_data_dir(environment));
    dir.map(Place::Kept).ok_or_else(|| {
        Failure::here(
            "there is no home folder to keep data in",
            "name a folder with --data, or keep nothing with --ephemeral",
        )
    })
}

/// Says what is used, before anything can go wrong with it.
fn say(settings: &Settings, notes: &[String], place: &Place, terminal: &mut Terminal) -> Result<(), Failure> {
    let kept = match place {
        Place::Kept(dir) => format!("data in {}", dir.display()),
        Place::Temporary(_) => "nothing is kept when the server stops".to_owned(),
    };
    if settings.config.log.format == telemetry::Format::Json {
        // Whoever reads a log for machines has each line of it an event.
        settings.said.iter().chain([&kept]).for_each(|said| tracing::info!(said, "server.starting"));
        notes.iter().for_each(|note| tracing::warn!(note, "configuration.note"));
        return Ok(());
    }
    for line in settings.said.iter().chain(notes).chain([&kept]) {
        let line = terminal.paint_err(Style::Dim, line);
        terminal.note(&line)?;
    }
    Ok(())
}

/// Tells every mistake in the configuration.
pub(super) fn refused(problems: &[Problem], terminal: &mut Terminal) -> Failure {
    let what = if problems.len() == 1 { "mistake" } else { "mistakes" };
    let summary = format!("the configuration has {} {what}", problems.len());
    if terminal.is_json() {
        let told = problems.iter().map(|problem| {
            serde_json::json!({
                "file": problem.file,
                "line": problem.line,
                "place": problem.place,
                "message": problem.message,
            })
        });
        let told = serde_json::json!({
            "error": { "reason": "CONFIGURATION", "message": summary },
            "problems": told.collect::<Vec<_>>(),
        });
        return match terminal.note(&format!("{told:#}")) {
            Ok(()) => Failure::Said,
            Err(error) => error.into(),
        };
    }
    let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    Failure::here(
        format!("{summary}:\n{}", lines.join("\n")),
        "antiphon check reads it again without starting a server",
    )
}
