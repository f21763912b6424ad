//! `trunkline list`: asks all servers at once and shows what is there, with a line for each that is missing.

use std::time::Duration;

use trunkline::{
    CallContext, Error, Limits, MultiServer, Outcome as Listed, Prompt, Resource, ResourceTemplate, ServerListing,
    ToolDefinition,
};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::json::{Object, array};
use crate::render::list::{self, Style};
use crate::render::{Screen, error};
use crate::servers::Servers;

/// As good as no limit.
const LONG: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct List {
    args: args::List,
    strict: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
struct Kinds {
    tools: bool,
    resources: bool,
    templates: bool,
    prompts: bool,
}

/// What one server offers, as far as it was asked for, and what went wrong.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) server: String,
    pub(crate) tools: Option<Vec<ToolDefinition>>,
    pub(crate) resources: Option<Vec<Resource>>,
    pub(crate) templates: Option<Vec<ResourceTemplate>>,
    pub(crate) prompts: Option<Vec<Prompt>>,
    pub(crate) pending: bool,
    pub(crate) failure: Option<Error>,
}

impl Offer {
    fn take<T>(&mut self, outcome: Listed<T>) -> Option<Vec<T>> {
        match outcome {
            Listed::Ready(items) => Some(items),
            Listed::Pending => {
                self.pending = true;
                None
            }
            Listed::Failed(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }

    /// Whether there is anything to show of it.
    pub(crate) fn is_ready(&self) -> bool {
        self.tools.is_some() || self.resources.is_some() || self.templates.is_some() || self.prompts.is_some()
    }

    fn status(&self) -> &'static str {
        match () {
            () if self.is_ready() => "ready",
            () if self.failure.is_some() => "failed",
            () => "starting",
        }
    }
}

impl List {
    pub(crate) fn new(args: args::List, strict: bool) -> Self {
        Self { args, strict }
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        if servers.config.problems().is_empty() {
            servers.ensure_any()?;
        }
        let multi = servers.chosen(&self.args.servers, Limits { settle: self.patience(), ..Limits::default() })?;
        let count = multi.members().len();
        let waiting =
            if count == 1 { "waiting for 1 server".to_owned() } else { format!("waiting for {count} servers") };
        let spinner = Spinner::start(screen, waiting).telling(servers);
        let offers = gather(&multi, self.kinds()).await;
        for offer in &offers {
            offer.tools.iter().for_each(|tools| servers.keep(&offer.server, tools.iter()));
        }
        drop(spinner);
        if screen.json {
            screen.print_exact(self.machine(&offers, servers).as_bytes())?;
        } else {
            self.show(&offers, servers, screen)?;
        }
        self.verdict(&offers, servers)
    }

    fn kinds(&self) -> Kinds {
        let args = &self.args;
        let (all, some) = (args.all, args.resources || args.templates || args.prompts);
        Kinds {
            tools: all || !some,
            resources: all || args.resources,
            templates: all || args.templates,
            prompts: all || args.prompts,
        }
    }

    /// How long to wait for the rest once a server has answered.
    fn patience(&self) -> Duration {
        match self.args.wait {
            Some(Some(time)) => time,
            Some(None) => LONG,
            None if self.strict => LONG,
            None => Limits::default().settle,
        }
    }

    /// Problems of the config that concern what was asked for.
    fn problems<'a>(&'a self, servers: &'a Servers) -> impl Iterator<Item = Error> + 'a {
        let all = self.args.servers.is_empty();
        servers.config.problems().iter().filter(move |_| all).map(|problem| problem.to_error())
    }

    fn show(&self, offers: &[Offer], servers: &Servers, screen: &Screen) -> Outcome {
        let kinds = self.kinds();
        let several =
            [kinds.tools, kinds.resources, kinds.templates, kinds.prompts].iter().filter(|on| **on).count() > 1;
        let style = Style { brief: self.args.brief, schema: self.args.schema, headed: several, width: screen.width() };
        let shown: Vec<_> =
            offers.iter().filter(|offer| offer.is_ready()).map(|offer| list::server(offer, style)).collect();
        screen.print(&shown.join(if self.args.brief { "" } else { "\n" }))?;
        for problem in self.problems(servers) {
            screen.report(&list::dead(&problem));
        }
        for offer in offers {
            match &offer.failure {
                Some(error) => screen.report(&list::dead(error)),
                None if offer.pending => screen.report(&list::starting(&offer.server)),
                None => {}
            }
            let report = servers.client(&offer.server)?.lock_report();
            if let Some(report) = report.filter(|report| !report.is_clean()) {
                screen.report(&crate::render::lock::not_called(&report));
            }
        }
        screen.note(&list::summary(offers, self.problems(servers).count()));
        Ok(())
    }

