//! `trunkline trust` and `untrust`: the user's word on a project's config file.

use std::path::Path;

use trunkline::{Config, Environment, TrustStore, Untrusted};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::render::json::{Object, array, quote};
use crate::render::{Screen, escape};
use crate::trust;

pub(crate) fn trust(args: &args::Trust, screen: &Screen) -> Outcome<Exit> {
    let environment = Environment::from_process();
    let store = TrustStore::of(&environment)?;
    let files: Vec<Untrusted> = match args.files.as_slice() {
        [] => Config::discover::<&Path>(&[], &environment)?.untrusted().to_vec(),
        named => named.iter().map(|file| store.read(file)).collect::<trunkline::Result<_>>()?,
    };
    if files.is_empty() && !screen.json {
        screen.note("No file here waits for trust");
    }
    let mut trusted = Vec::new();
    for file in &files {
        let shown = trust::shown(file)?;
        if !args.yes && trust::is_somebody_there(screen) {
            screen.report(&format!("{shown}\n"));
            if !trust::agrees(file) {
                return Err(Failure::told(Exit::NotTrusted));
            }
        } else if !screen.json {
            screen.print(&format!("{shown}\n"))?;
        }
        store.grant(file)?;
        trusted.push(file.file.display().to_string());
        if !screen.json {
            screen.print(&format!(
                "Trusted, as long as it stays as it is: {}",
                escape::line(&trusted[trusted.len() - 1])
            ))?;
        }
    }
    told("trusted", &trusted, screen)
}

pub(crate) fn untrust(args: &args::Untrust, screen: &Screen) -> Outcome<Exit> {
    let store = TrustStore::of(&Environment::from_process())?;
    let mut untrusted = Vec::new();
    for file in &args.files {
        let shown = file.display().to_string();
        if !store.revoke(file)? {
            return Err(Failure::usage(format!("{shown} was not trusted")));
        }
        if !screen.json {
            screen.print(&format!("No longer trusted: {}", escape::line(&shown)))?;
        }
        untrusted.push(shown);
    }
    told("untrusted", &untrusted, screen)
}

fn told(what: &str, files: &[String], screen: &Screen) -> Outcome<Exit> {
    if screen.json {
        let files = array(files.iter().map(|file| quote(file)));
        screen.print_exact(Object::default().raw(what, files).finish().as_bytes())?;
    }
    Ok(Exit::Done)
}
