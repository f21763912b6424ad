//! Every bound of the lower layers, by name, so that users can move them and tests can shrink them; and the error of whoever
//! meets one.

use std::time::Duration;

use crate::error::{Error, ErrorKind};

/// The bounds of the lower layers: a cap on everything that comes from a server, and how long things may take. The deadlines
/// of calls belong to the client, not here. In a config entry, `"limits": {"maxMessage": "64MiB"}` sets them by the same names.
///
/// An error or warning of a bound that was met has its name as context `limit` and says how to raise it.
///
/// ```
/// use trunkline::Limits;
///
/// let limits = Limits { max_message: 64 << 20, ..Limits::default() };
/// assert_eq!(limits.max_pages, 1000);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The largest message from a server, in bytes. A larger one ends the connection. 32 MiB.
    pub max_message: usize,
    /// How deep the JSON of a message may nest. 512, which is also the most: values are decoded on the stack.
    pub max_depth: usize,
    /// The largest notification from a server, in bytes; a larger one is dropped with a warning. 1 MiB.
    pub max_notification: usize,
    /// How many events wait for a listener that is slow; what comes on top displaces the oldest. 1024.
    pub max_events: usize,
    /// How many different warnings of a server are kept. 200.
    pub max_warnings: usize,
    /// How many tool calls to a server are under way at once; more wait for their turn, and their time runs. 0: as many as
    /// there are.
    pub max_calls: usize,
    /// How many requests of a server are being answered at once; more are refused. 64.
    pub max_questions: usize,
    /// How much may wait to be written to a server that doesn't read, in bytes. 64 MiB.
    pub max_unsent: usize,
    /// How much of a server's standard error is kept, in bytes. 64 KiB.
    pub stderr_tail: usize,
    /// How many pages a list may have. 1000.
    pub max_pages: usize,
    /// How many entries a list may have. 100,000.
    pub max_items: usize,
    /// How many bytes the pages of a list may have together. 256 MiB.
    pub max_list: usize,
    /// The largest JSON Schema that is used for checks, in bytes; with a larger one the server has to check for itself. 1 MiB.
    pub max_schema: usize,
    /// How deep such a schema may nest, counted in objects and arrays. 128.
    pub max_schema_depth: usize,
    /// How much of the server's instructions is passed on where it is one of several, in bytes; that the rest is cut is
    /// said. 4 KiB; zero: none at all.
    pub max_instructions: usize,
    /// How long a server, and whatever it started, may take to end after its standard input is closed, before SIGTERM.
    /// 2 s. It takes the same where this process ends without a word; the longest of all its servers holds then.
    pub exit_grace: Duration,
    /// How long they may take after SIGTERM, before SIGKILL. 2 s; likewise.
    pub term_grace: Duration,
    /// How long the system may take to clear up after SIGKILL, before nobody waits any more. 1 s. So closing a server
    /// takes no longer than this and the two graces together, and a moment.
    pub kill_grace: Duration,
    /// How long name, connection and TLS of an HTTP server may take together. 10 s; zero: no limit.
    pub connect_timeout: Duration,
    /// How long a stream of an HTTP server may be silent, comments included, while a request waits on it. No limit by
    /// default (zero): the timeout of the call holds anyway.
    pub stream_silence: Duration,
    /// How long the first request waits for an HTTP server's standing stream. 250 ms.
    pub stream_wait: Duration,
    /// How often in a row a broken stream of a request is taken up again without a message from it. 5.
    pub max_resumes: usize,
    /// How long an HTTP server may take to end a session. 2 s.
    pub close_grace: Duration,
    /// How many redirects in a row are followed. 3.
    pub max_redirects: usize,
    /// How many bytes the head of an HTTP answer may have, at least 8192. 256 KiB.
    pub max_head: usize,
    /// How much of the body is read where an answer is a refusal or of no interest, in bytes. 64 KiB.
    pub max_refusal: usize,
    /// How long an unused HTTP connection is kept. 60 s, or less where the server says so.
    pub http_idle: Duration,
    /// How many unused HTTP connections to one server are kept. 64.
    pub http_idle_connections: usize,
    /// The largest answer of an authorization server, or of a server about its authorization, in bytes. 1 MiB.
    pub max_auth_answer: usize,
    /// How long one request to an authorization server may take. 30 s; zero: no limit.
    pub auth_timeout: Duration,
    /// How long a person may take to log in. 10 min; zero: as long as they like.
    pub consent_timeout: Duration,
    /// How long a server may be silent on the first question of the modern era, before the handshake of the legacy one is
    /// tried beside it. 1.5 s.
    pub probe_wait: Duration,
    /// How often in a row a server may ask for more before it answers a call (`input_required`). 10.
    pub max_rounds: usize,
    /// How much of a server's answers is used again for as long as it says that they hold (`ttlMs`), in bytes. 16 MiB; zero:
    /// it is asked each time.
    pub max_cached: usize,
    /// How many servers may be starting at once. 32.
    pub start_permits: usize,
    /// How long a starting server holds its start permit at most, so that silent ones never block others. 1 s.
    pub permit_hold: Duration,
    /// How long a list over many servers waits for the rest after the last one settled. 3 s.
    pub settle: Duration,
    /// How long a server rests that failed once before a list over many servers tries it again: twice as long after each
    /// further failure, and up to a quarter more by chance, so that many don't come back at once. 500 ms. A call that
    /// needs the server always tries.
    pub min_backoff: Duration,
    /// The longest such rest. 30 s. A server that ran for as long counts as sound again.
    pub max_backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message: 32 << 20,
            max_depth: 512,
            max_notification: 1 << 20,
            max_events: 1024,
            max_warnings: 200,
            max_calls: 0,
            max_questions: 64,
            max_unsent: 64 << 20,
            stderr_tail: 64 << 10,
            max_pages: 1000,
            max_items: 100_000,
            max_list: 256 << 20,
            max_schema: 1 << 20,
            max_schema_depth: 128,
            max_instructions: 4 << 10,
            exit_grace: Duration::from_secs(2),
            term_grace: Duration::from_secs(2),
            kill_grace: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(10),
            stream_silence: Duration::ZERO,
            stream_wait: Duration::from_millis(250),
            max_resumes: 5,
            close_grace: Duration::from_secs(2),
            max_redirects: 3,
            max_head: 256 << 10,
            max_refusal: 64 << 10,
            http_idle: Duration::from_secs(60),
            http_idle_connections: 64,
            max_auth_answer: 1 << 20,
            auth_timeout: Duration::from_secs(30),
            consent_timeout: Duration::from_secs(600),
            probe_wait: Duration::from_millis(1500),
            max_rounds: 10,
            max_cached: 16 << 20,
            start_permits: 32,
            permit_hold: Duration::from_secs(1),
            settle: Duration::from_secs(3),
            min_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
        }
    }
}

