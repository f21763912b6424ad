//! The rules of entries, front matter and paths.

use serde_json::{Value, json};

use super::entry::Entry;
use super::{frontmatter, path, verify};
use crate::protocol::RawJson;

const DIGEST: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; // of "hello"

fn entry() -> Value {
    json!({
        "uri": "skill://acme/refunds/SKILL.md",
        "frontmatter": {"name": "refunds", "description": "Pays back"},
        "resources": [
            {"uri": "skill://acme/refunds/SKILL.md", "digest": DIGEST, "size": 5},
            {"uri": "skill://acme/refunds/examples/email.md", "digest": DIGEST, "size": 5},
        ],
    })
}

fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut value = entry();
    change(&mut value);
    Entry::read(RawJson::from(value)).map(|_| ()).unwrap_err()
}

#[test]
fn an_entry_that_breaks_the_rules_is_refused_with_the_rule() {
    let whole = Entry::read(entry().into()).unwrap();
    assert_eq!((whole.root(), whole.files.as_ref().unwrap().len()), ("skill://acme/refunds", 2));
    let mut dynamic = entry();
    dynamic["resources"] = json!("dynamic");
    assert!(Entry::read(dynamic.into()).unwrap().files.is_none());

    type Change = fn(&mut Value);
    let cases: [(&str, Change); 11] = [
        ("no \"uri\"", |e| e["uri"] = Value::Null),
        ("no SKILL.md", |e| e["uri"] = json!("skill://acme/refunds/README.md")),
        ("folder of another name", |e| e["frontmatter"]["name"] = json!("returns")),
        ("no description", |e| e["frontmatter"]["description"] = json!(7)),
        ("neither lists", |e| e["resources"] = json!("static")),
        ("neither lists", |e| e["resources"] = Value::Null),
        ("doesn't list its SKILL.md", |e| drop(e["resources"].as_array_mut().unwrap().remove(0))),
        ("twice", |e| e["resources"][1] = e["resources"][0].clone()),
        ("isn't in its folder", |e| e["resources"][1]["uri"] = json!("skill://acme/refunds2/email.md")),
        ("isn't in its folder", |e| e["resources"][1]["uri"] = json!("skill://acme/refunds/../other/SKILL.md")),
        ("no SHA-256", |e| e["resources"][1]["digest"] = json!(DIGEST.to_uppercase())),
    ];
    for (why, change) in cases {
        let found = refused(change);
        assert!(found.contains(why), "{found}, not {why}");
    }
    assert!(refused(|e| e["resources"][0]["size"] = json!(-1)).contains("no size"));
}

#[test]
fn content_is_held_against_size_and_digest() {
    let entry = Entry::read(entry().into()).unwrap();
    let file = entry.file("skill://acme/refunds/SKILL.md").unwrap();
    assert_eq!(verify::content(file, b"hello"), Ok(()));
    assert_eq!(verify::content(file, b"hallo"), Err("has another digest".to_owned()));
    assert_eq!(verify::content(file, b"hello "), Err("has 6 bytes, not 5".to_owned()));
}

#[test]
fn front_matter_becomes_json_by_the_core_schema() {
    let text = "---\nname: a-b\ndescription: >\n  two\n  lines\nversion: 1.10\nno: no\nwhen: 2026-01-02\non: true\nnothing:\n\
                hex: 0x1f\noct: 0o17\nquoted: \"1\"\nlist: [1, 'two', ~]\nmetadata:\n  depth: -3\n  big: 1e3\n---\n\n# Body\n---\n";
    let fields = frontmatter::read(text).unwrap();
    let wanted = json!({"name": "a-b", "description": "two lines\n", "version": 1.1, "no": "no", "when": "2026-01-02", "on": true,
        "nothing": null, "hex": 31, "oct": 15, "quoted": "1", "list": [1, "two", null], "metadata": {"depth": -3, "big": 1000}});
    assert_eq!(verify::frontmatter(&wanted.into(), text), Ok(()), "{fields:?}");
    let crlf = "---\r\nname: a\r\n---\r\nbody";
    assert_eq!(frontmatter::read(crlf).unwrap()["name"], json!("a"));
}

#[test]
fn what_json_cannot_say_and_what_could_grow_is_refused() {
    let cases = [
        ("name: x", "no front matter"),
        ("---\nname: x\n", "no front matter"),
        ("---\na: &x [1]\nb: *x\n---\n", "alias"),
        ("---\na: !!binary aGk=\n---\n", "tag"),
        ("---\na: .inf\n---\n", "JSON can't say"),
        ("---\na: 1\na: 2\n---\n", "twice"),
        ("---\n- a\n---\n", "without fields"),
        ("---\n---\n", "empty"),
        ("---\na: [\n---\n", "no YAML"),
    ];
    for (text, why) in cases {
        let found = frontmatter::read(text).unwrap_err();
        assert!(found.contains(why), "{text:?}: {found}, not {why}");
    }
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(40), "]".repeat(40));
    assert!(frontmatter::read(&deep).unwrap_err().contains("nests"));
    let long = format!("---\na: {}\n---\n", "x".repeat(70_000));
    assert!(frontmatter::read(&long).unwrap_err().contains("over"));
}

#[test]
fn each_field_of_the_front_matter_is_compared() {
    let text = "---\nname: a\ndescription: b\nlicense: MIT\n---\n";
    let why = |entry: Value| verify::frontmatter(&entry.into(), text).unwrap_err();
    assert!(why(json!({"name": "a", "description": "c", "license": "MIT"})).contains("\"description\""));
    assert!(why(json!({"name": "a", "description": "b"})).contains("\"license\""));
    assert!(why(json!({"name": "a", "description": "b", "license": "MIT", "x": 1})).contains("\"x\""));
}

#[test]
fn a_path_stays_in_the_folder() {
    let within = |file| path::within("skill://acme/refunds", file);
    assert_eq!(within("examples/email.md").as_deref(), Some("skill://acme/refunds/examples/email.md"));
    assert_eq!(within("./a/../b.md").as_deref(), Some("skill://acme/refunds/b.md"));
    assert_eq!(within("skill://acme/refunds/b.md").as_deref(), Some("skill://acme/refunds/b.md"));
    for out in [
        "../other/SKILL.md",
        "a/../../b",
        "/etc/passwd",
        "skill://acme/other/SKILL.md",
        "skill://acme/refunds2/x",
        "",
        ".",
    ] {
        assert_eq!(within(out), None, "{out}");
    }
}
