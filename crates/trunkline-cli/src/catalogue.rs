//! What servers offered last, kept on disk for the completion of a shell: it starts no server and waits for none.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trunkline::{Config, Environment, ToolDefinition};

use crate::shape::Shape;

/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// A tool, as far as the completion needs it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
}

/// Remembers the tools of a server. What can't be written isn't missed.
pub(crate) fn keep<'a>(
    label: &str,
    config: &Config,
    environment: &Environment,
    tools: impl Iterator<Item = &'a ToolDefinition>,
) {
    let known: Vec<_> = tools.map(known).collect();
    let (Some(file), Ok(text)) = (file(label, config, environment), serde_json::to_vec(&known)) else { return };
    if std::fs::read(&file).is_ok_and(|before| before == text) {
        return;
    }
    let written = file.parent().map(std::fs::create_dir_all).transpose().and_then(|_| {
        let draft = file.with_extension(std::process::id().to_string()); // a reader sees the old or the new one
        std::fs::write(&draft, text)?;
        std::fs::rename(draft, &file)
    });
    if let Err(error) = written {
        tracing::debug!(%error, "the tools could not be kept for the completion of the shell");
    }
}

/// The tools that were kept; none where none were.
pub(crate) fn tools(label: &str, config: &Config, environment: &Environment) -> Vec<Known> {
    let read = || {
        let file = file(label, config, environment)?;
        let size = std::fs::metadata(&file).ok()?.len();
        let text = (size <= LARGEST).then(|| std::fs::read(&file).ok())??;
        serde_json::from_slice(&text).ok()
    };
    read().unwrap_or_default()
}

fn known(tool: &ToolDefinition) -> Known {
    let properties = Shape::new(tool.input_schema()).properties();
    Known { name: tool.name().to_owned(), arguments: properties.into_iter().map(|property| property.name).collect() }
}

/// One file for each server of each config file.
fn file(label: &str, config: &Config, environment: &Environment) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (label, config.entry(label).map(|entry| entry.origin().file.clone())).hash(&mut hasher);
    Some(environment.cache_dir()?.join("catalogue").join(format!("{:016x}.json", hasher.finish())))
}
