//! The dialects by name.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::suggest;

/// In which form a provider takes tools, and gives and takes calls.
///
/// ```
/// use trunkline::format::Dialect;
///
/// assert_eq!("openai-chat".parse::<Dialect>()?, Dialect::OpenAiChat);
/// assert_eq!(Dialect::OpenAiChat.to_string(), "openai-chat");
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's Chat Completions, and the many servers that are compatible with them.
    OpenAiChat,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 1] = [Self::OpenAiChat];

    /// The name on a command line: lower case, words joined by `-`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    /// # Errors
    /// [`ErrorKind::Config`] for a name that is none; the hint says which there are.
    fn from_str(name: &str) -> Result<Self, Error> {
        let names = Self::ALL.map(Self::as_str);
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name).ok_or_else(|| {
            let nearest = suggest::nearest(name, names).map(|name| format!("Did you mean \"{name}\"? "));
            Error::new(ErrorKind::Config, format!("No model format is named {name:?}")).with_hint(format!(
                "{}There are {}",
                nearest.unwrap_or_default(),
                suggest::listing(names)
            ))
        })
    }
}
