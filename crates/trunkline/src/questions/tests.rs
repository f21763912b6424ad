//! Forms in every spelling, answers that fit and don't, sampling with tools, roots that change.

use serde_json::{Value, json};

use super::*;
use crate::connection::Handler as _;
use crate::protocol::{Arguments, IntoArguments as _};

/// What handlers make of a request.
async fn asked(handlers: &Handlers, method: &str, params: Value) -> Result<Value, String> {
    let handler = handlers.for_server("files").unwrap();
    let outcome = handler.handle(method, params.into()).await;
    outcome.map(|result| result.to_value()).map_err(|error| format!("{:?}: {}", error.code(), error.message()))
}

async fn elicited(answer: impl Fn() -> Answer + Send + Sync + 'static, schema: Value) -> Result<Value, String> {
    let handlers = Handlers::new().elicit(move |_| std::future::ready(answer()));
    asked(&handlers, "elicitation/create", json!({"message": "Who?", "requestedSchema": schema})).await
}

fn fields(properties: Value) -> Vec<FormField> {
    FormField::all(&json!({"type": "object", "properties": properties}).into())
}

fn all_kinds() -> Value {
    json!({
        "name": {"type": "string", "title": "Your name", "description": "In full.", "minLength": 2, "default": "Ann"},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
        "score": {"type": "number", "default": 95.5},
        "ok": {"type": "boolean", "default": true},
        "plain": {"type": "string", "enum": ["red", "green"], "default": "green"},
        "legacy": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "titled": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]},
        "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2, "default": ["a"]},
        "named": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "The X"}]}},
        "odd": {"type": "object"}
    })
}

