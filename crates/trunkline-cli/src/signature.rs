//! A tool, or a prompt, as a function signature: what a person reads to know how to call it.

use trunkline::{Prompt, RawJson, ToolDefinition};

use crate::render::{BOLD, CYAN, DIM, escape, paint};
use crate::shape::{Property, Shape, key};

/// One parameter, in pieces, so that it can be coloured.
struct Parameter {
    name: String,
    optional: bool,
    kind: String,
    default: Option<String>,
}

impl Parameter {
    fn plain(&self) -> String {
        let mark = if self.optional { "?" } else { "" };
        let kind = if self.kind.is_empty() { String::new() } else { format!(": {}", self.kind) };
        let default = self.default.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
        format!("{}{mark}{kind}{default}", self.name)
    }

    fn painted(&self) -> String {
        let mark = if self.optional { "?" } else { "" };
        let kind = if self.kind.is_empty() { String::new() } else { format!(": {}", paint(CYAN, &self.kind)) };
        let default = self.default.as_ref().map(|value| paint(DIM, format!(" = {value}"))).unwrap_or_default();
        format!("{}{mark}{kind}{default}", self.name)
    }
}

/// A signature that can be shown in one line or in several.
pub(crate) struct Signature {
    name: String,
    parameters: Vec<Parameter>,
}

impl Signature {
    pub(crate) fn of_tool(tool: &ToolDefinition) -> Self {
        Self::named(tool.name(), tool.input_schema())
    }

    fn named(name: &str, schema: RawJson) -> Self {
        let mut properties = Shape::new(schema).properties();
        properties.sort_by_key(|property| !property.required); // stable: the server's order within each kind
        let one = |property: &Property| Parameter {
            name: escape::line(&key(&property.name)),
            optional: !property.required,
            kind: kind(property),
            default: property.shape.default().map(|value| short(&value)),
        };
        Self { name: escape::line(name), parameters: properties.iter().map(one).collect() }
    }

    pub(crate) fn of_prompt(prompt: &Prompt) -> Self {
        let one = |argument: trunkline::PromptArgument| Parameter {
            name: escape::line(&key(&argument.name())),
            optional: !argument.required(),
            kind: String::new(),
            default: None,
        };
        Self { name: escape::line(prompt.name()), parameters: prompt.arguments().into_iter().map(one).collect() }
    }

    /// In one line, without colours: for errors.
    pub(crate) fn plain(&self) -> String {
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::plain).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }

    /// With colours, in one line where it fits into `width` columns, else with a line for each parameter.
    pub(crate) fn painted(&self, indent: usize, width: usize) -> String {
        let pad = " ".repeat(indent);
        let name = paint(BOLD, &self.name);
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::painted).collect();
        if indent + self.plain().chars().count() <= width || parameters.len() < 2 {
            return format!("{pad}{name}({})", parameters.join(", "));
        }
        let lines: String = parameters.iter().map(|parameter| format!("{pad}  {parameter},\n")).collect();
        format!("{pad}{name}(\n{lines}{pad})")
    }
}

/// The type. That an optional argument may also be null goes without saying.
fn kind(property: &Property) -> String {
    let written = escape::line(&property.shape.written());
    match written.strip_suffix(" | null").filter(|_| !property.required) {
        Some(rest) => rest.to_owned(),
        None => written,
    }
}

fn short(value: &RawJson) -> String {
    let text = escape::line(&value.to_string());
    match text.char_indices().nth(30) {
        Some((at, _)) if text.starts_with('"') => format!("{}...\"", &text[..at]),
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(schema: String) -> String {
        Signature::named("f", RawJson::parse(schema).unwrap()).plain()
    }

    #[test]
    fn schemas_read_as_functions() {
        for (properties, written) in [
            ("", "f()"),
            (r#""a": {"type": "string"}, "n": {"type": "integer", "default": 1}"#, "f(a: string, n?: integer = 1)"),
            (r#""z": {"default": 1.0}, "n": {"type": "integer"}, "a": {}"#, "f(a: any, z?: any = 1.0, n?: integer)"),
            (r#""a": {"type": ["string", "null"]}"#, "f(a: string | null)"),
            (r#""a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}"#, "f(a: string | null)"),
            (r#""a": {}, "o": {"type": ["string", "null"]}"#, "f(a: any, o?: string)"),
            (r#""a": {"enum": ["r", "w"]}"#, "f(a: \"r\" | \"w\")"),
            (r#""a": {"type": "array", "items": {"type": "string"}}"#, "f(a: string[])"),
            (r#""a": {"type": "array", "items": {"enum": [1, 2]}}"#, "f(a: (1 | 2)[])"),
            (r#""a": {"type": "array"}"#, "f(a: array)"),
            (
                r#""a": {"type": "object", "properties": {"y": {"type": "number"}, "x": {}}, "required": ["y"]}"#,
                "f(a: {y: number, x?: any})",
            ),
            (r##""a": {"$ref": "#/$defs/P"}"##, "f(a: {x: integer})"),
            (r##""a": {"$ref": "#/$defs/Node"}"##, "f(a: {next?: {next?: object}})"),
            (r#""a b": {"type": "string"}, "a": {"const": 1}"#, "f(a: 1, \"a b\"?: string)"),
        ] {
            let rest = r##""required": ["a"], "$defs": {
                "P": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
                "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
            }"##;
            assert_eq!(signature(format!("{{\"properties\": {{{properties}}}, {rest}}}")), written);
        }
    }

    #[test]
    fn long_signatures_get_a_line_for_each_parameter() {
        let schema =
            r#"{"properties": {"path": {"type": "string"}, "head": {"type": "integer"}}, "required": ["path"]}"#;
        let signature = Signature::named("read", RawJson::parse(schema).unwrap());
        let plain = |width| anstream::adapter::strip_str(&signature.painted(2, width)).to_string();
        assert_eq!(plain(80), "  read(path: string, head?: integer)");
        assert_eq!(plain(20), "  read(\n    path: string,\n    head?: integer,\n  )");
    }

    #[test]
    fn a_long_default_is_cut_inside_its_quotes() {
        let schema = format!("{{\"properties\": {{\"a\": {{\"default\": \"{}\"}}}}}}", "x".repeat(99));
        assert_eq!(signature(schema), format!("f(a?: any = \"{}...\")", "x".repeat(29)));
    }

    #[test]
    fn names_of_strangers_are_escaped() {
        assert_eq!(Signature::named("f\u{1b}[2J", RawJson::parse("{}").unwrap()).plain(), "f\\u{1b}[2J()");
    }
}
