//! What a person should know of a server that works: characters that hide or reorder text, names that look like others or
//! that not every client takes, schemas that can't be used. Each kind has an id that stays.

use trunkline::{Prompt, Tool as _, ToolProxy};

use crate::render::escape;

/// Something odd.
pub(crate) struct Finding {
    /// The kind, in machine output.
    pub(crate) id: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(id: &'static str, text: impl Into<String>) -> Self {
        Self { id, text: text.into() }
    }
}

/// Hidden characters in a text; `place` says where it stands.
pub(crate) fn of_text(place: &str, text: Option<&str>) -> Option<Finding> {
    let text = text?;
    let hidden = escape::hidden(text);
    let count = match escape::hidden_count(text) {
        0 => return None,
        1 => "1 character".to_owned(),
        count => format!("{count} characters"),
    };
    Some(Finding::new("hidden-text", format!("{place} hides {count}: {}", codes(&hidden))))
}

fn codes(chars: &[char]) -> String {
    chars.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect::<Vec<_>>().join(", ")
}

/// What is odd about a tool's name, title, description and schema. `exposed` is its name among those of all servers.
pub(crate) fn of_tool(tool: &ToolProxy, exposed: &str) -> Vec<Finding> {
    let (name, definition) = (escape::line(tool.wire_name()), tool.definition());
    let mut found = Vec::new();
    found.extend(of_name("tool", tool.wire_name()));
    let usual = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !tool.wire_name().chars().all(usual) || tool.wire_name().len() > 64 {
        let told =
            format!("the name of tool \"{name}\" is none that all clients take; here it is also called {exposed}");
        found.push(Finding::new("odd-name", told));
    }
    if let Some(why) = tool.schema_fault() {
        found.push(Finding::new("bad-schema", format!("the schema of tool \"{name}\" can't be used: {why}")));
    }
    found.extend(of_text(&format!("the title of tool \"{name}\""), definition.title().as_deref()));
    found.extend(of_text(&format!("the description of tool \"{name}\""), definition.description().as_deref()));
    let mut texts = Vec::new();
    strings(&definition.input_schema().to_value(), &mut texts);
    found.extend(of_text(&format!("the schema of tool \"{name}\""), Some(&texts.concat())));
    found
}

/// What is odd about a prompt's name and description.
pub(crate) fn of_prompt(prompt: &Prompt) -> Vec<Finding> {
    let place = format!("the description of prompt \"{}\"", escape::line(prompt.name()));
    of_name("prompt", prompt.name()).into_iter().chain(of_text(&place, prompt.description().as_deref())).collect()
}

fn of_name(kind: &str, name: &str) -> Option<Finding> {
    let shown = escape::line(name);
    let strange: Vec<_> = name.chars().filter(|c| !c.is_ascii() && c.is_alphabetic()).collect();
    if !strange.is_empty() && name.chars().any(|c| c.is_ascii_alphabetic()) {
        let told = format!("the name of {kind} \"{shown}\" mixes alphabets ({})", codes(&strange));
        return Some(Finding::new("mixed-alphabets", told));
    }
    of_text(&format!("the name of {kind} \"{shown}\""), Some(name))
}

/// Names among `tools` (server and name) that look like `name` of `server` and are others.
pub(crate) fn look_alikes(server: &str, name: &str, tools: &[(String, String)]) -> Option<Finding> {
    let look = escape::look(name);
    let like = |(_, other): &&(String, String)| other != name && escape::look(other) == look;
    let others: Vec<_> = tools.iter().filter(like).map(|(server, name)| format!("{server}.{name}")).collect();
    if others.is_empty() || name.is_ascii() {
        return None; // told at the one that pretends
    }
    let told = format!("the name of tool \"{server}.{name}\" looks like {}", others.join(", "));
    Some(Finding::new("look-alike-name", told))
}

/// What a server said while it started that sounds like a download.
pub(crate) fn of_start(seconds: f64, stderr: &[String]) -> Option<Finding> {
    const WORDS: [&str; 6] = ["download", "install", "fetch", "resolved", "pulling", "added "];
    let telling = |line: &&String| WORDS.iter().any(|word| line.to_lowercase().contains(word));
    let last = stderr.iter().rfind(telling)?;
    let told = format!(
        "it seems to download something when it starts, which took {seconds:.1} s (it said: {last}); install it to start faster"
    );
    Some(Finding::new("download-at-start", told))
}

fn strings(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => out.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        serde_json::Value::Object(members) => members.iter().for_each(|(key, value)| {
            out.push(key.clone());
            strings(value, out);
        }),
        _ => {}
    }
}
