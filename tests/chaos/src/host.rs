//! A server over HTTP that is always meant to run: started again on its port whenever it ended, after a while.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How long a server is away that ended by itself.
const AWAY: Duration = Duration::from_millis(50);

/// Stops when dropped.
pub(crate) struct Host {
    port: u16,
    kills: mpsc::UnboundedSender<Duration>,
    keeping: JoinHandle<()>,
}

impl Host {
    pub(crate) fn start(folder: &Path, label: &str) -> Result<Self, String> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| format!("no port is free: {error}"))?.port();
        let (kills, mut orders) = mpsc::unbounded_channel::<Duration>();
        let (folder, label) = (folder.to_owned(), label.to_owned());
        let keeping = tokio::spawn(async move {
            loop {
                let mut child = serve(&folder, &label, port);
                let _input = child.stdin.take(); // its end is the server's, and `wait` would close it
                let away = tokio::select! {
                    _ = child.wait() => AWAY,
                    order = orders.recv() => {
                        let _ = child.kill().await; // it may have ended in this moment
                        match order {
                            Some(away) => away,
                            None => return,
                        }
                    }
                };
                sleep(away).await;
            }
        });
        Ok(Self { port, kills, keeping })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Kills it; it is back after so long.
    pub(crate) fn kill(&self, away: Duration) {
        let _ = self.kills.send(away);
    }

    /// Ends it for good.
    pub(crate) async fn stop(self) {
        drop(self.kills);
        let _ = self.keeping.await;
    }
}

/// The program that this is, as the command for a server.
pub(crate) fn command(way: &str, folder: &Path, label: &str, port: u16) -> (PathBuf, Vec<String>) {
    let program = std::env::current_exe().expect("this program has a path");
    let folder = folder.to_str().expect("a temporary folder with a plain name");
    (program, ["serve", way, folder, label, &port.to_string()].map(str::to_owned).to_vec())
}

fn serve(folder: &Path, label: &str, port: u16) -> Child {
    let (program, args) = command("http", folder, label, port);
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    command.spawn().expect("a server can be started")
}
