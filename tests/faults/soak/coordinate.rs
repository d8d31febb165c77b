//! Clients that coordinate: they decide turn after turn, cut their stream midway and attach again, suspend and answer by another way, and leave
//! some waiting for good. They must not know how the server fares.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon::grpc::pb;
use pb::CoordinationState as State;
use pb::coordinate_request::Frame as Say;
use pb::coordinate_response::Frame as Told;
use pb::coordination_service_client::CoordinationServiceClient;
use pb::exchange_service_client::ExchangeServiceClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::settle::{Means, means, pause, reason, settled};
use super::stub::{answer, found, question, tool_question, with_results};
use super::world::World;
use crate::harness::Dice;
use crate::support::coordinate::{self, attach, stop};
use crate::support::{ask, within};

/// In this time a coordination is over, whatever happens on the way.
const PATIENCE: Duration = Duration::from_secs(180);
/// In this time a stream tells something, beside that it is there.
const SILENCE: Duration = Duration::from_secs(40);

/// What a frame asks of the client.
enum Then {
    Wait,
    Say(Say),
    /// Say it, and leave when it is accepted.
    SayAndLeave(Say),
    /// Attach again.
    Leave,
    /// Answer by another way, then attach again.
    Answer(pb::AnswerRequest),
    /// It is over, or left for good.
    Over,
}

/// One coordination.
struct Work {
    world: Arc<World>,
    dice: Dice,
    id: String,
    /// Turns that were asked for.
    turns: u32,
    /// What each decision was answered with: the same answer, however often it is asked for.
    decided: HashMap<String, pb::next_action::Action>,
    /// What was said in each run; nothing where it was for a tool.
    said: HashMap<String, Option<String>>,
    is_started: bool,
    /// It left a stream, or a stream left it, before the end.
    has_left: bool,
    leaves_for_good: bool,
    leaves_next: bool,
}

