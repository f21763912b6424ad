//! What to say when the cassette has no answer: the nearest there is, where that differs, and how to record again.

use super::compare::{Difference, Rules};
use super::reel::{Reel, Scene};
use crate::error::{Error, ErrorKind};
use crate::protocol::RawJson;
use crate::suggest;

/// So many differences are told.
const TOLD: usize = 3;

/// So many characters of a value are told.
const LONGEST: usize = 60;

/// No recorded call fits.
pub(super) fn nothing_fits(reel: &Reel, method: &str, given: &RawJson, rules: &Rules) -> Error {
    let alike = reel.scenes.iter().filter(|scene| scene.call.method == method);
    let measured = alike.map(|scene| (scene, rules.differences(&scene.wanted, given)));
    let nearest = measured.min_by_key(|(scene, found)| (name_of(&scene.wanted) != name_of(given), found.len()));
    let message = format!("The recording of server \"{}\" has no answer to {}", reel.server, told(method, given));
    let Some((scene, found)) = nearest else {
        let mut methods: Vec<_> = reel.scenes.iter().map(|scene| scene.call.method.as_str()).collect();
        methods.sort_unstable();
        methods.dedup();
        let recorded = if methods.is_empty() { "nothing".to_owned() } else { suggest::listing(methods) };
        return missed(reel, format!("{message}: recorded is only {recorded}"));
    };
    missed(reel, format!("{message}: the nearest is {}", at(scene, &found))).with_context("differs", all(&found))
}

/// The recorded order has something else here.
pub(super) fn another_is_due(reel: &Reel, due: &Scene, method: &str, given: &RawJson, rules: &Rules) -> Error {
    let (asked, expected) = (told(method, given), told(&due.call.method, &due.wanted));
    let start = format!("The recording of server \"{}\" goes on with", reel.server);
    if asked != expected {
        return missed(reel, format!("{start} {expected} in line {}, not with {asked}", due.line));
    }
    let found = rules.differences(&due.wanted, given);
    missed(reel, format!("{start} another {asked}, {}", at(due, &found))).with_context("differs", all(&found))
}

/// The recorded order is at its end.
pub(super) fn at_the_end(reel: &Reel, method: &str, given: &RawJson) -> Error {
    let asked = told(method, given);
    missed(reel, format!("The recording of server \"{}\" is at its end, with no answer left to {asked}", reel.server))
}

fn missed(reel: &Reel, message: String) -> Error {
    let hint = "Record it again (ClientBuilder::record in code, --record FILE on the command line), or have what \
                always differs ignored (Cassette::ignoring, --ignore PATH)";
    Error::new(ErrorKind::NotFound, message).with_hint(hint).with_context("cassette", reel.path.display().to_string())
}

/// Which call it is: its method, and which tool, resource or prompt.
pub(super) fn told(method: &str, params: &RawJson) -> String {
    match name_of(params) {
        Some(name) => format!("{method} \"{name}\""),
        None => method.to_owned(),
    }
}

fn name_of(params: &RawJson) -> Option<String> {
    params.text("name").or_else(|| params.text("uri"))
}

fn at(scene: &Scene, found: &[Difference]) -> String {
    let told = found.first().map_or_else(String::new, |difference| format!(", with {}", difference_told(difference)));
    let more = match found.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("in line {}{told}{more}", scene.line)
}

fn all(found: &[Difference]) -> String {
    let told: Vec<_> = found.iter().take(TOLD).map(difference_told).collect();
    told.join("; ")
}

fn difference_told(difference: &Difference) -> String {
    let value = |value: &Option<RawJson>| value.as_ref().map_or_else(|| "nothing".to_owned(), short);
    let path = if difference.path.is_empty() { "/" } else { &difference.path };
    format!("{} at {path} instead of {}", value(&difference.recorded), value(&difference.given))
}

fn short(value: &RawJson) -> String {
    let text = value.to_string();
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() { start + "..." } else { start }
}
