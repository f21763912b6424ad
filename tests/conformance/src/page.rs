//! `docs/conformance.md`, written anew by every whole run. What it says depends on nothing but what was checked.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::floor::Floor;
use crate::legs::{Leg, Part};
use crate::results::Outcome;

/// A leg that was played.
pub(crate) struct Played {
    pub(crate) leg: Leg,
    /// Its scenarios that a revision requires.
    pub(crate) required: Vec<String>,
    pub(crate) outcomes: BTreeMap<String, Outcome>,
}

/// What a leg comes to.
#[derive(Debug, PartialEq)]
struct Sum {
    required: (usize, usize),
    others: (usize, usize),
    checks: usize,
}

impl Played {
    fn sum(&self, floor: &Floor) -> Sum {
        let mut sum = Sum { required: (0, 0), others: (0, 0), checks: 0 };
        for (name, outcome) in &self.outcomes {
            let (passed, of) = if self.required.contains(name) { &mut sum.required } else { &mut sum.others };
            *of += 1;
            if !floor.is_not_yet(self.leg.name, name) {
                *passed += 1;
                sum.checks += outcome.passed;
            }
        }
        sum
    }
}

/// One line of all legs.
pub(crate) fn summary(floor: &Floor, played: &[Played]) -> String {
    let leg = |played: &Played| {
        let Sum { required, others, checks } = played.sum(floor);
        format!("{} {}/{} with {checks} checks", played.leg.name, required.0 + others.0, required.1 + others.1)
    };
    played.iter().map(leg).collect::<Vec<_>>().join(", ")
}

/// Writes the page where it says something else than before.
pub(crate) fn write(suite: &str, floor: &Floor, played: &[Played]) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let text = page(suite, floor, played);
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn page(suite: &str, floor: &Floor, played: &[Played]) -> String {
    let mut out = format!(
        "# Conformance\n\n\
         Written by `cargo xtask conformance`, which plays the client scenarios of the official suite, \
         `@modelcontextprotocol/conformance` {suite}, with a client made of trunkline {}'s public interface \
         ([tests/conformance](../tests/conformance/src/client)). A scenario passes when none of its checks fails or warns, at \
         least one succeeds, the client ends as it should, and no fewer checks succeed than [before](../tests/conformance/floor.json). The suite makes some checks once for each request, \
         so clients that make more of them pass more.\n\n\
         | leg | required | others | checks passed | failed |\n| --- | --- | --- | --- | --- |\n",
        env!("CARGO_PKG_VERSION"),
    );
    for played in played {
        let Sum { required, others, checks } = played.sum(floor);
        let of = |(passed, of): (usize, usize)| if of == 0 { "–".to_owned() } else { format!("{passed}/{of}") };
        let _ = writeln!(out, "| {} | {} | {} | {checks} | 0 |", title(&played.leg), of(required), of(others));
    }
    for played in played {
        let _ = write!(out, "\n## {}\n\n| scenario | | checks passed |\n| --- | --- | --- |\n", title(&played.leg));
        for (name, outcome) in &played.outcomes {
            let sort = if played.required.contains(name) { "required" } else { "" };
            let count = outcome.passed.to_string();
            let shown = if floor.is_not_yet(played.leg.name, name) { "not yet" } else { &count };
            let _ = writeln!(out, "| {name} | {sort} | {shown} |");
        }
    }
    out
}

fn title(leg: &Leg) -> String {
    match leg.part {
        Part::Requirements => format!("Revision {}", leg.name),
        Part::Suite(name) => format!("Revision {} ({name})", leg.name),
        Part::Scenarios(_) => format!("Extension: {}", leg.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legs::LEGS;
    use crate::results::End;

    #[test]
    fn a_page_counts_what_passed_and_names_what_does_not_yet() {
        let floor =
            serde_json::from_str(r#"{"2025-11-25": {"not_yet": ["later"], "checks": {"a": 1, "b": 2}}}"#).unwrap();
        let outcomes = [("a", 1), ("b", 2), ("later", 7)]
            .map(|(name, passed)| (name.to_owned(), Outcome { passed, failed: vec![], end: End::None }));
        let played =
            Played { leg: LEGS[0], required: vec!["a".to_owned(), "later".to_owned()], outcomes: outcomes.into() };
        let text = page("9.9", &floor, std::slice::from_ref(&played));
        assert!(text.contains("| Revision 2025-11-25 | 1/2 | 1/1 | 3 | 0 |\n"), "{text}");
        assert!(text.contains("| a | required | 1 |\n| b |  | 2 |\n| later | required | not yet |\n"), "{text}");
        assert_eq!(summary(&floor, &[played]), "2025-11-25 2/3 with 3 checks");
    }
}
