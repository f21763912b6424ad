//! Whole files, read and resolved: the shapes people write, and what they are told about the others.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

fn entry(text: &str) -> Entry {
    let config = Config::parse(&format!("{{\"mcpServers\": {{\"x\": {text}}}}}")).unwrap();
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    config.entry("x").unwrap().clone()
}

/// What is wrong with an entry.
fn reason(text: &str) -> String {
    let config = Config::parse(&format!("{{\"mcpServers\": {{\"x\": {text}}}}}")).unwrap();
    assert!(config.entries().is_empty(), "{text} was taken");
    config.problems()[0].reason().to_owned()
}

fn warnings(text: &str) -> Vec<String> {
    let config = Config::parse(&format!("{{\"mcpServers\": {{\"x\": {text}}}}}")).unwrap();
    assert_eq!(config.entries().len(), 1, "{:?}", config.problems());
    config.warnings().iter().map(|warning| warning.reason().to_owned()).collect()
}

fn stdio(spec: &ServerSpec) -> &StdioSpec {
    match &spec.transport {
        TransportSpec::Stdio(spec) => spec,
        other => panic!("{other:?}"),
    }
}

fn http(spec: &ServerSpec) -> &HttpSpec {
    match &spec.transport {
        TransportSpec::Http(spec) | TransportSpec::Sse(spec) => spec,
        other => panic!("{other:?}"),
    }
}

/// A file full of shapes: the good ones load, each bad one is told with its line.
#[test]
fn p81_good_entries_load_and_bad_ones_are_told_with_their_line() {
    let text = "\u{feff}{
  // servers of all kinds
  \"mcpServers\": {
    \"url\": {\"url\": \"https://h/mcp\"},
    \"http\": {\"type\": \"http\", \"url\": \"https://h\"}, /* a
    comment */
    \"streamable\": {\"type\": \"streamable-http\", \"url\": \"https://h\"},
    \"camel\": {\"type\": \"streamableHttp\", \"url\": \"https://h\"},
    \"sse\": {\"type\": \"sse\", \"url\": \"https://h/sse\"},
    \"command\": {\"command\": \"npx\", \"args\": [\"-y\", \"p\",],},
    \"both\": {\"command\": \"npx\", \"url\": \"https://h\"},
    \"neither\": {},
    \"list\": {\"command\": [\"npx\", \"-y\"]},
    \"text\": \"npx\",
    \"../x\": {\"command\": \"npx\"},
  },
}";
    let config = Config::parse(text).unwrap();
    let labels: Vec<_> = config.entries().iter().map(Entry::label).collect();
    assert_eq!(labels, ["url", "http", "streamable", "camel", "sse", "command"]);
    assert!(config.warnings().is_empty(), "{:?}", config.warnings());
    let environment = Environment::from_pairs([("HOME", "/h")]);
    let kinds: Vec<_> = config.entries().iter().map(|e| e.resolve(&environment).unwrap().transport.kind()).collect();
    assert_eq!(kinds, ["http", "http", "http", "http", "sse", "stdio"]);
    assert_eq!(config.entry("sse").unwrap().origin().line, 9);

    let told: Vec<_> = config.problems().iter().map(|p| (p.label().unwrap(), p.origin().line, p.reason())).collect();
    let expected = [
        ("both", 11, "it has both \"command\" and \"url\"; keep the one that the server is reached by"),
        ("neither", 12, "it has neither \"command\" nor \"url\""),
        (
            "list",
            13,
            "\"command\" has to be text, not a list; put the program into \"command\" and the rest into \"args\"",
        ),
        ("text", 14, "it has to be an object, not text"),
        ("../x", 15, "The server name \"../x\" may hold only the letters a to z, digits, \"_\", \"-\" and \".\""),
    ];
    assert_eq!(told, expected);
    assert_eq!(config.problems()[0].to_string(), format!("line 11: server \"both\": {}", expected[0].2));
    let error = config.problems()[4].to_error();
    assert_eq!((error.kind(), error.hint()), (ErrorKind::Config, Some("Rename it, to \"x\" for instance")));
    assert_eq!(error.get("file"), None);
}

