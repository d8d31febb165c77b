//! Records of each format as they were first written, decoded by every later build. The files are written once, when a format is new, and
//! never again: what is in users' stores does not change either.

mod coordination;
mod prepared;
mod retention;
mod workspace;

use std::path::PathBuf;

use super::exchange::{Lean, draft};
use super::*;
use crate::domain::content::Hasher;
use crate::domain::drift::{Lineage, Seen, Sighting};
use crate::domain::exchange::{Exchange, Origin, Responder};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{BLOCK, Block, Branch, Place, Segment};
use crate::domain::id::{CallId, Moment, Namespace, RequestId, RunId, ThreadId};
use crate::domain::message::{
    CacheMarker, Issuer, Kind, Media, Message as Said, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult,
};
use crate::domain::run::{AttemptKind, Observation, Run, State, Step, StopReason};
use crate::domain::settings::{
    EffectiveSetting, Source, ThreadDefaults, Validation, ValidationStatus, Violation, Warning,
};
use crate::domain::thread::{Head, Parent, Thread};
use crate::domain::tool::{Tool, ToolSet};
use crate::domain::usage::{Completeness, Usage};

fn namespace() -> Namespace {
    Namespace::new("fixture")
}

fn id(n: u8) -> ExchangeId {
    ExchangeId::from_bytes([n; 16])
}

