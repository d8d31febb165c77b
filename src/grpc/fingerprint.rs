//! Fingerprints: what makes a repeated call the same call. It must not know what a request means, only which of its fields name, deliver or
//! label it and so do not count.
//!
//! A fingerprint is BLAKE3 over a version, the verb and the request as it came, encoded anew with its maps sorted, so that what a client
//! library does to the order of a map does not count. Deadlines, gRPC metadata and credentials are in no request. Streamed requests carry the
//! unary one, which is what is fingerprinted. It is taken before anything is rendered, so that a changed configuration does not change it.

use prost::Message;

use super::pb;
use crate::app::workspace::Opened;
use crate::domain::id::Hash;

#[cfg(test)]
mod tests;

/// Version of the form. Stored with every run by way of the hash itself: another version never gives the same.
const VERSION: u8 = 1;

/// Of a Run. Whether the sent messages are returned is a matter of delivery.
pub fn run(request: &pb::RunRequest) -> Hash {
    use pb::run_request::Execution;
    let bare = pb::RunRequest {
        execution: request.execution.as_ref().map(|execution| match execution {
            Execution::Request(request) => Execution::Request(bare_request(request)),
            Execution::Prepared(prepared) => Execution::Prepared(bare_prepared(prepared)),
        }),
        capture: request.capture,
        include_rendered_messages: false,
    };
    hash("Run", &bare)
}

/// Of a Capture, unary or streamed.
pub fn capture(request: &pb::CaptureRequest) -> Hash {
    use pb::capture_request::Execution;
    let bare = pb::CaptureRequest {
        execution: request.execution.as_ref().map(|execution| match execution {
            Execution::Request(request) => Execution::Request(bare_request(request)),
            Execution::Prepared(prepared) => Execution::Prepared(bare_prepared(prepared)),
        }),
        thread: request.thread.clone(),
    };
    hash("Capture", &bare)
}

/// Of a Continue, unary or streamed.
pub fn turn(request: &pb::ContinueRequest) -> Hash {
    use pb::continue_request::Input;
    let bare = pb::ContinueRequest {
        from: request.from.clone(),
        input: request.input.as_ref().map(|input| match input {
            Input::Request(request) => Input::Request(bare_request(request)),
            Input::ToolResults(results) => Input::ToolResults(bare_results(results)),
        }),
    };
    hash("Continue", &bare)
}

/// Of the step that a Continue makes where its results go on with a run; without results, of the whole.
pub fn step(request: &pb::ContinueRequest) -> Hash {
    match &request.input {
        Some(pb::continue_request::Input::ToolResults(given)) => results(given),
        Some(pb::continue_request::Input::Request(_)) | None => turn(request),
    }
}

/// Of the results that go on with a run. The step has the exchange whose calls they answer as its name, so it does not matter whether they
/// were sent to that exchange or to its thread.
pub fn results(results: &pb::ToolResults) -> Hash {
    hash("ToolResults", &bare_results(results))
}

/// Of a whole Fork.
pub fn fork(request: &pb::ForkRequest) -> Hash {
    let bare = pb::ForkRequest {
        source: request.source.clone(),
        request_id: String::new(),
        branches: request.branches.iter().map(bare_branch).collect(),
    };
    hash("Fork", &bare)
}

/// Of the run of one branch of a Fork: where it begins and the branch itself, its siblings aside.
pub fn branch(request: &pb::ForkRequest, branch: &pb::ForkBranch) -> Hash {
    let bare = pb::ForkRequest {
        source: request.source.clone(),
        request_id: String::new(),
        branches: vec![bare_branch(branch)],
    };
    hash("ForkBranch", &bare)
}

/// Of an Erase.
pub fn erase(request: &pb::EraseRequest) -> Hash {
    hash("Erase", &pb::EraseRequest { request_id: String::new(), ..request.clone() })
}

/// Of a CreatePin.
pub fn create_pin(request: &pb::CreatePinRequest) -> Hash {
    hash("CreatePin", &pb::CreatePinRequest { request_id: String::new(), ..request.clone() })
}

