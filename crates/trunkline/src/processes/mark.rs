//! The mark that every started server carries in its environment, and hands on to whatever it starts: who started it,
//! which start it was, and the server's label. It is how a process is known that left its server's process group.

use std::sync::atomic::{AtomicU64, Ordering};

use super::proc;

/// The variable that holds it.
pub(crate) const VARIABLE: &str = "TRUNKLINE_SERVER";

/// One start of a server. Its text is `NAMESPACE.PID.BEGAN.NUMBER LABEL`: the owner's process namespace, the owner, when
/// that began (so that a reused number isn't taken for it), which of its starts it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(super) namespace: u64,
    pub(super) owner: u32,
    pub(super) began: u64,
    number: u64,
    pub(super) label: String,
}

impl Mark {
    /// The mark for the next server that this process starts.
    pub(crate) fn next(label: &str) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(1);
        let owner = std::process::id();
        Self {
            namespace: proc::namespace(),
            owner,
            began: proc::stat(owner).map_or(0, |stat| stat.began),
            number: STARTS.fetch_add(1, Ordering::Relaxed),
            label: label.replace('\0', ""),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (start, label) = text.split_once(' ')?;
        let mut parts = start.split('.');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (namespace, owner, began, which) = (number()?, number()?, number()?, number()?);
        let owner = u32::try_from(owner).ok()?;
        parts.next().is_none().then_some(Self { namespace, owner, began, number: which, label: label.to_owned() })
    }

    /// The value of the variable.
    pub(crate) fn value(&self) -> String {
        format!("{}{} {}", self.of_owner(), self.number, self.label)
    }

    /// How the marks of all servers of the same owner begin.
    pub(crate) fn of_owner(&self) -> String {
        format!("{}.{}.{}.", self.namespace, self.owner, self.began)
    }

    /// Whether a process carries it.
    pub(crate) fn is_carried(&self) -> bool {
        proc::marked_with(&self.value()).next().is_some()
    }

    /// Sends a signal to every process that carries it.
    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let value = self.value();
        proc::marked_with(&value).for_each(|pid| proc::signal(pid, &value, signal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_as_it_was_written_whatever_the_label() {
        for label in ["files", "", "a b.c 1.2.3.4", "日本"] {
            let mark = Mark::next(label);
            assert_eq!(Mark::parse(&mark.value()), Some(mark));
        }
        assert_ne!(Mark::next("a"), Mark::next("a"));
        assert_eq!(Mark::next("a\0b").label, "ab");
    }

    #[test]
    fn what_is_no_mark_is_none() {
        for text in ["", "1.2.3.4", "1.2.3 a", "1.2.3.4.5 a", "1.x.3.4 a", "1.99999999999.3.4 a", "-1.2.3.4 a"] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}
