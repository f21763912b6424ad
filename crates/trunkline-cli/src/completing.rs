//! What a shell is told on TAB: labels, tools and arguments, from the config and from what servers offered last. Starts
//! no server.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory as _};
use clap_complete::CompletionCandidate;
use clap_complete::env::CompleteEnv;
use trunkline::{Config, Entry, Environment};

use crate::args::Cli;
use crate::catalogue;

/// The variable by which a shell's script asks.
pub(crate) const VARIABLE: &str = "COMPLETE";

/// Answers a shell; whether this was one that asked.
pub(crate) fn answered() -> bool {
    let asked = CompleteEnv::with_factory(Cli::command).var(VARIABLE).completer("trunkline");
    asked.try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref()).unwrap_or(true)
}

/// The command line so far, and the config that it means.
struct Line {
    matches: Option<ArgMatches>,
    config: Config,
    environment: Environment,
}

impl Line {
    fn read() -> Option<Self> {
        let words: Vec<_> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
        let matches = Cli::command().ignore_errors(true).try_get_matches_from(words).ok();
        let named: Vec<PathBuf> = matches
            .as_ref()
            .and_then(|matches| matches.get_many::<PathBuf>("config"))
            .map(|files| files.cloned().collect())
            .unwrap_or_default();
        let environment = Environment::from_process();
        let config = Config::discover(&named, &environment).ok()?;
        Some(Self { matches, config, environment })
    }

    fn labels(&self) -> Vec<&str> {
        let enabled = self.config.entries().iter().filter(|entry| !entry.disabled());
        let labels: Vec<_> = enabled.map(Entry::label).collect();
        let is_bare = self.config.files().is_empty() && self.config.entries().is_empty();
        if is_bare { vec!["demo"] } else { labels }
    }

    fn tools(&self, label: &str) -> Vec<catalogue::Known> {
        catalogue::tools(label, &self.config, &self.environment)
    }
}

fn candidates(all: impl IntoIterator<Item = String>, current: &OsStr) -> Vec<CompletionCandidate> {
    let begun = current.to_string_lossy();
    // a name that would act on a terminal is not one to be typed
    let fits = |word: &String| word.starts_with(&*begun) && trunkline::display::line(word) == *word;
    all.into_iter().filter(fits).map(CompletionCandidate::new).collect()
}

/// Labels of servers.
pub(crate) fn servers(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(line) = Line::read() else { return Vec::new() };
    candidates(line.labels().into_iter().map(str::to_owned), current)
}

/// `SERVER.TOOL` of every server whose tools are known; `SERVER.` of the others.
pub(crate) fn tools(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(line) = Line::read() else { return Vec::new() };
    let mut all = Vec::new();
    for label in line.labels() {
        let known = line.tools(label);
        match known.is_empty() {
            true => all.push(format!("{label}.")),
            false => all.extend(known.iter().map(|tool| format!("{label}.{}", tool.name))),
        }
    }
    candidates(all, current)
}

/// `ARGUMENT=` for each that the tool of the command line takes.
pub(crate) fn arguments(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(line) = Line::read() else { return Vec::new() };
    let call = line.matches.as_ref().and_then(|matches| matches.subcommand_matches("call"));
    let Some(address) = call.and_then(|call| call.get_one::<String>("tool")) else { return Vec::new() };
    let of_label = |label: &&str| address.strip_prefix(*label).is_some_and(|rest| rest.starts_with('.'));
    let Some(label) = line.labels().into_iter().filter(of_label).max_by_key(|label| label.len()) else {
        return Vec::new();
    };
    let tools = line.tools(label);
    let tool = tools.iter().find(|tool| tool.name == address[label.len() + 1..]);
    candidates(tool.iter().flat_map(|tool| &tool.arguments).map(|name| format!("{name}=")), current)
}
