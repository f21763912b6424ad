//! What a server asks a person.

use std::fmt;
use std::sync::Arc;

use super::field::FormField;
use super::{refused, said};
use crate::connection::Asked;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::protocol::raw::ObjectWriter;
use crate::protocol::{Arguments, RawJson};
use crate::schema::Checker;

/// What a server asks a person: to fill in a form, or to open a page (MCP specification, Elicitation; a server before
/// revision 2025-11-25 has forms only). Its words are the server's: show them as such, by
/// [`display`](crate::display).
#[derive(Clone)]
pub struct Elicitation {
    server: Arc<str>,
    params: RawJson,
    fields: Arc<[FormField]>,
    url: Option<Box<str>>,
}

impl Elicitation {
    pub(super) fn read(asked: Asked) -> Result<Self> {
        let Asked { server, params } = asked;
        let mode = params.field("mode").map_or_else(|| Some("form".to_owned()), |mode| mode.as_text());
        match mode.as_deref() {
            Some("form") => match params.field("requestedSchema").filter(RawJson::is_object) {
                Some(schema) => Ok(Self { server, fields: FormField::all(&schema).into(), params, url: None }),
                None => Err(refused("The form has no requestedSchema")),
            },
            Some("url") => match said(&params, "url") {
                Some(url) => Ok(Self { server, params, fields: Arc::new([]), url: Some(url.into()) }),
                None => Err(refused("The page has no url")),
            },
            _ => Err(refused("This client knows elicitation of mode \"form\" and \"url\" only")),
        }
    }

    /// The label of the server that asks; empty where it isn't known.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Why it asks.
    pub fn message(&self) -> String {
        self.params.text("message").unwrap_or_default()
    }

    /// The page that a person should open; none for a form. Never open or fetch it without their consent, and show them all
    /// of it before.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// What an [`ElicitationComplete`](crate::EventKind::ElicitationComplete) names once what is done on the page is done.
    pub fn id(&self) -> Option<String> {
        self.params.text("elicitationId")
    }

    /// The fields of the form, in the server's order; none for a page.
    pub fn fields(&self) -> &[FormField] {
        &self.fields
    }

    /// The default of each field that has one.
    pub fn defaults(&self) -> Arguments {
        let mut out = ObjectWriter::new();
        for field in self.fields() {
            if let Some(default) = field.default() {
                out.member(field.name(), &default);
            }
        }
        Arguments::of_object(out.finish())
    }

    /// Whether this content can be the answer to the form. A schema that can't be used is left to the server.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) that names each field that doesn't fit.
    pub fn check(&self, content: &Arguments) -> Result<()> {
        let Some(schema) = self.params.field("requestedSchema") else { return Ok(()) };
        match Checker::of_form(&schema, &Limits::default()) {
            Ok(checker) => checker.check(content).map_err(|error| self.named(error)),
            Err(why) => {
                tracing::debug!(server = &*self.server, why, "the schema of a form can't be used");
                Ok(())
            }
        }
    }

    fn named(&self, error: Error) -> Error {
        let message = format!("The answer doesn't fit the form: {}", error.message());
        let error = error.with_message(message);
        if self.server.is_empty() { error } else { error.with_context("server", self.server()) }
    }

    /// The exact params of the request.
    pub fn raw(&self) -> &RawJson {
        &self.params
    }
}

impl fmt::Debug for Elicitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elicitation({:?}, {})", self.server, self.params)
    }
}
