//! The client of Antiphon, a gRPC server that runs conversations with language models and keeps them as an immutable, branching graph. The README
//! beside this has the tour; [`Client`] has the calls.

mod answers;
mod audit;
mod callback;
mod calls;
mod catalog;
mod chain;
mod client;
mod conversation;
mod coordination;
mod coordinator;
mod difference;
mod document;
mod download;
mod error;
mod exchange;
mod explain;
mod fork;
mod frame;
mod generation;
mod graph;
mod json;
mod library;
mod loops;
mod memory;
mod message;
mod offers;
mod pieces;
mod point;
mod prompts;
mod record;
mod request;
mod response;
mod retry;
mod schema;
mod search;
mod stream;
#[cfg(feature = "testing")]
pub mod testing;
mod thread;
mod threads;
mod tool;
mod tool_call;
mod turns;
mod upload;
mod usage;
mod watch;
mod word;
mod workspace;

#[rustfmt::skip]
#[allow(
    missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::restriction, clippy::pedantic, rustdoc::all,
    reason = "generated"
)]
#[path = "../gen/antiphon.v1.rs"]
pub mod pb;

pub use schemars;
pub use schemars::JsonSchema;

pub use audit::{CallTools, Drift, ToolOccurrence, ToolQuery};
pub use callback::{Checked, Said, Verdict};
pub use calls::Pages;
pub use catalog::{ConfiguredBackend, ConfiguredContract, ConfiguredProfile, ConfiguredPrompt};
pub use chain::{Chain, Resume};
pub use client::{Client, ClientBuilder, Connection, Keys, Tls, VERSION};
pub use conversation::{Conversation, ConversationPrompt, Talk};
pub use coordination::{Action, Answer, Continue, Coordination, Decision, Fail, Outcome, OutcomeState, Stop, Suspend};
pub use difference::{Change, Difference};
pub use document::{
    BeforeExchange, CopyDocument, Document, DocumentChange, DocumentContent, DocumentEdit, PutDocument, RemoveDocument,
    WorkspacePoint, WorkspaceRoot, WorkspaceVersion, Written,
};
pub use download::{DocumentStream, ReadStream};
pub use error::{BoxError, Code, Error, Result, code_name};
pub use exchange::{Delta, Exchange, Probe, Warning};
pub use explain::{Execute, Explain, Explanation, Prepare, Prepared, Setting};
pub use fork::{Branch, Fork, ForkAll, ForkConversation};
pub use generation::{Generated, Generation};
pub use graph::{Drawing, Node, Scope, Subtree, ThreadPath, ThreadTree};
pub use library::{CoordinationQuery, GiveAnswer, RunQuery};
pub use loops::{Attach, Coordinate};
pub use message::Message;
pub use point::{ExchangeId, ExchangeRef, NewThread, Place, Point, Source, Start, ThreadPoint, ThreadTurn};
pub use prompts::{Prompt, Reply};
pub use record::{Facts, Record, Recorded};
pub use request::{Contract, Input, Parameters, Request, ToolChoice};
pub use response::Response;
pub use search::{Hit, ModelUsage, SearchQuery, UsageQuery, UsageSum};
pub use thread::{Inspection, Move, Run, RunEvent, RunEventKind, Thread, Turn};
pub use threads::{CreateThread, Restore, UpdateThread};
pub use tool::{OfferedTool, Tool, ToolResult};
pub use tool_call::{Pause, ToolCall};
pub use turns::{Capture, ContinueFrom, ForkOnce};
pub use upload::{Write, WriteStream};
pub use usage::{Spent, Usage};
pub use watch::Watch;
pub use word::{
    AttemptKind, ChangeKind, Completeness, CoordinationState, GraphDetail, GraphForm, OccurrenceKind, OnBusy,
    OnDisconnect, OnToolDrift, Origin, Role, RunState, SettingSource, StopReason, UnansweredTools, ValidationStatus,
};
pub use workspace::{DiffDocuments, Documents, EditDocuments, Workspace};