#[test]
fn p81_vs_code_s_servers_are_read_as_well_and_a_repeated_name_names_its_lines() {
    let text = "{\"inputs\": [], \"servers\": {\n\"a\": {\"command\": \"x\"},\n\"b\": {\"command\": \"x\"}},\n
        \"mcpServers\": {\"a\": {\"command\": \"y\"},\n\"c\": null, \"c\": {\"command\": \"z\"}, \"d\": {\"command\": \"w\"}}}";
    let config = Config::parse(text).unwrap();
    let labels: Vec<_> = config.entries().iter().map(Entry::label).collect();
    assert_eq!(labels, ["d", "b"]);
    let told: Vec<_> = config.problems().iter().map(|p| (p.label().unwrap(), p.reason())).collect();
    assert_eq!(told, [("a", "it is there 2 times, in lines 5 and 2"), ("c", "it is there 2 times, in lines 6 and 6")]);
    assert_eq!(Config::parse("{\"mcpServers\": {}, \"servers\": []}").unwrap().warnings().len(), 1);
    assert!(Config::parse("{\"mcpServers\": null}").unwrap().entries().is_empty());
}

#[test]
fn a_file_without_entries_says_what_is_missing() {
    for (text, message, hint) in [
        ("", "is empty", "mcpServers"),
        ("// nothing", "is empty", "mcpServers"),
        ("[]", "is a list, not an object", "mcpServers"),
        ("{}", "has no \"mcpServers\"", "It has to look like"),
        ("{\"a\": {\"command\": \"x\"}}", "has no \"mcpServers\"", "Put the entries inside"),
        ("{\"mcp_servers\": {}}", "has no \"mcpServers\"", "Rename \"mcp_servers\""),
        ("{\"mcpServers\": []}", "has a list as \"mcpServers\", not an object", "look like"),
        (
            "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"\n",
            "line 2, column 8: this is no valid JSON: unterminated object",
            "plain JSON",
        ),
        ("{\"mcpServers\": {\"a\": {'command': 1}}}", "line 1, column 23: this is no valid JSON", "plain JSON"),
        ("{\"a\": 1} {", "line 1, column 10: this is no valid JSON", "plain JSON"),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(message), "{text}: {error}");
        assert!(error.hint().unwrap().contains(hint), "{text}: {:?}", error.hint());
    }
}

