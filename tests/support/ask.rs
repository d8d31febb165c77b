//! Requests in few words.

use antiphon::grpc::pb;
use pb::part::Kind;

pub(crate) fn text(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: text.to_owned(), ..Default::default() }
}

pub(crate) fn text_as(run_id: &str, text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { run_id: run_id.to_owned(), text: text.to_owned(), ..Default::default() }
}

pub(crate) fn capture(request: pb::ExecutionRequest) -> pb::CaptureRequest {
    pb::CaptureRequest { execution: Some(pb::capture_request::Execution::Request(request)), thread: None }
}

pub(crate) fn capture_on_new(thread_id: &str, request: pb::ExecutionRequest) -> pb::CaptureRequest {
    let new = pb::NewThread { thread_id: thread_id.to_owned(), ..Default::default() };
    pb::CaptureRequest { thread: Some(pb::capture_request::Thread::NewThread(new)), ..capture(request) }
}

pub(crate) fn point(exchange_id: &str) -> pb::ExchangePoint {
    pb::ExchangePoint { exchange_id: exchange_id.to_owned() }
}

pub(crate) fn on(thread_id: &str) -> pb::ThreadPoint {
    pb::ThreadPoint { thread_id: thread_id.to_owned(), ..Default::default() }
}

pub(crate) fn after(exchange_id: &str, request: pb::ExecutionRequest) -> pb::ContinueRequest {
    pb::ContinueRequest {
        from: Some(pb::continue_request::From::Exchange(point(exchange_id))),
        input: Some(pb::continue_request::Input::Request(request)),
    }
}

pub(crate) fn on_thread(point: pb::ThreadPoint, request: pb::ExecutionRequest) -> pb::ContinueRequest {
    pb::ContinueRequest {
        from: Some(pb::continue_request::From::Thread(point)),
        input: Some(pb::continue_request::Input::Request(request)),
    }
}

pub(crate) fn expecting(thread_id: &str, exchange_id: &str) -> pb::ThreadPoint {
    let head = pb::expected_head::Head::Exchange(point(exchange_id));
    pb::ThreadPoint { expected_head: Some(pb::ExpectedHead { head: Some(head) }), ..on(thread_id) }
}

pub(crate) fn part(text: &str) -> pb::Part {
    pb::Part { kind: Some(Kind::Text(pb::TextPart { text: text.to_owned() })), ..Default::default() }
}

pub(crate) fn said(role: pb::Role, text: &str) -> pb::Message {
    pb::Message { role: role.into(), parts: vec![part(text)] }
}

pub(crate) fn user(text: &str) -> pb::Message {
    said(pb::Role::User, text)
}

pub(crate) fn assistant(text: &str) -> pb::Message {
    said(pb::Role::Assistant, text)
}

pub(crate) fn calling(call_id: &str, name: &str, arguments_json: &str) -> pb::Message {
    let call = pb::ToolCall {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        arguments_json: arguments_json.to_owned(),
        ..Default::default()
    };
    let part = pb::Part { kind: Some(Kind::ToolCall(call)), ..Default::default() };
    pb::Message { role: pb::Role::Assistant.into(), parts: vec![part] }
}

pub(crate) fn result(call_id: &str, text: &str) -> pb::ToolResult {
    pb::ToolResult { call_id: call_id.to_owned(), parts: vec![part(text)], ..Default::default() }
}

pub(crate) fn answering(call_id: &str, text: &str) -> pb::Message {
    let part = pb::Part { kind: Some(Kind::ToolResult(result(call_id, text))), ..Default::default() };
    pb::Message { role: pb::Role::Tool.into(), parts: vec![part] }
}

pub(crate) fn results(results: Vec<pb::ToolResult>) -> pb::ToolResults {
    pb::ToolResults { results, ..Default::default() }
}

pub(crate) fn after_with(exchange_id: &str, answers: Vec<pb::ToolResult>) -> pb::ContinueRequest {
    pb::ContinueRequest {
        from: Some(pb::continue_request::From::Exchange(point(exchange_id))),
        input: Some(pb::continue_request::Input::ToolResults(results(answers))),
    }
}

pub(crate) fn on_thread_with(thread_id: &str, answers: Vec<pb::ToolResult>) -> pb::ContinueRequest {
    pb::ContinueRequest {
        from: Some(pb::continue_request::From::Thread(on(thread_id))),
        input: Some(pb::continue_request::Input::ToolResults(results(answers))),
    }
}

pub(crate) fn tool(name: &str) -> pb::Tool {
    pb::Tool {
        name: name.to_owned(),
        description: format!("the tool {name}"),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
        ..Default::default()
    }
}

pub(crate) fn tools(names: &[&str]) -> Option<pb::ToolList> {
    Some(pb::ToolList { tools: names.iter().map(|name| tool(name)).collect() })
}

pub(crate) fn fork(exchange_id: &str, branches: Vec<pb::ForkBranch>) -> pb::ForkRequest {
    pb::ForkRequest {
        source: Some(pb::fork_request::Source::Exchange(point(exchange_id))),
        branches,
        ..Default::default()
    }
}

pub(crate) fn branch(thread_id: &str, request: Option<pb::ExecutionRequest>) -> pb::ForkBranch {
    pb::ForkBranch {
        thread: Some(pb::NewThread { thread_id: thread_id.to_owned(), ..Default::default() }),
        input: request.map(pb::fork_branch::Input::Request),
    }
}

pub(crate) fn probe(exchange_id: &str, request: pb::ExecutionRequest) -> pb::ProbeRequest {
    pb::ProbeRequest {
        from: Some(pb::probe_request::From::Exchange(point(exchange_id))),
        request: Some(request),
        allow_side_effects: false,
    }
}

pub(crate) fn record(messages: Vec<pb::Message>) -> pb::RecordRequest {
    pb::RecordRequest { messages, ..Default::default() }
}

pub(crate) fn inspect(exchange_id: &str) -> pb::InspectRequest {
    pb::InspectRequest { exchange_id: exchange_id.to_owned(), ..Default::default() }
}

/// The texts of messages, each with its role's first letter.
pub(crate) fn texts(messages: &[pb::Message]) -> Vec<String> {
    let part = |part: &pb::Part| match &part.kind {
        Some(Kind::Text(text)) => text.text.clone(),
        Some(Kind::ToolCall(call)) => format!("call {} {}", call.name, call.arguments_json),
        Some(Kind::ToolResult(result)) => {
            let text = result.parts.iter().map(|part| match &part.kind {
                Some(Kind::Text(text)) => text.text.clone(),
                other => format!("{other:?}"),
            });
            format!("result {}", text.collect::<String>())
        }
        other => format!("{other:?}"),
    };
    let message = |message: &pb::Message| {
        let letter = message.role().as_str_name().trim_start_matches("ROLE_").chars().next().unwrap_or('?');
        format!("{letter}:{}", message.parts.iter().map(part).collect::<String>())
    };
    messages.iter().map(message).collect()
}
