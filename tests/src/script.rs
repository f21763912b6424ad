//! The script of a fake MCP server: how a test says what its server does, beside its assertions.
//!
//! ```no_run
//! use serde_json::json;
//! use trunkline_tests::*;
//!
//! let dir = TempDir::new();
//! let log = Log::at(dir.join("log"));
//! let script = Script::new()
//!     .tools([tool("echo"), tool("boom")])
//!     .on(call("boom"), [stderr("boom\n"), exit(139)])
//!     .on(call("echo"), [echo_args()])
//!     .log(log.path());
//! let (command, args) = ("…/fake" /* env!("CARGO_BIN_EXE_fake") in tests/it */, script.args());
//! // … connect a client to it, then:
//! assert_eq!(log.sent("tools/call")[0].params()["name"], json!("boom"));
//! ```
//!
//! The program takes its script as `fake SCRIPT.json` ([`Script::write_to`]), `fake --inline JSON`
//! ([`Script::args`]), or in `$FAKE_SCRIPT` (a path or the JSON), which comes first. All other arguments are
//! ignored, so that a test can have them dumped. [`shell`](crate::shell) puts a shell between, as launchers do;
//! [`TempDir::link`](crate::TempDir::link) gives the program another name. Written by hand, a script is the JSON that [`Script::json`] shows.
//!
//! # What it does without rules
//!
//! `initialize` → version 2025-06-18, capabilities for the lists that are set; `server/discover` → -32601; `ping`
//! and `logging/setLevel`, `resources/subscribe`, `resources/unsubscribe` → `{}`; the four list methods → their
//! pages (-32601 for one never set, -32602 for an unknown cursor); a call of a listed tool → the text `ok`, of
//! another → -32602; a read of a listed URI → the text `ok`, of another → -32002; a listed prompt → one user
//! message `ok`, another → -32602; anything else with an id → -32601. Ids are echoed by their exact text. Messages
//! are handled one after the other on one thread; stdin is read and logged by another, at once. When stdin ends it
//! exits with 0, after 200 ms at most for what is still running. SIGTERM ends it.
//!
//! # Settings
//!
//! | setting | meaning |
//! | --- | --- |
//! | `version(v)`, `echo_version()` | the version `initialize` answers; the one the client asked for |
//! | `capabilities(json)`, `server_info(json)`, `instructions(text)` | the other parts of that answer |
//! | `modern()` | 2026-07-28 only: `server/discover` answers, `initialize` → -32022, a request without the version in `_meta` → -32602, results carry `resultType` (those of `respond` are sent as they are) |
//! | `both_eras()` | the same for requests that carry the version in `_meta`, and the handshake for others |
//! | `tools(items)` `resources(items)` `templates(items)` `prompts(items)` | one page each; default: the tool `echo` |
//! | `pages(method, [[..], [..]])` | several pages, under the cursors `p2`, `p3`, … |
//! | `crlf()` `bom()` `pretty()` `content_length()` | every message ends in CR LF; starts with a byte order mark; is spread over lines; is framed as in LSP |
//! | `pieces(bytes, pause_us)` | every message is written in pieces of that size with a pause after each |
//! | `log(path)` | log everything, to be read with [`Log`](crate::Log) |
//! | `pid_file(path)` | write the process number there (whole, or not at all) |
//! | `lock(path)` | hold an exclusive lock on the file; exit with 9 if it is taken |
//! | `starts(path)` | count starts in the file, for `start(n)` and `first_starts(n)` of a rule and `$START` |
//! | `reads(n)` | stop reading stdin after n lines; `reads(0)` reads nothing |
//! | `ignore_eof()`, `ignore_term()` | short for a rule on `@eof`, `@term` that does nothing |
//!
//! # Rules
//!
//! `on(match, actions)`: the first rule that matches answers instead of the default. A match is a method name,
//! [`call(tool)`](crate::call), [`read(uri)`](crate::read) or [`on_method(m)`](crate::on_method), refined by
//! `.name(tool, prompt or URI)`, `.cursor(c)`, `.contains(text)`, `.nth(n)`, `.first(n)`, `.start(n)`,
//! `.first_starts(n)`, `.when(variable, value)`. Methods of the client's notifications match likewise; `*` is any
//! message of the client. Rules that match but don't answer leave the request unanswered. Methods of its own:
//!
//! | method | when |
//! | --- | --- |
//! | `@start` | before the first message is handled (stdin is already read and logged) |
//! | `@eof` | stdin ended; replaces the exit. Runs at once, whatever else runs |
//! | `@term` | SIGTERM came; replaces the default death. Runs at once, whatever else runs |
//! | `@unknown` | a line with no rule and no default: not JSON, an array, an unknown method, an unexpected reply |
//!
//! # Actions
//!
//! | action | does |
//! | --- | --- |
//! | [`respond(json)`](crate::respond), [`respond_error(code, msg)`](crate::respond_error), [`respond_error_data`](crate::respond_error_data) | answer the request |
//! | [`text(t)`](crate::text), [`echo_args()`](crate::echo_args), [`dump()`](crate::dump) | answer a tool call with a text; its exact arguments; argv, env and cwd |
//! | [`default_answer()`](crate::default_answer) | answer as without rules: `[sleep(50), default_answer()]` |
//! | [`notify(m)`](crate::notify), [`notify_with(m, json)`](crate::notify_with), [`progress(done, total)`](crate::progress) | send a notification |
//! | [`ask([request(id, m)…])`](crate::ask), [`ask_within`](crate::ask_within) | send requests and wait for all replies |
//! | [`line(t)`](crate::line), [`write(t)`](crate::write), [`bytes(b)`](crate::bytes) | raw output: with a line feed, without, bytes |
//! | [`in_pieces(n, us, actions)`](crate::in_pieces) | these actions' output in pieces |
//! | [`flood(t)`](crate::flood) | that text without end and without a line feed |
//! | [`stderr(t)`](crate::stderr) | write to stderr |
//! | [`sleep(ms)`](crate::sleep), [`sleep_arg(key)`](crate::sleep_arg) | wait for a time |
//! | [`wait_file(path)`](crate::wait_file), [`wait_line(t)`](crate::wait_line) | wait for an event, 60 s at most: a file; a later line of the client that contains the text |
//! | [`background(actions)`](crate::background) | on a thread of their own, later messages meanwhile |
//! | [`gather(n, actions)`](crate::gather) | once n messages of this rule are there, for each, last first |
//! | [`repeat(n, actions)`](crate::repeat), [`forever(actions)`](crate::forever) | again and again |
//! | [`set(name, value)`](crate::set), [`set_tools(items)`](crate::set_tools), [`set_list`](crate::set_list) | variables; what is offered from now on |
//! | [`mark(path, word)`](crate::mark) | append a word and a line feed to a file |
//! | [`spawn(script)`](crate::spawn), [`spawn_sharing(script)`](crate::spawn_sharing) | a child process, another fake |
//! | [`close_stdout()`](crate::close_stdout), [`exit(code)`](crate::exit), [`die(signal)`](crate::die) | endings |
//!
//! # Placeholders
//!
//! In every text and JSON of an action:
//!
//! | placeholder | value |
//! | --- | --- |
//! | `$ID` `$METHOD` `$PARAMS` `$LINE` | of the message at hand |
//! | `$NAME` `$ARGS` `$ARG(key)` `$TOKEN` | `params.name` or `.uri`, `.arguments`, one of them, `._meta.progressToken` |
//! | `$REPLY` | the last reply that `ask` waited for |
//! | `$N` `$I` | how often the rule has matched; the round of the innermost `repeat` |
//! | `$START` `$PID` | number of this start; process number |
//! | `$(name)` | the variable, "" if never set |
//! | `$REPEAT(n,text)` | the text n times; it can't contain `)` |
//!
//! In JSON, a string that is nothing but a placeholder becomes the value itself: `{"id": "$ID"}` keeps a number a
//! number. Within a longer string, and in `text`, `stderr`, `mark` and paths, strings give their characters and
//! everything else its JSON. In `line`, `write` and `set` everything gives its JSON: `{"id":$ID}`, or, for a
//! wrong type, `{"id":"$ID"}`. What has no value is `null`. Any other `$` is itself.
//!
//! # Examples
//!
//! ```no_run
//! # use serde_json::json; use trunkline_tests::*; let (dir, base) = (TempDir::new(), Script::new);
//! // 20 MB in one result; one written a byte at a time; two answers in one array.
//! base().on(call("big"), [text("$REPEAT(20000000,x)")]);
//! base().on(call("slow"), [in_pieces(1, 20, [text("日本語🎉")])]);
//! base().on(call("echo").nth(1), [set("a", "$ID")]).on(call("echo").nth(2), [line(
//!     r#"[{"jsonrpc":"2.0","id":$(a),"result":{"content":[]}},{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}]"#,
//! )]);
//! // 50 calls answered in reverse, once all 50 are there.
//! base().on(call("echo"), [gather(50, [echo_args()])]);
//! // Pings during a long call; a result that is late on purpose.
//! base().on(call("long"), [background([wait_file(dir.join("go")), text("ok")]), ask([request(json!("p1"), "ping")])]);
//! base().on(call("late"), [background([wait_line("notifications/cancelled"), text("late")])]);
//! // Banner, dead on the first two starts, slow start with output on stderr.
//! base().on("@start", [write("===\n\u{1F600}\n\n"), repeat(3, [stderr("npm fetch $I\n"), sleep(100)])]);
//! base().starts(dir.join("n")).on(on_method("@start").first_starts(2), [stderr("no key\n"), exit(3)]);
//! // A clean end that can be checked; one that has to be killed, with a child.
//! let m = dir.join("marks");
//! base().on("@eof", [mark(&m, "EOF"), sleep(300), mark(&m, "CLEAN"), exit(0)]).on("@term", [mark(&m, "TERM")]);
//! let child = Script::new().ignore_eof().ignore_term().pid_file(dir.join("child"));
//! base().ignore_eof().ignore_term().on("@start", [spawn(child)]);
//! // An error storm; a cursor that never ends; a list that changes.
//! base().on("@unknown", [line("unexpected: $LINE")]);
//! base().on("tools/list", [respond(json!({"tools": [tool("a")], "nextCursor": "c$N"}))]);
//! base().on(call("echo"), [set_tools([tool("b")]), notify("notifications/tools/list_changed"), text("ok")]);
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::json::{Json, tool};
use crate::rule::{Match, Rule};

