//! What buf does not check: that each field of the API says whether a caller must, may or cannot set it. It must not know
//! what the fields are for.

/// How the comment of a field starts; a full stop follows, or a comma and when it holds.
const MARKS: &[&str] = &["Required", "Optional", "Output only", "Immutable"];

/// Every field of a message, or the oneof it stands in, opens its comment with one of the marks.
pub(crate) fn fields(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut blocks: Vec<&str> = Vec::new();
    let mut comment: Option<&str> = None;
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if let Some(said) = line.strip_prefix("//") {
            // A comment of several lines is known by its first.
            comment = comment.or(Some(said.trim()));
            continue;
        }
        let code = line.split("//").next().unwrap_or_default().trim();
        let opens = code.split_whitespace().next().filter(|_| code.contains('{'));
        let is_field = blocks.last() == Some(&"message") && (opens == Some("oneof") || is_declaration(code));
        if is_field && !comment.is_some_and(is_marked) {
            found.push(format!("{path}:{}: `{code}` opens its comment with one of {}", at + 1, MARKS.join(", ")));
        }
        if let Some(kind) = opens {
            blocks.push(kind);
        }
        if code.ends_with('}') {
            blocks.pop();
        }
        comment = None;
    }
    found
}

fn is_marked(comment: &str) -> bool {
    MARKS.iter().filter_map(|m| comment.strip_prefix(m)).any(|rest| rest.starts_with(['.', ',']))
}

/// `string name = 1;`, not `reserved 1;` or `option x = y;`.
fn is_declaration(code: &str) -> bool {
    let first = code.split_whitespace().next().unwrap_or_default();
    code.ends_with(';') && code.contains('=') && !matches!(first, "option" | "reserved")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_does_not_say_who_sets_it_is_found() {
        let text = "
            // A thing.
            message Thing {
              reserved 9;
              // Required. Its id,
              // which is long.
              string id = 1;
              // Its name.
              string name = 2;
              string bare = 3;
              // Output only, but for one case. Its count.
              int32 count = 6;
              // Optionally so.
              int32 other_count = 7;
              // Optional. One of these.
              oneof kind {
                // A text.
                string text = 4;
              }
              // One of those.
              oneof other {
                // A number.
                int32 number = 5;
              }
              // Nothing.
              enum Kind {
                // Not set.
                KIND_UNSPECIFIED = 0;
              }
            }
            // Not set.
            message Empty {}
            enum E { E_UNSPECIFIED = 0; }";
        let found = fields("a.proto", text);
        let at: Vec<&str> = found.iter().filter_map(|f| f.split('`').nth(1)).collect();
        assert_eq!(at, ["string name = 2;", "string bare = 3;", "int32 other_count = 7;", "oneof other {"]);
    }
}
