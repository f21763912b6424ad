//! `Match`: which message a rule is for. What the rule then does is `action`; who checks it is `fake::matching`.

use serde::{Deserialize, Serialize};

use crate::action::Action;

/// Which message a rule is for. All conditions that are set must hold.
///
/// Made from a method name, or by [`call`] and [`read`]; `script` lists the methods that start with `@`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    pub(crate) method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contains: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nth: Option<(u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<(u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<(String, String)>,
}

/// One rule of a script.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) on: Match,
    #[serde(rename = "do")]
    pub(crate) actions: Vec<Action>,
}

/// Messages with this method.
pub fn on_method(method: &str) -> Match {
    Match { method: method.to_owned(), ..Match::default() }
}

/// Calls of this tool.
pub fn call(tool: &str) -> Match {
    on_method("tools/call").name(tool)
}

/// Reads of this resource.
pub fn read(uri: &str) -> Match {
    on_method("resources/read").name(uri)
}

impl From<&str> for Match {
    fn from(method: &str) -> Match {
        on_method(method)
    }
}

impl Match {
    /// The tool's or prompt's name (`params.name`) or the resource's URI (`params.uri`).
    pub fn name(mut self, name: &str) -> Match {
        self.name = Some(name.to_owned());
        self
    }

    /// The cursor sent with a list request.
    pub fn cursor(mut self, cursor: &str) -> Match {
        self.cursor = Some(cursor.to_owned());
        self
    }

    /// Any part of the message's text.
    pub fn contains(mut self, text: &str) -> Match {
        self.contains = Some(text.to_owned());
        self
    }

    /// Only the nth message that fits all else, counted from 1, whichever rule answered the others.
    pub fn nth(mut self, n: u64) -> Match {
        self.nth = Some((n, n));
        self
    }

    /// Only the first n messages that fit all else.
    pub fn first(mut self, n: u64) -> Match {
        self.nth = Some((1, n));
        self
    }

    /// Only in the nth process started with the script's `starts` file, counted from 1.
    pub fn start(mut self, n: u64) -> Match {
        self.start = Some((n, n));
        self
    }

    /// Only in the first n processes started with the script's `starts` file.
    pub fn first_starts(mut self, n: u64) -> Match {
        self.start = Some((1, n));
        self
    }

    /// Only while the variable has this value (see [`set`](crate::set)); one never set is "".
    pub fn when(mut self, variable: &str, value: &str) -> Match {
        self.when = Some((variable.to_owned(), value.to_owned()));
        self
    }
}
