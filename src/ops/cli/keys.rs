//! `antiphon keys`: makes, lists and revokes the keys of callers. It works on the file of keys and needs no server; one that serves sees the
//! change by itself. It must not know what a server does with a key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::Context;
use super::failure::Failure;
use super::serve::{refused, settings};
use super::table::{Cell, Table};
use super::terminal::Style;
use crate::app::access::{Limits, Opens, Scope};
use crate::domain::id::{self, Moment, Namespace};
use crate::domain::source::Clock;
use crate::domain::spend::Cost;
use crate::engine::file;
use crate::ops::access::keys::{self, Kept, KeyFile, Wanted};
use crate::ops::source::{SystemClock, random};

/// What can be typed after `keys`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The file of keys; else the one that the configuration names under `[access]`
    #[arg(long, value_name = "FILE", global = true)]
    file: Option<PathBuf>,
    /// The configuration that names it; else the one that `serve` would use
    #[arg(long, short = 'c', value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Make a key and show it, once
    Create(Create),
    /// List the keys, without what makes them keys
    List,
    /// Take a key back: a server refuses it within seconds
    Revoke {
        /// Its id, as `list` has it
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(clap::Args, Debug)]
struct Create {
    /// Who is to have it, for people
    #[arg(value_name = "NAME")]
    name: String,
    /// Open every namespace and the server as a whole, instead of the one in --namespace, or `default`
    #[arg(long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// What it allows; several with commas
    #[arg(long = "scope", value_name = "read|write|admin", value_delimiter = ',', default_values = ["read", "write"])]
    scopes: Vec<Scope>,
    /// Calls that it may have at work at once, streams among them; as the configuration says when absent
    #[arg(long, value_name = "N", value_parser = super::number::between(1, u32::MAX))]
    calls_at_once: Option<u32>,
    /// Calls that it may begin in a second; as the configuration says when absent
    #[arg(long, value_name = "N", value_parser = super::number::between(1, u32::MAX))]
    calls_per_second: Option<u32>,
    /// Calls at once that are answered in a stream, coordinations among them; as the configuration says when absent
    #[arg(long, value_name = "N", value_parser = super::number::between(1, u32::MAX))]
    streams_at_once: Option<u32>,
    /// Streams of coordinations at once; as the configuration says when absent
    #[arg(long, value_name = "N", value_parser = super::number::between(1, u32::MAX))]
    coordinations_at_once: Option<u32>,
    /// Runs and probes at work or queued at once; as the configuration says when absent
    #[arg(long, value_name = "N", value_parser = super::number::between(1, u32::MAX))]
    runs_at_once: Option<u32>,
    /// Tokens read and written by models in one day, UTC; as the configuration says when absent
    #[arg(long, value_name = "N", value_parser = super::number::between(1, Limits::MAX_TOKENS))]
    tokens_per_day: Option<u64>,
    /// What they may cost in one day, UTC, such as `5.00 USD`; as the configuration says when absent
    #[arg(long, value_name = "COST")]
    cost_per_day: Option<Cost>,
    /// For how long it is taken, such as 90d; for good when absent
    #[arg(long, value_name = "TIME", value_parser = super::span::parse)]
    expires: Option<Duration>,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let Arguments { what, file, config } = arguments;
    let file = match file {
        Some(file) => file,
        None => configured(config, context).await?,
    };
    match what {
        What::Create(create) => make(create, &file, context),
        What::List => list(&file, context),
        What::Revoke { id } => revoke(&id, &file, context),
    }
}

/// The file that the configuration names.
async fn configured(config: Option<PathBuf>, context: &mut Context<'_>) -> Result<PathBuf, Failure> {
    let found = settings(config, context.environment).await.map_err(|problems| refused(&problems, context.terminal))?;
    let file = found.config.access.keys_file.map(|file| found.config.base.join(file));
    file.ok_or_else(|| {
        Failure::here(
            "the configuration names no file of keys",
            "name one with --file, and for the server as `keys_file` under `[access]` in antiphon.toml",
        )
    })
}

