//! Pictures that stand for servers and what they offer.

use std::fmt;

use super::opaque;
use crate::protocol::raw::RawJson;

opaque!(Icon);

/// A picture for a server, a tool, a resource or a prompt (MCP specification, `Icon`, since revision 2025-11-25). It is the
/// server's: don't fetch it from a place that you wouldn't fetch from otherwise, and don't send credentials there.
#[derive(Clone)]
pub struct Icon {
    raw: RawJson,
}

impl Icon {
    /// Where it is: an `https:` or a `data:` URI.
    pub fn src(&self) -> String {
        self.raw.text("src").unwrap_or_default()
    }

    /// Its media type, where given.
    pub fn mime_type(&self) -> Option<String> {
        self.raw.text("mimeType")
    }

    /// The sizes it is good for, such as `48x48` or `any`.
    pub fn sizes(&self) -> Vec<String> {
        let Some(sizes) = self.raw.get("sizes") else { return Vec::new() };
        match sizes.as_text() {
            Some(one) => one.split_whitespace().map(str::to_owned).collect(), // before it was a list
            None => sizes.items().filter_map(|size| size.as_text()).collect(),
        }
    }

    /// `light` or `dark`: the background it is made for.
    pub fn theme(&self) -> Option<String> {
        self.raw.text("theme")
    }
}

/// The icons of what this describes; those without a place are left out.
pub(super) fn icons(described: &RawJson) -> Vec<Icon> {
    let Some(list) = described.get("icons") else { return Vec::new() };
    list.items().filter(|icon| icon.text("src").is_some()).map(|raw| Icon { raw }).collect()
}
