//! Prompt templates: text with a `{name}` for each argument.

/// A template, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// The names of the placeholders, in order of appearance.
    names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    /// The argument of this name.
    Argument(usize),
}

impl Template {
    /// Takes a template apart, or says what is wrong with it.
    pub(super) fn parse(template: &str) -> Result<Self, String> {
        let mut parsed = Self { pieces: Vec::new(), names: Vec::new() };
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let brace = &rest[at..at + 1];
            parsed.push_text(&rest[..at]);
            let after = &rest[at + 1..];
            rest = match after.strip_prefix(brace) {
                Some(after) => {
                    parsed.push_text(brace);
                    after
                }
                None if brace == "{" => parsed.push_placeholder(after)?,
                None => return Err(format!("a \"}}\" closes nothing{BRACES}")),
            };
        }
        parsed.push_text(rest);
        Ok(parsed)
    }

    fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Takes a placeholder off the text after its brace and gives the rest.
    fn push_placeholder<'a>(&mut self, after: &'a str) -> Result<&'a str, String> {
        let (name, rest) = after.split_once('}').ok_or_else(|| format!("a \"{{\" is never closed{BRACES}"))?;
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) {
            return Err(format!("\"{{{name}}}\" is no placeholder{BRACES}"));
        }
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.pieces.push(Piece::Argument(at));
        Ok(rest)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The text, with what `value` gives for each name.
    pub(super) fn render(&self, value: impl Fn(&str) -> String) -> String {
        let values: Vec<_> = self.names().map(value).collect();
        self.pieces.iter().fold(String::new(), |mut text, piece| {
            let piece = match piece {
                Piece::Text(literal) => literal,
                Piece::Argument(at) => &values[*at],
            };
            text.push_str(piece);
            text
        })
    }
}

/// What everyone who trips over a brace has to know.
const BRACES: &str = "; write \"{{\" and \"}}\" for braces that aren't a placeholder's";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_placeholders_and_braces() {
        for (template, names, text) in [
            ("", "", ""),
            ("plain", "", "plain"),
            ("{b} and {a}, {b}", "b,a", "<b> and <a>, <b>"),
            ("{{a}} {a}{{", "a", "{a} <a>{"),
            ("{{{a}}}", "a", "{<a>}"),
            ("}}{x-1.y}é", "x-1.y", "}<x-1.y>é"),
        ] {
            let parsed = Template::parse(template).unwrap();
            assert_eq!(parsed.names().collect::<Vec<_>>().join(","), names, "{template}");
            assert_eq!(parsed.render(|name| format!("<{name}>")), text, "{template}");
        }
    }

    #[test]
    fn a_value_is_not_read_as_a_template() {
        assert_eq!(Template::parse("{a}{b}").unwrap().render(|name| format!("{{{name}}}")), "{a}{b}");
    }

    #[test]
    fn says_what_is_wrong_with_a_template() {
        for (template, told) in [
            ("{name", "a \"{\" is never closed; write \"{{\""),
            ("{", "never closed"),
            ("name}", "a \"}\" closes nothing"),
            ("{}", "\"{}\" is no placeholder"),
            ("{\"a\": 1}", "\"{\"a\": 1}\" is no placeholder"),
            ("{a{b}", "\"{a{b}\" is no placeholder"),
        ] {
            let found = Template::parse(template).unwrap_err();
            assert!(found.contains(told), "{template}: {found}");
        }
    }
}
