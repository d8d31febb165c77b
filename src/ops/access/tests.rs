use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;

use super::keys::{Kept, KeyFile, Wanted, make, shown};
use super::*;
use crate::app::access::Scope;
use crate::domain::id::{Moment, Namespace};

/// A clock that a test sets.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::Relaxed))
    }
}

fn wanted(expires: Option<Moment>) -> Wanted {
    let opens = Opens::One(Namespace::new("a"));
    Wanted { name: "n".into(), opens, scopes: vec![Scope::Read], expires, limits: Limits::default() }
}

fn write(path: &Path, keys: Vec<Kept>) {
    KeyFile::edit(path, |file| file.keys = keys).unwrap();
}

#[test]
fn a_key_is_taken_until_its_very_end() {
    let folder = tempfile::tempdir().unwrap();
    let (key, kept) = make(&wanted(Some(Moment(5_000))), [7; 32], [1; 4], Moment(0));
    write(&folder.path().join("keys"), vec![kept]);
    let hand = Arc::new(Hand::default());
    let clock: Arc<dyn Clock> = Arc::clone(&hand) as _;
    let config = Config { keys_file: Some("keys".into()), ..Config::default() };
    let door = door(&config, folder.path(), &clock).unwrap();
    for (now, taken) in [(0, true), (4_999, true), (5_000, false), (9_000, false)] {
        hand.0.store(now, Ordering::Relaxed);
        assert_eq!(door.admit(Some(shown(&key))).is_ok(), taken, "{now}");
    }
    assert!(!door.refresh().unwrap());
    hand.0.store(0, Ordering::Relaxed);
    let let_in = door.admit(Some(shown(&key))).unwrap();
    assert!(door.enter(&let_in, CallKind::Unary).is_ok());
    write(&folder.path().join("keys"), Vec::new());
    assert!(door.refresh().unwrap());
    // Between being looked at and being let in.
    assert_eq!(door.enter(&let_in, CallKind::Unary).map(|_| ()).unwrap_err().reason, Reason::Unauthenticated);
    hand.0.store(0, Ordering::Relaxed);
    assert_eq!(door.admit(Some(shown(&key))).unwrap_err().reason, Reason::Unauthenticated);
}

#[test]
fn every_mistake_in_a_file_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let (_, good) = make(&wanted(None), [7; 32], [1; 4], Moment(0));
    let wrong = vec![
        Kept { id: "a b".into(), ..good.clone() },
        Kept { id: "b".into(), namespace: "A B".into(), ..good.clone() },
        Kept { id: "c".into(), scopes: vec!["root".into()], ..good.clone() },
        Kept { id: "d".into(), scopes: Vec::new(), ..good.clone() },
        Kept { id: "e".into(), blake3: "12".into(), ..good.clone() },
        Kept { id: "f".into(), expires: Some("soon".into()), ..good.clone() },
        Kept { id: "g".into(), name: String::new(), ..good.clone() },
        good.clone(),
        good,
    ];
    write(&path, wrong);
    let places: Vec<_> =
        KeyRing::read(&path, &Limits::default()).unwrap_err().into_iter().map(|mistake| mistake.place).collect();
    let fields =
        ["[0].id", "[1].namespace", "[2].scopes", "[3].scopes", "[4].blake3", "[5].expires", "[6].name", "[8].id"];
    assert_eq!(places, fields.map(|field| format!("keys{field}")));
}

/// Of a number that no limit can be it was told that it is no number of some bits, and not of which key.
#[test]
fn a_limit_that_cannot_be_is_told_with_its_key_and_the_most() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let (_, good) = make(&wanted(None), [7; 32], [1; 4], Moment(0));
    write(&path, vec![good]);
    let head = std::fs::read_to_string(&path).unwrap();
    let with = |limits: &str| {
        std::fs::write(&path, format!("{head}{limits}\n")).unwrap();
        KeyRing::read(&path, &Limits::default()).map(|_| ()).map_err(|mistakes| {
            let Mistake { place, message, .. } = &mistakes[0];
            format!("{place} {message}")
        })
    };
    let line = head.lines().count() + 2;
    for (key, most) in [
        ("calls_at_once", 4_294_967_295_u128),
        ("calls_per_second", 4_294_967_295),
        ("streams_at_once", 4_294_967_295),
        ("coordinations_at_once", 4_294_967_295),
        ("runs_at_once", 4_294_967_295),
        ("tokens_per_day", 9_223_372_036_854_775_807),
    ] {
        assert_eq!(with(&format!("[keys.limits]\n{key} = {most}")), Ok(()));
        let more = with(&format!("[keys.limits]\n{key} = {}", most + 1)).unwrap_err();
        assert!(more.contains(&format!("is {}: it must be 1 to {most}", most + 1)) && more.contains(key), "{more}");
        // Beyond 64 bits, beyond 128, and below.
        for given in ["18446744073709551616", "999999999999999999999999999999999999999999", "-1", "1.5"] {
            let told = format!(" line {line}: {key} is {given}: it must be 1 to {most}");
            assert_eq!(with(&format!("[keys.limits]\n{key} = {given}")), Err(told));
        }
    }
    let inline = with("limits = { runs_at_once = 3, calls_at_once = 5_000_000_000 }").unwrap_err();
    assert!(inline.ends_with("calls_at_once is 5_000_000_000: it must be 1 to 4294967295"), "{inline}");
    let other = with("[keys.limits]\ncalls_at_once = \"many\"").unwrap_err();
    assert!(other.contains("invalid type"), "{other}");
}

