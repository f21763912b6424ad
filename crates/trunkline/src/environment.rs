//! A snapshot of the process environment. This is the only place of the library that reads it; whatever
//! depends on a variable, the home directory or the current directory is handed an [`Environment`]. It also
//! decides which variables a server's process gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::error::{Error, Result};

/// Which rules for paths and variables hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    Mac,
    Windows,
}

impl Platform {
    fn here() -> Self {
        match () {
            () if cfg!(windows) => Self::Windows,
            () if cfg!(target_os = "macos") => Self::Mac,
            () => Self::Linux,
        }
    }
}

/// Variables that a server's process gets from this one: what programs need to run at all, to find their
/// files, and to reach the network. Not among them is anything that usually holds a secret.
#[rustfmt::skip]
const INHERITED: &[&str] = &[
    // who and where
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TZ", "TMPDIR", "TMP", "TEMP",
    // language; LC_* as well
    "LANG", "LANGUAGE", "LOCALE_ARCHIVE",
    // the network and whom to trust on it
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // where programs keep things, and where version managers keep programs
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "ASDF_DATA_DIR",
    "ASDF_DIR", "MISE_DATA_DIR", "NVM_DIR", "PYENV_ROOT", "VOLTA_HOME",
    // windows on a screen
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
];

/// The same for Windows, beside the network's.
#[rustfmt::skip]
const INHERITED_WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "COMSPEC",
    "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT", "USERDOMAIN",
    "USERNAME", "USERPROFILE", "WINDIR",
];

/// The variables, the home directory and the current directory, as they were at one moment.
///
/// ```
/// use trunkline::Environment;
///
/// let environment = Environment::from_pairs([("HOME", "/home/me"), ("TOKEN", "abc")]);
/// assert_eq!(environment.get("TOKEN"), Some("abc"));
/// assert_eq!(environment.get("ABSENT"), None);
/// ```
#[derive(Clone)]
pub struct Environment(Arc<Snapshot>);

#[derive(Clone)]
struct Snapshot {
    variables: BTreeMap<OsString, OsString>,
    home: Option<PathBuf>,
    current_dir: PathBuf,
    platform: Platform,
}

impl Environment {
    /// The environment of this process, now.
    pub fn from_process() -> Self {
        Self(Arc::new(Snapshot {
            variables: std::env::vars_os().collect(),
            home: std::env::home_dir(),
            current_dir: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            platform: Platform::here(),
        }))
    }

