//! Keeps the table of `docs/limits.md` true: it is what the fields of `Limits` say of themselves. `UPDATE=1` writes it.

use std::path::Path;

/// `max_message` as a config entry spells it.
fn key_of(field: &str) -> String {
    let mut key = String::new();
    for letter in field.chars() {
        match key.strip_suffix('_').map(str::len) {
            Some(length) => {
                key.truncate(length);
                key.push(letter.to_ascii_uppercase());
            }
            None => key.push(letter),
        }
    }
    key
}

/// One row a field, from its documentation.
fn rows(source: &str) -> String {
    let fields = source.split_once("pub struct Limits {").unwrap().1.split_once("\n}").unwrap().0;
    let (mut rows, mut told) = (String::new(), Vec::new());
    for line in fields.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            told.push(text.trim());
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|field| field.split_once(':')) {
            rows += &format!("| `{}` | {} |\n", key_of(name), told.join(" "));
            told.clear();
        }
    }
    rows
}

#[test]
fn the_page_of_limits_says_what_the_code_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rows = rows(&std::fs::read_to_string(root.join("crates/trunkline/src/limits.rs")).unwrap());
    assert!(rows.lines().count() > 25 && rows.contains("| `maxMessage` | The largest message"), "{rows}");
    let path = root.join("docs/limits.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let head = "| key | what |\n| --- | --- |\n";
    let (before, table) = page.split_once(head).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{head}{rows}")).unwrap();
    } else {
        assert_eq!(table, rows, "docs/limits.md is behind crates/trunkline/src/limits.rs; run this test with UPDATE=1");
    }
}
