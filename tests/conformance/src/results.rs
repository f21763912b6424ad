//! What the suite wrote down: for each scenario what it checked, and how its client ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::client::{DONE, REFUSED};

/// How one scenario went.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    /// Failures and warnings, in the suite's words: both make a scenario fail.
    pub(crate) failed: Vec<String>,
    pub(crate) end: End,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) enum End {
    /// It did all, in this revision.
    Done(String),
    /// The client stopped on its own account, with these words.
    Refused(String),
    /// It came to no end: too slow, or it crashed.
    #[default]
    None,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    #[serde(default)]
    description: String,
    error_message: Option<String>,
}

/// The outcomes below a folder, by scenario.
pub(crate) fn read(folder: &Path) -> Result<BTreeMap<String, Outcome>, String> {
    let mut outcomes = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(place) = folders.pop() {
        let entries = fs::read_dir(&place).map_err(|error| format!("cannot read {}: {error}", place.display()))?;
        folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()));
        if let Ok(checks) = fs::read_to_string(place.join("checks.json")) {
            let inside = place.strip_prefix(folder).expect("it lies below").to_string_lossy().into_owned();
            let text = fs::read_to_string(place.join("stdout.txt")).unwrap_or_default();
            let outcome = outcome(&checks, &text).map_err(|error| format!("{}: {error}", place.display()))?;
            outcomes.insert(without_time(&inside).to_owned(), outcome);
        }
    }
    Ok(outcomes)
}

fn outcome(checks: &str, said: &str) -> serde_json::Result<Outcome> {
    let mut outcome = Outcome { end: end(said), ..Outcome::default() };
    for check in serde_json::from_str::<Vec<Check>>(checks)? {
        match check.status.as_str() {
            "SUCCESS" => outcome.passed += 1,
            "FAILURE" | "WARNING" => {
                let why = check.error_message.unwrap_or(check.description);
                outcome.failed.push(format!("{} {}: {why}", check.status, check.id));
            }
            _ => {}
        }
    }
    Ok(outcome)
}

fn end(said: &str) -> End {
    let line = said.lines().last().unwrap_or_default();
    match (line.strip_prefix(DONE), line.strip_prefix(REFUSED)) {
        (Some(revision), _) => End::Done(revision.to_owned()),
        (None, Some(why)) => End::Refused(why.to_owned()),
        (None, None) => End::None,
    }
}

/// The suite puts the time behind a scenario's name: `-2026-12-01T16-02-01-123Z`.
fn without_time(name: &str) -> &str {
    const TIME: usize = "-2026-12-01T16-02-01-123Z".len();
    name.len().checked_sub(TIME).and_then(|at| name.get(..at)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_fail_as_failures_do_and_the_rest_counts_for_nothing() {
        let checks = r#"[{"id":"a","status":"SUCCESS","description":"x"},{"id":"b","status":"INFO","description":"x"},
            {"id":"c","status":"WARNING","description":"x"},{"id":"d","status":"FAILURE","description":"x","errorMessage":"y"},
            {"id":"e","status":"SKIPPED","description":"x"}]"#;
        let found = outcome(checks, "noise\ndone in 2025-11-25\n").unwrap();
        assert_eq!((found.passed, found.end), (1, End::Done("2025-11-25".to_owned())));
        assert_eq!(found.failed, ["WARNING c: x", "FAILURE d: y"]);
    }

    #[test]
    fn the_last_line_of_a_client_is_its_end() {
        assert_eq!(end("refused: no\n"), End::Refused("no".to_owned()));
        assert_eq!(end("done in 2025-11-25\nmore\n"), End::None);
        assert_eq!(end(""), End::None);
    }

    #[test]
    fn a_scenario_is_found_in_the_name_of_its_folder() {
        assert_eq!(without_time("auth/basic-cimd-2026-12-01T16-02-01-123Z"), "auth/basic-cimd");
        assert_eq!(without_time("short"), "short");
    }
}
