//! A home, a project folder and servers for one test, and the program run in them with nothing else around.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");

/// A server in plain shell. What it does is said by variables: LOG gets every line it reads, PIDFILE its process;
/// ASK is what it asks during each call, whose result is then the reply; TOOLS, CALL, RESOURCES, READ, PROMPTS (MUTE: never), GET,
/// TEMPLATES and COMPLETE are what it answers; UPDATES is said once something is subscribed to, and then it ends the first time where DIES names a file; SLOW makes it keep calls unanswered.
pub(crate) const SERVER: &str = r#"
[ -n "$PIDFILE" ] && echo $$ > "$PIDFILE"
[ -n "$NOISE" ] && printf '%s\n' "$NOISE"
[ -n "$COMPLAINT" ] && printf '%s\n' "$COMPLAINT" >&2
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
caps='"tools":{}'
[ -n "$RESOURCES$TEMPLATES" ] && caps="$caps,\"resources\":{}"
[ -n "$PROMPTS" ] && caps="$caps,\"prompts\":{}"
while IFS= read -r line; do
  [ -n "$LOG" ] && printf '%s\n' "$line" >> "$LOG"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      answer "\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{$caps},\"serverInfo\":{\"name\":\"fake\",\"version\":\"1\"}}" ;;
    *'"method":"server/discover"'*) answer '"error":{"code":-32601,"message":"Method not found"}' ;;
    *'"method":"tools/list"'*) answer "\"result\":{\"tools\":[$TOOLS]}" ;;
    *'"method":"tools/call"'*)
      if [ -n "$ASK" ]; then
        call=$id
        printf '{"jsonrpc":"2.0","id":"q",%s}\n' "$ASK"
      elif [ -z "$SLOW" ]; then answer "$CALL"; fi ;;
    *'"id":"q"'*) id=$call; answer "\"result\":{\"content\":[],\"structuredContent\":{\"reply\":$line}}" ;;
    *'"method":"resources/list"'*) answer "\"result\":{\"resources\":[$RESOURCES]}" ;;
    *'"method":"resources/templates/list"'*) answer "\"result\":{\"resourceTemplates\":[$TEMPLATES]}" ;;
    *'"method":"resources/subscribe"'*)
      answer '"result":{}'
      [ -z "$UPDATES" ] || printf '%s\n' "$UPDATES"
      [ -z "$DIES" ] || [ -f "$DIES" ] || { : > "$DIES"; exit 3; } ;;
    *'"method":"completion/complete"'*) answer "$COMPLETE" ;;
    *'"method":"ping"'*) answer '"result":{}' ;;
    *'"method":"resources/read"'*) answer "$READ" ;;
    *'"method":"prompts/list"'*) [ "$PROMPTS" = MUTE ] || answer "\"result\":{\"prompts\":[$PROMPTS]}" ;;
    *'"method":"prompts/get"'*) answer "$GET" ;;
  esac
done
[ -z "$STUBBORN" ] || { trap '' TERM; while :; do sleep 1; done; }
"#;

pub(crate) struct Bench {
    dir: TempDir,
}

/// What a run of the program came to. The folder's path is shown as DIR, the program's as PROGRAM.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self { dir: TempDir::new().unwrap() };
        for folder in ["home/.config/trunkline", "here"] {
            fs::create_dir_all(bench.path(folder)).unwrap();
        }
        fs::write(bench.path("server.sh"), SERVER).unwrap();
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name).display().to_string()
    }

    /// An entry for the shell server.
    pub(crate) fn server(&self, variables: Value) -> Value {
        json!({"command": "/bin/sh", "args": [self.path("server.sh")], "env": variables})
    }

    /// An entry for the built-in demo server.
    pub(crate) fn demo(&self) -> Value {
        json!({"command": PROGRAM, "args": ["demo"]})
    }

    /// Writes a config with these servers, in this order, each on a line of its own; its path.
    pub(crate) fn config<const N: usize>(&self, servers: [(&str, Value); N]) -> String {
        self.config_at("mcp-test.json", servers)
    }

    pub(crate) fn config_at<const N: usize>(&self, name: &str, servers: [(&str, Value); N]) -> String {
        let lines: Vec<_> = servers.iter().map(|(label, entry)| format!("{}: {entry}", json!(label))).collect();
        self.write(name, format!("{{\"mcpServers\": {{\n{}\n}}}}\n", lines.join(",\n")))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        trunkline_tests::default_signals();
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.path("here")).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.path("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.ran(&self.command(args).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        self.ran(&child.wait_with_output().unwrap())
    }

    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let dir = self.path("");
        let dir = dir.display().to_string();
        let shown = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(PROGRAM, "PROGRAM").replace(dir.trim_end_matches('/'), "DIR")
        };
        Ran { code: output.status.code().unwrap_or(-1), stdout: shown(&output.stdout), stderr: shown(&output.stderr) }
    }

    /// Starts the program and waits until the file is there, which a server writes.
    pub(crate) fn start_until(&self, args: &[&str], file: &str) -> Child {
        let child = self.command(args).spawn().unwrap();
        wait_until(file, || !self.read(file).trim().is_empty());
        child
    }

    /// The process of the shell server that wrote PIDFILE.
    pub(crate) fn pid(&self, file: &str) -> String {
        wait_until(file, || self.read(file).ends_with('\n'));
        self.read(file).trim().to_owned()
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn is(&self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!(self.stdout, stdout, "stdout; stderr: {}", self.stderr);
        assert_eq!(self.stderr, stderr, "stderr");
        assert_eq!(self.code, code, "exit code");
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The times that were measured, as TIME.
    pub(crate) fn timeless(&self) -> String {
        let is_time = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        let mut out = Vec::new();
        for line in self.stdout.lines() {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            for at in 0..words.len().saturating_sub(1) {
                if is_time(words[at]) && ["ms", "s"].contains(&words[at + 1]) {
                    words[at] = "TIME";
                    words.remove(at + 1);
                    break;
                }
            }
            out.push(words.join(" "));
        }
        out.join("\n")
    }
}

/// Waits for something that happens in another process.
#[track_caller]
pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs; one that only waits to be reaped doesn't.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    match stat {
        Ok(stat) => !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')),
        Err(_) if Path::new("/proc/self").exists() => false,
        Err(_) => Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status().unwrap().success(),
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

pub(crate) fn tool(name: &str, properties: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#)
}
