//! The stream of a coordination: its first message opens it, then frames go both ways until it is let go of or over. It must not decide
//! anything.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Status, Streaming};

use super::call::Call;
use super::convert::coordination::{self, Frame, told};
use super::pb;
use super::status::ended;
use crate::app::App;
use crate::app::coordination::told::{Told, What};
use crate::app::coordination::{Stream, Voice};
use crate::domain::fault::{Fault, Reason};

/// How long a stream may be silent before it says what it is for.
const FIRST_FRAME: Duration = Duration::from_secs(60);

/// Where a stream is.
enum At {
    /// Its first message is awaited.
    First(Box<Streaming<pb::CoordinateRequest>>),
    /// It is attached; the task reads what the client says.
    Open(Box<Stream>, AbortOnDropHandle<()>),
    /// Its last frame was told; the trailers are this status, unless all is well.
    Last(Option<Status>),
}

/// What the client is told. Dropping it is letting go.
pub(super) fn stream(
    app: Arc<App>,
    call: Call,
    inbound: Streaming<pb::CoordinateRequest>,
) -> BoxStream<'static, Result<pb::CoordinateResponse, Status>> {
    let state = (At::First(Box::new(inbound)), app, call);
    Box::pin(futures::stream::unfold(state, |(at, app, call)| async move {
        let (mut stream, task) = match at {
            At::First(inbound) => match open(&app, &call, *inbound).await {
                Ok((stream, task)) => (Box::new(stream), task),
                Err(fault) => return Some((Err(call.status(&fault)), (At::Last(None), app, call))),
            },
            At::Open(stream, task) => (stream, task),
            At::Last(status) => return status.map(|status| (Err(status), (At::Last(None), app, call))),
        };
        match call.guarded(stream.next()).await {
            Ok(Some(Ok(told))) => {
                let last = last(&told, &call);
                let next = match last {
                    Some(status) => At::Last(status),
                    None => At::Open(stream, task),
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
) -> Result<(Stream, AbortOnDropHandle<()>), Fault> {
    let first = match timeout(FIRST_FRAME, inbound.message()).await {
        Ok(Ok(Some(first))) => first,
        Ok(Ok(None)) => return Err(Fault::field("frame", "is missing: the first message is `start` or `attach`")),
        Ok(Err(_)) => return Err(Fault::new(Reason::RunCancelled, "the stream broke before its first message")),
        Err(_) => {
            let message =
                format!("no first message within {} seconds: send `start` or `attach`", FIRST_FRAME.as_secs());
            return Err(Fault::new(Reason::Deadline, message));
        }
    };
    let (stream, voice) = match coordination::frame_from_pb(first)? {
        Frame::Start(start) => app.start_coordination(&call.caller, *start).await?,
        Frame::Attach(attach) => app.attach_coordination(&call.caller, attach).await?,
        Frame::Said(_) => {
            let message = "the first message of a stream is `start` or `attach`: send one of them";
            return Err(Fault::new(Reason::OutOfOrder, message).with("state", "NOT_STARTED"));
        }
    };
    let listening = listen(voice, inbound);
    Ok((stream, AbortOnDropHandle::new(tokio::spawn(listening))))
}

/// Takes what the client says until it ends its side or is gone. Aborted when the stream is dropped, which is what lets go.
async fn listen(voice: Voice, mut inbound: Streaming<pb::CoordinateRequest>) {
    loop {
        let request = match inbound.message().await {
            Ok(Some(request)) => request,
            Ok(None) => return voice.half_close(),
            // The transport is broken; the other direction notices as well.
            Err(_) => return,
        };
        let id = coordination::named(&request);
        let goes_on = match coordination::frame_from_pb(request) {
            Ok(Frame::Said(said)) => voice.say(said).await,
            Ok(Frame::Start(_) | Frame::Attach(_)) => {
                let message = "`start` and `attach` are the first message of a stream: open another one";
                voice.refuse(id, Fault::new(Reason::OutOfOrder, message).with("state", "STARTED")).await
            }
            Err(fault) => voice.refuse(id, fault).await,
        };
        if !goes_on {
            return;
        }
    }
}
