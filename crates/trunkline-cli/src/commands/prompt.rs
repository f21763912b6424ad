//! `trunkline prompt`: renders a prompt and shows its messages.

use trunkline::{CallContext, Client, Error, ErrorKind, Outcome as Listed, PromptResult, RawJson};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::content::{self, Sink};
use crate::render::{DIM, Screen, escape, paint};
use crate::servers::Servers;
use crate::shape::Shape;
use crate::signature::Signature;
use crate::suggest;
use crate::values::Given;

pub(crate) struct Prompt {
    args: args::Prompt,
    given: Given,
}

impl Prompt {
    pub(crate) fn new(args: args::Prompt) -> Outcome<Self> {
        let given = Given::read(&args.arguments, args.args.as_deref())?;
        Ok(Self { args, given })
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let spinner = Spinner::start(screen, "connecting").telling(servers);
        let (client, prompt) = find(servers, &self.args.prompt).await?;
        let arguments = self.arguments(&prompt).map_err(|failure| {
            failure.context("usage", format!("{}.{}", client.label(), Signature::of_prompt(&prompt).plain()))
        })?;
        let result = client.get_prompt_messages(prompt.name(), arguments).await?;
        drop(spinner);
        if screen.json {
            screen.print_exact(result.raw().as_bytes())?;
        } else {
            screen.print(&self.shown(&result, screen)?)?;
        }
        Ok(Exit::Done)
    }

    /// A prompt's arguments are text, all of them; its list says which it needs.
    fn arguments(&self, prompt: &trunkline::Prompt) -> Outcome<trunkline::Arguments> {
        let listed = prompt.arguments();
        let quoted = |name: &String| crate::render::json::quote(name);
        let names: Vec<String> = listed.iter().map(trunkline::PromptArgument::name).collect();
        let properties: Vec<_> = names.iter().map(|name| format!("{}:{{\"type\":\"string\"}}", quoted(name))).collect();
        let schema = format!("{{\"properties\":{{{}}},\"additionalProperties\":false}}", properties.join(","));
        let arguments = self.given.typed(&Shape::new(RawJson::parse(schema)?))?;
        let is_missing =
            |argument: &&trunkline::PromptArgument| argument.required() && arguments.get(&argument.name()).is_none();
        let missing: Vec<_> =
            listed.iter().filter(is_missing).map(|argument| format!("\"{}\"", argument.name())).collect();
        match missing.as_slice() {
            [] => Ok(arguments),
            [one] => Err(Failure::usage(format!("{one} is missing"))),
            several => Err(Failure::usage(format!("{} are missing", several.join(", ")))),
        }
    }

    fn shown(&self, result: &PromptResult, screen: &Screen) -> Outcome<String> {
        let sink = Sink { dir: self.args.output.as_deref(), option: "use -o DIR" };
        let messages = result.messages();
        let alone = matches!(messages.as_slice(), [only] if only.role() == "user");
        let mut parts = Vec::new();
        for message in &messages {
            let blocks: Outcome<Vec<_>> =
                message.content().iter().map(|block| content::block(block, screen, sink)).collect();
            let text = blocks?.join("\n");
            let role = paint(DIM, format!("{}:", escape::line(&message.role())));
            parts.push(if alone { text } else { format!("{role}\n{text}") });
        }
        Ok(parts.join("\n\n"))
    }
}

/// Finds the prompt a person means: `SERVER.NAME`, its exposed name, or its own where that is unique.
pub(super) async fn find(servers: &Servers, address: &str) -> Outcome<(Client, trunkline::Prompt)> {
    if let Some((label, name)) = servers.split(address) {
        let client = servers.client(label)?;
        return of_server(client, name).await;
    }
    servers.ensure_any()?;
    if let [only] = servers.clients() {
        return of_server(only, address).await;
    }
    let listings = servers.all().prompts_by_server(&CallContext::new()).await;
    let (mut found, mut names) = (Vec::new(), Vec::new());
    for listing in &listings {
        let Listed::Ready(prompts) = &listing.outcome else { continue };
        for prompt in prompts {
            let exposed = servers.all().exposed_name(&listing.server, prompt.name());
            if prompt.name() == address || exposed == address {
                found.push((listing.server.as_str(), prompt));
            }
            names.push(format!("{}.{}", listing.server, prompt.name()));
        }
    }
    match found.as_slice() {
        [(label, prompt)] => Ok((servers.client(label)?.clone(), (*prompt).clone())),
        [] => {
            let error = Error::new(ErrorKind::NotFound, format!("No server has a prompt named \"{address}\""));
            let hint = suggest::hint(address, names.iter().map(String::as_str));
            Err(error.with_hint(hint.unwrap_or_else(|| "No server offers prompts".to_owned())).into())
        }
        several => {
            let addresses: Vec<_> =
                several.iter().map(|(label, prompt)| format!("{label}.{}", prompt.name())).collect();
            let message = format!("Several servers have a prompt named \"{address}\"");
            let error = Error::new(ErrorKind::Ambiguous, message);
            Err(error.with_hint(format!("Say which: {}", addresses.join(" or "))).into())
        }
    }
}

pub(super) async fn of_server(client: &Client, name: &str) -> Outcome<(Client, trunkline::Prompt)> {
    let prompts = client.list_prompts().await?;
    if let Some(prompt) = prompts.iter().find(|prompt| prompt.name() == name) {
        return Ok((client.clone(), prompt.clone()));
    }
    let message = format!("Server \"{}\" has no prompt named \"{name}\"", client.label());
    let error = Error::new(ErrorKind::NotFound, message).with_context("server", client.label());
    Err(match suggest::hint(name, prompts.iter().map(trunkline::Prompt::name)) {
        Some(hint) => error.with_hint(hint).into(),
        None => error.with_hint("It offers no prompts").into(),
    })
}
