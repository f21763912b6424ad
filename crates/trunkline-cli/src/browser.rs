//! Opens an address in the person's browser, where there is one at hand.

use std::process::{Command, Stdio};

use trunkline::Environment;

use crate::words;

/// Opens it; whether a browser was started. None is where the person sits at another machine (SSH), or at no display,
/// unless `$BROWSER` says otherwise.
pub(crate) fn open(url: &str, environment: &Environment) -> bool {
    // nothing but the web: whatever else there is may start a program
    if !(url.starts_with("https://") || url.starts_with("http://")) {
        return false;
    }
    candidates(url, environment).into_iter().any(|command| start(&command, environment))
}

/// The commands to try, the first that starts winning.
fn candidates(url: &str, environment: &Environment) -> Vec<Vec<String>> {
    let own = environment.get("BROWSER").unwrap_or_default().split(':').filter(|text| !text.is_empty());
    let own: Vec<_> = own.filter_map(|text| with_url(text, url)).collect();
    if !own.is_empty() {
        return own;
    }
    let is_set = |name: &str| environment.get_os(name).is_some_and(|value| !value.is_empty());
    let remote = ["SSH_CONNECTION", "SSH_TTY"].into_iter().any(is_set);
    let display = cfg!(any(windows, target_os = "macos")) || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set);
    if remote || !display {
        return Vec::new();
    }
    let words: &[&str] = if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        &["rundll32", "url.dll,FileProtocolHandler"] // `start` reads an & as the end of the command
    } else {
        &["xdg-open"]
    };
    vec![words.iter().copied().chain([url]).map(str::to_owned).collect()]
}

/// A command of `$BROWSER`, whose `%s` is the address; it comes last where there is none.
fn with_url(text: &str, url: &str) -> Option<Vec<String>> {
    let mut words = words::split(text).ok().filter(|words| !words.is_empty())?;
    match words.iter().any(|word| word.contains("%s")) {
        true => words.iter_mut().for_each(|word| *word = word.replace("%s", url)),
        false => words.push(url.to_owned()),
    }
    Some(words)
}

fn start(words: &[String], environment: &Environment) -> bool {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = environment.get_os("PATH") {
        command.env("PATH", path);
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0); // Ctrl-C here is not meant for it
    command.spawn().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Vec<String> {
        let environment = Environment::from_pairs(variables.iter().copied());
        candidates("https://a/?b=1&c=2", &environment).iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn the_person_s_own_browser_comes_first() {
        assert_eq!(
            found(&[("BROWSER", "firefox -P 'my own':w3m %s -n")]),
            ["firefox -P my own https://a/?b=1&c=2", "w3m https://a/?b=1&c=2 -n"]
        );
        assert_eq!(found(&[("BROWSER", "code"), ("SSH_TTY", "/dev/pts/1")]), ["code https://a/?b=1&c=2"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn none_is_opened_where_nobody_sees_it() {
        assert_eq!(found(&[("DISPLAY", ":0")]), ["xdg-open https://a/?b=1&c=2"]);
        assert_eq!(found(&[("WAYLAND_DISPLAY", "wayland-0")]).len(), 1);
        assert!(found(&[("DISPLAY", "")]).is_empty());
        assert!(found(&[("DISPLAY", ":0"), ("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22")]).is_empty());
        assert!(found(&[]).is_empty());
    }

    #[test]
    fn only_addresses_of_the_web_are_opened() {
        let environment = Environment::from_pairs([("BROWSER", "true"), ("PATH", "/usr/bin:/bin")]);
        assert!(!open("file:///etc/passwd", &environment));
        assert!(!open("--help", &environment));
    }
}
