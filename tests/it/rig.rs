//! A client and its scripted server, for the tests that look at one server closely. What the server then does is in
//! each test.

use std::time::{Duration, Instant};

use trunkline::{Client, ClientBuilder, Environment, Limits, Result};
use trunkline_tests::http::Bridge;
use trunkline_tests::*;

use crate::smoke::FAKE;

/// Long enough for anything that isn't stuck, on a machine that is busy with other things.
pub(crate) const SOON: Duration = Duration::from_secs(8);

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Short graces, so that stubborn servers don't make tests long.
pub(crate) fn limits() -> Limits {
    Limits { exit_grace: ms(300), term_grace: ms(300), ..Limits::default() }
}

/// How a client reaches a fake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    Http,
    Sse,
}

impl Over {
    pub(crate) const ALL: [Over; 3] = [Over::Stdio, Over::Http, Over::Sse];
}

/// A client of a fake, where the fake logs to and its directory.
pub(crate) struct Rig {
    pub(crate) over: Over,
    pub(crate) client: Client,
    pub(crate) log: Log,
    pub(crate) dir: TempDir,
    _bridge: Option<Bridge>,
}

/// A client of a fake that follows this script.
pub(crate) fn rig(script: Script) -> Rig {
    Rig::with(|_| script, |builder| builder)
}

/// The same server over each transport, one after the other.
pub(crate) fn everywhere(script: Script) -> impl Iterator<Item = Rig> {
    Rig::each(move |_| script.clone(), |builder| builder)
}

impl Rig {
    /// The same, where the script needs the directory or the client is set up differently.
    pub(crate) fn with(
        script: impl FnOnce(&TempDir) -> Script,
        set_up: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Rig {
        Rig::over(Over::Stdio, script, set_up)
    }

    /// The same over each transport, one after the other.
    pub(crate) fn each(
        script: impl Fn(&TempDir) -> Script,
        set_up: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> impl Iterator<Item = Rig> {
        Over::ALL.into_iter().map(move |over| Rig::over(over, &script, &set_up))
    }

    pub(crate) fn over(
        over: Over,
        script: impl FnOnce(&TempDir) -> Script,
        set_up: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Rig {
        let dir = TempDir::new();
        let log = Log::at(dir.join("log"));
        let script = script(&dir).log(log.path()).starts(dir.join("starts")).write_to(&dir);
        let bridge = (over != Over::Stdio).then(|| Bridge::start(FAKE, &script, over == Over::Sse));
        let builder = match &bridge {
            None => Client::stdio(FAKE, [script.to_str().unwrap()]),
            Some(bridge) if over == Over::Sse => Client::sse(bridge.url()),
            Some(bridge) => Client::http(bridge.url()),
        };
        let builder = match over {
            Over::Stdio => builder,
            _ => builder.environment(Environment::from_pairs::<&str, &str>([])), // no proxies
        };
        let client = set_up(builder.label("fake").limits(limits()).timeout(SOON * 3)).build().unwrap();
        Rig { over, client, log, dir, _bridge: bridge }
    }

    /// Calls a tool without arguments; the result's text.
    pub(crate) async fn call(&self, tool: &str) -> Result<String> {
        self.client.call(tool, ()).await.map(|result| result.text())
    }

    /// How often the server was started.
    pub(crate) fn starts(&self) -> usize {
        self.log.starts().len()
    }

    /// The process that was started last.
    pub(crate) fn pid(&self) -> u32 {
        self.log.starts().last().expect("a start").pid
    }

    /// How often the client sent this.
    pub(crate) fn sent(&self, method: &str) -> usize {
        self.log.sent(method).len()
    }

    /// Waits until the client has sent this many messages with this method.
    pub(crate) async fn wait_sent(&self, method: &'static str, n: usize) -> Vec<Entry> {
        let log = self.log.clone();
        offload(move || log.wait_sent(method, n)).await
    }

    pub(crate) fn warned(&self, part: &str) -> bool {
        self.client.warnings().iter().any(|warning| warning.contains(part))
    }
}

/// Asserts that something took at least `least` and wasn't much too late.
#[track_caller]
pub(crate) fn assert_took(since: Instant, least: Duration) {
    let took = since.elapsed();
    assert!(took >= least && took < least + limit(), "took {took:?}, which should be {least:?} and a little more");
}
