//! What to use when nothing is configured: providers whose keys are in the environment, else model servers on this machine, else canned
//! echoes. It must not know how a backend works: it writes the configuration that a person would.

use std::time::Duration;

use futures::future::join_all;
use reqwest::{Client, redirect};
use serde::Deserialize;
use toml::{Table, Value};

use super::environment::Environment;
use crate::engine::backend::Limits;
use crate::engine::{BackendConfig, Config, ProfileConfig};

/// The model of the first profile, whatever the provider's own default is.
pub const MODEL_VARIABLE: &str = "ANTIPHON_MODEL";
/// Where OpenAI's dialect is spoken instead of at OpenAI.
const OPENAI_ADDRESS: &str = "OPENAI_BASE_URL";

/// A provider that is found by its key.
struct Provider {
    /// The id of its backend and profile.
    id: &'static str,
    /// Its name, for people.
    name: &'static str,
    /// The variables that may have its key, the first before the others.
    keys: &'static [&'static str],
    /// The dialect that it speaks.
    kind: &'static str,
    /// Its address.
    address: &'static str,
    /// A model that it has, small and general.
    model: &'static str,
    /// In what it differs from the default.
    quirks: &'static [(&'static str, &'static str)],
}

/// The dialect that most speak.
const OPENAI: &str = "openai";

/// The first whose key is there is the default.
const PROVIDERS: [Provider; 7] = [
    Provider {
        id: "openai",
        name: "OpenAI",
        keys: &["OPENAI_API_KEY"],
        kind: OPENAI,
        address: "https://api.openai.com/v1",
        model: "gpt-5-mini",
        // Its newer models refuse the old name.
        quirks: &[("max_tokens_field", "max_completion_tokens")],
    },
    Provider {
        id: "anthropic",
        name: "Anthropic",
        keys: &["ANTHROPIC_API_KEY"],
        kind: "anthropic",
        address: "https://api.anthropic.com/v1",
        model: "claude-haiku-4-5",
        quirks: &[],
    },
    Provider {
        id: "gemini",
        name: "Gemini",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        kind: "gemini",
        address: "https://generativelanguage.googleapis.com/v1beta",
        model: "gemini-2.5-flash",
        quirks: &[],
    },
    Provider {
        id: "openrouter",
        name: "OpenRouter",
        keys: &["OPENROUTER_API_KEY"],
        kind: OPENAI,
        address: "https://openrouter.ai/api/v1",
        model: "openrouter/auto",
        quirks: &[],
    },
    Provider {
        id: "groq",
        name: "Groq",
        keys: &["GROQ_API_KEY"],
        kind: OPENAI,
        address: "https://api.groq.com/openai/v1",
        model: "llama-3.3-70b-versatile",
        quirks: &[],
    },
    Provider {
        id: "mistral",
        name: "Mistral",
        keys: &["MISTRAL_API_KEY"],
        kind: OPENAI,
        address: "https://api.mistral.ai/v1",
        model: "mistral-small-latest",
        quirks: &[],
    },
    Provider {
        id: "deepseek",
        name: "DeepSeek",
        keys: &["DEEPSEEK_API_KEY"],
        kind: OPENAI,
        address: "https://api.deepseek.com/v1",
        model: "deepseek-chat",
        quirks: &[],
    },
];

/// A model server that may run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The id of its backend and profile.
    pub id: &'static str,
    /// Its name, for people.
    pub name: &'static str,
    /// Where it usually listens.
    pub port: u16,
}

/// Where model servers usually listen, in the order in which they are preferred.
pub const LOCAL: [Local; 4] = [
    Local { id: "ollama", name: "Ollama", port: 11434 },
    Local { id: "llama-cpp", name: "llama.cpp", port: 8080 },
    Local { id: "lm-studio", name: "LM Studio", port: 1234 },
    Local { id: "vllm", name: "vLLM", port: 8000 },
];

