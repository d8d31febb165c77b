//! Every key comes back as what it names, none is the beginning of another, and those of one kind stand in their order.

use super::*;

fn one_of_each() -> Vec<Entry> {
    let (branch, id, hash) = (BranchId([0xff; 8]), ExchangeId::from_bytes([7; 16]), Hash([9; 32]));
    vec![
        Entry::Exchange(Place { branch, depth: u64::MAX }),
        Entry::Id(id),
        Entry::Content(hash, id),
        Entry::Branch(branch),
        Entry::Block(branch),
        Entry::Run(RunId::new("r")),
        Entry::Run(RunId::new("r.1")),
        Entry::Thread(ThreadId::new("t")),
        Entry::Head(ThreadId::new("t")),
        Entry::ToolSet(hash),
        Entry::Tool(hash),
        Entry::Seen(hash),
        Entry::Part(hash),
        Entry::Request(RequestId::new("q")),
        Entry::Coordination(CoordinationId::new("o")),
        Entry::Coordination(CoordinationId::new("o.1")),
        Entry::Journal(CoordinationId::new("o"), 0),
        Entry::Journal(CoordinationId::new("o"), u64::MAX),
        Entry::Journal(CoordinationId::new("o.1"), 1),
        Entry::Departure(Place { branch, depth: u64::MAX }, id),
        Entry::Pointer(id, ThreadId::new("t")),
        Entry::Pointer(id, ThreadId::new("t.1")),
        Entry::Indexes,
        Entry::Prepared(PreparedId::new("p")),
        Entry::Workspace(ThreadId::new("t")),
        Entry::Workspace(ThreadId::new("t.1")),
        Entry::Node(hash),
        Entry::Move(ThreadId::new("t"), 0),
        Entry::Move(ThreadId::new("t"), u64::MAX),
        Entry::Move(ThreadId::new("t.1"), 1),
        Entry::Pin("n".to_owned()),
        Entry::Pin("n.1".to_owned()),
        Entry::Receipt("a".to_owned()),
        Entry::Spending(Hash([7; 32])),
        Entry::Erasing("a".to_owned()),
        Entry::Expiry(Moment(7), hash),
        Entry::Due(hash),
    ]
}

#[test]
fn each_key_names_what_it_came_from() {
    for entry in one_of_each() {
        assert_eq!(Entry::of_key(&entry.key()), Some(entry));
    }
}

#[test]
fn no_key_is_a_prefix_of_another() {
    let keys: Vec<Key> = one_of_each().iter().map(Entry::key).collect();
    for (at, key) in keys.iter().enumerate() {
        for (other_at, other) in keys.iter().enumerate() {
            assert!(at == other_at || !other.starts_with(key), "{key:?} begins {other:?}");
        }
    }
}

#[test]
fn keys_of_another_shape_name_nothing() {
    for key in [
        &b""[..],
        b"z",
        b"x1234567",
        b"i123",
        b"rname",
        b"r\0",
        b"r \0",
        b"b123456789",
        b"j12345678",
        b"jo\x001234567",
        b"oo",
        b"f12345678",
        b"g1234567890123456",
        b"v0",
    ] {
        assert_eq!(Entry::of_key(key), None, "{key:?}");
    }
}

#[test]
fn kinds_are_listed_in_the_order_of_their_keys() {
    let letters: Vec<u8> = Kind::ALL.iter().map(|kind| kind.letter()).collect();
    let mut sorted = letters.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(letters, sorted);
}

#[test]
fn prepared_executions_are_in_the_order_of_their_ends() {
    let key = |at, id| Entry::Prepared(PreparedId::ending(Moment(at), uuid::Uuid::from_u128(id))).key();
    assert!(key(0xffff, u128::MAX) < key(0x1_0000, 0) && key(0x1_0000, 0) < key(0x1_0000, 1));
    assert!(key(0xffff, u128::MAX) < prepared_until(Moment(0x1_0000)));
    assert!(prepared_until(Moment(0x1_0000)) < key(0x1_0000, 0));
}

#[test]
fn depths_and_frames_are_in_order() {
    let key = |depth| Entry::Exchange(Place { branch: BranchId([1; 8]), depth }).key();
    assert!(key(255) < key(256));
    let key = |first| Entry::Journal(CoordinationId::new("o"), first).key();
    assert!(key(255) < key(256));
}
