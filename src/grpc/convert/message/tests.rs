//! Messages survive the way out and back, and what is wrong with one is named by its path.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::domain::fault::{Fault, Reason};
use crate::grpc::convert::problem::whole;

fn read(message: pb::Message) -> Result<Message, Fault> {
    whole(|at, problems| from_pb(message, &at.field("message"), problems))
}

/// The paths of the problems of a message.
fn paths(message: pb::Message) -> Vec<String> {
    let fault = read(message).unwrap_err();
    assert_eq!(fault.reason, Reason::InvalidFields);
    fault.fields.into_iter().map(|field| field.path).collect()
}

fn of(role: pb::Role, kinds: impl IntoIterator<Item = pb::part::Kind>) -> pb::Message {
    let part = |kind| pb::Part { kind: Some(kind), ..pb::Part::default() };
    pb::Message { role: role.into(), parts: kinds.into_iter().map(part).collect() }
}

fn text(text: &str) -> pb::part::Kind {
    pb::part::Kind::Text(pb::TextPart { text: text.to_owned() })
}

fn call(id: &str, arguments: &str) -> pb::part::Kind {
    pb::part::Kind::ToolCall(pb::ToolCall {
        call_id: id.to_owned(),
        name: "look".to_owned(),
        arguments_json: arguments.to_owned(),
        ..pb::ToolCall::default()
    })
}

fn result(parts: Vec<pb::part::Kind>) -> pb::part::Kind {
    let parts = parts.into_iter().map(|kind| pb::Part { kind: Some(kind), ..pb::Part::default() }).collect();
    pb::part::Kind::ToolResult(pb::ToolResult { call_id: "c".to_owned(), parts, ..pb::ToolResult::default() })
}

fn link(url: &str) -> pb::part::Kind {
    let source = pb::media_source::Source::Link(pb::MediaLink { url: url.to_owned(), media_type: String::new() });
    pb::part::Kind::Image(pb::ImagePart {
        source: Some(pb::MediaSource { source: Some(source) }),
        detail: String::new(),
    })
}

#[test]
fn an_unset_role_and_an_unknown_one_are_refused() {
    let unset = read(pb::Message { role: 0, parts: of(pb::Role::User, [text("x")]).parts }).unwrap_err();
    assert_eq!(unset.fields[0].path, "message.role");
    assert!(unset.message.contains("ROLE_USER"), "names the remedy: {}", unset.message);
    let unknown = read(pb::Message { role: 9, parts: of(pb::Role::User, [text("x")]).parts }).unwrap_err();
    assert!(unknown.message.contains("unknown value 9"), "{}", unknown.message);
}

#[test]
fn each_role_has_its_parts() {
    use pb::Role;
    for (role, kind, path) in [
        (Role::System, link("https://a/b"), "message.parts[0].image"),
        (Role::User, call("a", "{}"), "message.parts[0].tool_call"),
        (Role::Assistant, result(vec![text("x")]), "message.parts[0].tool_result"),
        (Role::Assistant, link("https://a/b"), "message.parts[0].image"),
        (Role::Tool, text("x"), "message.parts[0].text"),
    ] {
        assert_eq!(paths(of(role, [kind])), [path]);
    }
    for (role, kind) in [
        (Role::System, text("x")),
        (Role::User, link("gs://bucket/a")),
        (Role::Assistant, call("a", "{}")),
        (Role::Tool, result(vec![text(""), link("https://a/b")])),
    ] {
        assert!(read(of(role, [kind])).is_ok());
    }
}

#[test]
fn a_result_has_text_images_and_files_only() {
    let nested = result(vec![text("x"), call("a", "{}"), result(vec![text("x")])]);
    let expected =
        ["message.parts[0].tool_result.parts[1].tool_call", "message.parts[0].tool_result.parts[2].tool_result"];
    assert_eq!(paths(of(pb::Role::Tool, [nested])), expected);
    assert_eq!(paths(of(pb::Role::Tool, [result(Vec::new())])), ["message.parts[0].tool_result.parts"]);
}

