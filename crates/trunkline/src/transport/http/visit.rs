//! One request beside the server's own: to a URL that is visited once, over a connection of its own, with a bounded answer in
//! a bounded time. TLS settings and proxies are the server's.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Method, Request};
use url::Url;

use super::answer::Answer;
use super::connect::{Route, unbracketed};
use super::endpoint::{Endpoint, Origin};
use super::fetch::target_of;
use super::pass::challenges;
use super::pool::{Pool, within};
use super::reach::Reach;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{self, Limits};
use crate::redact::{Secret, mask_url};

/// Visits URLs on behalf of one server.
pub(crate) struct Visitor {
    home: Endpoint,
    limits: Arc<Limits>,
}

/// A request.
pub(crate) struct Visit<'a> {
    pub(crate) url: &'a Url,
    pub(crate) body: Body,
    /// Headers whose values are not to be shown.
    pub(crate) headers: Vec<(&'static str, Secret)>,
    /// How near an address may be; for what the server's own origin is, that is no matter.
    pub(crate) reach: Reach,
}

pub(crate) enum Body {
    /// A GET; redirects within the origin are followed.
    None,
    Form(String),
    Json(String),
}

/// An answer, whatever its status.
pub(crate) struct Visited {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Visited {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Its challenges, in one text.
    pub(crate) fn challenges(&self) -> Option<String> {
        challenges(&self.headers)
    }
}

impl Visitor {
    /// For the server at this endpoint.
    pub(crate) fn new(endpoint: &Endpoint, limits: &Arc<Limits>) -> Self {
        let mut home = Endpoint { authorizer: None, ..endpoint.clone() };
        home.headers.remove(AUTHORIZATION);
        Self { home, limits: limits.clone() }
    }

    /// The server's URL.
    pub(crate) fn home(&self) -> &Url {
        &self.home.url
    }

    /// How near the server is, by the addresses of its name: as far as the farthest of them.
    pub(crate) async fn home_reach(&self) -> Reach {
        let Some(origin) = Origin::of(&self.home.url) else { return Reach::Public };
        if origin.is_loopback() {
            return Reach::Loopback;
        }
        let host = unbracketed(&origin.host);
        let found = tokio::net::lookup_host((host.as_str(), origin.port)).await;
        found.ok().and_then(|all| all.map(|address| Reach::of(address.ip())).min()).unwrap_or(Reach::Public)
    }

    pub(crate) async fn visit(&self, visit: Visit<'_>) -> Result<Visited> {
        let limit = self.limits.auth_timeout;
        match within(limit, self.visited(&visit)).await {
            Ok(visited) => visited,
            Err(_) => {
                let (url, seconds) = (mask_url(visit.url.as_str()), limit.as_secs_f64());
                let message = format!("{url} did not answer within {seconds} s (Limits::auth_timeout)");
                Err(Error::new(ErrorKind::Deadline, message).with_context("limit", "auth_timeout"))
            }
        }
    }

    async fn visited(&self, visit: &Visit<'_>) -> Result<Visited> {
        let mut url = visit.url.clone();
        for _ in 0..=self.limits.max_redirects {
            let answer = self.send(visit, &url).await?;
            let next = match (&visit.body, answer.status.is_redirection()) {
                (Body::None, true) => redirected(&url, &answer.headers),
                _ => None,
            };
            match next {
                Some(next) => url = next,
                None => return self.read(answer, &url).await,
            }
        }
        let message = format!(
            "{} redirects more than {} times (max_redirects)",
            mask_url(visit.url.as_str()),
            self.limits.max_redirects
        );
        Err(Error::new(ErrorKind::Unreachable, message))
    }

    async fn send(&self, visit: &Visit<'_>, url: &Url) -> Result<Answer> {
        let at_home = Origin::of(url).is_some_and(|origin| Some(origin) == Origin::of(&self.home.url));
        let endpoint = Arc::new(Endpoint { url: url.clone(), ..self.home.clone() });
        let route = Route::new(&endpoint)?;
        let route = if at_home { route } else { route.within(visit.reach) };
        let pool = Pool::new(route, self.limits.clone());
        pool.close(); // nothing is kept of a visit
        let mut request = Request::new(Full::default());
        *request.uri_mut() = target_of(url);
        let headers = request.headers_mut();
        if at_home {
            headers.clone_from(&self.home.headers); // for whoever stands in front of the server
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let own = HeaderValue::from_static(concat!("trunkline/", env!("CARGO_PKG_VERSION")));
        headers.entry(USER_AGENT).or_insert(own);
        for (name, value) in &visit.headers {
            let unfit = |_| Error::new(ErrorKind::Auth, format!("The value of {name} holds a control character"));
            let mut value = HeaderValue::from_str(value.expose()).map_err(unfit)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let (kind, body) = match &visit.body {
            Body::None => return pool.send(request).await.map_err(|failure| failure.error),
            Body::Form(text) => ("application/x-www-form-urlencoded", text),
            Body::Json(text) => ("application/json", text),
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        *request.method_mut() = Method::POST;
        *request.body_mut() = Full::new(Bytes::from(body.clone()));
        pool.send(request).await.map_err(|failure| failure.error)
    }

    async fn read(&self, mut answer: Answer, url: &Url) -> Result<Visited> {
        let (most, shown) = (self.limits.max_auth_answer, mask_url(url.as_str()));
        let broken = |error: hyper::Error| {
            Error::new(ErrorKind::Unreachable, format!("The answer of {shown} broke off: {error}"))
        };
        let mut body = BytesMut::new();
        while let Some(piece) = answer.body.chunk().await.map_err(broken)? {
            if body.len() + piece.len() > most {
                let message = format!("{shown} answered with over {most} bytes (max_auth_answer)");
                return Err(limits::exceeded("max_auth_answer", message));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Visited { status: answer.status.as_u16(), headers: answer.headers, body: body.freeze() })
    }
}

/// Where a redirect leads, within the origin.
fn redirected(from: &Url, headers: &HeaderMap) -> Option<Url> {
    let location = headers.get(LOCATION)?.to_str().ok()?;
    from.join(location).ok().filter(|to| Origin::of(to).is_some_and(|origin| Some(origin) == Origin::of(from)))
}
