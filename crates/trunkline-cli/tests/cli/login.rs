//! Logging in, being logged in, and logging out: against an authorization server that checks all it is sent.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::json;
use trunkline_tests::authority::*;

use crate::diagnostics::fails;
use crate::harness::{Bench, Ran, wait_until};
use crate::terminal::Terminal;

/// A person's machine, a server that wants a login, and where that is given.
struct Scene {
    bench: Bench,
    authority: Authority,
    server: Protected,
    config: String,
}

impl Scene {
    fn new() -> Self {
        let (bench, authority) = (Bench::new(), Authority::start());
        let server = Protected::start(&authority);
        let config = bench.config([("api", json!({"url": server.url()}))]);
        Self { bench, authority, server, config }
    }

    fn logged_in() -> Self {
        let scene = Self::new();
        let ran = scene.log_in(&["login", "api"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        scene
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--config", &self.config]].concat()
    }

    fn command(&self, args: &[&str]) -> Command {
        self.bench.command(&self.args(args))
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.bench.run(&self.args(args))
    }

    fn call(&self) -> Ran {
        self.run(&["call", "api.echo", "text=hi"])
    }

    /// Logs in with a browser that agrees to everything.
    fn log_in(&self, args: &[&str]) -> Ran {
        let (child, address, before) = self.asked(self.command(args));
        let page = browser::follow(&address);
        assert!(page.status == 200 && page.body.contains("You can close this window"), "{page:?}");
        self.ended(child, before)
    }

    /// Starts a login: the address that is shown, and what was told before it.
    fn asked(&self, mut command: Command) -> (Child, String, String) {
        let mut child = command.spawn().unwrap();
        let (address, before) = browser::shown_by(&mut child);
        (child, address, before)
    }

    fn ended(&self, child: Child, before: String) -> Ran {
        let mut ran = self.bench.ran(&child.wait_with_output().unwrap());
        ran.stderr.insert_str(0, &before);
        ran
    }

    /// What is stable of a text.
    fn stable(&self, text: &str) -> String {
        text.replace(&self.server.origin(), "http://SERVER").replace(&self.authority.origin(), "http://AUTHORITY")
    }

    /// Nothing went wrong that a client could have known.
    #[track_caller]
    fn is_in_order(&self) {
        assert_eq!((self.authority.refusals(), self.server.refusals()), (vec![], vec![]));
    }

    #[track_caller]
    fn shows_no_secret(&self, ran: &Ran) {
        let all = format!("{}{}", ran.stdout, ran.stderr);
        let secrets = self.authority.secrets();
        assert!(!secrets.is_empty());
        for secret in secrets {
            assert!(!all.contains(&secret), "{secret}: {all}");
        }
    }

    fn records(&self) -> Vec<PathBuf> {
        let folder = self.bench.path("home/.local/state/trunkline/logins");
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_login_is_made_once_and_used_by_every_process_after_it() {
    let scene = Scene::new();
    let ran = scene.log_in(&["login", "api"]);
    let told = "To log in to api, open this address in a browser:\n\n";
    assert!(ran.code == 0 && ran.stderr.starts_with(told), "{ran:?}");
    let shown = scene.stable(&ran.stdout);
    assert!(shown.starts_with("api http://SERVER/mcp\n  issuer  http://AUTHORITY\n"), "{shown}");
    for _ in 0..2 {
        scene.call().is(0, "hi\n", "");
    }
    scene.run(&["list", "--brief"]).is(0, "api\n  echo()\n", "1 tool from 1 server\n");
    assert_eq!((scene.authority.grants("authorization_code"), scene.authority.requests("/register")), (1, 1));
    assert_eq!(scene.authority.requests("/token"), 1);
    let records = scene.records();
    assert_eq!((records.len(), mode(&records[0]), mode(records[0].parent().unwrap())), (1, 0o600, 0o700));
    scene.is_in_order();
}

#[test]
fn a_server_that_is_in_no_config_is_logged_in_to_by_its_url() {
    let scene = Scene::new();
    let url = scene.server.url();
    let (child, address, before) = scene.asked(scene.bench.command(&["login", &url]));
    browser::follow(&address);
    assert_eq!(scene.ended(child, before).code, 0);
    scene.bench.run(&["call", "echo", "text=hi", "--url", &url]).is(0, "hi\n", "");
    scene.call().is(0, "hi\n", ""); // the same server under another name
    assert_eq!(scene.authority.grants("authorization_code"), 1);
    scene.bench.run(&["logout", &url]).is(0, &format!("Logged out of {url}\n"), "");
    assert!(scene.records().is_empty());
}

#[test]
fn the_person_s_browser_is_opened() {
    let scene = Scene::new();
    let browser = scene.bench.write("browser.sh", "echo \"$1\" > \"$0.seen\"");
    let mut command = scene.command(&["login", "api"]);
    command.env("BROWSER", format!("/bin/sh {browser}"));
    let (child, address, before) = scene.asked(command);
    assert!(before.starts_with("A browser opens to log in to api."), "{before}");
    wait_until("the browser", || scene.bench.read("browser.sh.seen").ends_with('\n'));
    assert_eq!(scene.bench.read("browser.sh.seen").trim(), address);
    browser::follow(&address);
    assert_eq!(scene.ended(child, before).code, 0);

    std::fs::remove_file(scene.bench.path("browser.sh.seen")).unwrap();
    let mut command = scene.command(&["login", "api", "--no-browser"]);
    command.env("BROWSER", format!("/bin/sh {browser}"));
    let (child, address, before) = scene.asked(command);
    assert!(before.starts_with("To log in to api, open this address"), "{before}");
    browser::follow(&address);
    assert_eq!(scene.ended(child, before).code, 0);
    assert!(!scene.bench.path("browser.sh.seen").exists());
    assert_eq!(scene.authority.grants("authorization_code"), 2, "a login is made anew where it is asked for");
    scene.is_in_order();
}

#[test]
fn where_the_browser_ends_up_can_be_pasted() {
    let scene = Scene::new();
    let mut terminal = Terminal::start(scene.command(&["login", "api", "--no-browser"]));
    terminal.wait_for("paste it here");
    let shown = terminal.shown.lock().unwrap().clone();
    let address = shown.lines().map(str::trim).find(|line| line.starts_with("http")).unwrap().to_owned();
    let location = browser::location(&address);
    terminal.answer("paste it here", "http://127.0.0.1:1/elsewhere?code=x");
    terminal.answer("That is not it", &location);
    let (code, out) = terminal.end();
    assert!(code == 0 && out.contains("issuer"), "{code}: {out}");
    scene.call().is(0, "hi\n", "");
    scene.is_in_order();
}

#[test]
fn p70_p90_what_a_login_lacks_is_told_to_people_and_machines() {
    let scene = Scene::new();
    scene.server.set(|it| it.scopes.push(("tools/call", "files:write")));
    let call = scene.args(&["call", "api.echo", "text=hi"]);
    let stable = |text: &str| scene.stable(text);
    fails("login-needed", 3, &scene.bench, &call, stable);
    assert_eq!(scene.log_in(&["login", "api"]).code, 0);
    fails("login-lacks-a-scope", 3, &scene.bench, &call, stable);
    scene.authority.revoke();
    fails("login-taken-back", 3, &scene.bench, &call, stable);
    scene.server.set(|it| it.metadata_at = None);
    scene.authority.set(|it| it.form = Form::Absent);
    scene.run(&["logout", "api"]);
    fails("login-impossible", 3, &scene.bench, &scene.args(&["login", "api"]), stable);
}

#[test]
fn without_a_login_the_command_to_run_is_said() {
    let scene = Scene::new();
    let ran = scene.call();
    assert!(ran.code == 3 && ran.stderr.contains("Log in with: trunkline login api "), "{ran:?}");
    assert_eq!(scene.authority.requests("/authorize"), 0);
    let url = scene.server.url();
    let ran = scene.bench.run(&["list", "--json", "--url", &url]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let hint = ran.json()["failures"][0]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains(&format!("trunkline login {url}")), "{hint}");
    let ran = scene.run(&["check", "api"]);
    assert!(ran.code == 3 && ran.stdout.contains("trunkline login api"), "{ran:?}");
}

#[test]
fn a_token_that_has_run_out_is_renewed_without_a_word() {
    let scene = Scene::logged_in();
    scene.authority.expire();
    scene.call().is(0, "hi\n", "");
    scene.call().is(0, "hi\n", "");
    assert_eq!((scene.authority.grants("refresh_token"), scene.authority.grants("authorization_code")), (1, 1));
    scene.is_in_order();

    scene.authority.set(|it| it.life = 0); // known beforehand: nothing is sent with a dead token
    scene.authority.expire();
    scene.call();
    let before = scene.server.log().requests().len();
    scene.authority.set(|it| it.life = 3600);
    scene.call().is(0, "hi\n", "");
    let tokens = scene.server.log().requests()[before..]
        .iter()
        .map(|request| request.header("authorization").is_some())
        .collect::<Vec<_>>();
    assert!(tokens.iter().all(|has| *has), "{tokens:?}");
    scene.is_in_order();
}

#[test]
fn a_login_that_was_taken_back_wants_another_one() {
    let scene = Scene::logged_in();
    scene.authority.revoke();
    let ran = scene.call();
    assert!(ran.code == 3 && ran.stderr.contains("Log in with: trunkline login api "), "{ran:?}");
    assert_eq!(scene.authority.grants("authorization_code"), 1);
    scene.shows_no_secret(&ran);
    assert_eq!(scene.log_in(&["login", "api"]).code, 0);
    scene.call().is(0, "hi\n", "");
}

#[test]
fn p69_many_processes_with_one_expired_token_renew_it_once() {
    let scene = Scene::logged_in();
    scene.authority.expire();
    scene.authority.set(|it| it.delay = 200);
    let posts = scene.authority.requests("/token");
    let children: Vec<_> = (0..5).map(|_| scene.command(&["call", "api.echo", "text=hi"]).spawn().unwrap()).collect();
    for child in children {
        scene.bench.ran(&child.wait_with_output().unwrap()).is(0, "hi\n", "");
    }
    assert_eq!(scene.authority.requests("/token"), posts + 1);
    let [good] = scene.authority.good_refresh_tokens().try_into().unwrap();
    assert!(std::fs::read_to_string(&scene.records()[0]).unwrap().contains(&good), "the store holds the new one");
    scene.is_in_order();
}

#[test]
fn p70_a_scope_that_is_missing_is_told_and_can_be_asked_for() {
    let scene = Scene::new();
    scene.authority.set(|it| it.registered_scopes = true);
    scene.server.set(|it| it.scope = Some("r".to_owned()));
    scene.server.set(|it| it.scopes.push(("tools/call", "w")));
    assert_eq!(scene.log_in(&["login", "api"]).code, 0);
    let posts = scene.authority.requests("/token");
    let ran = scene.call();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("trunkline login api --scope r --scope w\n"), "{ran:?}");
    assert_eq!(scene.authority.requests("/token"), posts, "another token of the same kind would not help");
    assert!(!ran.stderr.contains("expired"), "{ran:?}");

    let (child, address, before) = scene.asked(scene.command(&["login", "api", "--scope", "w"]));
    let asked = url::Url::parse(&address).unwrap();
    let scope = asked.query_pairs().find(|(name, _)| name == "scope").unwrap().1.into_owned();
    let mut scopes: Vec<_> = scope.split(' ').collect();
    scopes.sort_unstable();
    assert_eq!(scopes, ["r", "w"], "what was there before stays");
    browser::follow(&address);
    assert_eq!(scene.ended(child, before).code, 0);
    scene.call().is(0, "hi\n", "");
    scene.is_in_order();
}

#[test]
fn p72_no_output_holds_anything_secret() {
    let scene = Scene::new();
    scene.authority.set(|it| it.methods = vec!["client_secret_post"]);
    let login = scene.log_in(&["login", "api", "-vvv"]);
    assert_eq!(login.code, 0, "{login:?}");
    scene.shows_no_secret(&login);
    let commands: [&[&str]; 7] = [
        &["call", "api.echo", "text=hi"],
        &["call", "api.echo", "text=hi", "--json"],
        &["list"],
        &["check"],
        &["auth", "status"],
        &["auth", "status", "--json"],
        &["config"],
    ];
    for turn in ["good", "expired", "revoked"] {
        for args in commands {
            match turn {
                "expired" => scene.authority.expire(),
                "revoked" => scene.authority.revoke(),
                _ => {}
            }
            let ran = scene.run(&[args, &["-vvv"]].concat());
            scene.shows_no_secret(&ran);
            assert_eq!(
                ran.code,
                if turn == "revoked" && ["call", "list", "check"].contains(&args[0]) { 3 } else { 0 },
                "{ran:?}"
            );
        }
    }
}

#[test]
fn a_login_is_shown_and_forgotten() {
    let scene = Scene::logged_in();
    let ran = scene.run(&["auth", "status"]);
    ran.is(0, &ran.stdout, "");
    let shown = scene.stable(&ran.stdout);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[..2], ["api http://SERVER/mcp", "  issuer  http://AUTHORITY"], "{shown}");
    assert!(lines[3].starts_with("  good    for ") && lines[3].ends_with(", then renewed by itself"), "{shown}");
    let machine = scene.run(&["auth", "status", "--json"]).json()["logins"].take();
    assert_eq!((&machine[0]["label"], &machine[0]["refreshToken"]), (&json!("api"), &json!(true)));
    assert_eq!(machine[0]["issuer"], json!(scene.authority.issuer()));
    scene.shows_no_secret(&ran);

    let url = scene.server.url();
    scene.run(&["logout", "api"]).is(0, &format!("Logged out of {url}\n"), "");
    assert!(scene.records().is_empty());
    assert_eq!(scene.call().code, 3);
    scene.run(&["auth", "status"]).is(0, "", "There is no login; `trunkline login SERVER` makes one\n");
    assert_eq!(scene.run(&["auth", "status", "--json"]).json(), json!({"logins": []}));
    let ran = scene.run(&["logout", "api"]);
    assert!(ran.code == 2 && ran.stderr.contains("There is no login for api"), "{ran:?}");
    scene.run(&["logout", "--all"]).is(0, "", "");
}

#[test]
fn a_damaged_record_is_told_and_left_alone() {
    let scene = Scene::logged_in();
    let record = scene.records().remove(0);
    std::fs::write(&record, "{\"version\": 1, \"ser").unwrap();
    for args in [&["call", "api.echo", "text=hi"][..], &["auth", "status"]] {
        let ran = scene.run(args);
        assert_eq!(ran.code, 2, "{ran:?}");
        let name = record.file_name().unwrap().to_str().unwrap();
        assert!(ran.stderr.contains(name) && ran.stderr.contains("log in again"), "{ran:?}");
    }
    assert_eq!(std::fs::read_to_string(&record).unwrap(), "{\"version\": 1, \"ser");
    assert_eq!(scene.log_in(&["login", "api"]).code, 0);
    scene.call().is(0, "hi\n", "");
    assert!(record.with_extension("json.damaged").exists());
}

#[test]
fn a_record_that_others_can_read_is_closed_to_them_and_told() {
    let scene = Scene::logged_in();
    let record = scene.records().remove(0);
    std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = scene.run(&["auth", "status"]);
    assert!(ran.code == 0 && ran.stderr.contains("could be read by others"), "{ran:?}");
    assert_eq!(mode(&record), 0o600);
}

#[test]
fn a_login_that_is_refused_is_told() {
    let scene = Scene::new();
    scene.authority.set(|it| it.denies = Some("access_denied"));
    let ran = scene.log_in(&["login", "api"]);
    assert!(ran.code == 3 && ran.stderr.contains("access_denied"), "{ran:?}");
    assert!(scene.records().is_empty() && scene.authority.requests("/token") == 0);
}

#[test]
fn a_login_that_fails_leaves_the_one_before() {
    let scene = Scene::logged_in();
    scene.authority.set(|it| it.denies = Some("access_denied"));
    assert_eq!(scene.log_in(&["login", "api"]).code, 3);
    scene.call().is(0, "hi\n", "");
    scene.is_in_order();
}

#[test]
fn a_login_that_makes_no_sense_is_told() {
    let scene = Scene::new();
    let open = trunkline_tests::http::HttpScript::new().start();
    let config = scene.bench.config([
        ("local", scene.bench.demo()),
        ("own", json!({"url": scene.server.url(), "headers": {"Authorization": "Bearer x"}})),
        ("open", json!({"url": open.url()})),
    ]);
    let run = |server: &str| scene.bench.run(&["login", server, "--config", &config]);
    for (server, told) in [("local", "is started here"), ("own", "a token of its own"), ("nobody", "no server named")] {
        let ran = run(server);
        assert!(ran.code == 2 && ran.stderr.contains(told), "{ran:?}");
    }
    run("open").is(0, "", "open lets everybody in: there is no login\n");
    let mut command = scene.command(&["call", "api.echo"]);
    let ran = scene.bench.ran(&command.env("TRUNKLINE_TOKEN_STORE", "cloud").output().unwrap());
    assert!(ran.code == 2 && ran.stderr.contains("It is file or keyring"), "{ran:?}");
}

/// The program of the Secret Service, as far as it is used here, keeping its secret in a file.
const SECRET_TOOL: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/keyring.log"
[ -n "$LOCKED" ] && { echo "the keyring is locked" >&2; exit 1; }
case "$1" in
  lookup) [ -f "$HOME/keyring" ] || exit 1; cat "$HOME/keyring" ;;
  store) cat > "$HOME/keyring" ;;
