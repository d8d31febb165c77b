//! A client of the coordination stream, in few words. It must not know what a test wants to see.

use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordinate_response::Frame as Told;
use pb::coordination_start::From;
use pb::next_action::Action;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

use super::server::Running;
use super::{ask, within};

/// One stream.
pub(crate) struct Loop {
    say: Option<mpsc::Sender<pb::CoordinateRequest>>,
    frames: Streaming<pb::CoordinateResponse>,
    /// Every frame so far.
    pub(crate) seen: Vec<pb::CoordinateResponse>,
}

/// A start at an exchange with so many turns.
pub(crate) fn start(exchange_id: &str, additional_turns: u32) -> pb::CoordinationStart {
    pb::CoordinationStart {
        from: Some(From::Exchange(ask::point(exchange_id))),
        additional_turns,
        ..pb::CoordinationStart::default()
    }
}

/// A start on a thread.
pub(crate) fn start_on(thread_id: &str, additional_turns: u32) -> pb::CoordinationStart {
    pb::CoordinationStart { from: Some(From::Thread(ask::on(thread_id))), ..start("", additional_turns) }
}

/// A start with a request that is executed first.
pub(crate) fn start_with(request: pb::ExecutionRequest, additional_turns: u32) -> pb::CoordinationStart {
    let initial = pb::InitialRequest { request: Some(request), thread: None };
    pb::CoordinationStart { from: Some(From::InitialRequest(initial)), ..start("", additional_turns) }
}

/// The action of another turn.
pub(crate) fn turn(request: pb::ExecutionRequest) -> Action {
    let input = Some(pb::next_turn::Input::Request(request));
    Action::Turn(pb::NextTurn { input, ..pb::NextTurn::default() })
}

/// The action of another turn with a text.
pub(crate) fn turn_of(text: &str) -> Action {
    turn(ask::text(text))
}

/// A caller's failure.
pub(crate) fn fail(code: i32, reason: &str, message: &str) -> Action {
    Action::Fail(pb::FailAction {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..pb::FailAction::default()
    })
}

/// An answer to a decision; to the pending one when the id is empty.
pub(crate) fn action(decision_id: &str, action: Action) -> Say {
    Say::NextAction(pb::NextAction { decision_id: decision_id.to_owned(), action: Some(action) })
}

/// Results for a batch; for the pending one when the id is empty.
pub(crate) fn results(batch_id: &str, results: Vec<pb::ToolResult>) -> Say {
    Say::ToolResults(pb::BatchResults { batch_id: batch_id.to_owned(), results, run_id: String::new() })
}

/// The action that ends it well.
pub(crate) fn stop() -> Action {
    Action::Stop(pb::StopAction {})
}

/// An attach that has seen nothing yet.
pub(crate) fn attach(coordination_id: &str) -> Say {
    attach_after(coordination_id, 0)
}

/// An attach that has seen the frames up to a number.
pub(crate) fn attach_after(coordination_id: &str, after_sequence: u64) -> Say {
    let coordination_id = coordination_id.to_owned();
    Say::Attach(pb::CoordinationAttach { coordination_id, after_sequence, ..Default::default() })
}

/// A cancel by frame.
pub(crate) fn cancel() -> Say {
    Say::Cancel(pb::CoordinationCancel::default())
}

/// An answer by another way than a stream.
pub(crate) fn answer(coordination_id: &str, decision_id: &str, action: Action) -> pb::AnswerRequest {
    let next = pb::NextAction { decision_id: decision_id.to_owned(), action: Some(action) };
    let answer = Some(pb::answer_request::Answer::NextAction(next));
    pb::AnswerRequest { coordination_id: coordination_id.to_owned(), answer }
}

/// Results by another way than a stream.
pub(crate) fn answer_tools(coordination_id: &str, batch_id: &str, results: Vec<pb::ToolResult>) -> pb::AnswerRequest {
    let batch = pb::BatchResults { batch_id: batch_id.to_owned(), results, run_id: String::new() };
    let answer = Some(pb::answer_request::Answer::ToolResults(batch));
    pb::AnswerRequest { coordination_id: coordination_id.to_owned(), answer }
}

impl Loop {
    /// Opens a stream and says its first frame.
    pub(crate) async fn open(server: &Running, first: Say) -> Self {
        Self::on(server.fresh_channel(), first).await
    }

    /// The same, on a connection.
    pub(crate) async fn on(channel: Channel, first: Say) -> Self {
        Self::on_with(channel, &[], first).await
    }

