//! Finds the tool a person means: `SERVER.TOOL`, a tool's name where only one server has it, or its exposed name.
//! Starts no more servers than that takes.

use trunkline::{CallContext, Client, Error, ErrorKind, Limits, Outcome as Listed, ToolProxy};

use crate::exit::{Failure, Outcome};
use crate::render::Screen;
use crate::servers::Servers;
use crate::suggest;

/// A tool and the server that has it.
pub(crate) struct Found {
    pub(crate) client: Client,
    pub(crate) tool: ToolProxy,
}

/// Finds a tool.
pub(crate) async fn tool(servers: &Servers, address: &str, screen: &Screen) -> Outcome<Found> {
    if let Some((label, name)) = servers.split(address) {
        return of_server(servers, servers.client(label)?, name).await;
    }
    servers.ensure_any()?;
    if let [only] = servers.clients() {
        let exposed = |tool: &ToolProxy| servers.all().exposed_name(only.label(), tool.name()) == address;
        let tools = tools_of(servers, only).await?;
        return match tools.iter().find(|tool| tool.name() == address || exposed(tool)) {
            Some(tool) => Ok(Found { client: only.clone(), tool: tool.clone() }),
            None => Err(refused(only, address).unwrap_or_else(|| unknown(address, only.label(), &tools))),
        };
    }
    if let Some(found) = by_exposed_name(servers, address).await? {
        return Ok(found);
    }
    anywhere(servers, address, screen).await
}

/// Its tools, which the completion of a shell knows from now on.
async fn tools_of(servers: &Servers, client: &Client) -> Outcome<Vec<ToolProxy>> {
    let tools = client.list_tools().await?;
    servers.keep(client.label(), tools.iter().map(trunkline::Tool::definition));
    Ok(tools)
}

async fn of_server(servers: &Servers, client: &Client, name: &str) -> Outcome<Found> {
    let tools = tools_of(servers, client).await?;
    match tools.iter().find(|tool| tool.name() == name) {
        Some(tool) => Ok(Found { client: client.clone(), tool: tool.clone() }),
        None => Err(refused(client, name).unwrap_or_else(|| unknown(name, client.label(), &tools))),
    }
}

/// Why a tool isn't shown though the server has it.
fn refused(client: &Client, tool: &str) -> Option<Failure> {
    client.lock_report()?.refusal(tool).map(Into::into)
}

/// An exposed name begins with its server's: only those that fit are asked.
async fn by_exposed_name(servers: &Servers, address: &str) -> Outcome<Option<Found>> {
    for client in servers.clients() {
        let probe = servers.all().exposed_name(client.label(), "x");
        let start = probe.split_once("_x").map_or(probe.as_str(), |(start, _)| start);
        if !address.starts_with(start) {
            continue;
        }
        let Ok(tools) = client.list_tools().await else { continue }; // told when it turns out to matter
        let exposed = |tool: &&ToolProxy| servers.all().exposed_name(client.label(), tool.name()) == address;
        if let Some(tool) = tools.iter().find(exposed) {
            return Ok(Some(Found { client: client.clone(), tool: tool.clone() }));
        }
    }
    Ok(None)
}

/// Asks every server for its tools.
async fn anywhere(servers: &Servers, name: &str, screen: &Screen) -> Outcome<Found> {
    let listings = servers.chosen(&[], Limits::default())?.tools_by_server(&CallContext::new()).await;
    let (mut owners, mut missing, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for listing in &listings {
        match &listing.outcome {
            Listed::Ready(tools) => {
                if tools.iter().any(|tool| tool.name() == name) {
                    owners.push(listing.server.as_str());
                }
                names.extend(tools.iter().map(|tool| format!("{}.{}", listing.server, tool.name())));
            }
            Listed::Pending | Listed::Failed(_) => missing.push(listing.server.as_str()),
        }
    }
    match owners.as_slice() {
        [owner] => {
            if !missing.is_empty() {
                screen.note(&format!("note: not asked for this tool, since not ready: {}", missing.join(", ")));
            }
            of_server(servers, servers.client(owner)?, name).await
        }
        [] => Err(nowhere(name, &names, &missing)),
        several => {
            let addresses: Vec<_> = several.iter().map(|owner| format!("{owner}.{name}")).collect();
            let message = format!("Several servers have a tool named \"{name}\": {}", several.join(", "));
            let error = Error::new(ErrorKind::Ambiguous, message);
            Err(error.with_hint(format!("Say which: {}", addresses.join(" or "))).into())
        }
    }
}

fn unknown(name: &str, label: &str, tools: &[ToolProxy]) -> Failure {
    let message = format!("Server \"{label}\" has no tool named \"{name}\"");
    let error = Error::new(ErrorKind::NotFound, message).with_context("server", label);
    match suggest::hint(name, tools.iter().map(ToolProxy::name)) {
        Some(hint) => error.with_hint(hint).into(),
        None => error.with_hint("It offers no tools").into(),
    }
}

fn nowhere(name: &str, names: &[String], missing: &[&str]) -> Failure {
    let error = Error::new(ErrorKind::NotFound, format!("No server has a tool named \"{name}\""));
    let error = match missing {
        [] => error,
        labels => error.with_context("not listed", format!("{} (not ready)", labels.join(", "))),
    };
    let bare = |full: &&String| full.split_once('.').map_or(full.as_str(), |(_, tool)| tool).to_owned();
    let tools: Vec<_> = names.iter().map(|full| bare(&full)).collect();
    let near = suggest::nearest(name, names.iter().map(String::as_str)).map(str::to_owned).or_else(|| {
        let tool = suggest::nearest(name, tools.iter().map(String::as_str))?;
        names.iter().zip(&tools).find(|(_, bare)| *bare == tool).map(|(full, _)| full.clone())
    });
    match near {
        Some(meant) => error.with_hint(format!("Did you mean \"{meant}\"?")).into(),
        None => error.with_hint("`trunkline list --brief` shows what there is").into(),
    }
}