esac
"#;

#[test]
fn logins_are_sealed_by_a_key_of_the_keyring() {
    let scene = Scene::new();
    let tool = scene.bench.path("home/bin/secret-tool");
    std::fs::create_dir_all(tool.parent().unwrap()).unwrap();
    std::fs::write(&tool, SECRET_TOOL).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let with = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = scene.command(args);
        command.env("PATH", format!("{}:/usr/bin:/bin", tool.parent().unwrap().display()));
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere").envs(variables.iter().copied());
        command
    };
    let (child, address, before) = scene.asked(with(&["login", "api"], &[]));
    browser::follow(&address);
    let ran = scene.ended(child, before);
    assert_eq!(ran.code, 0, "{ran:?}");
    let record = std::fs::read_to_string(&scene.records()[0]).unwrap();
    assert!(
        record.contains("\"sealed\"") && scene.authority.secrets().iter().all(|secret| !record.contains(secret)),
        "{record}"
    );
    let key = scene.bench.read("home/keyring");
    assert_eq!(key.len(), 43);
    assert!(!scene.bench.read("home/keyring.log").contains(&key), "no secret is among the arguments of a command");

    let call = ["call", "api.echo", "text=hi"];
    let run = |variables: &[(&str, &str)]| scene.bench.ran(&with(&call, variables).output().unwrap());
    run(&[]).is(0, "hi\n", "");
    scene.authority.expire();
    run(&[("TRUNKLINE_TOKEN_STORE", "keyring")]).is(0, "hi\n", "");
    let ran = run(&[("LOCKED", "1")]);
    assert!(ran.code == 2 && ran.stderr.contains("the keyring is locked"), "{ran:?}");
    let ran = scene.call();
    assert!(ran.code == 2 && ran.stderr.contains("a key that is not at hand"), "{ran:?}");
    let ran = scene.bench.ran(&scene.command(&call).env("TRUNKLINE_TOKEN_STORE", "keyring").output().unwrap());
    assert!(ran.code == 2 && ran.stderr.contains("there is no keyring here"), "{ran:?}");
}
