//! The entry of a skill: what `skills/list` and `skills/get` say of it, checked.

use std::collections::HashSet;

use crate::protocol::RawJson;

/// A file of a skill, as its entry describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    pub(super) uri: String,
    pub(super) digest: String,
    pub(super) size: u64,
}

impl SkillFile {
    /// Its URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The SHA-256 of its bytes: `sha256:` and 64 lower-case hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    fn read(raw: &RawJson) -> Result<Self, String> {
        let uri = raw.text("uri").ok_or("lists a file without a \"uri\"")?;
        let digest = raw.text("digest").filter(|digest| is_digest(digest));
        let digest = digest.ok_or_else(|| format!("gives {uri} no SHA-256 digest"))?;
        let size = raw.field("size").and_then(|size| size.decode().ok());
        Ok(Self { digest, size: size.ok_or_else(|| format!("gives {uri} no size"))?, uri })
    }
}

fn is_digest(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(lower))
}

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) raw: RawJson,
    pub(super) uri: String,
    pub(super) frontmatter: RawJson,
    /// None: made up as the server goes.
    pub(super) files: Option<Box<[SkillFile]>>,
}

impl Entry {
    /// The entry, or what is wrong with it, in words that follow "it".
    pub(super) fn read(raw: RawJson) -> Result<Self, String> {
        let uri = raw.text("uri").ok_or("has no \"uri\"")?;
        let root = uri.strip_suffix("/SKILL.md").ok_or_else(|| format!("is at {uri}, which is no SKILL.md"))?;
        let frontmatter = raw.field("frontmatter").filter(RawJson::is_object).ok_or("has no \"frontmatter\"")?;
        let name = frontmatter.text("name").ok_or("has no name")?;
        frontmatter.text("description").ok_or("has no description")?;
        if root.rsplit('/').next() != Some(name.as_str()) {
            return Err(format!("is named \"{name}\" and lies at {uri}, in a folder of another name"));
        }
        let files = match raw.field("resources") {
            Some(list) if list.is_array() => Some(files(&list, &uri, root)?),
            Some(word) if word.as_text().as_deref() == Some("dynamic") => None,
            _ => return Err("neither lists its files nor says that they are \"dynamic\"".to_owned()),
        };
        Ok(Self { raw, uri, frontmatter, files })
    }

    /// Its folder, without a slash at the end.
    pub(super) fn root(&self) -> &str {
        self.uri.strip_suffix("/SKILL.md").unwrap_or_default()
    }

    pub(super) fn file(&self, uri: &str) -> Option<&SkillFile> {
        self.files.as_ref()?.iter().find(|file| file.uri == uri)
    }

    /// Whether a file of its folder may be asked for.
    pub(super) fn has(&self, uri: &str) -> bool {
        self.files.is_none() || self.file(uri).is_some()
    }
}

fn files(list: &RawJson, uri: &str, root: &str) -> Result<Box<[SkillFile]>, String> {
    let files = list.items().map(|raw| SkillFile::read(&raw)).collect::<Result<Box<[_]>, _>>()?;
    let mut seen = HashSet::new();
    for file in &files {
        let inside = file.uri.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
        let leads_out = |path: &str| path.split('/').any(|part| matches!(part, "" | "." | ".."));
        if inside.is_none_or(leads_out) {
            return Err(format!("lists {}, which isn't in its folder", file.uri));
        }
        if !seen.insert(&file.uri) {
            return Err(format!("lists {} twice", file.uri));
        }
    }
    if !seen.contains(&uri.to_owned()) {
        return Err("doesn't list its SKILL.md".to_owned());
    }
    Ok(files)
}
