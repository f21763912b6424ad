//! The client that the suite watches. It uses the public interface of the library and nothing else; what a scenario is called
//! decides only which calls are made.

mod login;
mod scenarios;

use std::process::ExitCode;

use serde_json::Value;

/// The beginning of the last line of a client that did all it was to do; the revision spoken follows.
pub(crate) const DONE: &str = "done in ";

/// The beginning of the last line of a client that stopped on its own account.
pub(crate) const REFUSED: &str = "refused: ";

/// What the suite tells its client beside the URL.
struct Told {
    scenario: String,
    url: String,
    /// An object: credentials, the calls to make.
    context: Value,
}

/// Plays the scenario that the environment names; its last line says how it ended.
pub(crate) fn main(url: &str) -> ExitCode {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let told = Told {
        scenario: variable("MCP_CONFORMANCE_SCENARIO"),
        url: url.to_owned(),
        context: serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(scenarios::play(&told)) {
        Ok(revision) => {
            println!("{DONE}{revision}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:?}");
            println!("{REFUSED}{error}");
            ExitCode::FAILURE
        }
    }
}
