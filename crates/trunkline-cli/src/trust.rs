//! Project files that nobody has agreed to: what they would start is shown, the person at the terminal is asked, and
//! everybody else is told which command to run.

use std::io::{IsTerminal as _, Write as _};

use trunkline::{Environment, TrustStore, Untrusted};

use crate::exit::{Failure, Outcome};
use crate::render::{RED, Screen, entry, escape, paint};

/// The failure that says what to do.
pub(crate) fn missing(files: &[Untrusted]) -> Failure {
    let told: Vec<_> = files.iter().map(ToString::to_string).collect();
    let hint = format!("Look at what it would start and contact; if you agree, run: {}", command(files));
    Failure::not_trusted(told.join("; ")).hint(hint)
}

/// The command line that gives trust.
pub(crate) fn command<'a>(files: impl IntoIterator<Item = &'a Untrusted>) -> String {
    let files = files.into_iter().map(|file| entry::word(&file.file.display().to_string()));
    format!("trunkline trust {}", files.collect::<Vec<_>>().join(" "))
}

/// What a file would start and contact.
pub(crate) fn shown(file: &Untrusted) -> Outcome<String> {
    let config = file.config()?;
    let mut out: Vec<_> = config.entries().iter().map(|entry| entry::described(entry, &entry.in_full())).collect();
    let problem =
        |problem: &trunkline::Problem| format!("{} {}\n", paint(RED, "problem"), escape::line(&problem.to_string()));
    out.extend(config.problems().iter().map(problem));
    Ok(out.join("\n"))
}

/// Whether there is a person who can be asked.
pub(crate) fn is_somebody_there(screen: &Screen) -> bool {
    !screen.json && !screen.quiet && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks about each of the files, where somebody is there; whether trust was given to any. An answer that is no yes is
/// a no.
pub(crate) fn is_given(files: &[Untrusted], environment: &Environment, screen: &Screen) -> Outcome<bool> {
    let mut given = false;
    if !is_somebody_there(screen) {
        return Ok(given);
    }
    for file in files {
        screen.report(&format!("{}\n", shown(file)?));
        if agrees(file) {
            TrustStore::of(environment)?.grant(file)?;
            given = true;
        }
    }
    Ok(given)
}

/// Asks about one file.
pub(crate) fn agrees(file: &Untrusted) -> bool {
    let name = escape::line(&file.file.display().to_string());
    let changed = if file.changed { "It has changed since it was trusted. " } else { "" };
    let mut err = std::io::stderr().lock();
    // without a stream there is no answer either
    let _ = write!(err, "{changed}Trust {name}, as long as it stays as it is? [y/N] ");
    let _ = err.flush();
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}