fn make(create: Create, file: &Path, context: &mut Context<'_>) -> Result<(), Failure> {
    keys::named(&create.name).map_err(|error| Failure::usage(format!("NAME {error}")))?;
    let opens = match create.all_namespaces {
        true => Opens::All,
        false => {
            let named = context.globals.namespace.clone().or_else(|| context.environment.var("ANTIPHON_NAMESPACE"));
            let name = named.unwrap_or_else(|| Namespace::default_namespace().to_string());
            let one = name.parse().map_err(|error: id::Error| Failure::usage(format!("--namespace {error}")))?;
            Opens::One(one)
        }
    };
    let mut scopes = create.scopes;
    scopes.sort_unstable();
    scopes.dedup();
    if create.expires.is_some_and(|after| after.is_zero()) {
        return Err(Failure::usage("--expires 0s makes a key that is never taken: give a longer time, or none"));
    }
    let now = SystemClock.now();
    let expires =
        create.expires.map(|after| Moment(now.0.saturating_add(u64::try_from(after.as_millis()).unwrap_or(u64::MAX))));
    let limits = Limits {
        calls_at_once: create.calls_at_once,
        calls_per_second: create.calls_per_second,
        streams_at_once: create.streams_at_once,
        coordinations_at_once: create.coordinations_at_once,
        runs_at_once: create.runs_at_once,
        tokens_per_day: create.tokens_per_day,
        cost_per_day: create.cost_per_day,
    };
    let wanted = Wanted { name: create.name, opens, scopes, expires, limits };
    let (key, kept) = keys::make(&wanted, random()?, random()?, now);
    KeyFile::edit(file, |keys| keys.keys.push(kept.clone())).map_err(cannot)?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let mut told = told(&kept);
        if let Value::Object(told) = &mut told {
            told.insert("key".to_owned(), keys::shown(&key).into());
        }
        return Ok(terminal.line(&format!("{told:#}"))?);
    }
    let note = format!(
        "key {} for {} in {}, {}; it is shown this once, so keep it now",
        kept.id,
        kept.name,
        words(&kept.namespace),
        kept.scopes.join(" and ")
    );
    let note = terminal.paint_err(Style::Dim, &note);
    terminal.note(&note)?;
    Ok(terminal.line(keys::shown(&key))?)
}

fn list(file: &Path, context: &mut Context<'_>) -> Result<(), Failure> {
    let KeyFile { keys } = KeyFile::read(file).map_err(cannot)?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let keys: Vec<Value> = keys.iter().map(told).collect();
        return Ok(terminal.line(&format!("{:#}", json!({ "keys": keys })))?);
    }
    let mut table = Table::new(&["id", "name", "namespace", "scopes", "created", "expires", "limits"]);
    for kept in keys {
        let limits = limits(&kept.limits);
        let expires = kept.expires.unwrap_or_else(|| "never".to_owned());
        let cells = [kept.id, kept.name, kept.namespace, kept.scopes.join(","), kept.created, expires, limits];
        table.row(cells.into_iter().map(Cell::from).collect());
    }
    let lines = table.lines(terminal);
    Ok(terminal.lines(lines)?)
}

fn revoke(id: &str, file: &Path, context: &mut Context<'_>) -> Result<(), Failure> {
    let revoked = KeyFile::edit(file, |keys| {
        let there = keys.keys.iter().position(|kept| kept.id == id)?;
        Some(keys.keys.remove(there))
    });
    let Some(kept) = revoked.map_err(cannot)? else {
        return Err(Failure::here(
            format!("{} has no key `{id}`", file.display()),
            "`antiphon keys list` tells which there are",
        ));
    };
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.line(&format!("{:#}", json!({ "revoked": told(&kept) })))?);
    }
    Ok(terminal.line(&format!("revoked {} of {}", kept.id, kept.name))?)
}

/// Limits of a key for people, each by its name in the file.
fn limits(limits: &Limits) -> String {
    let Ok(Value::Object(limits)) = serde_json::to_value(limits) else { return String::new() };
    let told = limits.iter().map(|(name, limit)| match limit {
        Value::String(cost) => format!("{name} {cost}"),
        count => format!("{name} {count}"),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// A key as it is told, without its hash.
fn told(kept: &Kept) -> Value {
    json!({
        "id": kept.id,
        "name": kept.name,
        "namespace": kept.namespace,
        "scopes": kept.scopes,
        "created": kept.created,
        "expires": kept.expires,
        "limits": kept.limits,
    })
}

fn words(namespace: &str) -> String {
    match namespace {
        crate::app::access::ALL_NAMESPACES => "all namespaces".to_owned(),
        one => format!("namespace {one}"),
    }
}

fn cannot(error: keys::Error) -> Failure {
    let remedy = match &error {
        keys::Error::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound => {
            "`antiphon keys create` makes the file, in a folder that is there"
        }
        keys::Error::Io { cause, .. } if file::is_refused(cause) => {
            "name another with --file, or as `keys_file` under `[access]` in antiphon.toml"
        }
        keys::Error::Io { .. } => "run it as a user who may write the file and its folder",
        keys::Error::Text { .. } => "mend the file, or put it aside and make new keys",
    };
    Failure::here(error.to_string(), remedy)
}
