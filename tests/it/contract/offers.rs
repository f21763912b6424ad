//! Checks of what is listed, read and rendered.

use serde_json::json;
use trunkline::ErrorKind;

use super::kinds::Kind;

const TOOLS: [&str; 11] = ["echo", "add", "mirror", "fail", "picture", "count", "chat", "meta", "meet", "hang", "wait"];

pub(super) async fn tools_are_listed_in_order(kind: Kind) {
    for _ in 0..2 {
        let tools = kind.client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, TOOLS.map(|name| kind.name(name)));
        assert!(tools.iter().all(|tool| tool.server() == kind.client.label()));
    }
}

pub(super) async fn schemas_and_descriptions_arrive(kind: Kind) {
    let tools = kind.client.list_tools().await.unwrap();
    let [echo, add, mirror] = &tools[..3] else { panic!("{tools:?}") };
    assert_eq!(echo.description(), "Says it again.");
    let schema = echo.input_schema().to_value();
    assert_eq!(schema["properties"]["text"]["type"], "string");
    assert_eq!(schema["properties"]["text"]["description"], "What to say.");
    assert_eq!(schema["required"], json!(["text"]));
    let definition = trunkline::Tool::definition(add);
    assert_eq!(definition.title().as_deref(), Some("Addition"));
    assert_eq!(definition.output_schema().unwrap().to_value()["properties"]["sum"]["type"], "integer");
    assert!(mirror.description().starts_with("MCP tool '"), "{}", mirror.description());
    assert_eq!(mirror.input_schema().to_value(), json!({"type": "object"}));
}

pub(super) async fn resources_and_templates_are_listed(kind: Kind) {
    let resources = kind.client.list_resources().await.unwrap();
    let listed: Vec<_> = resources.iter().map(|r| (r.uri().to_owned(), r.name(), r.mime_type())).collect();
    let row = |uri: &str, name: &str, mime: Option<&str>| (uri.to_owned(), name.to_owned(), mime.map(str::to_owned));
    assert_eq!(
        listed,
        [
            row("text://greeting", "greeting", Some("text/plain")),
            row("bytes://logo", "logo.png", Some("image/png")),
            row("text://grüße/日本", "日本", None),
        ]
    );
    assert!(resources.iter().all(|resource| !resource.server().is_empty()));
    let templates = kind.client.list_resource_templates().await.unwrap();
    assert_eq!(templates.iter().map(|t| t.uri_template()).collect::<Vec<_>>(), ["square://{n}"]);
}

pub(super) async fn prompts_are_listed_with_their_arguments(kind: Kind) {
    let prompts = kind.client.list_prompts().await.unwrap();
    let listed: Vec<_> = prompts
        .iter()
        .map(|p| (p.name().to_owned(), p.arguments().iter().map(|a| (a.name(), a.required())).collect::<Vec<_>>()))
        .collect();
    let argument = |name: &str, required| (name.to_owned(), required);
    assert_eq!(
        listed,
        [
            (kind.name("welcome"), vec![argument("name", true), argument("place", true)]),
            (kind.name("talk"), vec![argument("about", false)]),
        ]
    );
}

pub(super) async fn resources_are_read_as_what_they_are(kind: Kind) {
    for (uri, text) in
        [("text://greeting", "hello"), ("text://grüße/日本", "こんにちは\u{2028}"), ("square://12", "144")]
    {
        assert_eq!(kind.client.read_resource(uri).await.unwrap(), text, "{uri}");
    }
    let contents = kind.client.read_resource_contents("bytes://logo").await.unwrap().contents();
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].blob().unwrap().unwrap(), b"\x89PNG\0\xff");
    assert_eq!((contents[0].uri().as_str(), contents[0].mime_type().as_deref()), ("bytes://logo", Some("image/png")));
    let error = kind.client.read_resource("bytes://logo").await.unwrap_err();
    assert_eq!((error.kind(), error.get("uri")), (ErrorKind::Unsupported, Some("bytes://logo")));
}

pub(super) async fn an_unknown_resource_is_an_error_that_names_it(kind: Kind) {
    for uri in ["text://nowhere", "square://x", ""] {
        let error = kind.client.read_resource(uri).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
        assert!(error.message().contains(&format!("\"{uri}\"")), "{error:?}");
    }
}

pub(super) async fn prompts_are_rendered(kind: Kind) {
    let arguments = json!({"name": "Zoë", "place": 7, "x": "ignored"});
    let welcome = kind.client.get_prompt(&kind.name("welcome"), arguments).await;
    assert_eq!(welcome.unwrap(), "Welcome Zoë to 7.");
    let talk = kind.client.get_prompt_messages(&kind.name("talk"), ()).await.unwrap();
    let roles: Vec<_> = talk.messages().iter().map(|message| message.role()).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert_eq!(talk.text(), "Talk about nothing.");
}

pub(super) async fn a_prompt_says_what_it_lacks(kind: Kind) {
    let error = kind.client.get_prompt(&kind.name("welcome"), json!({"name": "Zoë"})).await.unwrap_err();
    assert!(error.message().contains("\"place\""), "{error:?}");
    assert!(error.get("prompt").unwrap().ends_with("welcome"), "{error:?}");
    let error = kind.client.get_prompt(&kind.name("goodbye"), ()).await.unwrap_err();
    assert!(error.message().contains("goodbye"), "{error:?}");
}

pub(super) async fn the_server_says_who_it_is(kind: Kind) {
    let info = kind.client.info().await.unwrap();
    let name = if kind.prefix.is_empty() { "contract" } else { "trunkline" };
    assert_eq!(info.name(), name);
    assert!(!info.version().is_empty());
    for capability in ["tools", "resources", "prompts"] {
        assert!(info.offers(capability), "{capability}");
    }
    if kind.prefix.is_empty() {
        assert_eq!(info.instructions().as_deref(), Some("Be kind."));
    }
}