    /// Exactly these variables; the home directory is what they say it is, the current directory is `/`.
    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(Arc::new(Snapshot {
            variables: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            home: None,
            current_dir: PathBuf::from("/"),
            platform: Platform::here(),
        }))
    }

    /// The same with another current directory, against which relative paths are resolved.
    #[must_use]
    pub fn with_current_dir(&self, dir: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Snapshot { current_dir: dir.into(), ..(*self.0).clone() }))
    }

    #[cfg(test)]
    pub(crate) fn on(&self, platform: Platform) -> Self {
        Self(Arc::new(Snapshot { platform, ..(*self.0).clone() }))
    }

    pub(crate) fn platform(&self) -> Platform {
        self.0.platform
    }

    /// A variable's value; nothing where it isn't set or is no text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name)?.to_str()
    }

    /// A variable's value.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) where it isn't set, is no text, or is empty.
    pub(crate) fn need(&self, name: &str) -> Result<&str> {
        self.get(name).filter(|value| !value.trim().is_empty()).ok_or_else(|| {
            Error::config(format!("The environment variable {name}, which should hold a token, is not set"))
                .with_context("variable", name)
                .with_hint(format!("Set it: export {name}=..."))
        })
    }

    /// A variable's value, text or not.
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        lookup(&self.0.variables, self.0.platform, OsStr::new(name)).map(|(_, value)| value.as_os_str())
    }

    /// The home directory.
    pub fn home(&self) -> Option<PathBuf> {
        let name = if self.0.platform == Platform::Windows { "USERPROFILE" } else { "HOME" };
        let set = self.get_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set.or_else(|| self.0.home.clone())
    }

    /// The current directory.
    pub fn current_dir(&self) -> &Path {
        &self.0.current_dir
    }

    /// Where this user's files of Trunkline are: `$XDG_CONFIG_HOME/trunkline`, else `~/.config/trunkline`; on
    /// macOS `~/Library/Application Support/trunkline`; on Windows `%APPDATA%\trunkline`.
    pub fn config_dir(&self) -> Option<PathBuf> {
        let absolute = |name: &str| self.get_os(name).map(PathBuf::from).filter(|path| path.has_root());
        let base = match self.0.platform {
            Platform::Windows => absolute("APPDATA").or_else(|| Some(self.home()?.join("AppData").join("Roaming"))),
            Platform::Mac => {
                absolute("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join("Library").join("Application Support")))
            }
            Platform::Linux => absolute("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config"))),
        };
        Some(base?.join("trunkline"))
    }

    /// Where what can be found out again is kept: `$XDG_CACHE_HOME/trunkline`, else `~/.cache/trunkline`; on macOS
    /// `~/Library/Caches/trunkline`; on Windows `%LOCALAPPDATA%\trunkline\cache`.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        let absolute = |name: &str| self.get_os(name).map(PathBuf::from).filter(|path| path.has_root());
        let base = match self.0.platform {
            Platform::Windows => {
                let local = absolute("LOCALAPPDATA").or_else(|| Some(self.home()?.join("AppData").join("Local")));
                return Some(local?.join("trunkline").join("cache"));
            }
            Platform::Mac => absolute("XDG_CACHE_HOME").or_else(|| Some(self.home()?.join("Library").join("Caches"))),
            Platform::Linux => absolute("XDG_CACHE_HOME").or_else(|| Some(self.home()?.join(".cache"))),
        };
        Some(base?.join("trunkline"))
    }

    /// A leading `~` or `~/` replaced by the home directory; `~user` stays as it is.
    pub(crate) fn expand_home(&self, text: &str) -> Option<PathBuf> {
        let rest = text.strip_prefix('~')?;
        let separator = |c: char| c == '/' || (c == '\\' && self.0.platform == Platform::Windows);
        let rest = if rest.is_empty() { rest } else { rest.strip_prefix(separator)? };
        let home = self.home()?;
        Some(if rest.is_empty() { home } else { home.join(rest) })
    }

    /// The complete environment of a server's process: the variables of a short list that programs need to
    /// run (all of this process's variables if `inherit`), then the server's `own`, which win.
    ///
    /// The list: `HOME PATH SHELL TERM USER LOGNAME TZ TMPDIR TMP TEMP`, `LANG LANGUAGE LC_*`, the proxy and
    /// certificate variables, `XDG_*_HOME`, the directories of version managers, and `DISPLAY
    /// WAYLAND_DISPLAY XAUTHORITY`; on Windows the system's own, such as `SYSTEMROOT APPDATA PATHEXT`.
    ///
    /// ```
    /// use trunkline::Environment;
    ///
    /// let here = Environment::from_pairs([("PATH", "/bin"), ("OPENAI_API_KEY", "sk-1")]);
    /// let own = [("API_KEY".to_owned(), "k".to_owned())].into_iter().collect();
    /// let names: Vec<_> = here.child_environment(&own, false).into_iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["API_KEY", "PATH"]);
    /// ```
    pub fn child_environment(&self, own: &IndexMap<String, String>, inherit: bool) -> Vec<(OsString, OsString)> {
        let platform = self.0.platform;
        let passes = |name: &OsStr, value: &OsStr| inherit || is_inherited(platform, name, value);
        let inherited = self.0.variables.iter().filter(|(name, value)| passes(name, value));
        let mut child: BTreeMap<OsString, OsString> =
            inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, value) in own {
            let same = lookup(&child, platform, OsStr::new(name)).map(|(name, _)| name.clone());
            child.insert(same.unwrap_or_else(|| name.into()), value.into());
        }
        child.into_iter().collect()
    }
}

/// On Windows, `Path` and `PATH` are the same variable.
fn lookup<'a>(
    variables: &'a BTreeMap<OsString, OsString>,
    platform: Platform,
    name: &OsStr,
) -> Option<(&'a OsString, &'a OsString)> {
    match platform {
        Platform::Windows => variables.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)),
        _ => variables.get_key_value(name),
    }
}

