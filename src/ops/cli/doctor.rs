//! `antiphon doctor`: looks at a deployment and says what is wrong and what to do. It must not change anything.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tonic::Code;

use super::Context;
use super::failure::Failure;
use super::serve::settings;
use super::terminal::{Style, Terminal};
use crate::domain::source::Clock;
use crate::grpc::pb;
use crate::ops::app::Furnished;
use crate::ops::config::{self, Config};
use crate::ops::doctor::{self, Finding, Verdict};
use crate::ops::source::SystemClock;

/// What can be typed after `doctor`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// The configuration; else the one that `serve` would use
    #[arg(long, short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of the store, where the server is told it on its command line
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Do not try whether providers can be reached
    #[arg(long)]
    no_providers: bool,
}

/// Looks.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let (mut findings, config) = deployment(&arguments, context).await?;
    findings.extend(server(config.as_ref(), context).await);
    show(&findings, context.terminal)
}

/// What can be seen without a server.
async fn deployment(arguments: &Arguments, context: &Context<'_>) -> Result<(Vec<Finding>, Option<Config>), Failure> {
    const ABOUT: &str = "configuration";
    let bad = |problem: &config::Problem| Finding::bad(ABOUT, problem.to_string(), "`antiphon check` reads it again");
    let settings = match settings(arguments.config.clone(), context.environment).await {
        Ok(settings) => settings,
        Err(problems) => return Ok((problems.iter().map(bad).collect(), None)),
    };
    let mut findings = Vec::new();
    let config = &settings.config;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    match settings.setup(context.environment, &clock) {
        Ok(Furnished { setup, notes, .. }) => {
            let from =
                settings.source.as_ref().map_or("there is none, so what can be found is used".to_owned(), |source| {
                    format!("{} has no mistakes", source.path().display())
                });
            findings.push(Finding::good(ABOUT, from));
            findings.extend(notes.into_iter().map(|note| Finding::note(ABOUT, note, "")));
            if !arguments.no_providers {
                findings.extend(doctor::providers(&setup).await.map_err(|error| Failure::here(error.to_string(), ""))?);
            }
        }
        Err(problems) => findings.extend(problems.iter().map(bad)),
    }
    if let Some(error) = config.log.cannot_audit(&config.base) {
        findings.push(Finding::bad("audit log", error.to_string(), error.remedy()));
    }
    findings.push(doctor::callers(config));
    findings.extend(doctor::files(&doctor::secret_files(config)));
    let configured = config.server.data_dir.as_ref().map(|dir| config.base.join(dir));
    if let Some(dir) = arguments.data.clone().or(configured).or_else(|| config::default_data_dir(context.environment)) {
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        findings.extend(doctor::disk(&dir, config.store.min_free_mebibytes));
    }
    Ok((findings, Some(settings.config)))
}

/// Where the server of a configuration is called from its own machine, and the certificate that it shows.
fn configured(config: &Config) -> (String, Option<PathBuf>) {
    let mut address = config.server.listen;
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    let certificate = config.tls.certificate_file.as_ref().map(|file| config.base.join(file));
    (format!("{}://{address}", if certificate.is_some() { "https" } else { "http" }), certificate)
}

/// What a server says of itself, if one is there: the one that was named, else the one that is configured.
async fn server(config: Option<&Config>, context: &Context<'_>) -> Vec<Finding> {
    const ABOUT: &str = "server";
    let (address, certificate) = match config.filter(|_| !context.names_a_server()) {
        Some(config) => configured(config),
        None => (context.server(), None),
    };
    let remote = match context.remote_at(&address, certificate.as_deref()).await {
        Ok(remote) => remote,
        Err(failure) => {
            let what = format!("none can be called at {address}: {failure}");
            let remedy = "start it, or name it with --server URL; with TLS, its roots with --tls-ca and your certificate with --tls-cert";
            // Where nobody named one, there may be none yet.
            return vec![if context.names_a_server() {
                Finding::bad(ABOUT, what, remedy)
            } else {
                Finding::note(ABOUT, what, remedy)
            }];
        }
    };
    let call = async { Ok(remote.admin().get_server_info(remote.request(pb::GetServerInfoRequest {})).await?) };
    let info = match remote.within(call).await {
        Ok(answer) => answer.into_inner().server_info.unwrap_or_default(),
        Err(failure) => {
            return vec![match &failure {
                Failure::Refused(refusal) if refusal.code == Code::Unauthenticated => {
                    let what = format!("{address} is there, and asks who calls");
                    Finding::note(ABOUT, what, "show it a key with --key-file to see more")
                }
                _ => Finding::bad(ABOUT, format!("{address} does not answer: {failure}"), "its log says why"),
            }];
        }
    };
    let mut findings = Vec::new();
    let ours = env!("CARGO_PKG_VERSION");
    findings.push(if info.version == ours {
        Finding::good(ABOUT, format!("{address} serves {ours}"))
    } else {
        let what = format!("{address} serves {}, and this program is {ours}", info.version);
        Finding::note(ABOUT, what, "restart it with this program, or use that one")
    });
    if info.draining {
        findings.push(Finding::bad(ABOUT, "it is shutting down", "wait for it to end, and start it again"));
    }
    let store = info.store.unwrap_or_default();
    if store.ephemeral {
        findings.push(Finding::note(ABOUT, "its store is gone when it stops", "start it without --ephemeral"));
    }
    findings.push(match store.health() {
        pb::StoreHealth::Writable => Finding::good(ABOUT, "its store takes writes"),
        _ => Finding::bad(
            ABOUT,
            format!("its store takes no writes: {}", store.health_reason),
            "see `AntiphonStoreReadOnly` in docs/operations.md",
        ),
    });
    findings
}

fn show(findings: &[Finding], terminal: &mut Terminal) -> Result<(), Failure> {
    let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Good);
    if terminal.is_json() {
        let told = findings.iter().map(|finding| {
            json!({ "about": finding.about, "verdict": finding.verdict.word(), "what": finding.what, "remedy": finding.remedy })
        });
        let told = json!({ "verdict": worst.word(), "findings": told.collect::<Vec<_>>() });
        terminal.line(&format!("{told:#}"))?;
    } else {
        for finding in findings {
            let style = match finding.verdict {
                Verdict::Good => Style::Good,
                Verdict::Note => Style::Odd,
                Verdict::Bad => Style::Bad,
            };
            let word = terminal.paint(style, &format!("{:4}", finding.verdict.word()));
            let what = terminal.foreign(&format!("{}: {}", finding.about, finding.what));
            terminal.line(&format!("{word}  {what}"))?;
            if !finding.remedy.is_empty() {
                let remedy = terminal.foreign(&finding.remedy);
                let remedy = terminal.paint(Style::Dim, &remedy);
                terminal.line(&format!("      {remedy}"))?;
            }
        }
    }
    match worst {
        Verdict::Bad => Err(Failure::Said),
        Verdict::Good | Verdict::Note => Ok(()),
    }
}