#[test]
fn p81_entries_that_can_t_be_used_say_why() {
    for (text, why) in [
        ("{\"command\": \"\"}", "\"command\" is empty"),
        ("{\"command\": 7}", "\"command\" has to be text, not a number"),
        ("{\"command\": \"x\", \"args\": \"-y\"}", "\"args\" has to be a list, not text"),
        ("{\"command\": \"x\", \"args\": [[]]}", "\"args[0]\" has to be text, not a list"),
        ("{\"command\": \"x\", \"env\": []}", "\"env\" has to be an object, not a list"),
        ("{\"command\": \"x\", \"env\": {\"A\": null}}", "\"env.A\" has to be text, not null"),
        ("{\"command\": \"x\", \"env\": {\"A=B\": \"\"}}", "which no variable can have"),
        ("{\"command\": \"x\\u0000\"}", "\"command\" holds a NUL"),
        ("{\"command\": \"x\", \"envFile\": \".env\"}", "\"envFile\" isn't supported"),
        ("{\"command\": \"x\", \"args\": [\"${input:key}\"]}", "\"args[0]\": \"${input:key}\" asks a person"),
        ("{\"url\": \"https://h\", \"headers\": {\"X\": \"${input:key}\"}}", "\"headers.X\": \"${input:key}\" asks"),
        ("{\"command\": \"${1}\"}", "\"command\": \"${1}\" is no reference"),
        ("{\"url\": \"h/mcp\"}", "\"url\" has to begin with http:// or https://"),
        ("{\"url\": [\"https://h\"]}", "\"url\" has to be text, not a list"),
        ("{\"url\": \"https://h\", \"headers\": {\"X-Key\": \"a\\r\\nY: b\"}}", "\"headers.X-Key\" holds a line break"),
        ("{\"url\": \"https://h\", \"headers\": {\"X Key\": \"a\"}}", "which no header can have"),
        ("{\"serverUrl\": \"https://h\"}", "what it has in \"serverUrl\" belongs into \"url\""),
        ("{\"type\": \"http\", \"command\": \"x\"}", "its type \"http\" needs a \"url\", but it has a \"command\""),
        ("{\"type\": \"stdio\", \"url\": \"https://h\"}", "its type \"stdio\" needs a \"command\""),
        ("{\"type\": \"ws\", \"url\": \"https://h\"}", "\"type\" is \"ws\", which is none of"),
        ("{\"type\": \"http\"}", "its type \"http\" needs a \"url\""),
        ("{\"command\": \"x\", \"timeout\": \"soon\"}", "\"timeout\": \"soon\" is no duration"),
        ("{\"command\": \"x\", \"timeout\": 0}", "\"timeout\": \"0\" is no time to wait"),
        ("{\"command\": \"x\", \"maxTimeout\": -1}", "\"maxTimeout\": \"-1\" is no duration"),
        ("{\"command\": \"x\", \"startTimeout\": true}", "\"startTimeout\" has to be a number of seconds"),
        ("{\"command\": \"x\", \"disabled\": \"false\"}", "\"disabled\" has to be true or false, not text"),
        ("{\"command\": \"x\", \"required\": 1}", "\"required\" has to be true or false, not a number"),
        ("{\"command\": \"x\", \"protocol\": \"new\"}", "\"protocol\" has to be \"auto\""),
        ("{\"command\": \"x\", \"tools\": {\"only\": []}}", "\"tools.only\" is no known key"),
        ("{\"command\": \"x\", \"tools\": {\"deny\": [7]}}", "\"tools.deny\" has to be a list of patterns"),
        ("{\"command\": \"x\", \"tools\": {\"deny\": [\"[a\"]}}", "\"tools\": \"[a\" is no pattern"),
    ] {
        let told = reason(text);
        assert!(told.contains(why), "{text}: {told}");
    }
}

#[test]
fn p81_odd_entries_load_and_say_what_is_odd() {
    for (text, expected) in [
        (
            "{\"command\": \"x\", \"start_timeout\": 5}",
            &["\"start_timeout\" is no known key; did you mean \"startTimeout\"?"][..],
        ),
        ("{\"command\": \"x\", \"zzzzz\": 5}", &["\"zzzzz\" is no known key"]),
        ("{\"command\": \"x\", \"disabledTools\": []}", &["\"disabledTools\" has no effect here; use \"tools.deny\""]),
        (
            "{\"command\": \"x\",\n\"command\": \"y\"}",
            &["\"command\" is given twice, in lines 1 and 2; the last counts"],
        ),
        (
            "{\"command\": \"npx -y p\"}",
            &["\"command\" holds more than a program; what follows \"npx\" belongs into \"args\""],
        ),
        ("{\"command\": \"/my programs/x\"}", &[]),
        (
            "{\"command\": \"x\", \"timeout\": 30000}",
            &["\"timeout\" is 30000 seconds; milliseconds? Then write \"30000ms\""],
        ),
        ("{\"command\": \"x\", \"timeout\": \"2h\"}", &[]),
        ("{\"command\": \"x\", \"headers\": {}}", &["\"headers\" (an object) has no effect beside \"command\""]),
        ("{\"url\": \"https://h\", \"env\": {}}", &["\"env\" has no effect beside \"url\""]),
        (
            "{\"command\": \"x\", \"description\": \"d\", \"autoApprove\": [], \"alwaysAllow\": [], \"icon\": \"i\", \"gallery\": true, \"version\": \"1\", \"dev\": {}}",
            &[],
        ),
    ] {
        assert_eq!(warnings(text), expected, "{text}");
    }
}

