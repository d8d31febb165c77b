//! Exports, backups and imports: what is asked, what is sent, what became of it. It must not know who carries it.

use std::collections::BTreeMap;

use super::{Path, Problems, label, limit, scope};
use crate::app::graph::Scope;
use crate::app::transfer::{Exported, Importing, Resume, Told, Total};
use crate::domain::fault::Fault;
use crate::grpc::convert::admin::amounts_to_pb;
use crate::grpc::convert::problem::whole;
use crate::grpc::pb;
use crate::store::layout::Kind;
use crate::store::tally::Amount;
use crate::store::transfer::{Chunk, FORMAT, Faulty, Options, Summary};

/// Parts of the graph that one export may name.
const MAX_SCOPES: usize = 1_024;

/// An export: its parts, whether documents are left out, and where it goes on.
///
/// # Errors
/// What is wrong with it.
pub fn export_from_pb(request: pb::ExportRequest) -> Result<(Vec<Scope>, bool, Resume), Fault> {
    let pb::ExportRequest { scopes, after_line, snapshot_id, omit_documents } = request;
    whole(|at, problems| {
        if after_line > 0 && snapshot_id.is_empty() {
            problems.add(&at.field("after_line"), "needs the `snapshot_id` of the export that broke off");
        }
        let list = at.field("scopes");
        if !limit::count(scopes.len(), MAX_SCOPES, "scopes", "make several exports", &list, problems) {
            return None;
        }
        let read: Vec<_> = scopes
            .into_iter()
            .enumerate()
            .map(|(index, each)| scope::from_pb(each, &list.index(index), problems))
            .collect();
        let read = read.into_iter().collect::<Option<Vec<_>>>()?;
        Some((read, omit_documents, Resume { snapshot_id, after_line }))
    })
}

/// A part of the graph that may be left out.
///
/// # Errors
/// What is wrong with it.
pub fn part_from_pb(given: Option<pb::GraphScope>) -> Result<Option<Scope>, Fault> {
    whole(|at, problems| scope::optional_from_pb(given, &at.field("scope"), problems))
}

/// What comes with an import.
pub enum Opened {
    /// Our own lines.
    Native(Importing),
    /// Transcripts.
    Chat {
        /// How to import them.
        options: Options,
        /// A thread for each.
        create_threads: bool,
    },
}

/// The beginning of an import.
///
/// # Errors
/// What is wrong with it.
pub fn open_from_pb(open: pb::ImportOpen) -> Result<Opened, Fault> {
    whole(|at, problems| {
        let at = at.field("open");
        let labels = label::from_pb(open.labels, &at.field("labels"), problems);
        let format = format_from_pb(open.format, &at.field("format"), problems);
        if open.create_threads && format == Some(pb::TransferFormat::Antiphon) {
            problems.add(&at.field("create_threads"), "is only for transcripts: an export brings its own threads");
        }
        let options = Options { dry_run: open.dry_run, labels: labels?, skip_faulty: open.skip_faulty };
        Some(match format? {
            pb::TransferFormat::OpenaiChat => Opened::Chat { options, create_threads: open.create_threads },
            pb::TransferFormat::Unspecified | pb::TransferFormat::Antiphon => Opened::Native(Importing { options }),
        })
    })
}

fn format_from_pb(format: i32, at: &Path<'_>, problems: &mut Problems) -> Option<pb::TransferFormat> {
    match pb::TransferFormat::try_from(format) {
        Ok(pb::TransferFormat::Unspecified) => Some(pb::TransferFormat::Antiphon),
        Ok(format) => Some(format),
        Err(_) => {
            let words = "TRANSFER_FORMAT_ANTIPHON or TRANSFER_FORMAT_OPENAI_CHAT";
            problems.add(at, format!("has the unknown value {format}: use {words}"));
            None
        }
    }
}

/// The beginning of an export.
pub fn started_to_pb(snapshot_id: &str) -> pb::TransferStarted {
    pb::TransferStarted { snapshot_id: snapshot_id.to_owned(), format_version: FORMAT, estimated_lines: None }
}

/// One event of an export.
pub fn exported_to_pb(exported: Exported) -> pb::export_response::Event {
    use pb::export_response::Event;
    match exported {
        Exported::Lines(chunk) => Event::Chunk(chunk_to_pb(chunk)),
        Exported::Done(summary) => Event::Completed(summary_to_pb(summary)),
    }
}

/// One event of a backup.
pub fn backed_up_to_pb(exported: Exported) -> pb::backup_response::Event {
    use pb::backup_response::Event;
    match exported {
        Exported::Lines(chunk) => Event::Chunk(chunk_to_pb(chunk)),
        Exported::Done(summary) => Event::Completed(summary_to_pb(summary)),
    }
}

fn chunk_to_pb(chunk: Chunk) -> pb::TransferChunk {
    pb::TransferChunk { lines_json: chunk.lines, first_line: chunk.first_line }
}

fn summary_to_pb(summary: Summary) -> pb::TransferSummary {
    pb::TransferSummary {
        line_count: summary.lines,
        size_bytes: summary.bytes,
        records: amounts_to_pb(&summary.records),
        blake3: summary.blake3,
    }
}

/// One event of an import.
pub fn told_to_pb(told: Told) -> pb::ImportResponse {
    use pb::import_response::Event;
    let event = match told {
        Told::Acknowledged(through_line) => Event::Acknowledged(pb::ImportAcknowledged { through_line }),
        Told::Faulty(faulty) => Event::Finding(faulty_to_pb(faulty)),
    };
    pb::ImportResponse { event: Some(event) }
}

fn faulty_to_pb(faulty: Faulty) -> pb::Finding {
    pb::Finding {
        code: faulty.code.to_owned(),
        kind: faulty.kind.map_or_else(String::new, |kind: Kind| kind.word().to_owned()),
        record: faulty.line.to_string(),
        message: format!("line {} {}", faulty.line, faulty.message),
        remedy: faulty.remedy.to_owned(),
    }
}

/// The end of an import.
pub fn total_to_pb(total: Total, thread_ids: Vec<String>) -> pb::ImportResponse {
    let amounts = |records: &BTreeMap<Kind, Amount>| {
        let some =
            records.iter().filter(|(_, amount)| amount.count > 0).map(|(kind, amount)| (*kind, *amount)).collect();
        amounts_to_pb(&some)
    };
    let summary = pb::ImportSummary {
        stored: amounts(&total.tallies.stored),
        matched: amounts(&total.tallies.matched),
        erased: amounts(&total.tallies.erased),
        skipped_count: total.tallies.skipped,
        read: Some(summary_to_pb(total.read)),
        thread_ids,
    };
    pb::ImportResponse { event: Some(pb::import_response::Event::Completed(summary)) }
}
