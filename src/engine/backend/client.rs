//! The backend that is no backend: the call is made by the client of a coordination, with keys and rules of its own. It must not call
//! anybody.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use secrecy::SecretString;
use serde::Deserialize;

use super::{Backend, Call, Description, Failure, FailureKind, Outbound, Reply, Sink};

/// The kind in the configuration.
pub const KIND: &str = "client";

/// Settings of the kind `client`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The provider that the client calls, as the issuer of opaque data where an answer does not name it; `client` when absent.
    pub provider: Option<String>,
}

/// A model that the client calls.
pub struct Client {
    provider: String,
}

impl Client {
    /// With its settings.
    pub fn new(config: Config) -> Self {
        Self { provider: config.provider.unwrap_or_else(|| KIND.to_owned()) }
    }
}

impl Backend for Client {
    fn describe(&self) -> Description {
        Description {
            kind: KIND,
            provider: self.provider.clone(),
            api: KIND,
            base_url: String::new(),
            has_credential: false,
            capabilities: vec!["tools", "json", "json_schema", "images", "files"],
        }
    }

    fn ready(&self, _credential: Option<&SecretString>) -> Result<(), Failure> {
        Ok(())
    }

    /// Nothing goes out from here.
    fn encode(&self, call: &Call) -> Result<Outbound, Failure> {
        Ok(Outbound { body: Bytes::new(), adaptations: Vec::new(), stream: false, model: call.model.clone() })
    }

    fn send<'a>(
        &'a self,
        _outbound: &'a Outbound,
        _credential: Option<&'a SecretString>,
        _sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        let message = "the client of a coordination makes the calls of this backend";
        futures::future::ready(Err(Failure::new(FailureKind::Unsupported(KIND.to_owned()), message))).boxed()
    }
}