/// An editor that truncates a file before it writes it revoked every key for a moment, and ended what was at work with them.
#[test]
fn an_empty_file_takes_no_key_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("keys");
    let (key, kept) = make(&wanted(None), [7; 32], [1; 4], Moment(0));
    let config = Config { keys_file: Some("keys".into()), ..Config::default() };
    let clock: Arc<dyn Clock> = Arc::new(Hand::default());
    std::fs::write(&at, "").unwrap();
    let door = door(&config, folder.path(), &clock).unwrap();
    assert!(!door.refresh().unwrap(), "it was never otherwise");
    write(&at, vec![kept]);
    let full = std::fs::read_to_string(&at).unwrap();
    for meant in ["# Nobody.\n", "keys = []\n"] {
        std::fs::write(&at, &full).unwrap();
        assert!(door.refresh().unwrap());
        let mut pass = door.enter(&door.admit(Some(shown(&key))).unwrap(), CallKind::Stream).unwrap();
        for empty in ["", "\n"] {
            std::fs::write(&at, empty).unwrap();
            let mistakes = door.refresh().unwrap_err();
            assert!(mistakes.len() == 1 && mistakes[0].message.contains("`keys = []`"), "{mistakes:?}");
            assert!(door.admit(Some(shown(&key))).is_ok());
            assert!(pass.ends().unwrap().now_or_never().is_none(), "what is at work goes on");
        }
        std::fs::write(&at, meant).unwrap();
        assert!(door.refresh().unwrap());
        assert!(door.admit(Some(shown(&key))).is_err(), "{meant}");
        assert!(pass.ends().unwrap().now_or_never().is_some());
    }
}

#[test]
fn what_came_and_went_is_told_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let one = make(&wanted(None), [1; 32], [1; 4], Moment(0)).1;
    let two = make(&wanted(None), [2; 32], [2; 4], Moment(0)).1;
    write(&path, vec![one.clone()]);
    let before = KeyRing::read(&path, &Limits::default()).unwrap();
    write(&path, vec![two.clone()]);
    let after = KeyRing::read(&path, &Limits::default()).unwrap();
    assert_eq!(after.since(&before), [("key.revoked", one.id.as_str()), ("key.created", two.id.as_str())]);
    write(&path, vec![Kept { namespace: "b".into(), ..two.clone() }]);
    assert_eq!(KeyRing::read(&path, &Limits::default()).unwrap().since(&after), [("key.changed", two.id.as_str())]);
}

#[test]
fn a_configuration_of_tokens_is_checked() {
    let jwt = |text: &str| toml::from_str::<Config>(text).unwrap();
    let empty = jwt("[jwt]\nissuer = \"\"\naudience = \"a\"\nkeys = []\nleeway_seconds = 900\n");
    let keys: Vec<_> = empty.problems().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["jwt.issuer", "jwt.keys", "jwt.leeway_seconds"]);
    let none = jwt("[jwt]\nissuer = \"i\"\naudience = \"a\"\nkeys = [{ algorithm = \"none\", file = \"f\" }]\n");
    assert_eq!(none.problems().len(), 1);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "short").unwrap();
    let short = jwt("[jwt]\nissuer = \"i\"\naudience = \"a\"\nkeys = [{ algorithm = \"HS256\", file = \"f\" }]\n");
    let clock: Arc<dyn Clock> = Arc::new(Hand::default());
    let mistakes = door(&short, folder.path(), &clock).map(|_| ()).unwrap_err();
    assert!(mistakes[0].message.contains("32 bytes"), "{mistakes:?}");
}

