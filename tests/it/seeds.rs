//! What the two published Python interfaces promise, which this library takes its shape from: a connection is
//! whatever has three methods; a client of one server; a client made of local functions; a client of several servers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{
    Arguments, CallContext, Client, ClientBuilder, Config, Connection, ErrorKind, MultiServer, Result, StaticServer,
    ToolDefinition, ToolResult, ToolSet,
};
use trunkline_tests::*;

use super::rig::rig;
use super::smoke::FAKE;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// Has the three methods and nothing else.
struct Mine;

impl Connection for Mine {
    async fn list_tools(&self, _cx: &CallContext) -> Result<Vec<ToolDefinition>> {
        Ok(vec![ToolDefinition::new("greet", "", json!({"type": "object"}))])
    }

    async fn call_tool(&self, name: &str, arguments: Arguments, _cx: &CallContext) -> Result<ToolResult> {
        match name {
            "greet" => Ok(ToolResult::text_result(format!("hello {}", arguments.get("name").unwrap()))),
            _ => Ok(ToolResult::error("no such tool")),
        }
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

fn ping(label: &str) -> Client {
    Client::from_connection(StaticServer::new().function("ping", "", || "pong")).label(label).build().unwrap()
}

fn shouting() -> ClientBuilder {
    let server = StaticServer::new()
        .function("shout", "Shouts.", |a: Text| a.text.to_uppercase())
        .resource("file://greeting", "hello")
        .resource("docs://guide/intro.md", "start")
        .prompt("welcome", "Welcome {name} to {place}.");
    Client::from_connection(server)
}

#[tokio::test]
async fn whatever_has_the_three_methods_is_a_connection() {
    let client = Client::from_connection(Mine).build().unwrap();
    let tools = client.list_tools().await.unwrap();
    assert_eq!(tools[0].description(), "MCP tool 'greet' from static.");
    assert_eq!(client.call_tool("greet", json!({"name": 1})).await.unwrap(), json!("hello 1"));
    assert!(client.call("other", ()).await.unwrap().is_error(), "an error result is returned, not raised");
    assert!(client.list_resources().await.unwrap().is_empty());
    assert!(client.list_resource_templates().await.unwrap().is_empty());
    assert!(client.list_prompts().await.unwrap().is_empty());
    assert_eq!(client.read_resource("x:y").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(client.get_prompt("p", ()).await.unwrap_err().kind(), ErrorKind::NotFound);
    client.disconnect().await;
}

#[tokio::test]
async fn a_connection_of_ones_own_goes_wherever_one_is_wanted() {
    let mut multi = MultiServer::new();
    multi.add(Client::from_connection(Mine).label("mine").build().unwrap()).unwrap();
    assert_eq!(multi.call("mine_greet", json!({"name": 2})).await.unwrap(), json!("hello 2"));
    let served = Client::in_memory(Mine).build().unwrap();
    assert_eq!(served.call_tool("greet", json!({"name": 3})).await.unwrap(), json!("hello 3"));
    let tools = ToolSet::builder().mcp(Client::from_connection(Mine)).build().unwrap();
    assert_eq!(tools.call("greet", json!({"name": 4})).await.unwrap(), json!("hello 4"));
}

#[tokio::test]
async fn local_functions_texts_and_templates_are_a_server() {
    let client = shouting().build().unwrap();
    assert_eq!((client.label(), client.connected()), ("static", false));
    client.connect().await.unwrap();
    client.connect().await.unwrap();
    assert!(client.connected());
    assert_eq!(client.call_tool("shout", json!({"text": "hi"})).await.unwrap(), json!("HI"));
    assert_eq!(client.read_resource("file://greeting").await.unwrap(), "hello");
    let schema = client.list_tools().await.unwrap()[0].input_schema().to_value();
    assert_eq!(schema["properties"]["text"]["type"], "string");
    let resources = client.list_resources().await.unwrap();
    let names: Vec<_> = resources.iter().map(|resource| (resource.name(), resource.server().to_owned())).collect();
    assert_eq!(names, [("greeting".into(), "static".into()), ("intro.md".into(), "static".into())]);
    assert_eq!(client.list_prompts().await.unwrap()[0].server(), "static");
    client.disconnect().await;
    assert!(!client.connected());
}

#[tokio::test]
async fn extra_prompt_arguments_are_ignored_and_missing_ones_are_named() {
    let client = shouting().build().unwrap();
    let text = client.get_prompt("welcome", json!({"name": "Ann", "place": "Rome", "x": 1})).await.unwrap();
    assert_eq!(text, "Welcome Ann to Rome.");
    let error = client.get_prompt("welcome", json!({"name": "Ann"})).await.unwrap_err();
    assert!(error.message().contains("\"place\""), "{error}");
    let error = client.get_prompt("farewell", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.get("available")), (ErrorKind::NotFound, Some("welcome")));
}

#[tokio::test]
async fn unknown_names_tell_what_there_is() {
    let client = shouting().build().unwrap();
    let error = client.call_tool("shuot", json!({"text": "hi"})).await.unwrap_err();
    assert_eq!((error.kind(), error.get("available")), (ErrorKind::NotFound, Some("shout")));
    assert_eq!(error.hint(), Some("Did you mean \"shout\"?"));
    let error = client.read_resource("file://greetings").await.unwrap_err();
    assert_eq!(error.get("available"), Some("file://greeting, docs://guide/intro.md"));
}

#[tokio::test]
async fn a_function_that_fails_is_an_error_with_its_words() {
    let server = StaticServer::new()
        .function("sync", "", || Err::<i64, _>("disk full"))
        .function("async", "", || async { Err::<i64, _>("disk gone") })
        .function("fine", "", |a: Text| async move { a.text });
    let client = Client::from_connection(server).build().unwrap();
    for (tool, message) in [("sync", "disk full"), ("async", "disk gone")] {
        let error = client.call_tool(tool, ()).await.unwrap_err();
        assert_eq!((error.kind(), error.message(), error.get("tool")), (ErrorKind::Tool, message, Some(tool)));
    }
    assert_eq!(client.call_tool("fine", json!({"text": "x"})).await.unwrap(), json!("x"));
    assert_eq!(client.call_tool("fine", ()).await.unwrap_err().kind(), ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn several_servers_are_one_and_names_carry_their_label() {
    let (alpha, beta) = (ping("alpha"), ping("beta"));
    let mut multi = MultiServer::new();
    multi.add(&alpha).unwrap().add(&beta).unwrap();
    let mut names: Vec<_> = multi.tools().await.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["alpha_ping", "beta_ping"]);
    assert_eq!(multi.call("alpha_ping", ()).await.unwrap(), json!("pong"));
    assert_eq!(multi.members().iter().map(|member| member.label.as_str()).collect::<Vec<_>>(), ["alpha", "beta"]);
    assert_eq!(alpha.list_tools().await.unwrap()[0].name(), "ping", "the caller's client stays as it was");
    let error = multi.call("gamma_ping", ()).await.unwrap_err();
    assert_eq!((error.kind(), error.get("available")), (ErrorKind::NotFound, Some("alpha_ping, beta_ping")));
    multi.disconnect().await;
    assert!(!alpha.connected() && !beta.connected());
    assert!(MultiServer::new().tools().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_dead_server_costs_its_own_tools_alone() {
    let mut multi = MultiServer::new();
    let dead = Client::stdio("no-such-command-here", [""; 0]).label("dead").build().unwrap();
    multi.add(dead).unwrap().add(ping("alive")).unwrap();
    multi.connect().await;
    assert_eq!(multi.tools().await.unwrap().len(), 1);
    assert!(multi.list_resources(&CallContext::new()).await.unwrap().is_empty());
    assert_eq!(multi.failures()[0].0, "dead");
    assert!(multi.warnings().iter().any(|warning| warning.contains("\"dead\" is left out")), "{:?}", multi.warnings());
}

#[test]
fn a_client_needs_one_transport() {
    let error = ClientBuilder::new().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.hint().unwrap().contains("command"), "{error:?}");
    let error = Client::stdio("a", [""; 0]).connection(Mine).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[test]
fn labels_have_defaults() {
    for (client, label) in [
        (Client::stdio("/usr/bin/npx", ["-y"]), "npx"),
        (Client::from_connection(Mine), "static"),
        (Client::from_config(&Config::parse(r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap()), "a"),
        (Client::stdio("npx", [""; 0]).label("files"), "files"),
    ] {
        assert_eq!(client.build().unwrap().label(), label);
    }
    let both = r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#;
    assert_eq!(Client::from_config(&Config::parse(both).unwrap()).build().unwrap().label(), "multi");
}

#[tokio::test]
async fn a_namespace_is_put_on_and_taken_off() {
    let rig = super::rig::Rig::with(
        |_| Script::new().tools([tool("search"), tool("read")]),
        |builder| builder.label("web").namespaced(true),
    );
    assert_eq!(rig.client.call_tool("web_search", ()).await.unwrap(), json!("ok"));
    assert_eq!(rig.client.call_tool("search", ()).await.unwrap(), json!("ok"), "the exact name does as well");
    let tools = rig.client.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["web_search", "web_read"]);
    assert_eq!(tools[0].wire_name(), "search");
    let names: Vec<_> = rig.log.sent("tools/call").iter().map(|call| call.params()["name"].clone()).collect();
    assert_eq!(names, ["search", "search"]);
    assert_eq!(rig.client.call_tool("web_find", ()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn what_is_left_out_of_a_definition_has_a_default() {
    let rig = rig(Script::new().tools([
        json!({"name": "bare"}),
        json!({"description": "nameless"}),
        json!({"name": "", "description": "nameless too"}),
        json!({"name": "full", "description": "Does it.", "inputSchema": {"type": "object", "required": ["a"]}}),
    ]));
    let tools = rig.client.list_tools().await.unwrap();
    let [bare, full] = &tools[..] else { panic!("{tools:?}") };
    assert_eq!(bare.description(), "MCP tool 'bare' from fake.");
    assert_eq!(bare.input_schema().to_value(), json!({"type": "object", "properties": {}}));
    assert_eq!(full.description(), "Does it.");
    assert_eq!(full.input_schema().to_value(), json!({"type": "object", "required": ["a"]}));
}

#[tokio::test]
async fn results_are_unwrapped_to_plain_values() {
    let text = |text: &str| json!({"type": "text", "text": text});
    for (result, value) in [
        (json!({"content": [text("hi")]}), json!("hi")),
        (json!({"content": [text("{\"a\": 1}")]}), json!({"a": 1})),
        (json!({"content": [text("a"), text("b")]}), json!("a\nb")),
        (json!({"content": [text("3")], "structuredContent": {"result": 3}}), json!(3)),
        (json!({"content": [], "structuredContent": {"n": 1}}), json!({"n": 1})),
        (json!({"content": []}), Value::Null),
        (
            json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}),
            json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
        ),
    ] {
        let rig = rig(Script::new().on(call("echo"), [respond(result.clone())]));
        assert_eq!(rig.client.call_tool("echo", ()).await.unwrap(), value, "{result}");
    }
}

#[tokio::test]
async fn what_a_server_does_not_offer_is_an_empty_list() {
    let rig = rig(Script::new());
    assert!(rig.client.list_resources().await.unwrap().is_empty());
    assert!(rig.client.list_resource_templates().await.unwrap().is_empty());
    assert!(rig.client.list_prompts().await.unwrap().is_empty());
}

#[tokio::test]
async fn entries_without_uri_or_name_are_skipped_and_the_others_know_their_server() {
    let rig = rig(Script::new()
        .resources([json!({"name": "lost"}), json!({"uri": "a:1"}), json!({"uri": "", "name": "x"})])
        .prompts([json!({"description": "lost"}), json!({"name": "p", "arguments": null})]));
    let resources = rig.client.list_resources().await.unwrap();
    assert_eq!(resources.iter().map(|r| (r.uri(), r.server())).collect::<Vec<_>>(), [("a:1", "fake")]);
    assert_eq!(
        (resources[0].name(), resources[0].description(), resources[0].mime_type()),
        (String::new(), None, None)
    );
    let prompts = rig.client.list_prompts().await.unwrap();
    assert_eq!(prompts.iter().map(|p| (p.name(), p.server())).collect::<Vec<_>>(), [("p", "fake")]);
    assert!(prompts[0].arguments().is_empty());
}

#[tokio::test]
async fn prompts_are_text_parts_joined_by_a_blank_line() {
    let rig = rig(Script::new().prompts([prompt("p")]).on(
        on_method("prompts/get"),
        [respond(json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "one"}},
            {"role": "assistant", "content": {"type": "text", "text": ""}},
            {"role": "user", "content": "two"},
        ]}))],
    ));
    assert_eq!(rig.client.get_prompt("p", ()).await.unwrap(), "one\n\ntwo");
    assert_eq!(rig.log.sent("prompts/get")[0].params()["arguments"], json!({}));
}

#[tokio::test]
async fn several_texts_of_a_resource_are_joined_by_a_newline() {
    let rig = rig(Script::new().resources([resource("a:1")]).on(
        read("a:1"),
        [respond(json!({"contents": [{"uri": "a:1", "text": "x"}, {"uri": "a:2", "blob": "AA=="}, {"text": "y"}]}))],
    ));
    assert_eq!(rig.client.read_resource("a:1").await.unwrap(), "x\ny");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_says_what_to_check() {
    let client = Client::stdio("no-such-command-here", ["-y"]).label("files").build().unwrap();
    for _ in 0..2 {
        let error = client.list_tools().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert_eq!(error.get("server"), Some("files"));
        assert!(error.get("command").unwrap().contains("no-such-command-here"), "{error:?}");
        assert!(error.hint().is_some(), "{error:?}");
    }
    client.disconnect().await;
}

#[tokio::test]
async fn a_subprocess_gets_its_environment_and_ends_with_its_client() {
    let dir = TempDir::new();
    let script = Script::new().on(call("echo"), [dump()]).pid_file(dir.join("pid"));
    let client = Client::stdio(FAKE, script.args()).env("API_KEY", "k").connect().await.unwrap();
    let seen = client.call_tool("echo", ()).await.unwrap();
    assert_eq!(seen["env"]["API_KEY"], "k");
    let pid = wait_pid(dir.join("pid"));
    drop(client);
    offload(move || wait_gone(pid)).await;
}

#[tokio::test]
async fn a_configuration_with_several_servers_unites_them() {
    let dir = TempDir::new();
    let script = Script::new().write_to(&dir);
    let entry = json!({"command": FAKE, "args": [script]});
    let config = Config::parse(&json!({"mcpServers": {"one": entry, "two": entry}}).to_string()).unwrap();
    let client = Client::from_config(&config).build().unwrap();
    let tools = client.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["one_echo", "two_echo"]);
    assert_eq!(client.call_tool("two_echo", ()).await.unwrap(), json!("ok"));
    client.disconnect().await;
}
