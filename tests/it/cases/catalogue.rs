//! Keeps the table of `docs/robustness.md` true: every case is there, and beside it exactly the tests that are named after it.
//! `UPDATE=1` writes the tests into the page; what is said about a case is written by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How many faults there are.
const CASES: u32 = 99;

/// Cases that need what isn't built yet; their rows say what.
const LATER: [u32; 0] = [];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every test that is named after a case: the case's number → file → tests.
fn tests() -> BTreeMap<u32, BTreeMap<String, Vec<String>>> {
    let mut found: BTreeMap<u32, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let mut folders = vec![root().join("tests"), root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                let source = std::fs::read_to_string(&path).unwrap();
                for (cases, name) in source.lines().filter_map(test_of) {
                    for case in cases {
                        found.entry(case).or_default().entry(file.clone()).or_default().push(name.to_owned());
                    }
                }
            }
        }
    }
    found
}

/// The cases and the name of the test that a line of source begins. A test may be one of several cases: `p43_p46_…`.
fn test_of(line: &str) -> Option<(Vec<u32>, &str)> {
    let line = line.trim_start();
    let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?.split('(').next()?;
    let case = |part: &str| part.strip_prefix('p').filter(|digits| digits.len() == 2)?.parse().ok();
    let cases: Vec<_> = name.split('_').map_while(case).collect();
    (!cases.is_empty()).then_some((cases, name))
}

/// The page as it should be.
fn page(text: &str) -> String {
    let tests = tests();
    let mut out = String::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match line.strip_prefix("| P-").and_then(|row| row.get(..2)?.parse().ok()) {
            Some(case) => {
                assert!(cells.len() == 4, "case, fault, behaviour, tests: {line}");
                let told = tests.get(&case).map_or_else(|| missing(case, cells[3]), told);
                writeln!(out, "| {} | {} | {} | {told} |", cells[0], cells[1], cells[2]).unwrap();
            }
            None => writeln!(out, "{line}").unwrap(),
        }
    }
    out
}

fn missing(case: u32, cell: &str) -> String {
    assert!(LATER.contains(&case), "case P-{case:02} has no test");
    assert!(cell.starts_with("later: "), "case P-{case:02} has no test and no word on why: {cell}");
    cell.to_owned()
}

fn told(files: &BTreeMap<String, Vec<String>>) -> String {
    let files = files.iter().map(|(file, tests)| {
        let names: Vec<_> = tests.iter().map(|name| format!("`{name}`")).collect();
        let short = file.rsplit('/').next().unwrap();
        format!("[{short}](../{file}): {}", names.join(", "))
    });
    files.collect::<Vec<_>>().join("; ")
}

#[test]
fn every_case_has_its_tests_and_the_page_names_them() {
    let path = root().join("docs/robustness.md");
    let text = std::fs::read_to_string(&path).unwrap();
    for case in 1..=CASES {
        assert_eq!(text.matches(&format!("\n| P-{case:02} | ")).count(), 1, "case P-{case:02}");
    }
    let page = page(&text);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page).unwrap();
    } else if page != text {
        let first = page.lines().zip(text.lines()).find(|(new, old)| new != old);
        panic!("docs/robustness.md is behind the tests; run this test with UPDATE=1. First difference: {first:?}");
    }
}
