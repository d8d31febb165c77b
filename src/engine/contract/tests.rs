use super::*;
use crate::domain::id::CallId;
use crate::domain::message::{Part, Role, ToolCall};
use crate::domain::settings::Contract;

const PERSON: &str = r#"{"type":"object","properties":{"name":{"type":"string"},"items":{"type":"array","items":{"type":"string"}}},"required":["name"]}"#;

fn schema(text: &str) -> Contract {
    Contract::JsonSchema { name: "p".to_owned(), schema_json: text.to_owned() }
}

fn problem(text: &str) -> SchemaProblem {
    Schemas::default().check(&schema(text)).unwrap_err()
}

fn tool(input_schema_json: &str) -> crate::domain::tool::Tool {
    crate::domain::tool::Tool {
        name: "t".to_owned(),
        description: String::new(),
        input_schema_json: input_schema_json.to_owned(),
        side_effects: false,
        requires_human: false,
    }
}

fn validate(contract: &Contract, text: &str, stop: StopReason) -> Validation {
    Schemas::default().check(contract).unwrap().validate(&Message::text(Role::Assistant, text), stop)
}

fn words(validation: &Validation) -> String {
    validation.violations.iter().map(|v| format!("{} {}", v.instance_path, v.message)).collect::<Vec<_>>().join("; ")
}

#[test]
fn b107_fenced_answers_and_bare_ones_are_valid_alike() {
    for text in [
        "```json\n{\"name\":\"Rui\"}\n```",
        "```\n{\"name\":\"Rui\"}\n```",
        "Here you go:\n```json\n{\"name\":\"Rui\"}\n```\nBye",
        "{\"name\":\"Rui\"}",
        "\u{feff}\n {\"name\":\"Rui\"} ",
    ] {
        assert_eq!(validate(&schema(PERSON), text, StopReason::Stop).status, ValidationStatus::Valid, "{text}");
        assert_eq!(json_in(text), Some("{\"name\":\"Rui\"}"));
    }
}

#[test]
fn two_fenced_blocks_of_json_are_not_chosen_between() {
    let text = "```json\n{\"name\":\"a\"}\n```\nor\n```json\n{\"name\":\"b\"}\n```";
    assert_eq!(validate(&schema(PERSON), text, StopReason::Stop).status, ValidationStatus::Invalid);
}

#[test]
fn b109_a_cut_answer_is_invalid_and_says_that_it_was_cut() {
    let found = validate(&schema(PERSON), "{\"name\":\"Ru", StopReason::MaxTokens);
    assert_eq!(words(&found), " the answer was cut at the limit of output tokens");
    // A number that was cut still looks like a number.
    assert_eq!(validate(&Contract::Json, "12", StopReason::MaxTokens).status, ValidationStatus::Invalid);
    assert_eq!(validate(&Contract::Json, "12", StopReason::Stop).status, ValidationStatus::Valid);
    // What is whole stays whole, even though the limit was reached right after it.
    assert_eq!(validate(&schema(PERSON), "{\"name\":\"Rui\"}", StopReason::MaxTokens).status, ValidationStatus::Valid);
}

#[test]
fn b110_no_text_at_the_limit_names_the_limit_and_not_json() {
    let found = validate(&schema(PERSON), "", StopReason::MaxTokens);
    assert_eq!(words(&found), " the answer reached the limit of output tokens before any of it was written");
}

#[test]
fn b117_refusals_and_filters_are_not_valid_and_not_called_bad_json() {
    let check = Schemas::default().check(&schema(PERSON)).unwrap();
    let refusal = Message { role: Role::Assistant, parts: vec![Part::new(Kind::Refusal("I cannot".to_owned()))] };
    for (answer, stop) in [
        (refusal, StopReason::Stop),
        (Message::text(Role::Assistant, ""), StopReason::ContentFilter),
        (Message::text(Role::Assistant, "{\"name\":\"Rui\"}"), StopReason::Refusal),
    ] {
        let found = check.validate(&answer, stop);
        assert_eq!(found.status, ValidationStatus::Invalid);
        assert!(words(&found).starts_with(" refused"), "{}", words(&found));
    }
}

#[test]
fn answers_that_call_tools_are_not_checked() {
    let call = ToolCall {
        call_id: CallId::new("c"),
        provider_call_id: String::new(),
        name: "t".to_owned(),
        arguments_json: "{}".to_owned(),
        arguments_invalid: false,
    };
    let answer = Message { role: Role::Assistant, parts: vec![Part::new(Kind::ToolCall(call))] };
    let check = Schemas::default().check(&schema(PERSON)).unwrap();
    assert_eq!(check.validate(&answer, StopReason::ToolCalls), Validation::default());
}

