//! What clients of coordinations that do not read cost the real program: a bounded amount, however much it has to tell them. It must not
//! know how that is done.

use antiphon::grpc::pb;
use pb::CoordinationState as State;
use pb::coordinate_request::Frame as Say;
use pb::coordinate_response::Frame as Told;
use pb::coordination_service_client::CoordinationServiceClient;
use pb::exchange_service_client::ExchangeServiceClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::support::coordinate::{Loop, attach, start, stop, turn_of};
use crate::support::program::Program;
use crate::support::provider::{Outcome, Provider};
use crate::support::server::openai_with;
use crate::support::{ask, stub, within};

const MEBIBYTE: u64 = 1 << 20;

/// A client that reads what it is asked for and nothing else: HTTP/2 gives it no more than its windows hold.
struct Silent {
    say: mpsc::Sender<pb::CoordinateRequest>,
    frames: Streaming<pb::CoordinateResponse>,
    id: String,
}

impl Silent {
    /// At its first decision.
    async fn start(program: &Program, exchange: &str, turns: u32) -> Self {
        let (say, said) = mpsc::channel(1);
        let mut client = ExchangeServiceClient::new(program.fresh_channel()).max_decoding_message_size(usize::MAX);
        let mut frames = client.coordinate(ReceiverStream::new(said)).await.unwrap().into_inner();
        let begin = pb::CoordinationStart { deltas: true, ..start(exchange, turns) };
        say.send(pb::CoordinateRequest { frame: Some(Say::Start(begin)) }).await.unwrap();
        let id = match frames.message().await.unwrap().unwrap().frame {
            Some(Told::Started(started)) => started.coordination_id,
            other => panic!("{other:?}"),
        };
        let needed = frames.message().await.unwrap().unwrap().frame;
        assert!(matches!(needed, Some(Told::DecisionNeeded(_))), "{needed:?}");
        Self { say, frames, id }
    }

    fn says(&self, text: &str) -> bool {
        let next = pb::NextAction { decision_id: String::new(), action: Some(turn_of(text)) };
        self.say.try_send(pb::CoordinateRequest { frame: Some(Say::NextAction(next)) }).is_ok()
    }
}

async fn got(program: &Program, id: &str) -> pb::Coordination {
    let request = pb::CoordinationServiceGetRequest { coordination_id: id.to_owned() };
    let mut client = CoordinationServiceClient::new(program.fresh_channel()).max_decoding_message_size(usize::MAX);
    client.get(request).await.unwrap().into_inner().coordination.unwrap()
}

/// Waits until the first turn of a coordination is over. Only an attached stream or a Watch of its run would tell, and both bring the answer,
/// whose memory is what is measured. A list has no content, and costs little to ask for again and again.
async fn turned(program: &Program, id: &str) {
    let mut client = CoordinationServiceClient::new(program.fresh_channel());
    loop {
        let listed = client.list(pb::CoordinationServiceListRequest::default()).await.unwrap().into_inner();
        let over = |one: &pb::Coordination| one.state() == State::AwaitingDecision && one.turns_started == 1;
        if listed.coordinations.iter().any(|one| one.coordination_id == id && over(one)) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn begun(program: &Program) -> String {
    let captured = program.exchanges().capture(ask::capture(ask::text("begin"))).await.unwrap().into_inner();
    captured.exchange.unwrap().exchange_id
}

/// Long streamed answers to clients that do not read: turns wait for them, memory is bounded by what an answer has, whoever reads is told all
/// of it, and the next clients cost no more than the first.
#[tokio::test(flavor = "multi_thread")]
async fn long_answers_to_clients_that_do_not_read() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 4;
    let piece = "0123456789abcdef".repeat(64);
    let pieces: Vec<&str> = std::iter::repeat_n(piece.as_str(), 3 << 10).collect();
    let answer = u64::try_from(piece.len() * pieces.len()).unwrap();
    let entry = stub::streamed(&pieces);
    let script = std::iter::once(stub::text("zero")).chain((0..CLIENTS * ROUNDS).map(|_| entry.clone()));
    let provider = Provider::start(script).await;
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), &openai_with(&provider.base_url(), "capacity = 64\n")).await;
    let exchange = begun(&program).await;
    let before = program.memory();
    let mut peaks = Vec::new();
    for round in 0..ROUNDS {
        let mut silent = Vec::new();
        for _ in 0..CLIENTS {
            let client = Silent::start(&program, &exchange, 1).await;
            assert!(client.says("at length"));
            silent.push(client);
        }
        for number in 0..CLIENTS {
            assert_eq!(provider.outcome(1 + round * CLIENTS + number).await, Outcome::Played);
        }
        // Whoever reads in the end is told all of it.
        let mut one = silent.pop().unwrap();
        let mut said = 0;
        loop {
            match within("the rest", one.frames.message()).await.unwrap().unwrap().frame.unwrap() {
                Told::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) }) => said += text.text.len() as u64,
                Told::DecisionNeeded(needed) => {
                    assert_eq!(needed.exchange.unwrap().text.len() as u64, answer);
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(said, answer);
        // A turn waits for a client that is there, and for none that has gone.
        let ids: Vec<String> = silent.iter().map(|client| client.id.clone()).collect();
        drop(silent);
        for id in ids {
            within("the turn to come to its end", turned(&program, &id)).await;
        }
        peaks.push(program.peak_memory().saturating_sub(before) / u64::try_from(CLIENTS).unwrap());
    }
    println!(
        "KiB a client that does not read, by rounds: {:?}",
        peaks.iter().map(|peak| peak >> 10).collect::<Vec<_>>()
    );
    assert!(peaks[0] < 8 * answer, "{peaks:?}");
    assert!(peaks[ROUNDS - 1] < peaks[0] * 3 / 2, "nothing is kept of those who left: {peaks:?}");
}

