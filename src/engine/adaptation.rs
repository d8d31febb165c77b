//! Adaptations in words for people: why what goes out is not just what was said. It must not know how any backend adapts.

use crate::domain::settings::Warning;

/// The words that have a sentence here. A backend may have others, which speak for themselves.
const WHY: [(&str, &str); 24] = [
    ("assistant_media_dropped", "images and files in answers are not sent, since the dialect takes none there"),
    ("blank_text_dropped", "a text of white space beside tool calls is not sent, since some models refuse it"),
    ("cache_markers_dropped", "cache markers are not sent, since the backend takes none"),
    (
        "call_id_replaced",
        "ids of tool calls are replaced by others, since the backend wants unique ones of its own form",
    ),
    ("contract_name_changed", "the name of the contract is sent in the characters that the backend takes"),
    ("contract_not_sent", "the contract is not sent, since the backend takes none; the answer is checked all the same"),
    ("empty_text_dropped", "empty texts beside others are not sent, since providers refuse them"),
    ("file_sent_as_plain_text", "a file of text is sent as text, since the backend takes it so"),
    ("foreign_data_dropped", "data that another provider attached is not sent, since only its issuer understands it"),
    ("history_narrowed", "a part of the history is not sent, since the request has a `history_view`"),
    ("image_detail_dropped", "the level of detail of images is not sent, since the backend takes none"),
    (
        "invalid_arguments_wrapped",
        "arguments of a call that are no JSON object are sent inside one, since the backend takes no others",
    ),
    ("not_streamed", "the answer is asked for in one piece, since the backend does not stream"),
    ("reasoning_dropped", "reasoning is not sent back, since the backend takes none in that form"),
    ("refusal_sent_as_text", "refusals are sent as text, since the backend has no field for them"),
    ("replaced_invalid_unicode", "text that no UTF-8 can hold is replaced by its replacement character"),
    (
        "schema_not_sent",
        "the schema of the contract is not sent, since the backend takes none; the answer is checked all the same",
    ),
    ("session_id_dropped", "the session id is not sent, since the backend has no field for it"),
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
}
