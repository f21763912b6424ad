//! The servers of a run behind one `MultiServer`, and the blows they take from outside.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::sleep;
use trunkline::{Client, ClientBuilder, Limits, MultiServer};

use crate::deed::Way;
use crate::host::{self, Host};
use crate::plan::Blow;
use crate::signals;

/// How long a server may take to start.
pub(crate) const START: Duration = Duration::from_secs(5);

pub(crate) struct Fleet {
    pub(crate) multi: MultiServer,
    pub(crate) ways: Vec<Way>,
    /// Those over HTTP; nothing at the places of the others.
    hosts: Vec<Option<Host>>,
    folder: std::path::PathBuf,
}

/// Graces that keep the run lively.
pub(crate) fn limits() -> Limits {
    let millis = Duration::from_millis;
    Limits {
        max_message: 1 << 20,
        exit_grace: millis(200),
        term_grace: millis(200),
        connect_timeout: millis(2000),
        close_grace: millis(300),
        stream_wait: millis(50),
        min_backoff: millis(20),
        max_backoff: millis(300),
        settle: millis(500),
        ..Limits::default()
    }
}

pub(crate) fn label(server: usize) -> String {
    format!("s{server}")
}

impl Fleet {
    /// So many servers, every other one over HTTP.
    pub(crate) fn start(folder: &Path, count: usize) -> Result<Self, String> {
        let mut fleet = Self {
            multi: MultiServer::with_limits(limits()),
            ways: Vec::new(),
            hosts: Vec::new(),
            folder: folder.to_owned(),
        };
        for server in 0..count {
            let way = if server % 2 == 0 { Way::Stdio } else { Way::Http };
            let host = (way == Way::Http).then(|| Host::start(folder, &label(server))).transpose()?;
            let client = finish(client(folder, &label(server), host.as_ref()), server)?;
            fleet.multi.add(client).map_err(|error| error.to_string())?;
            fleet.ways.push(way);
            fleet.hosts.push(host);
        }
        Ok(fleet)
    }

    /// The name of the tool of this server.
    pub(crate) fn tool(&self, server: usize) -> String {
        self.multi.exposed_name(&label(server), "work")
    }

    /// Deals a blow, and is done when what it does is over.
    pub(crate) async fn take(&self, server: usize, blow: Blow) {
        let label = label(server);
        match (blow, &self.hosts[server]) {
            (Blow::Kill(away), Some(host)) => host.kill(away),
            (Blow::Kill(_), None) => drop(signals::send(&self.folder, &label, Signal::KILL)),
            (Blow::Freeze(time), _) => {
                signals::send(&self.folder, &label, Signal::STOP);
                sleep(time).await;
                signals::send(&self.folder, &label, Signal::CONT);
            }
            (Blow::Disconnect, _) => {
                if let Ok(member) = self.multi.member(&label) {
                    let _ = trunkline::Connection::close(&member).await; // never fails
                }
            }
        }
    }

    /// Ends the servers over HTTP.
    pub(crate) async fn stop(self) {
        for host in self.hosts.into_iter().flatten() {
            host.stop().await;
        }
    }
}

/// A client for a server over standard input and output, or for one that runs.
pub(crate) fn client(folder: &Path, label: &str, host: Option<&Host>) -> ClientBuilder {
    match host {
        Some(host) => Client::http(host.url()),
        None => {
            let (program, args) = host::command("stdio", folder, label, 0);
            Client::stdio(program.to_str().expect("a program with a plain path"), args)
        }
    }
}

fn finish(client: ClientBuilder, server: usize) -> Result<Client, String> {
    let client = client.label(label(server)).limits(limits()).start_timeout(START).timeout(Duration::from_secs(2));
    client.build().map_err(|error| error.to_string())
}
