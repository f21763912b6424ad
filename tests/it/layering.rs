//! Holds the library to the map in ARCHITECTURE.md by reading its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every source file of the library: its module, its path, and its code without comments, docs and unit tests.
fn sources() -> Vec<(String, PathBuf, String)> {
    let src = root().join("crates/trunkline/src");
    let (mut found, mut folders) = (Vec::new(), vec![src.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !is_test(&path) {
                let inside = path.strip_prefix(&src).unwrap().to_owned();
                let module = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((module.trim_end_matches(".rs").to_owned(), inside, code(&text)));
            }
        }
    }
    assert!(found.len() > 30, "the sources were found");
    found.sort();
    found
}

/// Unit tests, and what the fuzzers check.
fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.ends_with("laws.rs")
}

fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The table of ARCHITECTURE.md: module → what it may use.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = text.split("| module | owns | may use |").nth(1).expect("the table of modules");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').collect();
        (names(cells[1])[0].clone(), names(cells[3]).into_iter().collect())
    })
    .collect()
}

/// The modules of this crate that a piece of code names.
fn used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for piece in code.split("crate::").skip(1) {
        let word: String = piece.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        // a re-exported type or a macro's path: `crate::Limits`
        if word.chars().next().is_some_and(char::is_lowercase) {
            used.insert(word);
        }
    }
    used
}

#[test]
fn modules_use_only_what_the_map_allows() {
    let allowed = allowed();
    let mut wrong = Vec::new();
    for (module, path, code) in sources() {
        if module == "lib" || module == "blocking" {
            continue; // the map itself; the twins of everything
        }
        let may = allowed.get(&module).unwrap_or_else(|| panic!("ARCHITECTURE.md doesn't list the module {module}"));
        for other in used(&code) {
            let free = other == module || matches!(other.as_str(), "error" | "protocol") || may.contains(&other);
            if !free {
                wrong.push(format!("{} uses {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "not allowed by ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

#[test]
fn nobody_uses_the_blocking_twins() {
    for (module, path, code) in sources() {
        assert!(module == "blocking" || module == "lib" || !used(&code).contains("blocking"), "{}", path.display());
    }
}

/// Asserts that only the files for which `may` holds contain one of `words`.
fn only_in(words: &[&str], may: impl Fn(&str, &Path) -> bool) {
    let mut seen = false;
    for (module, path, code) in sources() {
        for word in words {
            let found = code.contains(word);
            seen |= found;
            assert!(!found || may(&module, &path), "{} holds {word}", path.display());
        }
    }
    // a check that looks for something that is nowhere has gone stale, unless it has to be nowhere
    let _ = seen;
}

#[test]
fn transport_names_no_method_of_the_protocol() {
    let methods =
        ["tools/", "resources/", "prompts/", "notifications/", "\"initialize\"", "\"ping\"", "server/discover"];
    only_in(&methods, |module, _| module != "transport");
}

#[test]
fn only_result_unwraps_a_result() {
    only_in(&["\"structuredContent\"", "b\"structuredContent\""], |_, path| path == Path::new("protocol/result.rs"));
    only_in(&["fn into_value"], |_, path| path == Path::new("protocol/result.rs"));
}

#[test]
fn only_name_makes_exposed_names() {
    only_in(&["}_{"], |module, _| module == "name");
    only_in(&["split_once('_')", "split('_')", "rsplit('_')", "split_once(\"_\")"], |_, _| false);
}

#[test]
fn the_library_prints_nothing() {
    only_in(&["println!", "print!(", "dbg!(", "stdout().write", "stderr().write"], |_, _| false);
}

#[test]
fn only_one_module_reads_the_environment() {
    let readers = ["env::var", "env::vars", "env::home_dir", "env::current_dir", "env::temp_dir"];
    only_in(&readers, |module, _| module == "environment");
}

#[test]
fn there_is_no_unsafe_code() {
    only_in(&["unsafe "], |_, _| false);
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"forbid\""));
}
