//! What became of each tool on its way into a dialect.

use std::fmt;

/// What a change does to the arguments that the model can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing: said in other words, or undone on the way back.
    Same,
    /// It is told less and may send what the tool doesn't take. That is caught before the call, and told to it.
    Wider,
    /// Something that the tool takes can't be sent any more.
    Narrower,
}

/// One change to a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Where in the tool's own schema: a JSON pointer (RFC 6901), empty for its root.
    pub pointer: String,
    /// What was done.
    pub what: String,
    /// Why it had to be.
    pub why: &'static str,
    /// What that means for the arguments.
    pub effect: Effect,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{place}: {} ({})", self.what, self.why)
    }
}

/// Whether the provider holds the model to the schema while it writes the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// The dialect doesn't ask for it.
    Plain,
    /// It does.
    Strict,
    /// The dialect asks for it, but this tool can't be had that way. It is written in the plain form.
    FellBack {
        /// Why.
        reason: String,
    },
}

/// What became of one tool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolReport {
    /// The tool's name.
    pub tool: String,
    /// The name that the model sees: the same, unless the provider doesn't take it.
    pub sent_as: String,
    /// Whether its arguments are held to the schema.
    pub strictness: Strictness,
    /// What was changed, in the order in which it was done. Empty: the model sees the schema as it is.
    pub changes: Vec<Change>,
}

impl ToolReport {
    /// Whether something of the schema is lost to the model: a change whose effect isn't [`Effect::Same`].
    pub fn is_lossy(&self) -> bool {
        self.changes.iter().any(|change| change.effect != Effect::Same)
    }
}

impl fmt::Display for ToolReport {
    /// A line for the tool, and one for each change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tool)?;
        if self.sent_as != self.tool {
            write!(f, " as {}", self.sent_as)?;
        }
        match &self.strictness {
            Strictness::Plain => {}
            Strictness::Strict => f.write_str(", strict")?,
            Strictness::FellBack { reason } => write!(f, ", not strict: {reason}")?,
        }
        self.changes.iter().try_for_each(|change| write!(f, "\n  {change}"))
    }
}
