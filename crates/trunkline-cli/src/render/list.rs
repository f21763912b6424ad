//! What servers offer, as text for people: signatures, descriptions, and a line for each server that is missing.

use trunkline::{Error, Prompt, Resource, ResourceTemplate, ToolDefinition};

use super::{BOLD, CYAN, DIM, RED, YELLOW, error, escape, json, paint};
use crate::commands::list::Offer;
use crate::signature::Signature;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) brief: bool,
    pub(crate) schema: bool,
    /// Several kinds are shown: each gets a heading.
    pub(crate) headed: bool,
    pub(crate) width: usize,
}

/// One server and what it offers.
pub(crate) fn server(offer: &Offer, style: Style) -> String {
    let mut out = format!("{}\n", paint(BOLD, escape::line(&offer.server)));
    let mut add = |heading: &str, entries: Option<Vec<String>>| {
        let Some(entries) = entries else { return };
        let kind = heading.trim_end_matches('s');
        match entries.is_empty() {
            true if style.headed => {}
            true => out.push_str(&format!("  {}\n", paint(DIM, format!("(no {kind}s)")))),
            false if style.headed => out.push_str(&format!("  {}\n", paint(CYAN, heading))),
            false => {}
        }
        out.extend(entries);
    };
    let indent = if style.headed { 4 } else { 2 };
    let each =
        |entries: &Option<Vec<_>>| entries.as_ref().map(|all| all.iter().map(|x| tool(x, indent, style)).collect());
    add("tools", each(&offer.tools));
    let each = |all: &Vec<_>| all.iter().map(|x| resource(x, indent, style)).collect();
    add("resources", offer.resources.as_ref().map(each));
    let each = |all: &Vec<_>| all.iter().map(|x| template(x, indent, style)).collect();
    add("templates", offer.templates.as_ref().map(each));
    let each = |all: &Vec<_>| all.iter().map(|x| prompt(x, indent, style)).collect();
    add("prompts", offer.prompts.as_ref().map(each));
    out
}

fn tool(tool: &ToolDefinition, indent: usize, style: Style) -> String {
    let signature = Signature::of_tool(tool);
    let width = if style.brief { usize::MAX } else { style.width };
    let mut out = format!("{}\n", signature.painted(indent, width));
    out.push_str(&description(tool.description(), indent + 2, style));
    if style.schema {
        let schema = escape::json(&json::pretty(&tool.input_schema()));
        out.extend(schema.lines().map(|line| format!("{}{line}\n", " ".repeat(indent + 2))));
    }
    out
}

fn resource(resource: &Resource, indent: usize, style: Style) -> String {
    addressed(resource.uri(), &resource.name(), resource.mime_type(), resource.description(), indent, style)
}

fn template(template: &ResourceTemplate, indent: usize, style: Style) -> String {
    let (name, mime) = (template.name(), template.mime_type());
    addressed(template.uri_template(), &name, mime, template.description(), indent, style)
}

fn addressed(
    uri: &str,
    name: &str,
    mime_type: Option<String>,
    about: Option<String>,
    indent: usize,
    style: Style,
) -> String {
    let name = if uri.ends_with(name) { "" } else { name };
    let rest: Vec<_> =
        [name, mime_type.as_deref().unwrap_or_default()].into_iter().filter(|text| !text.is_empty()).collect();
    let rest = paint(DIM, escape::line(&rest.join(", ")));
    let line = format!("{}{}  {rest}", " ".repeat(indent), paint(BOLD, escape::line(uri)));
    format!("{}\n{}", line.trim_end(), description(about, indent + 2, style))
}

fn prompt(prompt: &Prompt, indent: usize, style: Style) -> String {
    let signature = Signature::of_prompt(prompt).painted(indent, style.width);
    format!("{signature}\n{}", description(prompt.description(), indent + 2, style))
}

/// The first lines of a description, dim and folded to the width.
fn description(text: Option<String>, indent: usize, style: Style) -> String {
    let Some(text) = text.filter(|_| !style.brief) else { return String::new() };
    let paragraph: Vec<_> = text.trim().lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let lines = folded(&escape::line(&paragraph.join(" ")), style.width.saturating_sub(indent).max(30));
    let more = lines.len() > 3 || text.trim().lines().count() > paragraph.len();
    let mut out = String::new();
    for (at, line) in lines.iter().take(3).enumerate() {
        let rest = if at + 1 == lines.len().min(3) && more { " ..." } else { "" };
        out.push_str(&format!("{}{}\n", " ".repeat(indent), paint(DIM, format!("{line}{rest}"))));
    }
    out
}

