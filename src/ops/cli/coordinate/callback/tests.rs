//! What can be typed and what a command can say, as choices.

use super::*;

fn base() -> pb::ExecutionRequest {
    pb::ExecutionRequest { profile_id: "p".into(), ..Default::default() }
}

fn action(choice: Choice) -> Action {
    match choice {
        Choice::Act(action) => *action,
        other => panic!("no action: {other:?}"),
    }
}

fn request(choice: Choice) -> pb::ExecutionRequest {
    match action(choice) {
        Action::Turn(pb::NextTurn { input: Some(pb::next_turn::Input::Request(request)), .. }) => request,
        other => panic!("no request: {other:?}"),
    }
}

fn failed(choice: Choice) -> pb::FailAction {
    match action(choice) {
        Action::Fail(fail) => fail,
        other => panic!("no failure: {other:?}"),
    }
}

#[test]
fn a_line_is_a_message_or_a_word_with_a_stroke() {
    let typed = |line: &str| typed(line, &base());
    let said = request(typed(" and on \n").unwrap());
    assert_eq!((said.text.as_str(), said.profile_id.as_str()), ("and on", "p"));
    assert_eq!(request(typed("//etc").unwrap()).text, "/etc");
    assert_eq!(typed("/stop\n"), Ok(Choice::act(Action::Stop(pb::StopAction {}))));
    assert_eq!((typed("/suspend"), typed("/cancel")), (Ok(Choice::Suspend), Ok(Choice::Cancel)));
    assert_eq!(typed("  "), Err(String::new()));
    assert!(typed("/quit").unwrap_err().contains("/stop"));
    assert!(typed("/stop it").is_err());
    let fail = failed(typed("/fail NOT_GOOD it is thin").unwrap());
    assert_eq!((fail.reason.as_str(), fail.message.as_str(), fail.code), ("NOT_GOOD", "it is thin", 10));
    let fail = failed(typed("/fail it is thin").unwrap());
    assert_eq!((fail.reason.as_str(), fail.message.as_str()), ("", "it is thin"));
}

#[test]
fn a_turn_is_named_after_its_decision() {
    let named = |base: &pb::ExecutionRequest| {
        let action = answer("d1".into(), say("hi", base)).action.unwrap();
        request(Choice::act(action)).run_id
    };
    assert_eq!(named(&base()), "d1");
    assert_eq!(named(&pb::ExecutionRequest { run_id: "mine".into(), ..base() }), "mine");
}

#[test]
fn a_commands_json_is_an_action() {
    let read = |text: &str| read(text, &base());
    assert_eq!(request(read(r#"{"continue": {"text": "go"}}"#).unwrap()).profile_id, "p");
    let own = request(read(r#"{"continue": {"request": {"text": "go"}, "detachThread": true}}"#).unwrap());
    assert_eq!((own.text.as_str(), own.profile_id.as_str()), ("go", ""), "a whole request stands as it is");
    assert_eq!(read(r#"{"stop": {}}"#), Ok(Choice::act(Action::Stop(pb::StopAction {}))));
    assert_eq!(read(r#"{"suspend": {}}"#), Ok(Choice::Suspend));
    let fail = failed(read(r#"{"fail": {"reason": "R", "code": 9}}"#).unwrap());
    assert_eq!((fail.reason.as_str(), fail.code), ("R", 9));
    for (bad, why) in [
        ("", "EOF"),
        ("{}", "one of"),
        (r#"{"stop": {}, "suspend": {}}"#, "one of"),
        (r#"{"go": {}}"#, "`go` is none of"),
        (r#"{"stop": {"a": 1}}"#, "no fields"),
        (r#"{"continue": {}}"#, "neither"),
        (r#"{"continue": {"text": "a", "request": {"text": "b"}}}"#, "also"),
        (r#"{"continue": {"texts": "a"}}"#, "texts"),
        (r#"{"fail": {"why": "a"}}"#, "why"),
    ] {
        let found = read(bad).unwrap_err();
        assert!(found.contains(why), "{bad}: {found}");
    }
}

#[test]
fn a_command_that_fails_is_the_callers_failure() {
    let said = |out: &str, last_error: &str, code| Said {
        out: out.into(),
        last_error: last_error.into(),
        errors: String::new(),
        code,
        interrupted: false,
    };
    let message = |said: Said| {
        let fail = failed(answered(&said, &base()));
        assert_eq!((fail.reason.as_str(), fail.code), (CALLBACK_FAILED, 2));
        fail.message
    };
    assert_eq!(message(said("", "no reviewer", Some(1))), "no reviewer");
    assert_eq!(message(said("", "", Some(1))), "the command failed: its exit code is 1");
    assert!(message(said("nonsense", "", Some(0))).starts_with("the command's output is no action"));
    let stopped = Said { interrupted: true, ..said("", "", None) };
    assert_eq!(answered(&stopped, &base()), Choice::Cancel, "Ctrl-C reaches the command too");
}

#[tokio::test]
async fn lines_are_read_one_at_a_time() {
    let lines = Lines::of(Box::new(std::io::Cursor::new(b"a\nb".to_vec())));
    assert_eq!(lines.clone().next().await.as_deref(), Some("a\n"));
    assert_eq!(lines.clone().next().await.as_deref(), Some("b"));
    assert_eq!(lines.clone().next().await, None);
    assert_eq!(lines.next().await, None);
}
