//! The command line: what can be typed, and what each verb does with it. One file a verb. It must not know rules, nor how a server is put
//! together: all verbs but `serve`, `check`, `keys`, `prompts`, `completions`, `man` and an offline `verify` are clients like any other.

mod answer;
mod bench;
mod capture;
mod catalog;
mod chain;
mod chat;
mod check;
mod completions;
mod continuation;
mod coordinate;
mod coordinations;
mod diff;
mod doctor;
mod explain;
mod export;
mod failure;
mod forest;
mod fork;
mod graph;
mod hint;
mod import;
mod info;
mod inspect;
mod json;
mod keep;
mod keys;
mod lineage;
mod log;
mod man;
mod moves;
mod number;
mod part;
mod prepare;
mod probe;
mod progress;
mod prompts;
mod record;
mod reload;
mod remote;
mod request;
mod run;
mod runs;
mod search;
mod serve;
mod span;
mod stats;
mod table;
mod terminal;
mod threads;
mod tools;
mod usage;
mod verify;
mod width;
mod words;
mod workspace;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use secrecy::SecretString;

pub use self::terminal::{Colour, Streams};

use self::failure::Failure;
use self::remote::{DEFAULT_SERVER, Manners, Remote};
use self::terminal::Terminal;
use super::environment::Environment;
use crate::engine::file;

/// Keeps conversations with language models as an immutable, branching graph.
#[derive(Parser, Debug)]
#[command(name = "antiphon", version, max_term_width = 110, disable_help_subcommand = true)]
#[command(after_help = "Start a server with `antiphon serve`, then `antiphon capture \"Hello\"`.")]
struct Line {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

/// What every verb understands.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Global")]
struct Globals {
    /// The server to talk to; else ANTIPHON_SERVER, else http://127.0.0.1:7373
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    /// Answer in JSON, errors too
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours; NO_COLOR is honoured
    #[arg(long, value_name = "auto|always|never", value_enum, default_value = "auto", global = true)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: Colour,
    /// The file with your key; else the key in ANTIPHON_KEY, or the file in ANTIPHON_KEY_FILE
    #[arg(long, value_name = "FILE", global = true)]
    key_file: Option<PathBuf>,
    /// The namespace, for a key of all; else ANTIPHON_NAMESPACE
    #[arg(long, value_name = "NAME", global = true)]
    namespace: Option<String>,
    /// The roots of the server's certificate in PEM, for https; else ANTIPHON_TLS_CA, else those of the web
    #[arg(long, value_name = "FILE", global = true)]
    tls_ca: Option<PathBuf>,
    /// Your own certificate in PEM, where the server asks for one; else ANTIPHON_TLS_CERT
    #[arg(long, value_name = "FILE", global = true)]
    tls_cert: Option<PathBuf>,
    /// Its private key in PEM; else ANTIPHON_TLS_KEY
    #[arg(long, value_name = "FILE", global = true)]
    tls_key: Option<PathBuf>,
    /// Give up after this time, such as 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = span::parse, global = true)]
    timeout: Option<Duration>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Run a server
    Serve(serve::Arguments),
    /// Check the configuration and tell every mistake
    Check(check::Arguments),
    /// Look at a deployment: configuration, disk, providers, server, and what to do about each
    Doctor(doctor::Arguments),
    /// Say something and keep the exchange
    Capture(capture::Arguments),
    /// Say something and keep nothing, or execute what was prepared
    Run(run::Arguments),
    /// Go on from an exchange or a thread
    Continue(continuation::Arguments),
    /// Branch off: a new thread from an exchange or a point of a thread
    Fork(fork::Arguments),
    /// Ask from a point of history and keep nothing
    Probe(probe::Arguments),
    /// Store messages of calls that were made elsewhere
    Record(record::Arguments),
    /// Go on turn by turn: a person, or a command, says what comes next
    Coordinate(coordinate::Arguments),
    /// Say something with local commands as tools, and print the final answer
    Chain(chain::Arguments),
    /// Show the request that an exchange sent, or that a turn would send
    Explain(explain::Arguments),
    /// Resolve a turn, show it, and keep it for one execution
    Prepare(prepare::Arguments),
    /// Show one exchange with everything known of it
    Inspect(inspect::Arguments),
    /// Show turns, one a line, or as a graph
    Log(log::Arguments),
    /// Draw a part of the graph
    Graph(graph::Arguments),
    /// Compare two exchanges
    Diff(diff::Arguments),
    /// Find exchanges and runs
    Search(search::Arguments),
    /// Sum what runs consumed
    Usage(usage::Arguments),
    /// Show which tools calls had, which calls had a tool, and where one changed
    Tools(tools::Arguments),
    /// List, show, make, restore and remove threads
    Threads(threads::Arguments),
    /// List, read, write and compare the documents of threads
    Workspace(workspace::Arguments),
    /// List, show and cancel runs
    Runs(runs::Arguments),
    /// List, show, cancel and answer coordinations
    Coordinations(coordinations::Arguments),
    /// Render configured prompts, or check them all, without a server
    Prompts(prompts::Arguments),
    /// Show what is configured: prompts, profiles, backends, contracts
    Catalog(catalog::Arguments),
    /// Show what the server is and how it is
    Info(info::Arguments),
    /// Make, list and revoke the keys of callers
    Keys(keys::Arguments),
    /// Have the server read its configuration anew
    Reload(reload::Arguments),
    /// Write exchanges with all that they need as lines
    Export(export::Arguments),
    /// Read an export, a backup, chats, or the database of `llm`
    Import(import::Arguments),
    /// Write everything as lines while the server goes on
    Backup(export::BackupArguments),
    /// Erase content for good, with a receipt
    Erase(keep::Erase),
    /// Remove what expired and what nothing refers to
    Gc(keep::Collect),
    /// List, set and take away pins, which keep things
    Pins(keep::Pins),
    /// Set when something expires, or list what does
    Expire(keep::Expire),
    /// Count what the namespace holds
    Stats(stats::Arguments),
    /// Check every record of a store
    Verify(verify::Arguments),
    /// Measure a server beside the disk and a bare echo
    Bench(bench::Arguments),
    /// Write what a shell needs to complete commands
    Completions(completions::Arguments),
    /// Write the manual: a page for the program and one for each verb
    Man(man::Arguments),
}

/// What a verb works with.
struct Context<'a> {
    terminal: &'a mut Terminal,
    environment: &'a dyn Environment,
    globals: &'a Globals,
}