/// Words in lines of at most `width` characters, where no single word is longer.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The line for a server that can't be used.
pub(crate) fn dead(failure: &Error) -> String {
    let label = failure.get("server").map(|label| format!(" {}:", escape::line(label))).unwrap_or_default();
    let hint =
        failure.hint().map(|hint| format!(" {} {}", paint(CYAN, "hint:"), escape::line(hint))).unwrap_or_default();
    let reason = error::reason(failure);
    let last_words = failure.get("stderr").and_then(|text| text.lines().next_back());
    let reason = match (failure.get("path"), last_words) {
        (Some(path), _) => format!("{reason} ({})", escape::line(path)),
        (None, Some(words)) => format!("{reason}: {}", escape::line(&words.chars().take(200).collect::<String>())),
        (None, None) => reason,
    };
    let end = if reason.ends_with(['.', '!', '?']) || hint.is_empty() { "" } else { "." };
    format!("{}{label} {reason}{end}{hint}", paint(RED, "failed"))
}

/// The line for a server that needs longer.
pub(crate) fn starting(server: &str) -> String {
    format!("{} {}: still starting; --wait waits longer", paint(YELLOW, "pending"), escape::line(server))
}

/// How much there is, in one line.
pub(crate) fn summary(offers: &[Offer], problems: usize) -> String {
    let (mut counts, mut tools) = (Vec::new(), [(0, "tool"), (0, "resource"), (0, "template"), (0, "prompt")]);
    for offer in offers {
        tools[0].0 += offer.tools.as_ref().map_or(0, Vec::len);
        tools[1].0 += offer.resources.as_ref().map_or(0, Vec::len);
        tools[2].0 += offer.templates.as_ref().map_or(0, Vec::len);
        tools[3].0 += offer.prompts.as_ref().map_or(0, Vec::len);
    }
    let asked = |kind: usize| match kind {
        0 => offers.iter().any(|offer| offer.tools.is_some()),
        1 => offers.iter().any(|offer| offer.resources.is_some()),
        2 => offers.iter().any(|offer| offer.templates.is_some()),
        _ => offers.iter().any(|offer| offer.prompts.is_some()),
    };
    for (kind, (count, name)) in tools.into_iter().enumerate() {
        if asked(kind) {
            counts.push(counted(count, name));
        }
    }
    let ready = offers.iter().filter(|offer| offer.is_ready()).count();
    let failed = offers.iter().filter(|offer| offer.failure.is_some()).count() + problems;
    let pending = offers.iter().filter(|offer| offer.pending).count();
    let all = offers.len() + problems;
    let mut out = match ready {
        0 if all == 1 => "The server is not ready".to_owned(),
        0 => format!("None of {} is ready", counted(all, "server")),
        _ if ready == all => format!("{} from {}", counts.join(", "), counted(all, "server")),
        _ => format!("{} from {ready} of {}", counts.join(", "), counted(all, "server")),
    };
    if failed > 0 && all > 1 {
        out.push_str(&format!(", {failed} failed"));
    }
    if pending > 0 {
        out.push_str(&format!(", {pending} still starting"));
    }
    paint(DIM, out)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_to_the_width() {
        assert_eq!(folded("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(folded("a verylongword b", 6), ["a", "verylongword", "b"]);
        assert!(folded("  ", 9).is_empty());
    }

    #[test]
    fn descriptions_end_where_the_first_paragraph_does() {
        let style = Style { brief: false, schema: false, headed: false, width: 34 };
        let plain = |text: &str| {
            let painted = description(Some(text.to_owned()), 4, style);
            anstream::adapter::strip_str(&painted).to_string()
        };
        assert_eq!(plain("Reads.\n\nMore."), "    Reads. ...\n");
        assert_eq!(plain("Reads\nit."), "    Reads it.\n");
        assert_eq!(plain("x\u{1b}[2J"), "    x\\u{1b}[2J\n");
        assert_eq!(plain(""), "");
    }
}
