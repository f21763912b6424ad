//! The start of a server: bounded, patient with those who download first, and clear about what went wrong.

use std::time::Instant;

use serde_json::json;
use trunkline::{Client, Error, ErrorKind};
use trunkline_tests::*;

use crate::rig::{Rig, assert_took, limits, ms, rig};
use crate::smoke::FAKE;

async fn too_slow(script: Script) -> (Rig, Error) {
    let rig = Rig::with(|_| script, |builder| builder.start_timeout(ms(500)));
    let begun = Instant::now();
    let error = rig.client.connect().await.unwrap_err();
    assert_took(begun, ms(500));
    assert!(!alive(rig.pid()), "the failure is told when the process is gone");
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert!(error.message().contains("did not answer initialize within 0.5 s"), "{error}");
    (rig, error)
}

#[tokio::test]
async fn p08_a_server_that_never_answers_is_given_up() {
    let (rig, error) = too_slow(Script::new().on("server/discover", []).on("initialize", [])).await;
    assert!(error.message().contains("0 bytes on its standard output and 0 on its standard error"), "{error}");
    assert!(error.hint().unwrap().contains("The process is alive"));
    assert!(error.hint().unwrap().contains("startTimeout"));
    assert_eq!(rig.sent("notifications/cancelled"), 0);
}

/// Traffic isn't an answer.
#[tokio::test]
async fn p08_notifications_do_not_extend_the_start() {
    let logging = notify_with("notifications/message", json!({"level": "info", "data": "still starting"}));
    let (_, error) = too_slow(Script::new().on("initialize", [background([forever([logging, sleep(20)])])])).await;
    assert!(!error.message().contains(" 0 bytes on its standard output"), "{error}");
}

/// The first run of `npx` or `uvx` downloads packages and says so on its standard error.
#[tokio::test]
async fn p09_a_slow_first_start_is_waited_for_and_otherwise_explained() {
    let fetching = |times| Script::new().on("@start", [repeat(times, [stderr("npm fetch $I\n"), sleep(100)])]);
    rig(fetching(10)).client.connect().await.unwrap();
    let (_, error) = too_slow(fetching(100)).await;
    assert!(error.get("stderr").unwrap().starts_with("npm fetch 1\nnpm fetch 2\n"), "{error:?}");
    assert!(error.hint().unwrap().contains("raise startTimeout"), "{error:?}");
}

/// What came on the standard output instead of an answer says what the server is, or how it frames its messages.
#[tokio::test]
async fn p11_p19_text_on_the_standard_output_is_named_when_no_answer_comes() {
    for (script, hint) in [
        (Script::new().content_length(), "Content-Length"),
        (Script::new().pretty(), "spread one message over several lines"),
        (Script::new().on("initialize", [line("Listening on port 80")]), "1 line"),
        (Script::new().on("initialize", [line("Listening on port 80")]), "(first: Listening on port 80)"),
        (Script::new().on("initialize", [line(r#"{"level":"info","msg":"up"}"#)]), r#"{"level":"info","msg":"up"}"#),
        (Script::new().on("initialize", [line("\u{1b}[1mHi\u{7}")]), r"\u{1b}[1mHi\u{7}"),
    ] {
        let (_, error) = too_slow(script).await;
        assert!(error.hint().unwrap().contains(hint), "{error:?}");
        assert!(error.hint().unwrap().contains("Is it an MCP server?"), "{error:?}");
        assert!(error.get("stdout").is_some());
    }
}

/// A revision that this client doesn't speak means other rules: it must not go on by its own.
#[tokio::test]
async fn p54_an_unknown_revision_ends_the_handshake() {
    for (answer, named) in [
        (json!({"protocolVersion": "1999-01-01", "capabilities": {}}), "\"1999-01-01\""),
        (json!({"protocolVersion": 20250618, "capabilities": {}}), "20250618"),
        (json!({"protocolVersion": null}), "names no protocol version"),
        (json!({"capabilities": {"tools": {}}}), "names no protocol version"),
        (json!("hello"), "names no protocol version"),
    ] {
        let rig = rig(Script::new().ignore_eof().on("initialize", [respond(answer)]));
        let error = rig.client.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.message().contains(named), "{error}");
        assert!(error.hint().unwrap().contains("2025-06-18"), "{error:?}");
        assert!(!alive(rig.pid()));
        assert_eq!(rig.log.methods(), ["server/discover", "initialize"]);
    }
}

#[tokio::test]
async fn p54_every_revision_with_a_handshake_is_spoken() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let rig = rig(Script::new().version(version));
        assert_eq!(rig.call("echo").await.unwrap(), "ok");
        assert_eq!(rig.log.methods(), ["server/discover", "initialize", "notifications/initialized", "tools/call"]);
    }
}

/// Why a command can't be started, and where to look.
#[tokio::test]
async fn p79_a_command_that_cannot_be_started_is_explained() {
    let dir = TempDir::new();
    let plain = dir.write("plain", "no program");
    let script = dir.write("script", "#!/no/such/interpreter\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    let shown = |path: &std::path::Path| path.display().to_string();
    let (plain, script, absent) = (shown(&plain), shown(&script), shown(&dir.join("absent")));
    for (command, message, hint) in [
        ("no-such-command-here", "was not found on PATH".to_owned(), "full path"),
        (&absent, format!("there is no program at \"{absent}\""), ""),
        (&plain, format!("\"{plain}\" may not be executed"), "chmod +x"),
        (&script, format!("could not start \"{script}\": its interpreter"), "first line"),
    ] {
        let client = Client::stdio(command, ["x"]).label("s").limits(limits()).build().unwrap();
        let error = client.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.message().contains(&message), "{error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{error:?}");
        assert_eq!(error.get("server"), Some("s"));
        assert!(error.get("command").unwrap().starts_with(command), "{error:?}");
    }
    let client = Client::stdio(FAKE, ["x"]).cwd(dir.join("absent")).build().unwrap();
    let error = client.connect().await.unwrap_err();
    assert!(error.message().contains("working directory") && error.message().contains(&absent), "{error}");
}
