//! Whether what was fetched is what the entry describes. Each failure says in what they differ, in words that follow "it".

use sha2::{Digest, Sha256};

use super::entry::SkillFile;
use super::frontmatter;
use crate::protocol::RawJson;

pub(super) fn content(file: &SkillFile, bytes: &[u8]) -> Result<(), String> {
    if bytes.len() as u64 != file.size {
        return Err(format!("has {} bytes, not {}", bytes.len(), file.size));
    }
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    match file.digest.strip_prefix("sha256:") {
        Some(wanted) if wanted == digest => Ok(()),
        _ => Err("has another digest".to_owned()),
    }
}

/// Field by field, numbers by their value.
pub(super) fn frontmatter(entry: &RawJson, text: &str) -> Result<(), String> {
    let found = frontmatter::read(text)?;
    let entry = entry.to_value();
    let wanted = entry.as_object().ok_or("has an entry without front matter")?;
    let keys = wanted.keys().chain(found.keys());
    let differing = keys.filter(|key| !matches!((wanted.get(*key), found.get(*key)), (Some(a), Some(b)) if same(a, b)));
    match differing.min() {
        None => Ok(()),
        Some(key) => Err(format!("says something else in its front matter's \"{key}\"")),
    }
}

fn same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Number(a), Number(b)) => a == b || a.as_f64().is_some_and(|a| Some(a) == b.as_f64()),
        (Array(a), Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Object(a), Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b))),
        _ => a == b,
    }
}
