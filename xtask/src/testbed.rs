//! Installs the servers that others wrote, as `testbed/` pins them, into `testbed/.installed/`. An install is kept
//! while its lock file, its place and the interpreter's version stay the same. Tests start the servers, not this.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The Python environments; each has its lock in `testbed/python/NAME.txt`.
const VENVS: [&str; 3] = ["servers", "ancient", "mcp1"];

const STAMP: &str = "installed-from";

/// Where the servers are, and which parts were installed just now.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) dir: PathBuf,
    fresh: Vec<String>,
}

impl Installed {
    pub(crate) fn describe(&self) -> String {
        let what =
            if self.fresh.is_empty() { "unchanged".to_owned() } else { format!("installed {}", self.fresh.join(", ")) };
        format!("{} ({what})", self.dir.display())
    }
}

/// One folder of the install, the files copied into it and the commands that fill it.
struct Part {
    name: String,
    dir: PathBuf,
    files: Vec<PathBuf>,
    /// Everything the install depends on; kept in the folder, so that a difference is seen.
    stamp: String,
    commands: Vec<Command>,
}

/// Installs what is missing or out of date: npm packages and Python environments side by side.
pub(crate) fn install(root: &Path) -> Result<Installed, String> {
    let versions = crate::tools::check()?;
    let source = root.join("testbed");
    let dir = source.join(".installed");
    make_dir(&dir)?;
    let lock = File::create(dir.join("lock")).map_err(|error| failure("make the lock file in", &dir, &error))?;
    lock.lock().map_err(|error| failure("wait for another install in", &dir, &error))?;

    let node = node(&source, &dir, &versions)?;
    let venvs = VENVS.iter().map(|name| venv(name, &source, &dir, &versions)).collect::<Result<Vec<_>, _>>()?;
    let (npm, pip) = thread::scope(|scope| {
        let npm = scope.spawn(|| fill(node));
        let pip = venvs.into_iter().map(fill).collect::<Result<Vec<_>, _>>();
        (npm.join().expect("the npm install doesn't panic"), pip)
    });
    let fresh = match (npm, pip) {
        (Ok(npm), Ok(pip)) => pip.into_iter().chain([npm]).flatten().collect(),
        (Err(npm), Err(pip)) => return Err(format!("{npm}\n\n{pip}")),
        (Err(message), _) | (_, Err(message)) => return Err(message),
    };
    // An ES module finds packages only from its own folder upwards, so these live beside them; always the latest text.
    for module in ["node/ts2_server.mjs", "node/node20.mjs"] {
        copy(&source.join(module), &dir.join(module))?;
    }
    Ok(Installed { dir, fresh })
}

fn node(source: &Path, installed: &Path, versions: &str) -> Result<Part, String> {
    let dir = installed.join("node");
    let files = ["package.json", "package-lock.json"].map(|name| source.join("node").join(name));
    let texts = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&dir);
    Ok(Part {
        name: "node".to_owned(),
        stamp: stamp(&dir, versions, &texts),
        dir,
        files: files.to_vec(),
        commands: vec![npm],
    })
}

fn venv(name: &str, source: &Path, installed: &Path, versions: &str) -> Result<Part, String> {
    let dir = installed.join("python").join(name);
    let lock = source.join("python").join(name).with_extension("txt");
    let mut create = Command::new("python3");
    create.args(["-m", "venv"]).arg(&dir);
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"])
        .arg(&lock);
    let stamp = stamp(&dir, versions, &[read(&lock)?]);
    Ok(Part { name: format!("python/{name}"), dir, files: vec![], stamp, commands: vec![create, pip] })
}

fn stamp(dir: &Path, versions: &str, texts: &[String]) -> String {
    format!("{}\n{versions}\n{}", dir.display(), texts.concat())
}

/// Fills the folder anew unless its stamp says that nothing changed; gives the name if it did something.
fn fill(part: Part) -> Result<Option<String>, String> {
    let Part { name, dir, stamp, files, commands } = part;
    let stamp_file = dir.join(STAMP);
    if fs::read_to_string(&stamp_file).is_ok_and(|text| text == stamp) {
        return Ok(None);
    }
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|error| failure("remove", &dir, &error))?;
    }
    make_dir(&dir)?;
    for file in &files {
        copy(file, &dir.join(file.file_name().expect("the path of a file")))?;
    }
    for command in commands {
        carry_out(command)?;
    }
    fs::write(&stamp_file, stamp).map_err(|error| failure("write", &stamp_file, &error))?;
    Ok(Some(name))
}

fn carry_out(mut command: Command) -> Result<(), String> {
    let line = describe(&command);
    let output = command.output().map_err(|error| format!("cannot start `{line}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!(
        "`{line}` failed ({}). Its last lines:\n{}\n\
         Is the package registry reachable? Run that line by hand to see more; \
         `cargo xtask testbed` starts this part afresh.",
        output.status,
        tail(&String::from_utf8_lossy(&text), 20)
    ))
}

/// The command as one would type it, with its folder.
fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match command.get_current_dir() {
        Some(dir) => format!("cd {} && {line}", dir.display()),
        None => line,
    }
}

fn tail(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

fn make_dir(dir: &Path) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|error| failure("make", dir, &error))
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| failure("read", file, &error))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| failure("copy", from, &error))
}

fn failure(action: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {action} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(dir: &Path, stamp: &str, script: &str) -> Part {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(dir);
        Part {
            name: "part".to_owned(),
            dir: dir.to_owned(),
            stamp: stamp.to_owned(),
            files: vec![],
            commands: vec![command],
        }
    }

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_part_is_filled_once_and_again_when_its_stamp_changes() {
        let dir = scratch("stamp");
        assert_eq!(fill(part(&dir, "one", "touch old")), Ok(Some("part".to_owned())));
        assert_eq!(fill(part(&dir, "one", "exit 1")), Ok(None));
        assert_eq!(fill(part(&dir, "two", "true")), Ok(Some("part".to_owned())));
        assert!(!dir.join("old").exists(), "a new install starts from an empty folder");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_failed_install_shows_its_last_lines_and_is_tried_again() {
        let dir = scratch("failed");
        let message = fill(part(&dir, "one", "seq 100; echo why >&2; exit 3")).unwrap_err();
        assert!(message.contains("| why") && message.contains("| 100") && !message.contains("| 50\n"), "{message}");
        assert!(message.contains("exit status: 3") && message.contains("seq 100"), "{message}");
        assert_eq!(fill(part(&dir, "one", "true")), Ok(Some("part".to_owned())));
        fs::remove_dir_all(dir).unwrap();
    }
}
