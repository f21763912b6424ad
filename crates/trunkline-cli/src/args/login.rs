//! The options of `trunkline login`, `logout` and `auth`.

use clap::{Args, Subcommand};

pub(super) const LOGIN_HELP: &str = "\
SERVER is a server of the config, or a URL. A browser is opened at the authorization server that SERVER names, and what \
comes of it is kept for every later command, which renews it by itself. Over SSH, without a display or with --no-browser \
the address is shown instead; the browser may be on another machine if you then paste the address that it ends up at.

Examples:
  trunkline login notes
  trunkline login https://example.com/mcp --no-browser
  trunkline login notes --scope notes:write

Logins are kept in files that only you can read, sealed by a key in the keyring of the system where there is one \
(secret-tool on Linux, the keychain on macOS). TRUNKLINE_TOKEN_STORE=file keeps them without a keyring, =keyring never \
without.";

pub(super) const LOGOUT_HELP: &str = "\
Forgets the tokens here; the authorization server isn't told.

Examples:
  trunkline logout notes
  trunkline logout --all";

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// A server of the config, or a URL
    pub(crate) server: String,
    /// Show the address instead of opening a browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Ask for this scope too (can be repeated)
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// A server of the config, or a URL
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) server: Option<String>,
    /// Log out everywhere
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Auth {
    #[command(subcommand)]
    pub(crate) what: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Show the logins that are kept: server, authorization server, scopes, how long they last
    Status,
}
