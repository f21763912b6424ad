//! What holds of the head of an answer, whatever stands in it: nothing leads a request, and so its credentials, away
//! from the origin.

use std::sync::{Arc, LazyLock};

use hyper::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};

use super::endpoint::{Endpoint, Origin};
use super::fetch::{Fetcher, target_of};
#[cfg(feature = "sse")]
use super::legacy::told_target;
pub(crate) use super::sse::laws::events;
use crate::limits::Limits;
use crate::redact::{Secret, mask_url};

const TOKEN: &str = "t0ken-that-must-not-show";

static FETCHER: LazyLock<Fetcher> = LazyLock::new(|| {
    let headers = [("Authorization".to_owned(), Secret::new(format!("Bearer {TOKEN}")))];
    let endpoint = Endpoint::new("http://user:pw@example.com:8080/a/mcp?k=v", &headers).unwrap();
    Fetcher::new(endpoint, &Arc::new(Limits::default())).unwrap()
});

/// A redirect stays within the origin or is refused, and where it leads can be asked for.
pub(crate) fn redirects(status: StatusCode, location: &[u8]) {
    let Ok(location) = HeaderValue::from_bytes(location) else { return };
    let headers = HeaderMap::from_iter([(LOCATION, location)]);
    let from = &FETCHER.endpoint.url;
    for method in [Method::GET, Method::POST] {
        match FETCHER.redirected(&method, status, &headers, from, 1) {
            Ok(url) => leads_home(&url),
            Err(error) => assert!(error.get("stage") == Some("redirect") && !error.to_string().contains(TOKEN)),
        }
    }
}

/// Where a stream wants messages to be sent is within the origin or is refused.
#[cfg(feature = "sse")]
pub(crate) fn targets(told: &[u8]) {
    match told_target(&FETCHER, told) {
        Ok(url) => leads_home(&url),
        Err(error) => assert!(error.get("stage") == Some("endpoint") && !error.to_string().contains(TOKEN)),
    }
}

fn leads_home(url: &url::Url) {
    assert!(Origin::of(url).as_ref() == Some(FETCHER.origin()), "{url}");
    let target = target_of(url);
    assert_eq!((target.path(), target.query()), (url.path(), url.query()), "{url} is asked for as {target}");
}

/// Any refusal becomes an error that says its status and shows little of what came.
pub(crate) fn refusals(status: StatusCode, challenge: &[u8], after: &[u8], body: &[u8]) {
    let value = |bytes| HeaderValue::from_bytes(bytes).ok();
    let mut headers = HeaderMap::new();
    value(challenge).map(|challenge| headers.insert(WWW_AUTHENTICATE, challenge));
    value(after).map(|after| headers.insert(HeaderName::from_static("retry-after"), after));
    let error = FETCHER.status_error(status, &headers, body);
    assert_eq!(error.get("status"), Some(status.as_str()));
    assert!(error.message().chars().count() < 600 && !error.message().chars().any(char::is_control), "{error}");
    assert!(!error.to_string().contains(TOKEN), "{error}");
}

/// Any text is an endpoint or an error, and what is shown of either holds no login.
pub(crate) fn endpoints(url: &str) {
    match Endpoint::new(url, &[]) {
        Ok(endpoint) => {
            assert!(endpoint.url.username().is_empty() && endpoint.url.password().is_none());
            let (once, twice) = (endpoint.url.clone(), Endpoint::new(endpoint.url.as_str(), &[]).unwrap().url);
            assert_eq!(once, twice);
            let target = target_of(&once);
            assert_eq!((target.path(), target.query()), (once.path(), once.query()), "{once} is asked for as {target}");
        }
        Err(error) => assert!(error.message().contains(&mask_url(url)), "{error}"),
    }
    let masked = mask_url(url);
    assert_eq!(mask_url(&masked), masked, "masking once is enough");
}
