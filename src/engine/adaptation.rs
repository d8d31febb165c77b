//! Adaptations in words for people: why what goes out is not just what was said. It must not know how any backend adapts.

use crate::domain::settings::Warning;

/// The words that have a sentence here. A backend may have others, which speak for themselves.
const WHY: [(&str, &str); 36] = [
    ("assistant_media_dropped", "images and files in answers are not sent, since the dialect takes none there"),
    (
        "blank_text_dropped",
        "texts of nothing but white space are not sent, since providers or their models refuse them",
    ),
    (
        "cache_markers_dropped",
        "cache markers are left out, since the backend takes none, no more, or none in that place",
    ),
    (
        "call_id_replaced",
        "ids of tool calls are replaced by others, since the backend wants unique ones of its own form",
    ),
    ("contract_name_changed", "the name of the contract is sent in the characters that the backend takes"),
    (
        "contract_not_sent",
        "the contract is not sent, since the backend takes none, or none beside tools; the answer is checked all the same",
    ),
    (
        "empty_message_dropped",
        "answers of which nothing can be sent are left out, since the backend takes no empty message",
    ),
    ("empty_text_dropped", "empty texts beside others are not sent, since providers refuse them"),
    ("file_name_dropped", "names of files are not sent, since the dialect has no field for them"),
    ("file_sent_as_plain_text", "a file of text is sent as text, since the backend takes it so"),
    ("foreign_data_dropped", "data that another provider attached is not sent, since only its issuer understands it"),
    (
        "foreign_reasoning_dropped",
        "reasoning of another provider or model is not sent, since only its issuer takes it back",
    ),
    ("history_narrowed", "a part of the history is not sent, since the request has a `history_view`"),
    (
        "history_tools_named",
        "tools that the history calls are named and none may be called, since the backend takes no calls in a request without tools",
    ),
    ("image_detail_dropped", "the level of detail of images is not sent, since the backend takes none"),
    ("images_moved", "images are sent before the text of their message, since the dialect has one place for them"),
    (
        "invalid_arguments_wrapped",
        "arguments of a call that are no JSON object are sent inside one, since the backend takes no others",
    ),
    (
        "max_tokens_filled",
        "the limit of the answer's tokens is the one that is configured for the backend, since the dialect demands one",
    ),
    ("not_streamed", "the answer is asked for in one piece, since the backend does not stream"),
    ("reasoning_dropped", "reasoning is not sent back, since the backend takes none in that form"),
    ("refusal_sent_as_text", "refusals are sent as text, since the backend has no field for them"),
    ("replaced_invalid_unicode", "text that no UTF-8 can hold is replaced by its replacement character"),
    (
        "schema_not_sent",
        "the schema of the contract is not sent, since the backend takes none; the answer is checked all the same",
    ),
    (
        "schema_words_dropped",
        "words of a schema that the backend does not know are left out of it; the answer is checked against all of them",
    ),
    ("session_id_dropped", "the session id is not sent, since the backend has no field for it"),
    (
        "signature_stand_in_sent",
        "a word that is configured stands in for a signature that calls of another model do not have, since the backend demands one",
    ),
    (
        "system_sent_as_user",
        "messages of the system are sent as the user's, since the backend takes none in that place",
    ),
    ("texts_joined", "several texts of a message are sent as one, since the backend takes one"),
    ("tool_error_flag_dropped", "that a tool failed is said by its text alone, since the dialect has no flag for it"),
    ("tool_name_changed", "names of tools are sent in the characters that the backend takes"),
    (
        "tool_result_media_moved",
        "images in results of tools are sent in a user's message after them, since the backend takes none in results",
    ),
    (
        "tool_result_wrapped",
        "results of tools that are no JSON object are sent inside one, since the backend takes no others",
    ),
    (
        "tool_results_reordered",
        "results of tools are sent in the order of their calls, since the backend knows them by their place",
    ),
    ("tools_not_sent", "tools are not sent, since none may be called and the dialect cannot say so otherwise"),
    (
        "trailing_space_trimmed",
        "white space at the end of an answer that the model goes on with is not sent, since the backend refuses it",
    ),
    (
        "unknown_parts_dropped",
        "parts that have no word in this API are not sent, since only their provider understands them",
    ),
];

/// What is adapted and why, one for each word.
pub fn explain(words: &[String], backend_id: &str) -> Vec<Warning> {
    let explain = |word: &String| {
        let known = WHY.iter().find(|(known, _)| known == word).map(|(_, why)| (*why).to_owned());
        let message =
            known.unwrap_or_else(|| format!("{}, since backend `{backend_id}` wants it so", word.replace('_', " ")));
        Warning { code: word.clone(), message }
    };
    words.iter().map(explain).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_word_is_told_and_a_new_one_speaks_for_itself() {
        let words = ["texts_joined".to_owned(), "shoes_polished".to_owned()];
        let told = explain(&words, "b");
        assert!(told[0].message.contains("as one"));
        assert_eq!(
            (told[1].code.as_str(), told[1].message.as_str()),
            ("shoes_polished", "shoes polished, since backend `b` wants it so")
        );
        assert!(WHY.is_sorted());
    }

    /// The words that the sources of backends add, each said where it is added.
    fn added(folder: &Path, words: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                added(&path, words);
            }
            let is_code = path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs");
            let source = if is_code { std::fs::read_to_string(&path).unwrap() } else { String::new() };
            for (at, call) in source.match_indices("adapted.add(") {
                let argument = source[at + call.len()..].split(')').next().unwrap();
                let said: Vec<&str> = argument.split('"').skip(1).step_by(2).collect();
                assert!(!said.is_empty(), "{}: `{call}{argument})` says no word", path.display());
                words.extend(said.into_iter().map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_word_that_a_backend_adds_has_a_sentence_and_no_other_has() {
        let mut words = BTreeSet::from(["history_narrowed".to_owned()]);
        added(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/backend"), &mut words);
        let told: BTreeSet<String> = WHY.iter().map(|(word, _)| (*word).to_owned()).collect();
        let difference = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
        assert_eq!((difference(&words, &told), difference(&told, &words)), (Vec::new(), Vec::new()));
    }
}
