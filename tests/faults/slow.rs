//! The real program on disks that are slow, and on disks that take no more: `powercut.c` models both. What is promised is kept, late or not at
//! all, and whoever asks is told why.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::{Duration, Instant};

use antiphon::grpc::pb;
use pb::exchange_service_client::ExchangeServiceClient;
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

use crate::power::model;
use crate::support::coordinate::{Loop, attach, start, stop};
use crate::support::program::Program;
use crate::support::server::scripted;
use crate::support::{ask, within};

/// What a sync takes.
const SYNC: Duration = Duration::from_millis(200);

/// A folder whose disk is modelled.
struct Disk {
    folder: tempfile::TempDir,
    config: String,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let config = scripted("capacity = 64\nqueue_limit = 1000\n");
        Self { folder, config }
    }

    async fn start(&self, fault: &str, value: u64) -> Program {
        let (data, image) = (self.folder.path().join("data"), self.folder.path().join("image"));
        let value = value.to_string();
        let variables: [(&str, &OsStr); 4] = [
            ("LD_PRELOAD", model().as_os_str()),
            ("CUT_DIR", data.as_os_str()),
            ("CUT_IMAGE", image.as_os_str()),
            (fault, OsStr::new(&value)),
        ];
        Program::start_with(self.folder.path(), &self.config, &variables).await
    }

    async fn slow(&self) -> Program {
        self.start("CUT_SLOW_MS", u64::try_from(SYNC.as_millis()).unwrap()).await
    }

    /// On the same folder, and nothing is wrong any more.
    async fn mended(&self) -> Program {
        Program::start(self.folder.path(), &self.config).await
    }
}

async fn capture(channel: Channel, run: String) -> Result<String, Status> {
    let captured = ExchangeServiceClient::new(channel).capture(ask::capture(ask::text_as(&run, &run))).await?;
    Ok(captured.into_inner().exchange.unwrap().exchange_id)
}

async fn health(program: &Program) -> ServingStatus {
    let mut client = HealthClient::new(program.fresh_channel());
    let told = within("the health", client.check(HealthCheckRequest::default())).await;
    told.unwrap().into_inner().status()
}

/// Every exchange is there, and says what its run said.
async fn all_there(program: &Program, told: &BTreeMap<String, String>) {
    for (run, exchange) in told {
        let request = pb::InspectRequest { history: pb::HistoryScope::None.into(), ..ask::inspect(exchange) };
        let page = program.exchanges().inspect(request).await.unwrap_or_else(|status| panic!("{run}: {status:?}"));
        assert_eq!(&page.into_inner().exchange.unwrap().run_id, run);
    }
}

/// No record is wrong.
async fn verified(program: &Program) {
    use pb::verify_response::Event;
    let mut told = program.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    while let Some(told) = within("the verification", told.message()).await.unwrap() {
        assert!(!matches!(told.event, Some(Event::Finding(_))), "{told:?}");
    }
}

/// Many that come at once share a sync, so that a slow disk makes each wait and none wait for all the others.
#[tokio::test(flavor = "multi_thread")]
async fn many_writes_share_a_slow_sync() {
    const CALLS: u32 = 150;
    let disk = Disk::new();
    let mut program = disk.slow().await;
    let channel = program.fresh_channel();
    let begun = Instant::now();
    within("one call", capture(channel.clone(), "alone".to_owned())).await.unwrap();
    // Its claim and its end are each synced.
    assert!(begun.elapsed() >= SYNC * 2, "the disk is slow: {:?}", begun.elapsed());
    let begun = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let channel = channel.clone();
        calls.spawn(async move {
            let run = format!("run-{number}");
            (run.clone(), capture(channel, run).await)
        });
    }
    let mut told = BTreeMap::new();
    let mut looks = 0;
    loop {
        tokio::select! {
            done = calls.join_next() => match done {
                Some(done) => {
                    let (run, exchange) = done.unwrap();
                    told.insert(run, exchange.unwrap());
                }
                None => break,
            },
            status = health(&program) => {
                assert_eq!(status, ServingStatus::Serving, "a slow disk is a disk");
                looks += 1;
            }
        }
    }
    let took = begun.elapsed();
    println!("{CALLS} calls with two syncs each in {took:?}, {looks} looks at the health meanwhile");
    assert!(took < SYNC * CALLS / 2, "{took:?}");
    all_there(&program, &told).await;
    program.terminate().await;
    all_there(&disk.mended().await, &told).await;
}

/// A caller that cannot wait so long is told at its deadline, and asks later what became of it: it is one exchange or none.
#[tokio::test(flavor = "multi_thread")]
async fn deadlines_are_kept_on_a_slow_disk() {
    let disk = Disk::new();
    let program = disk.slow().await;
    let mut client = program.exchanges();
    for number in 0..8_u32 {
        let run = format!("run-{number}");
        let deadline = SYNC / 4 * (number + 1);
        let mut request = tonic::Request::new(ask::capture(ask::text_as(&run, &run)));
        request.set_timeout(deadline);
        let begun = Instant::now();
        let came = within("the deadline", client.capture(request)).await;
        let took = begun.elapsed();
        if let Err(status) = &came {
            assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
            assert!(took < deadline + Duration::from_secs(5), "{took:?} for {deadline:?}");
        }
        let again = pb::ExecutionRequest { retry: true, ..ask::text_as(&run, &run) };
        let again = within("an answer in the end", client.capture(ask::capture(again))).await.unwrap().into_inner();
        let exchange = again.exchange.unwrap();
        if let Ok(came) = came {
            assert_eq!(came.into_inner().exchange.unwrap().exchange_id, exchange.exchange_id);
        }
        let asked = program.runs().get(pb::RunServiceGetRequest { run_id: run.clone() }).await.unwrap().into_inner();
        let asked = asked.run.unwrap();
        assert_eq!((asked.state(), &asked.exchange_id), (pb::RunState::Completed, &exchange.exchange_id));
        assert_eq!(asked.exchange_count, 1);
    }
    verified(&program).await;
}

