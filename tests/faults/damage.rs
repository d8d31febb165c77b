//! A second process on the same directory, and files that are not what was written.

use std::fs;
use std::iter;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use antiphon::store::sled::{Config, Sled};

use crate::harness::{Dice, Running, child, rounds};
use crate::kill::killed_after;
use crate::load::Load;

// B132: two servers appended over each other, or the second one panicked.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_refused_and_the_first_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Running::start(&mut child("hold", dir.path()));
    first.expect("opened");

    let since = Instant::now();
    let mut second = Running::start(&mut child("hold", dir.path()));
    let refusal = second.expect("refused");
    assert!(since.elapsed() < Duration::from_secs(2), "it took {:?}", since.elapsed());
    assert!(refusal.contains(&dir.path().display().to_string()), "{refusal}");
    assert!(refusal.contains(&format!("in use by process {}", first.id())), "{refusal}");
    assert!(!second.errors().contains("panicked"));

    // No lock is left behind by kill -9.
    first.kill();
    first.end();
    let mut third = Running::start(&mut child("hold", dir.path()));
    third.expect("opened");
    assert!(third.end());
}

/// What became of a store that was read by a process of its own.
#[derive(Debug, PartialEq)]
enum Seen {
    Whole,
    Incomplete,
    Complaint(String),
}

/// Opens and reads a store, with no panic and no other noise on the way.
fn read(data: &Path, entries: usize) -> Seen {
    let mut reader = Running::start(&mut child("read", data));
    let mut complaint = None;
    let mut found = 0;
    // "opened" and "read", or the error that came instead of one of them.
    for _ in 0..2 {
        let said = reader.expect("");
        if said.contains("the store in") {
            complaint = Some(said);
            break;
        }
        found = said.parse().unwrap_or_else(|_| panic!("neither a number nor an error: {said}"));
    }
    let errors = reader.errors();
    assert!(!errors.contains("panicked"), "{errors}");
    match complaint {
        Some(text) => {
            for way in ["antiphon verify", "put back"] {
                assert!(text.contains(way), "{text}");
            }
            Seen::Complaint(text)
        }
        // The last group may be there though nobody was told any more.
        None if found >= entries => Seen::Whole,
        None => Seen::Incomplete,
    }
}

#[test]
fn damage_is_an_error_with_a_way_out_and_never_a_panic() {
    let mut dice = Dice::new("damage");
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    // Killed, so that opening has to read the log.
    let load = Load { callers: 8, bytes: 2048, kept: u64::MAX };
    let acked = killed_after(400, load, &load.start(), &mut child("write", &whole));
    let log = fs::read(whole.join("sled/db")).unwrap();
    let mark = fs::read(whole.join("sled.mark")).unwrap();
    let count = usize::try_from(Load::entries(&acked)).unwrap();
    let (mut complaints, mut incomplete) = (0, 0);
    for round in 0..rounds() {
        let data = dir.path().join("damaged");
        fs::create_dir_all(data.join("sled")).unwrap();
        fs::copy(whole.join("sled/conf"), data.join("sled/conf")).unwrap();
        fs::write(data.join("sled/db"), &log).unwrap();
        fs::write(data.join("sled.mark"), &mark).unwrap();
        let file = fs::OpenOptions::new().write(true).open(data.join("sled/db")).unwrap();
        // One byte, or one in each of many places where something was written.
        for _ in 0..if round % 2 == 0 { 1 } else { 64 } {
            let place = iter::repeat_with(|| dice.roll(log.len() as u64)).find(|at| log[*at as usize] != 0).unwrap();
            file.write_all_at(&[!log[place as usize]], place).unwrap();
        }
        match read(&data, count) {
            Seen::Whole => {}
            // Damage in the middle, which the engine passes over; a check of the records is what finds it.
            Seen::Incomplete => incomplete += 1,
            Seen::Complaint(_) => complaints += 1,
        }
        fs::remove_dir_all(&data).unwrap();
    }
    println!("of {} damaged stores {complaints} complained and {incomplete} had lost something", rounds());
    assert!(complaints > 0, "nothing was damaged in a way that shows");
}

// The engine took the cut for the end that a crash leaves, and a check of all that was left found nothing wrong.
#[test]
fn a_log_that_lost_its_tail_is_an_error_with_a_way_on() {
    let dir = tempfile::tempdir().unwrap();
    let load = Load { callers: 1, bytes: 1024, kept: u64::MAX };
    killed_after(60, load, &load.start(), &mut child("write", dir.path()));
    let log = fs::OpenOptions::new().write(true).open(dir.path().join("sled/db")).unwrap();
    log.set_len(60_000).unwrap();
    let seen = read(dir.path(), 0);
    assert!(
        matches!(&seen, Seen::Complaint(text) if text.contains("acknowledged") && text.contains("sled.mark")),
        "{seen:?}"
    );
    fs::remove_file(dir.path().join("sled.mark")).unwrap();
    assert_eq!(read(dir.path(), 1), Seen::Whole, "it goes on with what is left");
}

#[test]
fn a_truncated_log_is_an_error_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let load = Load { callers: 8, bytes: 16 << 10, kept: u64::MAX };
    killed_after(300, load, &load.start(), &mut child("write", dir.path()));
    drop(Sled::open(&Config::directory(dir.path())).unwrap());
    let log = fs::OpenOptions::new().write(true).open(dir.path().join("sled/db")).unwrap();
    log.set_len(log.metadata().unwrap().len() / 2).unwrap();
    let seen = read(dir.path(), 0);
    assert!(matches!(&seen, Seen::Complaint(text) if text.contains("damaged")), "{seen:?}");
}
