//! One request to the server: what every request carries, and redirects within the origin.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use url::Url;

use super::answer::Answer;
use super::connect::{Route, passed};
use super::endpoint::{Endpoint, Origin};
use super::pool::{Failure, Pool};
use crate::auth::{Pass, Tries};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::redact::mask_url;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Sends requests to one endpoint.
pub(super) struct Fetcher {
    pub(super) endpoint: Arc<Endpoint>,
    /// The endpoint, as a request names it.
    target: Uri,
    pool: Arc<Pool>,
    pub(super) limits: Arc<Limits>,
    /// Where a permanent redirect led.
    moved: Mutex<Option<Url>>,
}

/// What a request is.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    /// Where to, if not to the endpoint itself.
    pub(super) url: Option<&'a Url>,
    pub(super) accept: &'static str,
    pub(super) body: Bytes,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Fetcher {
    pub(super) fn new(mut endpoint: Endpoint, limits: &Arc<Limits>) -> Result<Self> {
        let own = HeaderValue::from_static(concat!("trunkline/", env!("CARGO_PKG_VERSION")));
        endpoint.headers.entry(USER_AGENT).or_insert(own);
        let target = target_of(&endpoint.url);
        let endpoint = Arc::new(endpoint);
        let pool = Pool::new(Route::new(&endpoint)?, limits.clone());
        let limits = limits.clone();
        Ok(Self { endpoint, target, pool, limits, moved: Mutex::default() })
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.pool.route().origin
    }

    pub(super) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Sends a request; gives the head of the answer, whatever its status.
    pub(super) async fn fetch(&self, ask: Ask<'_>) -> Result<Answer, Failure> {
        let unsent = |error: Error| Failure { error, left: false };
        let mut url = ask.url.cloned().or_else(|| lock(&self.moved).clone());
        let mut pass = self.pass(&ask, url.as_ref()).await.map_err(unsent)?;
        let (mut tries, mut hops) = (Tries::default(), 0);
        loop {
            let target = url.as_ref().map_or_else(|| self.target.clone(), target_of);
            let answer = self.pool.send(self.request(&ask, target, pass.as_ref())).await?;
            passed("status", &answer.status);
            if let Some(next) =
                self.again(&ask, url.as_ref(), &answer, pass.as_ref(), &mut tries).await.map_err(unsent)?
            {
                pass = Some(next);
                continue;
            }
            if !answer.status.is_redirection() || answer.status == StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            hops += 1;
            let from = url.as_ref().unwrap_or(&self.endpoint.url);
            url = Some(self.redirected(&ask.method, answer.status, &answer.headers, from, hops).map_err(unsent)?);
            if answer.status == StatusCode::PERMANENT_REDIRECT && ask.url.is_none() {
                lock(&self.moved).clone_from(&url);
            }
            pass = self.pass(&ask, url.as_ref()).await.map_err(unsent)?; // a proof is for one request and one URL
        }
    }

    fn request(&self, ask: &Ask<'_>, target: Uri, pass: Option<&Pass>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(ask.body.clone()));
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = target;
        let headers = request.headers_mut();
        headers.clone_from(&self.endpoint.headers);
        headers.insert(ACCEPT, HeaderValue::from_static(ask.accept));
        if ask.method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in &ask.headers {
            headers.insert(name.clone(), value.clone());
        }
        if let Some(pass) = pass {
            pass.write(headers);
        }
        request
    }

    /// Where a redirect leads; only requests that keep their method and body follow, and only within the origin.
    pub(super) fn redirected(
        &self,
        method: &Method,
        status: StatusCode,
        headers: &HeaderMap,
        from: &Url,
        hops: usize,
    ) -> Result<Url> {
        let status = status.as_u16();
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let to = from.join(location).ok().filter(|_| !location.is_empty());
        let shown = to.as_ref().map_or_else(|| location.to_owned(), |url| mask_url(url.as_str()));
        let refused = |why: String, hint: String| {
            let error =
                Error::new(ErrorKind::Unreachable, why).with_hint(hint).with_context("status", status.to_string());
            Err(error.with_context("stage", "redirect").with_context("location", shown.clone()))
        };
        let here = self.origin();
        let Some(to_origin) = to.as_ref().and_then(Origin::of) else {
            let why = format!("{} redirects ({status}) to {shown:?}, which is no http or https URL", self.shown());
            return refused(why, "Check the URL of the server".to_owned());
        };
        if to_origin != *here {
            let why = format!("{here} redirects ({status}) to another origin, {to_origin}; nothing was sent there");
            return refused(why, format!("If that is the server, use {shown} as its URL"));
        }
        let max = self.limits.max_redirects;
        if hops > max {
            let why = format!("{} redirects more than {max} times (max_redirects; last to {shown})", self.shown());
            return refused(why, "The redirects seem to go in a circle; check the URL of the server".to_owned());
        }
        let keeps_method = matches!(status, 307 | 308) || method == Method::GET;
        match to.filter(|_| keeps_method) {
            Some(to) => Ok(to),
            None => {
                let why = format!(
                    "{} redirects ({status}) to {shown}, which would turn the request into a GET",
                    self.shown()
                );
                refused(why, format!("Use {shown} as the URL of the server"))
            }
        }
    }

    /// The URL for people.
    pub(super) fn shown(&self) -> String {
        self.endpoint.shown()
    }
}

/// Path and query, as a request names them.
pub(super) fn target_of(url: &Url) -> Uri {
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    target.parse().unwrap_or_default() // a URL's path and query make a URI
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
