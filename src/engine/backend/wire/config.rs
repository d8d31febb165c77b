//! How a backend of any dialect is configured: where it is, whose key it carries, how long it may take, and, as a table of the dialect's own, in
//! what it differs from its relatives. It must not know where the text came from, nor read keys from anywhere: they are handed over.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::opaque::ForeignData;

/// What stands in a path for the model of a call.
const MODEL: &str = "{model}";

/// Declares a choice of words, of which the first is the default.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident, $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            #[default]
            $(#[$first_doc])*
            $first,
            $($(#[$variant_doc])* $variant,)*
        }
    };
}
pub(crate) use choice;

/// In what the servers of one dialect differ, as data, and what the common keys are when nobody says.
pub trait Quirks: Clone + fmt::Debug + Default + PartialEq + DeserializeOwned + Send + Sync + 'static {
    /// The default of `base_url`.
    const BASE_URL: &'static str;
    /// The default of `path`.
    const PATH: &'static str;
    /// The default of `stream_path`.
    const STREAM_PATH: Option<&'static str> = None;
    /// The default of `credential_header`.
    const CREDENTIAL_HEADER: &'static str = "authorization";
    /// The default of `credential_prefix`.
    const CREDENTIAL_PREFIX: &'static str = "Bearer ";

    /// What is wrong: the key, with `quirks.` in front, and what it must be.
    fn problems(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Headers of every call. One of the same name in `extra_headers` takes its place.
    fn headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// One backend. Every key has a default, so that an empty table is the provider that made the dialect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, bound = "Q: Quirks")]
pub struct Config<Q> {
    /// The API's address up to its version, with or without a slash at the end. A query in it is kept.
    pub base_url: String,
    /// What follows it for calls. `{model}` in it stands for the model.
    pub path: String,
    /// What follows it for calls whose answer is streamed. Absent: the same as `path`.
    pub stream_path: Option<String>,
    /// The provider's name, as the issuer of opaque data, which only goes back to the same one. Absent: the host of `base_url`.
    pub provider: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// The file that holds the key.
    pub api_key_file: Option<PathBuf>,
    /// A call without any key is refused before it is sent.
    pub requires_credential: bool,
    /// The header that carries the key.
    pub credential_header: String,
    /// What stands before the key in that header.
    pub credential_prefix: String,
    /// More headers. Not for secrets: these are shown and not redacted.
    pub extra_headers: BTreeMap<String, String>,
    /// A proxy for these calls; the environment's are not used.
    pub proxy: Option<String>,
    /// Allows `http://` to hosts other than this machine.
    pub insecure_http: bool,
    /// An answer of more bytes is refused before it is held in memory.
    pub max_answer_bytes: usize,
    /// What becomes of opaque data that another provider, dialect or model attached to a message of the history.
    pub foreign_data: ForeignData,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// In what this server differs.
    pub quirks: Q,
}

impl<Q: Quirks> Default for Config<Q> {
    fn default() -> Self {
        Self {
            base_url: Q::BASE_URL.to_owned(),
            path: Q::PATH.to_owned(),
            stream_path: Q::STREAM_PATH.map(str::to_owned),
            provider: None,
            api_key_env: None,
            api_key_file: None,
            requires_credential: false,
            credential_header: Q::CREDENTIAL_HEADER.to_owned(),
            credential_prefix: Q::CREDENTIAL_PREFIX.to_owned(),
            extra_headers: BTreeMap::new(),
            proxy: None,
            insecure_http: false,
            max_answer_bytes: 32 << 20,
            foreign_data: ForeignData::default(),
            timeouts: Timeouts::default(),
            quirks: Q::default(),
        }
    }
}

/// Limits of time for one call, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Until the connection stands, TLS included.
    pub connect_ms: u64,
    /// From the start until the first byte of the answer's body. An answer that is not streamed is all thinking before that byte.
    pub first_byte_ms: u64,
    /// Between two pieces of the answer.
    pub idle_ms: u64,
    /// For the whole call, without retries.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 10_000, first_byte_ms: 300_000, idle_ms: 120_000, total_ms: 600_000 }
    }
}

