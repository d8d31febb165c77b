//! The stream of a coordination: its first message opens it, then frames go both ways until it is let go of or over. It must not decide
//! anything.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Status, Streaming};

use super::call::Call;
use super::convert::coordination::{self, Frame, told};
use super::pb;
use super::status::ended;
use crate::app::App;
use crate::app::coordination::ask::{Answer, Said};
use crate::app::coordination::told::{Told, What};
use crate::app::coordination::{Stream, Voice};
use crate::domain::fault::{Fault, Reason};

/// How long a stream may be silent before it says what it is for.
const FIRST_FRAME: Duration = Duration::from_secs(60);

/// Answers that wait; a client that sends more is not read until there is room.
const QUEUE: usize = 16;

/// Where a stream is.
enum At {
    /// Its first message is awaited.
    First(Box<Streaming<pb::CoordinateRequest>>),
    /// It is attached, and the client is listened to.
    Open(Box<Stream>, Listening),
    /// Its last frame was told; the trailers are this status, unless all is well.
    Last(Option<Status>),
}

/// The task that reads what the client says, until it has ended.
struct Listening(Option<AbortOnDropHandle<Option<Fault>>>);

impl Listening {
    /// Waits until something comes that cannot be read, and says why.
    async fn unreadable(&mut self) -> Fault {
        if let Some(task) = &mut self.0 {
            let ended = task.await;
            self.0 = None;
            if let Ok(Some(fault)) = ended {
                return fault;
            }
        }
        std::future::pending().await
    }
}

/// What the client is told. Dropping it is letting go.
pub(super) fn stream(
    app: Arc<App>,
    call: Call,
    inbound: Streaming<pb::CoordinateRequest>,
) -> BoxStream<'static, Result<pb::CoordinateResponse, Status>> {
    let state = (At::First(Box::new(inbound)), app, call);
    Box::pin(futures::stream::unfold(state, |(at, app, call)| async move {
        let (mut stream, mut listening) = match at {
            // Boxed, as all that is over before a stream is idle: it would be there as long as the stream.
            At::First(inbound) => match Box::pin(open(&app, &call, *inbound)).await {
                Ok((stream, listening)) => (Box::new(stream), listening),
                Err(fault) => return Some((Err(call.status(&fault)), (At::Last(None), app, call))),
            },
            At::Open(stream, listening) => (stream, listening),
            At::Last(status) => return status.map(|status| (Err(status), (At::Last(None), app, call))),
        };
        let next = tokio::select! {
            biased;
            next = call.guarded(Box::pin(stream.next())) => next,
            // Whoever cannot be understood is not left to wait for an answer.
            unreadable = listening.unreadable() => Err(unreadable),
        };
        match next {
            Ok(Some(Ok(told))) => {
                let last = last(&told, &call);
                let next = match last {
                    Some(status) => At::Last(status),
                    None => At::Open(stream, listening),
                };
                Some((Ok(told::to_pb(told)), (next, app, call)))
            }
            Ok(Some(Err(fault))) | Err(fault) => Some((Err(call.status(&fault)), (At::Last(None), app, call))),
            Ok(None) => None,
        }
    }))
}

/// Whether a frame is the last one, and the status that the trailers have after it.
fn last(told: &Told, call: &Call) -> Option<Option<Status>> {
    match &told.what {
        What::Ended(end) => Some(ended(&end.outcome, call.request_id.as_ref())),
        What::Detached { .. } => Some(None),
        _ => None,
    }
}

async fn open(
    app: &Arc<App>,
    call: &Call,
    mut inbound: Streaming<pb::CoordinateRequest>,
) -> Result<(Stream, Listening), Fault> {
    let said = tokio::select! {
        said = timeout(FIRST_FRAME, inbound.message()) => said,
        fault = app.shutdown() => return Err(fault),
    };
    let first = match said {
        Ok(Ok(Some(first))) => first,
        Ok(Ok(None)) => return Err(Fault::field("frame", "is missing: the first message is `start` or `attach`")),
        Ok(Err(broken)) => {
            let gone = || Fault::new(Reason::RunCancelled, "the stream broke before its first message");
            return Err(call.unreadable(&broken).unwrap_or_else(gone));
        }
        Err(_) => {
            let message =
                format!("no first message within {} seconds: send `start` or `attach`", FIRST_FRAME.as_secs());
            return Err(Fault::new(Reason::Deadline, message));
        }
    };
    let (stream, voice) = match call.read(|| coordination::frame_from_pb(first))? {
        Frame::Start(start) => app.start_coordination(&call.caller, *start).await?,
        Frame::Attach(attach) => app.attach_coordination(&call.caller, attach).await?,
        Frame::Said(_) => {
            let message = "the first message of a stream is `start` or `attach`: send one of them";
            return Err(Fault::new(Reason::OutOfOrder, message).with("state", "NOT_STARTED"));
        }
    };
    let listening = listen(voice, inbound, call.clone());
    Ok((stream, Listening(Some(AbortOnDropHandle::new(tokio::spawn(listening))))))
}

/// What waits for what was said before it.
enum Queued {
    Answer(Box<Answer>),
    Refusal(Box<(String, Fault)>),
}

/// Takes what the client says until it ends its side, is gone, or says what cannot be read, which is given back. Aborted when the stream is
/// dropped, which is what lets go.
///
/// Answers wait for one another, and may wait long: for room at a backend, for a turn that is at work. A cancel and a suspend do not wait
/// behind them.
async fn listen(voice: Voice, inbound: Streaming<pb::CoordinateRequest>, call: Call) -> Option<Fault> {
    let (queue, mut queued) = mpsc::channel(QUEUE);
    let answering = async {
        while let Some(next) = queued.recv().await {
            let goes_on = match next {
                Queued::Answer(answer) => voice.say(Said::Answer(answer)).await,
                Queued::Refusal(refusal) => voice.refuse(refusal.0, refusal.1).await,
            };
            if !goes_on {
                return Err(());
            }
        }
        Ok(())
    };
    let reading = read(&voice, inbound, queue, &call);
    match tokio::try_join!(answering, reading) {
        Ok(((), Some(unreadable))) => Some(unreadable),
        Ok(((), None)) => {
            voice.half_close();
            None
        }
        Err(()) => None,
    }
}

/// Reads what the client says until it ended its side, or said what cannot be read.
async fn read(
    voice: &Voice,
    mut inbound: Streaming<pb::CoordinateRequest>,
    queue: mpsc::Sender<Queued>,
    call: &Call,
) -> Result<Option<Fault>, ()> {
    loop {
        let request = match inbound.message().await {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(None),
            // A broken transport is noticed by the other direction as well.
            Err(broken) => return call.unreadable(&broken).map(Some).ok_or(()),
        };
        let id = coordination::named(&request);
        let next = match call.read(|| coordination::frame_from_pb(request)) {
            Ok(Frame::Said(Said::Answer(answer))) => Queued::Answer(answer),
            Ok(Frame::Said(said)) => {
                if !voice.say(said).await {
                    return Err(());
                }
                continue;
            }
            Ok(Frame::Start(_) | Frame::Attach(_)) => {
                let message = "`start` and `attach` are the first message of a stream: open another one";
                Queued::Refusal(Box::new((id, Fault::new(Reason::OutOfOrder, message).with("state", "STARTED"))))
            }
            Err(fault) => Queued::Refusal(Box::new((id, fault))),
        };
        queue.send(next).await.map_err(|_| ())?;
        // What was said first is begun first, unless something before it is still at work.
        tokio::task::yield_now().await;
    }
}
