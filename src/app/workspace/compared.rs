//! Comparing two versions of documents, a page at a time, with what changed in texts. It must not judge.

use std::time::Duration;

use similar::TextDiff;

use super::{Found, MAX_WHOLE_BYTES, Version, following, is_within};
use crate::app::{App, Caller};
use crate::domain::fault::Fault;
use crate::domain::id::Namespace;
use crate::domain::workspace::{Document, Root};
use crate::store::ledger::Pair;

/// After so long, in milliseconds, the rest of two texts is told as changed without looking for what they share: texts without a common
/// line would take the square of their length.
const DIFF_PATIENCE: Duration = Duration::from_millis(300);
/// Longest difference of two texts that is told, in bytes.
const MAX_DIFF_BYTES: usize = 3 * 1024 * 1024;
/// How many pairs are looked for at a time.
const BATCH: usize = 64;

/// A page of documents that differ.
#[derive(Clone, Debug, Default)]
pub struct DocumentsPage {
    /// Pairs that are not the same, by name, each with what changed in it where that was asked for and can be told.
    pub pairs: Vec<(Pair, String)>,
    /// The name after which the next page begins; empty where a page that had no room told none.
    pub next: Option<String>,
}

impl App {
    /// Compares two versions.
    ///
    /// # Errors
    /// When one of them is not there.
    pub async fn diff_documents(
        &self,
        caller: &Caller,
        (left, right): (&Version, &Version),
        prefix: &str,
        after: Option<&str>,
        unified: bool,
        limit: usize,
    ) -> Result<(DocumentsPage, Found, Found), Fault> {
        let left = self.find_version(caller, left, "left").await?;
        let right = self.find_version(caller, right, "right").await?;
        let roots = (left.root, right.root);
        let page = self.differing(&caller.namespace, roots, prefix, after, unified, limit).await?;
        Ok((page, left, right))
    }

    /// A page of documents in which two versions that are there differ. When one was written does not count.
    pub(in crate::app) async fn differing(
        &self,
        namespace: &Namespace,
        (left, right): (Root, Root),
        prefix: &str,
        after: Option<&str>,
        unified: bool,
        limit: usize,
    ) -> Result<DocumentsPage, Fault> {
        let mut page = DocumentsPage::default();
        let mut from = after.map_or_else(|| prefix.to_owned(), following);
        let mut bytes = 0_usize;
        loop {
            let found = self.ledger.differences(namespace, left, right, &from, BATCH).await;
            let found = self.of_versions(namespace, &[left, right], found).await?;
            let is_last = found.len() < BATCH;
            for pair in found {
                if !is_within(&pair, prefix) {
                    return Ok(page);
                }
                from = following(pair.name());
                if let (Some(one), Some(other)) = (&pair.left, &pair.right)
                    && one.is_same(other)
                {
                    continue;
                }
                if page.pairs.len() == limit || bytes >= self.limits.max_page_bytes {
                    let last = page.pairs.last().map(|(last, _)| last.name()).or(after).unwrap_or_default();
                    page.next = Some(last.to_owned());
                    return Ok(page);
                }
                let diff = if unified { self.unified(namespace, (left, right), &pair).await? } else { String::new() };
                let sides = [&pair.left, &pair.right].into_iter().flatten();
                bytes += diff.len() + sides.map(|side| side.name.len() + side.metadata_json.len()).sum::<usize>();
                page.pairs.push((pair, diff));
            }
            if is_last {
                return Ok(page);
            }
        }
    }

    /// What changed in a text; empty where one side is no text, or one is too large.
    async fn unified(&self, namespace: &Namespace, (left, right): (Root, Root), pair: &Pair) -> Result<String, Fault> {
        let (Some(left), Some(right)) = (
            self.text(namespace, left, pair.left.as_ref()).await?,
            self.text(namespace, right, pair.right.as_ref()).await?,
        ) else {
            return Ok(String::new());
        };
        let name = pair.name().to_owned();
        let told = tokio::task::spawn_blocking(move || unified(&name, &left, &right)).await;
        Ok(told.unwrap_or_default())
    }

    /// A document as text; a side that is not there is empty, and absent is what is no text or too large.
    async fn text(
        &self,
        namespace: &Namespace,
        root: Root,
        document: Option<&Document>,
    ) -> Result<Option<String>, Fault> {
        let Some(document) = document else { return Ok(Some(String::new())) };
        if document.size_bytes > MAX_WHOLE_BYTES {
            return Ok(None);
        }
        let pieces = self.of_versions(namespace, &[root], self.ledger.pieces(namespace, document).await).await?;
        Ok(String::from_utf8(self.content(namespace, root, &pieces).await?.to_vec()).ok())
    }
}

fn unified(name: &str, left: &str, right: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_PATIENCE).diff_lines(left, right);
    let told = diff.unified_diff().header(name, name).to_string();
    if told.len() > MAX_DIFF_BYTES { String::new() } else { told }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_told_with_what_is_around_them() {
        let told = unified("plan", "a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(told, "--- plan\n+++ plan\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(unified("plan", "a\n", "a\n"), "");
    }

    #[test]
    fn texts_without_a_common_line_take_no_forever_and_what_is_too_long_to_tell_is_left_out() {
        let text = |odd: usize| (0..60_000).map(|number| format!("{}\n", number * 2 + odd)).collect::<String>();
        assert!(unified("n", &text(0), &text(1)).starts_with("--- n\n"));
        assert_eq!(unified("n", &"\n".repeat(1 << 20), &"x\n".repeat(1 << 19)), "");
    }
}
