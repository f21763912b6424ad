//! A command that answers for a model: the request comes on its standard input as JSON, what it writes is the answer.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use trunkline::{Error, ErrorKind, RawJson, Sampled, Sampling};

use crate::exit::{Failure, Outcome};

/// The command's words; there has to be one at least.
pub(crate) fn words(words: Vec<String>) -> Outcome<Vec<String>> {
    if words.is_empty() {
        return Err(Failure::usage("--sample-command is empty"));
    }
    Ok(words)
}

/// Runs it. It ends when the server no longer wants the answer.
pub(crate) async fn run(words: &[String], request: &Sampling) -> trunkline::Result<Sampled> {
    let failed = |why: String| Error::new(ErrorKind::Unreachable, format!("The command of --sample-command {why}"));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(format!("can't be started: {error}")))?;
    let (stdin, request) = (child.stdin.take(), request.raw().clone());
    let writing = async move {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(request.as_bytes()).await; // it may not want to read
        }
    };
    let ((), output) = tokio::join!(writing, child.wait_with_output());
    let output = output.map_err(|error| failed(format!("failed: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("failed ({})", output.status)));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| failed("wrote no UTF-8 text".to_owned()))?;
    let text = text.trim();
    match RawJson::parse(text.to_owned()) {
        Ok(result) if result.is_object() && result.get("content").is_some() => Sampled::from_raw(result),
        _ if text.is_empty() => Err(failed("wrote nothing".to_owned())),
        _ => Ok(Sampled::text(&words[0], text)),
    }
}
