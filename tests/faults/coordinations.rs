//! Coordinations of the real program when it is killed, or when their client is gone, at each step of a turn: what was pending is pending
//! under the same id, no turn is asked of the provider twice, and the store is whole.

use std::process::Command;
use std::time::Duration;

use antiphon::grpc::pb;
use pb::CoordinationState as State;
use pb::coordinate_response::Frame as Told;
use pb::coordination_service_client::CoordinationServiceClient;
use tonic::transport::Channel;

use crate::harness::{Dice, rounds};
use crate::support::coordinate::{Loop, answer, attach, fail, results, start_on, start_with, stop, turn, turn_of};
use crate::support::program::Program;
use crate::support::provider::{Entry, Gate, Outcome, Provider};
use crate::support::server::openai_with;
use crate::support::{ask, stub, within};

/// The program, its provider, and a thread `t` with one exchange.
struct Home {
    folder: tempfile::TempDir,
    provider: Provider,
    config: String,
    program: Program,
    /// The exchange.
    first: String,
}

/// What happens between a step and the next attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    /// The server is killed and started again.
    Kill,
    /// The connection of the client is gone.
    Disconnect,
}

const BLOWS: [Blow; 2] = [Blow::Kill, Blow::Disconnect];

impl Home {
    async fn with(script: impl IntoIterator<Item = Entry>) -> Self {
        let provider = Provider::start([stub::text("zero")].into_iter().chain(script)).await;
        let config = openai_with(&provider.base_url(), "capacity = 1\nretry = { attempts = 1 }\n");
        let folder = tempfile::tempdir().unwrap();
        let program = Program::start(folder.path(), &config).await;
        let captured = program.exchanges().capture(ask::capture_on_new("t", ask::text("begin"))).await.unwrap();
        let first = captured.into_inner().exchange.unwrap().exchange_id;
        Self { folder, provider, config, program, first }
    }

    /// A coordination on the thread, at its first decision.
    async fn begin(&self) -> (Loop, String, String) {
        let start = pb::CoordinationStart { tool_round_limit: Some(3), ..start_on("t", 5) };
        let mut stream = Loop::on(self.program.fresh_channel(), pb::coordinate_request::Frame::Start(start)).await;
        let id = stream.started().await.coordination_id;
        let pending = stream.decision().await.decision_id;
        (stream, id, pending)
    }

    async fn suffer(self, blow: Blow, stream: Loop, id: &str) -> Self {
        match blow {
            Blow::Kill => self.killed(stream).await,
            Blow::Disconnect => {
                drop(stream);
                within("the stream to be let go of", async { while self.got(id).await.attached {} }).await;
                self
            }
        }
    }

    async fn killed(self, stream: Loop) -> Self {
        let Self { folder, provider, config, program, first } = self;
        program.kill();
        drop(stream);
        let program = Program::start(folder.path(), &config).await;
        Self { folder, provider, config, program, first }
    }

    fn coordinations(&self) -> CoordinationServiceClient<Channel> {
        CoordinationServiceClient::new(self.program.fresh_channel())
    }

    async fn got(&self, id: &str) -> pb::Coordination {
        let request = pb::CoordinationServiceGetRequest { coordination_id: id.to_owned() };
        self.coordinations().get(request).await.unwrap().into_inner().coordination.unwrap()
    }

    async fn until(&self, id: &str, state: State) -> pb::Coordination {
        within(&format!("the coordination to be {state:?}"), async {
            loop {
                let now = self.got(id).await;
                if now.state() == state {
                    return now;
                }
            }
        })
        .await
    }

    async fn run(&self, id: &str) -> Option<pb::Run> {
        let asked = self.program.runs().get(pb::RunServiceGetRequest { run_id: id.to_owned() }).await;
        asked.ok().and_then(|got| got.into_inner().run)
    }

