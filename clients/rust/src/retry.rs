//! Whether a call is made again, and when. Knows nothing of what is called.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Code, Error, Gone, Result};
use crate::pb;

const MAX_TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Until when a caller waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit(Option<Instant>);

impl Limit {
    pub(crate) fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    /// What comes of a future, unless it comes too late.
    pub(crate) async fn bound<T>(self, work: impl Future<Output = T>) -> Result<T> {
        match self.0 {
            Some(until) => tokio::time::timeout_at(until, work).await.map_err(|_| Error::gone(Gone::Late)),
            None => Ok(work.await),
        }
    }

    /// Waits until it has passed.
    pub(crate) async fn passed(self) {
        match self.0 {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn left(self) -> Option<Duration> {
        self.0.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// A request that tells the server, too.
    pub(crate) fn request<T>(self, asked: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(asked);
        if let Some(left) = self.left() {
            request.set_timeout(left);
        }
        request
    }
}

/// A request that is safe to repeat, since it changes nothing or what it does has a name.
pub(crate) trait Repeatable {
    /// Whether to try again under the run's id, where a part of the request names a run. A run that failed, or that the server cancelled because
    /// the connection broke, is on record under its id and would give the same error again.
    fn retry(&mut self) -> Option<&mut bool> {
        None
    }
}

macro_rules! repeatable {
    ($($request:ident),* $(,)?) => {$(impl Repeatable for pb::$request {})*};
}
repeatable!(
    AnswerRequest,
    CoordinationServiceCancelRequest,
    CoordinationServiceGetRequest,
    CoordinationServiceListRequest,
    DiffDocumentsRequest,
    DiffRequest,
    ExplainRequest,
    GetCallToolsRequest,
    GetCommonAncestorRequest,
    GetGraphRequest,
    InspectBackendRequest,
    InspectContractRequest,
    InspectProfileRequest,
    InspectPromptRequest,
    InspectRequest,
    ListAncestorsRequest,
    ListBackendsRequest,
    ListChildrenRequest,
    ListContractsRequest,
    ListDocumentsRequest,
    ListMovesRequest,
    ListProfilesRequest,
    ListPromptsRequest,
    ListToolDriftsRequest,
    ListToolOccurrencesRequest,
    ListTurnsRequest,
    PrepareRequest,
    ProbeRequest,
    ReadDocumentRequest,
    RecordRequest,
    RestoreRequest,
    RunServiceCancelRequest,
    RunServiceGetRequest,
    RunServiceListRequest,
    SearchRequest,
    SumUsageRequest,
    ThreadServiceCreateRequest,
    ThreadServiceDeleteRequest,
    ThreadServiceGetRequest,
    ThreadServiceListRequest,
    ThreadServiceUpdateRequest,
    WriteDocumentsRequest,
);

impl Repeatable for pb::RunRequest {
    fn retry(&mut self) -> Option<&mut bool> {
        match self.execution.as_mut()? {
            pb::run_request::Execution::Request(request) => Some(&mut request.retry),
            pb::run_request::Execution::Prepared(_) => None,
        }
    }
}

impl Repeatable for pb::CaptureRequest {
    fn retry(&mut self) -> Option<&mut bool> {
        match self.execution.as_mut()? {
            pb::capture_request::Execution::Request(request) => Some(&mut request.retry),
            pb::capture_request::Execution::Prepared(_) => None,
        }
    }
}

impl Repeatable for pb::ContinueRequest {
    fn retry(&mut self) -> Option<&mut bool> {
        Some(match self.input.as_mut()? {
            pb::continue_request::Input::Request(request) => &mut request.retry,
            pb::continue_request::Input::ToolResults(results) => &mut results.retry,
        })
    }
}

impl Repeatable for pb::ForkRequest {
    fn retry(&mut self) -> Option<&mut bool> {
        match self.branches.as_mut_slice() {
            [pb::ForkBranch { input: Some(pb::fork_branch::Input::Request(request)), .. }] => Some(&mut request.retry),
            // Which of several failed only the answer tells, and it is no error then.
            _ => None,
        }
    }
}

/// How often one call was made.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    /// The caller itself asks for another try under the run's id.
    asked: bool,
    count: u32,
    broke: bool,
    /// More was handed on than can be taken back, so a run that ended is not tried again.
    pub(crate) begun: bool,
}

impl Tries {
    pub(crate) fn new(retry: Option<bool>) -> Self {
        Self { asked: retry.unwrap_or_default(), ..Self::default() }
    }

    /// How long to wait before the next try, or the error where there is none.
    pub(crate) fn pause(&mut self, failed: Error, retry: Option<&mut bool>, limit: Limit) -> Result<Duration> {
        self.count += 1;
        let state = failed.metadata.get("run_state").map(|state| state.to_uppercase()).unwrap_or_default();
        let ours = self.broke && failed.reason == "RUN_CANCELLED";
        self.broke |= failed.code == Code::Unavailable && failed.reason.is_empty();
        let ended = ours || state == "FAILED" || state == "CANCELLED";
        let wait = failed.retry_after.unwrap_or(FIRST_PAUSE * 2u32.saturating_pow(self.count - 1));
        let late = limit.left().is_some_and(|left| wait >= left);
        let lost = ended && (retry.is_none() || self.begun);
        if !(failed.can_retry() || ours) || late || self.count >= MAX_TRIES || lost {
            return Err(failed);
        }
        if let Some(retry) = retry {
            *retry = ended || self.asked;
        }
        Ok(wait)
    }
}

/// A name for what is made once, kept over every try of it.
pub(crate) fn fresh() -> String {
    uuid::Uuid::new_v4().to_string()
}
