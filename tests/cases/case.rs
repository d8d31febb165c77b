//! The cases as they were handed over. It must not know how they are run.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use crate::support::provider::{End, Entry, Step};

const CASES: &str = include_str!("cases.jsonl");

/// One case.
pub(crate) struct Case {
    value: Value,
}

impl Case {
    pub(crate) fn all() -> Vec<Case> {
        CASES.lines().map(|line| Case { value: serde_json::from_str(line).unwrap() }).collect()
    }

    pub(crate) fn load(id: &str) -> Case {
        let found = Case::all().into_iter().find(|case| case.id() == id);
        found.unwrap_or_else(|| panic!("there is no case {id}"))
    }

    pub(crate) fn id(&self) -> &str {
        self.value["id"].as_str().unwrap()
    }

    /// What else the case is made of.
    pub(crate) fn data(&self) -> &Value {
        &self.value["input"]["data"]
    }

    /// What the provider of the case answers, one entry a request. `now` fills in what the case leaves to the time of the run.
    pub(crate) fn script(&self, now: SystemTime) -> Vec<Entry> {
        let script = self.value["input"]["provider_script"].as_array().unwrap();
        script.iter().map(|entry| read_entry(entry, now)).collect()
    }
}

fn read_entry(value: &Value, now: SystemTime) -> Entry {
    let gap = value["gap_ms"].as_u64().map(|gap| Step::Gap(Duration::from_millis(gap)));
    let mut steps = Vec::new();
    for chunk in value["chunks"].as_array().unwrap() {
        if !steps.is_empty() {
            steps.extend(gap.clone());
        }
        let chunk = chunk.as_str().unwrap();
        steps.push(Step::Write(match value["chunk_encoding"].as_str().unwrap() {
            "base64" => Bytes::from(STANDARD.decode(chunk).unwrap()),
            "text" => Bytes::from(chunk.to_owned()),
            other => panic!("unknown encoding {other}"),
        }));
    }
    let headers = value["headers"].as_object().unwrap().iter();
    Entry {
        status: value["status"].as_u64().unwrap().try_into().unwrap(),
        headers: headers.map(|(name, value)| (name.clone(), fill(value.as_str().unwrap(), now).into_bytes())).collect(),
        steps,
        end: match value["end"].as_str().unwrap() {
            "close" => End::Close,
            "reset" => End::Reset,
            "hold_60s" => End::Hold,
            other => panic!("unknown end {other}"),
        },
        sized: false,
    }
}

fn fill(text: &str, now: SystemTime) -> String {
    let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return text.to_owned() };
    let seconds = inner.split(['+', 's']).find_map(|piece| piece.parse().ok()).unwrap();
    let moment = now + Duration::from_secs(seconds);
    match inner {
        _ if inner.starts_with("HTTP-date") => httpdate::fmt_http_date(moment),
        _ if inner.ends_with("RFC3339") => humantime::format_rfc3339(moment).to_string(),
        other => panic!("unknown filling {other}"),
    }
}

#[test]
fn moments_are_filled_in() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    assert_eq!(fill("<HTTP-date now+3s>", now), "Tue, 14 Nov 2023 22:13:23 GMT");
    assert_eq!(fill("<now+4s RFC3339>", now), "2023-11-14T22:13:24Z");
    assert_eq!(fill("86400", now), "86400");
}
