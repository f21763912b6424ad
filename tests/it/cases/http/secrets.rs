//! P-72: what may not be shown is shown nowhere.

use serde_json::json;
use trunkline::{Client, Environment, Error, Secret, Tape, TokenSource};
use trunkline_tests::TempDir;
use trunkline_tests::http::*;

use super::{all_of, echo};

const SECRETS: [&str; 5] = ["s3cr3t-AAA", "pw-BBB", "KEY-CCC", "TOK-DDD", "dTpwdy1CQkI="];

/// Gives everything back that it was sent.
fn echoing(status: u16) -> Step {
    act(move |request| {
        let headers: Vec<_> = request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        vec![send(reply(status).body(format!("{} {}", request.target, headers.join("\n"))))]
    })
}

fn url(fake: &HttpFake) -> String {
    format!("http://u:pw-BBB@{}/mcp?api_key=KEY-CCC", fake.address())
}

fn built(fake: &HttpFake) -> Client {
    let environment = Environment::from_pairs::<&str, &str>([]);
    Client::http(url(fake)).environment(environment).header("X-Key", "s3cr3t-AAA").build().unwrap()
}

#[track_caller]
fn clean(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

async fn errors(client: &Client) -> Vec<Error> {
    let connect = client.connect().await.err();
    let call = echo(client, "x").await.err();
    connect.into_iter().chain(call).collect()
}

#[tokio::test]
async fn p72_no_error_warning_or_debug_shows_a_secret() {
    let steps: [Vec<Step>; 7] = [
        vec![echoing(500)],
        vec![echoing(200)],
        vec![echoing(401)],
        vec![echoing(404)],
        vec![send(redirect(301, "/mcp?api_key=KEY-CCC"))],
        vec![send(redirect(307, "http://127.0.0.1:1/mcp?api_key=KEY-CCC"))],
        vec![cut()],
    ];
    for steps in steps {
        for method in ["initialize", "tools/call"] {
            let fake = HttpScript::new().on(rpc(method), steps.clone()).start();
            let client = built(&fake);
            let errors = errors(&client).await;
            assert!(!errors.is_empty());
            errors.iter().for_each(|error| clean(&all_of(error)));
            clean(&format!("{client:?} {:?} {:?} {}", client.state(), client.warnings(), client.label()));
            let sent = &fake.log().requests()[0];
            assert_eq!((sent.header("x-key"), sent.target.as_str()), (Some("s3cr3t-AAA"), "/mcp?api_key=KEY-CCC"));
            assert_eq!(sent.header("authorization"), Some("Basic dTpwdy1CQkI="));
        }
    }
}

#[tokio::test]
async fn p72_a_server_s_own_words_show_none_either() {
    let told = act(|request| {
        let said = format!("{} {:?}", request.target, request.headers);
        let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": said}});
        vec![send(reply(400).json(error))]
    });
    let odd = act(|request| vec![sse(), event(Event::data(&format!("{:?}", request.headers).replace('\n', " ")))]);
    let fake = HttpScript::new().on(rpc_call("echo").nth(1), [told]).on(rpc_call("echo").nth(2), [odd]).start();
    let client = built(&fake);
    for _ in 0..2 {
        clean(&all_of(&echo(&client, "x").await.unwrap_err()));
    }
    clean(&format!("{:?}", client.warnings()));
}

struct Source;

impl TokenSource for Source {
    async fn token(&self, _: Option<&trunkline::Challenge>) -> trunkline::Result<Option<Secret>> {
        Ok(Some("TOK-DDD".into()))
    }
}

#[tokio::test]
async fn p72_a_token_from_a_source_is_a_secret_like_the_others() {
    let rpc_error = act(|request| {
        let said = request.header("authorization").unwrap_or_default().to_owned();
        vec![send(reply(400).json(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": said}})))]
    });
    for steps in [vec![echoing(500)], vec![echoing(401)], vec![echoing(200)], vec![rpc_error]] {
        let fake = HttpScript::new().on(rpc_call("echo"), steps).start();
        let environment = Environment::from_pairs::<&str, &str>([]);
        let client = Client::http(fake.url()).environment(environment).token_source(Source).build().unwrap();
        let error = echo(&client, "x").await.unwrap_err();
        assert_eq!(fake.log().rpc("tools/call")[0].header("authorization"), Some("Bearer TOK-DDD"));
        clean(&all_of(&error));
        clean(&format!("{client:?} {:?}", client.warnings()));
    }
}

/// Also where no error is made of it: in warnings, and on a tape.
#[tokio::test]
async fn p72_a_token_from_a_source_is_in_no_warning_and_on_no_tape() {
    let twice = act(|request| {
        let tool = json!({"name": request.header("authorization"), "inputSchema": {"type": "object"}});
        vec![result(json!({"tools": [tool, tool]}))]
    });
    let fake = HttpScript::new().on(rpc("tools/list"), [twice]).start();
    let dir = TempDir::new();
    let file = dir.join("tape.jsonl");
    let environment = Environment::from_pairs::<&str, &str>([]);
    let builder = Client::http(fake.url()).environment(environment).token_source(Source);
    let client = builder.record(&Tape::create(&file).unwrap()).build().unwrap();
    let tools = client.list_tools().await.unwrap();
    assert_eq!(tools[0].name(), "Bearer TOK-DDD", "what was asked for is given as it is");
    let warnings = format!("{:?}", client.warnings());
    assert!(warnings.contains("lists \\\"Bearer ***\\\" twice"), "{warnings}");
    clean(&warnings);
    client.disconnect().await;
    let tape = std::fs::read_to_string(&file).unwrap();
    assert!(tape.contains("Bearer ***"), "{tape}");
    clean(&tape);
}
