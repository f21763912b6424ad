//! Looks for what the testbed needs on a machine, and says how to get what is missing. Installs nothing itself.

use std::process::Command;

/// A program, the oldest version that will do, and the Debian package that has it.
struct Tool {
    name: &'static str,
    args: &'static [&'static str],
    at_least: (u32, u32),
    package: &'static str,
}

/// Asks for `ensurepip` too: without it `python3 -m venv` makes environments that lack pip.
const PYTHON: &str = "import ensurepip, platform, venv; print(platform.python_version())";

const TOOLS: [Tool; 4] = [
    Tool { name: "node", args: &["--version"], at_least: (20, 0), package: "nodejs" },
    Tool { name: "npm", args: &["--version"], at_least: (9, 0), package: "npm" },
    Tool { name: "python3", args: &["-c", PYTHON], at_least: (3, 11), package: "python3-venv" },
    Tool { name: "git", args: &["--version"], at_least: (2, 0), package: "git" },
];

/// The versions found, one line, or what is missing and how to get it.
pub(crate) fn check() -> Result<String, String> {
    let found: Vec<_> = TOOLS.iter().map(|tool| (tool, tool.version())).collect();
    let judged = || found.iter().map(|(tool, version)| (tool, tool.judge(version.as_deref())));
    let lacks: Vec<_> = judged().filter_map(|(tool, verdict)| verdict.err().map(|text| (tool, text))).collect();
    if lacks.is_empty() {
        return Ok(judged().filter_map(|(_, verdict)| verdict.ok()).collect::<Vec<_>>().join(", "));
    }
    let reasons: String = lacks.iter().map(|(_, text)| format!("\n  {text}")).collect();
    let packages: Vec<_> = lacks.iter().map(|(tool, _)| tool.package).collect();
    Err(format!(
        "the testbed needs programs that this machine lacks:{reasons}\n\
         On Debian: apt-get install {}   (nodejs of Debian 12 is too old: take Node's own build, version 20 or newer)\n\
         The tests that need none of them: cargo xtask test --fast",
        packages.join(" ")
    ))
}

impl Tool {
    /// What the program prints as its version; `None` where it can't be run.
    fn version(&self) -> Option<String> {
        let output = Command::new(self.name).args(self.args).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    }

    fn judge(&self, version: Option<&str>) -> Result<String, String> {
        let Tool { name, at_least: (major, minor), .. } = *self;
        let wanted = if minor == 0 { major.to_string() } else { format!("{major}.{minor}") };
        match version.map(|text| (text, numbers(text))) {
            Some((_, Some(found))) if found >= self.at_least => Ok(format!("{name} {}.{}", found.0, found.1)),
            Some((text, _)) => Err(format!("{name}: `{text}` found, {wanted} or newer needed")),
            None if name == "python3" => {
                Err(format!("python3: not found, or without venv and pip; {wanted} or newer needed"))
            }
            None => Err(format!("{name}: not found; {wanted} or newer needed")),
        }
    }
}

/// The first two numbers of a version, wherever they stand in the text.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut parts = text[start..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next().and_then(|part| part.parse().ok()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        let cases = [
            ("v20.20.2", (20, 20)),
            ("11.19.1", (11, 19)),
            ("git version 2.47.3", (2, 47)),
            ("3.11.7", (3, 11)),
            ("7", (7, 0)),
        ];
        for (text, expected) in cases {
            assert_eq!(numbers(text), Some(expected), "{text}");
        }
        assert_eq!(numbers("unknown"), None);
    }

    #[test]
    fn an_old_or_missing_program_is_named_with_what_is_needed() {
        let [node, _, python, _] = &TOOLS;
        assert_eq!(node.judge(Some("v20.1.0")), Ok("node 20.1".to_owned()));
        assert_eq!(node.judge(Some("v18.20.4")), Err("node: `v18.20.4` found, 20 or newer needed".to_owned()));
        assert_eq!(node.judge(None), Err("node: not found; 20 or newer needed".to_owned()));
        assert!(python.judge(Some("3.9.2")).unwrap_err().contains("3.11 or newer"));
    }
}
