//! A token that a command prints: `gcloud auth print-access-token`, `op read …`, and their like.

use std::process::Stdio;
use std::time::Duration;

use tokio::sync::Mutex;

use super::{Challenge, TokenSource};
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::program;
use crate::redact::{Secret, mask_arguments};

/// How long the command may take.
const TIME: Duration = Duration::from_secs(60);

/// The token is what a command writes on its standard output. It is run when a token is first needed, and again when
/// the server refuses the token.
///
/// ```
/// use trunkline::{Client, TokenCommand};
///
/// let tokens = TokenCommand::new("gcloud", ["auth", "print-access-token"]);
/// let client = Client::http("https://example.com/mcp").token_source(tokens).build()?;
/// # Ok::<(), trunkline::Error>(())
/// ```
#[derive(Debug)]
pub struct TokenCommand {
    command: String,
    args: Vec<String>,
    kept: Mutex<Option<Secret>>,
}

impl TokenCommand {
    /// Runs `command` with these arguments; no shell is involved.
    pub fn new<A: Into<String>>(command: impl Into<String>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { command: command.into(), args, kept: Mutex::default() }
    }

    async fn run(&self) -> Result<Secret> {
        let shown =
            std::iter::once(self.command.clone()).chain(mask_arguments(&self.args)).collect::<Vec<_>>().join(" ");
        let failed = |why: String| {
            Error::new(ErrorKind::Auth, format!("The command for the token failed: {why}"))
                .with_context("command", shown.clone())
                .with_hint("Run it by hand: it has to print the token, and nothing else, on its standard output")
        };
        let environment = Environment::from_process();
        let command = program::command(&self.command, &self.args, &environment);
        let mut command = command.map_err(|error| failed(error.to_string()))?;
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(TIME, command.output()).await;
        let output = output
            .map_err(|_| failed(format!("it took over {} s", TIME.as_secs())))?
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let error = failed(output.status.to_string());
            return Err(if said.trim().is_empty() {
                error
            } else {
                error.with_context("stderr", said.trim().to_owned())
            });
        }
        let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match token.is_empty() || token.contains(char::is_whitespace) {
            true => Err(failed("it printed no token".to_owned())),
            false => Ok(Secret::new(token)),
        }
    }
}

impl TokenSource for TokenCommand {
    async fn token(&self, challenge: Option<&Challenge>) -> Result<Option<Secret>> {
        let mut kept = self.kept.lock().await; // whoever comes meanwhile waits for the same token
        let refused = challenge.is_some_and(|challenge| challenge.refused == *kept);
        if kept.is_none() || refused {
            *kept = Some(self.run().await?);
        }
        Ok(kept.clone())
    }
}