/// A shared secret of the shortest length, a leeway of the longest, and a token and its subject of the greatest size are taken; not one more.
#[test]
fn limits_of_tokens_are_exact() {
    let with = |more: &str, secret: usize| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "s".repeat(secret)).unwrap();
        let text = format!(
            "[jwt]\nissuer = \"i\"\naudience = \"a\"\n{more}\nkeys = [{{ algorithm = \"HS256\", file = \"secret\" }}]\n"
        );
        let config: Config = toml::from_str(&text).unwrap();
        let problems: Vec<String> = config.problems().into_iter().map(|(key, what)| format!("{key} {what}")).collect();
        let clock: Arc<dyn Clock> = Arc::new(Hand::default());
        let door = door(&config, folder.path(), &clock).map_err(|mistakes| mistakes[0].message.clone());
        (problems, door)
    };
    assert_eq!(with("leeway_seconds = 300", 32).0, [""; 0]);
    assert_eq!(with("leeway_seconds = 301", 32).0, ["jwt.leeway_seconds is 301: it must be at most 300"]);
    let short = with("", 31).1.map(|_| ()).unwrap_err();
    assert_eq!(short, "a shared secret must have at least 32 bytes, and has 31: make a longer one, at random");
    let door = with("", 32).1.unwrap();
    let token = |subject: usize, padding: usize| {
        let claims = serde_json::json!({
            "iss": "i", "aud": "a", "exp": 4_000_000_000_u64, "antiphon_namespace": "team", "scope": "read",
            "sub": "s".repeat(subject), "padding": "p".repeat(padding),
        });
        let key = jsonwebtoken::EncodingKey::from_secret("s".repeat(32).as_bytes()).unwrap();
        jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()
    };
    assert!(door.admit(Some(&token(256, 0))).is_ok());
    assert_eq!(door.admit(Some(&token(257, 0))).unwrap_err().reason, Reason::Unauthenticated);
    // Three bytes of claims are four of the token.
    let near = (16 << 10) * 3 / 4 - 400;
    let of = |bytes: usize| (near..).map(|padding| token(1, padding)).find(|token| token.len() >= bytes).unwrap();
    assert_eq!((of(16 << 10).len(), of((16 << 10) + 1).len()), (16 << 10, (16 << 10) + 1));
    assert!(door.admit(Some(&of(16 << 10))).is_ok());
    assert_eq!(door.admit(Some(&of((16 << 10) + 1))).unwrap_err().reason, Reason::Unauthenticated);
}

#[test]
fn the_name_of_a_key_is_bounded() {
    assert_eq!(keys::named(&"n".repeat(128)), Ok(()));
    let long = keys::named(&"n".repeat(129)).unwrap_err();
    assert_eq!(long, "is 129 bytes long: at most 128 are taken; shorten it");
}

/// What is wrong with one file holds up no other; a signing key whose file is gone is not trusted any more.
#[test]
fn files_are_taken_each_by_itself() {
    const SECRET: &str = "a shared secret of more than 32 bytes";
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (old, kept) = make(&wanted(None), [7; 32], [1; 4], Moment(0));
    write(&at("keys"), vec![kept]);
    std::fs::write(at("secret"), SECRET).unwrap();
    let text = "keys_file = \"keys\"\n[jwt]\nissuer = \"i\"\naudience = \"a\"\n\
                keys = [{ algorithm = \"HS256\", file = \"secret\" }]\n";
    let config: Config = toml::from_str(text).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(Hand::default());
    let door = door(&config, folder.path(), &clock).unwrap();
    let claims = serde_json::json!({
        "iss": "i", "aud": "a", "exp": 4_000_000_000_u64, "antiphon_namespace": "team", "scope": "read",
    });
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes()).unwrap();
    let token = jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap();
    assert!(door.admit(Some(&token)).is_ok());
    std::fs::write(at("secret"), "short").unwrap();
    let (new, kept) = make(&wanted(None), [8; 32], [2; 4], Moment(0));
    write(&at("keys"), vec![kept]);
    let mistakes = door.refresh().unwrap_err();
    assert!(mistakes.len() == 1 && mistakes[0].message.contains("32 bytes"), "{mistakes:?}");
    assert!(door.admit(Some(shown(&new))).is_ok() && door.admit(Some(shown(&old))).is_err());
    assert!(door.admit(Some(&token)).is_ok(), "what was known of the other file stays");
    std::fs::remove_file(at("secret")).unwrap();
    assert!(door.refresh().unwrap_err()[0].message.contains("is not there"));
    assert!(door.admit(Some(&token)).is_err());
    std::fs::write(at("secret"), SECRET).unwrap();
    assert!(door.refresh().unwrap());
    assert!(door.admit(Some(&token)).is_ok());
}

#[test]
fn of_a_refused_credential_only_the_id_is_told() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("keys"), Vec::new());
    let config = Config { keys_file: Some("keys".into()), ..Config::default() };
    let clock: Arc<dyn Clock> = Arc::new(Hand::default());
    let door = door(&config, folder.path(), &clock).unwrap();
    let (key, kept) = make(&wanted(None), [7; 32], [1; 4], Moment(0));
    assert_eq!(door.named(shown(&key)), kept.id);
    for nothing in ["", "sk-secret", "antiphon_", "antiphon_secret", "antiphon_a-b_c", "antiphon_aaaaaaaaaaaaaaaaa_c"] {
        assert_eq!(door.named(nothing), "", "{nothing}");
    }
}
