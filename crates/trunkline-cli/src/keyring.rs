//! The system's keyring, by the program that comes with it: `secret-tool` of the Secret Service, `security` of macOS. It
//! keeps one key, which seals the stored logins: they may be larger than a keyring takes, and are written by many.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trunkline::{Environment, Error, ErrorKind, Secret};

/// A person may have to unlock it.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(5);
const SERVICE: &str = "trunkline";
const ACCOUNT: &str = "logins";

/// The keyring of this system.
#[derive(Debug, Clone)]
pub(crate) struct Keyring {
    kind: Kind,
    environment: Environment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SecretService,
    Keychain,
}

impl Keyring {
    /// The one that is here, if any. Nothing is started to find out.
    pub(crate) fn here(environment: &Environment) -> Option<Self> {
        let is_set = |name| environment.get_os(name).is_some_and(|value| !value.is_empty());
        let kind = if cfg!(target_os = "macos") {
            Kind::Keychain
        } else if cfg!(unix) && is_set("DBUS_SESSION_BUS_ADDRESS") && has("secret-tool", environment) {
            Kind::SecretService
        } else {
            return None;
        };
        Some(Self { kind, environment: environment.clone() })
    }

    /// What it keeps for this program.
    pub(crate) fn read(&self) -> trunkline::Result<Option<Secret>> {
        let words: &[&str] = match self.kind {
            Kind::SecretService => &["secret-tool", "lookup", "service", SERVICE, "account", ACCOUNT],
            Kind::Keychain => &["security", "find-generic-password", "-s", SERVICE, "-a", ACCOUNT, "-w"],
        };
        let (code, told, complaint) = self.run(words, "")?;
        match (code, told.trim()) {
            (0, "") => Ok(None),
            (0, key) => Ok(Some(Secret::new(key.to_owned()))),
            (1, _) if self.kind == Kind::SecretService && complaint.trim().is_empty() => Ok(None),
            (44, _) if self.kind == Kind::Keychain => Ok(None), // errSecItemNotFound
            _ => Err(unusable(complaint.trim())),
        }
    }

    /// Keeps this, which is letters and digits.
    pub(crate) fn write(&self, key: &str) -> trunkline::Result<()> {
        let (words, input): (&[&str], _) = match self.kind {
            Kind::SecretService => {
                let words = ["secret-tool", "store", "--label", "Trunkline", "service", SERVICE, "account", ACCOUNT];
                (&words.clone(), key.to_owned())
            }
            // by its standard input: everybody can see the arguments of a command
            Kind::Keychain => {
                (&["security", "-i"], format!("add-generic-password -U -s {SERVICE} -a {ACCOUNT} -w {key}\n"))
            }
        };
        match self.run(words, &input)? {
            (0, ..) => Ok(()),
            (_, _, complaint) => Err(unusable(complaint.trim())),
        }
    }

    /// Runs a command: its exit code, and what it wrote on its two streams.
    fn run(&self, words: &[&str], input: &str) -> trunkline::Result<(i32, String, String)> {
        let failed = |error: std::io::Error| unusable(&format!("{}: {error}", words[0]));
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(path) = self.environment.get_os("PATH") {
            command.env("PATH", path);
        }
        let mut child = command.spawn().map_err(failed)?;
        let mut stdin = child.stdin.take().expect("it is piped");
        let _ = stdin.write_all(input.as_bytes()); // where it isn't read, the exit code says why
        drop(stdin);
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if begun.elapsed() < PATIENCE => std::thread::sleep(STEP),
                None => {
                    let _ = child.kill(); // it may have ended just now
                    let _ = child.wait();
                    return Err(unusable(&format!("{} took over {} s", words[0], PATIENCE.as_secs())));
                }
            }
        };
        let (mut told, mut complaint) = (String::new(), String::new());
        child.stdout.take().expect("it is piped").read_to_string(&mut told).map_err(failed)?;
        child.stderr.take().expect("it is piped").read_to_string(&mut complaint).map_err(failed)?;
        Ok((status.code().unwrap_or(-1), told, complaint))
    }
}

fn unusable(why: &str) -> Error {
    let why = if why.is_empty() { "it gives no reason" } else { why };
    Error::new(ErrorKind::Config, format!("The keyring of the system can't be used: {why}"))
        .with_hint("Unlock it, or keep logins in a file that only you can read: TRUNKLINE_TOKEN_STORE=file")
}

fn has(program: &str, environment: &Environment) -> bool {
    let path = environment.get_os("PATH").unwrap_or_default();
    std::env::split_paths(path).any(|dir| dir.join(program).is_file())
}