/// Calls at work when the server is told to stop are finished, and their writes waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_a_slow_disk_stops_in_good_order() {
    const CALLS: usize = 40;
    let disk = Disk::new();
    let mut program = disk.slow().await;
    let channel = program.fresh_channel();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let channel = channel.clone();
        calls.spawn(async move {
            let run = format!("run-{number}");
            (run.clone(), capture(channel, run).await)
        });
    }
    // Some have been answered, and others are on their way.
    let first = within("an answer", calls.join_next()).await.unwrap();
    program.terminate().await;
    let mut told = BTreeMap::new();
    for (run, came) in calls.join_all().await.into_iter().chain([first.unwrap()]) {
        match came {
            Ok(exchange) => drop(told.insert(run, exchange)),
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
        }
    }
    let program = disk.mended().await;
    all_there(&program, &told).await;
    verified(&program).await;
    let at_work = pb::RunServiceListRequest {
        states: vec![pb::RunState::Running.into(), pb::RunState::Queued.into()],
        ..Default::default()
    };
    assert_eq!(program.runs().list(at_work).await.unwrap().into_inner().runs, []);
}

/// Writes that fail: the server takes none until it is started again, says why, and reads on; nothing that was acknowledged is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_no_more_means_reads_only() {
    for good_writes in [60, 133, 250] {
        let disk = Disk::new();
        let program = disk.start("CUT_WRITE_FAILS_AFTER", good_writes).await;
        assert_eq!(health(&program).await, ServingStatus::Serving);
        let mut told = BTreeMap::new();
        let refused = loop {
            let run = format!("run-{}", told.len());
            match within("an answer", capture(program.fresh_channel(), run.clone())).await {
                Ok(exchange) => drop(told.insert(run, exchange)),
                Err(status) => break status,
            }
            assert!(told.len() < 1_000, "{good_writes} writes are soon over");
        };
        let reason = refused.get_details_error_info().unwrap().reason;
        assert_eq!((refused.code(), reason.as_str()), (Code::Unavailable, "STORE_READ_ONLY"), "{refused:?}");
        within("the health to tell it", async { while health(&program).await != ServingStatus::NotServing {} }).await;
        let info = program.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner();
        let store = info.server_info.unwrap().store.unwrap();
        assert_eq!(store.health(), pb::StoreHealth::ReadOnly);
        assert!(store.health_reason.contains("Input/output error"), "{}", store.health_reason);
        all_there(&program, &told).await;
        // Each of many is told the same at once.
        let mut calls: JoinSet<_> =
            (0..50).map(|number| capture(program.fresh_channel(), format!("late-{number}"))).collect();
        while let Some(late) = within("a refusal", calls.join_next()).await {
            let reason = late.unwrap().unwrap_err().get_details_error_info().unwrap().reason;
            assert_eq!(reason, "STORE_READ_ONLY");
        }
        println!("{} acknowledged before a write failed", told.len());
        program.kill();
        let mended = disk.mended().await;
        all_there(&mended, &told).await;
        verified(&mended).await;
        within("a write", capture(mended.fresh_channel(), "mended".to_owned())).await.unwrap();
    }
}

/// An answer whose client leaves while it is written is told to whoever attaches next, and so is the end.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_client_left_is_told_to_the_next_one() {
    let disk = Disk::new();
    let program = disk.slow().await;
    let first = program.exchanges().capture(ask::capture(ask::text("begin"))).await.unwrap().into_inner();
    let exchange = first.exchange.unwrap().exchange_id;
    let begin = pb::coordinate_request::Frame::Start(start(&exchange, 3));
    let mut stream = Loop::on(program.fresh_channel(), begin).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(stop()).await;
    // In the midst of the sync: nothing is told before it is on disk.
    let early = tokio::time::timeout(SYNC / 2, stream.next()).await;
    assert!(early.is_err(), "{early:?}");
    drop(stream);
    let mut stream = Loop::on(program.fresh_channel(), attach(&id)).await;
    let ended = stream.until(|told| matches!(told, pb::coordinate_response::Frame::Ended(_)).then_some(()));
    within("the end to be told", ended).await;
}

/// Streams that come and go without a word leave a decision pending, however slowly it is written that they went: no turn is at work, and nobody agreed
/// that anything is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn streams_that_come_and_go_cancel_nothing() {
    let disk = Disk::new();
    let program = disk.slow().await;
    let first = program.exchanges().capture(ask::capture(ask::text("begin"))).await.unwrap().into_inner();
    let exchange = first.exchange.unwrap().exchange_id;
    let mut client = pb::coordination_service_client::CoordinationServiceClient::new(program.fresh_channel());
    let begin = pb::CoordinationStart { on_disconnect: pb::OnDisconnect::Finish.into(), ..start(&exchange, 3) };
    let mut stream = Loop::on(program.fresh_channel(), pb::coordinate_request::Frame::Start(begin)).await;
    let id = stream.started().await.coordination_id;
    for visit in 0..20 {
        stream.decision().await;
        drop(stream);
        stream = Loop::on(program.fresh_channel(), attach(&id)).await;
        let state = stream.started().await.state();
        assert_eq!(state, pb::CoordinationState::AwaitingDecision, "visit {visit}");
    }
    let request = pb::CoordinationServiceGetRequest { coordination_id: id };
    let now = client.get(request).await.unwrap().into_inner().coordination.unwrap();
    assert_eq!(now.state(), pb::CoordinationState::AwaitingDecision, "{:?}", now.ended);
}
