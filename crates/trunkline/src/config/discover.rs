//! Where configs live and in which order they count. A project's file is read here, but its entries are
//! handed on only if the file is trusted.

use std::collections::HashSet;
use std::path::Path;

use super::Config;
use super::problem::{Origin, Problem};
use super::trust::{self, TrustStatus, TrustStore, Untrusted};
use crate::environment::Environment;
use crate::error::Result;

/// A list of files, as in `PATH`.
const VARIABLE: &str = "TRUNKLINE_CONFIG";

/// The project's files, relative to the current directory.
const PROJECT: [&str; 4] = [".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"];

/// The user's file, in the user's directory.
const USER: &str = "mcp.json";

pub(super) fn discover<P: AsRef<Path>>(named: &[P], environment: &Environment) -> Result<Config> {
    let mut seen = HashSet::new();
    let mut is_new = |path: &Path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let mut configs = Vec::new();

    let listed = environment.get_os(VARIABLE).map(std::env::split_paths).into_iter().flatten();
    let listed = listed.filter(|path| !path.as_os_str().is_empty());
    for path in named.iter().map(|path| path.as_ref().to_owned()).chain(listed) {
        let path = environment.current_dir().join(path);
        if is_new(&path) {
            configs.push(Config::from_file(path, environment)?);
        }
    }
    let user = environment.config_dir().map(|dir| dir.join(USER));
    let is_user = |path: &Path| user.as_ref().is_some_and(|user| same_file(user, path));
    for name in PROJECT {
        let path = environment.current_dir().join(name);
        if !is_user(&path) && path.exists() && is_new(&path) {
            configs.push(project(&path, environment));
        }
    }
    if let Some(path) = user.filter(|path| path.exists() && is_new(path)) {
        configs.push(tolerant(&path, Config::from_file(&path, environment)));
    }
    Ok(Config::merge(configs))
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// A project's file. Its content is read once, so that what is trusted is what is used.
fn project(path: &Path, environment: &Environment) -> Config {
    let content = match trust::read(path) {
        Ok(content) => content,
        Err(error) => return tolerant(path, Err(error)),
    };
    let status = TrustStore::of(environment).map_or(TrustStatus::Unknown, |store| store.status(path, &content));
    if status == TrustStatus::Trusted {
        return tolerant(path, Config::from_content(&content, path));
    }
    let untrusted = Untrusted::new(path, content, status == TrustStatus::Changed);
    Config { untrusted: vec![untrusted], files: vec![path.to_owned()], ..Config::default() }
}

/// A file that nobody named must not stop the others: what is wrong with it is a problem.
fn tolerant(path: &Path, outcome: Result<Config>) -> Config {
    outcome.unwrap_or_else(|error| {
        let line = error.get("file").and_then(|place| place.rsplit_once(':')).and_then(|(_, line)| line.parse().ok());
        let origin = Origin::new(path, line.unwrap_or(1));
        let problem = Problem::new(origin, None, error.message()).with_hint(error.hint());
        Config { problems: vec![problem], files: vec![path.to_owned()], ..Config::default() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    struct Machine {
        dir: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let machine = Self { dir: tempfile::tempdir().unwrap() };
            fs::create_dir_all(machine.path("home/.config/trunkline")).unwrap();
            fs::create_dir_all(machine.path("project/.vscode")).unwrap();
            machine
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(name)
        }

        fn write(&self, name: &str, labels: &[&str]) -> PathBuf {
            let entries: Vec<_> =
                labels.iter().map(|label| format!("\"{label}\": {{\"command\": \"{name}\"}}")).collect();
            let path = self.path(name);
            fs::write(&path, format!("{{\"mcpServers\": {{\n{}\n}}}}", entries.join(",\n"))).unwrap();
            path
        }

        fn environment(&self, listed: &[PathBuf]) -> Environment {
            let listed = std::env::join_paths(listed).unwrap();
            let home = self.path("home");
            let pairs = [
                ("HOME", home.clone().into_os_string()),
                ("XDG_CONFIG_HOME", home.join(".config").into_os_string()),
                (VARIABLE, listed),
            ];
            Environment::from_pairs(pairs).with_current_dir(self.path("project"))
        }
    }

    fn labels(config: &Config) -> Vec<&str> {
        config.entries().iter().map(|entry| entry.label()).collect()
    }

    #[test]
    fn files_count_in_order_and_the_first_wins() {
        let machine = Machine::new();
        let named = machine.write("named.json", &["a", "x"]);
        let listed = machine.write("listed.json", &["a", "b"]);
        let project = machine.write("project/.mcp.json", &["b", "c"]);
        machine.write("home/.config/trunkline/mcp.json", &["c", "d"]);
        let environment = machine.environment(&[listed, named.clone()]);
        let store = TrustStore::of(&environment).unwrap();
        store.grant(&store.read(&project).unwrap()).unwrap();

        let config = Config::discover(&[&named, &named], &environment).unwrap();
        assert_eq!(labels(&config), ["a", "x", "b", "c", "d"]);
        assert_eq!(config.files().len(), 4);
        let losers: Vec<_> = config.losers().iter().map(|loser| loser.label.as_str()).collect();
        assert_eq!(losers, ["a", "b", "c"]);
        assert_eq!(config.losers()[0].winner, Origin::new(&named, 2));
        assert_eq!(config.losers()[2].winner, Origin::new(&project, 3));
    }

    #[test]
    fn p76_a_project_s_file_is_used_only_as_it_was_when_it_was_trusted() {
        let machine = Machine::new();
        let project = machine.write("project/.vscode/mcp.json", &["evil", "worse"]);
        let environment = machine.environment(&[]);
        let config = || Config::discover::<&Path>(&[], &environment).unwrap();

        assert!(config().entries().is_empty());
        let [untrusted] = config().untrusted().to_owned().try_into().unwrap();
        assert_eq!((&untrusted.file, untrusted.changed), (&project, false));
        assert_eq!(untrusted.labels, ["evil", "worse"]);
        assert!(config().untrusted()[0].to_string().ends_with("is not trusted; its 2 servers can't be used yet"));

        let store = TrustStore::of(&environment).unwrap();
        store.grant(&untrusted).unwrap();
        assert_eq!(labels(&config()), ["evil", "worse"]);
        assert!(config().untrusted().is_empty());

        machine.write("project/.vscode/mcp.json", &["evil"]);
        assert!(config().entries().is_empty());
        assert!(config().untrusted()[0].changed);
    }

    #[test]
    fn p74_p76_a_stranger_s_names_can_t_act_on_a_terminal() {
        let machine = Machine::new();
        machine.write("project/mcp.json", &["a\\u001b[31m"]);
        let config = Config::discover::<&Path>(&[], &machine.environment(&[])).unwrap();
        assert_eq!(config.untrusted()[0].labels, ["a\\u{1b}[31m"]);
    }

    #[test]
    fn a_file_that_was_named_has_to_be_there_and_others_only_have_to_be_reported() {
        let machine = Machine::new();
        let environment = machine.environment(&[]);
        assert!(Config::discover(&["absent.json"], &environment).is_err());
        assert!(Config::discover::<&Path>(&[], &machine.environment(&[machine.path("absent.json")])).is_err());

        fs::write(machine.path("home/.config/trunkline/mcp.json"), "{\n\n oops").unwrap();
        let good = machine.write("good.json", &["a"]);
        let config = Config::discover(&[good], &environment).unwrap();
        assert_eq!(labels(&config), ["a"]);
        assert_eq!(config.problems().len(), 1);
        assert_eq!(config.problems()[0].origin().line, 3);
    }

    #[test]
    fn no_config_at_all_is_no_error() {
        let machine = Machine::new();
        let config = Config::discover::<&Path>(&[], &machine.environment(&[])).unwrap();
        assert!(config.files().is_empty() && config.entries().is_empty() && config.problems().is_empty());
    }
}
