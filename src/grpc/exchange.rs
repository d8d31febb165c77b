//! ExchangeService: each RPC reads its request, asks `app` and writes its answer. It must not decide anything.

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument;

use super::call::Call;
use super::convert::inspect::{self, History};
use super::convert::{capture, continuation, fork, prepare, record};
use super::page::Query;
use super::pb::exchange_service_server::ExchangeService;
use super::status::{guarded, panicked, response};
use super::{ask, coordinate, fingerprint, outcome, pb, watch};
use crate::app::App;
use crate::app::flight::Watcher;
use crate::app::turn::Detailed;
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Hash;

/// Puts a page together, and says with which depth the next one begins where not everything had room.
type Make<P> = fn(Option<Detailed>, &[Arc<Exchange>]) -> (P, Option<u64>);

/// ExchangeService.
pub(super) struct Exchanges {
    app: Arc<App>,
}

impl Exchanges {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn start(&self, call: &Call, execution: ask::Execution) -> Result<Watcher, Fault> {
        match execution {
            ask::Execution::Turn(turn) => self.app.start_turn(call.caller.clone(), *turn).await,
            ask::Execution::Prepared(prepared) => self.app.start_prepared(call.caller.clone(), prepared).await,
        }
    }

    async fn execute<R>(
        &self,
        call: &Call,
        execution: Result<ask::Execution, Fault>,
        write: impl FnOnce(&crate::app::turn::Outcome) -> R,
    ) -> Result<Response<R>, Status> {
        let execution = execution.map_err(|fault| call.status(&fault))?;
        let started = call.until_deadline(self.start(call, execution)).await;
        let mut watcher = started.map_err(|fault| call.status(&fault))?;
        match call.until_deadline(watcher.outcome()).await {
            Ok(outcome) => Ok(response(write(&outcome), call.request_id.as_ref(), Some(watcher.run_id()))),
            Err(fault) => Err(call.status(&watch::of_run(fault, watcher.run_id()))),
        }
    }

    async fn stream_execute<R: Send + 'static>(
        &self,
        call: Call,
        execution: Result<ask::Execution, Fault>,
        progress: fn(pb::Progress) -> R,
        completed: fn(&crate::app::turn::Outcome) -> R,
    ) -> Result<Response<BoxStream<'static, Result<R, Status>>>, Status> {
        let execution = execution.map_err(|fault| call.status(&fault))?;
        let started = call.until_deadline(self.start(&call, execution)).await;
        let watcher = started.map_err(|fault| call.status(&fault))?;
        let (request_id, run_id) = (call.request_id.clone(), watcher.run_id().clone());
        let stream = watch::stream(watcher, call, progress, move |_, outcome| completed(outcome));
        Ok(response(stream, request_id.as_ref(), Some(&run_id)))
    }

    /// A page, put together as `make` does, and the token of the next.
    async fn inspect_page<P>(
        &self,
        call: &Call,
        request: inspect::Inspect,
        make: Make<P>,
    ) -> Result<(P, String), Fault> {
        let id = request.exchange;
        let query = Query::new("ExchangeService.Inspect", &call.caller.namespace).with(&id.to_string());
        let position = query.position(&request.page_token)?;
        let detailed = match &position {
            None => Some(self.app.inspect(&call.caller, id).await?),
            Some(_) => None,
        };
        if request.history == History::None {
            if position.is_some() {
                return Err(Fault::new(
                    Reason::PageTokenInvalid,
                    "the page token is of a history that is not asked for here: begin again without one",
                ));
            }
            return Ok((make(detailed, &[]).0, String::new()));
        }
        let depth = match position {
            None => 1,
            Some(bytes) => depth(&bytes)?,
        };
        let page = self.app.history_page(&call.caller, id, depth, request.page_size).await?;
        let (made, left_out) = make(detailed, &page.exchanges);
        let next = left_out.or(page.next_depth);
        Ok((made, next.map_or_else(String::new, |next| query.token(&next.to_be_bytes()))))
    }
}

fn depth(bytes: &[u8]) -> Result<u64, Fault> {
    match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
        Err(_) => Err(Fault::new(Reason::PageTokenInvalid, "the page token is damaged: begin again without one")),
    }
}

#[tonic::async_trait]
impl ExchangeService for Exchanges {
    type StreamCaptureStream = BoxStream<'static, Result<pb::StreamCaptureResponse, Status>>;
    type StreamContinueStream = BoxStream<'static, Result<pb::StreamContinueResponse, Status>>;
    type StreamProbeStream = BoxStream<'static, Result<pb::StreamProbeResponse, Status>>;
    type StreamInspectStream = BoxStream<'static, Result<pb::StreamInspectResponse, Status>>;
    type CoordinateStream = BoxStream<'static, Result<pb::CoordinateResponse, Status>>;

