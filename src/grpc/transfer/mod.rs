//! The streams of Export, Backup and Import: each passes on what `app` tells, as fast as the other end takes it. It must not decide anything.

mod transcripts;

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use self::transcripts::Transcripts;
use super::call::Call;
use super::convert::transfer::{self as convert, Opened};
use super::pb;
use crate::app::App;
use crate::app::transfer::{Exported, Exporting, Import, Told, Total};
use crate::domain::fault::{Fault, Reason};

/// Events of an import that may wait for whoever sends it. A sender that reads none is not read either.
const AHEAD: usize = 16;

/// The stream of an export or backup: its beginning, then what it tells.
pub(super) fn sending<T: Send + 'static>(
    call: Call,
    exporting: Exporting,
    started: impl FnOnce(pb::TransferStarted) -> T,
    told: impl Fn(Exported) -> T + Send + 'static,
) -> BoxStream<'static, Result<T, Status>> {
    let first = started(convert::started_to_pb(&exporting.snapshot_id));
    let rest =
        ReceiverStream::new(exporting.told).map(move |event| event.map(&told).map_err(|fault| call.status(&fault)));
    stream::once(async { Ok(first) }).chain(rest).boxed()
}

/// The stream of an import: what becomes of what the other stream brings.
pub(super) fn receiving(
    app: Arc<App>,
    call: Call,
    requests: Streaming<pb::ImportRequest>,
) -> BoxStream<'static, Result<pb::ImportResponse, Status>> {
    let (out, told) = mpsc::channel(AHEAD);
    // Ends with the stream of requests, or when nobody reads the answers.
    tokio::spawn(async move {
        let of = call.clone();
        let outcome = of.guarded(receive(&app, &call, requests, &out)).await;
        if let Err(fault) = outcome.and_then(|done| done) {
            out.send(Err(call.status(&fault))).await.ok();
        }
    });
    ReceiverStream::new(told).boxed()
}

/// How long the sender of an import may be silent, or not read what became of it: nothing can be erased or collected meanwhile.
const SILENCE: Duration = Duration::from_secs(60);

type Out = mpsc::Sender<Result<pb::ImportResponse, Status>>;

/// What is imported.
enum Sink {
    Native(Box<Import>),
    Chat(Box<Transcripts>),
}

async fn receive(
    app: &Arc<App>,
    call: &Call,
    mut requests: Streaming<pb::ImportRequest>,
    out: &Out,
) -> Result<(), Fault> {
    use pb::import_request::Part;
    let mut sink: Option<Sink> = None;
    loop {
        let read = tokio::select! {
            read = timeout(SILENCE, requests.message()) => read,
            fault = app.shutdown() => {
                if let Some(Sink::Native(import)) = sink {
                    import.abandon().await;
                }
                return Err(fault);
            }
        };
        let Ok(read) = read else {
            let message = format!(
                "nothing came for {} seconds: what was acknowledged is stored; send the rest, or all of it again",
                SILENCE.as_secs()
            );
            if let Some(Sink::Native(import)) = sink {
                import.abandon().await;
            }
            return Err(Fault::new(Reason::Deadline, message));
        };
        let unreadable = read.as_ref().err().and_then(|broken| call.unreadable(broken));
        // When the sender is gone there is nobody to tell, and what was read is kept.
        let Some(request) = read.unwrap_or_default() else {
            let message =
                "the stream ended without `commit`: what was acknowledged is stored; send the rest, or all of it again";
            if let Some(Sink::Native(import)) = sink {
                import.abandon().await;
            }
            return Err(unreadable.unwrap_or_else(|| Fault::field("commit", message)));
        };
        let told = match (request.part, &mut sink) {
            (Some(Part::Open(open)), None) => {
                sink = Some(match call.read(|| convert::open_from_pb(open))? {
                    Opened::Native(importing) => Sink::Native(Box::new(app.import(&call.caller, importing).await?)),
                    Opened::Chat { options, create_threads } => {
                        Sink::Chat(Box::new(Transcripts::new(Arc::clone(app), call.clone(), options, create_threads)))
                    }
                });
                continue;
            }
            (Some(Part::Open(_)), Some(_)) => {
                return Err(Fault::field("open", "comes twice: it is the first part only"));
            }
            (Some(_), None) => return Err(Fault::field("open", "is not set: it is the first part of an import")),
            (Some(Part::Chunk(chunk)), Some(_)) if chunk.lines_json.is_empty() => {
                return Err(Fault::field("chunk.lines_json", "must not be empty"));
            }
            (Some(Part::Chunk(chunk)), Some(Sink::Native(import))) => {
                import.chunk(chunk.first_line, &chunk.lines_json).await?
            }
            (Some(Part::Chunk(chunk)), Some(Sink::Chat(transcripts))) => {
                transcripts.chunk(chunk.first_line, &chunk.lines_json).await?
            }
            (Some(Part::Commit(commit)), Some(_)) => {
                let Some(sink) = sink.take() else { return Err(Fault::new(Reason::Internal, "an import has no end")) };
                let (told, total, threads) = end(sink, &commit.blake3).await?;
                if tell(out, told).await {
                    out.send(Ok(convert::total_to_pb(total, threads))).await.ok();
                }
                return Ok(());
            }
            (None, _) => return Err(Fault::field("part", "is not set: set `open`, `chunk` or `commit`")),
        };
        if !tell(out, told).await {
            if let Some(Sink::Native(import)) = sink {
                import.abandon().await;
            }
            return Ok(());
        }
    }
}

async fn end(sink: Sink, blake3: &str) -> Result<(Vec<Told>, Total, Vec<String>), Fault> {
    match sink {
        Sink::Native(import) => {
            let (told, total) = import.finish(blake3).await?;
            Ok((told, total, Vec::new()))
        }
        Sink::Chat(transcripts) => transcripts.finish(blake3),
    }
}

/// Passes on what became of lines; false when nobody listens, or reads.
async fn tell(out: &Out, told: Vec<Told>) -> bool {
    for event in told {
        if !matches!(timeout(SILENCE, out.send(Ok(convert::told_to_pb(event)))).await, Ok(Ok(()))) {
            return false;
        }
    }
    true
}