/// How long a server on this machine may take to say which models it has.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(800);
/// How long one elsewhere may.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest list of models that is read, in bytes.
const MAX_LIST_BYTES: usize = 1 << 20;
/// Parts of names of models that do not talk.
const SILENT: [&str; 6] = ["embed", "rerank", "whisper", "tts", "moderation", "dall-e"];

/// What is used instead of a configuration.
#[derive(Clone, Debug)]
pub struct Found {
    /// As a person would configure it.
    pub engine: Config,
    /// What it is, and how to have it otherwise, a line each.
    pub said: Vec<String>,
}

/// Finds out.
pub async fn find(environment: &dyn Environment, local: &[Local]) -> Found {
    if let Some(found) = from_environment(environment).await {
        return found;
    }
    let model = environment.var(MODEL_VARIABLE);
    match from_this_machine(local, model.as_deref()).await {
        Some(found) => found,
        None => echo(),
    }
}

/// Providers whose keys, and the address that is, in the environment.
async fn from_environment(environment: &dyn Environment) -> Option<Found> {
    let mut engine = Config::default();
    let mut said = Vec::new();
    let mut wished = environment.var(MODEL_VARIABLE);
    for provider in PROVIDERS {
        let found = provider.keys.iter().find_map(|name| Some((*name, environment.var(name)?)));
        let elsewhere = environment.var(OPENAI_ADDRESS).filter(|_| provider.id == "openai");
        let (variable, key) = match found {
            Some((variable, key)) => (Some(variable), Some(key)),
            None if elsewhere.is_some() => (None, None),
            None => continue,
        };
        let (name, why) = match &elsewhere {
            Some(address) => (address.clone(), OPENAI_ADDRESS),
            None => (provider.name.to_owned(), variable.unwrap_or_default()),
        };
        let mut model = wished.take();
        if let (None, Some(address)) = (&model, &elsewhere) {
            // Whoever answers there need not have OpenAI's models.
            model = models(address, key.as_deref(), REMOTE_TIMEOUT).await.and_then(first_that_talks);
        }
        let model = model.unwrap_or_else(|| provider.model.to_owned());
        let quirks = if elsewhere.is_some() { &[] } else { provider.quirks };
        let address = elsewhere.as_deref().unwrap_or(provider.address);
        let default = if engine.default_profile.is_none() { "" } else { &format!(" with --profile {}", provider.id) };
        said.push(format!("using {name}, found by {why}, with the model {model}{default}"));
        add(&mut engine, provider.id, provider.kind, address, variable, quirks, &model);
    }
    said.push(how_otherwise());
    (!engine.profiles.is_empty()).then_some(Found { engine, said })
}

/// Model servers that answer on this machine.
async fn from_this_machine(candidates: &[Local], wished: Option<&str>) -> Option<Found> {
    let ask = |local: &Local| {
        let address = format!("http://127.0.0.1:{}/v1", local.port);
        async move { (models(&address, None, LOCAL_TIMEOUT).await.and_then(first_that_talks), address) }
    };
    let answers = join_all(candidates.iter().map(ask)).await;
    let mut engine = Config::default();
    let mut said = Vec::new();
    for (local, (model, address)) in candidates.iter().zip(answers) {
        let Some(model) = model else { continue };
        let is_first = engine.default_profile.is_none();
        let model = wished.filter(|_| is_first).map_or(model, str::to_owned);
        let default = if is_first { String::new() } else { format!(" with --profile {}", local.id) };
        said.push(format!("using {} at {address} with the model {model}{default}", local.name));
        add(&mut engine, local.id, OPENAI, &address, None, &[], &model);
    }
    said.push(how_otherwise());
    (!engine.profiles.is_empty()).then_some(Found { engine, said })
}

