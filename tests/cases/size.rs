//! How much a server takes: memory with readers that stall and with a large store, disk under churn, messages at their limits.

use std::path::Path;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::exchange_service_client::ExchangeServiceClient;
use prost::Message as _;
use tonic::{Code, Streaming};

use crate::served::Served;
use crate::support::program::Program;
use crate::support::provider::{Outcome, Provider};
use crate::support::server::{Running, openai, openai_with, scripted};
use crate::support::{ask, documents, look, refused, stub, transfer};

const MEBIBYTE: u64 = 1 << 20;

/// Text that does not compress to nothing: so many bytes, other ones for each number.
fn noise(number: u64, bytes: usize) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("{state:016x}"));
    }
    text.truncate(bytes);
    text
}

async fn opened(program: &Program, request: pb::CaptureRequest) -> Streaming<pb::StreamCaptureResponse> {
    let mut client = ExchangeServiceClient::new(program.fresh_channel());
    let request = pb::StreamCaptureRequest { capture: Some(request) };
    let mut stream = client.stream_capture(request).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    stream
}

/// Readers that take one message and no more, while their providers send more than an answer may have. Each costs at most what one answer
/// may have, a few times over, and the call to the provider ends at that limit; when they are gone, what they took is there for the next.
#[tokio::test(flavor = "multi_thread")]
async fn b128_readers_that_stall_cost_a_bounded_amount_of_memory() {
    const READERS: usize = 16;
    const ROUNDS: usize = 3;
    const ANSWER: usize = 2 << 20;
    let folder = tempfile::tempdir().unwrap();
    let piece = "0123456789abcdef".repeat(64);
    let more_than_allowed: Vec<&str> = std::iter::repeat_n(piece.as_str(), 12 * ANSWER / piece.len()).collect();
    let entry = stub::streamed(&more_than_allowed);
    let provider = Provider::start((0..READERS * ROUNDS).map(|_| entry.clone())).await;
    let config = openai_with(&provider.base_url(), &format!("max_answer_bytes = {ANSWER}\ncapacity = 64\n"));
    let program = Program::start(folder.path(), &config).await;
    let before = program.memory();
    let mut peaks = Vec::new();
    for round in 0..ROUNDS {
        let mut readers = Vec::new();
        let numbers = round * READERS..(round + 1) * READERS;
        for number in numbers.clone() {
            readers.push(opened(&program, ask::capture(ask::text_as(&format!("r{number}"), "x"))).await);
        }
        for number in numbers {
            assert_eq!(provider.outcome(number).await, Outcome::ClientClosed, "the provider is not read for ever");
        }
        peaks.push((program.peak_memory() - before) / u64::try_from(READERS).unwrap());
        // What became of it is told.
        let mut one = readers.pop().unwrap();
        let status = loop {
            match one.message().await {
                Ok(message) => assert!(message.is_some(), "half an answer is none"),
                Err(status) => break status,
            }
        };
        assert_eq!(refused::reason(&status), Reason::ProviderBadAnswer.word(), "{status:?}");
    }
    println!("bytes a reader that stalls, by rounds: {peaks:?}");
    assert!(peaks[0] < 4 * u64::try_from(ANSWER).unwrap(), "{peaks:?}");
    assert!(peaks[ROUNDS - 1] < peaks[0] * 3 / 2, "nothing is kept of those who left: {peaks:?}");
}

