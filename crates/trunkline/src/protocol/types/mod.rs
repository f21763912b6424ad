//! What servers list: tools, resources, templates, prompts, and what a server says of itself. Each is its
//! raw JSON with accessors that decode on demand, so unknown fields survive and one bad field costs itself.

mod completion;
mod icon;
mod info;
mod prompt;
mod resource;
mod task;
mod template;
#[cfg(test)]
mod tests;
mod tool;

pub use completion::{Completion, CompletionQuery};
pub use icon::Icon;
use icon::icons;
pub use info::ServerInfo;
pub use prompt::{Prompt, PromptArgument};
pub use resource::{Resource, ResourceTemplate};
pub use task::{Task, TaskStatus};
pub use tool::ToolDefinition;

use super::raw::RawJson;

/// Implements what all opaque JSON values share: the raw text, a debug form, equality by text.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl $name {
            /// The exact JSON.
            pub fn raw(&self) -> &RawJson {
                &self.raw
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.raw)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.raw == other.raw
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.raw.serialize(serializer)
            }
        }
    )*};
}
pub(crate) use opaque;

/// Implements which server an entry is of.
macro_rules! of_server {
    ($($name:ident),*) => {$(
        impl $name {
            /// The label of the server that listed it; empty where it wasn't listed through a client.
            pub fn server(&self) -> &str {
                self.server.as_deref().unwrap_or_default()
            }

            /// The same entry, of `server` where it is of none yet.
            pub(crate) fn of_server(mut self, server: &str) -> Self {
                self.server.get_or_insert_with(|| server.into());
                self
            }
        }
    )*};
}
pub(crate) use of_server;

fn named(raw: &RawJson, field: &str) -> Result<String, String> {
    if !raw.is_object() {
        return Err("is no object".to_owned());
    }
    match raw.field(field) {
        None => Err(format!("has no {field}")),
        Some(name) => match name.as_text() {
            None => Err(format!("has a {field} that is no text")),
            Some(name) if name.trim().is_empty() => Err(format!("has an empty {field}")),
            Some(name) => Ok(name),
        },
    }
}
