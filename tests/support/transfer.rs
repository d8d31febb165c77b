//! Exports and imports of a running server in few words.

use antiphon::grpc::pb;
use pb::import_request::Part;
use tokio_stream::StreamExt;
use tonic::Status;

use super::server::Running;

/// The lines of a whole export, and what was said of it at its end.
pub(crate) async fn export(server: &Running, scopes: Vec<pb::GraphScope>) -> (String, pb::TransferSummary) {
    let request = pb::ExportRequest { scopes, ..Default::default() };
    read(server.admin().export(request).await.unwrap().into_inner()).await.unwrap()
}

/// Reads an export to its end.
pub(crate) async fn read(
    mut stream: tonic::Streaming<pb::ExportResponse>,
) -> Result<(String, pb::TransferSummary), Status> {
    use pb::export_response::Event;
    let (mut lines, mut summary, mut next) = (String::new(), None, None);
    while let Some(response) = stream.message().await? {
        match response.event.unwrap() {
            Event::Started(started) => assert!(!started.snapshot_id.is_empty() && started.format_version == 1),
            Event::Chunk(chunk) => {
                assert!(next.is_none_or(|next| next == chunk.first_line), "no line is left out");
                assert!(chunk.lines_json.ends_with('\n'), "whole lines");
                next = Some(chunk.first_line + chunk.lines_json.lines().count() as u64);
                lines.push_str(&chunk.lines_json);
            }
            Event::Completed(completed) => summary = Some(completed),
        }
    }
    Ok((lines, summary.expect("the last event is `completed`")))
}

/// What an import told: the last line that was acknowledged, lines that were left out, and the end.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) through: u64,
    pub(crate) findings: Vec<pb::Finding>,
    pub(crate) summary: pb::ImportSummary,
}

/// Imports lines, so many in one message.
pub(crate) async fn import_as(
    server: &Running,
    open: pb::ImportOpen,
    lines: &str,
    at_a_time: usize,
) -> Result<Imported, Status> {
    let whole: Vec<&str> = lines.split_inclusive('\n').collect();
    let mut parts = vec![Part::Open(open)];
    let mut first_line = 1;
    for chunk in whole.chunks(at_a_time) {
        parts.push(Part::Chunk(pb::TransferChunk { lines_json: chunk.concat(), first_line }));
        first_line += chunk.len() as u64;
    }
    parts.push(Part::Commit(pb::ImportCommit::default()));
    send(server, parts).await
}

/// Sends the parts of an import.
pub(crate) async fn send(server: &Running, parts: Vec<Part>) -> Result<Imported, Status> {
    use pb::import_response::Event;
    let requests = tokio_stream::iter(parts).map(|part| pb::ImportRequest { part: Some(part) });
    let mut stream = server.admin().import(requests).await?.into_inner();
    let (mut through, mut findings) = (0, Vec::new());
    while let Some(response) = stream.message().await? {
        match response.event.unwrap() {
            Event::Acknowledged(acknowledged) => through = acknowledged.through_line,
            Event::Finding(finding) => findings.push(finding),
            Event::Completed(summary) => return Ok(Imported { through, findings, summary }),
        }
    }
    panic!("an import ends with `completed` or an error");
}

/// Imports lines.
pub(crate) async fn import(server: &Running, lines: &str) -> Result<Imported, Status> {
    import_as(server, pb::ImportOpen::default(), lines, 100).await
}

/// How many records of each kind there are, without those that are none.
pub(crate) fn counts(records: &[pb::RecordCount]) -> Vec<(String, u64)> {
    records.iter().map(|record| (record.kind.clone(), record.count)).collect()
}

/// What a verification finds.
pub(crate) async fn findings(server: &Running) -> Vec<String> {
    use pb::verify_response::Event;
    let mut stream = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    let mut found = Vec::new();
    while let Some(response) = stream.message().await.unwrap() {
        if let Some(Event::Finding(finding)) = response.event {
            found.push(format!("{}: {}", finding.record, finding.message));
        }
    }
    found
}
