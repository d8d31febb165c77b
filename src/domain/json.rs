//! JSON as text: how deep it is nested, found without reading it, so that what reads it afterwards may recurse. It must not know whether it is
//! JSON at all.

/// How deep brackets are nested outside of strings.
pub fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// What is said of a text that is nested deeper than is taken; absent where it is not.
pub fn too_deep(text: &str, max: usize) -> Option<String> {
    let levels = depth(text);
    (levels > max).then(|| format!("is nested {levels} levels deep: at most {max} are taken; make it flatter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_outside_of_strings() {
        assert_eq!(depth(r#"["\"[[[[\\", "]", {}]"#), 2);
        assert_eq!(depth(&"[".repeat(100_000)), 100_000);
        assert_eq!(depth("7"), 0);
        assert_eq!(too_deep("[[]]", 2), None);
        assert_eq!(too_deep("[[[]]]", 2).unwrap(), "is nested 3 levels deep: at most 2 are taken; make it flatter");
    }
}
