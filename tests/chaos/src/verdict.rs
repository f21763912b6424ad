//! Judges how a call ended: whether it could end so, and what its server's journal must say of it.

use std::time::Duration;

use trunkline::{Error, ErrorKind, ToolResult};

use crate::deed::{ANY, End};
use crate::plan::{Call, GivesUp};

/// How long a cancelled call may take to end on a busy machine.
const SOON: Duration = Duration::from_secs(5);

/// What a call came to, for its caller.
pub(crate) enum Outcome {
    Result(Result<ToolResult, Error>),
    Dropped,
    /// It didn't end in any time that it could take.
    Hangs,
}

/// How often a server may have done the work of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Once,
    Never,
    /// Once or never: nobody can know.
    Perhaps,
}

/// How the call ended and how often it may have been done, or what is wrong.
pub(crate) fn judge(call: &Call, outcome: &Outcome, took: Duration) -> Result<(End, Done), String> {
    let (end, done) = match outcome {
        Outcome::Hangs => return Err("it didn't end".to_owned()),
        Outcome::Dropped => (End::Dropped, Done::Perhaps),
        Outcome::Result(Ok(result)) => {
            if result.text() != call.nonce {
                return Err(format!("it got the answer of another: {}", result.text()));
            }
            (if result.is_error() { End::ToolSaysNo } else { End::Answered }, Done::Once)
        }
        Outcome::Result(Err(error)) => ended(call, error)?,
    };
    let cancels = matches!(call.gives_up, GivesUp::Cancels(after) if took >= after);
    let can = call.row.ends.contains(&end) || ANY.contains(&end) || end == End::Cancelled && cancels;
    if !can {
        return Err(format!("it can't end like that: {end:?}"));
    }
    if let GivesUp::Cancels(after) = call.gives_up
        && took > after + SOON
    {
        return Err(format!("it was cancelled after {} ms and took {} ms", after.as_millis(), took.as_millis()));
    }
    if end == End::TooLate && done == Done::Perhaps && took < call.timeout {
        return Err(format!("it is no later than {} ms", took.as_millis()));
    }
    Ok((end, done))
}

fn ended(call: &Call, error: &Error) -> Result<(End, Done), String> {
    let end = match error.kind() {
        ErrorKind::Protocol if error.code() == Some(-32000) => {
            return match (error.message().contains(&call.nonce), error.may_have_run()) {
                (true, true) => Ok((End::ServerSaysNo, Done::Once)),
                (true, false) => Err("it was done, and its error says that it wasn't".to_owned()),
                (false, _) => Err(format!("it got the error of another: {error}")),
            };
        }
        ErrorKind::Protocol if error.code().is_none() => End::Broken,
        ErrorKind::Closed => End::Gone,
        ErrorKind::Unreachable => End::Unreachable,
        ErrorKind::Deadline => End::TooLate,
        ErrorKind::Cancelled => End::Cancelled,
        _ => return Err(format!("an error that nothing here explains: {error:?}")),
    };
    Ok((end, if error.may_have_run() { Done::Perhaps } else { Done::Never }))
}
