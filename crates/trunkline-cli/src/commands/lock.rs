//! `trunkline lock`: agrees to the tools of servers, and compares what they offer with what was agreed to. How it is
//! shown is left to `render::lock`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trunkline::{CallContext, Error, Limits, LockFile, LockReport, Outcome as Listed, ToolDefinition};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::locks;
use crate::progress::Spinner;
use crate::render::{Screen, error, lock as render, sarif};
use crate::servers::Servers;

/// As good as no limit.
const LONG: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct Lock {
    args: args::Lock,
}

/// A server's tools, and the file they are agreed to in.
struct Offer {
    server: String,
    file: PathBuf,
    tools: Vec<ToolDefinition>,
}

/// What came of comparing, for whoever shows it.
pub(crate) struct Compared {
    /// Whether everything is as it was agreed to now.
    pub(crate) ok: bool,
    pub(crate) reports: Vec<LockReport>,
    /// The lines at which tools stand in their files.
    pub(crate) files: BTreeMap<PathBuf, LockFile>,
    /// Servers that couldn't be asked.
    pub(crate) failures: Vec<Error>,
    /// What was written.
    pub(crate) agreed: Vec<String>,
}

impl Lock {
    pub(crate) fn new(args: args::Lock) -> Self {
        Self { args }
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        servers.ensure_any()?;
        let wanted = self.wanted(servers)?;
        let labels: Vec<String> = wanted.keys().cloned().collect();
        let (offers, failures) = listed(servers, &labels, screen).await?;
        let mut files = BTreeMap::new();
        for offer in &offers {
            if !files.contains_key(&offer.file) {
                let file = if locks::is_there(&offer.file) { LockFile::open(&offer.file)? } else { LockFile::new() };
                files.insert(offer.file.clone(), file);
            }
        }
        let compare = |files: &BTreeMap<PathBuf, LockFile>| -> Vec<LockReport> {
            let report = |offer: &Offer| {
                let mut report = files[&offer.file].compare(&offer.server, &offer.tools);
                report.file = Some(offer.file.clone()); // where it will be, if it isn't yet
                report
            };
            offers.iter().map(report).collect()
        };
        let (before, old) = (compare(&files), texts(&files));
        let mut agreed = Vec::new();
        for (offer, report) in offers.iter().zip(&before) {
            let file = files.get_mut(&offer.file).expect("it was read");
            agreed.extend(self.agree(offer, report, wanted.get(&offer.server), file)?);
        }
        for (path, file) in files.iter().filter(|(path, file)| file.to_text() != old[*path]) {
            file.save(path)?;
        }
        let left = compare(&files);
        let ended = verdict(&left, &failures);
        let compared = Compared { ok: ended.is_ok(), reports: before, files, failures, agreed };
        self.show(&compared, screen)?;
        ended
    }

    /// The servers to ask, and of each the tools that are approved; none of an approved server means all.
    fn wanted(&self, servers: &Servers) -> Outcome<BTreeMap<String, Vec<String>>> {
        let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for label in &self.args.servers {
            servers.client(label)?;
            wanted.entry(label.clone()).or_default();
        }
        let mut whole = Vec::new();
        for address in &self.args.approve {
            match servers.split(address) {
                Some((label, tool)) if servers.client(address).is_err() => {
                    servers.client(label)?;
                    wanted.entry(label.to_owned()).or_default().push(tool.to_owned());
                }
                _ => {
                    servers.client(address)?;
                    whole.push(address.clone());
                }
            }
        }
        for label in whole {
            wanted.insert(label, Vec::new());
        }
        if wanted.is_empty() {
            wanted.extend(servers.clients().iter().map(|client| (client.label().to_owned(), Vec::new())));
        }
        Ok(wanted)
    }

