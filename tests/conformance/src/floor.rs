//! What was reached before, and must not be lost: `floor.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::legs::Leg;
use crate::results::{End, Outcome};

/// By leg.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Floor(BTreeMap<String, Known>);

/// What is known of one leg.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// Scenarios in which a client is right to stop by itself.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    refused: BTreeSet<String>,
    /// Scenarios that the library doesn't master yet. One that it does master must not be here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    not_yet: BTreeSet<String>,
    /// How many checks at least succeed.
    checks: BTreeMap<String, usize>,
}

/// What a scenario is to the floor.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    NotYet,
    Failed(String),
    /// It went well, and the floor is behind.
    Stale(&'static str),
}

impl Floor {
    fn path() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("floor.json")
    }

    pub(crate) fn read() -> Result<Self, String> {
        let path = Self::path();
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(crate) fn write(&self) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).expect("a map of names and numbers");
        std::fs::write(Self::path(), text + "\n").map_err(|error| error.to_string())
    }

    /// Every scenario that is known of a leg.
    pub(crate) fn scenarios(&self, leg: &str) -> BTreeSet<&str> {
        let known = self.0.get(leg).into_iter();
        known.flat_map(|known| known.checks.keys().chain(&known.not_yet)).map(String::as_str).collect()
    }

    pub(crate) fn is_not_yet(&self, leg: &str, scenario: &str) -> bool {
        self.0.get(leg).is_some_and(|known| known.not_yet.contains(scenario))
    }

    /// Whether it went well in itself, whatever was reached before.
    fn sound(&self, leg: &Leg, scenario: &str, outcome: &Outcome) -> Result<(), String> {
        let refused = self.0.get(leg.name).is_some_and(|known| known.refused.contains(scenario));
        match &outcome.end {
            _ if !outcome.failed.is_empty() => Err(outcome.failed.join("\n  ")),
            End::None => Err("the client came to no end".to_owned()),
            End::Refused(why) if !refused => Err(format!("the client stopped: {why}")),
            End::Done(_) if refused => Err("the client went on where it had to stop".to_owned()),
            End::Done(revision) if !leg.is_played_in(revision) => Err(format!("it was played in {revision}")),
            _ if outcome.passed == 0 => Err("nothing was checked".to_owned()),
            _ => Ok(()),
        }
    }

    pub(crate) fn judge(&self, leg: &Leg, scenario: &str, outcome: Option<&Outcome>) -> Verdict {
        let Some(outcome) = outcome else { return Verdict::Failed("it wasn't run".to_owned()) };
        match (self.sound(leg, scenario, outcome), self.is_not_yet(leg.name, scenario)) {
            (Err(_), true) => Verdict::NotYet,
            (Ok(()), true) => Verdict::Stale("it passes, and is still in `not_yet` (--update-floor takes it out)"),
            (Err(why), false) => Verdict::Failed(why),
            (Ok(()), false) => match self.0.get(leg.name).and_then(|known| known.checks.get(scenario)) {
                None => Verdict::Stale("it is new: no floor says how many checks it has (--update-floor puts it in)"),
                Some(least) if outcome.passed < *least => {
                    Verdict::Failed(format!("{} checks succeeded, and {least} did before", outcome.passed))
                }
                Some(_) => Verdict::Passed,
            },
        }
    }

    /// Takes over what was reached. A number only ever grows: to lower one, somebody has to edit the file.
    pub(crate) fn raise(&mut self, leg: &Leg, outcomes: &BTreeMap<String, Outcome>) {
        for (scenario, outcome) in outcomes {
            let sound = self.sound(leg, scenario, outcome).is_ok();
            let known = self.0.entry(leg.name.to_owned()).or_default();
            if sound {
                known.not_yet.remove(scenario);
                let least = known.checks.entry(scenario.clone()).or_default();
                *least = outcome.passed.max(*least);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legs::LEGS;

    fn floor() -> Floor {
        let text = r#"{"2025-11-25": {"refused": ["no"], "not_yet": ["later"], "checks": {"some": 3, "no": 1}}}"#;
        serde_json::from_str(text).unwrap()
    }

    fn done() -> End {
        End::Done("2025-11-25".to_owned())
    }

    fn outcome(passed: usize, end: End) -> Outcome {
        Outcome { passed, end, failed: Vec::new() }
    }

    fn verdict(scenario: &str, outcome: &Outcome) -> Verdict {
        floor().judge(&LEGS[0], scenario, Some(outcome))
    }

    fn why(scenario: &str, outcome: &Outcome) -> String {
        let Verdict::Failed(why) = verdict(scenario, outcome) else { panic!("{scenario} passes") };
        why
    }

    #[test]
    fn fewer_checks_than_before_fail_and_more_pass() {
        assert_eq!(verdict("some", &outcome(3, done())), Verdict::Passed);
        assert_eq!(verdict("some", &outcome(4, done())), Verdict::Passed);
        assert!(why("some", &outcome(2, done())).contains("2 checks succeeded, and 3 did before"));
        assert!(why("some", &outcome(0, done())).contains("nothing"));
        assert!(matches!(verdict("new", &outcome(2, done())), Verdict::Stale(why) if why.contains("is new")));
        assert_eq!(floor().judge(&LEGS[0], "some", None), Verdict::Failed("it wasn't run".to_owned()));
    }

    #[test]
    fn a_client_has_to_end_as_the_scenario_asks() {
        assert_eq!(verdict("no", &outcome(1, End::Refused(String::new()))), Verdict::Passed);
        assert!(why("no", &outcome(1, done())).contains("had to stop"));
        assert!(why("some", &outcome(3, End::Refused("tired".to_owned()))).contains("tired"));
        assert!(why("some", &outcome(3, End::None)).contains("no end"));
        let failed = Outcome { failed: vec!["WARNING x: y".to_owned()], ..outcome(3, done()) };
        assert_eq!(why("some", &failed), "WARNING x: y");
    }

    #[test]
    fn a_leg_is_played_in_its_own_era() {
        let modern = End::Done("2026-07-28".to_owned());
        assert_eq!(why("some", &outcome(3, modern)), "it was played in 2026-07-28");
    }

    #[test]
    fn what_passes_must_leave_the_list_of_what_does_not_yet() {
        assert_eq!(verdict("later", &outcome(3, End::None)), Verdict::NotYet);
        assert!(
            matches!(verdict("later", &outcome(3, done())), Verdict::Stale(why) if why.contains("still in `not_yet`"))
        );
    }

    #[test]
    fn a_floor_is_only_ever_raised() {
        let mut raised = floor();
        let ends = [("some", outcome(2, done())), ("later", outcome(5, done())), ("bad", outcome(5, End::None))];
        raised.raise(&LEGS[0], &ends.into_iter().map(|(name, outcome)| (name.to_owned(), outcome)).collect());
        let text = r#"{"2025-11-25": {"refused": ["no"], "checks": {"some": 3, "no": 1, "later": 5}}}"#;
        assert_eq!(raised, serde_json::from_str(text).unwrap());
    }
}
