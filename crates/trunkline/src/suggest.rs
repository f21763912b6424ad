//! Words for a name that doesn't exist: the nearest one, and what there is. Finds names in lists; what the
//! lists hold is left to others.

use crate::error::{Error, ErrorKind};

/// So many names are told in full.
const TOLD: usize = 20;

/// Longer names aren't searched for slips: it takes the square of the length, and servers make names up.
const COMPARED: usize = 200;

/// The candidate that was probably meant. Case is ignored, and `-` is as good as `_`.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    if wanted.is_empty() {
        return None;
    }
    let scored =
        candidates.into_iter().filter_map(|candidate| Some((distance(&wanted, &plain(candidate))?, candidate)));
    scored.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, candidate)| candidate)
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

/// How far apart two plain names are; nothing where one can't be a slip for the other.
fn distance(wanted: &str, candidate: &str) -> Option<usize> {
    let (a, b) = (wanted.chars().count(), candidate.chars().count());
    let (length, apart) = (a.max(b), a.abs_diff(b));
    let most = (length / 3).clamp(1, 4);
    if apart <= most && length <= COMPARED {
        let edits = strsim::osa_distance(wanted, candidate);
        if edits <= most && edits < length {
            return Some(edits);
        }
    }
    // A part of the name, such as `search` for `search_files`: worse than any slip.
    let part = wanted.len() >= 3 && candidate.contains(wanted) || candidate.len() >= 4 && wanted.contains(candidate);
    part.then_some(100 + apart)
}

/// The names in quotes, the first twenty of them and how many more there are.
pub(crate) fn listing<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let told: Vec<_> = names.iter().take(TOLD).map(|name| format!("\"{name}\"")).collect();
    match names.len().saturating_sub(TOLD) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// The error for a `kind` (tool, prompt, resource, server) that doesn't exist: it names the nearest and what
/// there is. `server` may be empty where there is none to name.
pub(crate) fn unknown<'a>(kind: &str, name: &str, server: &str, available: impl IntoIterator<Item = &'a str>) -> Error {
    let available: Vec<_> = available.into_iter().collect();
    let place = if server.is_empty() { String::new() } else { format!(" on server \"{server}\"") };
    let named = if kind == "resource" { "" } else { " named" };
    let there_are = match available.as_slice() {
        [] => format!("There are no {kind}s{place}"),
        [only] => format!("The only {kind} is \"{only}\""),
        names => format!("There are {}", listing(names.iter().copied())),
    };
    let hint = match nearest(name, available.iter().copied()) {
        Some(meant) if available.len() > 1 => format!("Did you mean \"{meant}\"? {there_are}"),
        Some(meant) => format!("Did you mean \"{meant}\"?"),
        None => there_are,
    };
    let error = Error::new(ErrorKind::NotFound, format!("No {kind}{named} \"{name}\"{place}")).with_hint(hint);
    let error = if server.is_empty() { error } else { error.with_context("server", server) };
    if available.is_empty() { error } else { error.with_context("available", available.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_far_fetched() {
        let names = ["read_file", "read_files", "search_files", "write", "a", "ls", "get_alerts"];
        for (name, meant) in [
            ("read_fil", Some("read_file")),
            ("READ-FILES", Some("read_files")),
            ("readfile", Some("read_file")),
            ("raed_file", Some("read_file")),
            ("search", Some("search_files")),
            ("wrlte", Some("write")),
            ("sl", Some("ls")),
            ("write_file_now", Some("write")),
            ("delete_everything", None),
            ("b", None),
            ("", None),
            ("xyz", None),
        ] {
            assert_eq!(nearest(name, names), meant, "{name}");
        }
        assert_eq!(nearest("x", []), None);
        // in no time, however long the names
        assert_eq!(
            nearest(&"x".repeat(200_000), [&*"y".repeat(200_000), &*"x".repeat(200_001)]).map(str::len),
            Some(200_001)
        );
    }

    #[test]
    fn an_unknown_name_tells_the_nearest_and_what_there_is() {
        let error = unknown("tool", "serch", "docs", ["search", "fetch"]);
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.message(), "No tool named \"serch\" on server \"docs\"");
        assert_eq!(error.hint(), Some("Did you mean \"search\"? There are \"search\", \"fetch\""));
        assert_eq!((error.get("server"), error.get("available")), (Some("docs"), Some("search, fetch")));
    }

    #[test]
    fn few_and_none_and_many_read_well() {
        assert_eq!(unknown("prompt", "x", "s", []).hint(), Some("There are no prompts on server \"s\""));
        assert_eq!(unknown("tool", "x", "", ["zeta"]).hint(), Some("The only tool is \"zeta\""));
        assert_eq!(unknown("tool", "zet", "", ["zeta"]).hint(), Some("Did you mean \"zeta\"?"));
        assert_eq!(unknown("resource", "a://b", "s", []).message(), "No resource \"a://b\" on server \"s\"");
        let many: Vec<String> = (0..23).map(|n| format!("tool{n:02}")).collect();
        let error = unknown("tool", "qqqqqqqq", "", many.iter().map(String::as_str));
        assert!(error.hint().unwrap().ends_with("\"tool19\" and 3 more"), "{error:?}");
        assert!(error.get("available").unwrap().ends_with("tool22"));
    }
}