#[test]
fn every_kind_of_field_is_read_with_its_title_bounds_and_default() {
    let fields = fields(all_kinds());
    let of = |name: &str| fields.iter().find(|field| field.name() == name).unwrap();
    assert_eq!(of("name").title().as_deref(), Some("Your name"));
    assert_eq!(of("name").description().as_deref(), Some("In full."));
    assert_eq!(of("name").default().unwrap().to_string(), "\"Ann\"");
    assert_eq!(
        *of("mail").kind(),
        FieldKind::Text { format: Some("email".to_owned()), min_length: None, max_length: None }
    );
    assert_eq!(*of("age").kind(), FieldKind::Number { whole: true, minimum: Some(0.0), maximum: Some(150.0) });
    let titles = |name: &str| match of(name).kind() {
        FieldKind::Choice(of) | FieldKind::Choices { of, .. } => {
            of.iter().map(|choice| format!("{}={}", choice.value, choice.title)).collect::<Vec<_>>().join(" ")
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(titles("plain"), "\"red\"=red \"green\"=green");
    assert_eq!(titles("legacy"), "\"r\"=Red \"g\"=Green");
    assert_eq!(titles("titled"), "\"#f00\"=Red \"#0f0\"=Green");
    assert_eq!(titles("many"), "\"a\"=a \"b\"=b \"c\"=c");
    assert_eq!(titles("named"), "\"x\"=The X");
    assert_eq!(*of("odd").kind(), FieldKind::Other);
}

#[test]
fn what_a_person_writes_becomes_a_value_of_the_field_s_type() {
    let fields = fields(all_kinds());
    for (name, written, value) in [
        ("name", " Ann ", Some("\" Ann \"")),
        ("age", "42", Some("42")),
        ("age", "151", None),
        ("age", "old", None),
        ("score", " 1.0 ", Some("1.0")),
        ("ok", "Yes", Some("true")),
        ("ok", "off", Some("false")),
        ("ok", "perhaps", None),
        ("plain", "red", Some("\"red\"")),
        ("plain", "blue", None),
        ("legacy", "green", Some("\"g\"")),
        ("titled", "#f00", Some("\"#f00\"")),
        ("titled", "Red", Some("\"#f00\"")),
        ("many", "a, c", Some("[\"a\",\"c\"]")),
        ("many", "", Some("[]")),
        ("many", "[\"b\"]", Some("[\"b\"]")),
        ("many", "a, z", None),
        ("named", "the x", Some("[\"x\"]")),
        ("odd", "{\"k\":1}", Some("{\"k\":1}")),
        ("odd", "text", None),
    ] {
        let field = fields.iter().find(|field| field.name() == name).unwrap();
        let read = field.read(written).ok().map(|value| value.to_string());
        assert_eq!(read.as_deref(), value, "{name} {written:?}");
    }
    let age = fields.iter().find(|field| field.name() == "age").unwrap();
    let why = age.read("old").unwrap_err();
    assert_eq!(why.message(), "\"age\" has to be a whole number, not \"old\"");
}

#[tokio::test]
async fn the_defaults_are_an_answer_where_they_are_whole() {
    let defaults = json!({"name": "Ann", "age": 30, "score": 95.5, "ok": true, "plain": "green", "many": ["a"]});
    let form = |required: Value| json!({"type": "object", "properties": all_kinds(), "required": required});
    let accepted = elicited(Answer::accept_defaults, form(json!(["name"]))).await.unwrap();
    assert_eq!(accepted, json!({"action": "accept", "content": defaults}));
    let declined = elicited(Answer::accept_defaults, form(json!(["name", "mail"]))).await.unwrap();
    assert_eq!(declined, json!({"action": "decline"}));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_never_leaves() {
    let form = || json!({"type": "object", "properties": all_kinds(), "required": ["mail"]});
    for (content, outcome) in [
        (json!({"mail": "ann@example.com", "age": 7}), Ok(())),
        (json!({}), Err("\"mail\" is missing")),
        (json!({"mail": "ann"}), Err("\"mail\" has to be an e-mail address, not \"ann\"")),
        (json!({"mail": "a@b.c", "age": "7"}), Err("\"age\" has to be a whole number, not \"7\"")),
        (json!({"mail": "a@b.c", "plain": "blue"}), Err("\"plain\" has to be one of \"red\", \"green\", not \"blue\"")),
        (json!({"mail": "a@b.c", "many": ["a", "b", "c"]}), Err("\"many\" may have at most 2 items")),
    ] {
        let sent = content.clone();
        let answered = elicited(move || Answer::accept(&sent), form()).await;
        match outcome {
            Ok(()) => assert_eq!(answered.unwrap(), json!({"action": "accept", "content": content})),
            Err(why) => assert_eq!(answered.unwrap_err(), format!("None: The answer doesn't fit the form: {why}")),
        }
    }
    assert_eq!(elicited(Answer::decline, form()).await.unwrap(), json!({"action": "decline"}));
    assert_eq!(elicited(Answer::cancel, form()).await.unwrap(), json!({"action": "cancel"}));
    assert!(elicited(|| Answer::accept(json!([1])), form()).await.unwrap_err().contains("JSON object"));
    let broken = json!({"type": "object", "properties": {"a": {"type": "objekt"}}});
    let left_to_the_server = elicited(|| Answer::accept(json!({"a": 1})), broken).await.unwrap();
    assert_eq!(left_to_the_server["content"], json!({"a": 1}));
}

#[tokio::test]
async fn pages_are_agreed_to_without_content_and_only_where_they_are_declared() {
    let page = json!({"mode": "url", "message": "Log in", "url": "https://example.com/x", "elicitationId": "e-1"});
    let told = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let seen = told.clone();
    let both = Handlers::new().elicit(move |request| {
        *seen.lock().unwrap() = format!("{} {:?} {:?}", request.server(), request.url(), request.id());
        std::future::ready(Answer::accept(json!({"secret": 1})))
    });
    assert_eq!(both.capabilities().to_value(), json!({"elicitation": {"form": {}, "url": {}}}));
    assert_eq!(asked(&both, "elicitation/create", page.clone()).await.unwrap(), json!({"action": "accept"}));
    assert_eq!(*told.lock().unwrap(), "files Some(\"https://example.com/x\") Some(\"e-1\")");
    let defaults = Handlers::new().elicit(|_| std::future::ready(Answer::accept_defaults()));
    assert_eq!(asked(&defaults, "elicitation/create", page.clone()).await.unwrap(), json!({"action": "decline"}));

    let forms = Handlers::new().elicit_forms(|_| std::future::ready(Answer::accept(())));
    assert_eq!(forms.capabilities().to_value(), json!({"elicitation": {"form": {}}}));
    for refused in [page, json!({"mode": "hologram", "message": "?"}), json!({"message": "no schema"})] {
        let why = asked(&forms, "elicitation/create", refused).await.unwrap_err();
        assert!(why.starts_with("Some(-32602): "), "{why}");
    }
}

#[tokio::test]
async fn a_model_is_asked_with_everything_the_server_said() {
    let request = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
        "systemPrompt": "Be brief.", "maxTokens": 100, "temperature": 0.5, "stopSequences": ["\n"],
        "modelPreferences": {"hints": [{"name": "small"}]},
        "tools": [{"name": "add", "inputSchema": {"type": "object"}}], "toolChoice": {"mode": "required"}
    });
    let with_tools = Handlers::new().sample_with_tools(|request| async move {
        assert_eq!((request.server(), request.messages()[0].text().as_str()), ("files", "2+2?"));
        assert_eq!((request.system_prompt().as_deref(), request.max_tokens()), (Some("Be brief."), Some(100)));
        assert_eq!((request.temperature(), request.stop_sequences()), (Some(0.5), vec!["\n".to_owned()]));
        assert_eq!((request.model_hints(), request.tool_choice()), (vec!["small".to_owned()], ToolChoice::Required));
        Sampled::tool_uses("m", [ToolUse::new("c1", request.tools()[0].name(), json!({"a": 2, "b": 2}))?])
    });
    assert_eq!(with_tools.capabilities().to_value(), json!({"sampling": {"tools": {}}}));
    let call = json!({"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2, "b": 2}});
    let answer = asked(&with_tools, "sampling/createMessage", request.clone()).await.unwrap();
    assert_eq!(answer, json!({"role": "assistant", "content": [call], "model": "m", "stopReason": "toolUse"}));

    let plain = Handlers::new().sample(|_| async { Ok(Sampled::text("m", "4").with_stop_reason("maxTokens")) });
    assert_eq!(plain.capabilities().to_value(), json!({"sampling": {}}));
    let why = asked(&plain, "sampling/createMessage", request).await.unwrap_err();
    assert_eq!(why, "Some(-32602): This client samples without tools");
    let said = asked(&plain, "sampling/createMessage", json!({"messages": []})).await.unwrap();
    assert_eq!(said["content"], json!({"type": "text", "text": "4"}));
    assert_eq!(said["stopReason"], "maxTokens");
}

#[tokio::test]
async fn a_conversation_whose_tool_results_are_missing_or_mixed_is_refused() {
    let call = json!({"role": "assistant", "content": {"type": "tool_use", "id": "c1", "name": "add", "input": {}}});
    let result = json!({"type": "tool_result", "toolUseId": "c1", "content": []});
    let text = json!({"type": "text", "text": "and?"});
    let user = |content: Value| json!({"role": "user", "content": content});
    let handlers = Handlers::new().sample_with_tools(|_| async { Ok(Sampled::text("m", "4")) });
    for (messages, why) in [
        (json!([call, user(json!([result]))]), None),
        (json!([call, user(text.clone())]), Some("Tool result missing in request")),
        (json!([call]), Some("Tool result missing in request")),
        (json!([call, user(json!([result, text]))]), Some("Tool results mixed with other content")),
        (json!("none"), Some("The request has no messages")),
    ] {
        let outcome = asked(&handlers, "sampling/createMessage", json!({"messages": messages})).await;
        assert_eq!(outcome.err(), why.map(|why| format!("Some(-32602): {why}")), "{messages}");
    }
}

#[tokio::test]
async fn roots_are_what_they_are_when_they_are_asked_for() {
    let roots = Roots::new(["file:///a"]);
    let handlers = Handlers::new().live_roots(&roots);
    assert_eq!(handlers.capabilities().to_value(), json!({"roots": {"listChanged": true}}));
    let mut changes = handlers.root_changes();
    roots.set([Root::new("file:///b").named("B")]);
    changes.next().await;
    let listed = asked(&handlers, "roots/list", json!({})).await.unwrap();
    assert_eq!(listed, json!({"roots": [{"uri": "file:///b", "name": "B"}]}));
    roots.set(roots.list());
    let unchanged = tokio::time::timeout(std::time::Duration::from_millis(20), changes.next()).await;
    assert!(unchanged.is_err(), "the same roots are no change");
    assert_eq!(Arguments::none(), ().into_arguments().unwrap());
}
