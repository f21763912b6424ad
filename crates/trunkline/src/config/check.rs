//! What a URL, a header and a variable may be, wherever they come from: a file, a variable, a builder.

use crate::error::{Error, Result};
use crate::redact::mask_url;

/// Refuses what can't be the URL of a server.
pub(crate) fn check_url(url: &str) -> std::result::Result<(), String> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        url.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme)).map(|_| &url[scheme.len()..])
    });
    let Some(rest) = rest else {
        return Err("\"url\" has to begin with http:// or https://".to_owned());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.rsplit('@').next().is_none_or(|host| host.is_empty() || host.starts_with(':')) {
        return Err("\"url\" has no host".to_owned());
    }
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("\"url\" holds a blank or a control character".to_owned());
    }
    Ok(())
}

/// Checks a URL and headers that code gave.
pub(crate) fn check_endpoint(url: &str, headers: &[(String, String)]) -> Result<()> {
    check_url(url).map_err(|why| {
        Error::config(format!("Can't connect to {}: its {}", mask_url(url), why.replace('"', "")))
            .with_hint("A URL looks like https://example.com/mcp")
    })?;
    let checked = headers.iter().try_for_each(|(name, value)| {
        check_header_name(name)?;
        check_header(name, value)
    });
    checked.map_err(Error::config)
}

/// Refuses a header value that would end the header.
pub(crate) fn check_header(name: &str, value: &str) -> std::result::Result<(), String> {
    if value.contains(['\r', '\n', '\0']) {
        return Err(format!("\"headers.{name}\" holds a line break or a NUL character"));
    }
    Ok(())
}

/// Refuses what can't be the name of a header.
pub(crate) fn check_header_name(name: &str) -> std::result::Result<(), String> {
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)) {
        return Ok(());
    }
    Err(format!("\"headers\" has the name {name:?}, which no header can have"))
}

/// Refuses what can't be the name of a variable.
pub(crate) fn check_variable_name(name: &str) -> std::result::Result<(), String> {
    if !name.is_empty() && !name.contains(['=', '\0']) {
        return Ok(());
    }
    Err(format!("\"env\" has the name {name:?}, which no variable can have"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme_and_a_host() {
        for url in ["http://h", "HTTPS://h:1/x?y", "http://u:p@h/", "http://[::1]:8080/mcp"] {
            check_url(url).unwrap();
        }
        for (url, why) in [
            ("h/mcp", "begin with"),
            ("ws://h", "begin with"),
            ("", "begin with"),
            ("é", "begin with"),
            ("http://", "no host"),
            ("http://:80/", "no host"),
            ("http://u@/x", "no host"),
            ("http://h/a b", "blank"),
            ("http://h\r\nX: y", "blank"),
        ] {
            let reason = check_url(url).unwrap_err();
            assert!(reason.contains(why), "{url}: {reason}");
        }
    }

    #[test]
    fn headers_stay_in_their_line() {
        check_header("X", "Bearer é").unwrap();
        for value in ["a\r\nX: y", "a\nb", "a\0"] {
            assert!(check_header("X-Key", value).unwrap_err().contains("headers.X-Key"));
        }
        check_header_name("X-Api_Key.1").unwrap();
        for name in ["", "a b", "a:b", "a\n", "é"] {
            check_header_name(name).unwrap_err();
        }
        check_variable_name("ProgramFiles(x86)").unwrap();
        for name in ["", "a=b", "a\0"] {
            check_variable_name(name).unwrap_err();
        }
    }
}