fn labels() -> std::collections::BTreeMap<String, String> {
    [("customer", "42"), ("áéí", "ünïcode ✓")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn place() -> Place {
    Place { branch: BranchId([1; 8]), depth: 3 }
}

fn branch() -> Branch {
    let segments = vec![Segment { branch: BranchId([1; 8]), last: 3 }, Segment { branch: BranchId([2; 8]), last: 300 }];
    Branch { id: BranchId([3; 8]), block: Some(BranchId([4; 8])), segments }
}

fn block() -> Block {
    let segments = (1..=BLOCK as u64).map(|last| Segment { branch: BranchId(last.to_be_bytes()), last }).collect();
    Block { id: BranchId([4; 8]), previous: Some(BranchId([5; 8])), segments }
}

fn usage() -> Usage {
    Usage {
        input_tokens: Some(1200),
        output_tokens: Some(0),
        total_tokens: None,
        cached_input_tokens: Some(1024),
        cache_written_tokens: Some(7),
        reasoning_tokens: Some(3),
        completeness: Completeness::Partial,
        reported: true,
        provider_json: r#"{"prompt_tokens":1200}"#.to_owned(),
    }
}

fn observation() -> Observation {
    Observation {
        number: 2,
        kind: AttemptKind::Retry,
        backend_id: "main".to_owned(),
        model: "m-1".to_owned(),
        succeeded: false,
        error_reason: "PROVIDER_RATE_LIMITED".to_owned(),
        http_status: Some(429),
        provider_code: "rate_limit".to_owned(),
        provider_request_id: "req_1".to_owned(),
        request_hash: Some(Hash([6; 32])),
        request_bytes: 5000,
        adaptations: vec!["system_as_user".to_owned()],
        usage: usage(),
        retry_after_ms: Some(1500),
        started_at: Moment(1_700_000_000_000),
        first_byte_ms: Some(80),
        duration_ms: 120,
    }
}

pub(super) fn exchange() -> Exchange {
    let call = ToolCall {
        call_id: CallId::new("call-1"),
        provider_call_id: "list:0".to_owned(),
        name: "list".to_owned(),
        arguments_json: r#"{"big":12345678901234567890}"#.to_owned(),
        arguments_invalid: false,
    };
    let result = ToolResult {
        call_id: CallId::new("call-0"),
        parts: vec![Part::text("a result"), file(5000)],
        is_error: true,
        interrupted: true,
    };
    let asked = Part {
        kind: Kind::Text("What is it? ".repeat(60)),
        cache_marker: Some(CacheMarker { ttl: "1h".to_owned() }),
        provider_data: None,
    };
    let thought = Part {
        kind: Kind::Reasoning(Reasoning { text: "hm".to_owned(), is_summary: true }),
        cache_marker: None,
        provider_data: Some(ProviderData {
            issuer: Issuer { provider: "p".to_owned(), api: "messages".to_owned(), model: "m-1".to_owned() },
            data_json: r#"{"signature":"c2ln"}"#.to_owned(),
        }),
    };
    let link = Media::Link("https://example.org/a.png".to_owned(), "image/png".to_owned());
    let assistant = vec![
        thought,
        Part::text("Let me see."),
        Part::new(Kind::ToolCall(call)),
        Part::new(Kind::Refusal("no".to_owned())),
        Part::new(Kind::Unknown("audio".to_owned(), "{}".to_owned())),
    ];
    Exchange {
        id: id(1),
        parent: Some(id(2)),
        continues: Some(id(3)),
        continues_run: Some(RunId::new("run-0")),
        run_id: Some(RunId::new("run-1")),
        depth: 3,
        turn: 2,
        thread_id: Some(ThreadId::new("thread-1")),
        origin: Origin::Recorded,
        messages: vec![
            Said { role: Role::System, parts: vec![] },
            Said { role: Role::Tool, parts: vec![Part::new(Kind::ToolResult(result))] },
            Said { role: Role::User, parts: vec![asked, Part::new(Kind::Image(link, "high".to_owned())), file(10)] },
        ],
        assistant: Said { role: Role::Assistant, parts: assistant },
        stop_reason: StopReason::ToolCalls,
        stop_reason_raw: "tool_use".to_owned(),
        offered: Some(Hash([7; 32])),
        standing: None,
        workspace: Default::default(),
        head_before: Default::default(),
        lineage: Lineage::Unknown,
        settings: vec![EffectiveSetting {
            name: "model".to_owned(),
            value_json: "\"m-1\"".to_owned(),
            source: Source::Thread,
        }],
        validation: Validation {
            status: ValidationStatus::Invalid,
            violations: vec![Violation {
                instance_path: "/a".to_owned(),
                schema_path: "/properties/a/type".to_owned(),
                message: "is not a string".to_owned(),
            }],
        },
        usage: usage(),
        observations: vec![observation()],
        warnings: vec![Warning { code: "CUT".to_owned(), message: "cut".to_owned() }],
        responder: Responder {
            backend_id: "main".to_owned(),
            provider: "p".to_owned(),
            api: "messages".to_owned(),
            model: "m-1".to_owned(),
            response_model: "m-1-2025".to_owned(),
            response_id: "msg_1".to_owned(),
        },
        content_hash: Hash([8; 32]),
        labels: labels(),
        created_at: Moment(1_700_000_000_001),
        erased: None,
    }
}

fn file(length: usize) -> Part {
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
    Part::new(Kind::File(Media::Inline("application/pdf".to_owned(), bytes.into()), "a.pdf".to_owned()))
}

pub(super) fn run() -> Run {
    let mut failure = Fault::not_found(Reason::ProfileUnknown, "profile", "fast").retry_after(5);
    failure = failure.at("request.profile_id", "is unknown").with("profile_id", "fast");
    Run {
        id: RunId::new("run-1"),
        state: State::PendingTools,
        captured: true,
        exchange: Some(id(1)),
        exchange_count: 2,
        from: Some(id(3)),
        thread_id: Some(ThreadId::new("thread-1")),
        attempt: 3,
        fingerprint: Hash([9; 32]),
        steps: vec![
            Step { calling: id(1), fingerprint: Hash([10; 32]), exchange: None },
            Step { calling: id(2), fingerprint: Hash([11; 32]), exchange: Some(id(1)) },
        ],
        owner: "server-1".to_owned(),
        observations: vec![observation()],
        failure: Some(failure),
        stop_reason: Some(StopReason::ToolCalls),
        labels: labels(),
        created_at: Moment(1),
        updated_at: Moment(u64::MAX),
        past: Vec::new(),
        workspace: None,
    }
}

fn tool() -> Tool {
    Tool {
        name: "list".to_owned(),
        description: "Lists.".to_owned(),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
        side_effects: true,
        requires_human: false,
    }
}

fn seen() -> Seen {
    let sighting = Sighting { schema: tool().schema_hash(), since: id(2) };
    Seen::new(
        [("list", sighting), ("áéí", Sighting { since: id(1), ..sighting })]
            .map(|(name, s)| (name.to_owned(), s))
            .into(),
    )
}

fn thread() -> Thread {
    Thread {
        id: ThreadId::new("thread-1"),
        name: "A thread".to_owned(),
        labels: labels(),
        metadata_json: r#"{"a":1}"#.to_owned(),
        defaults: ThreadDefaults {
            profile_id: Some("fast".to_owned()),
            model: None,
            standing_tools: Some(ToolSet { tools: vec![tool()] }),
        },
        parent: Some(Parent {
            thread_id: Some(ThreadId::new("thread-0")),
            exchange: id(2),
            run_id: Some(RunId::new("run-0")),
            turn: 1,
        }),
        created_at: Moment(1),
        updated_at: Moment(2),
    }
}

fn head() -> Head {
    Head {
        exchange: Some(id(1)),
        run_id: Some(RunId::new("run-1")),
        turn_count: 2,
        active_run: Some(RunId::new("run-2")),
        sequence: 17,
        updated_at: Moment(3),
    }
}

fn remembered() -> Remembered {
    Remembered {
        kind: "fork".to_owned(),
        fingerprint: Hash([12; 32]),
        result: Bytes::from_static(b"\x0a\x03abc"),
        done_at: Moment(4),
    }
}

/// The stored bytes of a file of format 1. Writes it when `ANTIPHON_WRITE_FIXTURES` is set and there is none; never over one.
#[expect(clippy::disallowed_methods, reason = "the switch of a test that people run by hand")]
fn stored(name: &str, now: &Bytes) -> Bytes {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "format-1"].iter().collect();
    let file = folder.join(name);
    if std::env::var_os("ANTIPHON_WRITE_FIXTURES").is_some() && !file.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&file, now).unwrap();
    }
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).into()
}

