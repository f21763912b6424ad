//! `trunkline complete`: what a server offers to go on with, one value a line.

use trunkline::{Client, Completion, CompletionQuery};

use super::prompt;
use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::{Screen, escape};
use crate::servers::Servers;

pub(crate) struct Complete {
    args: args::Complete,
    given: Vec<(String, String)>,
}

impl Complete {
    pub(crate) fn new(args: args::Complete) -> Outcome<Self> {
        let pair = |text: &String| match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(Failure::usage(format!("\"{text}\", given by --given, is not of the form key=value"))),
        };
        let given: Outcome<_> = args.given.iter().map(pair).collect();
        Ok(Self { given: given?, args })
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let spinner = Spinner::start(screen, "asking").telling(servers);
        let completion = self.asked(servers).await?;
        drop(spinner);
        if screen.json {
            screen.print_exact(completion.raw().as_bytes())?;
            return Ok(Exit::Done);
        }
        let values: Vec<_> = completion.values().iter().map(|value| escape::line(value)).collect();
        screen.print(&values.join("\n"))?;
        match completion.total() {
            Some(total) if completion.has_more() => {
                screen.note(&format!("(the first {} of {total}; write more of it)", values.len()));
            }
            _ if completion.has_more() => screen.note("(there are more; write more of it)"),
            _ => {}
        }
        Ok(Exit::Done)
    }

    async fn asked(&self, servers: &Servers) -> Outcome<Completion> {
        let args = &self.args;
        if !is_template(&args.reference) {
            let (client, prompt) = match &args.from {
                Some(label) => prompt::of_server(servers.client(label)?, &args.reference).await?,
                None => prompt::find(servers, &args.reference).await?,
            };
            return Ok(client.complete(&self.query(CompletionQuery::prompt, prompt.name())).await?);
        }
        let query = self.query(CompletionQuery::template, &args.reference);
        servers.ensure_any()?;
        let only: Option<&Client> = match (&args.from, servers.clients()) {
            (Some(label), _) => Some(servers.client(label)?),
            (None, [only]) => Some(only),
            _ => None,
        };
        Ok(match only {
            Some(client) => client.complete(&query).await?,
            None => servers.all().complete(&query).await?,
        })
    }

    fn query(&self, of: fn(&str, &str, &str) -> CompletionQuery, reference: &str) -> CompletionQuery {
        let query = of(reference, &self.args.argument, &self.args.prefix);
        self.given.iter().fold(query, |query, (name, value)| query.given(name, value))
    }
}

/// A name has no braces, and no scheme.
pub(super) fn is_template(reference: &str) -> bool {
    reference.contains('{') || reference.contains("://")
}