fn is_inherited(platform: Platform, name: &OsStr, value: &OsStr) -> bool {
    // Old shells export functions as variables.
    let Some(name) = name.to_str().filter(|_| !value.as_encoded_bytes().starts_with(b"()")) else {
        return false;
    };
    match platform {
        Platform::Windows => INHERITED.iter().chain(INHERITED_WINDOWS).any(|known| known.eq_ignore_ascii_case(name)),
        _ => INHERITED.contains(&name) || name.starts_with("LC_"),
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, dir) = (self.0.variables.len(), &self.0.current_dir);
        write!(f, "Environment({count} variables, in {})", dir.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn shown(child: Vec<(OsString, OsString)>) -> String {
        let pair = |(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display());
        child.into_iter().map(pair).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn p99_a_child_gets_what_programs_need_and_its_own() {
        let here = Environment::from_pairs([
            ("SECRET_X", "1"),
            ("HTTPS_PROXY", "p"),
            ("LC_ALL", "C"),
            ("PATH", "/bin"),
            ("HOME", "/h"),
            ("TERM", "() { evil; }"),
            ("XDG_SESSION_ID", "3"),
        ])
        .on(Platform::Linux);
        assert_eq!(shown(here.child_environment(&own(&[]), false)), "HOME=/h HTTPS_PROXY=p LC_ALL=C PATH=/bin");
        let child = here.child_environment(&own(&[("API_KEY", "a"), ("PATH", "/opt:/bin")]), false);
        assert_eq!(shown(child), "API_KEY=a HOME=/h HTTPS_PROXY=p LC_ALL=C PATH=/opt:/bin");
        assert!(shown(here.child_environment(&own(&[]), true)).contains("SECRET_X=1"));
    }

    #[test]
    fn one_server_s_variables_never_reach_another() {
        let here = Environment::from_pairs([("PATH", "/bin")]).on(Platform::Linux);
        assert_eq!(shown(here.child_environment(&own(&[("API_KEY", "a")]), false)), "API_KEY=a PATH=/bin");
        assert_eq!(shown(here.child_environment(&own(&[("API_KEY", "b")]), true)), "API_KEY=b PATH=/bin");
        assert_eq!(here.get("API_KEY"), None);
    }

    #[test]
    fn p82_p99_windows_ignores_the_case_of_names() {
        let here = Environment::from_pairs([("Path", "C:\\x"), ("SystemRoot", "C:\\Windows"), ("Secret", "1")])
            .on(Platform::Windows);
        assert_eq!(here.get("PATH"), Some("C:\\x"));
        let child = here.child_environment(&own(&[("PATH", "D:\\y")]), false);
        assert_eq!(shown(child), "Path=D:\\y SystemRoot=C:\\Windows");
    }

    #[test]
    fn the_user_s_directory_is_where_the_platform_wants_it() {
        let unix = Environment::from_pairs([("HOME", "/h")]);
        assert_eq!(unix.on(Platform::Linux).config_dir(), Some("/h/.config/trunkline".into()));
        assert_eq!(unix.on(Platform::Mac).config_dir(), Some("/h/Library/Application Support/trunkline".into()));
        let xdg = Environment::from_pairs([("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]);
        assert_eq!(xdg.on(Platform::Linux).config_dir(), Some("/x/trunkline".into()));
        let relative = Environment::from_pairs([("HOME", "/h"), ("XDG_CONFIG_HOME", "x")]);
        assert_eq!(relative.on(Platform::Linux).config_dir(), Some("/h/.config/trunkline".into()));
        let windows = Environment::from_pairs([("APPDATA", "/roaming"), ("USERPROFILE", "/u")]).on(Platform::Windows);
        assert_eq!(windows.config_dir(), Some(PathBuf::from("/roaming").join("trunkline")));
        assert_eq!(Environment::from_pairs::<&str, &str>([]).config_dir(), None);
    }

    #[test]
    fn p97_only_a_leading_tilde_of_this_user_is_expanded() {
        let here = Environment::from_pairs([("HOME", "/h")]).on(Platform::Linux);
        for (text, path) in [
            ("~", Some("/h")),
            ("~/", Some("/h")),
            ("~/srv/run.py", Some("/h/srv/run.py")),
            ("~user", None),
            ("~user/x", None),
            ("~\\x", None),
            ("/a/~/b", None),
            ("", None),
        ] {
            assert_eq!(here.expand_home(text), path.map(PathBuf::from), "{text}");
        }
        assert_eq!(Environment::from_pairs::<&str, &str>([]).expand_home("~/x"), None);
    }

    #[test]
    fn debug_shows_no_value() {
        let shown = format!("{:?}", Environment::from_pairs([("TOKEN", "s3cr3t")]));
        assert_eq!(shown, "Environment(1 variables, in /)");
    }
}
