//! Reads doc comments: what goes into a tool's description, and what a list of arguments says of each.

use std::collections::HashMap;

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The lines of the doc comments among `attributes`, without their common indentation.
pub(crate) fn lines(attributes: &[Attribute]) -> Vec<String> {
    let texts = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(text);
    let lines: Vec<String> = texts.flat_map(|text| text.split('\n').map(str::to_owned).collect::<Vec<_>>()).collect();
    let indented = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = indented.map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    lines.iter().map(|line| line.get(indent..).unwrap_or_default().trim_end().to_owned()).collect()
}

fn text(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(meta) => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The text before the first heading.
pub(crate) fn description(lines: &[String]) -> String {
    let mut fenced = false;
    let body = lines.iter().take_while(|line| {
        fenced ^= line.trim_start().starts_with("```");
        fenced || heading(line).is_none()
    });
    body.map(String::as_str).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// What the list under `# Arguments` says of each of `names`.
pub(crate) fn arguments(lines: &[String], names: &[String]) -> HashMap<String, String> {
    let is_list = |line: &&String| heading(line).is_some_and(|title| title.eq_ignore_ascii_case("arguments"));
    let list = lines.iter().skip_while(|line| !is_list(line)).skip(1).take_while(|line| heading(line).is_none());
    let mut found: HashMap<String, String> = HashMap::new();
    let mut current = None;
    for line in list {
        if let Some((name, text)) = entry(line).filter(|(name, _)| names.iter().any(|known| known == name)) {
            current = Some(name.to_owned());
            found.insert(name.to_owned(), text.to_owned());
        } else if let Some(text) = current.as_ref().and_then(|name| found.get_mut(name)) {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    found.values_mut().for_each(|text| *text = text.trim().to_owned());
    found
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start().trim_start_matches('#');
    (title.len() < line.trim_start().len() && title.starts_with(' ')).then(|| title.trim())
}

/// The name and text of ``* `name` - text``, with or without the backquotes, `:` as good as a dash.
fn entry(line: &str) -> Option<(&str, &str)> {
    let item = line.trim_start().strip_prefix(['*', '-', '+'])?.strip_prefix(' ')?.trim_start();
    let (name, rest) = match item.strip_prefix('`') {
        Some(quoted) => quoted.split_once('`')?,
        None => item.split_at(item.find(|c: char| c != '_' && !c.is_alphanumeric())?),
    };
    let text = rest.trim_start().strip_prefix([':', '-', '\u{2013}', '\u{2014}'])?;
    Some((name, text.trim()))
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn doc(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn takes_the_lines_without_their_indentation() {
        let attributes = [
            parse_quote!(#[doc = " Adds."]),
            parse_quote!(#[inline]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = "   * more "]),
            parse_quote!(#[doc = include_str!("x")]),
        ];
        assert_eq!(lines(&attributes), ["Adds.", "", "  * more"]);
        assert_eq!(lines(&[parse_quote!(#[doc = "\n Adds.\n Twice.\n"])]), ["", "Adds.", "Twice.", ""]);
    }

    #[test]
    fn the_description_ends_at_the_first_heading() {
        for (text, description_is) in [
            ("Adds.\n\nTwo numbers.\n\n# Errors\nNever.", "Adds.\n\nTwo numbers."),
            ("Issue #12 and\n#hash stay.", "Issue #12 and\n#hash stay."),
            ("As in\n```sh\n# a comment\n```\nEnd.\n## More", "As in\n```sh\n# a comment\n```\nEnd."),
            ("", ""),
        ] {
            assert_eq!(description(&doc(text)), description_is);
        }
    }

    #[test]
    fn reads_the_list_of_arguments() {
        let text = "Adds.\n# Arguments\n* `a` - The first,\n  which\n    - may be long\n- b: The second.\n\n* `zz`: nobody's\n# Errors\n* `c` - not here";
        let found = arguments(&doc(text), &["a", "b", "c"].map(str::to_owned));
        assert_eq!(found["a"], "The first, which - may be long");
        assert_eq!(found["b"], "The second.  * `zz`: nobody's");
        assert!(!found.contains_key("c"));
    }
}