impl Work {
    fn request(&mut self, mark: &str) -> pb::ExecutionRequest {
        if self.dice.once_in(4) {
            self.said.insert(mark.to_owned(), None);
            return pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as(mark, &tool_question(mark)) };
        }
        let text = question(mark, &mut self.dice);
        self.said.insert(mark.to_owned(), Some(text.clone()));
        ask::text_as(mark, &text)
    }

    fn start(&mut self) -> Say {
        let (id, mark) = (self.id.clone(), format!("{}-0", self.id));
        let new = pb::NewThread { thread_id: id.clone(), ..Default::default() };
        let initial = pb::InitialRequest {
            request: Some(self.request(&mark)),
            thread: Some(pb::initial_request::Thread::NewThread(new)),
        };
        Say::Start(pb::CoordinationStart {
            from: Some(pb::coordination_start::From::InitialRequest(initial)),
            coordination_id: id,
            deltas: self.dice.once_in(2),
            ..coordinate::start("", 3)
        })
    }

    /// A result was delivered.
    fn note(&self, exchange: &pb::Exchange) {
        let run = &exchange.run_id;
        match self.said.get(run).unwrap_or_else(|| panic!("run {run} is nobody's")) {
            Some(text) => self.world.note(run, &self.id, &answer(text), exchange),
            None if exchange.pending_tool_calls.is_empty() => {
                self.world.note(&with_results(run), &self.id, &found(run), exchange);
            }
            None => return self.world.note(run, &self.id, "", exchange),
        }
        self.world.head(&self.id, exchange);
    }

    /// What a decision is answered with.
    fn decide(&mut self, needed: &pb::DecisionNeeded) -> pb::next_action::Action {
        if let Some(decided) = self.decided.get(&needed.decision_id) {
            return decided.clone();
        }
        let ends = self.world.is_over() || needed.turns_remaining == 0 || self.dice.once_in(6);
        let action = if ends {
            stop()
        } else {
            self.turns += 1;
            let mark = format!("{}-{}", self.id, self.turns);
            coordinate::turn(self.request(&mark))
        };
        self.decided.insert(needed.decision_id.clone(), action.clone());
        action
    }

    fn hear(&mut self, frame: Told) -> Then {
        match frame {
            Told::Started(_) => {
                self.is_started = true;
                Then::Wait
            }
            Told::DecisionNeeded(needed) => {
                if let Some(exchange) = &needed.exchange {
                    self.note(exchange);
                }
                if self.leaves_for_good {
                    self.world.book().coordinations.insert(self.id.clone(), State::AwaitingDecision);
                    return Then::Over;
                }
                let action = self.decide(&needed);
                match self.dice.roll(6) {
                    0 => Then::SayAndLeave(coordinate::action(&needed.decision_id, action)),
                    1 => Then::Answer(coordinate::answer(&self.id, &needed.decision_id, action)),
                    2 => Then::Leave,
                    _ => Then::Say(coordinate::action(&needed.decision_id, action)),
                }
            }
            Told::ToolsNeeded(needed) => {
                self.note(needed.exchange.as_ref().unwrap());
                let call = |needed: &pb::NeededToolCall| ask::result(&needed.call.as_ref().unwrap().call_id, "seen");
                let results = needed.calls.iter().map(call).collect();
                Then::Say(coordinate::results(&needed.batch_id, results))
            }
            Told::Detached(_) => Then::Leave,
            Told::Rejected(rejected) => {
                let error = rejected.error.unwrap();
                let known = ["SHUTTING_DOWN", "BACKEND_QUEUE_FULL", "ANSWER_STALE", "THREAD_BUSY", "OUT_OF_ORDER"];
                assert!(known.contains(&error.reason.as_str()), "{}: {error:?}", self.id);
                Then::Leave
            }
            Told::Ended(ended) => {
                use pb::coordination_ended::Outcome;
                let state = match ended.outcome.unwrap() {
                    Outcome::Stopped(_) => State::Stopped,
                    Outcome::Failed(pb::CoordinationFailed { error: Some(error), .. }) => {
                        let is_known = error.reason.starts_with("PROVIDER_") || error.reason == "RUN_INTERRUPTED";
                        assert!(is_known, "{}: {error:?}", self.id);
                        State::Failed
                    }
                    other => panic!("{} was not asked to end so: {other:?}", self.id),
                };
                self.world.book().coordinations.insert(self.id.clone(), state);
                self.world.tell();
                Then::Over
            }
            Told::Accepted(_) if self.leaves_next => {
                self.leaves_next = false;
                Then::Leave
            }
            Told::Draining(_)
            | Told::Accepted(_)
            | Told::RunStarted(_)
            | Told::Attempt(_)
            | Told::Warning(_)
            | Told::Delta(_)
            | Told::Heartbeat(_) => Then::Wait,
            Told::GenerationNeeded(needed) => panic!("{needed:?}"),
        }
    }

    /// One stream, to its end or until the client leaves; whether the coordination is over.
    async fn stream(&mut self, first: Say) -> Result<bool, Status> {
        let server = self.world.server().await;
        let (say, said) = mpsc::channel(8);
        let send = async |frame| say.send(pb::CoordinateRequest { frame: Some(frame) }).await.is_ok();
        let mut client = ExchangeServiceClient::new(server).max_decoding_message_size(usize::MAX);
        send(first).await;
        let opened = within("a stream of a coordination", client.coordinate(ReceiverStream::new(said))).await;
        let mut frames: Streaming<pb::CoordinateResponse> = opened?.into_inner();
        let (mut heard, mut history) = (Instant::now(), Vec::new());
        // A heartbeat comes within this time.
        while let Some(frame) = within("a frame", frames.message()).await? {
            let told = frame.frame.unwrap();
            if !matches!(told, Told::Heartbeat(_)) {
                heard = Instant::now();
                history.push((frame.sequence, kind(&told)));
            }
            assert!(heard.elapsed() < SILENCE, "the stream of {} says no more after {history:?}", self.id);
            match self.hear(told) {
                Then::Wait => {}
                Then::Say(frame) => {
                    if !send(frame).await {
                        return Ok(false);
                    }
                }
                Then::SayAndLeave(frame) => {
                    self.leaves_next = true;
                    if !send(frame).await {
                        return Ok(false);
                    }
                }
                Then::Leave => return Ok(false),
                Then::Over => return Ok(true),
                Then::Answer(request) => {
                    send(Say::Suspend(pb::CoordinationSuspend {})).await;
                    drop(frames);
                    self.answer(request).await;
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    async fn answer(&mut self, request: pb::AnswerRequest) {
        let answered = settled(&self.world, &mut self.dice, "an answer", |server, _| {
            let request = request.clone();
            async move { CoordinationServiceClient::new(server).answer(request).await }
        });
        if let Err(status) = answered.await {
            // Stale where a stop of the server interrupted the turn that it had started: there is another decision then.
            let is_known = reason(&status) == "ANSWER_STALE" || means(&status) == Means::Retry;
            assert!(is_known, "{}: {status:?}", self.id);
        }
    }

    /// Until it is over.
    async fn through(mut self) {
        let (begun, start) = (Instant::now(), self.start());
        let mut last = None;
        loop {
            assert!(begun.elapsed() < PATIENCE, "{} is not over after {PATIENCE:?}: {last:?}", self.id);
            let first = if self.is_started { attach(&self.id) } else { start.clone() };
            match self.stream(first).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(status) => {
                    assert_eq!(means(&status), Means::Again, "{}: {status:?}", self.id);
                    last = Some(status);
                }
            }
            self.has_left = true;
            pause(&mut self.dice).await;
        }
    }
}

/// What a frame is, for those who look for what went wrong.
fn kind(told: &Told) -> String {
    match told {
        Told::Delta(_) => "delta".to_owned(),
        Told::Accepted(accepted) => format!("{accepted:?}"),
        Told::Rejected(rejected) => format!("{:?}", rejected.error),
        Told::Started(started) => format!("started {:?} at {}", started.state(), started.last_sequence),
        Told::DecisionNeeded(needed) => format!("decision {}", needed.decision_id),
        Told::ToolsNeeded(needed) => format!("tools {}", needed.batch_id),
        other => format!("{other:?}"),
    }
}

/// One after another.
pub(super) async fn coordinate(world: Arc<World>, mut dice: Dice, name: String) {
    for number in 0.. {
        if world.is_over() {
            return;
        }
        let work = Work {
            world: Arc::clone(&world),
            leaves_for_good: dice.once_in(10),
            dice: dice.another(),
            id: format!("{name}-{number}"),
            turns: 0,
            decided: HashMap::new(),
            said: HashMap::new(),
            is_started: false,
            has_left: false,
            leaves_next: false,
        };
        work.through().await;
    }
}
