//! Several servers as one: names, routes, resources, changes, servers that are dead, slow or late, and many of them.

mod changes;
mod names;
mod partial;
mod relay;
mod resources;
mod scale;

use trunkline::{CallContext, Client, ClientBuilder, Connection, Limits, MultiServer};
use trunkline_tests::*;

use crate::rig::{SOON, limits, ms};
use crate::smoke::FAKE;

/// Fakes behind one `MultiServer`; each logs to a file of its own.
pub(crate) struct Servers {
    pub(crate) multi: MultiServer,
    pub(crate) dir: TempDir,
}

impl Servers {
    /// A list waits as long for the rest as a test may take, so that a busy machine doesn't cut it short.
    pub(crate) fn new() -> Self {
        Self::bounded(Limits { settle: SOON, max_backoff: ms(1), ..limits() })
    }

    pub(crate) fn bounded(limits: Limits) -> Self {
        Self { multi: MultiServer::with_limits(limits), dir: TempDir::new() }
    }

    pub(crate) fn with<'a>(servers: impl IntoIterator<Item = (&'a str, Script)>) -> Self {
        let mut all = Self::new();
        for (label, script) in servers {
            all.add(label, script);
        }
        all
    }

    /// Adds a fake.
    pub(crate) fn add(&mut self, label: &str, script: Script) -> Client {
        self.add_with(label, script, |builder| builder)
    }

    pub(crate) fn add_with(
        &mut self,
        label: &str,
        script: Script,
        set_up: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Client {
        let log = self.dir.join(format!("{label}.log"));
        let script = script.log(log).starts(self.dir.join(format!("{label}.starts"))).write_to(&self.dir);
        let builder = Client::stdio(FAKE, [script.to_str().unwrap()]).label(label).limits(limits()).timeout(SOON * 3);
        let client = set_up(builder).build().unwrap();
        self.multi.add(&client).unwrap();
        client
    }

    /// Adds a server whose command doesn't exist.
    pub(crate) fn add_dead(&mut self, label: &str) {
        self.multi.add(dead(label)).unwrap();
    }

    pub(crate) fn log(&self, label: &str) -> Log {
        Log::at(self.dir.join(format!("{label}.log")))
    }

    /// How often this was sent to a server.
    pub(crate) fn sent(&self, label: &str, method: &str) -> usize {
        self.log(label).sent(method).len()
    }

    async fn tools(&self) -> Vec<String> {
        self.multi.tools().await.unwrap().iter().map(|tool| tool.name().to_owned()).collect()
    }

    async fn call(&self, name: &str) -> trunkline::Result<String> {
        let arguments = trunkline::Arguments::none();
        self.multi.call_tool(name, arguments, &CallContext::new()).await.map(|result| result.text())
    }
}

fn dead(label: &str) -> Client {
    Client::stdio("no-such-command-here", [""; 0]).label(label).build().unwrap()
}

/// A server whose tools answer with its own mark.
fn marked(mark: &str, tools: &[&str]) -> Script {
    Script::new().tools(tools.iter().map(|name| tool(name))).on("tools/call", [text(mark)])
}

/// An empty file to wait for.
fn touch(path: impl AsRef<std::path::Path>) {
    std::fs::write(path, "").unwrap();
}
