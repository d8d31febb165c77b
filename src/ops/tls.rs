//! TLS: the certificate of the server, and whose certificates callers must have. It must not know what is served.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::app::reload::Mistake;
use crate::domain::id::Hash;
use crate::engine::file;

/// How connections are encrypted; not at all where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The server's certificate with those between it and a root, in PEM; relative to the configuration.
    pub certificate_file: Option<PathBuf>,
    /// Its private key, in PEM.
    pub key_file: Option<PathBuf>,
    /// The roots of the certificates that callers must have, in PEM; callers need none when absent.
    pub client_ca_file: Option<PathBuf>,
}

impl Config {
    /// Whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        self.certificate_file.is_some()
    }

    /// What is wrong with it: the key and the mistake.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let needs = |key, why: &str| (key, why.to_owned());
        match (&self.certificate_file, &self.key_file, &self.client_ca_file) {
            (Some(_), None, _) => vec![needs("key_file", "is missing: a certificate needs its private key")],
            (None, Some(_), _) => vec![needs("certificate_file", "is missing: a private key needs its certificate")],
            (None, None, Some(_)) => {
                vec![needs("certificate_file", "is missing: callers show certificates only to a server that has one")]
            }
            _ => Vec::new(),
        }
    }
}

/// Where the certificates are.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

/// What connections are encrypted with now.
struct Current {
    acceptor: TlsAcceptor,
    /// Of what the files say, to tell whether they are others now.
    hash: Hash,
}

/// The certificates of a server. Connections that there are keep those with which they began.
pub struct Certificates {
    files: Files,
    current: ArcSwap<Current>,
}

impl Certificates {
    /// Those of a configuration, whose relative paths start from `base`; absent where connections are not encrypted.
    ///
    /// # Errors
    /// Every mistake in the files.
    pub fn read(config: &Config, base: &Path) -> Result<Option<Arc<Self>>, Vec<Mistake>> {
        let (Some(certificate), Some(key)) = (&config.certificate_file, &config.key_file) else { return Ok(None) };
        let client_ca = config.client_ca_file.as_ref().map(|file| base.join(file));
        let files = Files { certificate: base.join(certificate), key: base.join(key), client_ca };
        let current = files.read()?;
        Ok(Some(Arc::new(Self { files, current: ArcSwap::from_pointee(current) })))
    }

    /// Reads the files anew. Blocks. Tells whether anything is otherwise.
    ///
    /// # Errors
    /// Every mistake in them; then what was in force stays.
    pub fn refresh(&self) -> Result<bool, Vec<Mistake>> {
        let new = self.files.read()?;
        let changed = new.hash != self.current.load().hash;
        if changed {
            self.current.store(Arc::new(new));
        }
        Ok(changed)
    }

    /// Shakes hands over a connection.
    ///
    /// # Errors
    /// When the peer does not speak TLS, or has no certificate that is taken.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = self.current.load().acceptor.clone();
        acceptor.accept(stream).await
    }
}

impl Files {
    fn read(&self) -> Result<Current, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut said = Vec::new();
        let mut text = |path: &Path, key: &str| match file::read(path) {
            Ok(text) => {
                said.extend_from_slice(Hash::of(&text).0.as_slice());
                Some(text)
            }
            Err(error) => {
                mistakes.push(mistake(path, key, &format!("cannot be read: {error}")));
                None
            }
        };
        let certificate = text(&self.certificate, "certificate_file");
        let key = text(&self.key, "key_file");
        let client_ca = self.client_ca.as_deref().map(|file| text(file, "client_ca_file"));
        let chain = certificate
            .map(|text| certificates(&text).map_err(|what| mistake(&self.certificate, "certificate_file", &what)));
        let key = key.map(|text| private_key(&text).map_err(|what| mistake(&self.key, "key_file", &what)));
        let roots = client_ca.flatten().zip(self.client_ca.as_deref());
        let roots = roots.map(|(text, file)| roots_of(&text).map_err(|what| mistake(file, "client_ca_file", &what)));
        let (chain, key, roots) = match (chain.transpose(), key.transpose(), roots.transpose()) {
            (Ok(Some(chain)), Ok(Some(key)), Ok(roots)) if mistakes.is_empty() => (chain, key, roots),
            (chain, key, roots) => {
                mistakes.extend([chain.err(), key.err(), roots.err()].into_iter().flatten());
                return Err(mistakes);
            }
        };
        let acceptor =
            acceptor(chain, key, roots).map_err(|what| vec![mistake(&self.certificate, "certificate_file", &what)])?;
        Ok(Current { acceptor, hash: Hash::of(&said) })
    }
}

fn mistake(file: &Path, key: &str, message: &str) -> Mistake {
    Mistake { file: file.display().to_string(), place: format!("tls.{key}"), message: message.to_owned() }
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Vec<_> =
        CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().map_err(|error| not_pem(&error))?;
    if chain.is_empty() { Err("has no certificate in PEM".to_owned()) } else { Ok(chain) }
}

fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| match error {
        pem::Error::NoItemsFound => "has no private key in PEM".to_owned(),
        other => not_pem(&other),
    })
}

/// What is wrong with a text, without the text.
fn not_pem(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "is no PEM: a section does not end".to_owned(),
        pem::Error::Base64Decode(_) => "is no PEM: a section is not base64".to_owned(),
        _ => "is no PEM".to_owned(),
    }
}

fn roots_of(text: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(text)? {
        roots.add(certificate).map_err(|error| format!("has a certificate that cannot be a root: {error}"))?;
    }
    Ok(roots)
}

fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: Option<RootCertStore>,
) -> Result<TlsAcceptor, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = match roots {
        Some(roots) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
            verifier.map_err(|error| format!("cannot ask for certificates of callers: {error}"))?
        }
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?.with_client_cert_verifier(verifier);
    let mut config =
        config.with_single_cert(chain, key).map_err(|error| format!("does not go with the private key: {error}"))?;
    // What asks for metrics mostly speaks HTTP/1.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