/// Canned echoes, so that everything but a model can be tried.
fn echo() -> Found {
    let mut engine = Config { default_profile: Some("echo".to_owned()), ..Config::default() };
    let backend =
        BackendConfig { kind: "scripted".to_owned(), limits: Limits::default(), namespaces: None, rest: Table::new() };
    engine.backends.insert("echo".to_owned(), backend);
    engine.profiles.insert("echo".to_owned(), profile("echo", "echo"));
    let keys: Vec<&str> = PROVIDERS.iter().flat_map(|provider| provider.keys).copied().collect();
    let said = vec![
        "no model was found: answers are echoes of what was said".to_owned(),
        format!(
            "for a model set one of {}, or OPENAI_BASE_URL, or start a model server such as Ollama",
            keys.join(", ")
        ),
        "for all else write a configuration, antiphon.toml".to_owned(),
    ];
    Found { engine, said }
}

fn how_otherwise() -> String {
    format!("another model: {MODEL_VARIABLE}; all else: a configuration, antiphon.toml")
}

/// A backend and a profile of the same id; the first is the default.
fn add(
    engine: &mut Config,
    id: &str,
    kind: &str,
    address: &str,
    key: Option<&str>,
    quirks: &[(&str, &str)],
    model: &str,
) {
    let text = |text: &str| Value::String(text.to_owned());
    let mut rest = Table::from_iter([("base_url".to_owned(), text(address))]);
    rest.extend(key.map(|variable| ("api_key_env".to_owned(), text(variable))));
    if !quirks.is_empty() {
        let quirks = quirks.iter().map(|(name, word)| ((*name).to_owned(), text(word)));
        rest.insert("quirks".to_owned(), Value::Table(quirks.collect()));
    }
    let backend = BackendConfig { kind: kind.to_owned(), limits: Limits::default(), namespaces: None, rest };
    engine.backends.insert(id.to_owned(), backend);
    engine.profiles.insert(id.to_owned(), profile(id, model));
    engine.default_profile.get_or_insert_with(|| id.to_owned());
}

fn profile(backend: &str, model: &str) -> ProfileConfig {
    let (backend, model) = (backend.to_owned(), model.to_owned());
    ProfileConfig {
        backend,
        model,
        parameters: Default::default(),
        fallback: Vec::new(),
        prices: None,
        repair: None,
        namespaces: None,
    }
}

/// The models of a server; absent when it does not say.
async fn models(address: &str, key: Option<&str>, within: Duration) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let mut builder = Client::builder().redirect(redirect::Policy::none()).no_proxy().timeout(within);
    if address.starts_with("http://") {
        // Without TLS there is nothing to trust, and a bare container has no certificates.
        builder = builder.tls_certs_only([]);
    }
    let mut request = builder.build().ok()?.get(format!("{}/models", address.trim_end_matches('/')));
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let mut response = request.send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_LIST_BYTES {
            return None;
        }
    }
    let list: List = serde_json::from_slice(&body).ok()?;
    Some(list.data.into_iter().map(|model| model.id).collect())
}

