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

const SKILLS: [&str; 4] = [
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
];
