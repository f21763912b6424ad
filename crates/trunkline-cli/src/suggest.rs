//! The name that was probably meant.

/// The candidate nearest to `name`, where one is near at all. Case and the choice of `-` or `_` don't count.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let wanted = plain(name);
    let near = candidates.into_iter().filter_map(|candidate| {
        let other = plain(candidate);
        let (a, b) = (wanted.chars().count(), other.chars().count());
        let (length, apart) = (a.max(b), a.abs_diff(b));
        let most = (length / 3).clamp(1, 4);
        // servers make names up: long ones aren't searched for slips, which takes the square of the length
        let edits = (apart <= most && length <= 200).then(|| strsim::osa_distance(&wanted, &other));
        let slip = edits.filter(|edits| *edits <= most && *edits < length);
        let part = wanted.len() >= 3 && other.contains(&wanted);
        let distance = slip.or_else(|| part.then_some(100 + apart))?;
        Some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Names in quotes, the first of them and how many more there are.
pub(crate) fn listing<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let told: Vec<_> = names.iter().take(12).map(|name| format!("\"{name}\"")).collect();
    match names.len() - told.len() {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// What to say of a name that doesn't exist.
pub(crate) fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    match nearest(name, candidates.clone()) {
        Some(meant) => Some(format!("Did you mean \"{meant}\"?")),
        None => {
            let all = listing(candidates);
            (!all.is_empty()).then(|| format!("There are {all}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_nothing_far_fetched() {
        let names = ["echo", "read_file", "search_files"];
        for (name, meant) in [
            ("ecko", Some("echo")),
            ("READ-FILE", Some("read_file")),
            ("search", Some("search_files")),
            ("delete", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), meant, "{name}");
        }
        assert_eq!(hint("zzz", ["a", "b"]).as_deref(), Some("There are \"a\", \"b\""));
        assert_eq!(hint("zzz", []), None);
    }
}