    /// The same, with headers of the caller.
    pub(crate) async fn on_with(channel: Channel, headers: &[(&'static str, &str)], first: Say) -> Self {
        let (say, said) = mpsc::channel(64);
        let mut client = pb::exchange_service_client::ExchangeServiceClient::new(channel);
        let mut request = Request::new(ReceiverStream::new(said));
        for (name, value) in headers {
            request.metadata_mut().insert(*name, value.parse().unwrap());
        }
        let opened = within("the headers of the stream", client.coordinate(request)).await;
        let this = Self { say: Some(say), frames: opened.unwrap().into_inner(), seen: Vec::new() };
        this.say(first).await;
        this
    }

    /// Begins a coordination.
    pub(crate) async fn start(server: &Running, start: pb::CoordinationStart) -> Self {
        Self::open(server, Say::Start(start)).await
    }

    /// Says a frame.
    pub(crate) async fn say(&self, frame: Say) {
        self.send(pb::CoordinateRequest { frame: Some(frame) }).await;
    }

    /// Sends a message as it is.
    pub(crate) async fn send(&self, message: pb::CoordinateRequest) {
        within("room for a frame", self.say.as_ref().unwrap().send(message)).await.unwrap();
    }

    /// Answers the pending decision.
    pub(crate) async fn act(&self, what: Action) {
        self.say(action("", what)).await;
    }

    /// Says that there is no more to say.
    pub(crate) fn half_close(&mut self) {
        self.say = None;
    }

    /// The next frame, whatever it is; the error that ends the stream; or nothing when it ended well.
    pub(crate) async fn next(&mut self) -> Result<Option<pb::CoordinateResponse>, Status> {
        let frame = within("the next frame", self.frames.message()).await?;
        self.seen.extend(frame.clone());
        Ok(frame)
    }

    /// The next frame, which must be one.
    pub(crate) async fn frame(&mut self) -> Told {
        self.next().await.unwrap().expect("the stream goes on").frame.unwrap()
    }

    /// The next frame that is more than news of a turn on its way.
    pub(crate) async fn news(&mut self) -> Told {
        loop {
            match self.frame().await {
                Told::Started(_)
                | Told::Accepted(_)
                | Told::RunStarted(_)
                | Told::Attempt(_)
                | Told::Warning(_)
                | Told::Delta(_)
                | Told::Heartbeat(_) => {}
                frame => return frame,
            }
        }
    }

    pub(crate) async fn started(&mut self) -> pb::CoordinationStarted {
        match self.frame().await {
            Told::Started(started) => started,
            other => panic!("not started: {other:?}"),
        }
    }

    pub(crate) async fn decision(&mut self) -> pb::DecisionNeeded {
        match self.news().await {
            Told::DecisionNeeded(needed) => needed,
            other => panic!("no decision: {other:?}"),
        }
    }

    pub(crate) async fn tools(&mut self) -> pb::ToolsNeeded {
        match self.news().await {
            Told::ToolsNeeded(needed) => needed,
            other => panic!("no tools: {other:?}"),
        }
    }

    pub(crate) async fn rejected(&mut self) -> pb::AnswerRejected {
        match self.news().await {
            Told::Rejected(rejected) => rejected,
            other => panic!("not rejected: {other:?}"),
        }
    }

    pub(crate) async fn accepted(&mut self) -> pb::AnswerAccepted {
        loop {
            match self.frame().await {
                Told::Accepted(accepted) => return accepted,
                Told::Started(_) | Told::DecisionNeeded(_) | Told::ToolsNeeded(_) | Told::Heartbeat(_) => {}
                other => panic!("not accepted: {other:?}"),
            }
        }
    }

    /// How it ended, with the status of the trailers: none when all is well.
    pub(crate) async fn ended(&mut self) -> (pb::CoordinationEnded, Option<Status>) {
        let ended = match self.news().await {
            Told::Ended(ended) => ended,
            other => panic!("not ended: {other:?}"),
        };
        match self.next().await {
            Ok(None) => (ended, None),
            Ok(Some(more)) => panic!("more after the end: {more:?}"),
            Err(status) => (ended, Some(status)),
        }
    }

    /// Why it was detached; the stream ends well after it.
    pub(crate) async fn detached(&mut self) -> pb::CoordinationDetached {
        let detached = loop {
            match self.frame().await {
                Told::Detached(detached) => break detached,
                Told::Ended(ended) => panic!("ended: {ended:?}"),
                _ => {}
            }
        };
        assert!(self.next().await.unwrap().is_none(), "nothing comes after `detached`");
        detached
    }

    /// The text of the pieces so far.
    pub(crate) fn pieces(&self) -> String {
        let text = |frame: &pb::CoordinateResponse| match &frame.frame {
            Some(Told::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(piece)) })) => Some(piece.text.clone()),
            _ => None,
        };
        self.seen.iter().filter_map(text).collect()
    }

    /// Why the stream ends before anything was told.
    pub(crate) async fn refused(&mut self) -> Status {
        self.next().await.unwrap_err()
    }

    /// The next frame of one kind, with whatever comes before it passed over.
    pub(crate) async fn until<T>(&mut self, what: impl Fn(&Told) -> Option<T>) -> T {
        loop {
            if let Some(found) = what(&self.frame().await) {
                return found;
            }
        }
    }

    /// The numbers of the journalled frames so far.
    pub(crate) fn sequences(&self) -> Vec<u64> {
        self.seen.iter().map(|frame| frame.sequence).filter(|sequence| *sequence > 0).collect()
    }
}
