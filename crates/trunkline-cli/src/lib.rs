//! The program `trunkline`: list, call, read and check MCP servers from a shell.
//!
//! It is a library so that other packages can build the very same program; its only door is [`main`].
//!
//! `args` is the command line, `servers` finds the servers it means (`typed` those that stand in it), `trust` says which
//! project files may be used, and `commands` has a file for each command.
//! `logins` is where logins are kept (by a key of the `keyring`), `consent` how one is asked for (in a `browser`).
//! `recording` is what is recorded and replayed meanwhile.
//! `answers` is what servers are answered that ask, `person` whoever sits at the terminal.
//! `values` and `shape` turn what is typed into arguments, `render` turns what comes back into text. `exit` holds the
//! exit codes, and this file is the only one that shows errors.
#![forbid(unsafe_code)]

mod address;
mod answers;
mod args;
mod browser;
mod catalogue;
mod commands;
mod completing;
mod consent;
mod demo;
mod exit;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod interrupt;
mod keyring;
mod locks;
mod logins;
mod person;
mod progress;
mod recording;
mod render;
mod save;
mod servers;
mod shape;
mod signature;
mod suggest;
mod trust;
mod typed;
mod values;
mod verbose;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Auth, AuthCommand, Cli, Command};
use exit::{Exit, Failure, Outcome};
use interrupt::Interrupts;
use render::Screen;
use servers::Servers;

/// Runs the program with the arguments, streams and environment of this process.
pub fn main() -> ExitCode {
    if completing::answered() {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error),
    };
    let screen = Screen::new(&cli.global);
    let outcome = run(cli, screen);
    let exit = match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            show(&failure, &screen);
            failure.exit
        }
    };
    ExitCode::from(exit as u8)
}

fn run(mut cli: Cli, screen: Screen) -> Outcome<Exit> {
    recording::of_command(&mut cli.global.cassette, &cli.command)?;
    if let Command::Login(login) = &cli.command
        && logins::is_url(&login.server)
    {
        cli.global.url.push(login.server.clone());
    }
    cli.global.unlocked = matches!(cli.command, Command::Lock(_));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("Can't start: {error}")))?;
    let outcome = match cli.command {
        Command::Demo => runtime.block_on(demo::serve()).map(|()| Exit::Done).map_err(Failure::from),
        Command::Completions { shell } => commands::completions::run(shell).map(|()| Exit::Done),
        Command::Config => commands::config::run(&cli.global, &screen),
        Command::Trust(args) => commands::trust::trust(&args, &screen),
        Command::Untrust(args) => commands::trust::untrust(&args, &screen),
        Command::Logout(args) => runtime.block_on(commands::auth::logout(&args, &cli.global, &screen)),
        Command::Auth(Auth { what: AuthCommand::Status }) => {
            runtime.block_on(commands::auth::status(&cli.global, &screen))
        }
        Command::Ps(ps) => commands::ps::run(&ps, &screen),
        Command::Reap(reap) => commands::reap::run(&reap, &screen),
        command => {
            let servers = Servers::open(&cli.global, &command, &screen)?;
            servers.tell(&screen);
            let work = commands::prepare(command, cli.global.strict)?;
            runtime.block_on(with_servers(work, &servers, &screen))
        }
    };
    runtime.shutdown_background(); // somebody may still be reading the standard input
    outcome
}

/// Does the work until it is done or interrupted, then ends every connection; a second interrupt ends the program
/// without waiting for that.
async fn with_servers(work: commands::Work, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
    let mut interrupts = Interrupts::listen().map_err(|error| Failure::usage(format!("Can't start: {error}")))?;
    if screen.verbose > 2 || matches!(work, commands::Work::Check(_)) {
        verbose::trace(servers, *screen);
    }
    let listening = verbose::listen(servers, *screen);
    let outcome = interrupts.guard(work.run(servers, screen)).await;
    tokio::select! {
        () = servers.close() => {}
        _ = interrupts.next() => {}
    }
    drop(listening);
    match (&outcome, recording::check(servers)) {
        (Ok(_), Err(failure)) => Err(failure),
        (Err(_), Err(failure)) => {
            screen.report(&render::error::for_people(&failure));
            outcome
        }
        (_, Ok(())) => outcome,
    }
}

/// Says what went wrong, once: for people on standard error, for machines on standard output.
fn show(failure: &Failure, screen: &Screen) {
    if failure.shown {
        return;
    }
    if screen.json {
        let _ = screen.print_exact(render::error::for_machines(failure).as_bytes()); // nobody reads it: nothing to say
    } else {
        screen.report(&render::error::for_people(failure));
    }
}

/// The command line made no sense, or asked for help.
fn not_understood(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if error.use_stderr() && wants_json {
        let text = error.render().to_string();
        let (message, _) = text.split_once("\n\n").unwrap_or((&text, ""));
        let failure = Failure::usage(message.trim_start_matches("error: ").trim().replace('\n', " "));
        println_json(&failure);
    } else {
        let _ = error.print(); // a closed stream can't be told anything
    }
    if error.use_stderr() { ExitCode::from(Exit::Usage as u8) } else { ExitCode::SUCCESS }
}

fn println_json(failure: &Failure) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{}", render::error::for_machines(failure));
}
