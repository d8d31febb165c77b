//! Reading an export: each line is checked by its hash and against what it names before anything of it is stored, and what is there already
//! stays as it is. So a second import of the same lines changes nothing, and one that broke off goes on. It must not know who sends them.
//!
//! Exchanges of a run wait for the run's line, and are stored with it in one write, as they were at first. Otherwise lines are stored in
//! batches; what was acknowledged ([`Importer::flush`]) is durable. So do moves of a thread's head for the thread, and the journal of a
//! coordination for the coordination.

mod batch;
mod check;
mod erased;

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

use self::batch::Batch;
use self::erased::Erasures;
use super::Summary;
use super::line::{self, Header, Line, Piece, Record, Wrong};
use crate::domain::content::Hasher;
use crate::domain::coordination::Coordination;
use crate::domain::id::Hash;
use crate::store::layout::Kind;
use crate::store::record::{Stored, ThreadRecord};
use crate::store::tally::Amount;
use crate::store::{Error, Ledger, Namespace};

/// What one piece of large content may have at most, in bytes, put together.
const MAX_PART: u64 = 1 << 30;
/// Large content that a dry run holds, in bytes.
const MAX_DRY: usize = 256 << 20;
/// Content that waits to be stored, in bytes, after which it is.
const FULL: usize = 4 << 20;
/// Records that wait to be stored, after which they are.
const FULL_RECORDS: usize = 512;

/// How to import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Check everything and write nothing.
    pub dry_run: bool,
    /// Labels of exchanges and runs that are new.
    pub labels: BTreeMap<String, String>,
    /// Leave out lines that are wrong, and go on.
    pub skip_faulty: bool,
}

/// A line that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// Its number.
    pub line: u64,
    /// What is wrong, a stable word.
    pub code: &'static str,
    /// The kind of its record, where that is known.
    pub kind: Option<Kind>,
    /// What is wrong with it, for people; a clause without content.
    pub message: String,
    /// What to do.
    pub remedy: &'static str,
    /// Nothing after it can be read either.
    pub is_last: bool,
}

