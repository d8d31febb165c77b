use super::*;
use crate::store::Range;

fn space() -> Namespace {
    Namespace::new("a")
}

fn full(key: &str) -> FullKey {
    keys::full(&space(), key.as_bytes()).unwrap()
}

fn set(db: &Db, key: &str, value: &[u8]) {
    for (stored, chunk) in keys::cut(&full(key), value).unwrap() {
        db.insert(stored, chunk).unwrap();
    }
}

fn remove(db: &Db, key: &str) {
    for stored in db.scan_prefix(full(key)).keys() {
        db.remove(stored.unwrap()).unwrap();
    }
}

fn scan(view: &View, reverse: bool) -> Result<Vec<(String, usize)>, Fault> {
    let range = Range { reverse, ..Range::prefix(b"", 1000) };
    let prefix = keys::prefix(&space()).unwrap();
    let mut scan = Scan::new(keys::bounds(&space(), &range).unwrap(), range.limit, reverse, prefix.len());
    while !scan.is_done() {
        view.slice(&mut scan)?;
    }
    Ok(scan.found.into_iter().map(|(key, value)| (String::from_utf8(key).unwrap(), value.len())).collect())
}

/// A store in which "b" is being replaced, "c" removed, "d" added, and "z" is all there is of another namespace.
fn in_flight() -> (tempfile::TempDir, View, Db) {
    let dir = tempfile::tempdir().unwrap();
    let db = ::sled::Config::new().path(dir.path()).open().unwrap();
    for (key, length) in [("a", 1), ("b", 10_000), ("c", 9_000), ("e", 2)] {
        set(&db, key, &vec![1; length]);
    }
    let view = View::new(db.clone());
    let other = keys::full(&Namespace::new("other"), b"z").unwrap();
    let hidden = [full("b"), full("c"), full("d"), other.clone()];
    view.hide(hidden.into_iter().map(|key| (key.clone(), load(&db, &key).unwrap())).collect());
    remove(&db, "b");
    set(&db, "b", &[2; 5]);
    remove(&db, "c");
    set(&db, "d", &[2; 7]);
    db.insert(keys::stored(&other, 0), vec![0, 0, 0, 1, 2]).unwrap();
    (dir, view, db)
}

#[test]
fn nothing_is_shown_of_a_group_before_it_is_durable() {
    let (_dir, view, _db) = in_flight();
    let mut before: Vec<_> = [("a", 1), ("b", 10_000), ("c", 9_000), ("e", 2)].map(|(k, n)| (k.to_owned(), n)).into();
    assert_eq!(scan(&view, false).unwrap(), before);
    before.reverse();
    assert_eq!(scan(&view, true).unwrap(), before);
    assert_eq!(view.get(&full("b")).unwrap().unwrap(), vec![1; 10_000]);
    assert_eq!(view.get(&full("c")).unwrap().unwrap().len(), 9_000);
    assert_eq!(view.get(&full("d")).unwrap(), None);
    assert!(matches!(view.get_short(&full("d"), 100), Ok(Short::Done(None))));
    assert_eq!(view.namespaces().unwrap(), [space()]);
}

#[test]
fn all_of_a_group_is_shown_once_it_is_durable() {
    let (_dir, view, _db) = in_flight();
    view.reveal();
    let after: Vec<_> = [("a", 1), ("b", 5), ("d", 7), ("e", 2)].map(|(k, n)| (k.to_owned(), n)).into();
    assert_eq!(scan(&view, false).unwrap(), after);
    assert_eq!(view.get(&full("c")).unwrap(), None);
    assert_eq!(view.get(&full("d")).unwrap().unwrap(), vec![2; 7]);
    assert_eq!(view.namespaces().unwrap(), [space(), Namespace::new("other")]);
}

#[test]
fn a_namespace_that_a_group_empties_is_listed_until_it_is_durable() {
    let (_dir, view, db) = in_flight();
    view.reveal();
    let key = keys::full(&Namespace::new("other"), b"z").unwrap();
    view.hide([(key.clone(), load(&db, &key).unwrap())].into());
    db.remove(keys::stored(&key, 0)).unwrap();
    assert_eq!(view.namespaces().unwrap(), [space(), Namespace::new("other")]);
    view.reveal();
    assert_eq!(view.namespaces().unwrap(), [space()]);
}

#[test]
fn long_values_are_left_to_whoever_may_wait_for_them() {
    let (_dir, view, _db) = in_flight();
    view.reveal();
    set(view.read().db.as_ref().unwrap(), "f", &[3; 70_000]);
    assert!(matches!(view.get_short(&full("f"), 69_999), Ok(Short::TooLong)));
    assert!(matches!(view.get_short(&full("f"), 70_000), Ok(Short::Done(Some(value))) if value.len() == 70_000));
}

#[test]
fn a_long_scan_lets_the_committer_in_between_its_slices() {
    let (_dir, view, db) = in_flight();
    view.reveal();
    for n in 0..200 {
        set(&db, &format!("n{n:04}"), &[1; 100]);
    }
    let prefix = keys::prefix(&space()).unwrap();
    let bounds = keys::bounds(&space(), &Range::prefix(b"n", 1000)).unwrap();
    let mut scan = Scan::new(bounds, 1000, false, prefix.len());
    view.slice(&mut scan).unwrap();
    // Behind the scan, ahead of it and hidden, ahead of it and durable.
    set(&db, "n0000", &[2; 7]);
    view.hide([(full("n0150"), load(&db, &full("n0150")).unwrap())].into());
    remove(&db, "n0150");
    set(&db, "n0199", &[2; 8]);
    let mut slices = 1;
    while !scan.is_done() {
        view.slice(&mut scan).unwrap();
        slices += 1;
    }
    assert_eq!(slices, 200usize.div_ceil(SLICE_ENTRIES));
    let lengths: Vec<usize> = scan.found.iter().map(|(_, value)| value.len()).collect();
    assert_eq!(lengths[..199], vec![100; 199][..]);
    assert_eq!(lengths[199..], [8]);

    assert!(view.close().is_some());
    assert!(matches!(view.get(&full("n0000")), Err(Fault::Closed)));
}
