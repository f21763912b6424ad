//! `trunkline auth status` and `trunkline logout`: which logins are kept, and how they are forgotten. Never shows a token.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use trunkline::{Environment, FileStore, Login, LoginKey, TokenStore as _};

use crate::args::{self, Global};
use crate::exit::{Exit, Failure, Outcome};
use crate::render::{BOLD, DIM, RED, Screen, YELLOW, escape, paint};
use crate::servers::read_config;
use crate::{logins, suggest};

/// A login, and what its server is called.
pub(super) type Named = (String, LoginKey, Login);

pub(crate) async fn status(global: &Global, screen: &Screen) -> Outcome<Exit> {
    let environment = Environment::from_process();
    let store = logins::needed(&environment)?;
    let config = read_config(global, &[], &environment)?;
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    for key in store.keys()? {
        let read = match key {
            Ok(key) => store.load(&key).await.map(|login| login.map(|login| (key, login))),
            Err(error) => Err(error),
        };
        match read {
            Ok(Some((key, login))) => {
                let labels = logins::labels(&key, &config, &environment);
                all.push((labels.join(", "), key, login));
            }
            Ok(None) => {} // somebody has just logged out
            Err(error) => failed.push(Failure::from(error)),
        }
    }
    show(&all, screen)?;
    if all.is_empty() && !screen.json {
        screen.note("There is no login; `trunkline login SERVER` makes one");
    }
    tell(&store, screen);
    told(failed, screen)
}

pub(crate) async fn logout(args: &args::Logout, global: &Global, screen: &Screen) -> Outcome<Exit> {
    let environment = Environment::from_process();
    let store = logins::needed(&environment)?;
    let url = args.server.as_ref().map(|server| url_of(server, global, &environment)).transpose()?;
    let (mut forgotten, mut failed) = (Vec::new(), Vec::new());
    for key in store.keys()? {
        match key {
            Ok(key) if url.as_ref().is_none_or(|url| logins::is_for(&key, url)) => {
                let held = store.lock(&key).await?; // whoever renews it now would keep it again
                store.remove(&key).await?;
                drop(held);
                forgotten.push(key.server().to_owned());
            }
            Ok(_) => {}
            Err(error) => failed.extend(args.all.then(|| Failure::from(error))),
        }
    }
    if let (true, Some(server)) = (forgotten.is_empty(), &args.server) {
        return Err(Failure::usage(format!("There is no login for {server}")).hint("`trunkline auth status` shows all"));
    }
    if screen.json {
        screen.print_exact(json!({ "loggedOut": forgotten }).to_string().as_bytes())?;
    }
    for server in forgotten.iter().filter(|_| !screen.json) {
        screen.print(&format!("Logged out of {}", escape::line(server)))?;
    }
    told(failed, screen)
}

/// The URL that a server of the config has; a URL is one itself.
fn url_of(server: &str, global: &Global, environment: &Environment) -> Outcome<String> {
    if logins::is_url(server) {
        return Ok(server.to_owned());
    }
    let config = read_config(global, &[], environment)?;
    let Some(entry) = config.entry(server) else {
        let failure = Failure::usage(format!("There is no server named \"{server}\""));
        let labels = config.entries().iter().map(trunkline::Entry::label);
        return Err(match suggest::hint(server, labels) {
            Some(hint) => failure.hint(hint),
            None => failure,
        });
    };
    let spec = entry.resolve(environment)?;
    let url = logins::url_of(&spec.transport).map(str::to_owned);
    url.ok_or_else(|| Failure::usage(format!("Server \"{server}\" is started here, and has no login")))
}

/// What could not be read, each by itself.
fn told(failed: Vec<Failure>, screen: &Screen) -> Outcome<Exit> {
    let Some(exit) = failed.first().map(|failure| failure.exit) else { return Ok(Exit::Done) };
    for failure in &failed {
        screen.report(&crate::render::error::for_people(failure));
    }
    Err(Failure::told(exit))
}

fn tell(store: &FileStore, screen: &Screen) {
    for warning in store.warnings() {
        screen.report(&format!("{}: {}", paint(YELLOW, "warning"), escape::line(&warning)));
    }
}

/// Shows logins.
pub(super) fn show(all: &[Named], screen: &Screen) -> Outcome {
    if screen.json {
        let all: Vec<_> = all.iter().map(machine).collect();
        screen.print_exact(json!({ "logins": all }).to_string().as_bytes())?;
        return Ok(());
    }
    let shown: Vec<_> = all.iter().map(|(label, key, login)| block(label, key, login)).collect();
    screen.print(&shown.join("\n"))?;
    Ok(())
}

fn machine((label, key, login): &Named) -> Value {
    json!({
        "label": label,
        "server": key.server(),
        "issuer": login.issuer,
        "scopes": login.granted_scopes,
        "expiresAt": login.expires_at,
        "refreshToken": login.refresh_token.is_some(),
    })
}

fn block(label: &str, key: &LoginKey, login: &Login) -> String {
    let server = escape::line(key.server());
    let head = match label {
        "" => paint(BOLD, server),
        label => format!("{} {}", paint(BOLD, escape::line(label)), server),
    };
    let scopes = match login.granted_scopes.as_slice() {
        [] => "those the server gives by itself".to_owned(),
        scopes => escape::line(&scopes.join(" ")),
    };
    let renewed =
        if login.refresh_token.is_some() { ", then renewed by itself" } else { ", then a new login is needed" };
    let until = match (&login.access_token, login.expires_at) {
        (None, _) => paint(RED, "nothing: log in again"),
        (_, None) => "as long as the server says".to_owned(),
        (_, Some(end)) => left(end) + renewed,
    };
    let line = |name: &str, value: &str| format!("  {} {value}\n", paint(DIM, format!("{name:<7}")));
    format!(
        "{head}\n{}{}{}",
        line("issuer", &escape::line(&login.issuer)),
        line("scopes", &scopes),
        line("good", &until)
    )
}

/// How long until then, in the largest unit that leaves a whole number.
fn left(end: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let seconds = end.saturating_sub(now);
    match seconds {
        0 => "no more".to_owned(),
        1..120 => format!("for {seconds} s"),
        120..7200 => format!("for {} min", seconds / 60),
        7200..172_800 => format!("for {} h", seconds / 3600),
        _ => format!("for {} d", seconds / 86_400),
    }
}
