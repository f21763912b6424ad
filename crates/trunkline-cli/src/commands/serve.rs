//! `trunkline record` and `trunkline mock`: the servers of this call of the program as one server for somebody else's
//! client. What is recorded or replayed is settled when they are opened.

use std::io::IsTerminal as _;

use trunkline::{Client, Connection as _, Event, EventKind, Limits, SharedConnection};

use crate::exit::{Exit, Outcome};
use crate::render::{Screen, YELLOW, escape, list, paint};
use crate::servers::Servers;

pub(crate) struct Serve {
    /// Of these labels; none means all.
    servers: Vec<String>,
}

impl Serve {
    pub(crate) fn new(servers: Vec<String>) -> Self {
        Self { servers }
    }

    /// Serves until the client is gone. Only messages go to the standard output.
    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        servers.ensure_any()?;
        let chosen = self.chosen(servers)?;
        if std::io::stdin().is_terminal() {
            screen.note("note: this speaks MCP on standard input and output: have an MCP client start it");
        }
        let mut events = chosen.events();
        let served = trunkline::serve_stdio(chosen);
        tokio::pin!(served);
        loop {
            tokio::select! {
                outcome = &mut served => return outcome.map(|()| Exit::Done).map_err(Into::into),
                Some(event) = events.next() => tell(&event, screen),
            }
        }
    }

    /// One server by itself, with the names it gives; several united.
    fn chosen(&self, servers: &Servers) -> Outcome<SharedConnection> {
        let clients: Outcome<Vec<&Client>> = self.servers.iter().map(|label| servers.client(label)).collect();
        let clients = if self.servers.is_empty() { servers.clients().iter().collect() } else { clients? };
        Ok(match clients.as_slice() {
            [only] => only.connection(),
            _ => SharedConnection::new(servers.chosen(&self.servers, Limits::default())?),
        })
    }
}

/// A client may hide what went wrong.
fn tell(event: &Event, screen: &Screen) {
    match &event.kind {
        EventKind::Failed(error) => screen.report(&list::dead(error)),
        EventKind::Warning(text) if screen.verbose == 0 => {
            screen.note(&format!("{}: {}", paint(YELLOW, "warning"), escape::line(text)));
        }
        _ => {}
    }
}