/// A script: settings and rules. See the module's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub(crate) version: Option<String>,
    pub(crate) capabilities: Option<Json>,
    pub(crate) server_info: Option<Json>,
    pub(crate) instructions: Option<String>,
    pub(crate) eras: Eras,
    pub(crate) lists: BTreeMap<String, Vec<Page>>,
    pub(crate) framing: Framing,
    pub(crate) log: Option<PathBuf>,
    pub(crate) pid_file: Option<PathBuf>,
    pub(crate) lock: Option<PathBuf>,
    pub(crate) starts: Option<PathBuf>,
    pub(crate) reads: Option<u64>,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Eras {
    Legacy,
    Modern,
    Both,
}

/// One page of a list, served under its cursor; the first page has none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub(crate) cursor: Option<String>,
    pub(crate) items: Vec<Json>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Framing {
    pub(crate) crlf: bool,
    pub(crate) bom: bool,
    pub(crate) pretty: bool,
    pub(crate) content_length: bool,
    pub(crate) pieces: Option<Pieces>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pieces {
    pub(crate) bytes: usize,
    pub(crate) pause_us: u64,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            version: Some("2025-06-18".to_owned()),
            capabilities: None,
            server_info: None,
            instructions: None,
            eras: Eras::Legacy,
            lists: BTreeMap::from([("tools/list".to_owned(), single_page([tool("echo")]))]),
            framing: Framing::default(),
            log: None,
            pid_file: None,
            lock: None,
            starts: None,
            reads: None,
            rules: Vec::new(),
        }
    }
}

