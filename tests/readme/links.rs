//! That links inside the repository lead somewhere.

use crate::markdown::{path, read};

const DOCUMENTS: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/configuration.md",
    "docs/continuing-and-branching.md",
    "docs/requirements.md",
];

/// The targets of the links in a text.
fn links(text: &str) -> Vec<String> {
    let target = |rest: &str| rest.split_once(')').map(|(target, _)| target.to_owned());
    text.split("](").skip(1).filter_map(target).collect()
}

/// How a heading is named in a link.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let mut lost = Vec::new();
    for document in DOCUMENTS {
        for link in links(&read(document)) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = std::path::Path::new(document).parent().unwrap();
            let target = if file.is_empty() { document.to_owned() } else { folder.join(file).display().to_string() };
            if !path(&target).exists() {
                lost.push(format!("{document}: {link}: no such file"));
            } else if !heading.is_empty() {
                let text = read(&target);
                let headings =
                    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#')));
                if !headings.into_iter().any(|found| found == heading) {
                    lost.push(format!("{document}: {link}: no such heading"));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}
