//! Statuses carry every detail of a fault, and never more than peers take.

use super::*;

fn id() -> RequestId {
    RequestId::new("q-1")
}

/// Bytes of the list of headers, as HTTP/2 counts them.
fn trailers(status: &Status) -> usize {
    let mut headers = tonic::codegen::http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
}

/// What a client decodes from the trailers.
fn received(status: &Status) -> Status {
    let mut headers = tonic::codegen::http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    Status::from_header_map(&headers).unwrap()
}

#[test]
fn a_fault_arrives_with_every_detail() {
    let fault = Fault::not_found(Reason::RunNotFound, "run", "r 1").with("run_id", "r-1").retry_after(1_500);
    let fault = fault.at("run_id", "is not here");
    let status = received(&status(&fault, Some(&id())));
    assert_eq!((status.code(), status.message()), (Code::NotFound, "there is no run `r 1` here"));
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!((info.domain.as_str(), info.reason.as_str()), ("antiphon", "RUN_NOT_FOUND"));
    assert_eq!(info.metadata["run_id"], "r-1");
    assert_eq!(details.retry_info().unwrap().retry_delay, Some(Duration::from_millis(1_500)));
    assert_eq!(details.bad_request().unwrap().field_violations[0].field, "run_id");
    let resource = details.resource_info().unwrap();
    assert_eq!((resource.resource_type.as_str(), resource.resource_name.as_str()), ("run", "r 1"));
    assert_eq!(details.request_info().unwrap().request_id, "q-1");
    assert_eq!(status.metadata().get(RUN_ID_HEADER).unwrap(), "r-1");
    assert_eq!(status.metadata().get(REQUEST_ID_HEADER).unwrap(), "q-1");
}

#[test]
fn what_is_absent_is_not_told() {
    let status = status(&Fault::new(Reason::Internal, "m"), None);
    let details = status.get_error_details();
    assert!(details.retry_info().is_none() && details.bad_request().is_none());
    assert!(details.resource_info().is_none() && details.request_info().is_none());
    assert!(status.metadata().is_empty());
}

#[test]
fn b146_new_lines_cjk_and_20_kb_arrive_bounded() {
    // A provider's message went raw into a header, and clients lost the real status.
    let text = format!("line1\nline2 模型不存在 %41{}", "語é".repeat(4_000));
    let fault = Fault::new(Reason::ProviderRefusedRequest, &text)
        .with("provider_code", "é\r\nx: y")
        .with("run_id", "語")
        .with("long", &text);
    let status = status(&fault, Some(&id()));
    assert!(trailers(&status) < 8 * 1024, "{}", trailers(&status));
    let status = received(&status);
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().starts_with("line1\nline2 模型不存在 %41"), "{}", status.message());
    assert!(status.message().ends_with(" [cut]") && status.message().len() > 500);
    let info = status.get_error_details().error_info().cloned().unwrap();
    assert_eq!(info.metadata["provider_code"], "é  x: y");
    assert!(info.metadata["long"].len() <= MAX_FACT && info.metadata["long"].ends_with("..."));
    assert!(status.metadata().get(RUN_ID_HEADER).is_none(), "no header carries it");
}

#[test]
fn a_long_ascii_message_is_cut_to_what_fits() {
    for text in ["a", " ", "%", "語", "\u{0}", "𝄞"] {
        for length in [1, 700, 3_000, 50_000] {
            let fault = Fault::new(Reason::ProviderUnavailable, text.repeat(length));
            let status = status(&fault, Some(&id()));
            assert!(trailers(&status) < 8 * 1024, "{text:?} {length}: {}", trailers(&status));
            assert!(status.message().len() <= MAX_MESSAGE);
            assert_eq!(received(&status).message(), status.message());
        }
    }
}

#[test]
fn many_fields_are_counted_where_they_do_not_fit() {
    let field = |n: usize| crate::domain::fault::Field {
        path: format!("request.messages[{n}].parts[0].text.text"),
        message: "must not be empty: leave the part out".to_owned(),
    };
    let fault = Fault::fields((0..64).map(field).collect()).with(FIELDS_LEFT_OUT, 936);
    let status = status(&fault, Some(&id()));
    assert!(trailers(&status) < 8 * 1024, "{}", trailers(&status));
    let details = status.get_error_details();
    let named = details.bad_request().unwrap().field_violations.len();
    assert!((10..64).contains(&named), "{named}");
    assert_eq!(details.error_info().unwrap().metadata[FIELDS_LEFT_OUT], (1_000 - named).to_string());
    assert!(status.message().ends_with(&format!("; and {} more", 1_000 - named)), "{}", status.message());
}

#[test]
fn many_facts_and_fields_fit_together() {
    let mut fault = Fault::new(Reason::InvalidFields, "語".repeat(9_000));
    for n in 0..100 {
        fault = fault.with(&format!("fact_{n}"), "語".repeat(300)).at("f".repeat(400), "語".repeat(400));
    }
    let status = status(&fault, Some(&id()));
    assert!(trailers(&status) < 8 * 1024, "{}", trailers(&status));
    assert!(status.message().starts_with("語語語"));
}

