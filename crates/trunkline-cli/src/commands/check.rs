//! `trunkline check`: takes each server through its stages (config, variables, command and start or the stages of HTTP,
//! handshake, capabilities, lists), measures them, and names one fix for what failed. How it is shown is left to
//! `render::check`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use trunkline::{Client, Entry, Error, EventKind, Events, Problem, ServerSpec, StdioSpec, TransportSpec};

use super::oddities::{self, Finding};
use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::json::{Object, array};
use crate::render::{Screen, check as render};
use crate::servers::Servers;
use crate::verbose::{Moments, Passed};

/// How many servers are examined at once.
const AT_ONCE: usize = 8;

pub(crate) struct Check {
    args: args::Check,
}

/// How a stage ended.
pub(crate) enum Mark {
    Ok,
    Fail(Box<Error>),
}

/// One stage.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) mark: Mark,
    /// How long it took, where that could be measured.
    pub(crate) time: Option<Duration>,
    pub(crate) detail: String,
}

/// What was found out about one server.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) server: String,
    pub(crate) stages: Vec<Stage>,
    /// What is odd, though it works.
    pub(crate) findings: Vec<Finding>,
    /// The names of its tools.
    tools: Vec<String>,
}

impl Report {
    fn new(server: &str) -> Self {
        Self { server: server.to_owned(), ..Self::default() }
    }

    fn ok(&mut self, name: &'static str, time: Option<Duration>, detail: impl Into<String>) {
        self.stages.push(Stage { name, mark: Mark::Ok, time, detail: detail.into() });
    }

    fn fail(&mut self, name: &'static str, time: Option<Duration>, error: Error) {
        self.stages.push(Stage { name, mark: Mark::Fail(Box::new(error)), time, detail: String::new() });
    }

    pub(crate) fn failure(&self) -> Option<&Error> {
        self.stages.iter().find_map(|stage| match &stage.mark {
            Mark::Fail(error) => Some(&**error),
            Mark::Ok => None,
        })
    }
}

impl Check {
    pub(crate) fn new(args: args::Check) -> Self {
        Self { args }
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        if servers.config.problems().is_empty() {
            servers.ensure_any()?;
        }
        let clients = self.clients(servers)?;
        let mut reports: Vec<Report> = self.problems(servers).map(of_problem).collect();
        let mut spinner = Some(Spinner::start(screen, "checking"));
        for report in &reports {
            self.show(report, screen)?;
        }
        let mut names = Vec::new();
        let all = futures_util::stream::iter(clients.iter().map(|client| examine(client, servers)));
        let mut all = std::pin::pin!(all.buffered(AT_ONCE));
        while let Some(mut report) = all.next().await {
            drop(spinner.take());
            look_alikes(&mut report, &mut names);
            self.show(&report, screen)?;
            reports.push(report);
            spinner = Some(Spinner::start(screen, "checking"));
        }
        drop(spinner);
        if screen.json {
            let reports = reports.iter().map(machine);
            screen.print_exact(Object::default().raw("servers", array(reports)).finish().as_bytes())?;
        } else {
            screen.note(&render::summary(&reports));
        }
        match reports.iter().find_map(Report::failure) {
            Some(error) => Err(Failure::told(Exit::of_error(error))),
            None => Ok(Exit::Done),
        }
    }

    fn clients<'a>(&self, servers: &'a Servers) -> Outcome<Vec<&'a Client>> {
        let problems: Vec<_> = self.problems(servers).filter_map(Problem::label).collect();
        let named = self.args.servers.iter().filter(|label| !problems.contains(&label.as_str()));
        let named: Outcome<Vec<_>> = named.map(|label| servers.client(label)).collect();
        if self.args.servers.is_empty() { Ok(servers.clients().iter().collect()) } else { named }
    }

    fn problems<'a>(&'a self, servers: &'a Servers) -> impl Iterator<Item = &'a Problem> {
        let named = &self.args.servers;
        let counts = |problem: &&Problem| {
            named.is_empty() || problem.label().is_some_and(|label| named.iter().any(|name| name == label))
        };
        servers.config.problems().iter().filter(counts)
    }

    fn show(&self, report: &Report, screen: &Screen) -> Outcome {
        if !screen.json {
            screen.print(&render::report(report))?;
        }
        Ok(())
    }
}

fn of_problem(problem: &Problem) -> Report {
    let file = problem.origin().file.display().to_string();
    let mut report = Report::new(problem.label().unwrap_or(&file));
    report.fail("config", None, problem.to_error());
    report
}