fn check<T: Stored + PartialEq + std::fmt::Debug>(name: &str, entry: &Entry, expected: &T) {
    let raw = stored(name, &encode(entry, expected));
    assert_eq!(&decode::<T>(entry, &raw).unwrap(), expected, "{name}");
}

#[test]
fn records_of_the_first_format_are_read() {
    check("place.bin", &Entry::Id(id(1)), &place());
    check("branch.bin", &Entry::Branch(branch().id), &branch());
    check("block.bin", &Entry::Block(block().id), &block());
    check("run.bin", &Entry::Run(run().id), &run());
    check("thread.bin", &Entry::Thread(thread().id), &ThreadRecord::new(&thread()));
    check("head.bin", &Entry::Head(thread().id), &head());
    check("tool.bin", &Entry::Tool(tool().hash()), &tool());
    check("request.bin", &Entry::Request(RequestId::new("request-1")), &remembered());
    check("mark.bin", &Entry::Indexes, &Mark { version: 1 });
    check("seen.bin", &Entry::Seen(seen().hash().unwrap()), &seen());
    let set = ToolSet { tools: vec![tool()] };
    check("tool_set.bin", &Entry::ToolSet(set.hash().unwrap()), &ToolHashes::new(&set));
}

#[test]
fn an_exchange_of_the_first_format_is_read_with_its_part() {
    let draft = draft(&exchange(), &Hasher::new(&namespace()));
    let entry = Entry::Exchange(place());
    let raw = stored("exchange.bin", &draft.packed.seal(&entry.key()));
    let mut lean = Lean::new(open(&entry, &raw).unwrap()).unwrap();
    let parts = lean.parts().unwrap().into_iter().map(|hash| {
        let (entry, now) = (Entry::Part(hash), draft.parts.get(&hash).unwrap());
        let raw = stored("part.bin", &Packed::new(now.clone()).seal(&entry.key()));
        (hash, open(&entry, &raw).unwrap())
    });
    let parts = parts.collect();
    assert_eq!(lean.whole(&parts).unwrap(), exchange());
}
