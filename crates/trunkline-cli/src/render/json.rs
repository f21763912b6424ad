//! Prints JSON for people without changing a digit, and writes JSON for machines member by member, so that what a
//! server sent stays as it was.

use trunkline::RawJson;

/// The value with line breaks and two spaces of indentation; numbers and text keep their exact form. Short lists
/// of plain values stay in one line.
pub(crate) fn pretty(raw: &RawJson) -> String {
    let mut out = String::new();
    write(raw, 0, &mut out);
    out
}

fn write(raw: &RawJson, depth: usize, out: &mut String) {
    if raw.is_object() {
        let members: Vec<_> = raw.members().collect();
        let each = |at: usize, out: &mut String| {
            let (key, value) = &members[at];
            out.push_str(&quote(key));
            out.push_str(": ");
            write(value, depth + 1, out);
        };
        group('{', '}', members.len(), depth, out, each);
    } else if raw.is_array() {
        let items: Vec<_> = raw.items().collect();
        let short = items.iter().map(|item| item.as_bytes().len() + 2).sum::<usize>() <= 60;
        if short && !items.iter().any(|item| item.is_object() || item.is_array()) {
            let texts: Vec<_> = items.iter().map(ToString::to_string).collect();
            out.push_str(&format!("[{}]", texts.join(", ")));
            return;
        }
        group('[', ']', items.len(), depth, out, |at, out| write(&items[at], depth + 1, out));
    } else {
        out.push_str(&String::from_utf8_lossy(raw.as_bytes()));
    }
}

fn group(open: char, close: char, count: usize, depth: usize, out: &mut String, each: impl Fn(usize, &mut String)) {
    out.push(open);
    for at in 0..count {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        each(at, out);
    }
    if count > 0 {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}

/// A text as JSON.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object written member by member, values as they are.
#[derive(Debug, Default)]
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn raw(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&format!("{}:{value}", quote(key)));
        self
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, quote(value))
    }

    /// Nothing for an absent text.
    pub(crate) fn maybe(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(crate) fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

/// An array, items as they are.
pub(crate) fn array<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().collect();
    format!("[{}]", items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_order_survive() {
        let raw =
            RawJson::parse(r#"{"z":1.0,"a":{"n":123456789012345678901234567890,"e":1e400},"l":[1,2],"o":[{}],"x":{}}"#);
        let shown = pretty(&raw.unwrap());
        assert_eq!(
            shown,
            "{\n  \"z\": 1.0,\n  \"a\": {\n    \"n\": 123456789012345678901234567890,\n    \"e\": 1e400\n  },\n  \
             \"l\": [1, 2],\n  \"o\": [\n    {}\n  ],\n  \"x\": {}\n}"
        );
    }

    #[test]
    fn objects_are_written_member_by_member() {
        let object = Object::default().text("a", "x\"y").raw("b", 7).maybe("c", None).finish();
        assert_eq!(object, r#"{"a":"x\"y","b":7}"#);
        assert_eq!(Object::default().finish(), "{}");
        assert_eq!(array(["1", "\"x\""]), r#"[1,"x"]"#);
    }
}
