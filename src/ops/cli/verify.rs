//! `antiphon verify`: checks every record of a store, a server's or one that no server has open. It must not know how records are checked.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Context;
use super::failure::Failure;
use super::part::Part;
use super::progress::Progress;
use super::terminal::{Style, Terminal};
use super::words;
use crate::app::verify::Verified;
use crate::grpc::convert::admin::verified_to_pb;
use crate::grpc::pb;
use crate::ops::app::{self, Damage, Told, verify_offline};
use crate::ops::config::Config;
use crate::ops::shutdown::Signals;
use crate::store;
use crate::store::verify::Event;

/// What can be typed after `verify`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// Check a copy of the store in this folder, which no server has open and which is not changed
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Make the copy in this folder; else beside the store, or where temporary files are
    #[arg(long, value_name = "DIR", requires = "data")]
    copy_in: Option<PathBuf>,
    #[command(flatten)]
    part: Part,
    /// Stop after so many findings
    #[arg(long, value_name = "N", conflicts_with = "data", value_parser = super::number::between(1_u32, 100_000))]
    max_findings: Option<u32>,
}

/// Verifies.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::verify_response::Event as Seen;
    if let Some(dir) = arguments.data {
        return offline(&dir, arguments.copy_in.as_deref(), context.terminal).await;
    }
    let remote = context.remote().await?;
    let request =
        pb::VerifyRequest { scope: arguments.part.build(), max_findings: arguments.max_findings.unwrap_or_default() };
    let summary = remote
        .within(async {
            let mut stream = remote.admin().verify(remote.request(request)).await?.into_inner();
            let mut progress = Progress::of("checked", "record");
            let outcome = loop {
                match stream.message().await.map(|part| part.map(|part| part.event)) {
                    Ok(Some(Some(Seen::Completed(summary)))) => break Ok(summary),
                    Ok(Some(Some(Seen::Finding(finding)))) => {
                        progress.end(context.terminal)?;
                        show(&finding, context.terminal)?;
                    }
                    Ok(Some(Some(Seen::Progress(so_far)))) => {
                        progress.show(so_far.checked_count, 0, context.terminal)?;
                    }
                    Ok(Some(None)) => {}
                    Ok(None) => break Err(Failure::incomplete("end")),
                    Err(status) => break Err(status.into()),
                }
            };
            progress.end(context.terminal)?;
            outcome
        })
        .await?;
    conclude(summary, context.terminal)
}

/// A store that no server has open. Told in the words of the API, as if a server had looked.
async fn offline(dir: &Path, under: Option<&Path>, terminal: &mut Terminal) -> Result<(), Failure> {
    if !dir.is_dir() {
        return Err(Failure::file(dir, "there is no such folder"));
    }
    if !dir.join("sled").is_dir() {
        // Opening would make a store there, and find nothing wrong with it.
        return Err(Failure::here(
            format!("{}: there is no store in this folder", dir.display()),
            "name the folder that `serve --data` was given",
        ));
    }
    let mut signals = Signals::take()?;
    let begun = Instant::now();
    let elapsed = || prost_types::Duration::try_from(begun.elapsed()).unwrap_or_default();
    let mut outcome = Ok(());
    let mut tell = |told: Told<'_>| {
        if outcome.is_ok() {
            outcome = match told {
                Told::Copying { to, bytes } => copying(to, bytes, terminal),
                Told::Damage(damage) => show(&damaged(&damage), terminal),
                Told::Records(Event::Finding(finding)) => {
                    said(verified_to_pb(Verified::Finding(finding), elapsed()), terminal)
                }
                Told::Records(Event::Progress(_)) => Ok(()),
            };
        }
    };
    let elsewhere = std::env::temp_dir();
    let verified = tokio::select! {
        verified = verify_offline(Config::default(), dir, under, &elsewhere, &mut tell) => verified.map_err(explained),
        // The copy is removed as the work is dropped.
        signal = signals.next() => Err(Failure::here(format!("stopped by {signal}"), "")),
    };
    outcome?;
    said(verified_to_pb(Verified::Done(verified?, false), elapsed()), terminal)
}

/// Says what is looked at, to a person.
fn copying(to: &Path, bytes: u64, terminal: &mut Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return Ok(());
    }
    let note =
        format!("verifying a copy of {} in {}; the store itself is not changed", words::bytes(bytes), to.display());
    let note = terminal.paint_err(Style::Dim, &note);
    Ok(terminal.note(&note)?)
}

/// Damage of a file, as a finding.
fn damaged(damage: &Damage) -> pb::Finding {
    pb::Finding {
        code: "damaged_file".to_owned(),
        kind: "file".to_owned(),
        record: format!("{} at byte {}", damage.file, damage.at),
        message: damage.what.to_owned(),
        remedy:
            "newer values may be missing and older ones in their place: put back a copy of the folder that was made \
                 while the server was stopped"
                .to_owned(),
    }
}

/// Why it could not be verified, with the way out.
fn explained(error: app::Error) -> Failure {
    let remedy = match &error {
        app::Error::Store(store::Error::Unavailable(_)) => {
            "ask the server that has it: antiphon verify, with --server URL where it is not at the usual address; or stop it"
        }
        app::Error::Copy(_) => "--copy-in DIR names another folder for the copy",
        _ => "",
    };
    Failure::here(error.to_string(), remedy)
}

/// One event, as it comes from a server too.
fn said(response: pb::VerifyResponse, terminal: &mut Terminal) -> Result<(), Failure> {
    match response.event {
        Some(pb::verify_response::Event::Completed(summary)) => conclude(summary, terminal),
        Some(pb::verify_response::Event::Finding(finding)) => show(&finding, terminal),
        Some(pb::verify_response::Event::Progress(_)) | None => Ok(()),
    }
}

/// A finding: on the output, or a line of JSON each.
fn show(finding: &pb::Finding, terminal: &mut Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        let event = Some(pb::verify_response::Event::Finding(finding.clone()));
        return Ok(terminal.json(&pb::VerifyResponse { event })?);
    }
    let code = terminal.paint(Style::Bad, &finding.code);
    terminal.line(&format!("{code} {} {}: {}", finding.kind, finding.record, finding.message))?;
    if !finding.remedy.is_empty() {
        terminal.line(&format!("  {}", finding.remedy))?;
    }
    Ok(())
}

/// What was found in all. Findings are a failure.
fn conclude(summary: pb::VerifySummary, terminal: &mut Terminal) -> Result<(), Failure> {
    let findings = summary.finding_count;
    if terminal.is_json() {
        terminal.json(&pb::VerifyResponse { event: Some(pb::verify_response::Event::Completed(summary)) })?;
    } else {
        let counts: Vec<String> = summary.checked.iter().map(|kind| format!("{} {}", kind.kind, kind.count)).collect();
        let took = words::api_duration(summary.duration.as_ref());
        let early = if summary.stopped_early { ", stopped early" } else { "" };
        let style = if findings == 0 { Style::Good } else { Style::Bad };
        let verdict = terminal.paint(style, &format!("{}{early}", words::count(findings, "finding")));
        let checked = if counts.is_empty() { "an empty store".to_owned() } else { counts.join(", ") };
        terminal.line(&format!("{verdict}; checked {checked} in {took}"))?;
    }
    if findings == 0 { Ok(()) } else { Err(Failure::Said) }
}
