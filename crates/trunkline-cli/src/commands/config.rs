//! `trunkline config`: what the config files come to, and which project files aren't trusted. Starts no server and
//! shows no secret.

use std::path::Path;

use trunkline::{Config, Environment, Problem};

use crate::args::Global;
use crate::exit::{Exit, Outcome};
use crate::render::json::{Object, array, quote};
use crate::render::{CYAN, DIM, RED, Screen, YELLOW, entry, escape, paint};
use crate::{servers, trust};

pub(crate) fn run(global: &Global, screen: &Screen) -> Outcome<Exit> {
    let environment = Environment::from_process();
    let config = servers::read_config(global, &[], &environment)?;
    if screen.json {
        screen.print_exact(machine(&config).as_bytes())?;
    } else {
        show(&config, &environment, screen)?;
    }
    Ok(if config.problems().is_empty() { Exit::Done } else { Exit::Usage })
}

fn show(config: &Config, environment: &Environment, screen: &Screen) -> Outcome {
    let mut parts: Vec<String> =
        config.entries().iter().map(|entry| entry::described(entry, &entry.masked())).collect();
    let mut rest = Vec::new();
    for loser in config.losers() {
        let told = format!("{} in {}: {} counts", loser.label, loser.origin, loser.winner);
        rest.push(format!("{} {}", paint(DIM, "unused"), escape::line(&told)));
    }
    let fault = |style, word: &str, problem: &Problem| {
        let hint = problem.hint().map(|hint| format!(" {} {}", paint(CYAN, "hint:"), escape::line(hint)));
        format!("{} {}{}", paint(style, word), escape::line(&problem.to_string()), hint.unwrap_or_default())
    };
    rest.extend(config.warnings().iter().map(|problem| fault(YELLOW, "warning", problem)));
    rest.extend(config.problems().iter().map(|problem| fault(RED, "problem", problem)));
    for file in config.untrusted() {
        let told = format!("{file} ({})", trust::command([file]));
        rest.push(format!("{} {}", paint(YELLOW, "not trusted"), escape::line(&told)));
    }
    if !rest.is_empty() {
        parts.push(rest.join("\n") + "\n");
    }
    if !config.files().is_empty() {
        let files: Vec<_> =
            config.files().iter().map(|file| format!("  {}\n", escape::line(&file.display().to_string()))).collect();
        parts.push(format!("{}\n{}", paint(DIM, "files, the first wins"), files.concat()));
    }
    if parts.is_empty() {
        let user = environment.config_dir().map(|dir| dir.join("mcp.json").display().to_string()).unwrap_or_default();
        screen.note(&format!(
            "There is no config: no --config, no $TRUNKLINE_CONFIG, none of .mcp.json, mcp.json, .vscode/mcp.json and \
             .cursor/mcp.json here, and no {user}. Until there is, the built-in \
             server \"demo\" is used"
        ));
    }
    screen.print(&parts.join("\n"))?;
    Ok(())
}

fn machine(config: &Config) -> String {
    let path = |path: &Path| path.display().to_string();
    let entries = config.entries().iter().map(|entry| {
        let file = path(&entry.origin().file);
        let out = Object::default().text("label", entry.label());
        let out = out.maybe("file", Some(file.as_str()).filter(|file| !file.is_empty()));
        let out = out.raw("line", entry.origin().line).raw("disabled", entry.disabled());
        out.raw("entry", entry.masked()).finish()
    });
    let losers = config.losers().iter().map(|loser| {
        let out = Object::default().text("label", &loser.label);
        out.text("at", &loser.origin.to_string()).text("winner", &loser.winner.to_string()).finish()
    });
    let faults = |all: &[Problem]| {
        array(all.iter().map(|problem| {
            let out = Object::default().text("file", &path(&problem.origin().file)).raw("line", problem.origin().line);
            let out = out.maybe("server", problem.label()).text("reason", problem.reason());
            out.maybe("hint", problem.hint()).finish()
        }))
    };
    let untrusted = config.untrusted().iter().map(|file| {
        let out = Object::default().text("file", &path(&file.file)).raw("changed", file.changed);
        out.raw("servers", array(file.labels.iter().map(|label| quote(label)))).finish()
    });
    Object::default()
        .raw("files", array(config.files().iter().map(|file| quote(&path(file)))))
        .raw("entries", array(entries))
        .raw("losers", array(losers))
        .raw("problems", faults(config.problems()))
        .raw("warnings", faults(config.warnings()))
        .raw("untrusted", array(untrusted))
        .finish()
}
