//! Text with references to variables: `${VAR}`, `${VAR:-default}`, `${env:VAR}`. References are found when a
//! file is read and looked up when the entry is used; what is put in is never looked at again.

/// A text of a config, with its references found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    written: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Variable { name: String, default: Option<String> },
}

impl Template {
    /// Finds the references. `$${` stands for a literal `${`; every other `$` stands for itself.
    pub(crate) fn parse(written: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = written;
        while let Some(at) = rest.find("${") {
            let (before, reference) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('$') {
                text.push_str(before);
                text.push_str("${");
                rest = &reference[2..];
                continue;
            }
            text.push_str(before);
            let Some(end) = reference.find('}') else {
                return Err(format!(
                    "\"{}\" has no closing brace; write \"$${{\" for a literal \"${{\"",
                    shown(reference)
                ));
            };
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(variable(&reference[2..end])?);
            rest = &reference[end + 1..];
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { written: written.to_owned(), parts })
    }

    /// The text as it stands in the file.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// The text with its references, and `mask` for all else.
    pub(crate) fn masked(&self, mask: &str) -> String {
        let part = |part: &Part| match part {
            Part::Text(_) => mask.to_owned(),
            Part::Variable { name, .. } => format!("${{{name}}}"),
        };
        self.parts.iter().map(part).collect()
    }

    /// Whether nothing has to be looked up.
    pub(crate) fn is_plain(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// The text outside its references.
    pub(crate) fn literal(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Variable { .. } => None,
        });
        texts.collect()
    }

    /// Puts the values in. Each value that came from a variable is told to `used` with its name.
    ///
    /// # Errors
    /// The name of the first variable that has neither value nor default.
    pub(crate) fn expand(
        &self,
        lookup: &impl Fn(&str) -> Option<String>,
        used: &mut Vec<(String, String)>,
    ) -> Result<String, String> {
        let mut out = String::new();
        for part in &self.parts {
            let (name, default) = match part {
                Part::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Part::Variable { name, default } => (name, default),
            };
            let value = lookup(name).filter(|value| default.is_none() || !value.is_empty());
            match (value, default) {
                (Some(value), _) => {
                    out.push_str(&value);
                    used.push((name.clone(), value));
                }
                (None, Some(default)) => out.push_str(default),
                (None, None) => return Err(name.clone()),
            }
        }
        Ok(out)
    }
}

fn variable(inner: &str) -> Result<Part, String> {
    if inner.starts_with("input:") {
        return Err(format!(
            "\"${{{inner}}}\" asks a person, which can't be done here; use \"${{VARIABLE}}\" and set it"
        ));
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if !is_name(name) {
        let shown = shown(inner);
        return Err(format!(
            "\"${{{shown}}}\" is no reference to a variable; write \"$${{{shown}}}\" to mean it literally"
        ));
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err(format!("The default of \"${{{name}}}\" holds another reference; a default is taken literally"));
    }
    Ok(Part::Variable { name: name.to_owned(), default: default.map(str::to_owned) })
}

fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(legal) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expand(text: &str) -> Result<String, String> {
        let lookup = |name: &str| match name {
            "T1" => Some("abc".to_owned()),
            "HOMELY" => Some("${HOME}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        Template::parse(text)?.expand(&lookup, &mut Vec::new())
    }

    #[test]
    fn references_are_replaced_and_nothing_else() {
        for (text, value) in [
            ("Bearer ${T1}", "Bearer abc"),
            ("${T1}-${T1}", "abc-abc"),
            ("${env:T1}", "abc"),
            ("--k=${T2:-d}", "--k=d"),
            ("${env:T2:-d:-e}", "d:-e"),
            ("${T1:-d}", "abc"),
            ("${T2:-}", ""),
            ("${EMPTY}", ""),
            ("${EMPTY:-d}", "d"),
            ("${HOMELY}", "${HOME}"),
            ("$T1 $ $$ 5$ $(x)", "$T1 $ $$ 5$ $(x)"),
            ("$${T1}", "${T1}"),
            ("a$$${T1}${T1}$", "a$${T1}abc$"),
            ("$${", "${"),
            ("é${T1}é", "éabcé"),
            ("", ""),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(expand("${T1}${T2}").unwrap_err(), "T2");
        assert_eq!(expand("${env:T2}").unwrap_err(), "T2");
    }

    #[test]
    fn what_is_no_reference_says_so() {
        for (text, why) in [
            ("${input:token}", "asks a person"),
            ("${T1", "closing brace"),
            ("${}", "no reference"),
            ("${1A}", "no reference"),
            ("${command:pick}", "no reference"),
            ("${a b}", "no reference"),
            ("${T1:=x}", "no reference"),
            ("${T1:-${T2}}", "taken literally"),
        ] {
            let reason = Template::parse(text).unwrap_err();
            assert!(reason.contains(why), "{text}: {reason}");
        }
    }

    #[test]
    fn values_used_are_told() {
        let mut used = Vec::new();
        let template = Template::parse("${A}${B:-x}${C:-y}").unwrap();
        template.expand(&|name: &str| (name != "C").then(|| name.to_lowercase()), &mut used).unwrap();
        assert_eq!(used, [("A".to_owned(), "a".to_owned()), ("B".to_owned(), "b".to_owned())]);
        assert!(!template.is_plain());
        assert_eq!(Template::parse("a${A}b").unwrap().literal(), "ab");
    }

    proptest! {
        #[test]
        fn text_without_references_stays_as_it_is(text in "[^$]*|(\\$[a-z ]){0,5}") {
            prop_assert_eq!(expand(&text), Ok(text.clone()));
        }

        #[test]
        fn any_text_parses_or_says_why(text in "[${}:a-zA-Z0-9_é-]*") {
            let _ = expand(&text);
        }
    }
}
