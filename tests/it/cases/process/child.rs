//! What a server's process is given, and what is shown of what it says: environment, arguments, directory,
//! standard error, secrets.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trunkline::{Client, ClientBuilder, Environment, Error, EventKind};
use trunkline_tests::*;

use crate::rig::{Rig, limits, rig};
use crate::smoke::FAKE;

fn environment() -> Environment {
    let fixed = [("HOME", "/home/me"), ("SECRET_X", "1"), ("HTTPS_PROXY", "p"), ("LC_ALL", "C"), ("LANG", "de_DE")];
    let path = std::env::var("PATH").unwrap();
    Environment::from_pairs(fixed.into_iter().chain([("PATH", path.as_str())]))
}

async fn dumped(set_up: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Value {
    let script = Script::new().on(call("echo"), [dump()]);
    let rig = Rig::with(|_| script, |builder| set_up(builder.environment(environment())));
    serde_json::from_str(&rig.call("echo").await.unwrap()).unwrap()
}

fn names(dump: &Value) -> Vec<&str> {
    dump["env"].as_object().unwrap().keys().map(String::as_str).collect()
}

/// Third-party programs don't get the host's keys, but what they need to run at all.
#[tokio::test]
async fn p99_a_server_gets_a_safe_environment_and_its_own() {
    let dump = dumped(|builder| builder.env("API_KEY", "k-1").env("LANG", "C.UTF-8")).await;
    assert_eq!(names(&dump), ["API_KEY", "HOME", "HTTPS_PROXY", "LANG", "LC_ALL", "PATH", "TRUNKLINE_SERVER"]);
    assert!(dump["env"]["TRUNKLINE_SERVER"].as_str().unwrap().ends_with(" fake"), "who started it, and its label");
    assert_eq!((&dump["env"]["API_KEY"], &dump["env"]["LANG"]), (&json!("k-1"), &json!("C.UTF-8")));
    let dump = dumped(|builder| builder.inherit_env(true)).await;
    assert_eq!(dump["env"]["SECRET_X"], json!("1"));
}

#[tokio::test]
async fn p99_two_servers_don_t_see_each_other_s_keys() {
    let (first, second) =
        tokio::join!(dumped(|builder| builder.env("KEY_A", "a-1")), dumped(|builder| builder.env("KEY_B", "b-1")));
    assert!(names(&first).contains(&"KEY_A") && !names(&first).contains(&"KEY_B"));
    assert!(names(&second).contains(&"KEY_B") && !names(&second).contains(&"KEY_A"));
}

#[tokio::test]
async fn p77_arguments_and_directory_arrive_as_they_are() {
    let dir = TempDir::new();
    let script = Script::new().on(call("echo"), [dump()]).args();
    let strange = ["", "a b", "it's", "$HOME", "*", "日本", "--x=\"y\""];
    let args = script.into_iter().chain(strange.map(str::to_owned));
    let client = Client::stdio(FAKE, args).cwd(dir.path()).limits(limits()).build().unwrap();
    let dump: Value = client.call_tool("echo", ()).await.unwrap();
    assert_eq!(dump["cwd"], json!(dir.path()));
    let argv = dump["argv"].as_array().unwrap();
    assert_eq!(argv[argv.len() - strange.len()..], strange.map(Value::from));
}

/// A server that logs a lot must not stand still because nobody reads it, nor fill the memory.
#[tokio::test]
async fn p07_a_flood_on_the_standard_error_keeps_its_last_lines() {
    let one = [stderr("$REPEAT(262144,x)\n"), text("ok")];
    let many = repeat(
        2622,
        [stderr("about a hundred characters, of which the last lines are kept and no more than that, $I\n")],
    );
    let rig = rig(Script::new()
        .tools([tool("lines"), tool("line"), tool("quit")])
        .on(call("line"), one)
        .on(call("lines"), [many, text("ok")])
        .on(call("quit"), [stderr("the last word\n"), exit(1)]));
    for _ in 0..5 {
        assert_eq!(rig.call("line").await.unwrap(), "ok");
        assert_eq!(rig.call("lines").await.unwrap(), "ok");
    }
    let error = rig.call("quit").await.unwrap_err();
    let shown = error.get("stderr").unwrap();
    assert!(shown.ends_with("2622\nthe last word"), "{shown}");
    assert!(shown.len() < 8192, "{} bytes", shown.len());
}

const SECRETS: [&str; 3] = ["sk-live-0123456789", "t0ken-abcdefgh", "pässwörd-99"];

fn assert_masked(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{text}");
    }
}

fn assert_error_masked(error: &Error) {
    assert_masked(&format!("{error} {error:?} {:?}", error.hint()));
    error.context().for_each(|(_, value)| assert_masked(value));
}

/// Servers print the keys they were given; errors, events, warnings and states show them masked.
#[tokio::test]
async fn p72_a_server_s_secrets_are_masked_in_all_that_is_shown_of_it() {
    let words = SECRETS.join(" ");
    let stray = json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": words}}).to_string();
    let rig = Rig::with(
        |_| {
            Script::new()
                .on("@start", [stderr(&format!("using {words}\n")), line(&format!("starting with {words}"))])
                .on(call("echo"), [line(&stray), stderr(&format!("bye {words}\n")), exit(1)])
        },
        |builder| builder.env("API_KEY", SECRETS[0]).env("AUTH", SECRETS[1]).env("PASSWORD", SECRETS[2]),
    );
    let mut events = rig.client.events();
    rig.client.connect().await.unwrap();
    let error = rig.call("echo").await.unwrap_err();
    assert_error_masked(&error);
    let State { texts, kinds } = heard(&mut events).await;
    texts.iter().for_each(|text| assert_masked(text));
    assert!(texts.iter().any(|text| text.contains("using *** *** ***")), "{texts:?}");
    assert!(kinds["failed"] == 1 && kinds["stderr"] == 2, "{kinds:?}");
    assert_masked(&format!("{:?} {:?} {:?}", rig.client.state(), rig.client.warnings(), rig.client));
}

struct State {
    texts: Vec<String>,
    kinds: BTreeMap<&'static str, usize>,
}

/// Everything up to the failure, as it would be shown.
async fn heard(events: &mut trunkline::Events) -> State {
    let mut state = State { texts: Vec::new(), kinds: BTreeMap::new() };
    loop {
        let event = events.next().await.unwrap();
        state.texts.push(format!("{event:?}"));
        let kind = match &event.kind {
            EventKind::Failed(error) => {
                assert_error_masked(error);
                "failed"
            }
            EventKind::Stderr(_) => "stderr",
            _ => "other",
        };
        *state.kinds.entry(kind).or_default() += 1;
        if kind == "failed" {
            return state;
        }
    }
}

#[tokio::test]
async fn p72_secrets_in_a_command_line_are_masked_where_it_is_shown() {
    let client = Client::stdio(FAKE, ["--token=t0ken-abcdefgh", "--api-key", "sk-live-0123456789"]).build().unwrap();
    let error = client.connect().await.unwrap_err();
    assert_error_masked(&error);
    assert!(error.get("command").unwrap().ends_with("--token=*** --api-key ***"), "{error:?}");
}
