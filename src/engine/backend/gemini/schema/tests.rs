//! What schemas become.

use proptest::prelude::*;

use super::*;

fn convert(schema: &str) -> (Result<String, String>, Vec<String>) {
    let mut adapted = Adaptations::default();
    let converted = converted(schema, &mut adapted);
    (converted, adapted.words())
}

fn sent(schema: &str) -> String {
    convert(schema).0.unwrap()
}

#[test]
fn words_are_taken_as_they_are_or_said_otherwise() {
    for (schema, expected) in [
        ("true", "{}"),
        (
            r#"{"type":"integer","maximum":18446744073709551616}"#,
            r#"{"type":"integer","maximum":18446744073709551616}"#,
        ),
        (r#"{"type":["string","null"],"maxLength":3}"#, r#"{"type":"string","nullable":true,"maxLength":3}"#),
        (
            r#"{"type":["string","integer","null"]}"#,
            r#"{"anyOf":[{"type":"string"},{"type":"integer"}],"nullable":true}"#,
        ),
        (r#"{"type":"null"}"#, r#"{"type":"null"}"#),
        (r#"{"oneOf":[{"type":"string"},true]}"#, r#"{"anyOf":[{"type":"string"},{}]}"#),
        (r#"{"allOf":[{"type":"string"}],"description":"d"}"#, r#"{"type":"string","description":"d"}"#),
        (r#"{"const":"a"}"#, r#"{"enum":["a"]}"#),
        (r#"{"enum":["a",null,"b"]}"#, r#"{"enum":["a","b"]}"#),
        (r#"{"type":"array","items":{"type":"string"}}"#, r#"{"type":"array","items":{"type":"string"}}"#),
    ] {
        assert_eq!(sent(schema), expected, "{schema}");
    }
    for schema in [r#"{"$schema":"x"}"#, r#"{"additionalProperties":false}"#, r#"{"enum":[1,2]}"#, r#"{"x-mine":1}"#] {
        assert_eq!(convert(schema), (Ok("{}".to_owned()), vec!["schema_words_dropped".to_owned()]), "{schema}");
    }
}

#[test]
fn properties_may_have_the_names_of_words() {
    let schema = concat!(
        r#"{"type":"object","properties":{"$ref":{"type":"string"},"const":{"type":"string"},"#,
        r#""ref":{"type":"string"},"not":{"type":"object","properties":{"allOf":{"type":"null"}}}},"required":["$ref"]}"#,
    );
    assert_eq!(sent(schema), schema);
}

#[test]
fn references_are_written_out() {
    let schema = concat!(
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/p~1q"},"b":{"$ref":"#/$defs/p~1q","description":"here"}},"##,
        r##""$defs":{"p/q":{"type":"array","items":{"$ref":"#/definitions/n"}}},"definitions":{"n":{"type":"number"}}}"##,
    );
    let array = r#"{"type":"array","items":{"type":"number"}}"#;
    let expected = format!(r#"{{"type":"object","properties":{{"a":{array},"b":{array}}}}}"#);
    assert_eq!(sent(schema), expected);
}

#[test]
fn what_cannot_be_said_is_named() {
    for (schema, named) in [
        (r##"{"type":"object","properties":{"child":{"$ref":"#"}}}"##, "`#` leads to itself"),
        (r##"{"$ref":"#/$defs/x"}"##, "`#/$defs/x` leads nowhere"),
        (r##"{"$ref":"#/$defs/x","minLength":1,"$defs":{"x":{}}}"##, "beside a `$ref`"),
        ("false", "`false`"),
        (r#"{"not":{}}"#, "`not`"),
        (r#"{"allOf":[{},{}]}"#, "`allOf`"),
        (r#"{"items":[{}]}"#, "`items`"),
        (r#"{"anyOf":[{}],"oneOf":[{}]}"#, "`oneOf`"),
    ] {
        let wrong = convert(schema).0.unwrap_err();
        assert!(wrong.contains(named), "{schema}: {wrong}");
    }
}

/// A few lines that would be written out to more than a machine has.
#[test]
fn what_grows_too_far_is_refused_in_time() {
    let defs: Vec<String> = (0..40)
        .map(|at| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, at + 1);
            format!(r#""d{at}":{{"type":"object","properties":{{"a":{next},"b":{next}}}}}"#)
        })
        .collect();
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{"type":"string"}}}}}}"##, defs.join(","));
    assert!(convert(&schema).0.unwrap_err().contains("too deep or too long"));
}

proptest! {
    #[test]
    fn what_comes_out_is_json_or_nothing(schema in "\\{(\"(type|enum|items|anyOf|\\$ref)\":(\"#\"|\\[\\]|\\{\\}|1),?){0,3}\\}") {
        if let (Ok(json), _) = convert(&schema) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{} of {}", json, schema);
        }
    }
}
