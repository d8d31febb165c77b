//! Execution requests: what is read, and that everything wrong with one is named at once.

use super::*;
use crate::domain::fault::{Fault, Reason};
use crate::domain::settings::{Contract, ContractChoice, ToolChoice};
use crate::domain::tool::ToolSet;
use crate::grpc::convert::problem::whole;

fn read(request: pb::ExecutionRequest) -> Result<Request, Fault> {
    whole(|at, problems| from_pb(request, &at.field("request"), problems))
}

fn paths(fault: Fault) -> Vec<String> {
    fault.fields.into_iter().map(|field| field.path).collect()
}

fn said(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: text.to_owned(), ..pb::ExecutionRequest::default() }
}

fn number(value: f64) -> Value {
    Value { kind: Some(Kind::NumberValue(value)) }
}

fn vars(fields: impl IntoIterator<Item = (&'static str, Value)>) -> pb::ExecutionRequest {
    let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let prompt = pb::PromptInput { prompt_id: "p".to_owned(), vars: Some(Struct { fields }), vars_json: String::new() };
    pb::ExecutionRequest { prompt: Some(prompt), ..pb::ExecutionRequest::default() }
}

#[test]
fn text_is_one_user_message_after_all_others() {
    let first = message::to_pb(Message::text(Role::System, "be brief"));
    let request = read(pb::ExecutionRequest { messages: vec![first], ..said("hello") }).unwrap();
    let expected = [Message::text(Role::System, "be brief"), Message::text(Role::User, "hello")];
    assert_eq!(request.asked.messages, expected);
    assert_eq!((request.run_id, request.on_disconnect, request.retry), (None, None, false));
    assert_eq!((request.asked.profile_id, request.asked.contract, request.asked.tools), (None, None, None));
}

#[test]
fn a_whole_request_is_read() {
    let request = read(pb::ExecutionRequest {
        run_id: "r-1".to_owned(),
        profile_id: "fast".to_owned(),
        model: "m".to_owned(),
        parameters: Some(pb::Parameters { seed: Some(-1), ..pb::Parameters::default() }),
        contract: Some(contract::to_pb(ContractChoice::Inline(Contract::Json))),
        tools: Some(pb::ToolList::default()),
        tool_choice: Some(pb::ToolChoice { choice: Some(pb::tool_choice::Choice::None(pb::ToolChoiceNone {})) }),
        session_id: "s".to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        on_disconnect: pb::OnDisconnect::Finish.into(),
        retry: true,
        ..said("hello")
    })
    .unwrap();
    assert_eq!(request.run_id, Some(RunId::new("r-1")));
    assert_eq!(request.asked.parameters.seed, Some(-1));
    assert_eq!(request.asked.tools, Some(ToolSet::default()), "an empty list is not an absent one");
    assert_eq!(request.asked.standing_tools, None);
    assert_eq!(request.asked.tool_choice, Some(ToolChoice::None));
    assert_eq!((request.on_disconnect, request.retry), (Some(OnDisconnect::Finish), true));
}

#[test]
fn a_request_brings_something_new() {
    let fault = read(pb::ExecutionRequest::default()).unwrap_err();
    assert_eq!(fault.message, "request brings nothing new: set `text`, `messages` or `prompt`");
    assert!(read(vars([])).is_ok());
}

#[test]
fn everything_wrong_is_named() {
    let fault = read(pb::ExecutionRequest {
        run_id: "a b".to_owned(),
        prompt: Some(pb::PromptInput {
            vars: Some(Struct::default()),
            vars_json: "{}".to_owned(),
            ..Default::default()
        }),
        messages: vec![pb::Message::default()],
        parameters: Some(pb::Parameters {
            temperature: Some(f64::NAN),
            top_p: Some(0.0),
            max_output_tokens: Some(0),
            stop_sequences: vec!["x".to_owned(), String::new()],
            extra_json: "[]".to_owned(),
            ..pb::Parameters::default()
        }),
        contract: Some(pb::Contract::default()),
        tool_choice: Some(pb::ToolChoice::default()),
        labels: BTreeMap::from([(String::new(), String::new())]),
        on_disconnect: 9,
        history_view: Some(pb::HistoryView::default()),
        ..said("hello")
    })
    .unwrap_err();
    assert_eq!(fault.reason, Reason::InvalidFields);
    let expected = [
        "request.run_id",
        "request.prompt.prompt_id",
        "request.prompt.vars_json",
        "request.messages[0].role",
        "request.messages[0].parts",
        "request.parameters.temperature",
        "request.parameters.top_p",
        "request.parameters.max_output_tokens",
        "request.parameters.stop_sequences[1]",
        "request.parameters.extra_json",
        "request.contract",
        "request.tool_choice",
        "request.history_view",
        r#"request.labels[""]"#,
        "request.on_disconnect",
    ];
    assert_eq!(paths(fault), expected);
}

#[test]
fn views_are_read_and_none_is_empty() {
    use pb::history_view::View as PbView;
    let viewed =
        |view| read(pb::ExecutionRequest { history_view: Some(pb::HistoryView { view: Some(view) }), ..said("x") });
    let view = |view| viewed(view).unwrap().asked.history_view;
    assert_eq!(view(PbView::LastTurns(pb::LastTurns { turns: 2 })), Some(View::LastTurns(2)));
    assert_eq!(view(PbView::TokenBudget(pb::TokenBudget { tokens: 9 })), Some(View::Tokens(9)));
    let id = "0190a5c1-7b1e-7000-8000-000000000000";
    let from = |exchange_id: &str| PbView::FromExchange(pb::FromExchange { exchange_id: exchange_id.to_owned() });
    assert_eq!(view(from(id)), Some(View::From(id.parse().unwrap())));
    for (wrong, field) in [
        (PbView::LastTurns(pb::LastTurns::default()), "last_turns.turns"),
        (PbView::TokenBudget(pb::TokenBudget::default()), "token_budget.tokens"),
        (from("e1"), "from_exchange.exchange_id"),
    ] {
        assert_eq!(paths(viewed(wrong).unwrap_err()), [format!("request.history_view.{field}")]);
    }
}

#[test]
fn retry_needs_the_run() {
    assert_eq!(paths(read(pb::ExecutionRequest { retry: true, ..said("x") }).unwrap_err()), ["request.retry"]);
}

#[test]
fn variables_become_json() {
    let list = |values| Value { kind: Some(Kind::ListValue(prost_types::ListValue { values })) };
    let text = Value { kind: Some(Kind::StringValue("show {{secret}}\n".to_owned())) };
    let null = Value { kind: Some(Kind::NullValue(0)) };
    let inner = Struct { fields: BTreeMap::from([("x".to_owned(), Value { kind: Some(Kind::BoolValue(true)) })]) };
    let request = vars([
        ("a", number(3.0)),
        ("b", number(-0.5)),
        ("c", list(vec![text, null])),
        ("d", Value { kind: Some(Kind::StructValue(inner)) }),
        ("e", number(1e300)),
    ]);
    let vars = read(request).unwrap().asked.prompt.unwrap().vars_json;
    assert_eq!(vars, r#"{"a":3,"b":-0.5,"c":["show {{secret}}\n",null],"d":{"x":true},"e":1e+300}"#);
}

#[test]
fn variables_that_json_does_not_have_are_refused() {
    let list = Value { kind: Some(Kind::ListValue(prost_types::ListValue { values: vec![Value { kind: None }] })) };
    let fault = read(vars([("a", number(f64::NAN)), ("b", list)])).unwrap_err();
    assert_eq!(paths(fault), [r#"request.prompt.vars["a"]"#, r#"request.prompt.vars["b"][0]"#]);
}

#[test]
fn variables_in_text_are_kept_verbatim() {
    let read = |vars_json: &str| {
        let prompt = pb::PromptInput { prompt_id: "p".to_owned(), vars: None, vars_json: vars_json.to_owned() };
        read(pb::ExecutionRequest { prompt: Some(prompt), ..pb::ExecutionRequest::default() })
            .map(|request| request.asked.prompt.unwrap().vars_json)
    };
    assert_eq!(read(""), Ok("{}".to_owned()));
    let verbatim = "{ \"n\": 9007199254740993 }";
    assert_eq!(read(verbatim), Ok(verbatim.to_owned()));
    assert_eq!(paths(read("[1]").unwrap_err()), ["request.prompt.vars_json"]);
}

#[test]
fn results_become_one_tool_message() {
    let result = |id: &str| pb::ToolResult {
        call_id: id.to_owned(),
        parts: vec![pb::Part {
            kind: Some(pb::part::Kind::Text(pb::TextPart { text: "42".to_owned() })),
            ..pb::Part::default()
        }],
        is_error: true,
        interrupted: false,
    };
    let read = |results| {
        let results = pb::ToolResults { results, run_id: String::new(), on_disconnect: 1, retry: true };
        whole(|at, problems| results_from_pb(results, &at.field("tool_results"), problems))
    };
    let results = read(vec![result("a"), result("b")]).unwrap();
    assert_eq!((results.on_disconnect, results.retry), (Some(OnDisconnect::Cancel), true));
    let message = results.into_message();
    assert_eq!(message.role, Role::Tool);
    let ids: Vec<_> = message.tool_results().map(|result| result.call_id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(paths(read(Vec::new()).unwrap_err()), ["tool_results.results"]);
    assert_eq!(paths(read(vec![result("")]).unwrap_err()), ["tool_results.results[0].call_id"]);
}

#[test]
fn parameters_come_back_as_they_went_out() {
    let parameters = Parameters {
        temperature: Some(0.0),
        top_p: Some(1.0),
        max_output_tokens: Some(1),
        stop_sequences: vec!["END".to_owned()],
        seed: Some(i64::MIN),
        reasoning_effort: Some("low".to_owned()),
        parallel_tool_calls: Some(false),
        extra_json: Some("{\"a\": 1}".to_owned()),
    };
    let back = whole(|at, problems| parameters_from_pb(parameters_to_pb(parameters.clone()), at, problems));
    assert_eq!(back, Ok(parameters));
}

#[test]
fn settings_keep_their_source() {
    let setting =
        EffectiveSetting { name: "model".to_owned(), value_json: "\"m\"".to_owned(), source: Source::Inherited };
    assert_eq!(settings_to_pb(vec![setting])[0].source(), pb::SettingSource::Inherited);
}
