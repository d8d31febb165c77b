//! Versions of documents: whatever is done in whatever order, a version holds what a plain map would, and is named by that alone.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::World;
use crate::domain::id::{Hash, Moment};
use crate::domain::workspace::{Content, Document, Root};
use crate::store::Changes;

fn document(name: &str, words: u8) -> Document {
    Document {
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        size_bytes: u64::from(words),
        blake3: Hash([words; 32]),
        metadata_json: String::new(),
        updated_at: Moment(u64::from(words)),
        content: Content::Pieces(Vec::new()),
    }
}

async fn edit(world: &World, root: Root, edits: BTreeMap<String, Option<Document>>) -> (Root, usize) {
    let edited = world.ledger.edited(&world.ns, root, edits).await.unwrap();
    let made = edited.nodes.len();
    let mut changes = Changes::new();
    changes.keep_nodes(edited.nodes);
    world.ledger.commit(&world.ns, &changes).await.unwrap().unwrap();
    let sums = world.ledger.sums(&world.ns, edited.root).await.unwrap();
    assert_eq!(sums, Some((edited.documents, edited.bytes)));
    (edited.root, made)
}

async fn all(world: &World, root: Root) -> Vec<Document> {
    world.ledger.documents(&world.ns, root, "", usize::MAX, usize::MAX).await.unwrap()
}

fn edits() -> impl Strategy<Value = Vec<Vec<(u16, Option<u8>)>>> {
    let edit = (0..300_u16, prop::option::weighted(0.7, any::<u8>()));
    prop::collection::vec(prop::collection::vec(edit, 1..80), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_version_is_what_a_map_would_be_and_is_named_by_that_alone(steps in edits(), from in 0..300_u16) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            let mut model: BTreeMap<String, Document> = BTreeMap::new();
            let mut versions = vec![(None, model.clone())];
            for step in steps {
                let mut changes = BTreeMap::new();
                for (number, words) in step {
                    let name = format!("d{number}");
                    changes.insert(name.clone(), words.map(|words| document(&name, words)));
                }
                for (name, change) in &changes {
                    match change {
                        Some(document) => model.insert(name.clone(), document.clone()),
                        None => model.remove(name),
                    };
                }
                let (root, _) = versions.last().unwrap();
                let (root, _) = edit(&world, *root, changes).await;
                versions.push((root, model.clone()));
            }
            for (root, model) in &versions {
                assert_eq!(all(&world, *root).await, model.values().cloned().collect::<Vec<_>>());
                // In one go, out of nothing: another way to the same documents.
                let whole = model.iter().map(|(name, document)| (name.clone(), Some(document.clone()))).collect();
                assert_eq!(edit(&world, None, whole).await.0, *root);
                let from = format!("d{from}");
                let after = world.ledger.documents(&world.ns, *root, &from, 3, usize::MAX).await.unwrap();
                assert_eq!(after, model.range(from.clone()..).take(3).map(|(_, one)| one.clone()).collect::<Vec<_>>());
                assert_eq!(world.ledger.document(&world.ns, *root, &from).await.unwrap(), model.get(&from).cloned());
            }
            let (left, right) = (versions.first().unwrap(), versions.last().unwrap());
            let middle = &versions[versions.len() / 2];
            for (left, right) in [(left, right), (middle, right), (right, middle), (middle, middle)] {
                let found = world.ledger.differences(&world.ns, left.0, right.0, "", usize::MAX).await.unwrap();
                let mut expected = BTreeMap::new();
                for name in left.1.keys().chain(right.1.keys()) {
                    let pair = (left.1.get(name).cloned(), right.1.get(name).cloned());
                    if pair.0 != pair.1 {
                        expected.insert(name.clone(), pair);
                    }
                }
                let found: Vec<_> = found.into_iter().map(|pair| (pair.left, pair.right)).collect();
                assert_eq!(found, expected.into_values().collect::<Vec<_>>());
            }
        });
    }
}

#[tokio::test]
async fn a_write_costs_a_node_a_level_and_a_diff_reads_only_where_they_differ() {
    let world = World::new();
    let names: Vec<String> = (0..20_000).map(|number| format!("document/{number:05}")).collect();
    let whole = names.iter().map(|name| (name.clone(), Some(document(name, 1)))).collect();
    let (root, made) = edit(&world, None, whole).await;
    assert!(made > 400, "{made}");
    world.store.take_reads();
    let (changed, made) = edit(&world, root, [(names[7_777].clone(), Some(document(&names[7_777], 2)))].into()).await;
    assert!(made <= 6, "{made} nodes for one change");
    let (gets, scans) = world.store.take_reads();
    assert!(gets <= 24 && scans == 0, "{gets} reads for one change");
    let found = world.ledger.differences(&world.ns, root, changed, "", usize::MAX).await.unwrap();
    assert_eq!(found.iter().map(super::super::Pair::name).collect::<Vec<_>>(), [names[7_777].as_str()]);
    let (gets, _) = world.store.take_reads();
    assert!(gets <= 16, "{gets} reads for one difference in twenty thousand documents");
    // Back again, it is the version that it was.
    let back = edit(&world, changed, [(names[7_777].clone(), Some(document(&names[7_777], 1)))].into()).await.0;
    assert_eq!(back, root);
    // And without any document it is the one that nothing is stored for.
    let none = names.iter().map(|name| (name.clone(), None)).collect();
    assert_eq!(edit(&world, root, none).await.0, None);
}