#[test]
fn switched_off_entries_are_kept_and_never_a_problem() {
    assert!(entry("{\"command\": \"x\", \"disabled\": true}").disabled());
    assert!(entry("{\"command\": \"x\", \"enabled\": false}").disabled());
    assert!(!entry("{\"command\": \"x\", \"disabled\": false, \"enabled\": true}").disabled());
    let config = Config::parse("{\"mcpServers\": {\"x\": {\"disabled\": true, \"envFile\": \".env\"}}}").unwrap();
    assert!(config.problems().is_empty() && config.entries().is_empty());
    assert!(config.warnings()[0].reason().contains("switched off"), "{:?}", config.warnings());
}

#[test]
fn all_the_other_keys_arrive() {
    let text = "{\"command\": \"x\", \"timeout\": 1.5, \"startTimeout\": \"500ms\", \"maxTimeout\": 1e3, \"required\": true,
        \"protocol\": \"2025-06-18\", \"tools\": {\"allow\": [\"read_*\"], \"deny\": \"read_all\"}, \"transport\": \"stdio\"}";
    assert_eq!(warnings(text), [""; 0]);
    let spec = entry(text).resolve(&Environment::from_pairs([("PATH", "/bin")])).unwrap();
    assert_eq!(spec.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(spec.start_timeout, Some(Duration::from_millis(500)));
    assert_eq!(spec.max_timeout, Some(Duration::from_secs(1000)));
    assert_eq!(spec.protocol.to_string(), "2025-06-18");
    assert!(spec.required && spec.tools.permits("read_file") && !spec.tools.permits("read_all"));
    assert_eq!(spec.origin.as_ref().unwrap().line, 1);
    assert_eq!(stdio(&spec).path(), Some("/bin".as_ref()));
    let listed = entry("{\"command\": \"x\", \"tools\": [\"a\", \"b\"]}")
        .resolve(&Environment::from_pairs([("A", "")]))
        .unwrap();
    assert!(listed.tools.permits("a") && !listed.tools.permits("c"));
}

#[test]
fn p80_variables_are_put_in_everywhere_and_never_twice() {
    let environment = Environment::from_pairs([("T1", "abc"), ("T3", "${HOME}"), ("PORT", "8123"), ("HOME", "/h")]);
    let spec = entry(
        "{\"command\": \"${T1}\", \"args\": [\"--k=${T2:-d}\", \"$T1\", \"$${T1}\", \"${T3}\", 8080, true],
          \"env\": {\"X\": \"${T1}-${T1}\", \"N\": 5}}",
    );
    let spec = spec.resolve(&environment).unwrap();
    let process = stdio(&spec);
    assert_eq!(process.command, Path::new("abc"));
    assert_eq!(process.args, ["--k=d", "$T1", "${T1}", "${HOME}", "8080", "true"]);
    let own: Vec<(OsString, OsString)> =
        [("HOME", "/h"), ("N", "5"), ("X", "abc-abc")].map(|(name, value)| (name.into(), value.into())).into();
    assert_eq!(process.env, own);

    let spec =
        entry("{\"url\": \"http://127.0.0.1:${PORT}/mcp\", \"headers\": {\"Authorization\": \"Bearer ${env:T1}\"}}");
    let spec = spec.resolve(&environment).unwrap();
    assert_eq!(http(&spec).url, "http://127.0.0.1:8123/mcp");
    assert_eq!(http(&spec).headers[0].1.expose(), "Bearer abc");
}

#[test]
fn p80_a_missing_variable_is_an_error_of_its_server_that_names_the_field() {
    let environment = Environment::from_pairs([("HOME", "/h")]);
    for (text, field) in [
        ("{\"command\": \"${T2}\"}", "command"),
        ("{\"command\": \"x\", \"args\": [\"a\", \"${T2}\"]}", "args[1]"),
        ("{\"command\": \"x\", \"env\": {\"K\": \"${T2}\"}}", "env.K"),
        ("{\"command\": \"x\", \"cwd\": \"${T2}\"}", "cwd"),
        ("{\"url\": \"${T2}\"}", "url"),
        ("{\"url\": \"https://h\", \"headers\": {\"Authorization\": \"${T2}\"}}", "headers.Authorization"),
    ] {
        let error = entry(text).resolve(&environment).unwrap_err();
        let message = format!("Server \"x\" can't be used: \"{field}\" needs the variable T2, which is not set");
        assert_eq!(error.message(), message);
        let context: Vec<_> = error.context().collect();
        assert_eq!(context, [("server", "x"), ("field", field), ("variable", "T2")]);
        assert!(error.hint().unwrap().ends_with("give it a default: \"${T2:-...}\""), "{error:?}");
    }
}

#[test]
fn p80_p67_what_variables_bring_is_checked_like_what_is_written() {
    let environment = Environment::from_pairs([("BAD", "a\r\nX: y"), ("URL", "ftp://h"), ("NUL", "a\0b")]);
    for (text, why) in [
        ("{\"url\": \"https://h\", \"headers\": {\"X-Key\": \"${BAD}\"}}", "\"headers.X-Key\" holds a line break"),
        ("{\"url\": \"${URL}/mcp\"}", "\"url\" has to begin with"),
        ("{\"command\": \"x\", \"args\": [\"${NUL}\"]}", "\"args[0]\" holds a NUL"),
        ("{\"command\": \"${NUL}\"}", "\"command\" holds a NUL"),
    ] {
        let error = entry(text).resolve(&environment).unwrap_err();
        assert!(error.message().contains(why), "{error}");
    }
}

#[test]
fn p97_paths_are_relative_to_the_file_and_a_tilde_is_home() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("c/work")).unwrap();
    fs::create_dir_all(root.join("x")).unwrap();
    fs::write(root.join("c/file"), "").unwrap();
    let environment = Environment::from_pairs([("HOME", root.as_os_str()), ("D", "work".as_ref())]);
    let resolve = |name: &str, text: &str| {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("{{\"mcpServers\": {{\n\"s\": {text}}}}}")).unwrap();
        Config::from_file(&file, &environment).unwrap().entry("s").unwrap().resolve(&environment)
    };
    for (name, text, command, cwd) in [
        ("c/mcp.json", "{\"command\": \"./fake.sh\", \"cwd\": \"./work\"}", root.join("c/fake.sh"), Some("c/work")),
        ("c/mcp.json", "{\"command\": \"bin/fake\", \"cwd\": \"~/x\"}", root.join("c/bin/fake"), Some("x")),
        ("c/mcp.json", "{\"command\": \"~/run.py\", \"cwd\": \"${D}\"}", root.join("run.py"), Some("c/work")),
        ("c/mcp.json", "{\"command\": \"npx\", \"cwd\": \"~\"}", "npx".into(), Some("")),
        ("c/mcp.json", "{\"command\": \"/bin/sh\"}", "/bin/sh".into(), None),
        ("c/mcp.json", "{\"command\": \"~user\"}", "~user".into(), None),
        (
            "c/.vscode/mcp.json",
            "{\"command\": \"${workspaceFolder}/f\", \"cwd\": \"work\"}",
            root.join("c/f"),
            Some("c/work"),
        ),
    ] {
        let spec = resolve(name, text).unwrap();
        assert_eq!(stdio(&spec).command, command, "{text}");
        let cwd: Option<PathBuf> = cwd.map(|cwd| root.join(cwd).components().collect());
        assert_eq!(stdio(&spec).cwd, cwd, "{text}");
    }
    let args = resolve("c/mcp.json", "{\"command\": \"x\", \"args\": [\"~user\", \"~/a\", \"./b\"]}").unwrap();
    assert_eq!(stdio(&args).args, ["~user", "~/a", "./b"]);
    for (cwd, fault) in [("./nope", "doesn't exist"), ("./file", "is no directory")] {
        let error = resolve("c/mcp.json", &format!("{{\"command\": \"x\", \"cwd\": \"{cwd}\"}}")).unwrap_err();
        let path = root.join("c").join(&cwd[2..]);
        assert_eq!(error.message(), format!("Server \"s\" can't be used: its \"cwd\" {} {fault}", path.display()));
        assert_eq!(error.get("file"), Some(&*format!("{}:2", root.join("c/mcp.json").display())));
    }
}

