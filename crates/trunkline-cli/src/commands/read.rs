//! `trunkline read`: a resource's text on standard output, its bytes in a file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use trunkline::{CallContext, Connection, ReadResult, ResourceContents};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::Screen;
use crate::render::content::{self, Sink};
use crate::save;
use crate::servers::Servers;

pub(crate) struct Read {
    args: args::Read,
}

impl Read {
    pub(crate) fn new(args: args::Read) -> Self {
        Self { args }
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
        let uri = &self.args.uri;
        if let Some(label) = &self.args.from {
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