    async fn head(&self) -> String {
        let asked = pb::ThreadServiceGetRequest { thread_id: "t".to_owned() };
        self.program.threads().get(asked).await.unwrap().into_inner().thread.unwrap().head_exchange_id
    }

    /// Attaches, and passes over what was told before, up to what is pending now.
    async fn attached(&self, id: &str) -> (Loop, Told) {
        let mut stream = Loop::on(self.program.fresh_channel(), attach(id)).await;
        let pending = stream.started().await.pending_id;
        let told = stream
            .until(|told| match told {
                Told::DecisionNeeded(needed) if needed.decision_id == pending => Some(told.clone()),
                Told::ToolsNeeded(needed) if needed.batch_id == pending => Some(told.clone()),
                _ => None,
            })
            .await;
        (stream, told)
    }

    async fn decides(&self, id: &str) -> (Loop, pb::DecisionNeeded) {
        match self.attached(id).await {
            (stream, Told::DecisionNeeded(needed)) => (stream, needed),
            (_, other) => panic!("{other:?}"),
        }
    }

    /// One more turn, to the end; then the store is stopped and verified, and the last user's words of all requests are told.
    async fn concluded(self, mut stream: Loop, asked: usize) {
        self.provider.script(stub::text("last"));
        stream.act(turn_of("the last turn")).await;
        let last = stream.decision().await.exchange.unwrap();
        assert_eq!((last.text.as_str(), self.head().await), ("last", last.exchange_id.clone()));
        stream.act(stop()).await;
        assert!(stream.ended().await.1.is_none());
        assert_eq!((self.provider.count(), self.provider.unscripted()), (asked + 1, 0), "nothing is asked twice");
        self.verified();
    }

    /// The store of the program, which is killed, as `antiphon verify` finds it.
    fn verified(self) {
        self.program.kill();
        let mut verify = Command::new(env!("CARGO_BIN_EXE_antiphon"));
        let said = verify.arg("verify").arg("--data").arg(self.folder.path().join("data")).output().unwrap();
        let out = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.status.success() && out.starts_with("0 findings; "), "{out} {said:?}");
    }
}

/// While the answer waits for room at the backend: after a kill it never came; a client that is gone gave it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn before_the_claim() {
    for blow in BLOWS {
        let gate = Gate::closed();
        let home = Home::with([stub::text("other").wait(&gate)]).await;
        let (stream, id, pending) = home.begin().await;
        let mut other = home.program.exchanges();
        let other = tokio::spawn(async move { other.capture(ask::capture(ask::text("other"))).await.is_ok() });
        home.provider.request(1).await;
        stream.act(turn(ask::text_as("r", "go on"))).await;
        let mut catalog = pb::catalog_service_client::CatalogServiceClient::new(home.program.fresh_channel());
        within("the turn to wait for room", async {
            loop {
                let backend = pb::InspectBackendRequest { backend_id: "stub".to_owned() };
                if catalog.inspect_backend(backend).await.unwrap().into_inner().backend.unwrap().queued == 1 {
                    return;
                }
            }
        })
        .await;
        let home = home.suffer(blow, stream, &id).await;
        if blow == Blow::Disconnect {
            home.provider.script(stub::text("one"));
            gate.open();
            assert!(other.await.unwrap());
            home.until(&id, State::AwaitingDecision).await;
            let turned = async {
                while home.got(&id).await.turns_started == 0 {}
                home.until(&id, State::AwaitingDecision).await
            };
            within("the turn that was answered", turned).await;
            let (stream, needed) = home.decides(&id).await;
            assert_eq!((needed.turns_started, needed.exchange.unwrap().text.as_str()), (1, "one"));
            home.concluded(stream, 3).await;
            continue;
        }
        assert!(!other.await.unwrap());
        let (stream, needed) = home.decides(&id).await;
        assert_eq!((needed.decision_id, needed.turns_started, needed.starting), (pending, 0, true));
        assert!(home.run("r").await.is_none() && needed.interrupted_run_id.is_empty());
        home.concluded(stream, 2).await;
    }
}

