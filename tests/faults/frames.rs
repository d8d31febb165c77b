//! What HTTP/2 lets a stranger send: floods of frames that cost the sender little. Whoever does that is hung up on or not listened to, memory
//! stays bounded, and others are served as before.

use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;

use crate::rest;
use crate::support::http2::{
    self, CONTINUATION, Came, DATA, END_HEADERS, END_STREAM, HEADERS, PING, Peer, RESET, SETTINGS, WINDOW_UPDATE,
    frame, header,
};
use crate::support::program::Program;
use crate::support::server::scripted;
use crate::support::{ask, within};

const MEBIBYTE: u64 = 1 << 20;
/// What any of these may cost at most.
const MEMORY: u64 = 48 * MEBIBYTE;
/// How many do it at once.
const PEERS: usize = 4;

/// A flood, and how it ends.
struct Flood {
    what: &'static str,
    /// What is sent once, and then over and over.
    once: Vec<u8>,
    again: Vec<u8>,
    times: usize,
    /// Whether the server must hang up, rather than answer all of it.
    ends: bool,
}

fn floods() -> Vec<Flood> {
    let call = http2::call("ThreadService/List");
    let open = |stream| frame(HEADERS, END_HEADERS, stream, &call);
    let cancel = 8_u32.to_be_bytes();
    let resets = (0..5_000).flat_map(|n| [open(2 * n + 1), frame(RESET, 0, 2 * n + 1, &cancel)].concat()).collect();
    let filler = header("x-filler", &"x".repeat(8_000));
    let flood = |what, once: Vec<u8>, again: Vec<u8>, times, ends| Flood { what, once, again, times, ends };
    vec![
        flood("pings", vec![], frame(PING, 0, 0, &[7; 8]).repeat(1_000), 400, false),
        flood("settings", vec![], frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255]).repeat(1_000), 400, false),
        flood("streams that are reset at once", resets, vec![], 0, true),
        flood(
            "a header that does not end",
            frame(HEADERS, 0, 1, &call),
            frame(CONTINUATION, 0, 1, &filler),
            20_000,
            true,
        ),
        flood("empty pieces of a header", frame(HEADERS, 0, 1, &call), frame(CONTINUATION, 0, 1, &[]), 100_000, true),
        flood("empty data", open(1), frame(DATA, 0, 1, &[]).repeat(1_000), 400, false),
        flood("a window that grows too far", vec![], frame(WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255]), 2, true),
        flood("data on a stream that was never opened", frame(DATA, END_STREAM, 1, &[0; 100]), vec![], 0, true),
        flood("no frames at all", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100), vec![], 0, true),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_of_frames_are_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(folder.path(), &scripted("")).await;
    let mut client = program.exchanges();
    client.capture(ask::capture(ask::text("before"))).await.unwrap();
    rest::idle(&program).await;
    let (files, tasks) = (program.files(), program.tasks());
    for flood in floods() {
        let before = program.memory();
        let (what, ends) = (flood.what, flood.ends);
        let flood = std::sync::Arc::new(flood);
        let peers: Vec<_> = (0..PEERS)
            .map(|_| {
                let (flood, address) = (std::sync::Arc::clone(&flood), program.address());
                tokio::spawn(async move {
                    let mut peer = Peer::greet(address).await;
                    let mut came = peer.send(&flood.once).await;
                    if came == Came::Taken {
                        came = peer.flood(&flood.again, flood.times).await;
                    }
                    (peer, came)
                })
            })
            .collect();
        // Others are served meanwhile.
        let served = within(what, client.capture(ask::capture(ask::text("meanwhile")))).await;
        served.unwrap_or_else(|status| panic!("{what}: {status:?}"));
        let mut seen = Vec::new();
        for peer in peers {
            let (peer, came) = peer.await.unwrap();
            let code = if ends { peer.hung_up().await } else { None };
            seen.push((came, code));
        }
        let grew = program.peak_memory().saturating_sub(before);
        println!("{what}: {seen:?}, {} MiB", grew / MEBIBYTE);
        assert!(grew < MEMORY, "{what}: {grew} bytes");
        let served = within(what, client.capture(ask::capture(ask::text("after")))).await;
        served.unwrap_or_else(|status| panic!("{what}: {status:?}"));
        rest::idle(&program).await;
    }
    rest::given_back(&program, files + 4, tasks + 8).await;
    program.terminate().await;
}

/// More metadata than a call may have is refused on its stream, and the others on the connection go on. Whoever sends so much more that it is not
/// read to its end is hung up on.
#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), &scripted("")).await;
    let mut client = program.exchanges();
    client.capture(ask::capture(ask::text("before"))).await.unwrap();
    let files = program.files();
    let too_large = |kibibytes: usize| {
        let mut request = tonic::Request::new(ask::capture(ask::text("too much")));
        request.metadata_mut().insert("x-much", "m".repeat(kibibytes << 10).parse().unwrap());
        request
    };
    let mut others = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let mut beside = client.clone();
        others.spawn(async move { beside.capture(ask::capture(ask::text("beside"))).await.map(drop) });
        let refused = within("a refusal", client.capture(too_large(20))).await.unwrap_err();
        assert_ne!(refused.code(), tonic::Code::Internal, "{refused:?}");
    }
    for beside in others.join_all().await {
        beside.unwrap();
    }
    assert!(program.files() <= files, "it is one connection still");
    for _ in 0..20 {
        let mut stranger = ExchangeServiceClient::new(program.fresh_channel());
        within("a refusal", stranger.capture(too_large(2_048))).await.unwrap_err();
    }
    client.capture(ask::capture(ask::text("after"))).await.unwrap();
    rest::given_back(&program, files, usize::MAX).await;
}
