//! Why a command could not be started, in words that help: what was searched, and where it may be instead.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use crate::transport::Launch;

/// Turns a failed spawn into an error for the person who has to act.
pub(crate) fn explain(launch: &Launch, error: io::Error) -> Error {
    let command = &launch.command;
    let base = |message: String| {
        Error::new(ErrorKind::Unreachable, message).with_context("command", command.clone()).with_source(clone(&error))
    };
    if let Some(cwd) = launch.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        return base(format!("The working directory {} doesn't exist (\"cwd\")", cwd.display()))
            .with_hint("Create it or correct \"cwd\"");
    }
    match error.kind() {
        io::ErrorKind::NotFound if command.contains('/') && Path::new(command).exists() => {
            base(format!("Could not start \"{command}\": its interpreter (the #! line) was not found"))
                .with_hint("Check the first line of the script")
        }
        io::ErrorKind::NotFound if command.contains('/') => {
            base(format!("There is no program at \"{command}\"")).with_hint("Install it there, or correct the command")
        }
        io::ErrorKind::NotFound => {
            let path = variable(launch, "PATH").unwrap_or_default();
            let error = base(format!("The command \"{command}\" was not found on PATH")).with_context("path", path);
            match elsewhere(launch) {
                Some(found) => error.with_hint(format!(
                    "It exists at {}: use that path as the command, or set PATH in the server's env",
                    found.display()
                )),
                None => error.with_hint(format!("Install \"{command}\", or give its full path as the command")),
            }
        }
        io::ErrorKind::PermissionDenied => base(format!("\"{command}\" may not be executed"))
            .with_hint("Make it executable (chmod +x), or start it through its interpreter"),
        _ => base(format!("Could not start \"{command}\": {error}")),
    }
}

fn clone(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

fn variable(launch: &Launch, name: &str) -> Option<String> {
    let value = launch.env.iter().find(|(key, _)| key == OsStr::new(name));
    value.map(|(_, value)| value.to_string_lossy().into_owned())
}

/// Places where version managers and installers put programs that a reduced PATH doesn't name.
fn elsewhere(launch: &Launch) -> Option<PathBuf> {
    const UNDER_HOME: [&str; 9] = [
        ".local/bin",
        ".cargo/bin",
        ".volta/bin",
        ".bun/bin",
        ".deno/bin",
        ".asdf/shims",
        ".local/share/mise/shims",
        ".pyenv/shims",
        ".npm-global/bin",
    ];
    let home = variable(launch, "HOME").map(PathBuf::from);
    let fixed = ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/snap/bin"].map(PathBuf::from);
    let mut folders: Vec<PathBuf> = fixed.into();
    if let Some(home) = home {
        folders.extend(UNDER_HOME.map(|folder| home.join(folder)));
        let nvm = std::fs::read_dir(home.join(".nvm/versions/node"));
        folders.extend(nvm.into_iter().flatten().flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().map(|folder| folder.join(&launch.command)).find(|file| file.is_file())
}
