//! `antiphon verify`: checks every record of a server's store. It must not know how records are checked.

use super::Context;
use super::failure::Failure;
use super::terminal::{Style, Terminal};
use super::words;
use crate::grpc::pb;

/// What can be typed after `verify`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// Stop after so many findings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_findings: Option<u32>,
}

/// Verifies.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
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