/// Takes one server through all stages, up to the first that fails.
async fn examine(client: &Client, servers: &Servers) -> Report {
    let mut report = Report::new(client.label());
    if let Some(entry) = servers.config.entry(client.label()) {
        // else it is recorded: nothing is started
        let warnings = servers.config.warnings().iter().filter(|warning| warning.label() == Some(entry.label()));
        let told = warnings.map(|warning| format!("config: {} ({})", warning.reason(), warning.origin()));
        report.findings.extend(told.map(|told| Finding::new("config", told)));
        let Some(spec) = resolve(entry, servers, &mut report) else { return report };
        find_command(&spec, &mut report);
    }
    let events = client.events();
    if !connect(client, &servers.moments, &mut report).await {
        return report;
    }
    let started = report.stages.iter().map(|stage| stage.time.unwrap_or_default().as_secs_f64()).sum();
    report.findings.extend(oddities::of_start(started, &said_at_start(events).await));
    lists(client, servers, &mut report).await;
    report.findings.extend(client.warnings().into_iter().map(|told| Finding::new("put-up-with", told)));
    report.findings.extend(client.stray_output().map(|told| Finding::new("stdout-noise", told)));
    report
}

/// What the server wrote on its standard error until it was ready.
async fn said_at_start(mut events: Events) -> Vec<String> {
    let mut said = Vec::new();
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::Stderr(line) => said.push(line),
            EventKind::Ready | EventKind::Failed(_) | EventKind::Closed => break,
            _ => {}
        }
    }
    said
}

/// Compares the names of a server's tools with those that were seen before, and adds them.
fn look_alikes(report: &mut Report, names: &mut Vec<(String, String)>) {
    names.extend(report.tools.iter().map(|name| (report.server.clone(), name.clone())));
    let found = report.tools.iter().filter_map(|name| oddities::look_alikes(&report.server, name, names));
    report.findings.extend(found);
}

fn resolve(entry: &Entry, servers: &Servers, report: &mut Report) -> Option<ServerSpec> {
    let origin = entry.origin();
    let from_file = origin.is_in_file();
    report.ok(
        "config",
        from_file.then_some(servers.reading),
        if from_file { origin.to_string() } else { "from the command line".to_owned() },
    );
    let begun = Instant::now();
    match entry.resolve(&servers.environment) {
        Ok(spec) => {
            report.ok("variables", Some(begun.elapsed()), "");
            Some(spec)
        }
        Err(error) => {
            report.fail("variables", Some(begun.elapsed()), error);
            None
        }
    }
}

/// Looks for the command where it will be looked for when it is started. A miss is left to the start, whose error
/// knows more.
fn find_command(spec: &ServerSpec, report: &mut Report) {
    let begun = Instant::now();
    match &spec.transport {
        TransportSpec::Stdio(stdio) => {
            if let Some(path) = program(stdio) {
                report.ok("command", Some(begun.elapsed()), path.display().to_string());
            }
        }
        _ => report.ok("address", None, spec.target()),
    }
}

/// Where the program is.
fn program(stdio: &StdioSpec) -> Option<PathBuf> {
    let is_program = |path: &Path| path.is_file();
    if stdio.command.components().count() > 1 {
        let base = stdio.cwd.clone().unwrap_or_default();
        return Some(base.join(&stdio.command)).filter(|path| is_program(path));
    }
    let path = stdio.path()?;
    std::env::split_paths(path).map(|dir| dir.join(&stdio.command)).find(|path| is_program(path))
}