/// One of the [`Limits`], to be set.
pub(crate) enum Slot<'a> {
    /// A size in bytes.
    Bytes(&'a mut usize),
    Count(&'a mut usize),
    Time(&'a mut Duration),
}

impl Limits {
    /// The names of all, as a config entry spells them.
    #[rustfmt::skip]
    pub(crate) const KEYS: &[&str] = &[
        "maxMessage", "maxDepth", "maxNotification", "maxEvents", "maxWarnings", "maxCalls", "maxQuestions", "maxUnsent", "stderrTail", "maxPages",
        "maxItems", "maxList", "maxSchema", "maxSchemaDepth", "maxInstructions", "exitGrace", "termGrace", "killGrace", "connectTimeout", "streamSilence",
        "streamWait", "maxResumes", "closeGrace", "maxRedirects", "maxHead", "maxRefusal", "httpIdle", "httpIdleConnections",
        "maxAuthAnswer", "authTimeout", "consentTimeout", "probeWait", "maxRounds", "maxCached", "startPermits", "permitHold", "settle", "minBackoff", "maxBackoff",
    ];

    /// The one that a config entry calls `key`.
    pub(crate) fn slot(&mut self, key: &str) -> Option<Slot<'_>> {
        use Slot::{Bytes, Count, Time};
        Some(match key {
            "maxMessage" => Bytes(&mut self.max_message),
            "maxDepth" => Count(&mut self.max_depth),
            "maxNotification" => Bytes(&mut self.max_notification),
            "maxEvents" => Count(&mut self.max_events),
            "maxWarnings" => Count(&mut self.max_warnings),
            "maxCalls" => Count(&mut self.max_calls),
            "maxQuestions" => Count(&mut self.max_questions),
            "maxUnsent" => Bytes(&mut self.max_unsent),
            "stderrTail" => Bytes(&mut self.stderr_tail),
            "maxPages" => Count(&mut self.max_pages),
            "maxItems" => Count(&mut self.max_items),
            "maxList" => Bytes(&mut self.max_list),
            "maxSchema" => Bytes(&mut self.max_schema),
            "maxSchemaDepth" => Count(&mut self.max_schema_depth),
            "maxInstructions" => Bytes(&mut self.max_instructions),
            "exitGrace" => Time(&mut self.exit_grace),
            "termGrace" => Time(&mut self.term_grace),
            "killGrace" => Time(&mut self.kill_grace),
            "connectTimeout" => Time(&mut self.connect_timeout),
            "streamSilence" => Time(&mut self.stream_silence),
            "streamWait" => Time(&mut self.stream_wait),
            "maxResumes" => Count(&mut self.max_resumes),
            "closeGrace" => Time(&mut self.close_grace),
            "maxRedirects" => Count(&mut self.max_redirects),
            "maxHead" => Bytes(&mut self.max_head),
            "maxRefusal" => Bytes(&mut self.max_refusal),
            "httpIdle" => Time(&mut self.http_idle),
            "httpIdleConnections" => Count(&mut self.http_idle_connections),
            "maxAuthAnswer" => Bytes(&mut self.max_auth_answer),
            "authTimeout" => Time(&mut self.auth_timeout),
            "consentTimeout" => Time(&mut self.consent_timeout),
            "probeWait" => Time(&mut self.probe_wait),
            "maxRounds" => Count(&mut self.max_rounds),
            "maxCached" => Bytes(&mut self.max_cached),
            "startPermits" => Count(&mut self.start_permits),
            "permitHold" => Time(&mut self.permit_hold),
            "settle" => Time(&mut self.settle),
            "minBackoff" => Time(&mut self.min_backoff),
            "maxBackoff" => Time(&mut self.max_backoff),
            _ => return None,
        })
    }
}

/// The error of a bound that was met, by the name of its field.
pub(crate) fn exceeded(limit: &'static str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Limit, message).with_context("limit", limit).with_hint(raise(limit))
}

/// How to raise a bound.
pub(crate) fn raise(limit: &str) -> String {
    format!(
        "If the server is right, raise Limits::{limit} in code, or \"limits\": {{\"{}\": ...}} in its config entry",
        key_of(limit)
    )
}

/// The name of a field as a config entry spells it.
fn key_of(field: &str) -> String {
    let mut after_underscore = false;
    let spelled = field.chars().filter_map(|letter| {
        let starts_word = std::mem::replace(&mut after_underscore, letter == '_');
        (letter != '_').then(|| if starts_word { letter.to_ascii_uppercase() } else { letter })
    });
    spelled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        let shown = format!("{:?}", Limits::default());
        let fields = shown.trim_start_matches("Limits { ").trim_end_matches(" }").split(", ");
        let keys: Vec<_> = fields.map(|field| key_of(field.split(':').next().unwrap())).collect();
        let mut known: Vec<_> = Limits::KEYS.to_vec();
        assert!(keys.iter().all(|key| known.contains(&key.as_str())), "{keys:?}");
        assert_eq!(keys.len(), known.len());
        for key in &keys {
            let mut limits = Limits::default();
            match limits.slot(key).expect(key) {
                Slot::Bytes(value) | Slot::Count(value) => *value += 1,
                Slot::Time(value) => *value += Duration::from_secs(1),
            }
            assert_ne!(limits, Limits::default(), "{key}");
        }
        known.dedup();
        assert_eq!(known.len(), keys.len());
        assert!(Limits::default().slot("max_message").is_none());
    }

    #[test]
    fn whoever_meets_a_bound_is_told_its_name_in_both_spellings() {
        let error = exceeded("max_schema_depth", "too deep");
        assert_eq!((error.kind(), error.get("limit")), (ErrorKind::Limit, Some("max_schema_depth")));
        let hint = error.hint().unwrap();
        assert!(hint.contains("Limits::max_schema_depth") && hint.contains("\"maxSchemaDepth\""), "{hint}");
    }
}