fn first_that_talks(models: Vec<String>) -> Option<String> {
    let talks = |model: &String| {
        let name = model.to_lowercase();
        !SILENT.iter().any(|part| name.contains(part))
    };
    models.into_iter().find(talks)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::net::TcpListener;

    use super::super::environment::tests::FakeEnvironment;
    use super::*;

    /// A model server that has these models; tells its port.
    async fn server(models: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().route("/v1/models", get(move || async move { models }));
        tokio::spawn(async move { axum::serve(listener, router).await });
        port
    }

    fn local(id: &'static str, port: u16) -> Local {
        Local { id, name: id, port }
    }

    #[tokio::test]
    async fn a_key_is_enough_and_the_first_is_the_default() {
        let environment =
            FakeEnvironment::default().with("GROQ_API_KEY", "secret-1").with("OPENAI_API_KEY", "secret-2");
        let found = find(&environment, &[]).await;
        assert_eq!(found.engine.default_profile.as_deref(), Some("openai"));
        assert_eq!(found.engine.profiles["groq"].backend, "groq");
        let openai = &found.engine.backends["openai"];
        assert_eq!(openai.rest["api_key_env"].as_str(), Some("OPENAI_API_KEY"));
        assert_eq!(openai.rest["base_url"].as_str(), Some("https://api.openai.com/v1"));
        let told = format!("{found:?}");
        assert!(!told.contains("secret"), "keys stay where they are: {told}");
        assert!(
            found.said[0].contains("OPENAI_API_KEY") && found.said[1].contains("--profile groq"),
            "{:?}",
            found.said
        );
    }

    #[tokio::test]
    async fn each_provider_is_spoken_to_in_its_own_dialect() {
        let environment = FakeEnvironment::default().with("ANTHROPIC_API_KEY", "k").with("GOOGLE_API_KEY", "k");
        let found = find(&environment, &[]).await;
        assert_eq!(found.engine.default_profile.as_deref(), Some("anthropic"));
        let kinds: Vec<_> = found.engine.backends.values().map(|backend| backend.kind.as_str()).collect();
        assert_eq!(kinds, ["anthropic", "gemini"]);
        let gemini = &found.engine.backends["gemini"];
        assert_eq!(gemini.rest["api_key_env"].as_str(), Some("GOOGLE_API_KEY"));
        let both = environment.with("GEMINI_API_KEY", "k");
        let found = find(&both, &[]).await;
        assert_eq!(found.engine.backends["gemini"].rest["api_key_env"].as_str(), Some("GEMINI_API_KEY"));
    }

    #[tokio::test]
    async fn the_model_can_be_named() {
        let environment = FakeEnvironment::default().with("MISTRAL_API_KEY", "k").with(MODEL_VARIABLE, "my-model");
        let found = find(&environment, &[]).await;
        assert_eq!(found.engine.profiles["mistral"].model, "my-model");
    }

    #[tokio::test]
    async fn an_address_without_a_key_is_asked_for_its_models() {
        let port = server(r#"{"data": [{"id": "nomic-embed-text"}, {"id": "small"}]}"#).await;
        let environment = FakeEnvironment::default().with(OPENAI_ADDRESS, format!("http://127.0.0.1:{port}/v1/"));
        let found = find(&environment, &[]).await;
        assert_eq!(found.engine.profiles["openai"].model, "small");
        assert!(!found.engine.backends["openai"].rest.contains_key("api_key_env"));
        assert!(!found.engine.backends["openai"].rest.contains_key("quirks"), "it is not OpenAI");
    }

    #[tokio::test]
    async fn servers_on_this_machine_are_found_in_order() {
        let (first, second) = (server(r#"{"data": [{"id": "a"}]}"#).await, server(r#"{"data": [{"id": "b"}]}"#).await);
        let other = server("<html>not a model server</html>").await;
        let candidates = [local("other", other), local("one", first), local("two", second)];
        let found = find(&FakeEnvironment::default(), &candidates).await;
        assert_eq!(found.engine.default_profile.as_deref(), Some("one"));
        assert_eq!(found.engine.backends.keys().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(found.engine.profiles["two"].model, "b");
        let environment = FakeEnvironment::default().with(MODEL_VARIABLE, "c");
        let found = find(&environment, &candidates).await;
        assert_eq!(
            (found.engine.profiles["one"].model.as_str(), found.engine.profiles["two"].model.as_str()),
            ("c", "b")
        );
    }

    #[tokio::test]
    async fn with_nothing_at_all_answers_are_echoes_and_that_is_said() {
        // A port that was free a moment ago: nobody answers there.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let found = find(&FakeEnvironment::default(), &[local("gone", port)]).await;
        assert_eq!(found.engine.backends["echo"].kind, "scripted");
        assert!(found.said[0].contains("no model was found") && found.said[1].contains("OPENAI_API_KEY"));
    }
}
