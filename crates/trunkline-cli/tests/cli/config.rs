//! `trunkline config`, and which files are used.

use serde_json::json;

use crate::harness::Bench;

#[test]
fn p72_entries_losers_and_problems_are_shown_and_secrets_are_not() {
    let bench = Bench::new();
    let first = bench.config_at(
        "first.json",
        [
            (
                "a",
                json!({"command": "x", "args": ["--token=T0K-aaaa", "y z"], "env": {"KEY": "k3y-bbbb", "R": "${REF}"}}),
            ),
            ("bad", json!({"url": 7})),
        ],
    );
    bench.config_at(
        "home/.config/trunkline/mcp.json",
        [
            ("a", json!({"command": "other"})),
            ("b", json!({"url": "https://u:pw-cccc@example.com/mcp?key=K-dddd", "tmeout": 5})),
            ("c", json!({"command": "x", "disabled": true, "timeout": 5})),
        ],
    );
    let ran = bench.run(&["config", "--config", &first]);
    ran.is(
        2,
        "a  DIR/first.json:2\n  command      x --token=*** 'y z'\n  env          KEY=***  R=${REF}\n\n\
         b  DIR/home/.config/trunkline/mcp.json:3\n  url          https://***@example.com/mcp?key=***\n\n\
         c switched off  DIR/home/.config/trunkline/mcp.json:4\n  command      x\n  timeout      5 s\n\n\
         unused a in DIR/home/.config/trunkline/mcp.json:2: DIR/first.json:2 counts\n\
         warning DIR/home/.config/trunkline/mcp.json:3: server \"b\": \"tmeout\" is no known key; did you mean \"timeout\"?\n\
         problem DIR/first.json:3: server \"bad\": \"url\" has to be text, not a number\n\n\
         files, the first wins\n  DIR/first.json\n  DIR/home/.config/trunkline/mcp.json\n",
        "",
    );
    let machine = bench.run(&["config", "--json", "--config", &first]);
    let shown = machine.json();
    assert_eq!(shown["entries"][0]["entry"]["env"], json!({"KEY": "***", "R": "${REF}"}));
    assert_eq!(shown["losers"][0]["label"], "a");
    assert_eq!(shown["problems"][0]["line"], 3);
    for secret in ["T0K-aaaa", "k3y-bbbb", "pw-cccc", "K-dddd"] {
        assert!(!ran.stdout.contains(secret) && !machine.stdout.contains(secret), "{secret}");
    }
}

#[test]
fn without_config_the_places_are_named() {
    let bench = Bench::new();
    let ran = bench.run(&["config"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("DIR/home/.config/trunkline/mcp.json"), "{ran:?}");
    let missing = bench.run(&["list", "--config", "absent.json"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.starts_with("error: The config file DIR/here/absent.json doesn't exist\n"), "{missing:?}");
    let empty = bench.config([]);
    let ran = bench.run(&["list", "--config", &empty]);
    assert_eq!((ran.code, ran.stderr.lines().next()), (2, Some("error: There is no server in DIR/mcp-test.json")));
}