#[test]
fn b114_nothing_outside_the_schema_is_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/s.json", listener.local_addr().unwrap());
    for target in [url.as_str(), "file:///etc/passwd", "other.json"] {
        for text in [
            format!(r#"{{"$ref":"{target}"}}"#),
            format!(r#"{{"type":"object","properties":{{"a":{{"$ref":"{target}"}}}}}}"#),
        ] {
            let found = problem(&text);
            assert!(found.message.contains("nothing is fetched"), "{found}");
            assert!(Schemas::default().check_tool(&tool(&text)).is_err());
            assert!(!found.message.contains("root:"), "{found}");
        }
    }
    for text in [format!(r#"{{"$schema":"{url}"}}"#), format!(r#"{{"$dynamicRef":"{url}#a"}}"#)] {
        problem(&text);
    }
    // A base of its own makes a relative reference point to the network.
    problem(&format!(r#"{{"$id":"{url}","properties":{{"a":{{"$ref":"t.json"}}}}}}"#));
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_property_that_is_called_ref_is_no_reference() {
    let text =
        r#"{"type":"object","properties":{"$ref":{"type":"string"},"const":{"type":"string"}},"required":["$ref"]}"#;
    assert_eq!(validate(&schema(text), r#"{"$ref":"http://x"}"#, StopReason::Stop).status, ValidationStatus::Valid);
    assert_eq!(validate(&schema(text), r#"{"$ref":1}"#, StopReason::Stop).status, ValidationStatus::Invalid);
}

#[test]
fn b115_a_wrong_schema_is_named_by_its_place() {
    assert_eq!(problem(r#"{"type":"strng"}"#).pointer, "/type");
    assert_eq!(problem(r#"{"type":"object","required":"name"}"#).pointer, "/required");
    assert!(problem("not json").message.starts_with("is not JSON"));
    for text in
        ["true", r#"{"type":"array","items":{"type":"integer"}}"#, r#"{"anyOf":[{"type":"object"},{"type":"null"}]}"#]
    {
        assert!(Schemas::default().check(&schema(text)).is_ok(), "{text}");
    }
}

#[test]
fn drafts_other_than_two_are_refused() {
    assert_eq!(problem(r#"{"$schema":"http://json-schema.org/draft-04/schema#"}"#).pointer, "/$schema");
    let seven = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}"#;
    assert_eq!(validate(&schema(seven), "[1]", StopReason::Stop).status, ValidationStatus::Invalid);
    let latest = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]}"#;
    assert_eq!(validate(&schema(latest), "[1]", StopReason::Stop).status, ValidationStatus::Invalid);
}

#[test]
fn b138_depth_is_bounded_in_schemas_and_answers() {
    let nest = |levels: usize| format!("{}{}{}", "{\"not\":".repeat(levels), "{}", "}".repeat(levels));
    assert!(Schemas::default().check(&schema(&nest(63))).is_ok(), "64 levels");
    for levels in [64, 200, 30_000] {
        let expected = format!("is nested {} levels deep: at most 64 are taken; make it flatter", levels + 1);
        assert_eq!(problem(&nest(levels)).message, expected);
    }
    let brackets = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(validate(&Contract::Json, &brackets(127), StopReason::Stop).status, ValidationStatus::Valid);
    for levels in [200, 100_000] {
        assert_eq!(validate(&Contract::Json, &brackets(levels), StopReason::Stop).status, ValidationStatus::Invalid);
    }
}

#[test]
fn the_length_of_a_schema_is_bounded() {
    let of = |bytes: usize| format!("{}{{}}", " ".repeat(bytes - 2));
    assert!(Schemas::default().check(&schema(&of(256 * 1024))).is_ok());
    let told = problem(&of(256 * 1024 + 1)).message;
    assert_eq!(told, "is 262145 bytes long: at most 262144 are taken; shorten it");
}

#[test]
fn references_that_multiply_do_no_harm() {
    let tree = r##"{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}"##;
    let deep = |levels: usize| format!("{}{{}}{}", "{\"next\":".repeat(levels), "}".repeat(levels));
    assert_eq!(validate(&schema(tree), &deep(100), StopReason::Stop).status, ValidationStatus::Valid);
    let doubling = r##"{"allOf":[{"properties":{"next":{"$ref":"#"}}},{"properties":{"next":{"$ref":"#"}}}]}"##;
    assert_eq!(validate(&schema(doubling), &deep(5), StopReason::Stop).status, ValidationStatus::Valid);
    let found = validate(&schema(doubling), &deep(100), StopReason::Stop);
    assert!(words(&found).contains("was not checked"), "{found:?}");
}

#[test]
fn a_check_as_deep_as_is_allowed_fits_the_stack() {
    // Several schemas at each of 120 levels of the answer.
    let mut text = r##"{"properties":{"next":{"$ref":"#"}}}"##.to_owned();
    for _ in 0..3 {
        text = format!(r#"{{"allOf":[{text}]}}"#);
    }
    let deep = format!("{}{{}}{}", "{\"next\":".repeat(120), "}".repeat(120));
    assert_eq!(validate(&schema(&text), &deep, StopReason::Stop).status, ValidationStatus::Valid);
}

#[test]
fn patterns_that_could_run_for_ever_are_refused() {
    assert!(problem(r#"{"type":"string","pattern":"(?=a)b"}"#).pointer.ends_with("pattern"));
    assert!(problem(r#"{"type":"string","pattern":"(a{1000}){1000}{1000}"}"#).pointer.ends_with("pattern"));
}

#[test]
fn violations_do_not_tell_the_answer() {
    let text = r#"{"type":"object","properties":{"age":{"type":"integer","maximum":9}},"additionalProperties":false,"propertyNames":{"maxLength":3}}"#;
    let found = validate(&schema(text), r#"{"age":"hush","secretname":1}"#, StopReason::Stop);
    assert!(found.violations.iter().any(|violation| violation.instance_path == "/age"));
    for violation in &found.violations {
        assert!(!violation.message.contains("hush") && !violation.message.contains("secretname"), "{violation:?}");
    }
}

#[test]
fn at_most_so_many_violations_are_told() {
    let text = r#"{"type":"array","items":{"type":"string"}}"#;
    let many = format!("[{}1]", "1,".repeat(100));
    assert_eq!(validate(&schema(text), &many, StopReason::Stop).violations.len(), 32);
}

#[test]
fn text_needs_no_form() {
    assert_eq!(validate(&Contract::Text, "hello", StopReason::MaxTokens), Validation::default());
}