#[test]
fn codes_are_those_of_the_list() {
    // The list is the proto itself, so that neither can change alone.
    let proto = include_str!("../../../proto/antiphon/v1/error.proto");
    let mut checked = 0;
    let mut comment = String::new();
    for line in proto.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("// ") {
            comment.push_str(text);
            comment.push(' ');
            continue;
        }
        let word = line.strip_prefix("ERROR_REASON_").and_then(|rest| rest.split_once(" =")).map(|(word, _)| word);
        if let Some(reason) = word.and_then(Reason::from_word) {
            let promised = comment.split([':', ',']).next().unwrap_or_default().to_owned();
            let named = format!("{:?}", code(&Fault::new(reason, ""))).to_uppercase();
            assert!(promised.replace('_', "").contains(&named), "{}: {promised} is not {named}", reason.word());
            checked += 1;
        }
        comment.clear();
    }
    assert!(checked > 50, "{checked}");
    assert_eq!(code(&Fault::new(Reason::LimitExceeded, "").at("x", "y")), Code::InvalidArgument);
}

#[tokio::test]
async fn b139_a_panic_becomes_internal_without_its_words() {
    let fault = guarded(async { if true { panic!("secret words") } else { Ok(()) } }).await.unwrap_err();
    assert_eq!(fault.reason, Reason::Internal);
    assert!(!format!("{fault:?}").contains("secret"));
    assert_eq!(guarded(async { Ok(1) }).await, Ok(1));
}

#[test]
fn answers_have_the_headers() {
    let answer = response((), Some(&id()), Some(&RunId::new("r-1")));
    assert_eq!(answer.metadata().get(RUN_ID_HEADER).unwrap(), "r-1");
    assert_eq!(answer.metadata().get(REQUEST_ID_HEADER).unwrap(), "q-1");
    let mut extensions = Extensions::new();
    assert_eq!(RequestId::of(&extensions), None);
    extensions.insert(id());
    assert_eq!(RequestId::of(&extensions), Some(&id()));
}

#[test]
fn a_coordination_ends_with_the_status_of_what_ended_it() {
    let of = |outcome: &Outcome| ended(outcome, Some(&id())).map(|status| received(&status));
    assert!(of(&Outcome::Stopped).is_none() && of(&Outcome::Exhausted).is_none());
    for (reason, code) in [
        (Reason::Deadline, Code::DeadlineExceeded),
        (Reason::RunCancelled, Code::Cancelled),
        (Reason::ProviderUnavailable, Code::Unavailable),
    ] {
        let fault = Fault::new(reason, "m").with("run_id", "r-1").retry_after(10);
        for outcome in [Outcome::Cancelled(fault.clone()), Outcome::Failed(Failure::Execution(fault.clone()))] {
            let ended = of(&outcome).unwrap();
            assert_eq!((ended.code(), ended.message()), (code, "m"));
            let details = ended.get_error_details();
            assert_eq!(details.error_info().unwrap().reason, reason.word());
            assert!(details.retry_info().is_some());
            assert_eq!(ended.metadata().get(RUN_ID_HEADER).unwrap(), "r-1");
        }
    }
}

fn by_caller(failure: CallerFailure) -> Status {
    let status = ended(&Outcome::Failed(Failure::Caller(failure)), Some(&id())).unwrap();
    assert!(trailers(&status) < 8 * 1024, "{}", trailers(&status));
    received(&status)
}

#[test]
fn a_callers_failure_has_the_callers_words() {
    let failure = CallerFailure {
        code: 14,
        message: "nobody is there".to_owned(),
        reason: "REVIEWER_UNAVAILABLE".to_owned(),
        domain: "review.example".to_owned(),
        metadata: BTreeMap::from([("run_id".to_owned(), "theirs".to_owned())]),
        details_json: "{\"in\":\"ended only\"}".to_owned(),
    };
    let status = by_caller(failure.clone());
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "nobody is there"));
    let info = status.get_error_details().error_info().cloned().unwrap();
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("REVIEWER_UNAVAILABLE", "review.example"));
    assert_eq!(info.metadata["run_id"], "theirs");
    assert_eq!(status.get_error_details().request_info().unwrap().request_id, "q-1");
    assert_eq!(status.metadata().get(REQUEST_ID_HEADER).unwrap(), "q-1");
    assert!(status.metadata().get(RUN_ID_HEADER).is_none(), "the id is the caller's fact, not the run's");
    for code in 1..=16 {
        assert_eq!(by_caller(CallerFailure { code, ..failure.clone() }).code(), Code::from_i32(code));
    }
}

#[test]
fn a_callers_failure_is_cut_like_any_other() {
    let facts = (0..64).map(|n| (format!("{n}{}", "k".repeat(60)), "語\r\n".repeat(340)));
    let status = by_caller(CallerFailure {
        code: 2,
        message: "é".repeat(2_048),
        reason: "R".repeat(63),
        domain: "語".repeat(128),
        metadata: facts.collect(),
        details_json: String::new(),
    });
    assert!(status.message().starts_with("ééé") && status.message().ends_with(" [cut]"));
    let info = status.get_error_details().error_info().cloned().unwrap();
    assert!(!info.metadata.is_empty() && info.metadata.values().all(|fact| fact.len() <= MAX_FACT));
    assert!(info.metadata.values().all(|fact| !fact.contains('\r')));
}