    async fn run(&self, request: Request<pb::RunRequest>) -> Result<Response<pb::RunResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        let fingerprint = fingerprint::run(&request);
        let run = capture::run_from_pb(request).map_err(|fault| call.status(&fault))?;
        let include = run.include_rendered_messages;
        self.execute(&call, Ok(ask::run(run, fingerprint)), |outcome| outcome::of_run(outcome, include)).await
    }

    async fn capture(&self, request: Request<pb::CaptureRequest>) -> Result<Response<pb::CaptureResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        let fingerprint = fingerprint::capture(&request);
        let turn = capture::capture_from_pb(request).map(|capture| ask::capture(capture, fingerprint, false));
        self.execute(&call, turn, outcome::of_capture).await
    }

    async fn stream_capture(
        &self,
        request: Request<pb::StreamCaptureRequest>,
    ) -> Result<Response<Self::StreamCaptureStream>, Status> {
        use pb::stream_capture_response::Event;
        let call = Call::of(&request)?;
        let request = request.into_inner();
        let fingerprint = request.capture.as_ref().map_or(NOTHING, fingerprint::capture);
        let turn = capture::stream_capture_from_pb(request).map(|capture| ask::capture(capture, fingerprint, true));
        self.stream_execute(
            call,
            turn,
            |progress| pb::StreamCaptureResponse { event: Some(Event::Progress(progress)) },
            |outcome| pb::StreamCaptureResponse { event: Some(Event::Completed(outcome::of_capture(outcome))) },
        )
        .await
    }

    async fn record(&self, request: Request<pb::RecordRequest>) -> Result<Response<pb::RecordResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let request = request.into_inner();
            let fingerprint = fingerprint::record(&request);
            let (transcript, repeat) = ask::record(record::record_from_pb(request)?, fingerprint);
            Ok(outcome::of_record(self.app.record(&call.caller, transcript, &repeat).await?))
        })
        .await
    }

    async fn r#continue(
        &self,
        request: Request<pb::ContinueRequest>,
    ) -> Result<Response<pb::ContinueResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        let (whole, step) = (fingerprint::turn(&request), fingerprint::step(&request));
        let turn =
            continuation::continue_from_pb(request).map(|turn| ask::continuation(turn, whole, step, false).into());
        self.execute(&call, turn, outcome::of_continue).await
    }

    async fn stream_continue(
        &self,
        request: Request<pb::StreamContinueRequest>,
    ) -> Result<Response<Self::StreamContinueStream>, Status> {
        use pb::stream_continue_response::Event;
        let call = Call::of(&request)?;
        let request = request.into_inner();
        let whole = request.turn.as_ref().map_or(NOTHING, fingerprint::turn);
        let step = request.turn.as_ref().map_or(NOTHING, fingerprint::step);
        let turn = continuation::stream_continue_from_pb(request)
            .map(|turn| ask::continuation(turn, whole, step, true).into());
        self.stream_execute(
            call,
            turn,
            |progress| pb::StreamContinueResponse { event: Some(Event::Progress(progress)) },
            |outcome| pb::StreamContinueResponse { event: Some(Event::Completed(outcome::of_continue(outcome))) },
        )
        .await
    }

    async fn prepare(&self, request: Request<pb::PrepareRequest>) -> Result<Response<pb::PrepareResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let (turn, until) = ask::prepare(prepare::prepare_from_pb(request.into_inner())?);
            let (prepared, explained) = self.app.prepare_turn(&call.caller, turn, until).await?;
            Ok(outcome::of_prepare(&prepared, explained))
        })
        .await
    }

    async fn explain(&self, request: Request<pb::ExplainRequest>) -> Result<Response<pb::ExplainResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let (app, caller) = (&self.app, &call.caller);
            let explained = match prepare::explain_from_pb(request.into_inner())? {
                prepare::Explain::Exchange(id) => app.explain_exchange(caller, id).await?,
                prepare::Explain::Capture(asked) => match ask::capture(asked, NOTHING, false) {
                    ask::Execution::Turn(turn) => {
                        app.explain_turn(caller, &turn).await.map_err(|fault| fault.within("capture"))?
                    }
                    ask::Execution::Prepared(prepared) => app.explain_prepared(caller, &prepared.id).await?,
                },
                prepare::Explain::Turn(asked) => {
                    let turn = ask::continuation(asked, NOTHING, NOTHING, false);
                    app.explain_turn(caller, &turn).await.map_err(|fault| fault.within("turn"))?
                }
            };
            let (explanation, sent) = prepare::explained_to_pb(explained);
            Ok(pb::ExplainResponse { explanation: Some(explanation), sent })
        })
        .await
    }

    async fn fork(&self, request: Request<pb::ForkRequest>) -> Result<Response<pb::ForkResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let request = request.into_inner();
            let fingerprint = fingerprint::fork(&request);
            let of_branches = request.branches.iter().map(|branch| fingerprint::branch(&request, branch)).collect();
            let (point, branches, repeat) = ask::fork(fork::fork_from_pb(request)?, fingerprint, of_branches);
            let (branched, replayed) = self.app.fork(&call.caller, &point, branches, &repeat).await?;
            outcome::of_fork(branched, replayed)
        })
        .await
    }

    async fn probe(&self, request: Request<pb::ProbeRequest>) -> Result<Response<pb::ProbeResponse>, Status> {
        let call = Call::of(&request)?;
        let probe = fork::probe_from_pb(request.into_inner()).map_err(|fault| call.status(&fault))?;
        let started = call.until_deadline(self.app.start_probe(call.caller.clone(), ask::probe(probe, false))).await;
        let mut watcher = started.map_err(|fault| call.status(&fault))?;
        let probed = call.until_deadline(watcher.outcome()).await.map_err(|fault| call.status(&fault))?;
        Ok(response(outcome::of_probe(watcher.run_id(), &probed), call.request_id.as_ref(), Some(watcher.run_id())))
    }

    async fn stream_probe(
        &self,
        request: Request<pb::StreamProbeRequest>,
    ) -> Result<Response<Self::StreamProbeStream>, Status> {
        use pb::stream_probe_response::Event;
        let call = Call::of(&request)?;
        let probe = fork::stream_probe_from_pb(request.into_inner()).map_err(|fault| call.status(&fault))?;
        let started = call.until_deadline(self.app.start_probe(call.caller.clone(), ask::probe(probe, true))).await;
        let watcher = started.map_err(|fault| call.status(&fault))?;
        let (request_id, run_id) = (call.request_id.clone(), watcher.run_id().clone());
        let stream = watch::stream(
            watcher,
            call,
            |progress| pb::StreamProbeResponse { event: Some(Event::Progress(progress)) },
            |run_id, probed| pb::StreamProbeResponse {
                event: Some(Event::Completed(outcome::of_probe(run_id, probed))),
            },
        );
        Ok(response(stream, request_id.as_ref(), Some(&run_id)))
    }

    async fn coordinate(
        &self,
        request: Request<Streaming<pb::CoordinateRequest>>,
    ) -> Result<Response<Self::CoordinateStream>, Status> {
        let call = Call::of(&request)?;
        let request_id = call.request_id.clone();
        let stream = coordinate::stream(Arc::clone(&self.app), call, request.into_inner());
        // The headers go out at once: clients in several languages wait for them before they say anything (B122).
        Ok(response(stream, request_id.as_ref(), None))
    }

    async fn inspect(&self, request: Request<pb::InspectRequest>) -> Result<Response<pb::InspectResponse>, Status> {
        let call = Call::of(&request)?;
        let request = inspect::inspect_from_pb(request.into_inner());
        let answer = async {
            let (page, next_page_token) = self.inspect_page(&call, request?, outcome::of_inspect).await?;
            Ok(pb::InspectResponse { next_page_token, ..page })
        };
        call.answer(answer).await
    }

    async fn stream_inspect(
        &self,
        request: Request<pb::StreamInspectRequest>,
    ) -> Result<Response<Self::StreamInspectStream>, Status> {
        let call = Call::of(&request)?;
        let first = inspect::stream_inspect_from_pb(request.into_inner()).map_err(|fault| call.status(&fault))?;
        // The first page is read before the answer begins, so that an unknown id is an error of the call.
        let read = self.inspect_page(&call, first.clone(), outcome::of_stream_inspect).await;
        let page = read.map_err(|fault| call.status(&fault))?;
        let request_id = call.request_id.clone();
        let this = Self::new(Arc::clone(&self.app));
        let start = (Ahead::Read(Box::new(page)), this, call, first);
        let stream = futures::stream::unfold(start, |(ahead, this, call, first)| async move {
            let page = match ahead {
                Ahead::Nothing => return None,
                Ahead::Read(page) => Ok(*page),
                Ahead::Reading(reading) => reading.await.unwrap_or_else(|_| Err(panicked())),
            };
            let (told, ahead) = match page {
                Ok((page, next)) => (Ok(page), this.read_on(&call, &first, next)),
                Err(fault) => (Err(call.status(&fault)), Ahead::Nothing),
            };
            Some((told, (ahead, this, call, first)))
        });
        Ok(response(Box::pin(stream), request_id.as_ref(), None))
    }
}

/// What a stream of pages sends next: while a page goes out, the one after it is read, and no more than that.
enum Ahead {
    Nothing,
    Read(Box<Page>),
    Reading(AbortOnDropHandle<Result<Page, Fault>>),
}

/// A page, and the token of the next.
type Page = (pb::StreamInspectResponse, String);

impl Exchanges {
    fn read_on(&self, call: &Call, first: &inspect::Inspect, page_token: String) -> Ahead {
        if page_token.is_empty() {
            return Ahead::Nothing;
        }
        let (this, call) = (Self::new(Arc::clone(&self.app)), call.clone());
        let next = inspect::Inspect { page_token, ..first.clone() };
        let reading = guarded(async move { this.inspect_page(&call, next, outcome::of_stream_inspect).await });
        Ahead::Reading(AbortOnDropHandle::new(tokio::spawn(reading.in_current_span())))
    }
}

/// Of a streamed request without a body, which is refused before the fingerprint matters, and of what is only explained.
const NOTHING: Hash = Hash([0; 32]);
