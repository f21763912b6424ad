//! A client and its scripted server, for the tests that look at one server closely. What the server then does is in
//! each test.

use std::time::{Duration, Instant};

use trunkline::{Client, ClientBuilder, Limits, Result};
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

/// A client of a fake, where the fake logs to and its directory.
pub(crate) struct Rig {
    pub(crate) client: Client,
    pub(crate) log: Log,
    pub(crate) dir: TempDir,
}

/// A client of a fake that follows this script.
pub(crate) fn rig(script: Script) -> Rig {
    Rig::with(|_| script, |builder| builder)
}

impl Rig {
    /// The same, where the script needs the directory or the client is set up differently.
    pub(crate) fn with(
        script: impl FnOnce(&TempDir) -> Script,
        set_up: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Rig {
        let dir = TempDir::new();
        let log = Log::at(dir.join("log"));
        let script = script(&dir).log(log.path()).starts(dir.join("starts")).write_to(&dir);
        let builder = Client::stdio(FAKE, [script.to_str().unwrap()]).label("fake").limits(limits()).timeout(SOON * 3);
        Rig { client: set_up(builder).build().unwrap(), log, dir }
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
