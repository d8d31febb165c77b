//! TLS: connections that nobody can read, certificates that change while the server serves, and callers that must have one.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use antiphon::grpc::pb;
use antiphon::grpc::pb::admin_service_client::AdminServiceClient;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

use crate::support::server::{Running, scripted};
use crate::support::within;

/// Whoever signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a name, and its private key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    /// Puts a new certificate for localhost beside a configuration.
    fn write(&self, folder: &Path) {
        let (certificate, key) = self.sign("localhost");
        std::fs::write(folder.join("cert.pem"), certificate).unwrap();
        std::fs::write(folder.join("key.pem"), key).unwrap();
    }
}

fn config(more: &str) -> String {
    format!("{}\n[tls]\ncertificate_file = \"cert.pem\"\nkey_file = \"key.pem\"\n{more}", scripted(""))
}

async fn connect(address: SocketAddr, tls: ClientTlsConfig) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Channel::from_shared(format!("https://localhost:{}", address.port())).unwrap();
    endpoint.tls_config(tls).unwrap().connect().await
}

/// Whether a call goes through.
async fn answers(server: &Running, tls: ClientTlsConfig) -> bool {
    match connect(server.address(), tls).await {
        // Where a certificate is asked for, the refusal comes with the first call.
        Ok(channel) => AdminServiceClient::new(channel).get_server_info(pb::GetServerInfoRequest {}).await.is_ok(),
        Err(_) => false,
    }
}

fn trusting(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()))
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_certificates_change_while_the_server_serves() {
    let (old, new) = (Authority::new(), Authority::new());
    let server = Running::start_beside(config(""), |folder| old.write(folder)).await;
    assert!(answers(&server, trusting(&old)).await);
    assert!(!answers(&server, trusting(&new)).await);
    let plain = Channel::from_shared(format!("http://{}", server.address())).unwrap().connect().await;
    if let Ok(channel) = plain {
        AdminServiceClient::new(channel).get_server_info(pb::GetServerInfoRequest {}).await.unwrap_err();
    }
    let kept = connect(server.address(), trusting(&old)).await.unwrap();
    new.write(&server.folder());
    let changed = async {
        while !answers(&server, trusting(&new)).await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within("the new certificate", changed).await;
    // A connection that there is goes on.
    AdminServiceClient::new(kept).get_server_info(pb::GetServerInfoRequest {}).await.unwrap();
    // Half a pair changes nothing.
    let (certificate, _) = old.sign("localhost");
    std::fs::write(server.folder().join("cert.pem"), certificate).unwrap();
    assert!(answers(&server, trusting(&new)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_must_have_a_certificate_where_that_is_asked() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = Running::start_beside(config("client_ca_file = \"clients.pem\"\n"), |folder| {
        ours.write(folder);
        std::fs::write(folder.join("clients.pem"), ours.pem()).unwrap();
    })
    .await;
    let with = |authority: &Authority| {
        let (certificate, key) = authority.sign("client");
        trusting(&ours).identity(Identity::from_pem(certificate, key))
    };
    assert!(answers(&server, with(&ours)).await);
    assert!(!answers(&server, with(&theirs)).await);
    assert!(!answers(&server, trusting(&ours)).await);
}

/// Peers that connect and say nothing, or nonsense, keep nobody else from connecting.
#[tokio::test(flavor = "multi_thread")]
async fn who_connects_and_does_not_shake_hands_is_in_nobodys_way() {
    let authority = Authority::new();
    let server = Running::start_beside(config(""), |folder| authority.write(folder)).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(server.address()).await.unwrap());
    }
    let mut loud = TcpStream::connect(server.address()).await.unwrap();
    loud.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    // It is told that this is TLS, or hung up on.
    within("the end of a connection that speaks no TLS", loud.read_to_end(&mut said)).await.ok();
    assert!(within("a call beside them", answers(&server, trusting(&authority))).await);
    drop(silent);
}
