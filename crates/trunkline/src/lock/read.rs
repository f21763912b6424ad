//! Reads a lock file, and accepts nothing that isn't exactly one: what can't be read can't be agreed to.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::file::{Pinned, Tools};
use super::{VERSION, canonical};
use crate::display;
use crate::error::{Error, Result};
use crate::protocol::{RawJson, ToolDefinition};

pub(super) fn read(content: Vec<u8>, file: &str) -> Result<BTreeMap<String, Tools>> {
    let content = Bytes::from(content);
    let reader = Reader { content: &content, file };
    let all = RawJson::parse_at(content.clone()).map_err(|at| {
        let conflict = content.starts_with(b"<<<<<<<") || memchr::memmem::find(&content, b"\n<<<<<<<").is_some();
        let fault = if conflict { "holds a merge conflict" } else { "is no JSON" };
        reader.error_at(at, fault)
    })?;
    let version = all.get("version").ok_or_else(|| reader.error(&all, "has no \"version\""))?;
    match version.decode::<u64>() {
        Ok(VERSION) => {}
        Ok(newer) if newer > VERSION => {
            let error = reader.error(&version, &format!("has version {newer}, and this program knows {VERSION}"));
            return Err(error.with_hint("A newer trunkline wrote it: update this one"));
        }
        _ => return Err(reader.error(&version, "has a version that is none")),
    }
    reader.members(&all, &["version", "servers"])?;
    let servers = all.get("servers").ok_or_else(|| reader.error(&all, "has no \"servers\""))?;
    let mut read = BTreeMap::new();
    for (label, server) in reader.object(&servers)? {
        let tools = reader.server(&server)?;
        if read.insert(label.clone(), tools).is_some() {
            return Err(reader.error(&server, &format!("has server {label:?} twice")));
        }
    }
    Ok(read)
}

struct Reader<'a> {
    content: &'a Bytes,
    file: &'a str,
}

impl Reader<'_> {
    fn server(&self, server: &RawJson) -> Result<Tools> {
        self.members(server, &["tools"])?;
        let tools = server.get("tools").ok_or_else(|| self.error(server, "has a server without \"tools\""))?;
        let mut read = Tools::new();
        for (name, tool) in self.object(&tools)? {
            let pinned = self.tool(&name, &tool)?;
            if read.insert(name.clone(), pinned).is_some() {
                return Err(self.error(&tool, &format!("has tool {name:?} twice")));
            }
        }
        Ok(read)
    }

    fn tool(&self, name: &str, tool: &RawJson) -> Result<Pinned> {
        self.members(tool, &["hash", "definition"])?;
        let field = |field: &str| {
            tool.get(field).ok_or_else(|| self.error(tool, &format!("has tool {name:?} without \"{field}\"")))
        };
        let (hash, written) = (field("hash")?, field("definition")?);
        let named = ToolDefinition::read(written.clone()).is_ok_and(|tool| tool.name() == name);
        if !named {
            return Err(self.error(&written, &format!("has tool {name:?} with the definition of another")));
        }
        let definition = canonical::of_tool(&written);
        if hash.as_text() != Some(canonical::hash(&definition)) {
            let error = self.error(&hash, &format!("has tool {name:?} with a hash that doesn't fit its definition"));
            return Err(error.with_hint("It was edited by hand, or badly merged: take it back from version control"));
        }
        Ok(Pinned { definition, line: self.line(tool) })
    }

    fn object(&self, raw: &RawJson) -> Result<Vec<(String, RawJson)>> {
        if raw.is_object() {
            Ok(raw.members().collect())
        } else {
            Err(self.error(raw, "has something else where an object belongs"))
        }
    }

    /// Whether an object has only members of these names.
    fn members(&self, raw: &RawJson, names: &[&str]) -> Result<()> {
        let members = self.object(raw)?;
        match members.iter().find(|(key, _)| !names.contains(&key.as_str())) {
            Some((key, value)) => Err(self.error(value, &format!("has {key:?}, which this program doesn't know"))),
            None => Ok(()),
        }
    }

    /// The line of a part of the content.
    fn line(&self, part: &RawJson) -> usize {
        let offset = part.as_bytes().as_ptr().addr().wrapping_sub(self.content.as_ptr().addr());
        self.line_at(offset)
    }

    fn line_at(&self, offset: usize) -> usize {
        let before = self.content.get(..offset).unwrap_or_default();
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    fn error(&self, part: &RawJson, fault: &str) -> Error {
        self.error_of(self.line(part), fault)
    }

    fn error_at(&self, offset: usize, fault: &str) -> Error {
        self.error_of(self.line_at(offset), fault)
    }

    fn error_of(&self, line: usize, fault: &str) -> Error {
        let place = format!("{}:{line}", self.file);
        let message = format!("The lock file {place} {}, so no tool is called", display::line(fault));
        Error::config(message).with_context("file", place)
    }
}