/// A turn waits for a client that does not read, and then no longer: its place at the backend goes to others, and its answer is on record.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_waits_so_long_for_a_client_that_does_not_read() {
    let piece = "0123456789abcdef".repeat(1 << 10);
    // More than windows, buffers and patience hold.
    let pieces: Vec<&str> = std::iter::repeat_n(piece.as_str(), 1 << 10).collect();
    let provider = Provider::start([stub::text("zero"), stub::streamed(&pieces), stub::text("next")]).await;
    let folder = tempfile::tempdir().unwrap();
    let config = openai_with(&provider.base_url(), "capacity = 1\n");
    let program =
        Program::start(folder.path(), &format!("{config}[limits]\ncoordination_patience_seconds = 1\n")).await;
    let exchange = begun(&program).await;
    let client = Silent::start(&program, &exchange, 1).await;
    assert!(client.says("at length"));
    // In the queue of the backend until the turn has gone on.
    let waited = std::time::Instant::now();
    within("the turn to have its answer", provider.outcome(1)).await;
    assert!(waited.elapsed() >= std::time::Duration::from_secs(1), "it waits for the client: {:?}", waited.elapsed());
    within("the place at the backend", begun(&program)).await;
    within("the turn to come to its end", turned(&program, &client.id)).await;
    assert!(got(&program, &client.id).await.attached, "the client is still there");
}

/// A client that answers and answers without reading: it is not listened to any more after a while, what it said is taken as far as
/// that, and a client that reads goes on from there.
#[tokio::test(flavor = "multi_thread")]
async fn answers_of_clients_that_do_not_read() {
    const CLIENTS: usize = 8;
    const SAID: usize = 20_000;
    let provider = Provider::start([stub::text("zero")]).await;
    let folder = tempfile::tempdir().unwrap();
    // The loop goes on by the scripted backend, as fast as it can.
    let config = format!(
        "{}[profiles.canned]\nbackend = \"script\"\nmodel = \"canned-1\"\n[backends.script]\nkind = \"scripted\"\ncapacity = 64\n",
        openai_with(&provider.base_url(), "")
    );
    let program = Program::start(folder.path(), &config).await;
    let exchange = begun(&program).await;
    let mut silent = Vec::new();
    for _ in 0..CLIENTS {
        silent.push(Silent::start(&program, &exchange, 1_000_000).await);
    }
    let before = program.memory();
    let text = "x".repeat(8 << 10);
    let talking: Vec<_> = silent
        .into_iter()
        .map(|client| {
            let text = text.clone();
            tokio::spawn(async move {
                for number in 0..SAID {
                    let request = pb::ExecutionRequest { profile_id: "canned".to_owned(), ..ask::text(&text) };
                    let next = pb::NextAction {
                        decision_id: String::new(),
                        action: Some(crate::support::coordinate::turn(request)),
                    };
                    let said = client.say.send(pb::CoordinateRequest { frame: Some(Say::NextAction(next)) });
                    if tokio::time::timeout(std::time::Duration::from_secs(3), said).await.is_err() {
                        return (client, number);
                    }
                }
                panic!("the server listens without end");
            })
        })
        .collect();
    let (mut taken, mut still) = (Vec::new(), Vec::new());
    for client in talking {
        let (client, said) = client.await.unwrap();
        let now = got(&program, &client.id).await;
        assert!(now.turns_started > 0 && now.turns_started as usize <= said, "{said} said, {now:?}");
        taken.push((said, now.turns_started));
        still.push(client);
    }
    let more = program.peak_memory().saturating_sub(before);
    println!("{} MiB for {CLIENTS} clients; said and taken: {taken:?}", more / MEBIBYTE);
    assert!(more < 160 * MEBIBYTE, "{more} bytes: {taken:?}");
    // Another stream takes over from one that does not read.
    let id = &still[0].id;
    let mut reads = Loop::on(program.fresh_channel(), attach(id)).await;
    let pending = reads.started().await.pending_id;
    let at_last =
        |told: &Told| matches!(told, Told::DecisionNeeded(needed) if needed.decision_id == pending).then_some(());
    reads.until(at_last).await;
    reads.act(stop()).await;
    assert!(reads.ended().await.1.is_none());
}
