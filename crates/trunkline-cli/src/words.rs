//! A command line in one text, split into words as a shell would do it. No shell is involved: nothing is expanded.

use crate::exit::{Failure, Outcome};

/// Splits at blanks; quotes and backslashes keep them.
pub(crate) fn split(text: &str) -> Outcome<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => quoted(&mut chars, '\'', word.get_or_insert_default(), text)?,
            '"' => quoted(&mut chars, '"', word.get_or_insert_default(), text)?,
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(chars: &mut std::str::Chars<'_>, quote: char, word: &mut String, text: &str) -> Outcome {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(Failure::usage(format!("A {quote} in \"{text}\" is never closed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (text, words) in [
            ("npx -y server .", &["npx", "-y", "server", "."][..]),
            ("  a\t b\n", &["a", "b"]),
            ("sh -c 'echo \"x\"; cat'", &["sh", "-c", "echo \"x\"; cat"]),
            (r#"a "b \"c\" \n $HOME" d\ e"#, &["a", "b \"c\" \\n $HOME", "d e"]),
            ("a'b'\"c\"", &["abc"]),
            ("'' \"\"", &["", ""]),
            ("", &[]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
        assert!(split("a 'b").unwrap_err().error.message().contains("never closed"));
        assert!(split("a \"b\\").is_err());
    }
}