#[test]
fn p81_a_file_that_can_t_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let environment = Environment::from_pairs([("HOME", "/h")]).with_current_dir(dir.path());
    for (name, content, message) in [
        ("utf16.json", &b"\xff\xfe{\0"[..], "is UTF-16 text"),
        ("latin.json", b"{\"a\": \"\xe9\"}", "is no UTF-8 text"),
        ("broken.json", b"{\n\n\"mcpServers\" 1}", "broken.json:3:14: this is no valid JSON"),
    ] {
        fs::write(dir.path().join(name), content).unwrap();
        let error = Config::from_file(name, &environment).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(error.get("file").unwrap().contains(name));
    }
    assert!(
        Config::from_file("absent.json", &environment).unwrap_err().message().ends_with("absent.json doesn't exist")
    );
    assert!(Config::from_file(".", &environment).unwrap_err().message().ends_with("is a directory"));
}

/// Everything that a set-up makes secret is masked, and what isn't secret can still be read.
#[test]
fn p72_a_redactor_knows_the_secrets_of_its_entry() {
    let environment = Environment::from_pairs([
        ("TOKEN", "t0ken-AAAA"),
        ("HOST", "api.example.com"),
        ("HOME", "/home/someone"),
        ("BASE", "https://u:pw-BBBB@api.example.com/v1"),
        ("ROOT", "/srv/data"),
    ]);
    let redact = |text: &str, shown: &str| {
        let spec = entry(text).resolve(&environment).unwrap();
        spec.redactor.redact(shown).into_owned()
    };
    let url = "{\"url\": \"https://${HOST}/${TOKEN}/mcp?k=KEY-CCCC\", \"headers\": {\"X-Api-Key\": \"key-DDDD\", \"Accept\": \"text/plain\"}}";
    assert_eq!(
        redact(url, "api.example.com/t0ken-AAAA k=KEY-CCCC key-DDDD text/plain"),
        "api.example.com/*** k=*** *** text/plain"
    );
    assert_eq!(
        redact("{\"url\": \"${BASE}/mcp\"}", "https://api.example.com/v1 pw-BBBB"),
        "https://api.example.com/v1 ***"
    );
    let process = "{\"command\": \"x\", \"args\": [\"--token\", \"lit-EEEE\", \"${TOKEN}\", \"${HOME}\"], \"env\": {\"K\": \"env-FFFF\", \"MODE\": \"debug\"}}";
    assert_eq!(redact(process, "lit-EEEE t0ken-AAAA /home/someone env-FFFF debug"), "*** *** /home/someone *** debug");
    assert_eq!(redact("{\"command\": \"${ROOT}/x\"}", "/srv/data/x"), "/srv/data/x");
}

