//! `trunkline ping`: which servers answer, and how fast.

use std::time::Duration;

use futures_util::future::join_all;
use trunkline::{Client, Error};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::json::{Object, array};
use crate::render::{Screen, error, escape, list};
use crate::servers::Servers;

pub(crate) struct Ping {
    pub(crate) args: args::Ping,
}

impl Ping {
    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let clients = servers.named(&self.args.servers)?;
        let spinner = Spinner::start(screen, "waiting for an answer").telling(servers);
        let pings = join_all(clients.iter().map(|client| client.ping())).await;
        drop(spinner);
        let pings: Vec<_> = clients.into_iter().zip(pings).collect();
        if screen.json {
            let servers = Object::default().raw("servers", array(pings.iter().map(machine))).finish();
            screen.print_exact(servers.as_bytes())?;
        } else {
            for (client, ping) in &pings {
                match ping {
                    Ok(took) => screen.print(&format!("{}  {} ms", escape::line(client.label()), ms(*took)))?,
                    Err(error) => screen.report(&list::dead(error)),
                }
            }
        }
        match pings.into_iter().find_map(|(_, ping)| ping.err()) {
            Some(error) => Err(Failure::told(Exit::of_error(&error))),
            None => Ok(Exit::Done),
        }
    }
}

fn machine((client, ping): &(&Client, Result<Duration, Error>)) -> String {
    let object = Object::default().text("label", client.label());
    match ping {
        Ok(took) => object.raw("ms", ms(*took)).finish(),
        Err(error) => object.raw("error", error::object(error.kind().as_str(), error)).finish(),
    }
}

fn ms(took: Duration) -> String {
    format!("{:.1}", took.as_secs_f64() * 1000.0)
}
