//! The files of the checkout, read once for a check. It must not know any rule.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::rust;

/// Folders of things that are built, installed or somebody else's.
const NOT_OURS: &[&str] =
    &["target", "dist", "node_modules", "__pycache__", ".git", ".tools", ".antiphon", ".venv", "venv"];
/// Files without text; unreadable ones are skipped by their contents, these by their size.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// A text file.
pub(crate) struct File {
    /// Relative to the checkout, with slashes.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) text: String,
}

/// All text files of the checkout.
pub(crate) struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// Reads the checkout that this test was built from.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        collect(root, root, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let tree = Self { files };
        assert!(tree.files("src/", ".rs").count() > 1, "no source found under {}", root.display());
        tree
    }

    /// Files under a folder whose names end so.
    pub(crate) fn files<'a>(&'a self, folder: &'a str, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |f| f.path.starts_with(folder) && f.path.ends_with(end))
    }

    /// What a rule finds in every file under a folder.
    pub(crate) fn each(&self, folder: &str, rule: fn(&str, &str) -> Vec<String>) -> Vec<String> {
        self.files(folder, "").flat_map(|f| rule(&f.path, &f.text)).collect()
    }

    /// What a rule finds in every Rust file under a folder, those of the clients aside: they are packages of their own.
    pub(crate) fn each_rust(&self, folder: &str, rule: fn(&str, &str) -> Vec<String>) -> Vec<String> {
        let ours = self.files(folder, ".rs").filter(|f| !f.path.starts_with("clients/"));
        ours.flat_map(|f| rule(&f.path, &f.text)).collect()
    }

    /// A file that must be there.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.files
            .iter()
            .find(|f| f.path == path)
            .map(|f| f.text.as_str())
            .unwrap_or_else(|| panic!("{path} is missing"))
    }

    /// Whether a folder has files; says so when a check is passed over because it has none.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        let there = self.files(folder, "").next().is_some();
        if !there {
            println!("not checked: there is no {folder} yet");
        }
        there
    }

    /// The code under a folder that is not a test, with its strings and without its comments.
    pub(crate) fn production(&self, folder: &str, without: &[&str]) -> String {
        self.join(folder, without, |f| {
            if rust::is_test_file(&f.path) {
                String::new()
            } else {
                rust::without_tests(&rust::without_comments(&f.text))
            }
        })
    }

    /// All code under a folder, with its strings and without its comments.
    pub(crate) fn literal(&self, folder: &str, without: &[&str]) -> String {
        self.join(folder, without, |f| rust::without_comments(&f.text))
    }

    fn join(&self, folder: &str, without: &[&str], text: impl Fn(&File) -> String) -> String {
        let wanted = self.files(folder, ".rs").filter(|f| !without.iter().any(|w| f.path.starts_with(w)));
        wanted.map(text).collect::<Vec<_>>().join("\n")
    }

    /// Each client of `clients/` with the files at its top.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (String, BTreeMap<String, String>)> {
        let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for file in self.files("clients/", "") {
            let mut parts = file.path.split('/').skip(1);
            if let (Some(client), Some(name), None) = (parts.next(), parts.next(), parts.next()) {
                found.entry(client.to_owned()).or_default().insert(name.to_owned(), file.text.clone());
            }
        }
        found.into_iter().filter(|(client, _)| client != "scenarios")
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot list {}: {e}", folder.display())) {
        let entry = entry.expect("an entry of a folder that was just listed");
        let kind = entry.file_type().expect("the kind of a file that was just listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            collect(root, &entry.path(), files);
        } else if kind.is_file() && entry.metadata().is_ok_and(|m| m.len() <= MAX_TEXT_BYTES) {
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            let path =
                entry.path().strip_prefix(root).expect("a file below the root").to_string_lossy().replace('\\', "/");
            files.push(File { path, text });
        }
    }
}

/// Fails with everything that was found.
pub(crate) fn report(found: Vec<String>) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// A line number for people.
pub(crate) fn line(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
}
