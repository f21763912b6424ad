//! JSON with some of its texts replaced. Everything else keeps its bytes.

use super::raw::{RawJson, quote};
use super::scan;

/// What to put in place of a text or a number, given the key it stands under and what it says; nothing keeps it.
pub(crate) type Replace<'a> = dyn Fn(Option<&str>, &str) -> Option<String> + 'a;

impl RawJson {
    /// Gives each text, each number and each key to `replace`, and puts in its place the text that comes back. What
    /// stands in an array counts as under the array's key.
    pub(crate) fn replacing(&self, replace: &Replace<'_>) -> RawJson {
        let mut rewriting = Rewriting { text: self.as_bytes(), out: Vec::new(), kept: 0, keys: vec![None] };
        rewriting.run(replace);
        if rewriting.kept == 0 {
            return self.clone();
        }
        let Rewriting { text, mut out, kept, .. } = rewriting;
        out.extend_from_slice(&text[kept..]);
        RawJson::trusted(out.into())
    }
}

struct Rewriting<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    /// Up to here the text is in `out`, or was replaced there.
    kept: usize,
    /// The key that holds at each level.
    keys: Vec<Option<String>>,
}

impl Rewriting<'_> {
    fn run(&mut self, replace: &Replace<'_>) {
        let mut at = 0;
        while let Some(&byte) = self.text.get(at) {
            let end = match byte {
                b'"' => scan::skip(self.text, at),
                b'-' | b'0'..=b'9' => scan::skip(self.text, at),
                _ => at + 1,
            };
            match byte {
                b'{' => self.keys.push(None),
                b'[' => self.keys.push(self.key().cloned()),
                b'}' | b']' => drop(self.keys.pop()),
                b'"' => self.string(at, end, replace),
                b'-' | b'0'..=b'9' => {
                    let number = String::from_utf8_lossy(&self.text[at..end]);
                    let new = replace(self.key().map(String::as_str), &number);
                    self.put(at, end, new);
                }
                _ => {}
            }
            at = end;
        }
    }

    fn key(&self) -> Option<&String> {
        self.keys.last()?.as_ref()
    }

    fn string(&mut self, at: usize, end: usize, replace: &Replace<'_>) {
        let token = &self.text[at..end];
        let content = serde_json::from_slice::<String>(token);
        let content = content.unwrap_or_else(|_| String::from_utf8_lossy(token).trim_matches('"').to_owned());
        if self.text.get(scan::blank(self.text, end)) == Some(&b':') {
            let new = replace(None, &content);
            self.put(at, end, new);
            if let Some(key) = self.keys.last_mut() {
                *key = Some(content);
            }
            return;
        }
        let new = replace(self.key().map(String::as_str), &content);
        self.put(at, end, new);
    }

    fn put(&mut self, at: usize, end: usize, new: Option<String>) {
        if let Some(new) = new {
            self.out.extend_from_slice(&self.text[self.kept..at]);
            self.out.extend_from_slice(&quote(&new));
            self.kept = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[test]
    fn only_what_is_replaced_changes() {
        let text = raw(r#"{ "a" : [ "x", {"b":"x"} , 12 ],"x": 1.0e3, "s\/x":"\u0078" }"#);
        let out = text.replacing(&|_, text| matches!(text, "x" | "12").then(|| "***".to_owned()));
        assert_eq!(out.to_string(), r#"{ "a" : [ "***", {"b":"***"} , "***" ],"***": 1.0e3, "s\/x":"***" }"#);
        assert_eq!(text.replacing(&|_, _| None), text);
    }

    #[test]
    fn the_key_that_holds_is_told() {
        let text = raw(r#"{"k":[["a"],{"n":1},"b"],"o":{"p":"c"},"q":true,"r":["d"]}"#);
        let seen = std::cell::RefCell::new(Vec::new());
        text.replacing(&|key, text| {
            seen.borrow_mut().push(format!("{}={text}", key.unwrap_or("")));
            None
        });
        let values: Vec<_> = seen.take().into_iter().filter(|pair| !pair.starts_with('=')).collect();
        assert_eq!(values, ["k=a", "n=1", "k=b", "p=c", "r=d"]);
    }
}
