use super::*;
use crate::protocol::RawJson;

fn raw(text: &'static str) -> RawJson {
    RawJson::parse(text).unwrap()
}

#[test]
fn tools_are_read_leniently_and_nameless_ones_say_why() {
    let tool = ToolDefinition::read(raw(r#"{"name":"a","title":null,"description":null,"inputSchema":null}"#)).unwrap();
    assert_eq!((tool.title(), tool.description()), (None, None));
    assert_eq!(tool.input_schema().to_string(), r#"{"properties":{},"type":"object"}"#);
    for (text, why) in [
        (r#"{"inputSchema":{}}"#, "has no name"),
        (r#"{"name":7}"#, "has a name that is no text"),
        (r#"{"name":" "}"#, "has an empty name"),
        ("3", "is no object"),
    ] {
        assert_eq!(ToolDefinition::read(raw(text)).unwrap_err(), why);
    }
}

#[test]
fn an_odd_schema_is_told() {
    let odd = ToolDefinition::read(raw(r#"{"name":"n4","inputSchema":{"type":"string"}}"#)).unwrap();
    assert!(odd.oddity().unwrap().contains("\"string\""));
    for fine in
        [r#"{"name":"n"}"#, r#"{"name":"n","inputSchema":{}}"#, r#"{"name":"n","inputSchema":{"type":"object"}}"#]
    {
        assert_eq!(ToolDefinition::read(raw(fine)).unwrap().oddity(), None);
    }
}

#[test]
fn templates_match_their_expansions() {
    for (template, uri, fits) in [
        ("file:///{path}", "file:///a%20b", true),
        ("file:///{path}", "file:///a/b", true),
        ("file:///{path}", "file:///", false),
        ("db://{t}/{id}", "db://users/7", true),
        ("db://{t}/{id}", "db://users", false),
        ("db://{t}/x/{id}", "db://a/b/x/7", false),
        ("fix://item/{id}", "fix://item/é", true),
        ("fix://text", "fix://text", true),
        ("q://x{?a}", "q://x", true),
        ("q://x{?a}", "q://x?a=1", true),
        ("{a}-{b}", "x-y-z", true),
        ("{a}-{b}", "-y", false),
        ("f://{+path}/end", "f://a/b/end", true),
        ("f://{open", "f://{open", true),
        ("f://{a}x{b}x{c}", "f://éxéxé", true),
    ] {
        assert_eq!(ResourceTemplate::new(template, "t").matches(uri), fits, "{template} {uri}");
    }
}

#[test]
fn a_template_of_many_variables_is_no_trap() {
    let template = format!("x://{}y", "{a}x".repeat(40));
    assert!(!ResourceTemplate::new(template, "t").matches(&format!("x://{}", "x".repeat(4000))));
}

#[test]
fn schemas_are_fit_for_a_model() {
    let default = r#"{"properties":{},"type":"object"}"#;
    for (schema, shown) in [
        ("null", default),
        ("{}", default),
        ("true", default),
        ("7", default),
        (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"type":"object"}"#),
        (r#"{"type":"string"}"#, r#"{"type":"string"}"#),
    ] {
        let tool = RawJson::parse(format!(r#"{{"name":"n","inputSchema":{schema}}}"#)).unwrap();
        assert_eq!(ToolDefinition::read(tool).unwrap().input_schema().to_string(), shown, "{schema}");
    }
}

#[test]
fn info_of_a_sparse_server_reads_empty() {
    let info = ServerInfo::from_raw(raw(r#"{"capabilities":{"tools":null,"prompts":{}},"instructions":null}"#));
    assert!(!info.offers("tools") && info.offers("prompts"));
    assert_eq!((info.name(), info.instructions(), info.protocol_version()), (String::new(), None, None));
}
