//! TLS for the fake: a certificate authority made for one test, and what servers it vouches for.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::TlsAcceptor;

use crate::temp::TempDir;

/// A certificate authority that nobody knows yet.
pub struct TestCa {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl TestCa {
    /// A new authority.
    #[expect(clippy::new_without_default, reason = "making keys is more than a default value")]
    pub fn new() -> TestCa {
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "Test authority");
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        TestCa { pem, issuer: Issuer::new(params, key) }
    }

    /// Its certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Writes its certificate into the directory.
    pub fn file(&self, dir: &TempDir) -> PathBuf {
        dir.write("ca.pem", &self.pem)
    }
}

/// How a fake speaks TLS.
pub struct Tls<'a> {
    ca: &'a TestCa,
    names: Vec<String>,
    expired: bool,
    protocols: Vec<&'static [u8]>,
}

impl<'a> Tls<'a> {
    /// With a certificate of this authority for `localhost` and `127.0.0.1`, and HTTP/2 or HTTP/1.1 as the client wants.
    pub fn of(ca: &'a TestCa) -> Tls<'a> {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned).to_vec();
        Tls { ca, names, expired: false, protocols: vec![b"h2", b"http/1.1"] }
    }

    /// With a certificate for these names alone.
    pub fn names<const N: usize>(self, names: [&str; N]) -> Tls<'a> {
        Tls { names: names.map(str::to_owned).to_vec(), ..self }
    }

    /// With a certificate that ran out long ago.
    pub fn expired(self) -> Tls<'a> {
        Tls { expired: true, ..self }
    }

    /// Without HTTP/2.
    pub fn http1(self) -> Tls<'a> {
        Tls { protocols: vec![b"http/1.1"], ..self }
    }

    /// Without saying which protocols there are.
    pub fn without_alpn(self) -> Tls<'a> {
        Tls { protocols: Vec::new(), ..self }
    }

    pub(crate) fn acceptor(self) -> TlsAcceptor {
        let mut params = CertificateParams::new(self.names).expect("names for a certificate");
        if self.expired {
            (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.ca.issuer).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
            .expect("a certificate with its key");
        config.alpn_protocols = self.protocols.into_iter().map(<[u8]>::to_vec).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}
