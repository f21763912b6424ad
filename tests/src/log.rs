//! `Log`: reads what the fake logged: every raw line the client sent, what the fake sent, and notes about
//! the process, each with the time and the process number. `fake::record` writes it, with `Entry::write`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::json::Json;
use crate::wait::{limit, poll};

/// What an entry of the log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A line the client sent, whole, without its line feed.
    Received,
    /// What the fake wrote to stdout: at most 400 characters, without its line feed, others shown as `\n`.
    Wrote,
    /// Something about the process: `start 1`, `eof`, `term`, `exit 0`, `no reply to 3`, `stdout closed`.
    Note,
}

/// One entry of the log.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Since the Unix epoch, so that entries of several processes compare.
    pub at: Duration,
    /// The fake that wrote the entry.
    pub pid: u32,
    pub kind: Kind,
    pub text: String,
}

/// The log of one or more fakes, given by [`Script::log`](crate::Script::log). Every method reads the file anew.
#[derive(Debug, Clone)]
pub struct Log(PathBuf);

impl Log {
    /// The log at this path, which need not exist yet.
    pub fn at(path: impl AsRef<Path>) -> Log {
        Log(path.as_ref().to_owned())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Everything, in order.
    pub fn entries(&self) -> Vec<Entry> {
        let bytes = fs::read(&self.0).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        // What follows the last line feed is still being written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.split('\n').filter(|line| !line.is_empty()).map(Entry::parse).collect()
    }

    /// What the client sent: requests, notifications, replies and anything else.
    pub fn received(&self) -> Vec<Entry> {
        self.of_kind(Kind::Received)
    }

    /// The raw lines the client sent.
    pub fn lines(&self) -> Vec<String> {
        self.received().into_iter().map(|entry| entry.text).collect()
    }

    /// The methods of what the client sent, in order; replies are left out.
    pub fn methods(&self) -> Vec<String> {
        self.received().iter().filter_map(Entry::method).collect()
    }

    /// The client's requests or notifications with this method.
    pub fn sent(&self, method: &str) -> Vec<Entry> {
        self.received().into_iter().filter(|entry| entry.method().as_deref() == Some(method)).collect()
    }

    /// The client's replies to the fake's requests.
    pub fn replies(&self) -> Vec<Entry> {
        let is_reply = |entry: &Entry| {
            entry.members().is_some_and(|members| !members.contains_key("method") && members.contains_key("id"))
        };
        self.received().into_iter().filter(is_reply).collect()
    }

    /// The notes about the process.
    pub fn notes(&self) -> Vec<String> {
        self.of_kind(Kind::Note).into_iter().map(|entry| entry.text).collect()
    }

    /// One entry for each process that was started.
    pub fn starts(&self) -> Vec<Entry> {
        self.of_kind(Kind::Note).into_iter().filter(|entry| entry.text.starts_with("start ")).collect()
    }

    /// Waits until the entries give a value; at the limit panics with `what` and the last entries.
    pub fn wait_for<T>(&self, what: &str, mut check: impl FnMut(&[Entry]) -> Option<T>) -> T {
        poll(limit(), || check(&self.entries())).unwrap_or_else(|| {
            panic!("waited in vain for: {what}\nthe log {} ends with\n{}", self.0.display(), self.tail())
        })
    }

    /// Waits until the client has sent n messages with this method, and gives all it has sent.
    pub fn wait_sent(&self, method: &str, n: usize) -> Vec<Entry> {
        let fits = |entry: &&Entry| entry.kind == Kind::Received && entry.method().as_deref() == Some(method);
        self.wait_for(&format!("{n} × {method} from the client"), |entries| {
            let sent: Vec<Entry> = entries.iter().filter(fits).cloned().collect();
            (sent.len() >= n).then_some(sent)
        })
    }

    /// Waits for a note that starts with this text.
    pub fn wait_note(&self, start: &str) -> Entry {
        self.wait_for(&format!("the note {start:?}"), |entries| {
            entries.iter().find(|entry| entry.kind == Kind::Note && entry.text.starts_with(start)).cloned()
        })
    }

    fn of_kind(&self, kind: Kind) -> Vec<Entry> {
        self.entries().into_iter().filter(|entry| entry.kind == kind).collect()
    }

    fn tail(&self) -> String {
        let entries = self.entries();
        let last = &entries[entries.len().saturating_sub(20)..];
        last.iter().map(|entry| format!("  {} {:?} {:.300}\n", entry.pid, entry.kind, entry.text)).collect()
    }
}

impl Entry {
    /// The message's method, if it has one.
    pub fn method(&self) -> Option<String> {
        self.members()?.get("method")?.string()
    }

    /// The message as JSON.
    pub fn json(&self) -> Value {
        value(&self.text)
    }

    /// The message's id; null where it has none.
    pub fn id(&self) -> Value {
        value(&self.raw("id"))
    }

    /// The message's params; null where it has none.
    pub fn params(&self) -> Value {
        value(&self.raw_params())
    }

    /// The exact text of the params, for numbers and key order; `null` where there are none.
    pub fn raw_params(&self) -> String {
        self.raw("params")
    }

    /// The exact text of `params.arguments`; `null` where there are none.
    pub fn raw_arguments(&self) -> String {
        let params = members(&self.raw_params());
        params.and_then(|params| Some(params.get("arguments")?.text().to_owned())).unwrap_or_else(|| "null".to_owned())
    }

    fn raw(&self, key: &str) -> String {
        let members = self.members().unwrap_or_else(|| panic!("not a JSON object: {:.300}", self.text));
        members.get(key).map_or("null", Json::text).to_owned()
    }

    fn members(&self) -> Option<BTreeMap<String, Json>> {
        members(&self.text)
    }

    /// The entry as a line of the log file.
    pub(crate) fn write(&self) -> String {
        let kind = match self.kind {
            Kind::Received => '<',
            Kind::Wrote => '>',
            Kind::Note => '!',
        };
        format!("{} {} {kind} {}\n", self.at.as_micros(), self.pid, self.text)
    }

    fn parse(line: &str) -> Entry {
        let mut parts = line.splitn(4, ' ');
        let mut next = || parts.next().unwrap_or_else(|| panic!("not a line of a fake's log: {line:.300}"));
        let at = Duration::from_micros(next().parse().unwrap_or_else(|_| panic!("no time in: {line:.300}")));
        let pid = next().parse().unwrap_or_else(|_| panic!("no process number in: {line:.300}"));
        let kind = match next() {
            "<" => Kind::Received,
            ">" => Kind::Wrote,
            _ => Kind::Note,
        };
        Entry { at, pid, kind, text: next().to_owned() }
    }
}

fn members(object: &str) -> Option<BTreeMap<String, Json>> {
    serde_json::from_str(object).ok()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text:.300}"))
}
