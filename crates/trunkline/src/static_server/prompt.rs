//! The prompts of a [`StaticServer`](super::StaticServer): rendered from a template or by a function.

use std::fmt::{self, Display};
use std::sync::Arc;

use super::template::Template;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Arguments, Prompt, PromptArgument, PromptMessage, PromptResult};

/// The JSON-RPC code of an error inside the server.
const INTERNAL_ERROR: i64 = -32603;

/// What a function that renders a prompt may return: text (one message of the user), messages, a whole
/// [`PromptResult`], or a `Result` of one of them.
///
/// ```
/// use trunkline::IntoPromptResult;
///
/// assert_eq!("Be brief.".into_prompt_result()?.messages()[0].role(), "user");
/// assert!(Err::<String, _>("no such style").into_prompt_result().is_err());
/// # Ok::<(), trunkline::Error>(())
/// ```
pub trait IntoPromptResult {
    /// Turns it into a rendered prompt.
    ///
    /// # Errors
    /// The function's own error, of kind [`Protocol`](ErrorKind::Protocol) and with the code of an internal error.
    fn into_prompt_result(self) -> Result<PromptResult>;
}

impl IntoPromptResult for PromptResult {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(self)
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(PromptResult::new(self))
    }
}

impl IntoPromptResult for &str {
    fn into_prompt_result(self) -> Result<PromptResult> {
        vec![PromptMessage::from_text("user", self)].into_prompt_result()
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<PromptResult> {
        self.as_str().into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: Display> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<PromptResult> {
        match self {
            Ok(prompt) => prompt.into_prompt_result(),
            Err(error) => Err(Error::protocol(INTERNAL_ERROR, format!("{error:#}"), None)),
        }
    }
}

type Render = dyn Fn(Arguments) -> Result<PromptResult> + Send + Sync;

/// One prompt and what renders it.
#[derive(Clone)]
pub(super) struct StaticPrompt {
    pub(super) listed: Prompt,
    render: Arc<Render>,
}

impl StaticPrompt {
    pub(super) fn new(name: &str, arguments: &[PromptArgument], render: Arc<Render>) -> Self {
        Self { listed: Prompt::new(name, arguments), render }
    }

    /// A prompt of one message, or what is wrong with its template.
    pub(super) fn of_template(name: &str, template: &str) -> Result<Self> {
        let template =
            Template::parse(template).map_err(|fault| Error::config(format!("Prompt \"{name}\": {fault}")))?;
        let arguments: Vec<_> = template.names().map(|name| PromptArgument::new(name, true)).collect();
        let render = move |arguments: Arguments| {
            template.render(|name| text_of(&arguments, name).unwrap_or_default()).into_prompt_result()
        };
        Ok(Self::new(name, &arguments, Arc::new(render)))
    }

    pub(super) fn render(&self, arguments: Arguments) -> Result<PromptResult> {
        let wanted = self.listed.arguments();
        let required = wanted.iter().filter(|argument| argument.required()).map(PromptArgument::name);
        let missing: Vec<_> = required.filter(|name| text_of(&arguments, name).is_none()).collect();
        match missing.is_empty() {
            true => (self.render)(arguments),
            false => Err(lacks(self.listed.name(), &missing, &wanted)),
        }
    }
}

/// An argument as text; JSON where it isn't text, nothing where it is `null`.
fn text_of(arguments: &Arguments, name: &str) -> Option<String> {
    let value = arguments.get(name).filter(|value| !value.is_null())?;
    Some(value.as_text().unwrap_or_else(|| value.to_string()))
}

fn lacks(prompt: &str, missing: &[String], wanted: &[PromptArgument]) -> Error {
    let quoted: Vec<_> = missing.iter().map(|name| format!("\"{name}\"")).collect();
    let plural = if missing.len() == 1 { "" } else { "s" };
    let told = format!("Prompt \"{prompt}\" lacks its argument{plural} {}", quoted.join(", "));
    let takes = wanted.iter().map(|argument| match argument.required() {
        true => argument.name(),
        false => format!("{} (optional)", argument.name()),
    });
    Error::new(ErrorKind::InvalidArguments, told)
        .with_hint(format!("It takes {}", takes.collect::<Vec<_>>().join(", ")))
        .with_context("prompt", prompt)
}

impl fmt::Debug for StaticPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listed.fmt(f)
    }
}