async fn connect(client: &Client, moments: &Moments, report: &mut Report) -> bool {
    let begun = Instant::now();
    let outcome = client.connect().await;
    let all = begun.elapsed();
    let way = moments.of(client.label());
    let http = report.stages.iter().any(|stage| stage.name == "address");
    let reached = if http { passed(&way.passed, begun, report) } else { way.first };
    let start = reached.map(|at| at.saturating_duration_since(begun));
    let rest = start.map_or(all, |start| all.saturating_sub(start));
    match outcome {
        Ok(()) if http => {}
        Ok(()) => report.ok("start", start, ""),
        Err(error) if http => {
            let stage = STAGES.iter().find(|stage| error.get("stage") == Some(stage));
            // a status that is no success was passed on the way, and is what failed
            report.stages.retain(|passed| stage.is_none_or(|stage| passed.name != *stage));
            let other = if error.kind() == trunkline::ErrorKind::Auth { "login" } else { "handshake" };
            report.fail(stage.copied().unwrap_or(other), Some(rest), error);
            return false;
        }
        Err(error) if start.is_some() => {
            report.ok("start", start, "");
            report.fail("handshake", Some(rest), error);
            return false;
        }
        Err(error) => {
            let found = report.stages.iter().any(|stage| stage.name == "command");
            report.fail(if found { "start" } else { "command" }, Some(all), error);
            return false;
        }
    }
    match client.info().await {
        Ok(info) => {
            let revision = info.protocol_version().unwrap_or_default();
            let name = format!("{} {}", info.name(), info.version());
            report.ok("handshake", Some(rest), format!("{}, protocol {revision}", name.trim()));
            let mut names: Vec<_> = info.capabilities().members().map(|(name, _)| name).collect();
            names.sort_unstable();
            report.ok("capabilities", None, if names.is_empty() { "none".to_owned() } else { names.join(", ") });
            report.findings.extend(oddities::of_text("the instructions", info.instructions().as_deref()));
            true
        }
        Err(error) => {
            report.fail("handshake", Some(rest), error);
            false
        }
    }
}

/// The stages of an HTTP request, in their order.
const STAGES: [&str; 9] =
    ["name", "connect", "proxy", "TLS", "connection", "status", "redirect", "content type", "endpoint"];

/// Reports the stages that were passed, each once; when the last of them was.
fn passed(way: &[Passed], begun: Instant, report: &mut Report) -> Option<Instant> {
    let mut last = begun;
    for stage in STAGES {
        let Some(passed) = way.iter().find(|passed| passed.stage == stage) else { continue };
        report.ok(stage, Some(passed.at.saturating_duration_since(last)), passed.detail.clone());
        last = last.max(passed.at);
    }
    (last > begun).then_some(last)
}

async fn lists(client: &Client, servers: &Servers, report: &mut Report) {
    let begun = Instant::now();
    match client.list_tools().await {
        Ok(tools) => {
            report.ok("tools", Some(begun.elapsed()), tools.len().to_string());
            for tool in &tools {
                let exposed = servers.all().exposed_name(client.label(), tool.wire_name());
                report.findings.extend(oddities::of_tool(tool, &exposed));
                report.tools.push(tool.wire_name().to_owned());
            }
        }
        Err(error) => report.fail("tools", Some(begun.elapsed()), error),
    }
    let Ok(info) = client.info().await else { return };
    if info.offers("resources") {
        let begun = Instant::now();
        match client.list_resources().await {
            Ok(list) => report.ok("resources", Some(begun.elapsed()), list.len().to_string()),
            Err(error) => report.fail("resources", Some(begun.elapsed()), error),
        }
        let begun = Instant::now();
        match client.list_resource_templates().await {
            Ok(list) => report.ok("templates", Some(begun.elapsed()), list.len().to_string()),
            // an old server may not know them
            Err(error) if error.code() == Some(-32601) => report.ok("templates", Some(begun.elapsed()), "none"),
            Err(error) => report.fail("templates", Some(begun.elapsed()), error),
        }
    }
    if info.offers("prompts") {
        let begun = Instant::now();
        match client.list_prompts().await {
            Ok(list) => {
                report.ok("prompts", Some(begun.elapsed()), list.len().to_string());
                report.findings.extend(list.iter().flat_map(oddities::of_prompt));
            }
            Err(error) => report.fail("prompts", Some(begun.elapsed()), error),
        }
    }
}

fn machine(report: &Report) -> String {
    let stages = report.stages.iter().map(|stage| {
        let out = Object::default().text("stage", stage.name);
        let out = match &stage.mark {
            Mark::Ok => out.text("status", "ok"),
            Mark::Fail(error) => {
                let told = crate::render::error::object(error.kind().as_str(), error);
                out.text("status", "failed").raw("error", told)
            }
        };
        let out = match stage.time {
            Some(time) => out.raw("ms", format!("{:.3}", time.as_secs_f64() * 1000.0)),
            None => out,
        };
        out.maybe("detail", Some(stage.detail.as_str()).filter(|detail| !detail.is_empty())).finish()
    });
    let findings = report
        .findings
        .iter()
        .map(|finding| Object::default().text("id", finding.id).text("message", &finding.text).finish());
    let out = Object::default().text("label", &report.server).raw("ok", report.failure().is_none());
    out.raw("stages", array(stages)).raw("findings", array(findings)).finish()
}
