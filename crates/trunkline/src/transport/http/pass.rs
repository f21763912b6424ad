//! What lets a request in: asked for before it is sent and again when it was refused, and how it is written.

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use url::Url;

use super::answer::Answer;
use super::fetch::{Ask, Fetcher};
use crate::auth::{Pass, Refused, Target, Tries};
use crate::error::{Error, ErrorKind, Result};

const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

impl Fetcher {
    fn target<'a>(&'a self, ask: &'a Ask<'_>, url: Option<&'a Url>) -> Target<'a> {
        let url = url.unwrap_or(&self.endpoint.url);
        Target { method: ask.method.as_str(), url, peer: self.pool().route().peer() }
    }

    /// What a request is to carry, if there is anything.
    pub(super) async fn pass(&self, ask: &Ask<'_>, url: Option<&Url>) -> Result<Option<Pass>> {
        let Some(authorizer) = &self.endpoint.authorizer else { return Ok(None) };
        let pass = authorizer.0.pass(self.target(ask, url)).await?;
        self.checked(pass)
    }

    /// What a request that was refused is to carry instead, if that may help.
    pub(super) async fn again(
        &self,
        ask: &Ask<'_>,
        url: Option<&Url>,
        answer: &Answer,
        pass: Option<&Pass>,
        tries: &mut Tries,
    ) -> Result<Option<Pass>> {
        let Some(authorizer) = &self.endpoint.authorizer else { return Ok(None) };
        let target = self.target(ask, url);
        if let Some(nonce) = answer.headers.get(DPOP_NONCE).and_then(|nonce| nonce.to_str().ok()) {
            authorizer.0.note_nonce(target.url, nonce);
        }
        if !matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(None);
        }
        let header = challenges(&answer.headers);
        let refused = Refused { status: answer.status.as_u16(), header: header.as_deref(), pass };
        let next = authorizer.0.again(target, refused, tries).await?;
        self.checked(next)
    }

    fn checked(&self, pass: Option<Pass>) -> Result<Option<Pass>> {
        if let Some(pass) = &pass {
            if pass.value().is_none() {
                let message = "The token can't be sent: it holds a line break or another control character";
                return Err(Error::new(ErrorKind::Auth, message).with_hint("Look at where the token comes from"));
            }
            self.endpoint.redactor.learn(pass.token.expose());
        }
        Ok(pass)
    }
}

/// The challenges of a refusal, in one text.
pub(super) fn challenges(headers: &HeaderMap) -> Option<String> {
    let all: Vec<_> = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

impl Pass {
    /// The `Authorization` header, if it can hold the token.
    fn value(&self) -> Option<HeaderValue> {
        let scheme = if self.proof.is_some() { "DPoP" } else { "Bearer" };
        sensitive(&format!("{scheme} {}", self.token.expose()))
    }

    pub(super) fn write(&self, headers: &mut HeaderMap) {
        headers.extend(self.value().map(|value| (AUTHORIZATION, value)));
        let proof = self.proof.as_ref().and_then(|proof| sensitive(proof.expose()));
        headers.extend(proof.map(|proof| (DPOP, proof)));
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