    fn machine(&self, offers: &[Offer], servers: &Servers) -> String {
        let failures = self.problems(servers).chain(offers.iter().filter_map(|offer| offer.failure.clone()));
        let failures = failures.map(|failure| error::object(failure.kind().as_str(), &failure));
        let listed = offers.iter().map(|offer| offered(offer, servers));
        let disabled = servers.config.entries().iter().filter(|entry| entry.disabled() && self.args.servers.is_empty());
        let disabled = disabled.map(|entry| {
            Object::default().text("label", entry.label()).text("status", "disabled").raw("tools", "[]").finish()
        });
        Object::default().raw("servers", array(listed.chain(disabled))).raw("failures", array(failures)).finish()
    }

    /// Whether this was a success: it was, unless a server is missing that had to be there, or all are.
    fn verdict(&self, offers: &[Offer], servers: &Servers) -> Outcome<Exit> {
        let is_required = |label: &str| servers.config.entry(label).is_some_and(|entry| entry.required());
        let missing = |offer: &&Offer| offer.failure.is_some() || offer.pending;
        let problems = self.problems(servers).count();
        let strictly = self.strict && (problems > 0 || offers.iter().any(|offer| missing(&offer)));
        let required = offers.iter().filter(missing).any(|offer| is_required(&offer.server));
        if strictly || required {
            return Err(Failure::told(Exit::ServerMissing));
        }
        if offers.iter().any(|offer| offer.is_ready() || offer.pending) {
            return Ok(Exit::Done);
        }
        let failure = offers.iter().find_map(|offer| offer.failure.clone()).or_else(|| self.problems(servers).next());
        Err(Failure::told(failure.as_ref().map_or(Exit::Usage, Exit::of_error)))
    }
}

async fn gather(multi: &MultiServer, kinds: Kinds) -> Vec<Offer> {
    let cx = CallContext::new();
    let (tools, resources, templates, prompts) = tokio::join!(
        asked(kinds.tools, multi.tools_by_server(&cx)),
        asked(kinds.resources, multi.resources_by_server(&cx)),
        asked(kinds.templates, multi.templates_by_server(&cx)),
        asked(kinds.prompts, multi.prompts_by_server(&cx)),
    );
    let labels = multi.members().into_iter().map(|member| member.label);
    let mut offers: Vec<_> = labels.map(|server| Offer { server, ..Offer::default() }).collect();
    for (offer, listing) in offers.iter_mut().zip(tools) {
        offer.tools = offer.take(listing.outcome);
    }
    for (offer, listing) in offers.iter_mut().zip(resources) {
        offer.resources = offer.take(listing.outcome);
    }
    for (offer, listing) in offers.iter_mut().zip(templates) {
        offer.templates = offer.take(listing.outcome);
    }
    for (offer, listing) in offers.iter_mut().zip(prompts) {
        offer.prompts = offer.take(listing.outcome);
    }
    offers
}

async fn asked<T>(wanted: bool, listing: impl Future<Output = Vec<ServerListing<T>>>) -> Vec<ServerListing<T>> {
    if wanted { listing.await } else { Vec::new() }
}

/// One server for machines: entries as the server sent them, with the exposed name beside.
fn offered(offer: &Offer, servers: &Servers) -> String {
    let multi = servers.all();
    let exposed = |name: &str| serde_json::Value::from(multi.exposed_name(&offer.server, name));
    let tools = offer.tools.iter().flatten();
    let tools = tools.map(|tool| tool.clone().with("exposedName", exposed(tool.name())).raw().to_string());
    let mut out = Object::default().text("label", &offer.server).text("status", offer.status());
    out = out.raw("tools", array(tools));
    if let Some(resources) = &offer.resources {
        out = out.raw("resources", array(resources.iter().map(|resource| resource.raw().to_string())));
    }
    if let Some(templates) = &offer.templates {
        out = out.raw("resourceTemplates", array(templates.iter().map(|template| template.raw().to_string())));
    }
    if let Some(prompts) = &offer.prompts {
        let prompts = prompts.iter();
        let prompts =
            prompts.map(|prompt| prompt.clone().with("exposedName", exposed(prompt.name())).raw().to_string());
        out = out.raw("prompts", array(prompts));
    }
    if let Some(report) = servers.client(&offer.server).ok().and_then(|client| client.lock_report()) {
        out = out.raw("notApproved", array(report.different().map(crate::render::lock::tool)));
    }
    out.finish()
}
