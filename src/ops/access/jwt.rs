//! Tokens that somebody else signs (RFC 7519): whose signature is taken, and which claims say what a token opens. It must not know how a call
//! carries a token.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::app::access::{Limits, Opens, Principal, Scope};
use crate::app::reload::Mistake;
use crate::domain::id::{Hash, Moment};
use crate::engine::file;

/// Which tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What the claim `iss` must be.
    pub issuer: String,
    /// What the claim `aud` must be, or have.
    pub audience: String,
    /// The keys that sign tokens. Several let one follow on another.
    pub keys: Vec<KeyConfig>,
    /// The claim with the namespace that a token opens. A token never opens all.
    #[serde(default = "namespace_claim")]
    pub namespace_claim: String,
    /// The claim with what it allows: words with spaces between them, or a list.
    #[serde(default = "scopes_claim")]
    pub scopes_claim: String,
    /// How far clocks may be apart, in seconds.
    #[serde(default = "leeway_seconds")]
    pub leeway_seconds: u64,
}

fn namespace_claim() -> String {
    "antiphon_namespace".to_owned()
}

fn scopes_claim() -> String {
    "scope".to_owned()
}

fn leeway_seconds() -> u64 {
    30
}

/// A key that signs tokens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// Its id, as the header `kid` of a token has it; any token may have been signed by it when absent.
    #[serde(default)]
    pub id: Option<String>,
    /// How it signs: HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA.
    pub algorithm: String,
    /// The file with the public key in PEM, or for HS algorithms the shared secret; relative to the configuration.
    pub file: PathBuf,
}

/// What the name of somebody with a token begins with; the id of a key has no colon.
const PREFIX: &str = "jwt:";

/// Whether this names somebody with a token.
pub(super) fn names(principal: &str) -> bool {
    principal.starts_with(PREFIX)
}

/// Longest leeway, in seconds.
const MAX_LEEWAY: u64 = 300;
/// Longest subject, in bytes.
const MAX_SUBJECT: usize = 256;
/// Longest token, in bytes.
const MAX_TOKEN: usize = 16 << 10;
/// Shortest shared secret, in bytes: what the shortest hash gives.
const MIN_SECRET: usize = 32;

impl Config {
    /// What is wrong with it: the key and the mistake.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let words = [
            ("jwt.issuer", &self.issuer),
            ("jwt.audience", &self.audience),
            ("jwt.namespace_claim", &self.namespace_claim),
            ("jwt.scopes_claim", &self.scopes_claim),
        ];
        problems.extend(
            words.into_iter().filter(|(_, word)| word.is_empty()).map(|(key, _)| (key, "must not be empty".to_owned())),
        );
        if self.keys.is_empty() {
            problems.push(("jwt.keys", "must not be empty: without a key no token is taken".to_owned()));
        }
        if self.leeway_seconds > MAX_LEEWAY {
            let what = format!("is {}: it must be at most {MAX_LEEWAY}", self.leeway_seconds);
            problems.push(("jwt.leeway_seconds", what));
        }
        if self.keys.iter().any(|key| algorithm(&key.algorithm).is_none()) {
            let what = "each needs an `algorithm` of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA";
            problems.push(("jwt.keys", what.to_owned()));
        }
        problems
    }
}

fn algorithm(name: &str) -> Option<Algorithm> {
    // `none` is no algorithm, here or in the library.
    name.parse().ok()
}

/// A key that is looked at.
#[derive(Clone)]
struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
    /// Of what its file says, to tell whether it is another one now.
    hash: Hash,
}

/// Tokens that are taken.
pub(super) struct Tokens {
    config: Config,
    /// Those of the configuration, in its order; absent where the file is gone.
    keys: Vec<Option<Key>>,
    /// What each may use.
    limits: Limits,
}

impl PartialEq for Tokens {
    fn eq(&self, other: &Self) -> bool {
        let hashes = |tokens: &Self| tokens.keys.iter().map(|key| key.as_ref().map(|key| key.hash)).collect::<Vec<_>>();
        self.config == other.config && hashes(self) == hashes(other)
    }
}

/// Why a key cannot be used.
enum Unusable {
    /// There is no such file.
    Gone(String),
    /// It cannot be read, or is no key.
    Broken(String),
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

impl Tokens {
    /// Reads the keys of a configuration.
    ///
    /// # Errors
    /// Every mistake at once.
    pub(super) fn read(config: &Config, base: &Path, limits: &Limits) -> Result<Self, Vec<Mistake>> {
        let nothing = Self { config: config.clone(), keys: Vec::new(), limits: limits.clone() };
        let (read, mistakes) = nothing.again(base);
        if mistakes.is_empty() { Ok(read) } else { Err(mistakes) }
    }

