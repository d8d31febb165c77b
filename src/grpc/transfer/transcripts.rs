//! Importing transcripts: each line is recorded as one, and what is on record already is recognised by its content. It must not know how.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::app::App;
use crate::app::access::AUDIT;
use crate::app::transfer::{Told, Total};
use crate::domain::exchange::Origin;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, ThreadId};
use crate::grpc::ask;
use crate::grpc::call::Call;
use crate::grpc::convert::record::record_from_pb;
use crate::grpc::convert::transcript::{self, Transcript};
use crate::grpc::pb;
use crate::store::layout::Kind;
use crate::store::transfer::{Faulty, Options, Summary, Tallies};

/// Threads that are named at the end.
const NAMED: usize = 1_000;
/// What to do with a transcript that cannot be recorded.
const REMEDY: &str = "mend it, or leave it out with `--skip-faulty`; what was stored before it stays";

/// An import of transcripts under way.
pub(super) struct Transcripts {
    app: Arc<App>,
    call: Call,
    options: Options,
    create_threads: bool,
    read: Summary,
    hasher: blake3::Hasher,
    tallies: Tallies,
    threads: Vec<String>,
}

impl Transcripts {
    pub(super) fn new(app: Arc<App>, call: Call, options: Options, create_threads: bool) -> Self {
        Self {
            app,
            call,
            options,
            create_threads,
            read: Summary::default(),
            hasher: blake3::Hasher::new(),
            tallies: Tallies::default(),
            threads: Vec::new(),
        }
    }

    /// Records whole lines, of which the first has this number.
    pub(super) async fn chunk(&mut self, first_line: u64, lines: &str) -> Result<Vec<Told>, Fault> {
        if first_line <= self.read.lines {
            let due = self.read.lines + 1;
            return Err(Fault::field(
                "chunk.first_line",
                format!("is {first_line}, and line {due} is due: send each once"),
            ));
        }
        // Transcripts stand for themselves, so that those which were recorded before need not be sent again.
        self.read.lines = first_line - 1;
        let mut told = Vec::new();
        for line in lines.strip_suffix('\n').unwrap_or(lines).split('\n') {
            self.hasher.update(line.as_bytes()).update(b"\n");
            self.read.lines += 1;
            self.read.bytes += line.len() as u64 + 1;
            if line.trim().is_empty() {
                continue;
            }
            if let Err(wrong) = self.line(line).await? {
                let faulty = self.faulty(wrong);
                if !self.options.skip_faulty {
                    let message = format!("line {} {}: {REMEDY}", faulty.line, faulty.message);
                    let fault = Fault::new(Reason::InvalidFields, message)
                        .at("chunk.lines_json", format!("line {} {}", faulty.line, faulty.message));
                    return Err(fault
                        .with("line", faulty.line)
                        .with("through_line", faulty.line - 1)
                        .with("problem", faulty.code));
                }
                self.tallies.skipped += 1;
                told.push(Told::Faulty(faulty));
            }
        }
        if !self.options.dry_run {
            told.push(Told::Acknowledged(self.read.lines));
        }
        Ok(told)
    }

    fn faulty(&self, message: String) -> Faulty {
        Faulty {
            line: self.read.lines,
            code: "malformed_transcript",
            kind: None,
            message,
            remedy: REMEDY,
            is_last: false,
        }
    }

    /// One transcript. What is wrong with it is no error of the import.
    async fn line(&mut self, line: &str) -> Result<Result<(), String>, Fault> {
        let transcript = match transcript::read(line) {
            Ok(transcript) => transcript,
            Err(why) => return Ok(Err(why)),
        };
        let name = transcript.name.clone();
        // Made of what it says, so that a second import finds the thread of the first.
        let thread_id = format!("import-{}", &blake3::hash(line.as_bytes()).to_hex().as_str()[..24]);
        let on_thread = self.create_threads.then(|| (thread_id.clone(), name));
        match self.store(transcript, on_thread).await {
            Ok(()) => {
                if self.create_threads && self.threads.len() < NAMED && !self.options.dry_run {
                    self.threads.push(thread_id);
                }
                Ok(Ok(()))
            }
            Err(fault) if is_of_the_server(&fault) => Err(fault),
            Err(fault) => Ok(Err(format!("cannot be recorded: {}", fault.message))),
        }
    }

    async fn store(&mut self, transcript: Transcript, on_thread: Option<(String, String)>) -> Result<(), Fault> {
        let thread = match &on_thread {
            Some((id, name)) if !self.app.has_thread(&self.call.caller, &ThreadId::new(id)).await? => {
                let new = pb::NewThread { thread_id: id.clone(), name: name.clone(), ..Default::default() };
                Some(pb::record_request::Thread::NewThread(new))
            }
            _ => None,
        };
        let makes_thread = thread.is_some();
        let request = pb::RecordRequest {
            messages: transcript.messages,
            facts: transcript.facts,
            labels: self.options.labels.clone().into_iter().collect(),
            thread,
            ..Default::default()
        };
        let (mut transcript, repeat) = ask::record(self.call.read(|| record_from_pb(request))?, Hash([0; 32]));
        transcript.origin = Origin::Imported;
        let (stored, matched) = if self.options.dry_run {
            self.app.try_transcript(&self.call.caller, &transcript).await?
        } else {
            let recorded = self.app.record(&self.call.caller, transcript, &repeat).await?;
            let matched = recorded.exchanges.iter().filter(|exchange| exchange.matched).count();
            (recorded.exchanges.len() - matched, matched)
        };
        let count = |counts: &mut BTreeMap<Kind, _>, kind, times: usize| {
            let amount: &mut crate::store::tally::Amount = counts.entry(kind).or_default();
            amount.count = amount.count.saturating_add(times as u64);
        };
        count(&mut self.read.records, Kind::Exchange, stored + matched);
        count(&mut self.tallies.stored, Kind::Exchange, stored);
        count(&mut self.tallies.matched, Kind::Exchange, matched);
        count(&mut self.tallies.stored, Kind::Thread, usize::from(makes_thread));
        Ok(())
    }

    /// Ends the import, with the hash of all lines where the sender gives one.
    pub(super) fn finish(mut self: Box<Self>, blake3: &str) -> Result<(Vec<Told>, Total, Vec<String>), Fault> {
        self.read.blake3 = self.hasher.finalize().to_hex().to_string();
        if !blake3.is_empty() && self.read.blake3 != blake3 {
            return Err(Fault::field(
                "commit.blake3",
                "is not that of the lines that came: send them again; what is stored is recognised",
            ));
        }
        let (lines, skipped, dry_run) = (self.read.lines, self.tallies.skipped, self.options.dry_run);
        let namespace = self.call.caller.namespace.as_str();
        tracing::info!(target: AUDIT, namespace, lines, skipped, dry_run, "import.done");
        Ok((Vec::new(), Total { read: self.read, tallies: self.tallies }, self.threads))
    }
}

/// The transcript is not to blame.
fn is_of_the_server(fault: &Fault) -> bool {
    use Reason::{Internal, ShuttingDown, StoreCorrupt, StoreReadOnly, StoreUnavailable};
    matches!(fault.reason, Internal | ShuttingDown | StoreCorrupt | StoreReadOnly | StoreUnavailable)
}
