//! What a server does with one call: the faults of the plan, as data. The caller names the deed in the arguments of its
//! call, so what happens to which call is known before the run begins.

use std::ops::RangeInclusive;

use Deed::*;
use End::*;

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Does the work and answers.
    Answer,
    /// Answers after so many milliseconds.
    Slow,
    /// Does the work only after so many milliseconds.
    Late,
    /// Does the work and never answers.
    Mute,
    /// Does nothing at all.
    Ignore,
    /// Does the work, then exits with this code.
    Exit,
    /// Exits with this code and does no work.
    ExitFirst,
    /// Does the work, then dies by SIGKILL.
    Die,
    /// Writes noise before the answer.
    Noise,
    /// Writes half of the answer, and goes on.
    Torn,
    /// Writes half of the answer without an end, so that the next message sticks to it.
    Glued,
    /// Writes half of the answer, and is gone.
    Cut,
    /// Answers twice.
    Twice,
    /// Answers with the id as text.
    TextId,
    /// Says so many times that its tools changed, then answers.
    Storm,
    /// Answers with neither a result nor an error.
    Hollow,
    /// Answers with a JSON-RPC error.
    RpcError,
    /// Answers with a result that is an error.
    ToolError,
    /// Asks the client things, then answers.
    Ask,
    /// Reports progress, then answers.
    Progress,
    /// Answers, then closes its output and runs on.
    CloseOutput,
    /// Answers, then closes its input and runs on.
    CloseInput,
    /// Answers, then reads nothing for so many milliseconds.
    Deaf,
    /// Writes 100 KB on its standard error, then answers.
    Stderr,
    /// Answers with a stream of events.
    Stream,
    /// Begins a stream of events, drops it, and gives the answer to whoever takes it up again.
    Resume,
    /// Does the work and resets the connection.
    Reset,
    /// Resets the connection and does no work.
    ResetFirst,
    /// Has forgotten all sessions (404), once.
    Forget,
    /// Answers 503.
    Busy,
    /// Answers with a page of HTML.
    Page,
    /// Takes the request (202) and answers on the standing stream.
    Beside,
}

/// How a call ends for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its own answer.
    Answered,
    /// With the error that the tool reports.
    ToolSaysNo,
    /// With the error that the server answers.
    ServerSaysNo,
    /// With no valid answer.
    Broken,
    /// The connection was closed.
    Gone,
    Unreachable,
    TooLate,
    Cancelled,
    /// The caller dropped it.
    Dropped,
}

/// One kind of fault.
pub(crate) struct Row {
    pub(crate) deed: Deed,
    pub(crate) word: &'static str,
    /// How often, beside the others.
    weight: u64,
    /// What the number that goes with it is drawn from.
    pub(crate) amount: RangeInclusive<u64>,
    /// How it may end by itself. Whatever it is, faults of others can end it in the ways of [`ANY`].
    pub(crate) ends: &'static [End],
    ways: &'static [Way],
}

/// How any call may end on a server that others disturb.
pub(crate) const ANY: &[End] = &[Broken, Gone, Unreachable, TooLate, Dropped];

const BOTH: &[Way] = &[Way::Stdio, Way::Http];
const PIPE: &[Way] = &[Way::Stdio];
const HTTP: &[Way] = &[Way::Http];
const NONE: RangeInclusive<u64> = 0..=0;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(BOTH, Answer,      "answer",       500, NONE,     &[Answered]),
    row(BOTH, Slow,        "slow",         100, 1..=400,  &[Answered]),
    row(BOTH, Late,        "late",          30, 1..=400,  &[Answered]),
    row(BOTH, Mute,        "mute",          15, NONE,     &[]),
    row(BOTH, Ignore,      "ignore",        10, NONE,     &[]),
    row(BOTH, Exit,        "exit",           4, 0..=255,  &[]),
    row(BOTH, ExitFirst,   "exit-first",     4, 0..=255,  &[]),
    row(BOTH, Die,         "die",            4, NONE,     &[]),
    row(BOTH, Noise,       "noise",         30, NONE,     &[Answered]),
    row(BOTH, Torn,        "torn",          10, NONE,     &[]),
    row(PIPE, Glued,       "glued",          6, NONE,     &[]),
    row(BOTH, Cut,         "cut",            6, NONE,     &[]),
    row(BOTH, Twice,       "twice",         15, NONE,     &[Answered]),
    row(BOTH, TextId,      "text-id",       15, NONE,     &[Answered]),
    row(BOTH, Storm,       "storm",         15, 1..=300,  &[Answered]),
    row(BOTH, Hollow,      "hollow",        10, NONE,     &[]),
    row(BOTH, RpcError,    "rpc-error",     20, NONE,     &[ServerSaysNo]),
    row(BOTH, ToolError,   "tool-error",    20, NONE,     &[ToolSaysNo]),
    row(BOTH, Ask,         "ask",           15, NONE,     &[Answered]),
    row(BOTH, Progress,    "progress",      15, 1..=20,   &[Answered]),
    row(PIPE, CloseOutput, "close-output",   3, NONE,     &[Answered]),
    row(PIPE, CloseInput,  "close-input",    3, NONE,     &[Answered]),
    row(PIPE, Deaf,        "deaf",           6, 1..=500,  &[Answered]),
    row(PIPE, Stderr,      "stderr",         6, NONE,     &[Answered]),
    row(HTTP, Stream,      "stream",       200, NONE,     &[Answered]),
    row(HTTP, Resume,      "resume",        15, NONE,     &[Answered]),
    row(HTTP, Reset,       "reset",         10, NONE,     &[]),
    row(HTTP, ResetFirst,  "reset-first",   10, NONE,     &[]),
    row(HTTP, Forget,      "forget",        10, NONE,     &[Answered]),
    row(HTTP, Busy,        "busy",          10, NONE,     &[]),
    row(HTTP, Page,        "page",           6, NONE,     &[]),
    row(HTTP, Beside,      "beside",        10, NONE,     &[Answered]),
];

const fn row(
    ways: &'static [Way],
    deed: Deed,
    word: &'static str,
    weight: u64,
    amount: RangeInclusive<u64>,
    ends: &'static [End],
) -> Row {
    Row { deed, word, weight, amount, ends, ways }
}

impl Row {
    /// The row that `chance` falls on, of those for servers that are reached this way.
    pub(crate) fn drawn(way: Way, chance: u64) -> &'static Row {
        let fitting = || ROWS.iter().filter(|row| row.ways.contains(&way));
        let mut left = chance % fitting().map(|row| row.weight).sum::<u64>();
        let hit = |row: &&Row| left.checked_sub(row.weight).map(|rest| left = rest).is_none();
        fitting().find(hit).expect("the chance is below the sum of the weights")
    }

    pub(crate) fn of_word(word: &str) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.word == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_drawn_as_often_as_it_weighs_and_found_by_its_word() {
        for way in [Way::Stdio, Way::Http] {
            let fitting: Vec<_> = ROWS.iter().filter(|row| row.ways.contains(&way)).collect();
            let sum: u64 = fitting.iter().map(|row| row.weight).sum();
            for row in fitting {
                let hits = (0..sum).filter(|chance| Row::drawn(way, *chance).deed == row.deed).count();
                assert_eq!(hits as u64, row.weight, "{}", row.word);
                assert_eq!(Row::of_word(row.word).unwrap().deed, row.deed);
            }
        }
    }
}