    /// Reads the keys again, with every mistake. A key whose file is gone is taken no longer; one that cannot be read stays what it was.
    pub(super) fn again(&self, base: &Path) -> (Self, Vec<Mistake>) {
        let mut keys = Vec::new();
        let mut mistakes = Vec::new();
        for (index, key) in self.config.keys.iter().enumerate() {
            let read = Key::read(key, base);
            let before = self.keys.get(index).cloned().flatten();
            let (key_now, message) = match read {
                Ok(key) => (Some(key), None),
                Err(Unusable::Gone(why)) => (None, Some(why)),
                Err(Unusable::Broken(why)) => (before, Some(why)),
            };
            keys.push(key_now);
            mistakes.extend(message.map(|message| {
                let file = base.join(&key.file).display().to_string();
                Mistake { file, place: format!("access.jwt.keys[{index}]"), message }
            }));
        }
        (Self { config: self.config.clone(), keys, limits: self.limits.clone() }, mistakes)
    }

    /// Whose token this is, if it is one, is signed by a key that is taken, and says what it opens.
    pub(super) fn admit(&self, token: &str, now: Moment) -> Option<Principal> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let header = jsonwebtoken::decode_header(token).ok()?;
        let fits = |key: &&Key| key.algorithm == header.alg && (key.id.is_none() || key.id == header.kid);
        let claims = self.keys.iter().flatten().filter(fits).find_map(|key| self.claims(token, key))?;
        let expires = self.in_time(&claims, now)?;
        let namespace = claims.get(&self.config.namespace_claim)?.as_str()?.parse().ok()?;
        let scopes = scopes(claims.get(&self.config.scopes_claim)?)?;
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        if subject.len() > MAX_SUBJECT {
            return None;
        }
        Some(Principal {
            name: format!("{PREFIX}{subject}"),
            opens: Opens::One(namespace),
            scopes,
            expires: Some(expires),
            limits: self.limits.clone(),
        })
    }

    fn claims(&self, token: &str, key: &Key) -> Option<Map<String, Value>> {
        let mut validation = Validation::new(key.algorithm);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // Times are looked at with our own clock.
        validation.validate_exp = false;
        jsonwebtoken::decode(token, &key.key, &validation).ok().map(|token| token.claims)
    }

    /// Until when it is taken, if it has begun and has not ended.
    fn in_time(&self, claims: &Map<String, Value>, now: Moment) -> Option<Moment> {
        let (now, leeway) = (now.0 / 1_000, self.config.leeway_seconds);
        // A fraction of a second is within any leeway.
        let whole = |text: String| text.split('.').next().and_then(|whole| whole.parse::<u64>().ok());
        let seconds =
            |claim: &Value| claim.as_u64().or_else(|| claim.as_number().and_then(|number| whole(number.to_string())));
        let expires = seconds(claims.get("exp")?)?;
        let begins = claims.get("nbf").map_or(Some(0), seconds)?;
        let until = expires.saturating_add(leeway);
        (now < until && begins <= now.saturating_add(leeway)).then(|| Moment(until.saturating_mul(1_000)))
    }
}

/// What a claim allows. Words that are no scope here are somebody else's.
fn scopes(claim: &Value) -> Option<Vec<Scope>> {
    let words: Vec<&str> = match claim {
        Value::String(words) => words.split_ascii_whitespace().collect(),
        Value::Array(words) => words.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let scopes: BTreeSet<Scope> = words.into_iter().filter_map(|word| word.parse().ok()).collect();
    Some(scopes.into_iter().collect())
}

impl Key {
    fn read(config: &KeyConfig, base: &Path) -> Result<Self, Unusable> {
        let algorithm = algorithm(&config.algorithm).ok_or_else(|| "has no algorithm that is known".to_owned())?;
        let text = file::read(&base.join(&config.file)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unusable::Gone("is not there, so no token is taken that it signed".to_owned()),
            _ => Unusable::Broken(format!("cannot be read: {error}")),
        })?;
        let key: Result<DecodingKey, jsonwebtoken::errors::Error> = match algorithm {
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => {
                let secret = text.trim_ascii();
                if secret.len() < MIN_SECRET {
                    let given = secret.len();
                    let what = format!("a shared secret must have at least {MIN_SECRET} bytes, and has {given}");
                    return Err(format!("{what}: make a longer one, at random").into());
                }
                DecodingKey::from_secret(secret)
            }
            Algorithm::ES256 | Algorithm::ES384 => DecodingKey::from_ec_pem(&text),
            Algorithm::EdDSA => DecodingKey::from_ed_pem(&text),
            _ => DecodingKey::from_rsa_pem(&text),
        };
        let key = key.map_err(|error| format!("is no public key in PEM for {}: {error}", config.algorithm))?;
        Ok(Self { id: config.id.clone(), algorithm, key, hash: Hash::of(&text) })
    }
}