/// Readers of one run who stop in the middle cost one answer and what is on its way to them, which HTTP/2 bounds.
#[tokio::test(flavor = "multi_thread")]
async fn b128_readers_of_one_run_share_its_answer() {
    const READERS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let piece = "0123456789abcdef".repeat(64);
    let pieces: Vec<&str> = std::iter::repeat_n(piece.as_str(), 3 << 10).collect();
    let gate = crate::support::provider::Gate::closed();
    let mut entry = stub::begun("").wait(&gate);
    entry.steps.extend(stub::streamed(&pieces).steps);
    let provider = Provider::start([entry]).await;
    let program = Program::start(folder.path(), &openai(&provider.base_url())).await;
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(opened(&program, ask::capture(ask::text_as("r", "x"))).await);
    }
    let before = program.memory();
    gate.open();
    let whole = program.exchanges().capture(ask::capture(ask::text_as("r", "x"))).await.unwrap().into_inner();
    let answer = u64::try_from(piece.len() * pieces.len()).unwrap();
    assert_eq!(u64::try_from(whole.exchange.unwrap().text.len()).unwrap(), answer);
    let more = program.peak_memory().saturating_sub(before);
    println!("{} MiB for {READERS} readers of {} MiB", more / MEBIBYTE, answer / MEBIBYTE);
    assert!(more < 24 * answer, "{more} bytes for one answer of {answer}");
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let one = |entry: std::fs::DirEntry| match entry.metadata().unwrap() {
        data if data.is_dir() => size(&entry.path()),
        data => data.len(),
    };
    entries.map(one).sum()
}

