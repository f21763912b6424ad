//! What a person should know of the texts a server puts before a model: characters that hide or reorder text, and
//! names that look like others.

use trunkline::{Prompt, ToolDefinition};

use crate::render::escape;

/// Hidden characters in a text; `place` says where it stands.
pub(crate) fn of_text(place: &str, text: Option<&str>) -> Option<String> {
    let hidden = escape::hidden(text?);
    if hidden.is_empty() {
        return None;
    }
    let codes: Vec<_> = hidden.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect();
    Some(format!("{place} hides characters: {}", codes.join(", ")))
}

/// What is odd about a tool's name, title, description and schema.
pub(crate) fn of_tool(tool: &ToolDefinition) -> Vec<String> {
    let name = escape::line(tool.name());
    let mut found = Vec::new();
    found.extend(of_name("tool", tool.name()));
    found.extend(of_text(&format!("the title of tool \"{name}\""), tool.title().as_deref()));
    found.extend(of_text(&format!("the description of tool \"{name}\""), tool.description().as_deref()));
    let mut texts = Vec::new();
    strings(&tool.input_schema().to_value(), &mut texts);
    found.extend(texts.iter().find_map(|text| of_text(&format!("the schema of tool \"{name}\""), Some(text))));
    found
}

/// What is odd about a prompt's name and description.
pub(crate) fn of_prompt(prompt: &Prompt) -> Vec<String> {
    let place = format!("the description of prompt \"{}\"", escape::line(prompt.name()));
    of_name("prompt", prompt.name()).into_iter().chain(of_text(&place, prompt.description().as_deref())).collect()
}

fn of_name(kind: &str, name: &str) -> Option<String> {
    let shown = escape::line(name);
    let strange: Vec<_> = name.chars().filter(|c| !c.is_ascii() && c.is_alphabetic()).collect();
    let mixed = !strange.is_empty() && name.chars().any(|c| c.is_ascii_alphabetic());
    let codes: Vec<_> = strange.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect();
    let mixed = mixed.then(|| format!("the name of {kind} \"{shown}\" mixes alphabets ({})", codes.join(", ")));
    mixed.or_else(|| of_text(&format!("the name of {kind} \"{shown}\""), Some(name)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hidden_text_and_look_alikes_are_found() {
        let tool = |name: &str, description: &str| ToolDefinition::new(name, description, json!({"type": "object"}));
        let found = of_tool(&tool("ѕend", "ok\u{1b}[2J \u{202e}abc \u{e0041}\u{200b}"));
        assert_eq!(
            found,
            [
                "the name of tool \"ѕend\" mixes alphabets (U+0455)",
                "the description of tool \"ѕend\" hides characters: U+001B, U+202E, U+E0041, U+200B"
            ]
        );
        assert!(of_tool(&tool("send", "Sends.\nTwo lines, ünïcödé 👩‍👩‍👧.")).is_empty());
        assert!(of_tool(&tool("отправить", "")).is_empty());
        let hidden = ToolDefinition::new("t", "", json!({"properties": {"a": {"description": "x\u{200b}"}}}));
        assert_eq!(of_tool(&hidden), ["the schema of tool \"t\" hides characters: U+200B"]);
    }
}