impl Context<'_> {
    /// The server that was named.
    fn server(&self) -> String {
        let named = self.globals.server.clone().or_else(|| self.environment.var("ANTIPHON_SERVER"));
        named.unwrap_or_else(|| DEFAULT_SERVER.to_owned())
    }

    /// Connects to the server that was named.
    async fn remote(&self) -> Result<Remote, Failure> {
        Remote::connect(&self.server(), &self.manners()?).await
    }

    /// Whether a server was named.
    fn names_a_server(&self) -> bool {
        self.globals.server.is_some() || self.environment.var("ANTIPHON_SERVER").is_some()
    }

    /// Connects to a server elsewhere than was named; trusts this certificate where nobody said which roots to trust.
    async fn remote_at(&self, server: &str, certificate: Option<&Path>) -> Result<Remote, Failure> {
        let mut manners = self.manners()?;
        if let (None, Some(file)) = (&manners.roots, certificate) {
            manners.roots = Some(file::read(file).map_err(|error| Failure::file(file, error))?);
        }
        Remote::connect(server, &manners).await
    }

    /// How the server is called.
    fn manners(&self) -> Result<Manners, Failure> {
        let read = |typed: &Option<PathBuf>, option: &str, variable: &str| {
            let Some(path) = typed.clone().or_else(|| self.environment.var(variable).map(PathBuf::from)) else {
                return Ok(None);
            };
            file::read_given(&path, file::MAX_BYTES).map(Some).map_err(|error| {
                let remedy = format!("name the file that is meant with {option} FILE or {variable}");
                Failure::here(format!("{}: {error}", path.display()), remedy)
            })
        };
        // What is typed wins over what is set.
        let key = match (&self.globals.key_file, self.environment.var("ANTIPHON_KEY")) {
            (None, Some(key)) => Some(key),
            (typed, _) => {
                let key = read(typed, "--key-file", "ANTIPHON_KEY_FILE")?;
                key.map(file::text).transpose().map_err(|error| Failure::here(format!("--key-file: {error}"), ""))?
            }
        };
        let certificate = read(&self.globals.tls_cert, "--tls-cert", "ANTIPHON_TLS_CERT")?;
        let private_key = read(&self.globals.tls_key, "--tls-key", "ANTIPHON_TLS_KEY")?;
        let identity = match (certificate, private_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(Failure::usage("--tls-cert and --tls-key go together: give both or none")),
        };
        Ok(Manners {
            timeout: self.globals.timeout,
            key: key.map(|key| SecretString::from(key.trim().to_owned())),
            namespace: self.globals.namespace.clone().or_else(|| self.environment.var("ANTIPHON_NAMESPACE")),
            roots: read(&self.globals.tls_ca, "--tls-ca", "ANTIPHON_TLS_CA")?,
            identity,
        })
    }
}