/// Of a DeletePin.
pub fn delete_pin(request: &pb::DeletePinRequest) -> Hash {
    hash("DeletePin", &pb::DeletePinRequest { request_id: String::new(), ..request.clone() })
}

/// Of a SetExpiry.
pub fn set_expiry(request: &pb::SetExpiryRequest) -> Hash {
    hash("SetExpiry", &pb::SetExpiryRequest { request_id: String::new(), ..request.clone() })
}

/// Of a Record. Run ids in its facts name what is to be stored, so they count.
pub fn record(request: &pb::RecordRequest) -> Hash {
    let bare = pb::RecordRequest {
        request_id: String::new(),
        messages: request.messages.clone(),
        start: request.start.clone(),
        thread: request.thread.clone(),
        facts: request.facts.clone(),
        labels: Default::default(),
    };
    hash("Record", &bare)
}

/// Of a thread's creation. Its labels are what is made, so they count, here as in every new thread.
pub fn create_thread(request: &pb::ThreadServiceCreateRequest) -> Hash {
    hash("ThreadCreate", &pb::ThreadServiceCreateRequest { request_id: String::new(), ..request.clone() })
}

/// Of a thread's change.
pub fn update_thread(request: &pb::ThreadServiceUpdateRequest) -> Hash {
    hash("ThreadUpdate", &pb::ThreadServiceUpdateRequest { request_id: String::new(), ..request.clone() })
}

/// Of a thread's removal.
pub fn delete_thread(request: &pb::ThreadServiceDeleteRequest) -> Hash {
    hash("ThreadDelete", &pb::ThreadServiceDeleteRequest { request_id: String::new(), ..request.clone() })
}

/// Of a restore.
pub fn restore(request: &pb::RestoreRequest) -> Hash {
    hash("Restore", &pb::RestoreRequest { request_id: String::new(), ..request.clone() })
}

/// Of a write of documents.
pub fn write_documents(request: &pb::WriteDocumentsRequest) -> Hash {
    hash("WriteDocuments", &pb::WriteDocumentsRequest { request_id: String::new(), ..request.clone() })
}

/// Of a document that came in pieces, by the hash of its content: how it was cut does not count.
pub fn stream_write_document(opened: &Opened, content: Hash) -> Hash {
    let put = pb::PutDocument {
        name: opened.put.name.clone(),
        media_type: opened.put.media_type.clone(),
        data: bytes::Bytes::copy_from_slice(&content.0),
        metadata_json: opened.put.metadata_json.clone(),
    };
    let bare = pb::WriteDocumentsRequest {
        thread_id: opened.thread_id.to_string(),
        edits: vec![pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Put(put)) }],
        etag: opened.etag.clone().unwrap_or_default(),
        request_id: String::new(),
    };
    hash("StreamWriteDocument", &bare)
}

/// Of a coordination's start. What was agreed counts, its labels among it, since they are what is made; what it is called does not, nor
/// whether answers are sent as they come, which each attach decides anew.
pub fn coordination(start: &pb::CoordinationStart) -> Hash {
    use pb::coordination_start::From;
    let bare = pb::CoordinationStart {
        from: start.from.as_ref().map(|from| match from {
            From::InitialRequest(initial) => From::InitialRequest(bare_initial(initial)),
            From::Exchange(_) | From::Thread(_) => from.clone(),
        }),
        additional_turns: start.additional_turns,
        coordination_id: String::new(),
        tool_round_limit: start.tool_round_limit,
        deltas: false,
        deadline: None,
        decision_timeout: start.decision_timeout,
        on_disconnect: 0,
        labels: Default::default(),
        ephemeral: start.ephemeral,
        omit_generation_history: start.omit_generation_history,
        spend_limit: start.spend_limit.clone(),
    };
    hash("CoordinationStart", &bare)
}

/// Of the run of a coordination's initial request.
pub fn initial(initial: &pb::InitialRequest) -> Hash {
    hash("InitialRequest", &bare_initial(initial))
}

