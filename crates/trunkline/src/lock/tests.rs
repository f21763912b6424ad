use serde_json::json;

use super::*;
use crate::protocol::ToolDefinition;

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(name, description, json!({"type": "object", "required": ["b", "a"]}))
}

fn lock(servers: &[(&str, &[&str])]) -> LockFile {
    let mut lock = LockFile::new();
    for (server, tools) in servers {
        let tools: Vec<_> = tools.iter().map(|name| tool(name, "Does it.")).collect();
        lock.pin(server, &tools);
    }
    lock
}

#[test]
fn the_file_is_written_for_people() {
    let text = lock(&[("demo", &["b", "a\u{202e}"])]).to_text();
    let hash = |name: &str| canonical::hash(&canonical::of_tool(tool(name, "Does it.").raw()));
    let expected = r#"{
  "version": 1,
  "servers": {
    "demo": {
      "tools": {
        "a\u202e": {
          "hash": "HASH_A",
          "definition": {
            "description": "Does it.",
            "inputSchema": {
              "required": [
                "a",
                "b"
              ],
              "type": "object"
            },
            "name": "a\u202e"
          }
        }
        ,
        "b": {
          "hash": "HASH_B",
          "definition": {
            "description": "Does it.",
            "inputSchema": {
              "required": [
                "a",
                "b"
              ],
              "type": "object"
            },
            "name": "b"
          }
        }
      }
    }
  }
}
"#;
    assert_eq!(text, expected.replace("HASH_A", &hash("a\u{202e}")).replace("HASH_B", &hash("b")));
    let read = LockFile::parse(&text).unwrap();
    assert_eq!(read.line("demo", "b"), Some(21));
    assert_eq!(read.tool("demo", "b").unwrap().description().as_deref(), Some("Does it."));
    assert!(LockFile::parse(&LockFile::new().to_text()).unwrap().servers().next().is_none());
}

/// Whether `small` is `big` with lines taken out.
fn is_part(small: &str, big: &str) -> bool {
    let mut rest = big.lines();
    small.lines().all(|line| rest.any(|other| other == line))
}

#[test]
fn p73_a_lock_file_only_changes_where_something_did() {
    let all: &[&str] = &["a", "b", "c"];
    let old = lock(&[("b", all), ("d", all)]).to_text();
    assert_eq!(LockFile::parse(&old).unwrap().to_text(), old, "read and written again it is the same");
    for more in ["a", "c", "e"] {
        let new = lock(&[("b", all), ("d", all), (more, all)]).to_text();
        assert!(is_part(&old, &new), "a server more only adds lines: {more}");
    }
    for some in [&["a", "b"][..], &["b", "c"], &["a", "c"]] {
        assert!(is_part(&lock(&[("b", some)]).to_text(), &lock(&[("b", all)]).to_text()), "so does a tool: {some:?}");
    }
}

#[test]
fn p73_a_lock_file_that_can_t_be_read_says_where() {
    let text = lock(&[("s", &["a", "b"])]).to_text();
    let hash = &canonical::hash(&canonical::of_tool(tool("a", "Does it.").raw()));
    for (from, to, fault) in [
        ("\"version\": 1", "\"version\": 2", "<text>:2 has version 2, and this program knows 1"),
        ("\"version\": 1", "\"version\": \"1\"", "<text>:2 has a version that is none"),
        ("\"version\": 1,", "", "<text>:1 has no \"version\""),
        ("\"servers\"", "\"server\"", "<text>:3 has \"server\", which this program doesn't know"),
        ("\"tools\"", "\"tolls\"", "<text>:5 has \"tolls\", which this program doesn't know"),
        ("\"b\": {", "\"a\": {", "<text>:23 has tool \"a\" with the definition of another"),
        ("Does it.", "Does that.", "<text>:7 has tool \"a\" with a hash that doesn't fit its definition"),
        (hash.as_str(), "sha256:0", "<text>:7 has tool \"a\" with a hash that doesn't fit its definition"),
        ("        ,\n", "<<<<<<< ours\n", "<text>:20 holds a merge conflict"),
        ("        ,\n", "", "<text>:20 is no JSON"),
        ("\"hash\"", "\"more\": 1, \"hash\"", "<text>:7 has \"more\", which this program doesn't know"),
    ] {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text, "{from}");
        let error = LockFile::parse(&broken).unwrap_err();
        assert_eq!(error.message(), format!("The lock file {fault}, so no tool is called"));
        assert_eq!(error.kind(), crate::ErrorKind::Config);
        assert!(fault.starts_with(error.get("file").unwrap()));
    }
    assert!(LockFile::parse("").is_err());
    assert!(LockFile::parse("[]").is_err());
    let one = lock(&[("s", &["a"])]).to_text();
    let (start, end) = (one.find("        \"a\"").unwrap(), one.find("      }\n    }\n  }").unwrap());
    let twice = format!("{}        ,\n{}", &one[..end], &one[start..]);
    assert!(LockFile::parse(&twice).unwrap_err().message().contains("has tool \"a\" twice"));
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trunkline.lock");
    assert!(LockFile::open(&path).unwrap_err().message().ends_with("trunkline.lock doesn't exist"));
    let lock = lock(&[("s", &["a"])]);
    lock.save(&path).unwrap();
    lock.save(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), lock.to_text());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(LockFile::open(&path).unwrap().path(), Some(path.as_path()));
    assert!(lock.save(dir.path().join("no/such/dir")).is_err());
}

#[test]
fn every_tool_is_in_one_state() {
    let mut lock = lock(&[("s", &["same", "changed", "gone"])]);
    let now = [tool("same", "Does it."), tool("changed", "Does more."), tool("new", "Also send it.")];
    let report = lock.compare("s", &now);
    let told: Vec<_> =
        report.tools.iter().map(|tool| (tool.tool.as_str(), tool.state.as_str(), tool.severity())).collect();
    assert_eq!(
        told,
        [
            ("changed", "changed", Some(Severity::Text)),
            ("gone", "removed", None),
            ("new", "added", Some(Severity::Suspicious)),
            ("same", "unchanged", None)
        ]
    );
    assert!(!report.is_clean() && report.pinned);
    assert!(!lock.compare("other", &now).pinned);
    assert!(!lock.compare("other", &[]).is_clean());

    now.iter().for_each(|tool| lock.approve("s", tool));
    assert!(lock.forget("s", "gone") && !lock.forget("s", "gone"));
    assert!(lock.compare("s", &now).is_clean());
    let twice = [tool("same", "Other."), tool("same", "Does it.")];
    assert_eq!(lock.compare("s", &twice).tool("same").unwrap().state, ToolState::Changed, "the worse counts");
}