pub(crate) fn single_page<T: Into<Json>>(items: impl IntoIterator<Item = T>) -> Vec<Page> {
    vec![Page { cursor: None, items: items.into_iter().map(Into::into).collect() }]
}

impl Script {
    /// A server with the one tool `echo`.
    pub fn new() -> Script {
        Script::default()
    }

    pub fn version(mut self, version: &str) -> Script {
        self.version = Some(version.to_owned());
        self
    }

    pub fn echo_version(mut self) -> Script {
        self.version = None;
        self
    }

    pub fn capabilities(mut self, capabilities: impl Into<Json>) -> Script {
        self.capabilities = Some(capabilities.into());
        self
    }

    pub fn server_info(mut self, info: impl Into<Json>) -> Script {
        self.server_info = Some(info.into());
        self
    }

    pub fn instructions(mut self, text: &str) -> Script {
        self.instructions = Some(text.to_owned());
        self
    }

    pub fn modern(mut self) -> Script {
        self.eras = Eras::Modern;
        self
    }

    pub fn both_eras(mut self) -> Script {
        self.eras = Eras::Both;
        self
    }

    pub fn tools<T: Into<Json>>(self, items: impl IntoIterator<Item = T>) -> Script {
        self.list("tools/list", items)
    }

    pub fn resources<T: Into<Json>>(self, items: impl IntoIterator<Item = T>) -> Script {
        self.list("resources/list", items)
    }