/// The disk holds what is kept, a small number of times over; what leaves nothing behind adds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b133_the_disk_grows_with_what_is_kept_and_with_nothing_else() {
    const CALLERS: u64 = 16;
    const TURNS: u64 = 40;
    const BYTES: usize = 10_000;
    const PROBES: u64 = 1_000;
    let server = Running::start(scripted("capacity = 64\n[[backends.script.rules]]\ntext = \"ok\"\n")).await;
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let mut client = server.exchanges();
            tokio::spawn(async move {
                for turn in 0..TURNS {
                    let text = noise(caller * TURNS + turn, BYTES);
                    client.capture(ask::capture(ask::text(&text))).await.unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let data = server.folder().join("data");
    let server = server.restart().await;
    // Half of that compressed; a turn has records of some hundred bytes each besides.
    let said = CALLERS * TURNS * u64::try_from(BYTES).unwrap();
    let kept = size(&data);
    println!("{} KiB on disk for {} KiB that were said", kept >> 10, said >> 10);
    assert!(kept <= 2 * said, "{kept} bytes for {said}");
    let first = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    let records = async |server: &Running| {
        let mut verified = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
        loop {
            if let Some(pb::verify_response::Event::Completed(done)) = verified.message().await.unwrap().unwrap().event
            {
                break done.checked;
            }
        }
    };
    let (before, known) = (size(&data), records(&server).await);
    for number in 0..PROBES {
        let probe = ask::probe(&first, ask::text(&noise(number, BYTES)));
        server.exchanges().probe(probe).await.unwrap();
    }
    let server = server.restart().await;
    assert_eq!(records(&server).await, known, "probes leave no record");
    // The engine writes a map of its own now and then; what the probes said would be more.
    let (more, said) = (size(&data).saturating_sub(before), PROBES * u64::try_from(BYTES).unwrap() / 2);
    assert!(more < said / 3, "{more} bytes more after {said} in probes");
    assert_eq!(look::history(&server, &first).await.len(), 2);
}

/// What is erased and collected gives its room back to what is written next, though not all of it: the engine cleans a segment only once half of it
/// is gone. Written again from an export, which is the documented way to shrink it, the store has what it holds and no more.
#[tokio::test(flavor = "multi_thread")]
async fn b133_what_is_erased_gives_its_room_back() {
    const TURNS: u64 = 300;
    const BYTES: usize = 10_000;
    const ROUNDS: u64 = 8;
    let server = Running::start(scripted("")).await;
    let record = async |server: &Running, round: u64| {
        let turn = |turn: u64| [ask::user(&noise(round * TURNS + turn, BYTES)), ask::assistant("ok")];
        let new = pb::NewThread { thread_id: format!("t{round}"), ..Default::default() };
        let request = pb::RecordRequest {
            thread: Some(pb::record_request::Thread::NewThread(new)),
            ..ask::record((0..TURNS).flat_map(turn).collect())
        };
        server.exchanges().record(request).await.unwrap();
        // Documents that are written over again and again, which nothing but a collection removes.
        for version in 0..10 {
            let put = documents::put("d", noise(version, 30_000).into_bytes());
            documents::wrote(server, &format!("t{round}"), vec![put]).await;
        }
    };
    record(&server, 0).await;
    let live = TURNS * u64::try_from(BYTES).unwrap();
    let before = size(&server.folder().join("data"));
    for round in 1..=ROUNDS {
        record(&server, round).await;
        let thread = pb::RetainedThread { thread_id: format!("t{round}") };
        let target = Some(pb::RetentionTarget { target: Some(pb::retention_target::Target::Thread(thread)) });
        let erased = server.admin().erase(pb::EraseRequest { target, ..Default::default() }).await.unwrap();
        assert_eq!(erased.into_inner().receipt.unwrap().tombstone_count, TURNS);
    }
    let request = pb::CollectGarbageRequest { grace: Some(prost_types::Duration::default()), ..Default::default() };
    let mut collected = server.admin().collect_garbage(request).await.unwrap().into_inner();
    while collected.message().await.unwrap().is_some() {}
    let server = server.restart().await;
    let after = size(&server.folder().join("data"));
    let (lines, _) = transfer::export(&server, Vec::new()).await;
    let fresh = Running::start(scripted("")).await;
    transfer::import(&fresh, &lines).await.unwrap();
    let fresh = fresh.restart().await;
    let anew = size(&fresh.folder().join("data"));
    let [after_kib, live_kib, before_kib, anew_kib] = [after, live, before, anew].map(|bytes| bytes >> 10);
    println!(
        "{after_kib} KiB on disk for {live_kib} KiB that are there, {before_kib} KiB before as much went {ROUNDS} times, {anew_kib} KiB written anew"
    );
    assert!(
        after <= (1 + ROUNDS) * before * 3 / 4,
        "{after} bytes, where nothing given back would be {ROUNDS} times {before} more"
    );
    assert!(anew <= 3 * live, "{anew} bytes for {live}");
    for server in [&server, &fresh] {
        assert_eq!(look::thread(server, "t0").await.turn_count, TURNS);
        look::verified(server).await;
    }
}

/// What the memory of a server depends on: its cache and the number of keys, as the README says under "Sizing", and not the bytes stored.
#[tokio::test(flavor = "multi_thread")]
async fn b134_memory_does_not_follow_the_size_of_the_store() {
    const TRANSCRIPTS: u64 = 8;
    const TURNS: u64 = 500;
    const BYTES: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let config = scripted("[store]\ncache_mebibytes = 16\n");
    let program = Program::start(folder.path(), &config).await;
    let mut ends = Vec::new();
    for transcript in 0..TRANSCRIPTS {
        let turn = |turn: u64| {
            [ask::user(&noise(transcript * TURNS + turn, BYTES)), ask::assistant(&format!("{transcript} {turn}"))]
        };
        let request = ask::record((0..TURNS).flat_map(turn).collect());
        ends.push(program.exchanges().record(request).await.unwrap().into_inner().exchange_id);
    }
    program.kill();
    let stored = size(&folder.path().join("data"));
    let program = Program::start(folder.path(), &config).await;
    let began = program.peak_memory();
    for end in [&ends[0], ends.last().unwrap()] {
        let exchange =
            program.exchanges().inspect(pb::InspectRequest { page_size: 1, ..ask::inspect(end) }).await.unwrap();
        assert!(exchange.into_inner().exchange.is_some());
    }
    let whole = pb::StreamInspectRequest { exchange_id: ends[3].clone(), history: pb::HistoryScope::Full.into() };
    let mut stream = program.exchanges().stream_inspect(whole).await.unwrap().into_inner();
    let mut messages = 0;
    while let Some(page) = stream.message().await.unwrap() {
        messages += page.page.unwrap().messages.len();
    }
    assert_eq!(messages, 1_000);
    let peak = program.peak_memory();
    println!("{} MiB stored; {} MiB of memory when open, {} MiB after reading", stored >> 20, began >> 20, peak >> 20);
    assert!(stored > 30 * MEBIBYTE, "{stored}");
    assert!(peak < 160 * MEBIBYTE, "{peak}");
}

/// A client as it is made by default: it takes 4 MiB.
fn default_client(server: &Running) -> ExchangeServiceClient<tonic::transport::Channel> {
    ExchangeServiceClient::new(server.channel())
}

#[tokio::test(flavor = "multi_thread")]
async fn b137_more_than_four_mebibytes_go_in_and_come_out() {
    let (five, six) = (noise(1, 5 << 20), noise(2, 6 << 20));
    let served = Served::with([stub::text("ok"), stub::text(&six), stub::text("ok")]).await;
    // The answer tells what was asked, and is larger than a default client takes: it is kept all the same, and the client says which of
    // its limits to raise.
    let large = || ask::capture(ask::text_as("r0", &five));
    let too_small = default_client(&served.server).capture(large()).await.unwrap_err();
    assert!(too_small.message().contains("4194304"), "{too_small:?}");
    assert!(served.messages(0).await[0]["content"] == five);
    let first = served.capture(large()).await.exchange_id;
    assert_eq!(served.provider.count(), 1);
    let too_small =
        default_client(&served.server).r#continue(ask::after(&first, ask::text_as("r", "x"))).await.unwrap_err();
    assert!(too_small.message().contains("4194304"), "{too_small:?}");
    let second = look::run(&served.server, "r").await.exchange_id;
    let told = default_client(&served.server).inspect(ask::inspect(&second)).await.unwrap_err();
    assert!(told.message().contains("4194304"), "{told:?}");
    assert!(served.inspect(&second).await.text == six);
    let readme = include_str!("../../README.md");
    assert!(readme.contains("gRPC clients take answers of 4 MiB unless told otherwise"));
    let served = served.restart().await;
    served.go_on(ask::after(&second, ask::text("on"))).await;
    let sent = served.messages(2).await;
    assert!(sent[0]["content"] == five && sent[3]["content"] == six, "it goes out again, whole");
}

/// Ten mebibytes of history in pieces of less than four are read by a default client, in pages.
#[tokio::test(flavor = "multi_thread")]
async fn b137_a_long_history_comes_in_pages_that_every_client_takes() {
    let server = Running::echo().await;
    let messages: Vec<_> = (0..7).flat_map(|turn| [ask::user(&noise(turn, 3 << 19)), ask::assistant("ok")]).collect();
    let last = server.exchanges().record(ask::record(messages)).await.unwrap().into_inner().exchange_id;
    let (mut bytes, mut token) = (0, String::new());
    loop {
        let request = pb::InspectRequest { page_token: token, ..ask::inspect(&last) };
        let page = default_client(&server).inspect(request).await.unwrap().into_inner();
        bytes += ask::texts(&page.messages).concat().len();
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert!(bytes > 10 << 20, "{bytes}");
}

/// The limit is exact, the same for everybody, and what fits can be read again.
#[tokio::test(flavor = "multi_thread")]
async fn b137_the_limit_is_at_its_byte() {
    const MOST: usize = 65_536;
    let provider = Provider::start([stub::text("ok")]).await;
    let server =
        Running::start(format!("{}[server]\nmax_message_bytes = {MOST}\n", openai(&provider.base_url()))).await;
    let of = |bytes: usize| {
        let empty = ask::capture(ask::text(&"x".repeat(60_000))).encoded_len() - 60_000;
        let request = ask::capture(ask::text(&"x".repeat(bytes - empty)));
        assert_eq!(request.encoded_len(), bytes);
        request
    };
    let exchange = server.exchanges().capture(of(MOST)).await.unwrap().into_inner().exchange.unwrap();
    for more in [MOST + 1, 2 * MOST] {
        let refusal = server.exchanges().capture(of(more)).await.unwrap_err();
        refused::is(&refusal, Code::ResourceExhausted, Reason::LimitExceeded);
        let facts = ["limit", "max"].map(|key| refused::fact(&refusal, key));
        assert_eq!(facts, ["max_message_bytes", "65536"]);
    }
    assert_eq!(provider.count(), 1);
    assert_eq!(look::history(&server, &exchange.exchange_id).await[0].len(), "U:".len() + text_of(&of(MOST)));
}

fn text_of(request: &pb::CaptureRequest) -> usize {
    match &request.execution {
        Some(pb::capture_request::Execution::Request(request)) => request.text.len(),
        other => panic!("{other:?}"),
    }
}