/// Why an import does not go on.
#[derive(Debug)]
pub enum Refused {
    /// A line is wrong.
    Line(Faulty),
    /// The store failed.
    Store(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// An import under way.
pub struct Importer {
    ledger: Ledger,
    options: Options,
    /// The only namespace that may be written to; none for all.
    only: Option<Namespace>,
    /// The lines so far.
    read: Summary,
    hasher: blake3::Hasher,
    header: Option<Header>,
    /// A resumed import did not see every line, so that the hash of all cannot be checked.
    has_gap: bool,
    is_over: bool,
    space: Option<Space>,
    /// Large content of which some pieces are there.
    pieces: Option<(Piece, BytesMut)>,
    /// Records that are new, and that were there, by kind.
    stored: BTreeMap<Kind, Amount>,
    matched: BTreeMap<Kind, Amount>,
    /// Records that were erased here, and stay so.
    erased: BTreeMap<Kind, Amount>,
    /// Namespaces to which came what is nobody's, or an erasure that is to be finished.
    untidy: BTreeSet<Namespace>,
    /// Lines that were left out and are not told yet.
    faulty: Vec<Faulty>,
    skipped: u64,
}

/// The namespace that lines belong to.
struct Space {
    ns: Namespace,
    hasher: Hasher,
    batch: Batch,
    erased: Erasures,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stored,
    Matched,
    /// It was erased here, and is left out.
    Erased,
}

impl Importer {
    /// Into a store, or only one namespace of it.
    pub fn new(ledger: &Ledger, only: Option<Namespace>, options: Options) -> Self {
        Self {
            ledger: ledger.clone(),
            options,
            only,
            read: Summary::default(),
            hasher: blake3::Hasher::new(),
            header: None,
            has_gap: false,
            is_over: false,
            space: None,
            pieces: None,
            stored: BTreeMap::new(),
            matched: BTreeMap::new(),
            erased: BTreeMap::new(),
            untidy: BTreeSet::new(),
            faulty: Vec::new(),
            skipped: 0,
        }
    }

    /// Lines that were stored by an import which broke off are not sent again: the next one has this number.
    ///
    /// # Errors
    /// When the first line did not come, or the number was read already.
    pub fn skip_to(&mut self, number: u64) -> Result<(), Refused> {
        if number == self.read.lines + 1 {
            return Ok(());
        }
        if self.header.is_none() || number <= self.read.lines {
            let message = format!("comes where line {} is due", self.read.lines + 1);
            let remedy = "send every line once, in order; after a break, the first one and then those that were not acknowledged";
            return Err(self.refused_at(number, Wrong::new("out_of_order", message), None, remedy, true));
        }
        self.has_gap = true;
        self.read.lines = number - 1;
        Ok(())
    }

    /// Reads the next line, without its end.
    ///
    /// # Errors
    /// When it is wrong and not to be left out, or the store fails.
    pub async fn line(&mut self, text: &str) -> Result<(), Refused> {
        match self.try_line(text).await {
            Err(Refused::Line(faulty)) => self.leave_out(faulty, 1),
            done => done,
        }
    }

    fn leave_out(&mut self, faulty: Faulty, lines: u64) -> Result<(), Refused> {
        if !self.options.skip_faulty || faulty.is_last {
            return Err(Refused::Line(faulty));
        }
        self.skipped = self.skipped.saturating_add(lines);
        self.faulty.push(faulty);
        Ok(())
    }

    /// Lines that were left out since the last call.
    pub fn take_faulty(&mut self) -> Vec<Faulty> {
        std::mem::take(&mut self.faulty)
    }

    async fn try_line(&mut self, text: &str) -> Result<(), Refused> {
        let before = self.hasher.clone();
        self.hasher.update(text.as_bytes()).update(b"\n");
        self.read.lines += 1;
        self.read.bytes += text.len() as u64 + 1;
        if self.is_over {
            let wrong = Wrong::new("after_the_end", "comes after the last line");
            return Err(self.refused(wrong, None, "import each export by itself", true));
        }
        let line = match line::read(text) {
            Ok(line) => line,
            Err(wrong) => {
                let is_first = self.header.is_none();
                let remedy = if is_first { NOT_AN_EXPORT } else { DAMAGED };
                return Err(self.refused(wrong, None, remedy, is_first));
            }
        };
        if self.header.is_none() && !matches!(line, Line::Header(_)) {
            let wrong = Wrong::new("no_header", "is not the first line of an export");
            return Err(self.refused(wrong, None, NOT_AN_EXPORT, true));
        }
        match line {
            Line::Header(header) => self.begin(header),
            Line::Namespace(ns) => self.enter(ns).await,
            Line::Piece(piece) => self.piece(piece).await,
            Line::Record(record) => self.record(record).await,
            Line::End(end) => {
                if end.lines + 1 != self.read.lines || (!self.has_gap && *before.finalize().to_hex() != end.blake3) {
                    let wrong = Wrong::new(
                        "incomplete",
                        format!(
                            "says that {} lines with another hash come before it, and {} did",
                            end.lines,
                            self.read.lines - 1
                        ),
                    );
                    return Err(self.refused(wrong, None, NOT_AS_WRITTEN, true));
                }
                self.close_group()?;
                self.close_moves()?;
                self.close_pages()?;
                self.is_over = true;
                Ok(())
            }
        }
    }

    /// Makes durable what was read. Gives the last line that is stored with all before it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn flush(&mut self) -> Result<u64, Refused> {
        let Some(space) = &mut self.space else { return Ok(self.read.lines) };
        if self.options.dry_run {
            space.batch.pretend();
        } else {
            let raced = space.batch.flush(&self.ledger, &space.ns).await?;
            for (kind, bytes) in raced {
                // Somebody else stored it since it was looked for.
                move_one(&mut self.stored, &mut self.matched, kind, bytes);
            }
        }
        let waiting = space.batch.waits_since().or(self.pieces.as_ref().map(|_| self.read.lines));
        Ok(waiting.map_or(self.read.lines, |line| line.saturating_sub(1)))
    }

    /// So much waits that it should be made durable.
    pub fn is_full(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.batch.bytes >= FULL || space.batch.records >= FULL_RECORDS)
    }