    pub fn templates<T: Into<Json>>(self, items: impl IntoIterator<Item = T>) -> Script {
        self.list("resources/templates/list", items)
    }

    pub fn prompts<T: Into<Json>>(self, items: impl IntoIterator<Item = T>) -> Script {
        self.list("prompts/list", items)
    }

    fn list<T: Into<Json>>(mut self, method: &str, items: impl IntoIterator<Item = T>) -> Script {
        self.lists.insert(method.to_owned(), single_page(items));
        self
    }

    /// Pages of a list method, under the cursors `p2`, `p3`, …
    pub fn pages<T: Into<Json>, P: IntoIterator<Item = T>>(
        mut self,
        method: &str,
        pages: impl IntoIterator<Item = P>,
    ) -> Script {
        let page = |(index, items): (usize, P)| Page {
            cursor: (index > 0).then(|| format!("p{}", index + 1)),
            items: items.into_iter().map(Into::into).collect(),
        };
        self.lists.insert(method.to_owned(), pages.into_iter().enumerate().map(page).collect());
        self
    }

    pub fn crlf(mut self) -> Script {
        self.framing.crlf = true;
        self
    }

    pub fn bom(mut self) -> Script {
        self.framing.bom = true;
        self
    }

    pub fn pretty(mut self) -> Script {
        self.framing.pretty = true;
        self
    }

    pub fn content_length(mut self) -> Script {
        self.framing.content_length = true;
        self
    }

    pub fn pieces(mut self, bytes: usize, pause_us: u64) -> Script {
        self.framing.pieces = Some(Pieces { bytes, pause_us });
        self
    }

    pub fn log(mut self, path: impl AsRef<Path>) -> Script {
        self.log = Some(path.as_ref().to_owned());
        self
    }

    pub fn pid_file(mut self, path: impl AsRef<Path>) -> Script {
        self.pid_file = Some(path.as_ref().to_owned());
        self
    }

    pub fn lock(mut self, path: impl AsRef<Path>) -> Script {
        self.lock = Some(path.as_ref().to_owned());
        self
    }

    pub fn starts(mut self, path: impl AsRef<Path>) -> Script {
        self.starts = Some(path.as_ref().to_owned());
        self
    }

    pub fn reads(mut self, lines: u64) -> Script {
        self.reads = Some(lines);
        self
    }

    pub fn ignore_eof(self) -> Script {
        self.on("@eof", [])
    }

    pub fn ignore_term(self) -> Script {
        self.on("@term", [])
    }

    /// Adds a rule after those that are there.
    pub fn on(mut self, on: impl Into<Match>, actions: impl IntoIterator<Item = Action>) -> Script {
        self.rules.push(Rule { on: on.into(), actions: actions.into_iter().collect() });
        self
    }

    /// The script as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a script is plain data")
    }

    /// Arguments for the program, with the script itself among them.
    pub fn args(&self) -> Vec<String> {
        let json = self.json();
        assert!(json.len() < 100_000, "too long for an argument ({} bytes): use write_to", json.len());
        vec!["--inline".to_owned(), json]
    }

    /// Writes the script into the directory under a new name; the path is the program's only argument.
    pub fn write_to(&self, dir: impl AsRef<Path>) -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let path = dir.as_ref().join(format!("fake-{}.json", COUNT.fetch_add(1, Ordering::Relaxed)));
        fs::write(&path, self.json()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}