/// Of the run of a coordination's further turn.
pub fn next_turn(turn: &pb::NextTurn) -> Hash {
    hash("NextTurn", &bare_next_turn(turn))
}

/// Of the step that a further turn makes where its results go on with a run; without results, of the whole.
pub fn next_turn_step(turn: &pb::NextTurn) -> Hash {
    match &turn.input {
        Some(pb::next_turn::Input::ToolResults(given)) => results(given),
        Some(pb::next_turn::Input::Request(_)) | None => next_turn(turn),
    }
}

/// Of the answer to a decision; which decision is kept beside it.
pub fn next_action(action: &pb::NextAction) -> Hash {
    use pb::next_action::Action;
    let bare = pb::NextAction {
        decision_id: String::new(),
        action: action.action.as_ref().map(|action| match action {
            Action::Turn(turn) => Action::Turn(bare_next_turn(turn)),
            Action::Stop(_) | Action::Fail(_) => action.clone(),
        }),
    };
    hash("NextAction", &bare)
}

/// Of the answer to a batch of tool calls.
pub fn batch_results(results: &pb::BatchResults) -> Hash {
    hash("BatchResults", &pb::BatchResults { batch_id: String::new(), ..results.clone() })
}

/// Of the answer to a generation.
pub fn generated(generated: &pb::Generated) -> Hash {
    hash("Generated", &pb::Generated { generation_id: String::new(), ..generated.clone() })
}

/// Every field is named, so that a new one is a question to whoever adds it: does it count?
fn bare_request(request: &pb::ExecutionRequest) -> pb::ExecutionRequest {
    pb::ExecutionRequest {
        run_id: String::new(),
        prompt: request.prompt.clone(),
        messages: request.messages.clone(),
        text: request.text.clone(),
        profile_id: request.profile_id.clone(),
        model: request.model.clone(),
        parameters: request.parameters.clone(),
        contract: request.contract.clone(),
        tools: request.tools.clone(),
        standing_tools: request.standing_tools.clone(),
        tool_choice: request.tool_choice.clone(),
        session_id: request.session_id.clone(),
        labels: Default::default(),
        on_disconnect: 0,
        retry: false,
        history_view: request.history_view.clone(),
        on_tool_drift: request.on_tool_drift,
        repair: request.repair,
    }
}

fn bare_prepared(prepared: &pb::PreparedExecution) -> pb::PreparedExecution {
    pb::PreparedExecution { prepared_id: prepared.prepared_id.clone(), run_id: String::new() }
}

fn bare_results(results: &pb::ToolResults) -> pb::ToolResults {
    pb::ToolResults { results: results.results.clone(), run_id: String::new(), on_disconnect: 0, retry: false }
}

fn bare_initial(initial: &pb::InitialRequest) -> pb::InitialRequest {
    pb::InitialRequest { request: initial.request.as_ref().map(bare_request), thread: initial.thread.clone() }
}

fn bare_next_turn(turn: &pb::NextTurn) -> pb::NextTurn {
    use pb::next_turn::Input;
    pb::NextTurn {
        input: turn.input.as_ref().map(|input| match input {
            Input::Request(request) => Input::Request(bare_request(request)),
            Input::ToolResults(results) => Input::ToolResults(bare_results(results)),
        }),
        unanswered_tools: turn.unanswered_tools,
        detach_thread: turn.detach_thread,
    }
}

fn bare_branch(branch: &pb::ForkBranch) -> pb::ForkBranch {
    use pb::fork_branch::Input;
    pb::ForkBranch {
        thread: branch.thread.clone(),
        input: branch.input.as_ref().map(|input| match input {
            Input::Request(request) => Input::Request(bare_request(request)),
            Input::ToolResults(results) => Input::ToolResults(bare_results(results)),
        }),
    }
}

fn hash(verb: &str, message: &impl Message) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[VERSION]);
    hasher.update(&(verb.len() as u64).to_be_bytes());
    hasher.update(verb.as_bytes());
    hasher.update(&message.encode_to_vec());
    Hash(*hasher.finalize().as_bytes())
}
