//! Which of a server's tools may be used, by patterns over their names on the wire.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of tool names that are allowed and denied. Denying wins; with no pattern to allow, all are
/// allowed that aren't denied. `*`, `?`, `[ab]` and `{a,b}` mean what they mean in a shell.
///
/// ```
/// use trunkline::ToolFilter;
///
/// let filter = ToolFilter::new(["read_*", "list_*"], ["read_secret"])?;
/// assert!(filter.permits("read_file"));
/// assert!(!filter.permits("read_secret"));
/// assert!(!filter.permits("write_file"));
/// assert!(ToolFilter::default().permits("anything"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolFilter {
    allow: Patterns,
    deny: Patterns,
}

#[derive(Clone, Default)]
struct Patterns {
    written: Vec<String>,
    set: GlobSet,
}

impl ToolFilter {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// What is wrong with a pattern, as a sentence.
    pub fn new<S: AsRef<str>>(
        allow: impl IntoIterator<Item = S>,
        deny: impl IntoIterator<Item = S>,
    ) -> Result<Self, String> {
        Ok(Self { allow: Patterns::new(allow)?, deny: Patterns::new(deny)? })
    }

    /// Whether the tool of this name (on the wire) may be used.
    pub fn permits(&self, name: &str) -> bool {
        (self.allow.written.is_empty() || self.allow.set.is_match(name)) && !self.deny.set.is_match(name)
    }

    /// Whether every tool may be used.
    pub fn is_open(&self) -> bool {
        self.allow.written.is_empty() && self.deny.written.is_empty()
    }

    /// The patterns to allow, as written.
    pub fn allow(&self) -> &[String] {
        &self.allow.written
    }

    /// The patterns to deny, as written.
    pub fn deny(&self) -> &[String] {
        &self.deny.written
    }
}

impl Patterns {
    fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, String> {
        let written: Vec<String> = patterns.into_iter().map(|pattern| pattern.as_ref().to_owned()).collect();
        let mut set = GlobSetBuilder::new();
        for pattern in &written {
            let glob = GlobBuilder::new(pattern).backslash_escape(true).build();
            set.add(glob.map_err(|error| format!("\"{pattern}\" is no pattern: {}", error.kind()))?);
        }
        Ok(Self { written, set: set.build().map_err(|error| error.to_string())? })
    }
}

impl fmt::Debug for ToolFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFilter").field("allow", &self.allow()).field("deny", &self.deny()).finish()
    }
}

impl PartialEq for ToolFilter {
    fn eq(&self, other: &Self) -> bool {
        self.allow() == other.allow() && self.deny() == other.deny()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denying_wins_and_patterns_match_whole_names() {
        for (allow, deny, name, permitted) in [
            (&[][..], &[][..], "x", true),
            (&["read"], &[], "read_file", false),
            (&["read*"], &[], "read_file", true),
            (&["*"], &["*_all"], "delete_all", false),
            (&["delete_all"], &["*_all"], "delete_all", false),
            (&[], &["a.b/*"], "a.b/c", false),
            (&["a*"], &[], "a/b.c", true),
            (&["{get,list}_?"], &[], "list_1", true),
            (&["Read"], &[], "read", false),
            (&["a\\*"], &[], "a*", true),
        ] {
            assert_eq!(ToolFilter::new(allow, deny).unwrap().permits(name), permitted, "{allow:?} {deny:?} {name}");
        }
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let reason = ToolFilter::new(["[a"], []).unwrap_err();
        assert!(reason.contains("[a"), "{reason}");
        assert!(ToolFilter::default().is_open());
    }
}
