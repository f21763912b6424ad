//! The commands that use servers: each is prepared (files and standard input are read, nothing is sent) and then run.

pub(crate) mod ask;
pub(crate) mod auth;
mod call;
pub(crate) mod check;
mod complete;
pub(crate) mod completions;
pub(crate) mod config;
mod info;
pub(crate) mod list;
pub(crate) mod lock;
mod login;
mod oddities;
mod ping;
mod prompt;
pub(crate) mod ps;
mod read;
pub(crate) mod reap;
mod serve;
mod task;
pub(crate) mod trust;
mod watch;

use crate::args::Command;
use crate::exit::{Exit, Outcome};
use crate::render::Screen;
use crate::servers::Servers;

/// A command that is ready to run.
pub(crate) enum Work {
    List(list::List),
    Call(call::Call),
    Task(task::Task),
    Read(read::Read),
    Prompt(prompt::Prompt),
    Watch(Box<watch::Watch>),
    Complete(complete::Complete),
    Info(info::Info),
    Ping(ping::Ping),
    Ask(Box<ask::Ask>),
    Check(check::Check),
    Lock(lock::Lock),
    Login(login::Login),
    Serve(serve::Serve),
}

/// Reads what the command line refers to, before signals are taken over and servers are started.
pub(crate) fn prepare(command: Command, strict: bool) -> Outcome<Work> {
    Ok(match command {
        Command::List(args) => Work::List(list::List::new(args, strict)),
        Command::Call(args) => Work::Call(call::Call::new(args)?),
        Command::Task(args) => Work::Task(task::Task { args }),
        Command::Read(args) => Work::Read(read::Read::new(args)?),
        Command::Watch(args) => Work::Watch(Box::new(watch::Watch { args })),
        Command::Complete(args) => Work::Complete(complete::Complete::new(args)?),
        Command::Info(args) => Work::Info(info::Info { args }),
        Command::Ping(args) => Work::Ping(ping::Ping { args }),
        Command::Prompt(args) => Work::Prompt(prompt::Prompt::new(args)?),
        Command::Ask(args) => Work::Ask(Box::new(ask::Ask::new(args, strict)?)),
        Command::Check(args) => Work::Check(check::Check::new(args)),
        Command::Lock(args) => Work::Lock(lock::Lock::new(args)),
        Command::Login(args) => Work::Login(login::Login::new(args)),
        Command::Record(args) => Work::Serve(serve::Serve::new(args.servers)),
        Command::Mock(_) => Work::Serve(serve::Serve::new(Vec::new())),
        Command::Config
        | Command::Logout(_)
        | Command::Auth(_)
        | Command::Trust(_)
        | Command::Untrust(_)
        | Command::Ps(_)
        | Command::Reap(_)
        | Command::Completions { .. }
        | Command::Demo => unreachable!("these use no servers"),
    })
}

impl Work {
    /// Does it.
    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        match self {
            Self::List(list) => list.run(servers, screen).await,
            Self::Call(call) => call.run(servers, screen).await,
            Self::Task(task) => task.run(servers, screen).await,
            Self::Read(read) => read.run(servers, screen).await,
            Self::Prompt(prompt) => prompt.run(servers, screen).await,
            Self::Watch(watch) => watch.run(servers, screen).await,
            Self::Complete(complete) => complete.run(servers, screen).await,
            Self::Info(info) => info.run(servers, screen).await,
            Self::Ping(ping) => ping.run(servers, screen).await,
            Self::Ask(ask) => ask.run(servers, screen).await,
            Self::Check(check) => check.run(servers, screen).await,
            Self::Lock(lock) => lock.run(servers, screen).await,
            Self::Login(login) => login.run(servers, screen).await,
            Self::Serve(serve) => serve.run(servers, screen).await,
        }
    }
}