/// Does what was typed; the number is what the process ends with: 0 when it went well, 1 when not, 2 when it makes no sense.
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &dyn Environment, streams: Streams) -> u8 {
    let mut terminal = Terminal::new(streams, environment.var("NO_COLOR").is_some());
    let outcome = parse(arguments, &mut terminal).and_then(|line| {
        terminal.configure(line.globals.color, line.globals.json);
        if let Some(server) = &line.globals.server {
            terminal.name_server(server);
        }
        work(line, environment, &mut terminal)
    });
    let outcome = outcome.and_then(|()| Ok(terminal.flush()?));
    let Err(failure) = outcome else { return 0 };
    // Where even the errors cannot be written, the exit code has to do.
    failure.show(&mut terminal).ok();
    failure.exit_code()
}

/// Reads the command line. Help is no failure, but nothing is left to do after it.
fn parse(arguments: impl IntoIterator<Item = OsString>, terminal: &mut Terminal) -> Result<Line, Failure> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // A line that cannot be read may still say how to answer.
    let wants_json =
        arguments.iter().skip(1).take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    Line::try_parse_from(arguments).map_err(|error| {
        let text = error.render().to_string();
        if error.use_stderr() && wants_json {
            terminal.configure(Colour::Auto, true);
            // In place of an error there may be the help.
            return match error.kind() {
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Failure::usage("the command is not complete"),
                _ => Failure::usage(without_usage(&text)),
            };
        }
        let written = if error.use_stderr() { terminal.write_err(&text) } else { terminal.write(&text) };
        match written {
            Ok(()) => Failure::Parsed(u8::try_from(error.exit_code()).unwrap_or(2)),
            Err(error) => error.into(),
        }
    })
}