/// During the call to the provider: after a kill the turn is consumed, its run interrupted, and the same exchange is up for decision
/// anew; a client that is gone finds the result.
#[tokio::test(flavor = "multi_thread")]
async fn in_the_call_to_the_provider() {
    for blow in BLOWS {
        let gate = Gate::closed();
        let home = Home::with([stub::text("one").wait(&gate)]).await;
        let (mut stream, id, pending) = home.begin().await;
        stream.act(turn(ask::text_as("r", "go on"))).await;
        stream.accepted().await;
        home.provider.request(1).await;
        let home = home.suffer(blow, stream, &id).await;
        if blow == Blow::Disconnect {
            gate.open();
            home.until(&id, State::AwaitingDecision).await;
            let (stream, needed) = home.decides(&id).await;
            assert_eq!((needed.exchange.unwrap().text.as_str(), needed.interrupted_run_id.as_str()), ("one", ""));
            home.concluded(stream, 2).await;
            continue;
        }
        assert_eq!(home.provider.outcome(1).await, Outcome::ClientClosed);
        let (stream, needed) = home.decides(&id).await;
        assert_ne!(needed.decision_id, pending);
        assert_eq!((needed.interrupted_run_id.as_str(), needed.turns_started, needed.turns_remaining), ("r", 1, 4));
        assert_eq!((&needed.exchange.unwrap().exchange_id, needed.starting), (&home.first, true));
        assert_eq!(home.run("r").await.unwrap().state(), pb::RunState::Interrupted);
        assert_eq!(home.got(&id).await.interrupted_run_id, "r");
        // The new id stays the same from here on, over another kill as well.
        let home = home.killed(stream).await;
        let (stream, again) = home.decides(&id).await;
        assert_eq!((again.decision_id, again.interrupted_run_id.as_str()), (needed.decision_id, "r"));
        // The answer that began the interrupted turn is on record, and starts nothing.
        let repeated = answer(&id, &pending, turn(ask::text_as("r", "go on")));
        let repeated = home.coordinations().answer(repeated).await.unwrap().into_inner().accepted.unwrap();
        assert_eq!((repeated.replayed, repeated.run_id.as_str()), (true, "r"));
        assert_eq!(home.head().await, home.first);
        home.concluded(stream, 2).await;
    }
}

/// When the turn is over and its result was not read yet.
#[tokio::test(flavor = "multi_thread")]
async fn after_completion_before_the_client_reads() {
    for blow in BLOWS {
        let home = Home::with([stub::text("one")]).await;
        let (stream, id, pending) = home.begin().await;
        stream.say(crate::support::coordinate::action(&pending, turn(ask::text_as("r", "go on")))).await;
        let waiting = within("the turn to be over", async {
            loop {
                let now = home.got(&id).await;
                if now.turns_started == 1 && now.state() == State::AwaitingDecision {
                    return now;
                }
            }
        })
        .await;
        let home = home.suffer(blow, stream, &id).await;
        let (stream, needed) = home.decides(&id).await;
        assert_eq!((&needed.decision_id, needed.turns_started), (&waiting.pending_id, 1));
        assert_eq!((needed.exchange.unwrap().text.as_str(), needed.run.unwrap().run_id.as_str()), ("one", "r"));
        assert_eq!(home.head().await, waiting.exchange_id);
        home.concluded(stream, 2).await;
    }
}

/// When the result was read.
#[tokio::test(flavor = "multi_thread")]
async fn after_delivery() {
    for blow in BLOWS {
        let home = Home::with([stub::text("one")]).await;
        let (mut stream, id, _) = home.begin().await;
        stream.act(turn_of("go on")).await;
        let told = stream.decision().await;
        let home = home.suffer(blow, stream, &id).await;
        let (stream, needed) = home.decides(&id).await;
        assert_eq!(needed, told, "the same frame");
        home.concluded(stream, 2).await;
    }
}

