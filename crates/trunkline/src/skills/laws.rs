//! What holds of the entries and files of skills, however hostile: they are refused in few words, or they keep to the skill's
//! folder and to what the entry says.

use super::entry::Entry;
use super::{frontmatter, path, verify};
use crate::protocol::RawJson;

/// A refusal is a sentence, not a copy of what was refused.
fn short(why: &str, input: usize) {
    assert!(!why.is_empty() && why.len() < 500 + 2 * input, "{} bytes", why.len());
}

/// Any text has a front matter that is JSON, the same each time, and fits an entry that says the same; or it is refused.
pub(crate) fn heads(text: &str) {
    let fields = match frontmatter::read(text) {
        Ok(fields) => fields,
        Err(why) => return short(&why, text.len()),
    };
    assert_eq!(frontmatter::read(text).as_ref(), Ok(&fields));
    let entry = RawJson::from(serde_json::Value::Object(fields.clone()));
    assert_eq!(verify::frontmatter(&entry, text), Ok(()));
    let more = entry.with_member("one more", &RawJson::from(serde_json::json!(1)));
    assert!(fields.contains_key("one more") || verify::frontmatter(&more, text).is_err());
}

/// A path leads into the skill's folder or nowhere.
pub(crate) fn paths(file: &str) {
    let root = "skill://some/skill";
    let Some(uri) = path::within(root, file) else { return };
    let inside = uri.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).expect("it lies in the folder");
    assert!(inside.split('/').all(|part| !matches!(part, "" | "." | "..")), "{uri}");
    assert_eq!(path::within(root, &uri), Some(uri.clone()));
}

/// An entry is refused, or all its files lie in its folder and `SKILL.md` is among them.
pub(crate) fn entries(raw: &RawJson) {
    let entry = match Entry::read(raw.clone()) {
        Ok(entry) => entry,
        Err(why) => return short(&why, raw.as_bytes().len()),
    };
    let Some(files) = &entry.files else { return };
    assert!(entry.file(&entry.uri).is_some());
    for file in files {
        assert_eq!(path::within(entry.root(), &file.uri), Some(file.uri.clone()), "{}", file.uri);
    }
}
