//! What a server asks or logs during a call concerns the client that made the call, and no other. Where it can't be
//! told whose it is, nobody is shown it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline::{Client, Handlers, HttpAnswers, MultiServer};
use trunkline_tests::http::{Event, Gate, HttpScript, act, event, post, rpc_call, sse, wait, wait_request};
use trunkline_tests::*;

use super::{Gateway, logged, serve};
use crate::serving_http::{Peer, call as tool_call, request as question};

/// A client that answers questions with its name, and what it was asked.
fn person(builder: trunkline::ClientBuilder, name: &'static str) -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = asked.clone();
    let handlers = Handlers::new().on("elicitation/create", json!({"elicitation": {}}), move |params| {
        seen.lock().unwrap().push(params.get("message").and_then(|text| text.as_text()).unwrap_or_default());
        async move { Ok(json!({"action": "accept", "content": {"who": name}}).into()) }
    });
    (builder.handler(handlers).build().unwrap(), asked)
}

/// Over HTTP a question comes on its call's own stream, so that it is known whose it is, however many calls there are.
#[tokio::test]
async fn p93_a_question_and_a_log_message_on_a_call_s_stream_reach_its_client_alone() {
    let gate = Gate::new();
    let asking = act(|request| {
        let who = request.params()["arguments"]["who"].as_str().unwrap().to_owned();
        let id = format!("q-{who}");
        let log = json!({"level": "info", "data": format!("log of {who}")});
        let reply = wait_request(post().contains(&format!("\"{id}\"")));
        let done = json!({"content": [{"type": "text", "text": "ok"}]});
        vec![
            event(Event::request(json!(id), "elicitation/create", json!({"message": who}))),
            event(Event::notification("notifications/message", log)),
            reply,
            event(Event::result(done)),
        ]
    });
    let changed = act(|_| vec![event(Event::notification("notifications/tools/list_changed", json!({})))]);
    let done = event(Event::result(json!({"content": []})));
    let fake = HttpScript::new()
        .tools([tool("ask"), tool("change")])
        .on(rpc_call("ask"), [sse(), wait(&gate), asking])
        .on(rpc_call("change"), [sse(), changed, done])
        .start();
    let mut multi = MultiServer::new();
    multi.add(Client::http(fake.url()).label("s").build().unwrap()).unwrap();
    let serving = serve(multi, |http| http).await;
    let at = || Client::http(serving.url());
    let ((a, asked_a), (b, asked_b)) = (person(at().label("a"), "A"), person(at().label("b"), "B"));
    let mute = at().label("c").build().unwrap();
    let mut listening = [a.events(), b.events(), mute.events()];
    let ask = async |client: &Client, who: &str| client.call("s_ask", json!({"who": who})).await.unwrap();
    let calls = async { tokio::join!(ask(&a, "A"), ask(&b, "B"), ask(&mute, "C")) };
    tokio::join!(calls, async {
        gate.reached(3).await;
        gate.open();
    });
    a.call("s_change", ()).await.unwrap();
    assert_eq!((&*asked_a.lock().unwrap(), &*asked_b.lock().unwrap()), (&vec!["A".to_owned()], &vec!["B".to_owned()]));
    for (events, own) in listening.iter_mut().zip(["log of A", "log of B", "log of C"]) {
        assert_eq!(logged(events).await, [own]);
    }
    let replies = fake.log().replies();
    let reply = |id: &str| replies.iter().find(|reply| reply.json()["id"] == json!(id)).expect(id).json();
    for who in ["A", "B"] {
        assert_eq!(reply(&format!("q-{who}"))["result"]["content"]["who"], who);
    }
    assert_eq!(reply("q-C")["error"]["code"], -32601, "who can't answer is not waited for");
}

/// Over a pipe it isn't said which call a question belongs to: with calls of two clients under way it is declined.
#[tokio::test]
async fn p93_a_question_that_may_be_another_client_s_is_declined() {
    let asking = ask([request(json!("q-$ARG(who)"), "elicitation/create").params(json!({"message": "$ARG(who)"}))]);
    let log = notify_with("notifications/message", json!({"level": "info", "data": "log of $ARG(who)"}));
    let change = notify("notifications/tools/list_changed");
    let script = Script::new()
        .tools([tool("both"), tool("alone"), tool("change")])
        .on(call("both"), [gather(2, [log.clone(), asking.clone(), text("$REPLY")])])
        .on(call("alone"), [log, asking, text("$REPLY")])
        .on(call("change"), [change, text("ok")]);
    let gateway = Gateway::of([("s", script)]).await;
    let ((a, asked_a), (b, asked_b)) = (person(gateway.client("a"), "A"), person(gateway.client("b"), "B"));
    let mute = gateway.client("c").build().unwrap();
    let mut listening = [a.events(), b.events(), mute.events()];
    let ask = async |client: &Client, tool: &str, who: &str| -> Value {
        let text = client.call(tool, json!({"who": who})).await.unwrap().text();
        serde_json::from_str(&text).unwrap()
    };
    // what asks first has two clients to choose from, what asks then has one
    let (of_a, of_c) = tokio::join!(ask(&a, "s_both", "A"), ask(&mute, "s_both", "C"));
    let declined = [&of_a, &of_c].into_iter().filter(|reply| reply["error"]["code"] == -32601).count();
    assert!(declined == 2 || of_a["result"]["content"]["who"] == "A" && declined == 1, "{of_a} {of_c}");
    assert!(asked_a.lock().unwrap().iter().all(|who| who == "A"), "A is not asked what C's call asks");
    // one client's own calls may be told apart by nobody, and need not be
    let own = tokio::join!(ask(&b, "s_both", "B"), ask(&b, "s_both", "B"));
    for reply in [own.0, own.1, ask(&b, "s_alone", "B").await] {
        assert_eq!(reply["result"]["content"]["who"], "B");
    }
    assert_eq!(asked_b.lock().unwrap().len(), 3);
    b.call("s_change", ()).await.unwrap();
    let [of_a, of_b, of_c] = &mut listening;
    assert!(logged(of_a).await.iter().all(|log| log == "log of A"));
    assert_eq!(logged(of_b).await, ["log of B"; 3]);
    assert!(logged(of_c).await.iter().all(|log| log == "log of C"));
}