/// After an answer that ends it: the end is on record, and told to whoever comes.
#[tokio::test(flavor = "multi_thread")]
async fn after_the_answer() {
    for (blow, action, wanted) in [
        (Blow::Kill, stop(), State::Stopped),
        (Blow::Disconnect, stop(), State::Stopped),
        (Blow::Kill, fail(14, "AWAY", "not now"), State::Failed),
    ] {
        let home = Home::with([]).await;
        let (mut stream, id, pending) = home.begin().await;
        stream.act(action.clone()).await;
        assert_eq!(stream.accepted().await.id, pending);
        let home = home.suffer(blow, stream, &id).await;
        assert_eq!(home.got(&id).await.state(), wanted);
        let repeated = home.coordinations().answer(answer(&id, &pending, action)).await.unwrap().into_inner();
        assert!(repeated.accepted.unwrap().replayed);
        let mut back = Loop::on(home.program.fresh_channel(), attach(&id)).await;
        back.until(|told| matches!(told, Told::Ended(_)).then_some(())).await;
        assert_eq!(home.provider.count(), 1);
        home.verified();
    }
}

/// With a part of a batch accepted: the same batch, with what is there and what is missing; completed calls are not asked for again, and in the next
/// step's call a kill interrupts the run.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_part_of_a_batch() {
    for blow in BLOWS {
        let gate = Gate::closed();
        let calls = stub::calls(&[("a", "look", "{}"), ("b", "look", "{}"), ("c", "look", "{}")]);
        let home = Home::with([calls, stub::text("done").wait(&gate)]).await;
        let (mut stream, id, _) = home.begin().await;
        stream.act(turn(stub::offering("r", "look"))).await;
        let batch = stream.tools().await;
        stream.say(results(&batch.batch_id, vec![ask::result("b", "second")])).await;
        let accepted = stream.accepted().await.batch.unwrap();
        assert_eq!(accepted.pending_call_ids.len(), 2);
        let home = home.suffer(blow, stream, &id).await;
        let (mut stream, told) = home.attached(&id).await;
        let Told::ToolsNeeded(again) = told else { panic!("{told:?}") };
        assert_eq!((&again.batch_id, again.run_id.as_str(), again.round), (&batch.batch_id, "r", 1));
        let open: Vec<_> =
            again.calls.iter().map(|needed| needed.call.as_ref().unwrap().provider_call_id.as_str()).collect();
        assert_eq!((open, again.results), (vec!["a", "c"], accepted.results));
        stream.say(results("", vec![ask::result("c", "third"), ask::result("a", "first")])).await;
        stream.until(|told| matches!(told, Told::Accepted(_)).then_some(())).await;
        let sent = home.provider.request(2).await.json();
        let sent: Vec<_> =
            sent["messages"].as_array().unwrap()[4..].iter().map(|said| said["content"].clone()).collect();
        assert_eq!(sent, ["first", "second", "third"]);
        let home = home.suffer(blow, stream, &id).await;
        gate.open();
        home.until(&id, State::AwaitingDecision).await;
        let (stream, needed) = home.decides(&id).await;
        assert_eq!(needed.turns_started, 1);
        if blow == Blow::Disconnect {
            assert_eq!(needed.exchange.unwrap().text, "done");
        } else {
            assert_eq!(
                (needed.interrupted_run_id.as_str(), needed.exchange.unwrap().exchange_id),
                ("r", home.first.clone())
            );
            assert_eq!(home.run("r").await.unwrap().state(), pb::RunState::Interrupted);
        }
        home.concluded(stream, 3).await;
    }
}

