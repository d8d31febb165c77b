//! Whether a deployment will do: what is configured, the machine under it, the providers before it, and the server if one is there. Each finding
//! says what is wrong and what to do. It must not change anything, nor know how findings are shown.

mod machine;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::machine::{disk, files};

use super::cause::innermost;
use super::config::Config;
use crate::engine::Setup;

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It will do, and somebody should know.
    Note,
    /// It will not do.
    Bad,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thing, such as `disk`.
    pub about: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub what: String,
    /// What to do; empty when it is good.
    pub remedy: String,
}

impl Finding {
    /// It is as it should be.
    pub fn good(about: &'static str, what: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Good, what: what.into(), remedy: String::new() }
    }

    /// It will do, and somebody should know.
    pub fn note(about: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Note, what: what.into(), remedy: remedy.into() }
    }

    /// It will not do.
    pub fn bad(about: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Bad, what: what.into(), remedy: remedy.into() }
    }
}

/// Who can reach the server, and whether they are asked who they are.
pub fn callers(config: &Config) -> Finding {
    const ABOUT: &str = "callers";
    let (listen, asks) = (config.server.listen, config.access.asks());
    let (encrypted, certified) = (config.tls.is_on(), config.tls.client_ca_file.is_some());
    let beyond = !listen.ip().is_loopback();
    match (beyond, asks || certified, encrypted) {
        (true, false, _) => Finding::bad(
            ABOUT,
            format!("{listen} can be reached from other machines, and nobody is asked who they are"),
            "make a key with `antiphon keys create`, and name its file under `[access]`",
        ),
        (true, true, false) => Finding::note(
            ABOUT,
            format!("{listen} can be reached from other machines, and keys and content go there unencrypted"),
            "give it a certificate under `[tls]`, unless something in front of it encrypts",
        ),
        (true, true, true) => Finding::good(ABOUT, format!("{listen} asks who calls, over TLS")),
        (false, true, _) => Finding::good(ABOUT, format!("{listen} asks who calls")),
        (false, false, _) => Finding::good(ABOUT, format!("{listen} is for this machine only")),
    }
}

/// Files that hold secrets: what is configured, with the key that names it.
pub fn secret_files(config: &Config) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut add = |key: String, file: &Path| files.push((key, config.base.join(file)));
    if let Some(file) = &config.tls.key_file {
        add("tls.key_file".to_owned(), file);
    }
    for (id, backend) in &config.engine.backends {
        if let Some(file) = backend.rest.get("api_key_file").and_then(toml::Value::as_str) {
            add(format!("backends.{id}.api_key_file"), Path::new(file));
        }
    }
    for key in config.access.jwt.iter().flat_map(|jwt| &jwt.keys) {
        // Public keys may be read by everybody.
        if key.algorithm.starts_with("HS") {
            add("access.jwt.keys".to_owned(), &key.file);
        }
    }
    files
}

/// How long a provider may take to say anything.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether each provider can be reached. Nothing is asked of a model, and no key is sent.
///
/// # Errors
/// When no connections can be made at all.
pub async fn providers(setup: &Setup) -> Result<Vec<Finding>, reqwest::Error> {
    const ABOUT: &str = "provider";
    let client = reqwest::Client::builder().connect_timeout(PATIENCE).timeout(PATIENCE).no_proxy().build()?;
    let mut findings = Vec::new();
    for view in setup.backends().filter(|view| !view.description.base_url.is_empty()) {
        let (id, url) = (&view.id, &view.description.base_url);
        findings.push(match client.get(url).send().await {
            // Whatever it says to a call without a key: it is there.
            Ok(answer) if answer.status().is_server_error() => Finding::note(
                ABOUT,
                format!("{id}: {url} answers {}", answer.status()),
                "look at the provider's status page; a `fallback` answers in its place",
            ),
            Ok(_) => Finding::good(ABOUT, format!("{id}: {url} can be reached")),
            Err(error) => Finding::bad(
                ABOUT,
                format!("{id}: {url} cannot be reached: {}", innermost(&error)),
                format!("correct `base_url` of `[backends.{id}]`, or let this machine through to it"),
            ),
        });
        if !view.description.has_credential {
            findings.push(Finding::note(
                ABOUT,
                format!("{id}: no key is configured, so each call must bring one where the provider asks for it"),
                format!("set `api_key_env` or `api_key_file` of `[backends.{id}]`"),
            ));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        crate::ops::config::parse(text, Path::new("/etc/antiphon.toml")).unwrap().0
    }

    #[test]
    fn who_can_call_is_told() {
        let verdict = |text: &str| callers(&config(text)).verdict;
        assert_eq!(verdict(""), Verdict::Good);
        assert_eq!(verdict("[server]\nlisten = \"0.0.0.0:1\"\n"), Verdict::Bad);
        let keys = "[server]\nlisten = \"0.0.0.0:1\"\n[access]\nkeys_file = \"k\"\n";
        assert_eq!(verdict(keys), Verdict::Note);
        assert_eq!(verdict(&format!("{keys}[tls]\ncertificate_file = \"c\"\nkey_file = \"k\"\n")), Verdict::Good);
    }

    #[test]
    fn files_with_secrets_are_known() {
        let config = config(
            "[tls]\ncertificate_file = \"c\"\nkey_file = \"k\"\n[backends.b]\nkind = \"openai\"\napi_key_file = \"p\"\n\
             [access.jwt]\nissuer = \"i\"\naudience = \"a\"\nkeys = [{ algorithm = \"HS256\", file = \"s\" }, { algorithm = \"ES256\", file = \"e\" }]\n",
        );
        let files: Vec<_> = secret_files(&config).into_iter().map(|(_, file)| file).collect();
        assert_eq!(files, ["/etc/k", "/etc/p", "/etc/s"].map(PathBuf::from));
    }
}