    /// Ends the import: everything is durable.
    ///
    /// # Errors
    /// When lines are missing at the end, or the hash is another than the sender's.
    pub async fn finish(&mut self, blake3: &str) -> Result<(Summary, Tallies), Refused> {
        if !self.is_over {
            let line = self.read.lines + 1;
            let wrong = Wrong::new(
                "truncated",
                "is missing: the input ends without the last line of an export, so it was cut off",
            );
            return Err(self.refused_at(
                line,
                wrong,
                None,
                "import the whole file; what was stored stays, and is not stored twice",
                true,
            ));
        }
        self.flush().await?;
        self.read.blake3 = self.hasher.finalize().to_hex().to_string();
        if !blake3.is_empty() && !self.has_gap && self.read.blake3 != blake3 {
            let wrong = Wrong::new("checksum_mismatch", "ends lines that do not have the hash which their sender gave");
            return Err(self.refused(wrong, None, NOT_AS_WRITTEN, true));
        }
        let tallies = Tallies {
            stored: std::mem::take(&mut self.stored),
            matched: std::mem::take(&mut self.matched),
            erased: std::mem::take(&mut self.erased),
            untidy: std::mem::take(&mut self.untidy),
            skipped: self.skipped,
        };
        Ok((self.read.clone(), tallies))
    }

    /// The lines so far.
    pub fn lines(&self) -> u64 {
        self.read.lines
    }

    fn begin(&mut self, header: Header) -> Result<(), Refused> {
        if self.header.is_some() {
            let wrong = Wrong::new("out_of_order", "is a first line, and there was one");
            return Err(self.refused(wrong, None, "import each export by itself", true));
        }
        if header.is_without_documents {
            // It is no fault, so nothing is left out for it; only told.
            self.faulty.push(Faulty {
                line: self.read.lines,
                code: WITHOUT_DOCUMENTS,
                kind: Some(Kind::Node),
                message: "says that the documents of workspaces were left out: what is stored comes without them"
                    .to_owned(),
                remedy: "export again with documents if they are wanted",
                is_last: false,
            });
        }
        self.header = Some(header);
        Ok(())
    }

    async fn enter(&mut self, ns: Namespace) -> Result<(), Refused> {
        self.close_group()?;
        self.close_moves()?;
        self.close_pages()?;
        self.flush().await?;
        if self.only.as_ref().is_some_and(|only| *only != ns) {
            let message = format!("begins the records of namespace `{ns}`, to which this caller may not write");
            let remedy = "import it with a credential of that namespace";
            return Err(self.refused(Wrong::new("foreign_namespace", message), None, remedy, true));
        }
        self.space = Some(Space { hasher: Hasher::new(&ns), ns, batch: Batch::default(), erased: Erasures::default() });
        Ok(())
    }

    async fn piece(&mut self, piece: Piece) -> Result<(), Refused> {
        let misplaced = |message: &str| Wrong::new("out_of_order", message);
        let (first, mut bytes) = match self.pieces.take() {
            None if piece.offset == 0 => (Piece { data: Bytes::new(), ..piece }, BytesMut::new()),
            Some((first, bytes))
                if first.hash == piece.hash && first.size == piece.size && bytes.len() as u64 == piece.offset =>
            {
                (first, bytes)
            }
            _ => {
                let wrong = misplaced("is a piece of content without the one before it");
                return Err(self.refused(wrong, Some(Kind::Part), DAMAGED, false));
            }
        };
        bytes.extend_from_slice(&piece.data);
        if first.size > MAX_PART || bytes.len() as u64 > first.size || (piece.data.is_empty() && first.size > 0) {
            let wrong = Wrong::new("malformed_record", "is a piece of content of another size than it says");
            return Err(self.refused(wrong, Some(Kind::Part), DAMAGED, false));
        }
        if (bytes.len() as u64) < first.size {
            self.pieces = Some((first, bytes));
            return Ok(());
        }
        self.part(first.hash, bytes.freeze()).await
    }

    async fn part(&mut self, hash: Hash, bytes: Bytes) -> Result<(), Refused> {
        let Some(space) = &mut self.space else { return Err(self.homeless()) };
        if self.options.dry_run && space.batch.bytes > MAX_DRY {
            let wrong = Wrong::new(
                "too_large",
                format!("brings more than {} MiB of large content, which a dry run holds in memory", MAX_DRY >> 20),
            );
            return Err(self.refused(wrong, Some(Kind::Part), "import it without a dry run", true));
        }
        if space.hasher.part(&bytes) != hash {
            let wrong = Wrong::new("hash_mismatch", "is content that does not have its hash");
            return Err(self.refused(wrong, Some(Kind::Part), DAMAGED, false));
        }
        let fate = space.batch.part(&self.ledger, &space.ns, hash, bytes.clone()).await?;
        self.count(Kind::Part, bytes.len(), fate);
        Ok(())
    }

