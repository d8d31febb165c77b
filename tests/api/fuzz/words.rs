//! Words that a server reads as rules: configurations, prompts and schemas, broken at random or made of what they may say. It must not know what
//! each of them means.

use std::path::Path;

use antiphon::grpc::pb;
use serde_json::{Value, json};

use super::dice::{Dice, rounds};
use super::is_refusal;
use crate::support::server::{Running, scripted};
use crate::support::{ask, within};

/// A configuration some of whose values are others, or whose lines come twice or in other places.
fn other_values(dice: &mut Dice, right: &str) -> String {
    const VALUES: [&str; 14] = [
        "0",
        "-1",
        "1e400",
        "nan",
        "9223372036854775807",
        "99999999999999999999",
        "true",
        "\"\"",
        "\"\\u0000\"",
        "[]",
        "{}",
        "[[1], [2, [3]]]",
        "1979-05-27T07:32:00Z",
        "{ a = { b = { c = 1 } } }",
    ];
    const KEYS: [&str; 9] = [
        "kind",
        "capacity",
        "queue_limit",
        "retry",
        "timeouts",
        "model",
        "[limits]\nmax_runs",
        "[server]\nmax_connections",
        "[store]\ncache_mebibytes",
    ];
    let mut lines: Vec<String> = right.lines().map(str::to_owned).collect();
    for _ in 0..=dice.roll(4) {
        let (at, to) = (dice.roll(lines.len()), dice.roll(lines.len()));
        let key = lines[at].split_once('=').map_or_else(|| lines[at].clone(), |(key, _)| key.to_owned());
        match dice.roll(5) {
            0 => lines.swap(at, to),
            1 => lines.insert(to, lines[at].clone()),
            2 => lines[at] = format!("{} = {}", dice.one(&KEYS), dice.one(&VALUES)),
            _ => lines[at] = format!("{key} = {}", dice.one(&VALUES)),
        }
    }
    lines.join("\n")
}

/// A prompt with pieces of templates in it that mean much work, or nothing.
fn template(dice: &mut Dice, right: &str) -> String {
    const PIECES: [&str; 14] = [
        "{% for x in range(1000000) %}{{ x }}{% endfor %}",
        "{% for x in range(99999) %}{% for y in range(99999) %}{% for z in range(99999) %}.{% endfor %}{% endfor %}{% endfor %}",
        "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "{% for x in name recursive %}{{ loop(x) }}{% endfor %}",
        "{{ 'x' * 100000000 }}",
        "{{ name | replace('', name) | upper | reverse }}",
        "{{ 9223372036854775807 + 1 }}{{ 1 / 0 }}{{ 2 ** 100000 }}",
        "{% include 'p' %}{% extends 'p' %}{% import 'p' as p %}",
        "{% set x = [] %}{% set x = [x, x] %}{{ x }}",
        "{{ self.__class__ }}{{ name.__init__.__globals__ }}",
        "{% if name is defined and not %}{% endif %}",
        "{{ (((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))) }}",
        "{% raw %}{{ {% endraw %}",
        "---\nid: p\n---\nassistant:\n",
    ];
    let mut lines: Vec<String> = right.lines().map(str::to_owned).collect();
    for _ in 0..=dice.roll(2) {
        let at = dice.roll(lines.len());
        let piece: &str = dice.one::<&str>(&PIECES);
        lines[at].push_str(piece);
    }
    format!("{}\n", lines.join("\n"))
}

