//! What the same work costs without Antiphon: a turn put into SQLite in this process, and the protobuf of a long history encoded. It must not know
//! the server; `antiphon bench` measures that, see README.md here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement that cannot go on has failed")]
#![allow(missing_docs, reason = "criterion's macro makes a public function without any")]

use std::path::Path;

use antiphon::grpc::pb;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;
use rusqlite::Connection;

/// Length of a message.
const BYTES: usize = 1024;

/// Text of letters, digits and two signs at random.
fn text(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let alphabet = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(alphabet[usize::try_from(state >> 58).unwrap()])
    };
    (0..BYTES).map(|_| next()).collect()
}

fn message(role: pb::Role, seed: u64) -> pb::Message {
    let kind = Some(pb::part::Kind::Text(pb::TextPart { text: text(seed) }));
    pb::Message { role: role.into(), parts: vec![pb::Part { kind, ..pb::Part::default() }] }
}

/// What Inspect answers for a history of so many turns.
fn history(turns: u32) -> pb::InspectResponse {
    let mut answer = pb::InspectResponse::default();
    for turn in 0..turns {
        let seed = u64::from(turn) * 2;
        answer.messages.extend([message(pb::Role::User, seed), message(pb::Role::Assistant, seed + 1)]);
        answer.path.push(pb::PathStep {
            exchange_id: format!("{turn:036}"),
            run_id: format!("{turn:036}"),
            turn: turn.into(),
            message_count: 2,
            erased: false,
        });
    }
    answer
}

fn encoding(criterion: &mut Criterion) {
    let answer = history(1_000);
    let mut group = criterion.benchmark_group("encode the answer of Inspect");
    group.throughput(Throughput::Bytes(answer.encoded_len() as u64));
    group.bench_function("1,000 turns", |bencher| {
        bencher.iter_batched(|| (), |()| answer.encode_to_vec(), BatchSize::PerIteration);
    });
    group.finish();
}

fn database(folder: &Path) -> rusqlite::Result<Connection> {
    let database = Connection::open(folder.join("turns.db"))?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE turns (id INTEGER PRIMARY KEY, parent INTEGER, asked TEXT, answered TEXT);",
    )?;
    Ok(database)
}

fn sqlite(criterion: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let database = database(folder.path()).unwrap();
    let (asked, answered) = (text(1), text(2));
    let mut group = criterion.benchmark_group("SQLite, synchronous = FULL");
    group.throughput(Throughput::Elements(1));
    group.bench_function("insert a turn", |bencher| {
        let mut insert = database.prepare("INSERT INTO turns (parent, asked, answered) VALUES (?1, ?2, ?3)").unwrap();
        let mut last = 0;
        bencher.iter(|| {
            last = insert.insert((last, &asked, &answered)).unwrap();
        });
    });
    group.finish();
}

criterion_group!(benches, encoding, sqlite);
criterion_main!(benches);