    async fn record(&mut self, record: Record) -> Result<(), Refused> {
        let (kind, size, line) = (record.kind, record.payload.len(), self.read.lines);
        let live = record.workspace.as_ref().map(Bytes::len);
        if self.pieces.take().is_some() {
            let wrong = Wrong::new("out_of_order", "comes between the pieces of a content");
            return Err(self.refused(wrong, Some(kind), DAMAGED, false));
        }
        if !self.belongs(&record) {
            self.close_group()?;
        }
        if !self.goes_with_moves(&record) {
            self.close_moves()?;
        }
        if !self.goes_with_pages(&record) {
            self.close_pages()?;
        }
        let fate = loop {
            let Some(space) = &mut self.space else { return Err(self.homeless()) };
            match check::record(&self.ledger, space, &self.options, record.clone(), line).await {
                Err(check::Problem::Unfinished) => self.close_group()?,
                outcome => break outcome,
            }
        };
        let fate = match fate {
            Ok(fate) => fate,
            Err(check::Problem::Unfinished) => return Ok(()),
            Err(check::Problem::Wrong(wrong)) => return Err(self.refused(wrong, Some(kind), DAMAGED, false)),
            Err(check::Problem::Conflict(wrong)) => return Err(self.refused(wrong, Some(kind), CONFLICT, false)),
            Err(check::Problem::Store(error)) => return Err(error.into()),
        };
        self.count(kind, size, fate);
        if let Some(size) = live {
            self.count(Kind::Workspace, size, fate);
        }
        if fate == Fate::Erased {
            self.erased_with(kind);
        }
        if let Some(space) = self.space.as_ref().filter(|_| fate == Fate::Erased || kind == Kind::Erasing) {
            self.untidy.insert(space.ns.clone());
        }
        Ok(())
    }

    /// What waited for a record that was erased here is left out with it.
    fn erased_with(&mut self, kind: Kind) {
        let Some(space) = &mut self.space else { return };
        let (waited, sizes) = match kind {
            Kind::Thread => {
                let moves = space.batch.moves.take().map(|waiting| waiting.moves).unwrap_or_default();
                (Kind::Move, moves.iter().map(|(_, moved)| moved.payload().len()).collect::<Vec<_>>())
            }
            Kind::Coordination => {
                let pages = space.batch.pages.take().map(|waiting| waiting.pages).unwrap_or_default();
                (Kind::Journal, pages.iter().map(|(_, page)| page.len()).collect())
            }
            _ => return,
        };
        for size in sizes {
            move_one(&mut self.stored, &mut self.erased, waited, size);
        }
    }

    /// Whether a record may stand where exchanges wait for their run.
    fn belongs(&self, record: &Record) -> bool {
        let once = [Kind::Exchange, Kind::Run, Kind::Tool, Kind::ToolSet, Kind::Seen, Kind::Node];
        once.contains(&record.kind)
    }

    /// Whether a record may stand where moves wait for their thread.
    fn goes_with_moves(&self, record: &Record) -> bool {
        let Some(waiting) = self.space.as_ref().and_then(|space| space.batch.moves.as_ref()) else { return true };
        match record.kind {
            Kind::Node => true,
            Kind::Thread => {
                let read = ThreadRecord::from_payload(record.payload.clone());
                read.is_ok_and(|record| record.thread().id == waiting.thread)
            }
            Kind::Move => line::move_of_key(&record.key).is_some_and(|(thread, _)| thread == waiting.thread),
            _ => false,
        }
    }

    /// Whether a record may stand where a journal waits for its coordination.
    fn goes_with_pages(&self, record: &Record) -> bool {
        let Some(waiting) = self.space.as_ref().and_then(|space| space.batch.pages.as_ref()) else { return true };
        match record.kind {
            Kind::Tool | Kind::ToolSet => true,
            Kind::Journal => record.key == waiting.coordination.as_str(),
            Kind::Coordination => {
                let read = Coordination::from_payload(record.payload.clone());
                read.is_ok_and(|coordination| coordination.id == waiting.coordination)
            }
            _ => false,
        }
    }

