//! What holds of whatever a server may answer with, in any field: nothing is lost, nothing panics, and the plain value
//! is the one that the rule gives.

use serde_json::Value;

pub(crate) use super::jsonrpc::laws::envelope;
pub(crate) use super::scan::laws::{raw, scanner};
use super::{
    ContentBlock, Prompt, PromptMessage, PromptResult, RawJson, ReadResult, Resource, ResourceContents,
    ResourceTemplate, ServerInfo, ToolDefinition, ToolResult,
};

/// Any JSON is a result of a tool: its bytes survive, and it unwraps by the rule.
pub(crate) fn results(raw: &RawJson) {
    let result = ToolResult::from_raw(raw.clone());
    assert_eq!(&result.raw(), raw);
    result.content().iter().for_each(block);
    let _ = (result.text(), result.meta(), result.parse::<Value>("t"));
    let is_error = result.is_error();
    match result.into_value("t") {
        Ok(value) => assert!(!is_error && value == by_the_rule(&raw.to_value()), "{value}"),
        Err(error) => assert!(is_error && error.tool_result().map(ToolResult::raw).as_ref() == Some(raw)),
    }

    let read = ReadResult::from_raw(raw.clone());
    read.contents().iter().for_each(contents);
    let _ = read.text();
    let prompt = PromptResult::from_raw(raw.clone());
    let _ = (prompt.text(), prompt.description());
    prompt.messages().iter().flat_map(PromptMessage::content).for_each(|found| block(&found));
    let info = ServerInfo::from_raw(raw.clone());
    let _ = (info.name(), info.version(), info.protocol_version(), info.instructions(), info.offers("tools"));
    assert_eq!((read.raw(), prompt.raw(), info.raw()), (raw, raw, raw));
}

fn block(block: &ContentBlock) {
    let _ = (block.kind(), block.text(), block.bytes(), block.mime_type(), block.uri());
    block.embedded().iter().for_each(contents);
}

fn contents(contents: &ResourceContents) {
    let _ = (contents.uri(), contents.text(), contents.blob(), contents.mime_type());
}

/// The rule for plain values, over decoded JSON.
fn by_the_rule(result: &Value) -> Value {
    let blocks = match &result["content"] {
        Value::Null => Vec::new(),
        Value::Array(blocks) => blocks.clone(),
        one => vec![one.clone()],
    };
    let text = |block: &Value| block["text"].as_str().filter(|_| block["type"] == "text").map(str::to_owned);
    let texts: Option<Vec<_>> = blocks.iter().map(text).collect();
    match (blocks.as_slice(), texts) {
        ([], _) => result["structuredContent"].clone(),
        (_, Some(texts)) => {
            let text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
            RawJson::parse(text.clone()).map_or(Value::String(text), |parsed| parsed.to_value())
        }
        ([block], None) => block.clone(),
        (blocks, None) => Value::Array(blocks.to_vec()),
    }
}

/// Any JSON as an entry of a list is an entry or says why not. An entry has what identifies it, and keeps its bytes.
pub(crate) fn entries(raw: &RawJson) {
    match ToolDefinition::read(raw.clone()) {
        Ok(tool) => {
            assert!(!tool.name().trim().is_empty() && tool.raw() == raw);
            assert_eq!(tool.is_described(), tool.description().is_some());
            assert!(
                tool.input_schema().field("type").is_some() || !raw.field("inputSchema").is_some_and(|s| s.is_object())
            );
            let _ = (tool.title(), tool.output_schema(), tool.annotations(), tool.oddity());
            let titled = tool.clone().with("title", Value::from("T"));
            assert_eq!((titled.name(), titled.title().as_deref()), (tool.name(), Some("T")));
            assert_eq!(titled.input_schema().to_value(), tool.input_schema().to_value());
        }
        Err(why) => assert!(!why.is_empty() && raw.text("name").is_none_or(|name| name.trim().is_empty()), "{why}"),
    }
    match Resource::read(raw.clone()) {
        Ok(resource) => {
            assert!(!resource.uri().trim().is_empty() && resource.raw() == raw);
            let _ = (resource.name(), resource.description(), resource.mime_type());
        }
        Err(why) => assert!(!why.is_empty()),
    }
    match Prompt::read(raw.clone()) {
        Ok(prompt) => {
            assert!(!prompt.name().trim().is_empty() && prompt.raw() == raw);
            let told = prompt.arguments();
            told.iter().for_each(|argument| drop((argument.name(), argument.description(), argument.required())));
        }
        Err(why) => assert!(!why.is_empty()),
    }
    if let Ok(template) = ResourceTemplate::read(raw.clone()) {
        assert!(!template.uri_template().trim().is_empty() && template.raw() == raw);
        let _ =
            (template.name(), template.description(), template.mime_type(), template.matches(template.uri_template()));
    }
}

/// A template matches a URI exactly where the regular expression that it means does.
pub(crate) fn templates(template: &str, uri: &str) {
    let matches = ResourceTemplate::new(template, "").matches(uri);
    let (mut pattern, mut rest) = ("^(?s-u:".to_owned(), template);
    while let Some((literal, variable, after)) = rest
        .split_once('{')
        .and_then(|(literal, rest)| rest.split_once('}').map(|(variable, after)| (literal, variable, after)))
    {
        let operator = variable.chars().next().unwrap_or_default();
        let some = if after.is_empty() || "+#/?&;.".contains(operator) && operator != '\0' { "." } else { "[^/]" };
        let count = if "?&#/;.".contains(operator) && operator != '\0' { "*" } else { "+" };
        pattern = format!("{pattern}{}{some}{count}", regex::escape(literal));
        rest = after;
    }
    let pattern = format!("{pattern}{})$", regex::escape(rest));
    match regex::bytes::Regex::new(&pattern) {
        Ok(regex) => assert_eq!(matches, regex.is_match(uri.as_bytes()), "{pattern}"),
        Err(error) => assert!(matches!(error, regex::Error::CompiledTooBig(_)), "{error}"),
    }
}