impl Timeouts {
    /// As a span.
    pub fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    /// As a span.
    pub fn first_byte(&self) -> Duration {
        Duration::from_millis(self.first_byte_ms)
    }

    /// As a span.
    pub fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }

    /// As a span.
    pub fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }
}

impl<Q: Quirks> Config<Q> {
    /// What is wrong: the key, and what it must be.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut check = |key, good: bool, what: &str| {
            if !good {
                problems.push((key, what.to_owned()));
            }
        };
        match self.endpoint("m", false) {
            Ok(_) => {}
            Err(what) => check("base_url", false, &what),
        }
        let both = self.api_key_env.is_some() && self.api_key_file.is_some();
        check("api_key_file", !both, "must not be set together with `api_key_env`");
        let header = HeaderName::try_from(self.credential_header.as_str());
        check("credential_header", header.is_ok(), "must be a header name");
        let prefix = HeaderValue::try_from(self.credential_prefix.as_str());
        check("credential_prefix", prefix.is_ok(), "must be text for a header");
        let headers = self.extra_headers.iter().all(|(name, value)| {
            HeaderName::try_from(name.as_str()).is_ok() && HeaderValue::try_from(value.as_str()).is_ok()
        });
        check("extra_headers", headers, "must be names and values of headers");
        let proxy = self.proxy.as_ref().is_none_or(|proxy| Url::parse(proxy).is_ok());
        check("proxy", proxy, "must be an address such as http://proxy.example:3128");
        check("max_answer_bytes", self.max_answer_bytes > 0, "must be 1 or more");
        let Timeouts { connect_ms, first_byte_ms, idle_ms, total_ms } = self.timeouts;
        check("timeouts.connect_ms", connect_ms > 0, "must be 1 or more");
        check("timeouts.first_byte_ms", first_byte_ms > 0, "must be 1 or more");
        check("timeouts.idle_ms", idle_ms > 0, "must be 1 or more");
        check("timeouts.total_ms", total_ms > 0, "must be 1 or more");
        problems.extend(self.quirks.problems());
        problems
    }

    /// Where a call for a model goes.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn endpoint(&self, model: &str, stream: bool) -> Result<Url, String> {
        let mut url = Url::parse(&self.base_url).map_err(|error| format!("is not an address: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold credentials; use `api_key_env` or `api_key_file`".to_owned());
        }
        match url.scheme() {
            "https" => {}
            "http" if self.insecure_http || is_this_machine(&url) => {}
            "http" => {
                let what = "sends the key and all content in the clear; use https, or set `insecure_http`";
                return Err(what.to_owned());
            }
            _ => return Err("must begin with https:// or http://".to_owned()),
        }
        let path = self.stream_path.as_ref().filter(|_| stream).unwrap_or(&self.path);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let path = path.replace(MODEL, &escaped(model));
        url.set_path(&format!("{}/{}", url.path().trim_end_matches('/'), path.trim_start_matches('/')));
        let queries: Vec<&str> =
            [url.query().unwrap_or_default(), query].into_iter().filter(|q| !q.is_empty()).collect();
        let query = queries.join("&");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        url.set_fragment(None);
        Ok(url)
    }

    /// Whether the model is a part of the address, and could lead elsewhere.
    pub fn is_led_astray_by(&self, model: &str) -> bool {
        let names_it =
            [Some(&self.path), self.stream_path.as_ref()].into_iter().flatten().any(|path| path.contains(MODEL));
        names_it && model.split('/').any(|step| matches!(step, "" | "." | ".."))
    }

    /// The address without what may be secret.
    pub fn shown_url(&self) -> String {
        let Ok(mut url) = Url::parse(&self.base_url) else { return String::new() };
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// The provider's name.
    pub fn provider(&self) -> String {
        let host = || Url::parse(&self.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        self.provider.clone().or_else(host).unwrap_or_default()
    }
}

/// A model in a path: steps stay steps, and nothing in it ends the path.
fn escaped(model: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte);
    model.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::openai;

    type Config = openai::Config;

    fn at(base_url: &str) -> Config {
        Config { base_url: base_url.to_owned(), ..Config::default() }
    }

    #[test]
    fn a_slash_at_the_end_changes_nothing_and_a_query_stays() {
        for (base, full) in [
            ("https://api.example/v1", "https://api.example/v1/chat/completions"),
            ("https://api.example/v1/", "https://api.example/v1/chat/completions"),
            ("https://api.example", "https://api.example/chat/completions"),
            ("https://a.example/d/m?api-version=7", "https://a.example/d/m/chat/completions?api-version=7"),
        ] {
            assert_eq!(at(base).endpoint("m", false).unwrap().as_str(), full);
        }
        assert_eq!(at("https://a.example/v1?key=s").shown_url(), "https://a.example/v1");
    }

    #[test]
    fn a_model_in_the_path_leads_nowhere_else() {
        let config = Config {
            path: "models/{model}:generate".to_owned(),
            stream_path: Some("models/{model}:stream?alt=sse".to_owned()),
            ..at("https://a.example/v1?v=7")
        };
        for (model, path) in [
            ("m-1.5", "/v1/models/m-1.5:generate"),
            ("own/m@7", "/v1/models/own/m@7:generate"),
            ("a?b#c%2e:d", "/v1/models/a%3Fb%23c%252e%3Ad:generate"),
        ] {
            assert_eq!(config.endpoint(model, false).unwrap().path(), path);
            assert!(!config.is_led_astray_by(model), "{model}");
        }
        let streamed = config.endpoint("m", true).unwrap();
        assert_eq!(streamed.as_str(), "https://a.example/v1/models/m:stream?v=7&alt=sse");
        for model in ["..", "a/../../b", "/a", "a/", "./a", ""] {
            assert!(config.is_led_astray_by(model), "{model}");
            assert!(!at("https://a.example").is_led_astray_by(model), "it is not in this path");
        }
    }

    #[test]
    fn plain_http_leaves_this_machine_only_when_allowed() {
        for local in ["http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:1/v1", "http://m.localhost"] {
            assert!(at(local).endpoint("m", false).is_ok(), "{local}");
        }
        assert!(at("http://models.example/v1").endpoint("m", false).is_err());
        assert!(Config { insecure_http: true, ..at("http://models.example/v1") }.endpoint("m", true).is_ok());
    }

    #[test]
    fn every_mistake_is_named() {
        let config = Config {
            api_key_env: Some("K".to_owned()),
            api_key_file: Some("k".into()),
            credential_header: "a b".to_owned(),
            proxy: Some("x".to_owned()),
            max_answer_bytes: 0,
            timeouts: Timeouts { idle_ms: 0, ..Timeouts::default() },
            ..at("https://user:pass@host/")
        };
        let keys: Vec<_> = config.problems().into_iter().map(|(key, _)| key).collect();
        let expected =
            ["base_url", "api_key_file", "credential_header", "proxy", "max_answer_bytes", "timeouts.idle_ms"];
        assert_eq!(keys, expected);
        assert_eq!(Config::default().problems(), []);
    }

    #[test]
    fn the_table_is_strict_and_its_words_are_words() {
        let config: Config = toml::from_str(
            r#"
            base_url = "http://127.0.0.1:11434/v1"
            provider = "ollama"
            [timeouts]
            idle_ms = 5
            [quirks]
            system_role = "developer"
            max_tokens_field = "max_completion_tokens"
            send_reasoning = "with_calls"
            reasoning_field = "reasoning_details"
            structured_output = "json_object"
            "#,
        )
        .unwrap();
        assert_eq!((config.timeouts.idle_ms, config.timeouts.connect_ms), (5, 10_000));
        assert_eq!(config.quirks.send_reasoning, openai::SendReasoning::WithCalls);
        assert_eq!(config.provider(), "ollama");
        assert_eq!(Config::default().provider(), "api.openai.com");
        assert!(toml::from_str::<Config>("api_key = \"secret\"").is_err());
        assert!(toml::from_str::<Config>("quirks = { systemrole = \"x\" }").is_err());
    }
}
