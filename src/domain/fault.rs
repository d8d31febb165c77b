//! Faults: why a call was refused or failed, in the words of the API's list of reasons, with the facts and the way out. It must not know
//! gRPC codes or how an answer carries it.

use std::collections::BTreeMap;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// A reason of the API's list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// The word in the API.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// The reason of a word; absent for one that this server does not have.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

reasons! {
    /// Fields are missing, malformed or contradict one another; BadRequest names each by its path.
    InvalidFields = "INVALID_FIELDS",
    /// The API names it and this server does not do it yet.
    NotImplemented = "NOT_IMPLEMENTED",
    /// Over a limit, before any work.
    LimitExceeded = "LIMIT_EXCEEDED",
    /// As much was spent as may be, before anything was sent.
    SpendLimit = "SPEND_LIMIT",
    /// No such exchange in this namespace. ResourceInfo names it.
    ExchangeNotFound = "EXCHANGE_NOT_FOUND",
    /// No such run in this namespace. ResourceInfo names it.
    RunNotFound = "RUN_NOT_FOUND",
    /// No such thread in this namespace. ResourceInfo names it.
    ThreadNotFound = "THREAD_NOT_FOUND",
    /// No such document in the version. ResourceInfo names it.
    DocumentNotFound = "DOCUMENT_NOT_FOUND",
    /// The thread id is taken.
    ThreadExists = "THREAD_EXISTS",
    /// Capturing onto a thread that has exchanges; use Continue.
    ThreadNotEmpty = "THREAD_NOT_EMPTY",
    /// The thread has no exchange yet.
    ThreadEmpty = "THREAD_EMPTY",
    /// The transcript does not go through the thread's head; fork instead.
    ThreadDiverged = "THREAD_DIVERGED",
    /// The thread's head is not the expected one.
    HeadMoved = "HEAD_MOVED",
    /// Another run is at work on the thread.
    ThreadBusy = "THREAD_BUSY",
    /// The resource was changed since it was read.
    EtagMismatch = "ETAG_MISMATCH",
    /// The run id was used with another request.
    RunIdConflict = "RUN_ID_CONFLICT",
    /// The request id was used with another request.
    RequestIdConflict = "REQUEST_ID_CONFLICT",
    /// The server stopped while the run was at work; it is not run again unless `retry` asks for it.
    RunInterrupted = "RUN_INTERRUPTED",
    /// The run was cancelled.
    RunCancelled = "RUN_CANCELLED",
    /// The run is not COMPLETED, so nothing can be forked from it; the message names the way out.
    RunNotCompleted = "RUN_NOT_COMPLETED",
    /// The run is not on the thread's path.
    RunNotOnPath = "RUN_NOT_ON_PATH",
    /// The exchanges at that point have no run id; fork by exchange or by turn.
    NoRunIds = "NO_RUN_IDS",
    /// The run was not captured, so there is nothing to branch from.
    NotCaptured = "NOT_CAPTURED",
    /// The result of an uncaptured run is no longer kept.
    ResultNotKept = "RESULT_NOT_KEPT",
    /// A captured request offers a tool that needs a person, without a run id.
    RunIdRequired = "RUN_ID_REQUIRED",
    /// Tool calls are not answered yet.
    UnansweredToolCalls = "UNANSWERED_TOOL_CALLS",
    /// Results do not fit the calls.
    ToolResultsMismatch = "TOOL_RESULTS_MISMATCH",
    /// Results were sent and no call is pending.
    NoPendingToolCalls = "NO_PENDING_TOOL_CALLS",
    /// A probe may not use this tool.
    ToolNotAllowed = "TOOL_NOT_ALLOWED",
    /// A transcript cannot be cut into exchanges.
    TranscriptMalformed = "TRANSCRIPT_MALFORMED",
    /// No profile was named and none is the default.
    ProfileMissing = "PROFILE_MISSING",
    /// No such profile.
    ProfileUnknown = "PROFILE_UNKNOWN",
    /// No such prompt.
    PromptUnknown = "PROMPT_UNKNOWN",
    /// Variables are missing, misspelt or not used, or the template failed.
    PromptVariables = "PROMPT_VARIABLES",
    /// No such contract.
    ContractUnknown = "CONTRACT_UNKNOWN",
    /// The schema of a contract or tool is not usable.
    SchemaInvalid = "SCHEMA_INVALID",
    /// The backend cannot do what the request asks.
    BackendUnsupported = "BACKEND_UNSUPPORTED",
    /// The backend's queue is full.
    BackendQueueFull = "BACKEND_QUEUE_FULL",
    /// The backend has no credential.
    CredentialMissing = "CREDENTIAL_MISSING",
    /// The provider refused the credential.
    ProviderRefusedCredential = "PROVIDER_REFUSED_CREDENTIAL",
    /// The provider refused the request.
    ProviderRefusedRequest = "PROVIDER_REFUSED_REQUEST",
    /// The provider's rate limit.
    ProviderRateLimited = "PROVIDER_RATE_LIMITED",
    /// The provider failed or could not be reached.
    ProviderUnavailable = "PROVIDER_UNAVAILABLE",
    /// The provider's answer could not be understood or was not whole.
    ProviderBadAnswer = "PROVIDER_BAD_ANSWER",
    /// The provider was silent for too long.
    ProviderTimeout = "PROVIDER_TIMEOUT",
    /// The history does not fit the model.
    ContextOverflow = "CONTEXT_OVERFLOW",
    /// The caller's deadline passed first.
    Deadline = "DEADLINE",
    /// The store takes no writes until the server is restarted; reads go on.
    StoreReadOnly = "STORE_READ_ONLY",
    /// The store cannot be reached.
    StoreUnavailable = "STORE_UNAVAILABLE",
    /// A stored record is not what was written; run `antiphon verify`.
    StoreCorrupt = "STORE_CORRUPT",
    /// The server is shutting down.
    ShuttingDown = "SHUTTING_DOWN",
    /// A page token of another query, or a damaged one.
    PageTokenInvalid = "PAGE_TOKEN_INVALID",
    /// No such configured resource.
    ResourceNotFound = "RESOURCE_NOT_FOUND",
    /// A fault of this server; the log has more under the request id.
    Internal = "INTERNAL",
    /// The backend kind `client` works only in a coordination, whose client makes the call.
    ClientBackendOnlyInCoordinate = "CLIENT_BACKEND_ONLY_IN_COORDINATE",
    /// No such coordination in this namespace. ResourceInfo names it.
    CoordinationNotFound = "COORDINATION_NOT_FOUND",
    /// The coordination id was used with another start.
    CoordinationConflict = "COORDINATION_CONFLICT",
    /// The decision, batch or generation is not the pending one, or was answered otherwise.
    AnswerStale = "ANSWER_STALE",
    /// The message is out of order in a coordination's stream.
    OutOfOrder = "OUT_OF_ORDER",
    /// A prepared execution was used already.
    PreparedUsed = "PREPARED_USED",
    /// A prepared execution can no longer be executed as it was shown.
    PreparedStale = "PREPARED_STALE",
    /// No such prepared execution in this namespace.
    PreparedNotFound = "PREPARED_NOT_FOUND",
    /// A tool's schema changed within a lineage and the caller asked for a refusal.
    ToolSchemaDrift = "TOOL_SCHEMA_DRIFT",
    /// The exchange was erased.
    ExchangeErased = "EXCHANGE_ERASED",
    /// Others share what was to be erased.
    EraseShared = "ERASE_SHARED",
    /// The call came without a credential that is taken.
    Unauthenticated = "UNAUTHENTICATED",
    /// The credential does not allow this.
    ScopeMissing = "SCOPE_MISSING",
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its path, such as `request.messages[2].parts[0]`.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// What was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What kind of thing, such as `exchange`.
    pub kind: &'static str,
    /// Its id as the caller gave it.
    pub name: String,
}

