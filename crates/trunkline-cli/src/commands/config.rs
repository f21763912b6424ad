//! `trunkline config`: what the config files come to, and which project files are trusted. Starts no server and
//! shows no secret.

use std::path::Path;

use serde_json::Value;
use trunkline::{Config, Entry, Environment, Problem, TrustStore};

use crate::args::{self, ConfigAction, Global};
use crate::exit::{Exit, Failure, Outcome};
use crate::render::json::{Object, array, quote};
use crate::render::{BOLD, CYAN, DIM, RED, Screen, YELLOW, escape, paint};
use crate::servers;

pub(crate) fn run(args: args::Config, global: &Global, screen: &Screen) -> Outcome<Exit> {
    let environment = Environment::from_process();
    match args.action {
        Some(ConfigAction::Trust { file }) => trust(&file, &environment, screen),
        Some(ConfigAction::Untrust { file }) => untrust(&file, &environment, screen),
        None => {
            let config = servers::read_config(global, &[], &environment)?;
            if screen.json {
                screen.print_exact(machine(&config).as_bytes())?;
            } else {
                show(&config, &environment, screen)?;
            }
            Ok(if config.problems().is_empty() { Exit::Done } else { Exit::Usage })
        }
    }
}

fn trust(file: &Path, environment: &Environment, screen: &Screen) -> Outcome<Exit> {
    let config = Config::from_file(file, environment)?;
    TrustStore::of(environment)?.grant(file)?;
    let entries: Vec<_> = config.entries().iter().map(described).collect();
    if screen.json {
        screen.print_exact(Object::default().text("trusted", &file.display().to_string()).finish().as_bytes())?;
    } else {
        screen.print(&format!("{}\nTrusted, as long as it stays as it is: {}", entries.join("\n"), file.display()))?;
    }
    Ok(Exit::Done)
}

fn untrust(file: &Path, environment: &Environment, screen: &Screen) -> Outcome<Exit> {
    if !TrustStore::of(environment)?.revoke(file)? {
        return Err(Failure::usage(format!("{} was not trusted", file.display())));
    }
    if screen.json {
        screen.print_exact(Object::default().text("untrusted", &file.display().to_string()).finish().as_bytes())?;
    } else {
        screen.print(&format!("No longer trusted: {}", file.display()))?;
    }
    Ok(Exit::Done)
}

fn show(config: &Config, environment: &Environment, screen: &Screen) -> Outcome {
    let mut parts: Vec<String> = config.entries().iter().map(described).collect();
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
        let told = format!("{file} (trunkline config trust {})", file.file.display());
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

/// An entry for people.
fn described(entry: &Entry) -> String {
    let origin = place(entry);
    let state = if entry.disabled() { paint(YELLOW, " switched off") } else { String::new() };
    let mut out = format!("{}{state}  {}\n", paint(BOLD, escape::line(entry.label())), paint(DIM, origin));
    let Value::Object(fields) = entry.masked() else { return out };
    let mut line = |key: &str, text: &str| {
        out.push_str(&format!("  {} {}\n", paint(DIM, format!("{key:<12}")), escape::line(text)));
    };
    if let Some(command) = fields.get("command").and_then(Value::as_str) {
        let args = fields.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<_> = std::iter::once(command).chain(args).map(word).collect();
        line("command", &words.join(" "));
    }
    for (key, value) in fields.iter().filter(|(key, _)| !["command", "args", "disabled"].contains(&key.as_str())) {
        match value {
            Value::Object(pairs) => {
                let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
                line(key, &pairs.join("  "));
            }
            Value::String(text) => line(key, text),
            Value::Number(seconds) => line(key, &format!("{} s", seconds.to_string().trim_end_matches(".0"))),
            other => line(key, &other.to_string()),
        }
    }
    out
}

fn place(entry: &Entry) -> String {
    let origin = entry.origin();
    if origin.file.as_os_str() == "<text>" { "command line".to_owned() } else { escape::line(&origin.to_string()) }
}

/// A word of a command line, quoted where it has to be.
fn word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,~*${}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn machine(config: &Config) -> String {
    let path = |path: &Path| path.display().to_string();
    let entries = config.entries().iter().map(|entry| {
        let out = Object::default().text("label", entry.label()).text("file", &path(&entry.origin().file));
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
