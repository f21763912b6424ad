//! What a server says in `WWW-Authenticate` (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1).

/// What a refusal asks for, taken from the challenges of the schemes that tokens are sent by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Tokens are to be sent with a proof (RFC 9449).
    pub(crate) dpop: bool,
    pub(crate) error: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) resource_metadata: Option<String>,
}

impl Wanted {
    /// Reads the header, however its challenges are mixed. What makes no sense is passed over.
    pub(crate) fn read(header: &str) -> Self {
        let mut wanted = Self::default();
        let mut taken = false; // whether the scheme is one of ours
        let mut rest = header;
        while let Some((word, after)) = word(rest) {
            match after.trim_start().strip_prefix('=') {
                Some(value) => {
                    let (value, after) = value_of(value.trim_start());
                    if taken {
                        wanted.take(word, value);
                    }
                    rest = after;
                }
                None => {
                    let dpop = word.eq_ignore_ascii_case("dpop");
                    taken = dpop || word.eq_ignore_ascii_case("bearer");
                    wanted.dpop |= dpop;
                    rest = after;
                }
            }
        }
        wanted
    }

    /// The first of a name counts.
    fn take(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "error" => &mut self.error,
            "scope" => &mut self.scope,
            "resource_metadata" => &mut self.resource_metadata,
            _ => return,
        };
        if !value.trim().is_empty() {
            place.get_or_insert(value);
        }
    }

    /// The scopes, one by one.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scope.as_deref().unwrap_or_default().split_ascii_whitespace()
    }

    pub(crate) fn is(&self, error: &str) -> bool {
        self.error.as_deref() == Some(error)
    }
}

/// The next word, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let begins = |c: char| !c.is_whitespace() && !matches!(c, ',' | '=' | '"');
    let text = &text[text.find(begins)?..];
    let end = text.find(|c: char| !begins(c)).unwrap_or(text.len());
    Some(text.split_at(end))
}

/// A value, quoted or not, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn challenges_are_read_however_they_are_written() {
        let all = r#"Bearer error="insufficient_scope", scope="a b",resource_metadata="https://h/x?a=1,b", x=y"#;
        let wanted = Wanted::read(all);
        assert!(wanted.is("insufficient_scope") && !wanted.dpop);
        assert_eq!(wanted.scopes().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(wanted.resource_metadata.as_deref(), Some("https://h/x?a=1,b"));
        let mixed =
            Wanted::read(r#"Basic realm="x, Bearer scope=no", scope="no", DPoP algs="ES256", scope = "yes", bearer"#);
        assert_eq!((mixed.dpop, mixed.scope.as_deref()), (true, Some("yes")));
        assert_eq!(Wanted::read("Bearer").scope, None);
        assert_eq!(Wanted::read("Negotiate abc==, Bearer scope=w").scope.as_deref(), Some("w"));
        assert_eq!(Wanted::read(r#"Bearer scope="a\"b\\""#).scope.as_deref(), Some(r#"a"b\"#));
        assert_eq!(Wanted::read(r#"Bearer scope="", scope=x"#).scope.as_deref(), Some("x"));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_to_its_end(text in "[Bearer \",=\\\\a-z\u{e9}]{0,60}") {
            let _ = Wanted::read(&text);
        }
    }
}
