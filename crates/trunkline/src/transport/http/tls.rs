//! The settings of TLS: made at the first `https`, once where no file is named. Trusts what the system trusts, and a file beside it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls_platform_verifier::Verifier;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::error::{Error, ErrorKind, Result};

/// Settings that trust the system's authorities and those in `ca_file`. Offers HTTP/2 and HTTP/1.1.
pub(super) fn config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>> {
    static PLAIN: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let (None, Some(config)) = (ca_file, PLAIN.get()) {
        return Ok(config.clone());
    }
    let extra = ca_file.map(certificates).transpose()?.unwrap_or_default();
    let config = Arc::new(trusting(extra).map_err(|error| {
        Error::new(ErrorKind::Config, format!("The system's certificates can't be used: {error}"))
            .with_hint("Install the package ca-certificates, or name a file of certificates (caFile in the config)")
            .with_source(error)
    })?);
    Ok(if ca_file.is_none() { PLAIN.get_or_init(|| config).clone() } else { config })
}

fn trusting(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra, provider.clone())?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous() // the name of the method: the verifier is the system's
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |why: String| {
        Error::new(ErrorKind::Config, format!("The certificates in {} can't be used: {why}", file.display()))
            .with_hint("The file has to hold certificates as PEM (-----BEGIN CERTIFICATE-----)")
    };
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let found: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("there are none".to_owned())) } else { Ok(found) }
}
