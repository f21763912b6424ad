//! What a person answers, and how it is checked before it leaves.

use serde_json::json;

use super::Elicitation;
use crate::error::Result;
use crate::protocol::raw::ObjectWriter;
use crate::protocol::{Arguments, IntoArguments, RawJson};

/// The answer to an [`Elicitation`].
#[derive(Debug, Clone)]
pub struct Answer(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Accept(Result<Arguments>),
    Defaults,
    Decline,
    Cancel,
}

impl Answer {
    /// Yes, with this content: an object with a value for each field that is answered. For a page ([`Elicitation::url`])
    /// it means that the person agreed to open it; give `()`.
    ///
    /// ```
    /// use serde_json::json;
    /// use trunkline::Answer;
    ///
    /// let filled_in = Answer::accept(json!({"name": "Ann", "age": 30}));
    /// let agreed = Answer::accept(());
    /// ```
    pub fn accept(content: impl IntoArguments) -> Self {
        Self(Kind::Accept(content.into_arguments()))
    }

    /// Yes, with the default of each field that has one. It becomes [`decline`](Self::decline) where the defaults alone
    /// don't make a whole answer, and for a page, since opening one takes a person's consent.
    pub fn accept_defaults() -> Self {
        Self(Kind::Defaults)
    }

    /// No, said by the person.
    pub fn decline() -> Self {
        Self(Kind::Decline)
    }

    /// The person made no choice: closed the window, went away.
    pub fn cancel() -> Self {
        Self(Kind::Cancel)
    }

    /// The result of the protocol.
    pub(super) fn into_result(self, request: &Elicitation) -> Result<RawJson> {
        let is_page = request.url().is_some();
        match self.0 {
            Kind::Accept(_) if is_page => Ok(action("accept", None)),
            Kind::Accept(content) => {
                let content = content?;
                request.check(&content)?;
                Ok(action("accept", Some(&content)))
            }
            Kind::Defaults => {
                let content = request.defaults();
                Ok(match !is_page && request.check(&content).is_ok() {
                    true => action("accept", Some(&content)),
                    false => action("decline", None),
                })
            }
            Kind::Decline => Ok(action("decline", None)),
            Kind::Cancel => Ok(action("cancel", None)),
        }
    }
}

fn action(word: &str, content: Option<&Arguments>) -> RawJson {
    let mut out = ObjectWriter::new();
    out.member("action", &json!(word).into());
    if let Some(content) = content {
        out.member("content", content.raw());
    }
    out.finish()
}