/// What is wrong with a line, without how it should be.
fn without_usage(text: &str) -> String {
    let wrong = text.split("\nUsage:").next().unwrap_or(text).trim();
    let wrong = wrong.strip_prefix("error: ").unwrap_or(wrong);
    let lines =
        wrong.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

fn work(line: Line, environment: &dyn Environment, terminal: &mut Terminal) -> Result<(), Failure> {
    let mut builder = match line.verb {
        Verb::Serve(_) | Verb::Bench(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build()?;
    let mut context = Context { terminal, environment, globals: &line.globals };
    let outcome = runtime.block_on(async {
        match line.verb {
            Verb::Serve(arguments) => serve::run(arguments, &mut context).await,
            Verb::Doctor(arguments) => doctor::run(arguments, &mut context).await,
            Verb::Check(arguments) => check::run(arguments, &mut context).await,
            Verb::Capture(arguments) => capture::run(arguments, &mut context).await,
            Verb::Run(arguments) => run::run(arguments, &mut context).await,
            Verb::Continue(arguments) => continuation::run(arguments, &mut context).await,
            Verb::Fork(arguments) => fork::run(arguments, &mut context).await,
            Verb::Probe(arguments) => probe::run(arguments, &mut context).await,
            Verb::Record(arguments) => record::run(arguments, &mut context).await,
            Verb::Coordinate(arguments) => coordinate::run(arguments, &mut context).await,
            Verb::Chain(arguments) => chain::run(arguments, &mut context).await,
            Verb::Explain(arguments) => explain::run(arguments, &mut context).await,
            Verb::Prepare(arguments) => prepare::run(arguments, &mut context).await,
            Verb::Inspect(arguments) => inspect::run(arguments, &mut context).await,
            Verb::Log(arguments) => log::run(arguments, &mut context).await,
            Verb::Graph(arguments) => graph::run(arguments, &mut context).await,
            Verb::Diff(arguments) => diff::run(arguments, &mut context).await,
            Verb::Search(arguments) => search::run(arguments, &mut context).await,
            Verb::Usage(arguments) => usage::run(arguments, &mut context).await,
            Verb::Tools(arguments) => tools::run(arguments, &mut context).await,
            Verb::Threads(arguments) => threads::run(arguments, &mut context).await,
            Verb::Workspace(arguments) => workspace::run(arguments, &mut context).await,
            Verb::Runs(arguments) => runs::run(arguments, &mut context).await,
            Verb::Coordinations(arguments) => coordinations::run(arguments, &mut context).await,
            Verb::Prompts(arguments) => prompts::run(arguments, &mut context).await,
            Verb::Catalog(arguments) => catalog::run(arguments, &mut context).await,
            Verb::Info(arguments) => info::run(arguments, &mut context).await,
            Verb::Keys(arguments) => keys::run(arguments, &mut context).await,
            Verb::Reload(arguments) => reload::run(arguments, &mut context).await,
            Verb::Export(arguments) => export::run(arguments, &mut context).await,
            Verb::Import(arguments) => import::run(arguments, &mut context).await,
            Verb::Backup(arguments) => export::backup(arguments, &mut context).await,
            Verb::Erase(arguments) => keep::erase(arguments, &mut context).await,
            Verb::Gc(arguments) => keep::collect(arguments, &mut context).await,
            Verb::Pins(arguments) => keep::pins(arguments, &mut context).await,
            Verb::Expire(arguments) => keep::expire(arguments, &mut context).await,
            Verb::Stats(arguments) => stats::run(arguments, &mut context).await,
            Verb::Verify(arguments) => verify::run(arguments, &mut context).await,
            Verb::Bench(arguments) => bench::run(arguments, &mut context).await,
            Verb::Completions(arguments) => completions::run(&arguments, &mut context),
            Verb::Man(arguments) => man::run(&arguments, &mut context),
        }
    });
    // What is still at work, such as a server that was stopped by force, is not waited for.
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn what_can_be_typed_makes_sense() {
        Line::command().debug_assert();
    }

    /// The help, the completions and the manual are made of it.
    #[test]
    fn everything_that_can_be_typed_says_what_it_does() {
        let mut program = Line::command();
        program.build();
        let (mut silent, mut open) = (Vec::new(), vec![("antiphon".to_owned(), &program)]);
        while let Some((name, command)) = open.pop() {
            if command.get_about().is_none() {
                silent.push(name.clone());
            }
            let arguments = command.get_arguments().filter(|argument| argument.get_help().is_none());
            silent.extend(arguments.map(|argument| format!("{name} {}", argument.get_id())));
            open.extend(command.get_subcommands().map(|part| (format!("{name} {}", part.get_name()), part)));
        }
        assert_eq!(silent, Vec::<String>::new());
    }
}
