//! Bringing the database of an older format to this server's, one format at a time, when that is asked for. It must not know how a database is opened.

use ::sled::Db;

use super::fault::{Fault, guarded};
use super::keys::FORMAT_KEY;

/// How a database of one format becomes one of the next.
pub(super) struct Step {
    /// The format that it has before; the next one afterwards.
    pub(super) from: u32,
    /// What changes, for the log.
    pub(super) what: &'static str,
    /// Changes it. One that broke off, by a kill or a full disk, is done again from its beginning, so it must be able to be done twice.
    pub(super) change: fn(&Db) -> Result<(), Fault>,
}

/// A step from every format that there was before the newest.
pub(super) const STEPS: &[Step] = &[];

/// The formats that there are ways to the newest from, oldest first; the newest is the last.
pub(super) fn known(newest: u32, steps: &[Step]) -> std::ops::RangeInclusive<u32> {
    let mut oldest = newest;
    while steps.iter().any(|step| step.from + 1 == oldest) {
        oldest -= 1;
    }
    oldest..=newest
}

/// Brings a database from the format it has to the newest. Each format is durable before the next one is begun, and the database says which one it
/// has by then.
pub(super) fn migrate(db: &Db, found: u32, newest: u32, steps: &[Step]) -> Result<(), Fault> {
    for format in found..newest {
        let Some(step) = steps.iter().find(|step| step.from == format) else { break };
        let next = format + 1;
        tracing::info!(from = format, to = next, what = step.what, "store.migrating");
        (step.change)(db)?;
        guarded(|| {
            // What was changed is on the disk before the number that says so.
            db.flush()?;
            db.insert(FORMAT_KEY, next.to_be_bytes().to_vec())?;
            db.flush()?;
            Ok(())
        })?;
        tracing::info!(format = next, "store.migrated");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(db: &Db) -> u32 {
        u32::from_be_bytes(db.get(FORMAT_KEY).unwrap().unwrap().as_ref().try_into().unwrap())
    }

    fn rename(db: &Db, from: &str, to: &str) -> Result<(), Fault> {
        for found in db.scan_prefix(from) {
            let (key, value) = found?;
            let mut batch = ::sled::Batch::default();
            batch.insert([to.as_bytes(), &key[from.len()..]].concat(), value);
            batch.remove(key);
            db.apply_batch(batch)?;
        }
        Ok(())
    }

    const TWO: Step = Step { from: 1, what: "a becomes b", change: |db| rename(db, "a", "b") };
    const THREE: Step = Step { from: 2, what: "b becomes c", change: |db| rename(db, "b", "c") };

    fn old(dir: &std::path::Path) -> Db {
        let db = ::sled::open(dir).unwrap();
        db.insert(FORMAT_KEY, 1_u32.to_be_bytes().to_vec()).unwrap();
        for number in 0..100_u32 {
            db.insert([b"a".as_slice(), &number.to_be_bytes()].concat(), number.to_be_bytes().to_vec()).unwrap();
        }
        db
    }

    #[test]
    fn formats_follow_one_another_and_the_last_is_on_record() {
        let dir = tempfile::tempdir().unwrap();
        let db = old(dir.path());
        migrate(&db, 1, 3, &[THREE, TWO]).unwrap();
        drop(db);
        let db = ::sled::open(dir.path()).unwrap();
        assert_eq!((format(&db), db.scan_prefix("a").count(), db.scan_prefix("b").count()), (3, 0, 0));
        let values: Vec<u32> = db
            .scan_prefix("c")
            .values()
            .map(|value| u32::from_be_bytes(value.unwrap().as_ref().try_into().unwrap()))
            .collect();
        assert_eq!(values, (0..100).collect::<Vec<_>>());
        migrate(&db, 3, 3, &[THREE, TWO]).unwrap();
        assert_eq!(format(&db), 3);
    }

    #[test]
    fn what_broke_off_is_done_again() {
        fn half(db: &Db) -> Result<(), Fault> {
            for found in db.scan_prefix("b").take(50) {
                let (key, value) = found?;
                db.insert([b"c".as_slice(), &key[1..]].concat(), value)?;
                db.remove(key)?;
            }
            Err(Fault::Closed)
        }
        let dir = tempfile::tempdir().unwrap();
        let db = old(dir.path());
        let broken = Step { change: half, ..THREE };
        assert!(matches!(migrate(&db, 1, 3, &[TWO, broken]), Err(Fault::Closed)));
        assert_eq!((format(&db), db.scan_prefix("b").count()), (2, 50), "the first step is done, the second is not");
        migrate(&db, format(&db), 3, &[TWO, THREE]).unwrap();
        assert_eq!((format(&db), db.scan_prefix("c").count()), (3, 100));
    }

    #[test]
    fn formats_without_a_way_to_the_newest_are_not_known() {
        assert_eq!(known(3, &[TWO, THREE]), 1..=3);
        assert_eq!(known(3, &[TWO]), 3..=3);
        assert_eq!(known(super::super::FORMAT, STEPS), 1..=super::super::FORMAT, "each that there was has a step");
    }
}