    /// No journal may be left without its coordination.
    fn close_pages(&mut self) -> Result<(), Refused> {
        let Some(waiting) = self.space.as_mut().and_then(|space| space.batch.pages.take()) else { return Ok(()) };
        let message = format!("has frames of coordination `{}`, whose own line does not follow", waiting.coordination);
        self.missing(waiting.line, waiting.pages.len(), Kind::Journal, Wrong::new("missing_coordination", message))
    }

    /// Lines that waited for one which does not come are left out, or refused.
    fn missing(&mut self, line: u64, lines: usize, kind: Kind, wrong: Wrong) -> Result<(), Refused> {
        let lines = lines as u64;
        let counts = self.stored.entry(kind).or_default();
        counts.count = counts.count.saturating_sub(lines);
        match self.refused_at(line, wrong, Some(kind), DAMAGED, false) {
            Refused::Line(faulty) => self.leave_out(faulty, lines),
            refused => Err(refused),
        }
    }

    /// No move may be left without its thread.
    fn close_moves(&mut self) -> Result<(), Refused> {
        let Some(waiting) = self.space.as_mut().and_then(|space| space.batch.moves.take()) else { return Ok(()) };
        let message = format!("has a move of thread `{}`, whose own line does not follow", waiting.thread);
        self.missing(waiting.line, waiting.moves.len(), Kind::Move, Wrong::new("missing_thread", message))
    }

    /// No exchange may be left without its run.
    fn close_group(&mut self) -> Result<(), Refused> {
        let Some(group) = self.space.as_mut().and_then(|space| space.batch.drop_group()) else { return Ok(()) };
        let message = format!("has an exchange of run `{}`, whose own line does not follow", group.run);
        self.missing(group.line, group.exchanges.len(), Kind::Exchange, Wrong::new("missing_run", message))
    }

    fn count(&mut self, kind: Kind, bytes: usize, fate: Fate) {
        self.read.records.entry(kind).or_default().add(bytes);
        let counts = match fate {
            Fate::Stored => &mut self.stored,
            Fate::Matched => &mut self.matched,
            Fate::Erased => &mut self.erased,
        };
        counts.entry(kind).or_default().add(bytes);
    }

    fn homeless(&self) -> Refused {
        self.refused(Wrong::new("out_of_order", "comes before its namespace"), None, NOT_AS_WRITTEN, true)
    }

    fn refused(&self, wrong: Wrong, kind: Option<Kind>, remedy: &'static str, is_last: bool) -> Refused {
        self.refused_at(self.read.lines, wrong, kind, remedy, is_last)
    }

    fn refused_at(&self, line: u64, wrong: Wrong, kind: Option<Kind>, remedy: &'static str, is_last: bool) -> Refused {
        Refused::Line(Faulty { line, code: wrong.code, kind, message: wrong.message, remedy, is_last })
    }
}

/// What became of the records, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Those that are new.
    pub stored: BTreeMap<Kind, Amount>,
    /// Those that were there.
    pub matched: BTreeMap<Kind, Amount>,
    /// Those that were erased here, and stay so.
    pub erased: BTreeMap<Kind, Amount>,
    /// Namespaces that have content which nothing names, or an erasure to finish, since.
    pub untidy: BTreeSet<Namespace>,
    /// Lines that were left out.
    pub skipped: u64,
}

fn move_one(from: &mut BTreeMap<Kind, Amount>, to: &mut BTreeMap<Kind, Amount>, kind: Kind, bytes: usize) {
    let left = from.entry(kind).or_default();
    left.count = left.count.saturating_sub(1);
    left.bytes = left.bytes.saturating_sub(bytes as u64);
    to.entry(kind).or_default().add(bytes);
}

/// The code of what is told of an export that left documents out.
pub const WITHOUT_DOCUMENTS: &str = "documents_omitted";
/// What to do with a file that is something else.
const NOT_AN_EXPORT: &str = "name a file that `antiphon export` or `antiphon backup` wrote; transcripts have a format of their own, `--format openai`";
/// What to do with a line that is not as it was written.
const DAMAGED: &str = "export it again, or leave the line out with `--skip-faulty`; what was stored before it stays";
/// What to do with lines that are not all that were written, which line of them ever it is.
const NOT_AS_WRITTEN: &str = "lines are missing, or were put in or changed, and which ones cannot be told: export it again; what was stored stays";
/// What to do with a record that is there as another one.
const CONFLICT: &str = "import it into an empty store, or leave the line out with `--skip-faulty`";