#[test]
fn b075_a_tool_may_say_nothing_and_a_turn_may_not() {
    assert_eq!(paths(of(pb::Role::User, [text("")])), ["message.parts[0].text.text"]);
    assert_eq!(paths(of(pb::Role::User, [])), ["message.parts"]);
    assert!(read(of(pb::Role::Tool, [result(vec![text("")])])).is_ok());
    assert!(read(of(pb::Role::Assistant, [])).is_ok());
    assert!(read(of(pb::Role::Assistant, [text(""), call("a", "{}")])).is_ok());
}

#[test]
fn every_problem_of_a_message_is_named() {
    let mut message = of(pb::Role::User, [text(""), link("no address"), call("", "")]);
    message.parts.push(pb::Part {
        kind: None,
        provider_data: Some(pb::ProviderData { issuer: None, data_json: "{".to_owned() }),
        cache_marker: None,
    });
    let expected = [
        "message.parts[0].text.text",
        "message.parts[1].image.source.link.url",
        "message.parts[2].tool_call",
        "message.parts[3]",
        "message.parts[3].provider_data.data_json",
        "message.parts[3].provider_data.issuer",
    ];
    assert_eq!(paths(message), expected);
}

#[test]
fn calls_of_one_message_have_ids_of_their_own() {
    let message = of(pb::Role::Assistant, [call("a", "{}"), call("a", "{}"), call("b", "{}")]);
    assert_eq!(paths(message), ["message.parts[1].tool_call.call_id"]);
    let message = of(pb::Role::Assistant, [call("", "{}")]);
    assert_eq!(paths(message), ["message.parts[0].tool_call.call_id"]);
}

#[test]
fn arguments_are_kept_as_written_and_judged_here() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(127), "]".repeat(127));
    for (arguments, invalid) in [
        (r#"{"id":9007199254740993, "e":1e400}"#, false),
        (r#"{"path":"/tmp/a""#, true),
        ("[]", true),
        (deep.as_str(), true),
    ] {
        let message = read(of(pb::Role::Assistant, [call("a", arguments)])).unwrap();
        let call = message.tool_calls().next().unwrap();
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (arguments, invalid));
    }
    assert_eq!(paths(of(pb::Role::Assistant, [call("a", "")])), ["message.parts[0].tool_call.arguments_json"]);
}

#[test]
fn parts_are_counted() {
    let parts = |n: usize| std::iter::repeat_n(text("x"), n);
    assert!(read(of(pb::Role::User, parts(256))).is_ok());
    assert_eq!(paths(of(pb::Role::User, parts(257))), ["message.parts"]);
}

#[test]
fn messages_are_counted() {
    let list = |n: usize| {
        let messages = std::iter::repeat_n(of(pb::Role::User, [text("x")]), n).collect();
        whole(|at, problems| list_from_pb(messages, 2.into(), &at.field("messages"), problems))
    };
    assert_eq!(list(2).unwrap().len(), 2);
    assert_eq!(list(3).unwrap_err().fields[0].path, "messages");
}

#[test]
fn media_need_bytes_and_a_type() {
    let inline = |media_type: &str, data: &'static [u8]| {
        let source = pb::media_source::Source::Inline(pb::InlineMedia {
            media_type: media_type.to_owned(),
            data: Bytes::from_static(data),
        });
        let source = Some(pb::MediaSource { source: Some(source) });
        of(pb::Role::User, [pb::part::Kind::File(pb::FilePart { source, name: String::new() })])
    };
    assert!(read(inline("application/pdf", b"%PDF")).is_ok());
    let at = "message.parts[0].file.source.inline";
    assert_eq!(paths(inline("pdf", b"")), [format!("{at}.media_type"), format!("{at}.data")]);
    let nothing = pb::part::Kind::Image(pb::ImagePart::default());
    assert_eq!(paths(of(pb::Role::User, [nothing])), ["message.parts[0].image.source"]);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{1,12}", "\\PC{1,8}", Just("two\nlines, 模型 and a \u{0} byte".to_owned())]
}

