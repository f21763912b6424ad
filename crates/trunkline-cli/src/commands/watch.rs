//! `trunkline watch`: each change of a resource, until nobody wants to know any more.

use std::time::Duration;

use trunkline::{
    CallContext, Client, Connection as _, ErrorKind, Event, EventKind, Events, MultiServer, RawJson, ReadResult,
};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::content::{self, Sink};
use crate::render::json::Object;
use crate::render::{Screen, escape, list};
use crate::servers::Servers;

/// How long a server that can't be started again is left alone, at first and at most.
const REST: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];

const NO_NEWS: &str = "The server doesn't tell of changes; `trunkline read` reads it once";

pub(crate) struct Watch {
    pub(crate) args: args::Watch,
}

/// Where the resource is: at one server, or at whichever of several has it.
enum Source<'a> {
    One(&'a Client),
    Several(&'a MultiServer),
}

impl Source<'_> {
    async fn subscribe(&self, uri: &str) -> trunkline::Result<RawJson> {
        let params = Some(RawJson::parse(Object::default().text("uri", uri).finish())?);
        match self {
            Self::One(client) => client.request("resources/subscribe", params).await,
            Self::Several(all) => Box::pin(all.request("resources/subscribe", params, &CallContext::new())).await,
        }
    }

    async fn read(&self, uri: &str) -> trunkline::Result<ReadResult> {
        match self {
            Self::One(client) => client.read_resource_contents(uri).await,
            Self::Several(all) => all.read_resource(uri, &CallContext::new()).await,
        }
    }

    fn events(&self) -> Events {
        match self {
            Self::One(client) => client.events(),
            Self::Several(all) => all.events(),
        }
    }
}

impl Watch {
    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        servers.ensure_any()?;
        let source = match (&self.args.from, servers.clients()) {
            (Some(label), _) => Source::One(servers.client(label)?),
            (None, [only]) => Source::One(only),
            _ => Source::Several(servers.all()),
        };
        let spinner = Spinner::start(screen, "connecting").telling(servers);
        let mut events = source.events();
        source.subscribe(&self.args.uri).await.map_err(|error| {
            let refuses = error.code() == Some(-32601) || error.kind() == ErrorKind::Unsupported;
            let failure = Failure::from(error);
            match refuses {
                true => failure.with_exit(Exit::Usage).hint(NO_NEWS),
                false => failure,
            }
        })?;
        drop(spinner);
        screen.note(&format!("watching {}", escape::line(&self.args.uri)));
        if self.args.read {
            self.show(&source, &self.args.uri, screen).await?;
        }
        let mut left = self.args.count;
        while let Some(event) = events.next().await {
            if self.changed(event, &source, servers, screen).await? {
                left = left.map(|left| left - 1);
                if left == Some(0) {
                    break;
                }
            }
        }
        Ok(Exit::Done)
    }

    /// Minds one event; whether it was a change.
    async fn changed(&self, event: Event, source: &Source<'_>, servers: &Servers, screen: &Screen) -> Outcome<bool> {
        match event.kind {
            EventKind::ResourceUpdated { uri } => {
                self.tell(source, &uri, screen).await?;
                return Ok(true);
            }
            EventKind::Failed(error) => {
                let client = match source {
                    Source::One(client) => client,
                    Source::Several(_) => servers.client(&event.server)?,
                };
                screen.note(&list::dead(&error));
                again(client).await;
                screen.note(&format!("{} runs again", escape::line(client.label())));
                if self.args.read {
                    self.show(source, &self.args.uri, screen).await?; // it may have changed meanwhile
                }
            }
            EventKind::Lagged(lost) => screen.note(&format!("(missed {lost} events)")),
            _ => {}
        }
        Ok(false)
    }

    async fn tell(&self, source: &Source<'_>, uri: &str, screen: &Screen) -> Outcome {
        match (self.args.read, screen.json) {
            (true, _) => self.show(source, uri, screen).await,
            (false, true) => Ok(screen.print_exact(Object::default().text("uri", uri).finish().as_bytes())?),
            (false, false) => Ok(screen.print(&escape::line(uri))?),
        }
    }

    /// Prints what the resource holds now.
    async fn show(&self, source: &Source<'_>, uri: &str, screen: &Screen) -> Outcome {
        let result = source.read(uri).await?;
        if screen.json {
            let line = Object::default().text("uri", uri).raw("result", result.raw()).finish();
            return Ok(screen.print_exact(line.as_bytes())?);
        }
        let sink = Sink { dir: None, option: "use trunkline read -o FILE" };
        let each: Outcome<Vec<_>> =
            result.contents().iter().map(|contents| content::contents(contents, sink)).collect();
        Ok(screen.print(&each?.join("\n"))?)
    }
}

/// Connects until it works; what was watched is asked for again on the way.
async fn again(client: &Client) {
    let [mut rest, longest] = REST;
    while client.connect().await.is_err() {
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(longest);
    }
}
