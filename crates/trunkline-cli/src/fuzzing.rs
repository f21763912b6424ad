//! From any bytes to what the laws of the program's parsers take: the ways in for the fuzzers of `fuzz/`, and for their
//! seeds as unit tests.

use trunkline::RawJson;

use crate::{commands, render, values};

/// The name of a fuzzer, and what it does with its input.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[("arguments", arguments), ("display", display), ("reply", reply)];

/// A schema, the value of `--args` (empty for none) and single arguments, NUL between them.
pub fn arguments(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split('\0');
    let Ok(schema) = RawJson::parse(parts.next().unwrap_or_default().trim().to_owned()) else { return };
    let names_no_file = |text: &&str| *text != "-" && (!text.contains('@') || text.contains("=@@"));
    let whole = parts.next().filter(|whole| !whole.is_empty() && !whole.starts_with('@'));
    let typed: Vec<_> = parts.filter(names_no_file).map(str::to_owned).collect();
    values::laws::arguments(&schema, &typed, whole);
}

pub fn display(data: &[u8]) {
    render::laws::shown(&String::from_utf8_lossy(data));
}

/// The first byte is the length of the chunks.
pub fn reply(data: &[u8]) {
    let Some((&length, rest)) = data.split_first() else { return };
    commands::ask::replies(&rest.chunks(usize::from(length).max(1)).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests;
