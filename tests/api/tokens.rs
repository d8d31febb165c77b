//! Tokens that others sign: every algorithm that the documentation names is taken, and what is known about confusing them is refused.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use antiphon::domain::fault::Reason;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData,
    SignatureAlgorithm,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::access::{Keys, config, namespace};
use crate::support::refused;
use crate::support::server::Running;

const SECRET: &str = "a shared secret of more than 32 bytes";

/// Every algorithm that docs/security.md names.
const ALGORITHMS: [(&str, Algorithm); 12] = [
    ("HS256", Algorithm::HS256),
    ("HS384", Algorithm::HS384),
    ("HS512", Algorithm::HS512),
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// A key for each family, as whoever signs has it.
struct Signer {
    rsa: KeyPair,
    p256: KeyPair,
    p384: KeyPair,
    ed: KeyPair,
}

impl Signer {
    fn new() -> Self {
        let pair = |kind: &'static SignatureAlgorithm| KeyPair::generate_for(kind).unwrap();
        let (rsa, p256) = (pair(&PKCS_RSA_SHA256), pair(&PKCS_ECDSA_P256_SHA256));
        Self { rsa, p256, p384: pair(&PKCS_ECDSA_P384_SHA384), ed: pair(&PKCS_ED25519) }
    }

    fn pair(&self, algorithm: Algorithm) -> Option<&KeyPair> {
        match algorithm {
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => None,
            Algorithm::ES256 => Some(&self.p256),
            Algorithm::ES384 => Some(&self.p384),
            Algorithm::EdDSA => Some(&self.ed),
            _ => Some(&self.rsa),
        }
    }

    /// What the server is given: the public key, or the shared secret.
    fn file(&self, algorithm: Algorithm) -> String {
        self.pair(algorithm).map_or_else(|| SECRET.to_owned(), KeyPair::public_key_pem)
    }

    fn token(&self, algorithm: Algorithm, kid: &str) -> String {
        let pem = self.pair(algorithm).map(KeyPair::serialize_pem).unwrap_or_default();
        let key = match algorithm {
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => EncodingKey::from_secret(SECRET.as_bytes()),
            Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_pem(pem.as_bytes()),
            Algorithm::EdDSA => EncodingKey::from_ed_pem(pem.as_bytes()),
            _ => EncodingKey::from_rsa_pem(pem.as_bytes()),
        };
        signed(algorithm, kid, &key.unwrap())
    }
}

/// Whose tokens the servers take; made once, since that takes a while.
static SIGNER: LazyLock<Signer> = LazyLock::new(Signer::new);
/// Somebody with keys of the same kinds.
static STRANGER: LazyLock<Signer> = LazyLock::new(Signer::new);

/// What every token here says.
fn claims() -> Value {
    json!({
        "iss": "https://idp.example", "aud": "antiphon", "exp": 4_000_000_000_u64, "sub": "me",
        "antiphon_namespace": "team", "scope": "read",
    })
}

fn header(algorithm: Algorithm, kid: &str) -> Header {
    Header { kid: (!kid.is_empty()).then(|| kid.to_owned()), ..Header::new(algorithm) }
}

fn signed(algorithm: Algorithm, kid: &str, key: &EncodingKey) -> String {
    jsonwebtoken::encode(&header(algorithm, kid), &claims(), key).unwrap()
}

/// A server that takes tokens of these keys: id, algorithm, and what is in the file.
async fn taking(keys: &[(&str, &str, String)]) -> Running {
    let mut more = "[access.jwt]\nissuer = \"https://idp.example\"\naudience = \"antiphon\"\n".to_owned();
    for (number, (id, algorithm, _)) in keys.iter().enumerate() {
        let id = if id.is_empty() { String::new() } else { format!("id = \"{id}\"\n") };
        more.push_str(&format!("[[access.jwt.keys]]\n{id}algorithm = \"{algorithm}\"\nfile = \"key-{number}\"\n"));
    }
    Running::start_beside(config(&more), |folder| {
        Keys::default().write(folder);
        for (number, (_, _, text)) in keys.iter().enumerate() {
            std::fs::write(folder.join(format!("key-{number}")), text).unwrap();
        }
    })
    .await
}

async fn taken(server: &Running, what: &str, token: &str) {
    let opened = namespace(server, &[("authorization", &format!("Bearer {token}"))]).await;
    assert_eq!(opened.unwrap_or_else(|status| panic!("{what}: {status:?}")), "team", "{what}");
}

async fn refuses(server: &Running, what: &str, token: &str) {
    let status = namespace(server, &[("authorization", &format!("Bearer {token}"))]).await.expect_err(what);
    refused::is(&status, Code::Unauthenticated, Reason::Unauthenticated);
}

/// The list of algorithms is the documentation's.
#[test]
fn these_are_the_algorithms_that_are_documented() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/security.md")).unwrap();
    let line = text.lines().find(|line| line.starts_with("algorithm = ")).expect("a line with the algorithms");
    let words = line.split('#').nth(1).unwrap().split(", ").map(str::trim);
    let named = words.flat_map(|word| {
        let mut sizes = word.split('/');
        let first = sizes.next().unwrap();
        let family = first.get(..2).unwrap_or_default().to_owned();
        std::iter::once(first.to_owned()).chain(sizes.map(move |size| format!("{family}{size}"))).collect::<Vec<_>>()
    });
    let ours: BTreeSet<String> = ALGORITHMS.iter().map(|(word, _)| (*word).to_owned()).collect();
    assert_eq!(named.collect::<BTreeSet<_>>(), ours);
}