/// A kill during an initial request leaves nothing to decide on: its coordination failed.
#[tokio::test(flavor = "multi_thread")]
async fn in_an_initial_request() {
    let home = Home::with([stub::text("never").wait(&Gate::closed())]).await;
    let start = pb::CoordinationStart { coordination_id: "c".to_owned(), ..start_with(ask::text_as("r", "begin"), 3) };
    let first = pb::coordinate_request::Frame::Start(start.clone());
    let stream = Loop::on(home.program.fresh_channel(), first.clone()).await;
    home.provider.request(1).await;
    let home = home.killed(stream).await;
    let mut back = Loop::on(home.program.fresh_channel(), first).await;
    assert!(back.started().await.attached);
    let (ended, status) = back.ended().await;
    let Some(pb::coordination_ended::Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(
        (failed.error.unwrap().reason.as_str(), status.unwrap().code()),
        ("RUN_INTERRUPTED", tonic::Code::Aborted)
    );
    assert_eq!((home.run("r").await.unwrap().state(), home.provider.count()), (pb::RunState::Interrupted, 2));
    home.verified();
}

/// At any moment of a loop that goes as fast as it can: what is pending fits what was told, turns are asked for once, each result is there with the
/// history that it had, and the budget is kept.
#[tokio::test(flavor = "multi_thread")]
async fn at_any_moment() {
    const BUDGET: u32 = 1_000;
    let mut dice = Dice::new("kill -9 of a coordination");
    let mut home = Home::with((0..BUDGET).map(|number| stub::text(&format!("answer {number}")))).await;
    let start = pb::CoordinationStart { coordination_id: "c".to_owned(), ..start_on("t", BUDGET) };
    // The last decision that was told, and the texts of the turns that were answered with a result.
    let (mut last, mut interrupted) = (None::<pb::DecisionNeeded>, 0);
    for _ in 0..rounds() {
        let first = pb::coordinate_request::Frame::Start(start.clone());
        let mut stream = Loop::on(home.program.fresh_channel(), first).await;
        let started = stream.started().await;
        let mut needed = stream
            .until(|told| match told {
                Told::DecisionNeeded(needed)
                    if needed.decision_id == started.pending_id || started.pending_id.is_empty() =>
                {
                    Some(needed.clone())
                }
                _ => None,
            })
            .await;
        if let Some(last) = &last {
            assert!(needed.turns_started >= last.turns_started && needed.turns_started <= last.turns_started + 1);
            let (was, is) = (last.exchange.as_ref().unwrap(), needed.exchange.as_ref().unwrap());
            if !needed.interrupted_run_id.is_empty() && needed.decision_id != last.decision_id {
                assert_eq!(was.exchange_id, is.exchange_id);
                interrupted += 1;
            } else if needed.turns_started > last.turns_started {
                assert_eq!(is.parent_exchange_id, was.exchange_id);
            } else {
                assert_eq!(needed.decision_id, last.decision_id);
            }
        }
        let numbers = stream.sequences();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        for _ in 0..dice.roll(4) {
            stream.act(turn_of(&format!("turn {}", needed.turns_started))).await;
            needed = stream.decision().await;
        }
        last = Some(needed.clone());
        stream.act(turn_of(&format!("turn {}", needed.turns_started))).await;
        // The kill comes anywhere from before the claim to after the end of the turn; no event marks the moments between.
        tokio::time::sleep(Duration::from_micros(dice.roll(12_000))).await;
        home = home.killed(stream).await;
    }
    let (stream, needed) = home.decides("c").await;
    drop(stream);
    let mut said: Vec<String> = Vec::new();
    for number in 0..home.provider.count() {
        let sent = home.provider.request(number).await.json();
        said.push(sent["messages"].as_array().unwrap().last().unwrap()["content"].to_string());
    }
    let asked = said.len();
    said.sort();
    said.dedup();
    assert_eq!(said.len(), asked, "a turn was asked for twice");
    assert!(asked <= needed.turns_started as usize + 1, "{asked} requests for {} turns", needed.turns_started);
    println!("{} turns, {interrupted} interrupted", needed.turns_started);
    home.verified();
}
