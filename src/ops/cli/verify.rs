//! `antiphon verify`: checks every record of a store, a server's or one that no server has open. It must not know how records are checked.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Context;
use super::failure::Failure;
use super::terminal::{Style, Terminal};
use super::words;
use crate::app::verify::Verified;
use crate::grpc::convert::admin::verified_to_pb;
use crate::grpc::pb;
use crate::ops::app::verify_offline;
use crate::ops::config::Config;
use crate::store::verify::Event;

/// What can be typed after `verify`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// Check the store in this folder, which no server has open
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Stop after so many findings
    #[arg(long, value_name = "N", conflicts_with = "data", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_findings: Option<u32>,
}

/// Verifies.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    if let Some(dir) = arguments.data {
        return offline(&dir, context.terminal).await;
    }
    let remote = context.remote().await?;
    let request = pb::VerifyRequest { scope: None, max_findings: arguments.max_findings.unwrap_or_default() };
    let summary = remote
        .within(async {
            let mut stream = remote.admin().verify(remote.request(request)).await?.into_inner();
            while let Some(part) = stream.message().await? {
                match part.event {
                    Some(pb::verify_response::Event::Completed(summary)) => return Ok(summary),
                    Some(pb::verify_response::Event::Finding(finding)) => show(&finding, context.terminal)?,
                    Some(pb::verify_response::Event::Progress(_)) | None => {}
                }
            }
            Err(Failure::incomplete("end"))
        })
        .await?;
    conclude(summary, context.terminal)
}

/// A store that no server has open. Told in the words of the API, as if a server had looked.
async fn offline(dir: &Path, terminal: &mut Terminal) -> Result<(), Failure> {
    if !dir.is_dir() {
        return Err(Failure::file(dir, "there is no such folder"));
    }
    let begun = Instant::now();
    let elapsed = || prost_types::Duration::try_from(begun.elapsed()).unwrap_or_default();
    let mut told = Ok(());
    let report = verify_offline(Config::default(), dir, &mut |event| {
        if let (Event::Finding(finding), Ok(())) = (event, &told) {
            told = said(verified_to_pb(Verified::Finding(finding), elapsed()), terminal);
        }
    })
    .await
    .map_err(|error| Failure::here(error.to_string(), "a server that has it open can be asked: antiphon verify"))?;
    told?;
    said(verified_to_pb(Verified::Done(report, false), elapsed()), terminal)
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
        let counts: Vec<String> = summary.checked.iter().map(|kind| format!("{} {}", kind.count, kind.kind)).collect();
        let took = words::api_duration(summary.duration.as_ref());
        let early = if summary.stopped_early { ", stopped early" } else { "" };
        let style = if findings == 0 { Style::Good } else { Style::Bad };
        let verdict = terminal.paint(style, &format!("{findings} findings{early}"));
        terminal.line(&format!("{verdict}; checked {} in {took}", counts.join(", ")))?;
    }
    if findings == 0 { Ok(()) } else { Err(Failure::Said) }
}
