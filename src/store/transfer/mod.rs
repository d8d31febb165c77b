//! Moving records out of a store and into one: the lines of an export, written from one moment of the store, and read back with every line
//! checked. It must not know files, streams of the API, or who may do this.
//!
//! An export is newline JSON. Its first line says what it is, its last one how many lines there were and what they hash to; between them
//! stand, for each namespace, records in an order in which each comes after those that it names:
//!
//! ```text
//!  {"kind":"antiphon_export","format":1,"snapshot_id":"...","created_at_ms":"...","namespaces":["default"]}
//!  {"kind":"namespace","key":"default"}
//!  {"kind":"part","key":"<hash>","size":9000,"offset":0,"data":"<Base64>","blake3":"..."}    large content, in pieces
//!  {"kind":"tool","record":{...},"blake3":"..."}                 and tool_set, tools_seen: once, before what names them
//!  {"kind":"exchange","record":{...},"blake3":"..."}             parents first, oldest first
//!  {"kind":"run","record":{...},"blake3":"..."}                  right after its last exchange
//!  {"kind":"workspace_node","key":"<hash>","record":{...},"blake3":"..."}   of a version of documents: once, after its content and the nodes below
//!  {"kind":"move_of_a_head","key":"<thread> <number>","record":{...},"blake3":"..."}   before its thread, and stored with it
//!  {"kind":"thread","record":{...},"head":{...},"workspace":{...},"blake3":"..."}
//!  ...                                                           journal, coordination, request, prepared_execution
//!  {"kind":"end","lines":17,"records":{"exchange":5,...},"blake3":"..."}
//! ```
//!
//! A `record` is the canonical JSON of its message in `antiphon.storage.v1`, so that nothing is lost and other programs can read it. The
//! `blake3` of a line is over kind, key and the record's bytes; that of an exchange's content and of a node is derived again as well. Keys of storage, places
//! and indexes are not in it: whoever imports decides where an exchange lies.
//!
//! **A further kind of record** is a line in `FORMS` of `line.rs`, what writes it in `export.rs`, and what checks and stores it in `import.rs`.

mod choice;
mod export;
mod import;
mod lean;
mod line;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use self::choice::Wanted;
pub(in crate::store) use self::choice::{Choice, choose};
pub use self::export::{Export, Stopped, export};
pub use self::import::{Faulty, Importer, Options, Refused, Tallies, WITHOUT_DOCUMENTS};
pub(in crate::store) use self::lean::{names, names_in};

use super::layout::Kind;
use super::tally::Amount;

/// The version of the lines.
pub const FORMAT: u32 = 1;
/// Lines go out together up to so many bytes.
const CHUNK: usize = 128 * 1024;
/// How much of a large content one line has, in bytes.
const PIECE: usize = 256 * 1024;

/// Whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The number of the first, from 1.
    pub first_line: u64,
    /// The lines, each with its end.
    pub lines: String,
}

/// What a transfer has, or has had so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records by kind.
    pub records: BTreeMap<Kind, Amount>,
    /// BLAKE3 over all lines, in hexadecimal.
    pub blake3: String,
}