#[tokio::test]
async fn p93_what_one_client_no_longer_wants_to_hear_another_still_does() {
    let updated = notify_with("notifications/resources/updated", json!({"uri": "a:1"}));
    let script = Script::new()
        .capabilities(json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}}))
        .resources([resource("a:1")])
        .on(call("echo"), [updated, notify("notifications/tools/list_changed"), text("ok")]);
    let gateway = Gateway::of([("s", script)]).await;
    let clients = ["a", "b", "c"].map(|label| gateway.client(label).build().unwrap());
    let about = || Some(json!({"uri": "a:1"}).into());
    for client in &clients {
        client.request("resources/subscribe", about()).await.unwrap();
    }
    let mut listening = clients.each_ref().map(Client::events);
    clients[0].request("resources/unsubscribe", about()).await.unwrap();
    clients[1].disconnect().await;
    assert_eq!(gateway.servers.sent("s", "resources/unsubscribe"), 0, "one still wants to hear of it");
    clients[0].call("s_echo", ()).await.unwrap();
    let mut updates = [0, 0];
    for (client, updates) in [0, 2].into_iter().zip(&mut updates) {
        loop {
            match listening[client].next().await.unwrap().kind {
                trunkline::EventKind::ResourceUpdated { .. } => *updates += 1,
                trunkline::EventKind::ToolsChanged => break,
                _ => {}
            }
        }
    }
    assert_eq!(updates, [0, 1]);
    clients[2].disconnect().await;
    let log = gateway.servers.log("s");
    offload(move || log.wait_sent("resources/unsubscribe", 1)).await;
}

/// Two servers may use the same number for their questions; each gets its own answer, in whichever order they come.
#[tokio::test]
async fn p94_questions_of_two_servers_with_one_id_are_kept_apart() {
    let asking = || {
        Script::new()
            .on(call("echo"), [ask([request(json!(1), "roots/list"), request(json!(2), "ping")]), text("$REPLY")])
    };
    let gateway = Gateway::of([("u1", asking()), ("u2", asking())]).await;
    let serving = serve(gateway.servers.multi.clone(), |http| http.answers(HttpAnswers::Sse)).await;
    let mut begin = question(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}}));
    begin["params"]["clientInfo"] = json!({"name": "peer", "version": "1"});
    let reply = Peer::of(&serving).post(begin).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    reply.answer().await;
    let peer = Peer::of(&serving).with("mcp-session-id", &session).with("mcp-protocol-version", "2025-11-25");
    let mut first = peer.post(tool_call(1, "u1_echo", json!({}))).await;
    let mut second = peer.post(tool_call(2, "u2_echo", json!({}))).await;
    let asked = [first.message().await.unwrap().json(), second.message().await.unwrap().json()];
    assert!(asked.iter().all(|asked| asked["method"] == "roots/list"), "a ping is answered by the gateway: {asked:?}");
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    for (asked, root) in [(&asked[1], "file:///u2"), (&asked[0], "file:///u1")] {
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": root}]}});
        assert_eq!(peer.post(answer).await.status.as_u16(), 202);
    }
    for (label, stream) in [("u1", first), ("u2", second)] {
        assert!(stream.answer().await.get("result").is_some());
        let replies = gateway.servers.log(label).replies();
        let own = replies.iter().find(|reply| reply.id() == json!(1)).unwrap().json();
        assert_eq!(own["result"]["roots"][0]["uri"], format!("file:///{label}"));
        assert!(replies.iter().any(|reply| reply.id() == json!(2) && reply.json()["result"] == json!({})));
    }
    let stray = json!({"jsonrpc": "2.0", "id": 4711, "result": {}});
    assert_eq!(peer.post(stray).await.status.as_u16(), 202, "an answer to no question is no error");
}