/// A schema made of what schemas may say, so deep.
fn schema(dice: &mut Dice, depth: usize) -> Value {
    if depth == 0 {
        return dice
            .one(&[
                json!(true),
                json!(false),
                json!({}),
                json!({"type": "integer"}),
                json!({"$ref": "#"}),
                json!({"$ref": "#/$defs/gone"}),
                json!({"$ref": "#/properties/a"}),
                json!({"$ref": "https://example.com/schema"}),
                json!({"$dynamicRef": "#node"}),
                json!({"type": "nothing"}),
            ])
            .clone();
    }
    let mut made = serde_json::Map::new();
    for _ in 0..=dice.roll(4) {
        let (which, inner) = (dice.roll(16), schema(dice, depth - 1));
        let (key, value) = match which {
            0 => ("type", json!(["object", "array", "null"])),
            1 => ("properties", json!({"a": inner, "": true, "\u{0}": false})),
            2 => ("items", inner),
            3 => ("anyOf", json!([inner])),
            4 => ("allOf", json!([inner, {"$ref": "#"}])),
            5 => ("not", inner),
            6 => ("if", inner),
            7 => ("$defs", json!({"n": inner, "node": {"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}})),
            8 => {
                ("pattern", json!(*dice.one(&["^(a+)+$", "(?=x)", "[", "(a{1,1000}){1,1000}", "\\p{L}*", "(.*)*\\1"])))
            }
            9 => ("minLength", json!(*dice.one(&[0_i64, -1, i64::MAX]))),
            10 => ("multipleOf", json!(*dice.one(&[0.0, -1.5, 1e-300, 1e308]))),
            11 => ("enum", json!(vec![dice.roll(9); dice.roll(2000)])),
            12 => ("additionalProperties", inner),
            13 => ("patternProperties", json!({"(a*)*b": inner, "[": true})),
            14 => ("$id", json!(*dice.one(&["#", "urn:x", "https://example.com/a", "../..", "\u{0}"]))),
            _ => ("required", json!(["a", "a", ""])),
        };
        made.insert(key.to_owned(), value);
    }
    Value::Object(made)
}

/// Configurations and prompts, as a server reads them when it starts or reloads.
#[tokio::test(flavor = "multi_thread")]
async fn configurations_and_prompts_that_are_broken_change_nothing() {
    let mut dice = Dice::new("configurations");
    let prompt = "---\nid: p\ndescription: d\nvariables:\n  - { name: name, type: string }\n---\nuser:\nHello {{ name }}, {% for x in [1, 2] %}{{ x }}{% endfor %}\n";
    let right =
        format!("{}\n[contracts.c]\nschema = '{{\"type\":\"object\"}}'\n[log]\nlevel = \"off\"\n", scripted(""));
    let right = format!("prompts_dir = \"prompts\"\n{right}");
    let put = |folder: &Path, prompt: &[u8]| {
        std::fs::create_dir_all(folder.join("prompts")).unwrap();
        std::fs::write(folder.join("prompts/p.prompt"), prompt).unwrap();
    };
    let server = Running::start_beside(right.clone(), |folder| put(folder, prompt.as_bytes())).await;
    let file = server.folder().join("antiphon.toml");
    for round in 0..rounds() {
        let (config, text) = match round % 4 {
            0 => (dice.broken(right.as_bytes()), prompt.as_bytes().to_vec()),
            1 => (other_values(&mut dice, &right).into_bytes(), prompt.as_bytes().to_vec()),
            2 => (right.clone().into_bytes(), template(&mut dice, prompt).into_bytes()),
            _ => (right.clone().into_bytes(), dice.broken(prompt.as_bytes())),
        };
        std::fs::write(&file, &config).unwrap();
        put(&server.folder(), &text);
        let told = within("a reload", server.admin().reload(pb::ReloadRequest { dry_run: true })).await;
        let told = told.unwrap_or_else(|status| panic!("{status:?} for {:?}", String::from_utf8_lossy(&config)));
        assert!(!told.into_inner().applied);
    }
    server.exchanges().capture(ask::capture(ask::text("hi"))).await.unwrap();
}

/// Schemas that come with a request.
#[tokio::test(flavor = "multi_thread")]
async fn schemas_that_are_broken_are_refused_or_kept() {
    let mut dice = Dice::new("schemas");
    let server = Running::start(scripted("[[backends.script.rules]]\ntext = '{\"a\":[1]}'\n")).await;
    let right = r##"{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":3}},"required":["a"],"$defs":{"n":{"anyOf":[{"type":"integer","minimum":0},{"pattern":"^x+$"}]}}}"##;
    for round in 0..rounds() * 2 {
        let schema_json = match round % 2 {
            0 => String::from_utf8_lossy(&dice.broken(right.as_bytes())).into_owned(),
            _ => schema(&mut dice, 4).to_string(),
        };
        let form = pb::JsonSchemaContract { schema_json: schema_json.clone(), name: "n".into() };
        let contract = Some(pb::Contract { form: Some(pb::contract::Form::JsonSchema(form)) });
        let request = pb::ExecutionRequest { contract, ..ask::text("hi") };
        if let Err(status) = within("a schema", server.exchanges().capture(ask::capture(request))).await {
            is_refusal("schema", schema_json.as_bytes(), &status);
        }
    }
}
