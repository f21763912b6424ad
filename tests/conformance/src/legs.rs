//! Which parts of the suite are played.

/// One call of the suite's command, or, for scenarios that are in none of its sets, one for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    /// Its name, here and in the floor.
    pub(crate) name: &'static str,
    /// The revision spoken.
    pub(crate) spec: &'static str,
    pub(crate) part: Part,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// What a revision requires, and what is run with it without being scored.
    Requirements,
    /// A suite by name.
    Suite(&'static str),
    /// Scenarios by name.
    Scenarios(&'static [&'static str]),
}

pub(crate) const LEGS: [Leg; 4] = [
    Leg { name: "2025-11-25", spec: "2025-11-25", part: Part::Requirements },
    Leg { name: "2026-07-28", spec: "2026-07-28", part: Part::Requirements },
    Leg { name: "2025-03-26", spec: "2025-03-26", part: Part::Suite("backcompat") },
    Leg { name: "skills", spec: "2025-11-25", part: Part::Scenarios(&SKILLS) },
];

/// The revision without a handshake.
const MODERN: &str = "2026-07-28";

impl Leg {
    /// Whether this is the era the leg is about. The suite's servers are lenient, and let a scenario pass in the other one.
    pub(crate) fn is_played_in(&self, revision: &str) -> bool {
        match self.part {
            Part::Scenarios(_) => true,
            _ => (revision == MODERN) == (self.spec == MODERN),
        }
    }
}

const SKILLS: [&str; 4] = [
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leg_is_played_in_its_own_era() {
        let [legacy, modern, old, skills] = &LEGS;
        for (leg, eras) in
            [(legacy, [true, false]), (old, [true, false]), (modern, [false, true]), (skills, [true, true])]
        {
            assert_eq!([leg.is_played_in("2025-06-18"), leg.is_played_in(MODERN)], eras, "{leg:?}");
        }
    }
}
