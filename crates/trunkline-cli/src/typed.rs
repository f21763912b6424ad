//! The servers that the command line itself names: `--stdio`, `--url` and what stands after `--`, as a config.

use serde_json::{Map, Value, json};
use trunkline::{Client, Config};

use crate::args::Global;
use crate::exit::{Failure, Outcome};
use crate::words;

/// The servers of the command line: `--stdio`, `--url`, and what stands after `--`.
pub(crate) fn typed(global: &Global, command: &[String]) -> Outcome<Option<Config>> {
    let mut servers: Vec<(String, Value)> = Vec::new();
    for text in &global.stdio {
        let (name, line) = named(text);
        let words = words::split(line)?;
        let Some(program) = words.first() else {
            return Err(Failure::usage(format!("--stdio '{text}' has no command")));
        };
        servers.push((name.map_or_else(|| label_of(program), str::to_owned), started(&words)));
    }
    let headers = headers(global)?;
    for text in &global.url {
        let (name, url) = named(text);
        let entry = json!({"url": literal(url), "headers": headers});
        servers.push((name.map_or_else(|| label_of_host(url), str::to_owned), entry));
    }
    if let Some(program) = command.first() {
        servers.push((label_of(program), started(command)));
    }
    for (at, (label, _)) in servers.iter().enumerate() {
        if servers[..at].iter().any(|(other, _)| other == label) {
            return Err(Failure::usage(format!("Two servers of the command line are named \"{label}\""))
                .hint("Name them: --stdio 'NAME=COMMAND ARGS', --url NAME=URL"));
        }
    }
    if servers.is_empty() { Ok(None) } else { entries(servers).map(Some) }
}

/// The headers for the servers of `--url`; the token is looked up when one connects.
fn headers(global: &Global) -> Outcome<Map<String, Value>> {
    if global.url.is_empty() && !(global.header.is_empty() && global.bearer_env.is_none()) {
        return Err(Failure::usage("--header and --bearer-env go with --url")
            .hint("A server of a config file has its own \"headers\""));
    }
    let mut headers = Map::new();
    for text in &global.header {
        let Some((name, value)) = text.split_once(':') else {
            return Err(Failure::usage("--header has no colon").hint("Write --header 'Name: value'"));
        };
        headers.insert(name.trim().to_owned(), literal(value.trim()));
    }
    if let Some(variable) = &global.bearer_env {
        headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}").into());
    }
    Ok(headers)
}

/// A name in front of a command line: `docs=npx server`.
fn named(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    match text.trim_start().split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    }
}

/// The command's base name, without its extension.
fn label_of(program: &str) -> String {
    let base = program.rsplit(['/', '\\']).next().unwrap_or_default();
    legal(base.rsplit_once('.').map_or(base, |(stem, _)| stem))
}

/// The name that the library gives a server at this URL; what is wrong with the URL is told when it is used.
fn label_of_host(url: &str) -> String {
    Client::http(url).build().map_or_else(|_| "server".to_owned(), |client| client.label().to_owned())
}

fn legal(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let label: String = name.chars().map(legal).collect();
    let label = label.trim_start_matches(['.', '-']).to_owned();
    if label.is_empty() { "server".to_owned() } else { label }
}

/// Text that is meant as it is, for a config that knows variables.
fn literal(text: &str) -> Value {
    text.replace("${", "$${").into()
}

/// The entry of a command that is meant literally.
pub(crate) fn started(words: &[String]) -> Value {
    let words: Vec<_> = words.iter().map(|word| literal(word)).collect();
    json!({"command": words[0], "args": words[1..]})
}

pub(crate) fn entries(servers: impl IntoIterator<Item = (String, Value)>) -> Outcome<Config> {
    let servers: Map<String, Value> = servers.into_iter().collect();
    let config = Config::parse(&json!({"mcpServers": servers}).to_string())?;
    match config.problems().first() {
        Some(problem) => Err(problem.to_error().into()),
        None => Ok(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline::Environment;

    #[test]
    fn names_and_labels_of_the_command_line() {
        assert_eq!(named("docs=npx -y x"), (Some("docs"), "npx -y x"));
        assert_eq!(named("npx --key=a"), (None, "npx --key=a"));
        assert_eq!(named("/bin/x=y"), (None, "/bin/x=y"));
        assert_eq!(named("-=x"), (None, "-=x"));
        for (program, label) in
            [("/usr/bin/npx", "npx"), ("./server.py", "server"), ("my server", "my_server"), ("..", "server")]
        {
            assert_eq!(label_of(program), label);
        }
    }

    fn typed_by(words: &[&str]) -> Outcome<Option<Config>> {
        use clap::Parser as _;
        let cli = crate::args::Cli::parse_from(["trunkline", "list"].iter().chain(words));
        let crate::args::Command::List(list) = cli.command else { panic!("list") };
        typed(&cli.global, &list.command)
    }

    #[test]
    fn a_typed_server_is_taken_literally() {
        let config = typed_by(&["--stdio", "a=x '${HOME}' ~", "--", "y"]).unwrap().unwrap();
        let spec = config.entry("a").unwrap().resolve(&Environment::from_pairs([("HOME", "/h")])).unwrap();
        assert_eq!(spec.target(), "x '${HOME}' '~'".replace("'~'", "~"));
        assert!(config.entry("y").is_some());
        assert!(typed_by(&["--stdio", "x", "--", "x"]).is_err());
        assert!(typed_by(&["--stdio", "a= "]).is_err());
    }

    #[test]
    fn a_typed_url_has_a_name_and_the_headers_of_the_command_line() {
        let words = ["--url", "api=https://h/mcp?a=b", "--url", "http://127.0.0.1:9/x", "--header", "X-A: ${HOME}"];
        let config = typed_by(&[&words[..], &["--bearer-env", "TOKEN"]].concat()).unwrap().unwrap();
        let environment = Environment::from_pairs([("TOKEN", "t0ken")]);
        let spec = config.entry("api").unwrap().resolve(&environment).unwrap();
        let trunkline::TransportSpec::Http(http) = &spec.transport else { panic!("{spec:?}") };
        let headers: Vec<_> = http.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(headers, [("Authorization", "Bearer t0ken"), ("X-A", "${HOME}")]);
        assert!(http.guessed && http.url == "https://h/mcp?a=b");
        assert!(config.entry("127.0.0.1").is_some());
        assert!(typed_by(&["--header", "X-A: b"]).is_err());
        assert!(typed_by(&["--url", "http://h", "--header", "X-A"]).is_err());
    }
}
