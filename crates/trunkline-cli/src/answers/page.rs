//! A page that a server wants the person to open: shown in full with its host, opened only by consent.

use reqwest::Url;
use trunkline::{Answer, Elicitation, Environment};

use super::form::quoted;
use crate::person::Turn;
use crate::render::{BOLD, YELLOW, escape, paint};

/// Asks for consent, and opens the page.
pub(crate) async fn consent(
    turn: &mut Turn<'_>,
    request: &Elicitation,
    url: &str,
    environment: &Environment,
) -> Answer {
    turn.say(&format!(
        "{} asks you to open a page:\n{}  {}",
        paint(BOLD, escape::line(request.server())),
        quoted(&request.message()),
        escape::line(url)
    ));
    let page = match Url::parse(url) {
        Ok(page) if matches!(page.scheme(), "https" | "http") && page.host_str().is_some() => page,
        _ => {
            turn.say("  This is no address of the web: declined.");
            return Answer::decline();
        }
    };
    turn.say(&format!("  at {}", paint(BOLD, escape::line(page.host_str().unwrap_or_default()))));
    for warning in warnings(&page) {
        turn.say(&format!("  {}: {warning}", paint(YELLOW, "careful")));
    }
    loop {
        let Some(line) = turn.ask("Open it in your browser? [y]es, [n]o, [c]ancel: ").await else {
            return Answer::decline();
        };
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => break,
            "n" | "no" | "/decline" => return Answer::decline(),
            "c" | "cancel" | "/cancel" => return Answer::cancel(),
            _ => {}
        }
    }
    if !crate::browser::open(page.as_str(), environment) {
        turn.say("  No browser could be started here: open the address above yourself.");
    }
    Answer::accept(())
}

/// What may make a person take an address for another.
fn warnings(page: &Url) -> Vec<&'static str> {
    let host = page.host_str().unwrap_or_default();
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let mut warnings = Vec::new();
    if host.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push("the host's name has letters that may look like others");
    }
    if !page.username().is_empty() || page.password().is_some() {
        warnings.push("what stands before the @ is not the host");
    }
    if page.scheme() == "http" && !is_local {
        warnings.push("the connection is not encrypted");
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_pretend_are_told() {
        for (url, count) in [
            ("https://example.com/login", 0),
            ("http://localhost:8080/x", 0),
            ("http://example.com", 1),
            ("https://exаmple.com", 1), // with a Cyrillic letter
            ("https://bank.example@evil.example/", 1),
            ("http://user:x@xn--e1awd7f.example/", 3),
        ] {
            assert_eq!(warnings(&Url::parse(url).unwrap()).len(), count, "{url}");
        }
    }
}