#[test]
fn p72_an_entry_is_shown_as_written_with_its_secrets_masked() {
    let process = entry(
        "{\"command\": \"npx\", \"args\": [\"-y\", \"--key=abcd\", \"--token=${T}\", \"--auth\", \"${U}\"], \"cwd\": \"~/x\",
          \"env\": {\"A\": \"secret\", \"B\": \"${B}\", \"C\": \"x${C}\", \"PATH\": \"/bin\"}, \"timeout\": 5, \"inheritEnv\": true,
          \"required\": true, \"disabled\": true, \"tools\": {\"deny\": [\"x\"]}}",
    );
    let expected = serde_json::json!({
        "command": "npx", "args": ["-y", "--key=***", "--token=${T}", "--auth", "${U}"], "cwd": "~/x",
        "env": {"A": "***", "B": "${B}", "C": "***", "PATH": "/bin"}, "timeout": 5.0, "inheritEnv": true,
        "required": true, "disabled": true, "tools": {"allow": [], "deny": ["x"]}
    });
    assert_eq!(process.masked(), expected);
    let url = entry(
        "{\"url\": \"https://u:p@h/?k=v\", \"headers\": {\"Authorization\": \"Bearer ${T}\", \"X\": \"abc\", \"Accept\": \"*/*\"}}",
    );
    let expected = serde_json::json!({
        "url": "https://***@h/?k=***",
        "headers": {"Authorization": "Bearer ${T}", "X": "***", "Accept": "*/*"}
    });
    assert_eq!(url.masked(), expected);
    let full = entry(
        "{\"command\": \"sh\", \"args\": [\"-c\", \"TOKEN=x; evil\"], \"env\": {\"LD_PRELOAD\": \"./evil.so\", \"API_KEY\": \"k\"}}",
    );
    let expected = serde_json::json!({
        "command": "sh", "args": ["-c", "TOKEN=x; evil"], "env": {"LD_PRELOAD": "./evil.so", "API_KEY": "***"}
    });
    assert_eq!(full.in_full(), expected);
}