fn any_json() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just("{\"z\": 1,\n \"a\":[9007199254740993]}".to_owned()),
        Just("\"signature\"".to_owned()),
    ]
}

fn any_media() -> impl Strategy<Value = Media> {
    prop_oneof![
        ("(image|application)/[a-z]{3}", proptest::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(media_type, data)| Media::Inline(media_type, Bytes::from(data))),
        ("https://[a-z]{1,8}/[a-z]{0,4}", "(image/png)?").prop_map(|(url, media_type)| Media::Link(url, media_type)),
    ]
}

fn attached(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Part> {
    let marker = proptest::option::of("(5m|1h)?".prop_map(|ttl| CacheMarker { ttl }));
    let data = proptest::option::of(("[a-z]{1,4}", "[a-z]{1,4}", "[a-z]{1,4}", any_json()).prop_map(
        |(provider, api, model, data_json)| ProviderData { issuer: Issuer { provider, api, model }, data_json },
    ));
    (kind, marker, data).prop_map(|(kind, cache_marker, provider_data)| Part { kind, cache_marker, provider_data })
}

fn any_call() -> impl Strategy<Value = Kind> {
    ("[a-z]{8}", "[a-z:0-9]{0,6}", "[a-z]{1,6}", prop_oneof![any_json(), any_text()]).prop_map(
        |(id, provider_call_id, name, arguments_json)| {
            Kind::ToolCall(ToolCall {
                call_id: CallId::new(id),
                provider_call_id,
                name,
                arguments_invalid: !json::is_object(&arguments_json),
                arguments_json,
            })
        },
    )
}

fn any_result() -> impl Strategy<Value = Kind> {
    let said = prop_oneof![
        any_text().prop_map(Kind::Text),
        Just(Kind::Text(String::new())),
        (any_media(), "(low)?").prop_map(|(media, detail)| Kind::Image(media, detail)),
        (any_media(), "(a.pdf)?").prop_map(|(media, name)| Kind::File(media, name)),
    ];
    ("[a-z]{1,8}", proptest::collection::vec(attached(said), 1..4), any::<bool>(), any::<bool>()).prop_map(
        |(id, parts, is_error, interrupted)| {
            Kind::ToolResult(ToolResult { call_id: CallId::new(id), parts, is_error, interrupted })
        },
    )
}

/// Any message that may stand in a request.
pub(crate) fn any_message() -> impl Strategy<Value = Message> {
    let of = |role, parts: BoxedStrategy<Vec<Part>>| parts.prop_map(move |parts| Message { role, parts });
    let user = prop_oneof![
        any_text().prop_map(Kind::Text),
        (any_media(), "(low)?").prop_map(|(media, detail)| Kind::Image(media, detail)),
        (any_media(), "(a.pdf)?").prop_map(|(media, name)| Kind::File(media, name)),
    ];
    let assistant = prop_oneof![
        any_text().prop_map(Kind::Text),
        any_call(),
        ("[a-z]{0,6}", any::<bool>()).prop_map(|(text, is_summary)| Kind::Reasoning(Reasoning { text, is_summary })),
        any_text().prop_map(Kind::Refusal),
        ("[a-z]{1,6}", any_json()).prop_map(|(word, json)| Kind::Unknown(word, json)),
    ];
    // Two calls of one message with the same id are refused; eight random letters do not meet.
    prop_oneof![
        of(Role::System, proptest::collection::vec(attached(any_text().prop_map(Kind::Text)), 1..3).boxed()),
        of(Role::User, proptest::collection::vec(attached(user), 1..4).boxed()),
        of(Role::Assistant, proptest::collection::vec(attached(assistant), 0..5).boxed()),
        of(Role::Tool, proptest::collection::vec(attached(any_result()), 1..3).boxed()),
    ]
}

proptest! {
    #[test]
    fn a_message_comes_back_as_it_went_out(message in any_message()) {
        prop_assert_eq!(read(to_pb(message.clone())), Ok(message));
    }
}
