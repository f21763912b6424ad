//! What a server does oddly and is put up with: told once each, and kept for the errors that it may explain. Takes
//! the server's secrets out of what is shown of it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::protocol::jsonrpc;
use crate::redact::Redactor;

/// How many odd lines are kept for diagnostics.
const KEPT_NOISE: usize = 20;

/// The oddities of one session.
pub(super) struct Oddities {
    redactor: Redactor,
    /// How many different ones are told; a server can make them up without end.
    most: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    noise: Vec<String>,
    noise_count: usize,
    told: HashSet<String>,
}

impl Oddities {
    pub(super) fn new(redactor: Redactor, most: usize) -> Self {
        Self { redactor, most, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oddity as it may be shown, where it is new.
    pub(super) fn news(&self, text: String) -> Option<String> {
        let text = self.redacted(text);
        tracing::debug!(warning = %text, "the server does something odd");
        let mut seen = self.seen();
        let new = seen.told.len() < self.most && seen.told.insert(text.clone());
        new.then_some(text)
    }

    /// The text without the server's secrets.
    pub(super) fn redacted(&self, text: String) -> String {
        match self.redactor.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        }
    }

    /// Counts a line of the standard output that is no message.
    pub(super) fn note_noise(&self, line: &[u8]) {
        let mut seen = self.seen();
        seen.noise_count += 1;
        if seen.noise.len() < KEPT_NOISE {
            seen.noise.push(jsonrpc::snippet(line));
        }
    }

    /// What the standard output held that was no message, in one sentence.
    pub(super) fn noise(&self) -> Option<String> {
        let seen = self.seen();
        let first = seen.noise.first()?;
        let framing = seen.noise.iter().any(|line| line.to_ascii_lowercase().starts_with("content-length:"));
        let pretty = seen.noise.iter().any(|line| matches!(line.trim(), "{" | "["));
        let advice = match (framing, pretty) {
            (true, _) => "; it seems to frame messages by Content-Length headers, which MCP doesn't",
            (_, true) => "; it seems to spread one message over several lines, which MCP doesn't allow",
            _ => "",
        };
        let (lines, are) = match seen.noise_count {
            1 => ("1 line".to_owned(), "is no message"),
            count => (format!("{count} lines"), "are no messages"),
        };
        Some(format!("It wrote {lines} on its standard output that {are} (first: {first}){advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_oddity_is_news_once_without_its_secrets_and_only_so_many_are() {
        let oddities = Oddities::new(Redactor::new(["s3cr3t-token"]), 30);
        assert_eq!(oddities.news("said s3cr3t-token".to_owned()).as_deref(), Some("said ***"));
        assert_eq!(oddities.news("said s3cr3t-token".to_owned()), None);
        let told = (0..1000).filter_map(|n| oddities.news(format!("oddity {n}"))).count();
        assert_eq!(told, 29);
    }

    #[test]
    fn noise_is_counted_and_explained() {
        let oddities = Oddities::new(Redactor::default(), 30);
        assert_eq!(oddities.noise(), None);
        oddities.note_noise(b"content-length: 20");
        assert!(oddities.noise().unwrap().starts_with("It wrote 1 line on"));
        (0..100).for_each(|_| oddities.note_noise(b"{"));
        let told = oddities.noise().unwrap();
        assert!(told.contains("101 lines") && told.contains("Content-Length"), "{told}");
    }
}