/// Why a call was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The reason.
    pub reason: Reason,
    /// For people: what happened and what to do next. No message content and no credential.
    pub message: String,
    /// What is wrong with which field.
    pub fields: Vec<Field>,
    /// The facts, for programs.
    pub metadata: BTreeMap<String, String>,
    /// What was not found.
    pub resource: Option<Resource>,
    /// How long to wait before the same call may succeed, in milliseconds; absent where waiting does not help.
    pub retry_after_ms: Option<u64>,
}

impl Fault {
    /// A fault with a message and no facts yet.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            fields: Vec::new(),
            metadata: BTreeMap::new(),
            resource: None,
            retry_after_ms: None,
        }
    }

    /// One field is wrong.
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::fields(vec![Field { path: path.into(), message: message.into() }])
    }

    /// Some fields are wrong.
    pub fn fields(fields: Vec<Field>) -> Self {
        let message =
            fields.iter().map(|field| format!("{} {}", field.path, field.message)).collect::<Vec<_>>().join("; ");
        Self { fields, ..Self::new(Reason::InvalidFields, message) }
    }

    /// The API names it and this server does not do it yet.
    pub fn not_implemented(feature: &str) -> Self {
        Self::new(Reason::NotImplemented, format!("`{feature}` is not implemented by this version of the server"))
            .with("feature", feature)
    }

    /// There is no such thing in the caller's namespace.
    pub fn not_found(reason: Reason, kind: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        let mut fault = Self::new(reason, format!("there is no {kind} `{name}` here"));
        fault.resource = Some(Resource { kind, name });
        fault
    }

    /// With one more fact.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.metadata.insert(key.to_owned(), value.to_string());
        self
    }

    /// With one more field named.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, message: impl Into<String>) -> Self {
        self.fields.push(Field { path: path.into(), message: message.into() });
        self
    }

    /// As part of something larger: each field by its path from there.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        for field in &mut self.fields {
            field.path = format!("{prefix}.{}", field.path);
        }
        if let Some(field) = self.metadata.get_mut("field") {
            *field = format!("{prefix}.{field}");
        }
        self
    }

    /// With the time after which the same call may succeed, in milliseconds.
    #[must_use]
    pub fn retry_after(mut self, milliseconds: u64) -> Self {
        self.retry_after_ms = Some(milliseconds);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_reasons_are_each_others_inverse() {
        for reason in [Reason::HeadMoved, Reason::InvalidFields, Reason::Internal] {
            assert_eq!(Reason::from_word(reason.word()), Some(reason));
        }
        assert_eq!(Reason::from_word("NO_SUCH_REASON"), None);
    }

    #[test]
    fn a_fault_of_fields_names_each() {
        let fault = Fault::field("text", "must not be empty").at("model", "is too long");
        assert_eq!(fault.fields.len(), 2);
        assert_eq!(fault.to_string(), "text must not be empty");
    }
}
