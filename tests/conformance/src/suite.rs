//! Starts the suite's command.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::legs::{Leg, Part};

const PACKAGE: &str = "node_modules/@modelcontextprotocol/conformance";

/// Milliseconds a client may take when all run at once, and when it runs alone.
const TOGETHER: &str = "60000";
const ALONE: &str = "90000";

/// The installed suite, and the client it starts.
pub(crate) struct Suite {
    node: PathBuf,
    results: PathBuf,
    command: String,
}

impl Suite {
    pub(crate) fn new() -> Result<Self, String> {
        let installed = std::env::var_os("TRUNKLINE_TESTBED").map(PathBuf::from);
        let installed =
            installed.ok_or("TRUNKLINE_TESTBED names no installed testbed: run `cargo xtask conformance`")?;
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        // the suite hands it to a shell
        let command = format!("'{}' client", this.display().to_string().replace('\'', "'\\''"));
        Ok(Self { node: installed.join("node"), results: this.with_file_name("conformance"), command })
    }

    /// The version installed.
    pub(crate) fn version(&self) -> Result<String, String> {
        let manifest: serde_json::Value = serde_json::from_str(&self.read("package.json")?)
            .map_err(|error| format!("the suite's package.json can't be read: {error}"))?;
        Ok(manifest["version"].as_str().unwrap_or_default().to_owned())
    }

    /// The scenarios of a leg that a revision requires of a client: the list `client` of the suite's own file. Empty where the
    /// leg is in no such file.
    pub(crate) fn required(&self, leg: &Leg) -> Result<Vec<String>, String> {
        let Part::Requirements = leg.part else { return Ok(Vec::new()) };
        let text = self.read(&format!("requirements/{}.yaml", leg.spec))?;
        let list = text.lines().skip_while(|line| *line != "client:").skip(1);
        let list = list.map_while(|line| line.strip_prefix("  - "));
        Ok(list.map(|name| name.trim().to_owned()).collect())
    }

    fn read(&self, file: &str) -> Result<String, String> {
        let path = self.node.join(PACKAGE).join(file);
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    }

    /// Plays a leg, its scenarios side by side; gives the folder of the results.
    pub(crate) fn play(&self, leg: &Leg) -> Result<PathBuf, String> {
        let folder = self.folder(leg.name)?;
        match leg.part {
            Part::Requirements => self.start(&folder, &["--requirements", leg.spec, "--timeout", TOGETHER])?,
            Part::Suite(name) => {
                self.start(&folder, &["--suite", name, "--spec-version", leg.spec, "--timeout", TOGETHER])?;
            }
            Part::Scenarios(names) => {
                for name in names {
                    self.scenario(&folder, leg, name)?;
                }
            }
        }
        Ok(folder)
    }

    /// Plays one scenario alone; gives the folder of its results.
    pub(crate) fn play_alone(&self, leg: &Leg, scenario: &str) -> Result<PathBuf, String> {
        let folder = self.folder(&format!("{}-{}", leg.name, scenario.replace('/', "-")))?;
        self.scenario(&folder, leg, scenario)?;
        Ok(folder)
    }

    fn scenario(&self, folder: &Path, leg: &Leg, name: &str) -> Result<(), String> {
        let args = ["--scenario", name, "--spec-version", leg.spec, "--force", "--timeout", ALONE];
        self.start(folder, &args)
    }

    /// A new folder for results.
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.results.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
        }
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Its exit code says less than the results do, so it is not looked at.
    fn start(&self, folder: &Path, args: &[&str]) -> Result<(), String> {
        let log = File::options().create(true).append(true).open(folder.join("log"));
        let log = log.map_err(|error| format!("cannot write in {}: {error}", folder.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut node = Command::new("node");
        node.args(["--import", "./node20.mjs"]).arg(format!("{PACKAGE}/dist/index.js"));
        node.args(["client", "--command", &self.command]).args(args).arg("-o").arg(folder).current_dir(&self.node);
        let status = node.stdin(Stdio::null()).stdout(log).stderr(errors).status();
        status.map(drop).map_err(|error| format!("cannot run node: {error}"))
    }
}
