//! The one error of this package, and how it is read from what gRPC says. Knows nothing of what was called.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tonic_types::StatusExt;

pub use tonic::Code;

use crate::exchange::Exchange;
use crate::pb;
use crate::tool_call::Pause;

/// Any error of the caller's own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call was refused or failed, or a coordination ended failed or cancelled, or something of the caller's own failed: then it holds that, the
/// very value, see [`Error::downcast`].
#[non_exhaustive]
pub struct Error {
    /// gRPC's code.
    pub code: Code,
    /// For people; it says what to do next.
    pub message: String,
    /// A stable word such as HEAD_MOVED, from the list in error.proto, or the caller's own; empty when the transport failed.
    pub reason: String,
    /// The facts that a program needs, by the names that error.proto gives for the reason.
    pub metadata: BTreeMap<String, String>,
    /// How long to wait before the next try; absent where the server does not say that waiting helps.
    pub retry_after: Option<Duration>,
    /// What the server's log has, too.
    pub request_id: String,
    /// A completed result that was on record and never presented when a coordination ended.
    pub undelivered: Option<Box<Exchange>>,
    pub(crate) cause: Option<BoxError>,
}

impl Error {
    /// An error of the caller's own making, for a callback that has a code and a reason.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            reason: String::new(),
            metadata: BTreeMap::new(),
            retry_after: None,
            request_id: String::new(),
            undelivered: None,
            cause: None,
        }
    }

    /// The same with a reason.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The same with a fact.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The caller asked for what cannot be, before anything was sent.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// What something of the caller's own failed with. One of this package is that itself.
    pub(crate) fn of(cause: BoxError) -> Self {
        match cause.downcast::<Self>() {
            Ok(known) => *known,
            Err(cause) => Self { cause: Some(cause), ..Self::new(Code::Unknown, "") },
        }
    }

    /// Whether the same call may be made again without asking. RUN_INTERRUPTED never is, since the model may have been called.
    pub fn can_retry(&self) -> bool {
        let waiting_helps = self.retry_after.is_some() && matches!(self.code, Code::ResourceExhausted | Code::Aborted);
        self.reason != "RUN_INTERRUPTED" && self.cause.is_none() && (self.code == Code::Unavailable || waiting_helps)
    }

    /// What a tool left for later, where that is why a loop came back.
    pub fn pause(&self) -> Option<&Pause> {
        self.downcast_ref()
    }

    /// What a callback, a hook or the like failed with, where it is of this type.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.cause.as_deref()?.downcast_ref()
    }

    /// The same, the very value; this error where it is of another type.
    ///
    /// # Errors
    /// This error, unchanged.
    pub fn downcast<E: std::error::Error + Send + Sync + 'static>(mut self) -> Result<E> {
        match self.cause.take().map(<dyn std::error::Error + Send + Sync>::downcast::<E>) {
            Some(Ok(own)) => Ok(*own),
            Some(Err(other)) => Err(Self { cause: Some(other), ..self }),
            None => Err(self),
        }
    }

    /// What a callback, a hook or the like failed with, whatever it is; nothing where the error is this package's or the server's.
    pub fn into_cause(self) -> Option<BoxError> {
        self.cause
    }

    /// The caller no longer waits.
    pub(crate) fn gone(why: Gone) -> Self {
        match why {
            Gone::Cancelled => Self::new(Code::Cancelled, "the caller cancelled it"),
            Gone::Late => Self::new(Code::DeadlineExceeded, "the caller's deadline has passed"),
        }
    }

    /// Reads an error that is part of an answer.
    pub(crate) fn from_raw(raw: pb::ErrorStatus) -> Self {
        // A code that gRPC does not have is none to go by.
        let code = match Code::from_i32(raw.code) {
            Code::Ok => Code::Unknown,
            known => known,
        };
        Self { reason: raw.reason, metadata: raw.metadata, ..Self::new(code, raw.message) }
    }

    /// Whether the stream or the call broke, and the server itself said nothing.
    pub(crate) fn broke(&self) -> bool {
        self.reason.is_empty()
            && self.cause.is_none()
            && matches!(self.code, Code::Unavailable | Code::Internal | Code::Unknown | Code::Cancelled)
    }
}

/// Why the caller no longer waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gone {
    Cancelled,
    Late,
}

impl From<tonic::Status> for Error {
    fn from(status: tonic::Status) -> Self {
        // What the server says has no source; what has one is said of the connection, by words of several layers.
        let mut said = status.message().to_owned();
        let mut behind = std::error::Error::source(&status);
        let broke = behind.is_some();
        while let Some(one) = behind {
            if one.is::<tonic::TimeoutExpired>() {
                return Self::gone(Gone::Late);
            }
            let more = one.to_string();
            if !said.contains(&more) {
                said = format!("{said}: {more}");
            }
            behind = one.source();
        }
        let mut made = Self::new(if broke { Code::Unavailable } else { status.code() }, said);
        if let Some(info) = status.get_details_error_info() {
            made.reason = info.reason;
            made.metadata = info.metadata.into_iter().collect();
        }
        made.retry_after = status.get_details_retry_info().and_then(|info| info.retry_delay);
        made.request_id = status.get_details_request_info().map(|info| info.request_id).unwrap_or_default();
        made
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(own) = &self.cause {
            return own.fmt(to);
        }
        write!(to, "antiphon: {}", code_name(self.code))?;
        if !self.reason.is_empty() {
            write!(to, " {}", self.reason)?;
        }
        write!(to, ": {}", self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(own) = &self.cause {
            return to.debug_tuple("Error").field(own).finish();
        }
        let mut shown = to.debug_struct("Error");
        shown.field("code", &self.code).field("reason", &self.reason).field("message", &self.message);
        shown.field("metadata", &self.metadata).field("request_id", &self.request_id).finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text is the cause's own, so what is behind that is behind this.
        self.cause.as_deref().and_then(std::error::Error::source)
    }
}

/// A code by the name that gRPC gives it.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
