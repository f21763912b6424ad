//! `trunkline info`: what servers say of themselves, the guidance for models among it.

use futures_util::future::join_all;
use trunkline::{Client, Error, ServerInfo};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::json::{Object, array};
use crate::render::{BOLD, DIM, Screen, error, escape, list, paint};
use crate::servers::Servers;

pub(crate) struct Info {
    pub(crate) args: args::Info,
}

impl Info {
    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let clients = servers.named(&self.args.servers)?;
        let spinner = Spinner::start(screen, "connecting").telling(servers);
        let infos = join_all(clients.iter().map(|client| client.info())).await;
        drop(spinner);
        let infos: Vec<_> = clients.into_iter().zip(infos).collect();
        if screen.json {
            let servers = Object::default().raw("servers", array(infos.iter().map(machine))).finish();
            screen.print_exact(servers.as_bytes())?;
        } else {
            let shown = infos.iter().filter_map(|(client, info)| Some(shown(client, info.as_ref().ok()?)));
            screen.print(&shown.collect::<Vec<_>>().join("\n"))?;
            let failed = infos.iter().filter_map(|(_, info)| info.as_ref().err());
            failed.for_each(|error| screen.report(&list::dead(error)));
        }
        match infos.into_iter().find_map(|(_, info)| info.err()) {
            Some(error) => Err(Failure::told(Exit::of_error(&error))),
            None => Ok(Exit::Done),
        }
    }
}

fn machine((client, info): &(&Client, Result<ServerInfo, Error>)) -> String {
    let object = Object::default().text("label", client.label());
    match info {
        Ok(info) => object.raw("info", info.raw()).finish(),
        Err(error) => object.raw("error", error::object(error.kind().as_str(), error)).finish(),
    }
}

fn shown(client: &Client, info: &ServerInfo) -> String {
    let mut out = format!("{}\n", paint(BOLD, escape::line(client.label())));
    let mut fact = |name: &str, text: String| {
        if !text.is_empty() {
            out.push_str(&format!("  {} {}\n", paint(DIM, format!("{name:<12}")), escape::line(&text)));
        }
    };
    fact("name", [info.name(), info.version()].join(" ").trim().to_owned());
    fact("title", info.title().unwrap_or_default());
    fact("about", info.description().unwrap_or_default());
    fact("website", info.website().unwrap_or_default());
    fact("protocol", info.protocol_version().unwrap_or_default());
    fact("offers", offers(info).join(", "));
    for icon in info.icons() {
        let more: Vec<_> = icon.mime_type().into_iter().chain(icon.sizes()).collect();
        let src: String = icon.src().chars().take(100).collect(); // it may be the picture itself
        fact("icon", format!("{src} {}", more.join(" ")).trim().to_owned());
    }
    if let Some(instructions) = info.instructions() {
        out.push_str(&format!("  {}\n", paint(DIM, "instructions")));
        out.extend(escape::text(instructions.trim()).lines().map(|line| format!("    {line}\n")));
    }
    out
}

/// The capabilities, with what they have switched on: `resources (subscribe)`.
fn offers(info: &ServerInfo) -> Vec<String> {
    let capabilities = info.capabilities();
    let described = capabilities.members().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let on: Vec<_> =
            value.members().filter(|(_, value)| value.as_bytes() == b"true").map(|(name, _)| name).collect();
        if on.is_empty() { name } else { format!("{name} ({})", on.join(", ")) }
    });
    described.collect()
}
