//! Looking for a document in several places: what was tried, and what came of it.

use serde_json::{Map, Value};
use url::Url;

use super::flow::Flow;
use crate::auth::Wanted;
use crate::error::{Error, ErrorKind, Result};
use crate::redact::mask_url;
use crate::transport::{Visit, VisitBody};

/// The places that were asked in vain, and what each said.
#[derive(Debug, Default, Clone)]
pub(super) struct Tried(Vec<String>);

impl Tried {
    pub(super) fn note(&mut self, url: &str, said: &str) {
        self.0.push(format!("{} ({said})", mask_url(url)));
    }

    pub(super) fn told(&self) -> String {
        self.0.join(", ")
    }

    /// Puts what was tried into an error.
    pub(super) fn in_error(&self, error: Error) -> Error {
        if self.0.is_empty() { error } else { error.with_context("tried", self.told()) }
    }
}

impl Flow {
    /// The JSON object at a URL. Where there is none, whatever is answered instead, that is noted; where the server fails,
    /// that is an error.
    pub(super) async fn document(&self, url: &Url, tried: &mut Tried) -> Result<Option<Map<String, Value>>> {
        let visit = Visit { url, body: VisitBody::None, headers: Vec::new(), reach: self.reach().await };
        let visited = self.visitor.visit(visit).await.map_err(|error| tried.in_error(error))?;
        match visited.status {
            200..=299 => match serde_json::from_slice(&visited.body) {
                Ok(Value::Object(document)) => return Ok(Some(document)),
                _ => tried.note(url.as_str(), &format!("{}, but no JSON object", visited.status)),
            },
            500.. => {
                let message = format!("{} answered {}", mask_url(url.as_str()), visited.status);
                let error = Error::new(ErrorKind::Unreachable, message).with_context("stage", "metadata");
                return Err(
                    tried.in_error(error.with_hint("The server that tells how to log in fails; try again later"))
                );
            }
            status => tried.note(url.as_str(), &status.to_string()),
        }
        Ok(None)
    }
}

impl Flow {
    /// What the server says to a request without a token, where none was made yet.
    pub(super) async fn first_challenge(&self) -> Result<Wanted> {
        let url = self.visitor.home();
        let visit = Visit { url, body: VisitBody::None, headers: Vec::new(), reach: self.reach().await };
        let visited = self.visitor.visit(visit).await?;
        let told = visited.challenges().filter(|_| visited.status == 401);
        Ok(Wanted::read(&told.unwrap_or_default()))
    }
}

/// A text of a document.
pub(super) fn text(document: &Map<String, Value>, key: &str) -> Option<String> {
    document.get(key)?.as_str().map(str::to_owned)
}

/// A list of texts of a document, if it has one.
pub(super) fn texts(document: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let list = document.get(key)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

pub(super) fn is_true(document: &Map<String, Value>, key: &str) -> bool {
    document.get(key).and_then(Value::as_bool).unwrap_or(false)
}
