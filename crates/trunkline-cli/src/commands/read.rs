//! `trunkline read`: a resource's text on standard output, its bytes in a file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use trunkline::{CallContext, Connection, Error, RawJson, ReadResult, ResourceContents, ResourceTemplate};

use super::complete::is_template;

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::Screen;
use crate::render::content::{self, Sink};
use crate::save;
use crate::servers::Servers;
use crate::shape::Shape;
use crate::suggest;
use crate::values::Given;

pub(crate) struct Read {
    args: args::Read,
    variables: Given,
}

impl Read {
    pub(crate) fn new(args: args::Read) -> Outcome<Self> {
        let variables = Given::read(&args.variables, None)?;
        Ok(Self { args, variables })
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let spinner = Spinner::start(screen, "reading").telling(servers);
        let result = self.fetch(servers).await?;
        drop(spinner);
        if let Some(path) = &self.args.output {
            self.save(&result.contents(), path, screen)?;
            if screen.json {
                screen.print_exact(result.raw().as_bytes())?;
            }
            return Ok(Exit::Done);
        }
        if screen.json {
            screen.print_exact(result.raw().as_bytes())?;
            return Ok(Exit::Done);
        }
        let each: Outcome<Vec<_>> = result.contents().iter().map(|contents| self.shown(contents)).collect();
        screen.print(&each?.join("\n"))?;
        Ok(Exit::Done)
    }

    async fn fetch(&self, servers: &Servers) -> Outcome<ReadResult> {
        let (named, uri) = self.address(servers).await?;
        let (from, uri) = (named.as_ref().or(self.args.from.as_ref()), &uri);
        if let Some(label) = from {
            return Ok(servers.client(label)?.read_resource_contents(uri).await?);
        }
        servers.ensure_any()?;
        match servers.clients() {
            [only] => Ok(only.read_resource_contents(uri).await?),
            _ => Ok(servers.all().read_resource(uri, &CallContext::new()).await.map_err(|error| {
                let ambiguous = error.kind() == trunkline::ErrorKind::Ambiguous;
                let failure = Failure::from(if ambiguous { reworded(&error) } else { error });
                if ambiguous { failure.hint("Say which with --from SERVER") } else { failure }
            })?),
        }
    }

    /// The URI, and the server where the template was named with its own.
    async fn address(&self, servers: &Servers) -> Outcome<(Option<String>, String)> {
        let uri = &self.args.uri;
        if self.variables.is_empty() {
            return Ok((None, uri.clone()));
        }
        let values = self.variables.typed(&Shape::new(RawJson::parse("{}")?))?;
        if is_template(uri) {
            return Ok((None, ResourceTemplate::new(uri, "").expand(values)?));
        }
        let (client, name) = match (servers.split(uri), &self.args.from, servers.clients()) {
            (_, Some(label), _) => (servers.client(label)?, uri.as_str()),
            (Some((label, name)), None, _) => (servers.client(label)?, name),
            (None, None, [only]) => (only, uri.as_str()),
            _ => return Err(Failure::usage(format!("\"{uri}\" is no template, and not SERVER.NAME of one"))),
        };
        let templates = client.list_resource_templates().await?;
        let Some(template) = templates.iter().find(|template| template.name() == name) else {
            let message = format!("Server \"{}\" has no resource template named \"{name}\"", client.label());
            let hint = suggest::hint(
                name,
                templates.iter().map(ResourceTemplate::name).collect::<Vec<_>>().iter().map(String::as_str),
            );
            let error = Error::new(trunkline::ErrorKind::NotFound, message);
            return Err(error.with_hint(hint.unwrap_or_else(|| "It offers no resource templates".to_owned())).into());
        };
        Ok((Some(client.label().to_owned()), template.expand(values)?))
    }

    fn shown(&self, contents: &ResourceContents) -> Outcome<String> {
        match (self.args.base64, contents.text()) {
            (true, None) => Ok(STANDARD.encode(contents.blob()?.unwrap_or_default())),
            _ => content::contents(contents, Sink { dir: None, option: "use -o FILE" }),
        }
    }

    fn save(&self, all: &[ResourceContents], path: &Path, screen: &Screen) -> Outcome {
        let is_dir = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if !is_dir && all.len() != 1 {
            let message = format!("The resource has {} parts, which can't go into one file", all.len());
            return Err(Failure::usage(message).hint("Give a directory: -o DIR/"));
        }
        for contents in all {
            let bytes = match contents.text() {
                Some(text) => text.into_bytes(),
                None => contents.blob()?.unwrap_or_default(),
            };
            let mime = contents.mime_type().unwrap_or_default();
            let saved = match is_dir {
                true => save::in_dir(path, &save::file_name(&contents.uri(), &mime, "resource"), &bytes)?,
                false => save::to_file(path, &bytes, self.args.force)?,
            };
            screen.note(&format!("{} bytes saved to {}", bytes.len(), saved.display()));
        }
        Ok(())
    }
}

/// The same without the library's hint, which is for code.
fn reworded(error: &trunkline::Error) -> trunkline::Error {
    trunkline::Error::new(error.kind(), error.message())
}