#[test]
fn a_bad_or_disabled_winner_still_wins() {
    let first =
        Config::parse("{\"mcpServers\": {\"a\": {}, \"b\": {\"disabled\": true}, \"c\": {\"command\": \"1\"}}}")
            .unwrap();
    let second = "{\"mcpServers\": {\"a\": {\"command\": \"2\"}, \"b\": {\"command\": \"2\"}, \"c\": {}, \"d\": {\"command\": \"2\"}}}";
    let merged = Config::merge([first, Config::parse(second).unwrap()]);
    let labels: Vec<_> = merged.entries().iter().map(Entry::label).collect();
    assert_eq!(labels, ["c", "d"]);
    let problems: Vec<_> = merged.problems().iter().filter_map(Problem::label).collect();
    assert_eq!(problems, ["a"]);
    let losers: Vec<_> = merged.losers().iter().map(|loser| loser.label.as_str()).collect();
    assert_eq!(losers, ["a", "b", "c"]);
}

fn jsonish() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        "[{}\\[\\]:,]",
        "\"[a-zé\\\\u0-9${}:-]{0,8}\"",
        "-?[0-9.e+]{1,5}",
        "true|false|null",
        "//.?\n?",
        "/\\*.?(\\*/)?",
        Just("\"mcpServers\":{".to_owned()),
        Just("\"command\":".to_owned()),
        Just("\"url\":".to_owned()),
        ".",
    ];
    proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".*", jsonish in jsonish()) {
        let _ = Config::parse(&text);
        let _ = Config::parse(&jsonish);
        let _ = Config::parse(&format!("{{\"mcpServers\":{{\"a\":{{{jsonish}}}}}}}"));
    }

    #[test]
    fn no_value_makes_an_entry_panic(key in "command|args|env|cwd|url|headers|type|timeout|tools|disabled", value in ".*") {
        let value = serde_json::to_string(&value).unwrap();
        for shape in [value.clone(), format!("[{value}]"), format!("{{{value}:{value}}}"), format!("{{\"deny\":{value}}}")] {
            let text = format!("{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"{key}\":{shape}}}}}}}");
            let config = Config::parse(&text).unwrap();
            prop_assert_eq!(config.entries().len() + config.problems().len() + usize::from(config.warnings().iter().any(|w| w.reason().contains("switched off"))), 1);
            for entry in config.entries() {
                let _ = entry.resolve(&Environment::from_pairs([("HOME", "/h")]));
                let _ = entry.masked();
            }
        }
    }
}