    /// Agrees to what was asked for; the names of it.
    fn agree(
        &self,
        offer: &Offer,
        report: &LockReport,
        named: Option<&Vec<String>>,
        file: &mut LockFile,
    ) -> Outcome<Vec<String>> {
        let server = &offer.server;
        if self.args.check {
            return Ok(Vec::new());
        }
        if self.args.approve.is_empty() {
            if report.pinned {
                return Ok(Vec::new()); // what changed is agreed to by name alone
            }
            file.pin(server, &offer.tools);
            return Ok(offer.tools.iter().map(|tool| format!("{server}.{}", tool.name())).collect());
        }
        let named = named.filter(|tools| !tools.is_empty());
        let Some(named) = named else {
            file.pin(server, &offer.tools);
            return Ok(report.different().map(|tool| format!("{server}.{}", tool.tool)).collect());
        };
        for name in named {
            match offer.tools.iter().find(|tool| tool.name() == name) {
                Some(tool) => file.approve(server, tool),
                None if file.forget(server, name) => {}
                None => {
                    let names = offer.tools.iter().map(ToolDefinition::name);
                    let hint = crate::suggest::hint(name, names.collect::<Vec<_>>());
                    let failure = Failure::usage(format!("Server \"{server}\" has no tool named \"{name}\""));
                    return Err(hint.into_iter().fold(failure, Failure::hint));
                }
            }
        }
        Ok(named.iter().map(|tool| format!("{server}.{tool}")).collect())
    }

    fn show(&self, compared: &Compared, screen: &Screen) -> Outcome {
        if self.args.sarif {
            screen.print_exact(sarif::log(compared).as_bytes())?;
        } else if screen.json {
            screen.print_exact(render::machine(compared).as_bytes())?;
            return Ok(());
        } else if self.args.check {
            screen.print(&render::differences(&compared.reports))?;
            screen.note(&render::summary(&compared.reports));
        } else {
            screen.print(&render::agreed(compared))?;
            screen.note(&render::files(compared));
        }
        for failure in &compared.failures {
            screen.report(&crate::render::list::dead(failure));
        }
        Ok(())
    }
}

/// Asks the servers for their tools, and waits for all of them.
async fn listed(servers: &Servers, labels: &[String], screen: &Screen) -> Outcome<(Vec<Offer>, Vec<Error>)> {
    let mut files = BTreeMap::new();
    for label in labels {
        let file = servers.lock_file(label).ok_or_else(|| {
            Failure::usage(format!("Server \"{label}\" is from the command line: no config file has a lock beside it"))
                .hint("Say where: --lock FILE")
        })?;
        files.insert(label.clone(), file);
    }
    let multi = servers.chosen(labels, Limits { settle: LONG, ..Limits::default() })?;
    let spinner = Spinner::start(screen, "asking for tools").telling(servers);
    let listings = multi.tools_by_server(&CallContext::new()).await;
    drop(spinner);
    let (mut offers, mut failures) = (Vec::new(), Vec::new());
    for listing in listings {
        match listing.outcome {
            Listed::Ready(tools) => {
                let file = files.remove(&listing.server).expect("each has one");
                offers.push(Offer { server: listing.server, file, tools });
            }
            Listed::Failed(error) => failures.push(error),
            Listed::Pending => unreachable!("all are waited for"),
        }
    }
    Ok((offers, failures))
}

fn texts(files: &BTreeMap<PathBuf, LockFile>) -> BTreeMap<PathBuf, String> {
    files.iter().map(|(path, file)| (path.clone(), file.to_text())).collect()
}

fn verdict(left: &[LockReport], failures: &[Error]) -> Outcome<Exit> {
    if left.iter().any(|report| !report.is_clean()) {
        return Err(Failure::told(Exit::NotTrusted));
    }
    match failures.first() {
        Some(error) => Err(Failure::told(Exit::of_error(error))),
        None => Ok(Exit::Done),
    }
}

/// A path as it is shown: relative to here where it is below.
pub(crate) fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| path.strip_prefix(here).map(Path::to_owned).ok());
    short.as_deref().unwrap_or(path).display().to_string()
}

/// The failures as machines read them.
pub(crate) fn failures(compared: &Compared) -> Vec<String> {
    compared.failures.iter().map(|failure| error::object(failure.kind().as_str(), failure)).collect()
}