/// Each algorithm is taken from its key, by its id and without one, and by no other key, whatever else it says; so also one of the same family.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_each_algorithm_is_taken_with_its_own_key_only() {
    let all: Vec<_> = ALGORITHMS.iter().map(|(word, algorithm)| (*word, *word, SIGNER.file(*algorithm))).collect();
    let server = taking(&all).await;
    for (word, algorithm) in ALGORITHMS {
        taken(&server, word, &SIGNER.token(algorithm, word)).await;
        for (other, _) in ALGORITHMS.iter().filter(|(other, _)| *other != word) {
            refuses(&server, &format!("{word} as {other}"), &SIGNER.token(algorithm, other)).await;
        }
        refuses(&server, &format!("{word} of no key"), &SIGNER.token(algorithm, "")).await;
        if STRANGER.pair(algorithm).is_some() {
            refuses(&server, &format!("a stranger's {word}"), &STRANGER.token(algorithm, word)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_an_id_takes_any_token_that_it_signed_and_no_other() {
    for (word, algorithm) in ALGORITHMS {
        let server = taking(&[("", word, SIGNER.file(algorithm))]).await;
        taken(&server, word, &SIGNER.token(algorithm, "")).await;
        taken(&server, word, &SIGNER.token(algorithm, "anything")).await;
        for (other, another) in ALGORITHMS.iter().filter(|(other, _)| *other != word) {
            refuses(&server, &format!("{other} to a key for {word}"), &SIGNER.token(*another, "")).await;
        }
    }
}

/// Where two keys sign in the same way, the id says which one is meant: one key signs nothing in the name of the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_signs_in_no_other_name() {
    for (word, algorithm) in ALGORITHMS.into_iter().filter(|(_, algorithm)| SIGNER.pair(*algorithm).is_some()) {
        let server = taking(&[("one", word, SIGNER.file(algorithm)), ("two", word, STRANGER.file(algorithm))]).await;
        taken(&server, word, &SIGNER.token(algorithm, "one")).await;
        taken(&server, word, &STRANGER.token(algorithm, "two")).await;
        for token in [SIGNER.token(algorithm, "two"), STRANGER.token(algorithm, "one")] {
            refuses(&server, &format!("{word} in another name"), &token).await;
        }
    }
}

fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

/// What is public makes no signature: not as the secret of another algorithm, not as none at all, not with a key that the token brings along.
#[tokio::test(flavor = "multi_thread")]
async fn what_anybody_can_make_is_refused() {
    let public = ALGORITHMS.into_iter().filter(|(_, algorithm)| SIGNER.pair(*algorithm).is_some());
    for (word, algorithm) in public {
        let pem = SIGNER.file(algorithm);
        let pair = SIGNER.pair(algorithm).unwrap();
        // With an id and without; the second server takes a shared secret as well.
        let with_secret = [("k", word, pem.clone()), ("shared", "HS256", SECRET.to_owned())];
        let servers = [taking(&[("", word, pem.clone())]).await, taking(&with_secret).await];
        for server in &servers {
            let good = SIGNER.token(algorithm, "k");
            taken(server, word, &good).await;
            let (head, rest) = good.split_once('.').unwrap();
            let (body, signature) = rest.split_once('.').unwrap();
            let secrets =
                [pem.as_bytes(), pem.trim().as_bytes(), &pair.subject_public_key_info(), pair.public_key_raw()];
            for hashed in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
                for (number, secret) in secrets.iter().enumerate() {
                    for kid in ["", "k", "shared"] {
                        let token = signed(hashed, kid, &EncodingKey::from_secret(secret).unwrap());
                        refuses(server, &format!("{hashed:?} with the public key of {word}, {number}, {kid}"), &token)
                            .await;
                    }
                }
            }
            for alg in ["none", "None", "NONE", "nOnE", "", "HS1", "ES512"] {
                let head = encoded(&json!({"alg": alg, "typ": "JWT", "kid": "k"}));
                for signature in ["", signature, "AAAA"] {
                    refuses(server, &format!("`{alg}` to {word}"), &format!("{head}.{body}.{signature}")).await;
                }
            }
            refuses(server, "no algorithm", &format!("{}.{body}.{signature}", encoded(&json!({"kid": "k"})))).await;
            // Others' keys in the token itself, or an address where one lies.
            let stranger = STRANGER.token(algorithm, "k");
            let (_, signature_of_stranger) = stranger.rsplit_once('.').unwrap();
            let brought = json!({
                "alg": word, "kid": "k", "jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/keys",
                "jwk": {"kty": "oct", "k": "AAAA"},
            });
            refuses(server, "a key of its own", &format!("{}.{body}.{signature_of_stranger}", encoded(&brought))).await;
            // What was signed is what counts: other claims, another head, and signatures of nothing.
            let mut more = claims();
            more["antiphon_namespace"] = "other".into();
            refuses(server, "other claims", &format!("{head}.{}.{signature}", encoded(&more))).await;
            let other_head = encoded(&json!({"alg": word, "kid": "k", "x": 1}));
            refuses(server, "another head", &format!("{other_head}.{body}.{signature}")).await;
            let nothing = vec![0; URL_SAFE_NO_PAD.decode(signature).unwrap().len()];
            refuses(server, "zeros", &format!("{head}.{body}.{}", URL_SAFE_NO_PAD.encode(nothing))).await;
        }
    }
}
