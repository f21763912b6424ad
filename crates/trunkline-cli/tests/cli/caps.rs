//! The caps on what servers send, set in a config and told by name.

use serde_json::json;

use crate::harness::{Bench, tool};

#[test]
fn a_cap_is_set_in_an_entry_and_named_when_it_is_met() {
    let bench = Bench::new();
    let long = format!(r#""result":{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(3000));
    let mut server = bench.server(json!({"TOOLS": tool("t", ""), "CALL": long}));
    let fine = bench.config([("s", server.clone())]);
    assert_eq!(bench.run(&["call", "s.t", "--config", &fine]).code, 0);
    server["limits"] = json!({"maxMessage": "2KiB"});
    let capped = bench.config([("s", server.clone())]);
    let ran = bench.run(&["call", "s.t", "--config", &capped]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stderr.contains("over 2048 bytes (max_message)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\"limits\": {\"maxMessage\": ...} in its config entry"), "{}", ran.stderr);
    assert_eq!(
        bench.run(&["config", "--json", "--config", &capped]).json()["entries"][0]["entry"]["limits"],
        json!({"maxMessage": 2048})
    );
    server["limits"] = json!({"maxMesage": 1});
    let wrong = bench.config([("s", server)]);
    let ran = bench.run(&["call", "s.t", "--config", &wrong]);
    assert!(ran.code == 2 && ran.stderr.contains("did you mean \"maxMessage\"?"), "{ran:?}");
}
